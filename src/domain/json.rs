//! JSON that is safe to look at: characters that a terminal would act on are escaped.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

use super::text::is_hostile;

/// Writes compact JSON with controls (C1 too) and direction marks as `\u` escapes.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_hostile(*c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

/// A line of JSON that something else has written, with the same escapes; its line end stays.
pub fn escaped(line: &str) -> String {
    let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
    let mut shown = Vec::with_capacity(line.len() + 1);
    let written = Escaping.write_string_fragment(&mut shown, line);
    debug_assert!(written.is_ok(), "memory takes everything");
    shown.extend_from_slice(end.as_bytes());
    String::from_utf8_lossy(&shown).into_owned()
}

/// `value` as one line of JSON with a line end.
///
/// # Errors
/// None that the values of this program can cause; the serializer's own otherwise.
pub fn document<T: Serialize>(value: &T) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Escaping);
    value.serialize(&mut serializer)?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        let shown = document(&"a\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\u{2066}\u{2028}ü\"\\\n").expect("JSON");
        assert_eq!(shown, "\"a\\u001b[31m\\u009b2J\\u007f\\u202e\\u2066\\u2028ü\\\"\\\\\\n\"\n");
    }

    proptest! {
        #[test]
        fn any_text_reads_back_and_is_harmless(text in any::<String>()) {
            let shown = document(&text).expect("JSON");
            let line = shown.strip_suffix('\n').expect("a line end");
            prop_assert!(!line.chars().any(is_hostile));
            prop_assert_eq!(serde_json::from_str::<String>(&shown).expect("reads back"), text);
        }
    }
}
