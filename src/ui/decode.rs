//! Bytes from the terminal made into keys and pastes: pure, and whole before anything is acted on.
//!
//! Own code and not crossterm's reader, for three traps of that: it spins when the terminal goes away
//! (<https://github.com/crossterm-rs/crossterm/issues/793>), it turns an arrow whose bytes arrive apart into
//! Esc and letters (<https://github.com/crossterm-rs/crossterm/issues/993>), and it cannot be told to leave
//! the terminal to an editor. Here an Esc waits for its rest until the reader says that none came.

use crate::app::keys::{Key, KeyCode};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A key was pressed.
    Key(Key),
    /// A text was pasted; it is text whatever it holds.
    Paste(String),
}

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// A paste without an end is cut here, so that a broken terminal cannot fill the memory.
const PASTE_LIMIT: usize = 8 * 1024 * 1024;

/// Holds bytes until they make something whole.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl Decoder {
    /// Takes bytes; what became whole goes to `found`.
    pub(super) fn feed(&mut self, bytes: &[u8], found: &mut Vec<Decoded>) {
        self.pending.extend_from_slice(bytes);
        self.take_whole(found);
    }

    /// Whether bytes wait for their rest; then [`Decoder::settle`] is due after a short silence.
    pub(super) fn waits(&self) -> bool {
        self.paste.is_none() && matches!(self.pending.as_slice(), [0x1b] | [0x1b, _])
    }

    /// Nothing more came for a while: a lone Esc is the Esc key, Esc and `[` were typed with Alt. What is longer
    /// can only be half a sequence, and goes on waiting.
    pub(super) fn settle(&mut self, found: &mut Vec<Decoded>) {
        if !self.waits() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        match pending.as_slice() {
            [0x1b] => found.push(Decoded::Key(Key::plain(KeyCode::Esc))),
            [0x1b, 0x1b] => found.extend([KeyCode::Esc; 2].map(|code| Decoded::Key(Key::plain(code)))),
            [0x1b, intro @ (b'[' | b'O')] => {
                found.push(Decoded::Key(alt(Key::char(char::from(*intro)))));
            }
            _ => {}
        }
    }

    fn take_whole(&mut self, found: &mut Vec<Decoded>) {
        loop {
            if let Some(paste) = &mut self.paste {
                paste.append(&mut self.pending);
                let end = find(paste, PASTE_ENDS);
                if end.is_none() && paste.len() < PASTE_LIMIT {
                    return;
                }
                let mut text = self.paste.take().unwrap_or_default();
                if let Some(end) = end {
                    self.pending = text.split_off(end + PASTE_ENDS.len());
                    text.truncate(end);
                }
                found.push(Decoded::Paste(lines(&String::from_utf8_lossy(&text))));
            }
            if self.pending.starts_with(PASTE_BEGINS) {
                self.pending.drain(..PASTE_BEGINS.len());
                self.paste = Some(Vec::new());
                continue;
            }
            match parse(&self.pending) {
                Parsed::Needs => return,
                Parsed::Took { bytes, key } => {
                    self.pending.drain(..bytes);
                    found.extend(key.map(Decoded::Key));
                }
            }
        }
    }
}

/// Terminals send a carriage return for each line end of a paste.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

enum Parsed {
    /// More bytes must come first.
    Needs,
    /// So many bytes were used; no key where they mean nothing to us.
    Took { bytes: usize, key: Option<Key> },
}

fn took(bytes: usize, key: impl Into<Option<Key>>) -> Parsed {
    Parsed::Took { bytes, key: key.into() }
}

fn parse(bytes: &[u8]) -> Parsed {
    match bytes {
        [] | [0x1b] => Parsed::Needs,
        // Esc Esc [ A: an Esc of its own before a sequence.
        [0x1b, 0x1b, ..] => took(1, Key::plain(KeyCode::Esc)),
        [0x1b, b'[', rest @ ..] => parse_csi(rest),
        [0x1b, b'O', rest @ ..] => parse_ss3(rest),
        // Strings (OSC, DCS, APC, PM, SOS): answers of a terminal that nobody asked; up to their end.
        [0x1b, b']' | b'P' | b'_' | b'^' | b'X', ..] => parse_string(bytes),
        [0x1b, rest @ ..] => match parse_plain(rest) {
            Parsed::Needs => Parsed::Needs,
            Parsed::Took { bytes, key } => took(bytes + 1, key.map(alt)),
        },
        plain => parse_plain(plain),
    }
}

fn parse_string(bytes: &[u8]) -> Parsed {
    if bytes == b"\x1b]" || bytes.len() == 2 {
        // Perhaps Alt and the character: the silence after it decides, and drops it.
        return Parsed::Needs;
    }
    let bell = bytes.iter().position(|byte| *byte == 7).map(|at| at + 1);
    let terminator = find(bytes, b"\x1b\\").map(|at| at + 2);
    match bell.into_iter().chain(terminator).min() {
        Some(end) => took(end, None),
        None if bytes.len() > 4096 => took(bytes.len(), None),
        None => Parsed::Needs,
    }
}

fn parse_ss3(rest: &[u8]) -> Parsed {
    let Some(&last) = rest.first() else { return Parsed::Needs };
    let code = match last {
        b'P'..=b'S' => Some(KeyCode::F(last - b'P' + 1)),
        b'M' => Some(KeyCode::Enter),
        _ => letter(last),
    };
    took(3, code.map(Key::plain))
}

const fn alt(key: Key) -> Key {
    Key { alt: true, ..key }
}

/// A key with the modifiers of a sequence: 1 shift, 2 alt, 4 ctrl.
fn held(code: KeyCode, modifiers: u8) -> Key {
    let has = |bit: u8| modifiers & bit != 0;
    Key { code, shift: has(1), alt: has(2), ctrl: has(4) }.normal()
}

fn letter(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

/// A sequence after `ESC [`: parameter bytes, intermediate bytes, one final byte.
fn parse_csi(rest: &[u8]) -> Parsed {
    // The Linux console sends F1 to F5 as `ESC [ [ A` to `E`.
    if rest.first() == Some(&b'[') {
        let Some(&last) = rest.get(1) else { return Parsed::Needs };
        let code = (b'A'..=b'E').contains(&last).then(|| KeyCode::F(last - b'A' + 1));
        return took(4, code.map(Key::plain));
    }
    let Some(end) = rest.iter().position(|byte| !(0x20..=0x3f).contains(byte)) else {
        return if rest.len() > 64 { took(rest.len() + 2, None) } else { Parsed::Needs };
    };
    let (last, used) = (rest[end], end + 3);
    // An old-style mouse report carries three more bytes; we never ask for one.
    if last == b'M' && end == 0 {
        return if rest.len() < 4 { Parsed::Needs } else { took(6, None) };
    }
    if !(0x40..=0x7e).contains(&last) {
        // Broken off: the byte belongs to what comes next.
        return took(end + 2, None);
    }
    let text = std::str::from_utf8(&rest[..end]).unwrap_or_default();
    let mut parameters = text.split(';');
    let first = parameters.next().unwrap_or_default();
    let (modifiers, kind) = match parameters.next().unwrap_or("1").split_once(':') {
        Some((modifiers, kind)) => (modifiers.parse().unwrap_or(1), kind),
        None => (text.split(';').nth(1).and_then(|m| m.parse().ok()).unwrap_or(1_u8), "1"),
    };
    // A release would act a second time (<https://github.com/crossterm-rs/crossterm/issues/797>).
    if kind == "3" {
        return took(used, None);
    }
    if last == b'Z' {
        return took(used, held(KeyCode::Tab, 1));
    }
    let code = match last {
        b'~' => first.parse().ok().and_then(numbered),
        b'u' => first.split(':').next().and_then(|n| n.parse().ok()).and_then(coded),
        // With another number it is an answer of the terminal, such as where the cursor is.
        last if matches!(first, "" | "1") => letter(last),
        _ => None,
    };
    took(used, code.map(|code| held(code, modifiers.saturating_sub(1))))
}

fn numbered(number: u8) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(number - 10),
        17..=21 => KeyCode::F(number - 11),
        23..=24 => KeyCode::F(number - 12),
        _ => return None,
    })
}

fn coded(number: u32) -> Option<KeyCode> {
    Some(match number {
        9 => KeyCode::Tab,
        13 => KeyCode::Enter,
        27 => KeyCode::Esc,
        127 => KeyCode::Backspace,
        other => KeyCode::Char(char::from_u32(other).filter(|c| !c.is_control())?),
    })
}

fn parse_plain(bytes: &[u8]) -> Parsed {
    let Some(&first) = bytes.first() else { return Parsed::Needs };
    let ctrl = |c: u8| Key::ctrl(char::from(c));
    match first {
        b'\r' => took(1, Key::plain(KeyCode::Enter)),
        b'\t' => took(1, Key::plain(KeyCode::Tab)),
        0x7f | 0x08 => took(1, Key::plain(KeyCode::Backspace)),
        0 => took(1, ctrl(b' ')),
        0x1b => took(1, Key::plain(KeyCode::Esc)),
        1..=26 => took(1, ctrl(first - 1 + b'a')),
        28..=31 => took(1, ctrl(first - 28 + b'4')),
        _ => parse_character(bytes),
    }
}

fn parse_character(bytes: &[u8]) -> Parsed {
    let length = match bytes[0] {
        ..0x80 => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        // Not the beginning of a character.
        _ => return took(1, None),
    };
    let tail = bytes[1..].iter().take(length - 1).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    if tail + 1 < length {
        return if bytes.len() > tail + 1 { took(tail + 1, None) } else { Parsed::Needs };
    }
    let read = std::str::from_utf8(&bytes[..length]).ok().and_then(|text| text.chars().next());
    took(length, read.filter(|c| !c.is_control()).map(Key::char))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::default();
        let mut found = Vec::new();
        for chunk in chunks {
            decoder.feed(chunk, &mut found);
        }
        decoder.settle(&mut found);
        found
            .into_iter()
            .map(|decoded| match decoded {
                Decoded::Key(key) => key.to_string(),
                Decoded::Paste(text) => format!("paste {text:?}"),
            })
            .collect()
    }

    #[test]
    fn keys_as_terminals_send_them() {
        for (bytes, key) in [
            (&b"x"[..], "x"),
            (b"X", "X"),
            (b" ", "Space"),
            ("ü".as_bytes(), "ü"),
            ("语".as_bytes(), "语"),
            (b"\r", "Enter"),
            (b"\n", "Ctrl-J"),
            (b"\t", "Tab"),
            (b"\x1b[Z", "Shift-Tab"),
            (b"\x7f", "Backspace"),
            (b"\x03", "Ctrl-C"),
            (b"\x12", "Ctrl-R"),
            (b"\x1a", "Ctrl-Z"),
            (b"\x1b", "Esc"),
            (b"\x1bx", "Alt-x"),
            (b"\x1b[A", "Up"),
            (b"\x1bOB", "Down"),
            (b"\x1b[1;5C", "Ctrl-Right"),
            (b"\x1b[1;2D", "Shift-Left"),
            (b"\x1b[H", "Home"),
            (b"\x1bOF", "End"),
            (b"\x1b[1~", "Home"),
            (b"\x1b[4~", "End"),
            (b"\x1b[3~", "Del"),
            (b"\x1b[5~", "PgUp"),
            (b"\x1b[6~", "PgDn"),
            (b"\x1bOP", "F1"),
            (b"\x1b[[A", "F1"),
            (b"\x1b[15~", "F5"),
            (b"\x1b[24~", "F12"),
            (b"\x1b[115;5u", "Ctrl-S"),
            (b"\x1b[13;1:1u", "Enter"),
        ] {
            assert_eq!(decode(&[bytes]), [key], "{bytes:?}");
            // The same however the line breaks it up.
            let apart: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(decode(&apart), [key], "{bytes:?} byte by byte");
        }
    }

    #[test]
    fn what_is_not_a_key_is_dropped_whole() {
        // Releases, mouse reports, focus, answers to questions nobody asked, unknown sequences.
        for bytes in [
            &b"\x1b[97;1:3u"[..],
            b"\x1b[M !!",
            b"\x1b[<0;10;20M",
            b"\x1b[I",
            b"\x1b[12;40R",
            b"\x1b[?1;2c",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1bP1+r436f\x1b\\",
            b"\x1b[99~",
            b"\xff",
        ] {
            let mut with_key = bytes.to_vec();
            with_key.push(b'j');
            assert_eq!(decode(&[&with_key]), ["j"], "{bytes:?}");
        }
        assert_eq!(decode(&[b"\x1b[1;"]), Vec::<String>::new());
        assert_eq!(decode(&[b"\x1b["]), ["Alt-["]);
    }

    #[test]
    fn an_arrow_in_two_pieces_is_an_arrow() {
        let mut decoder = Decoder::default();
        let mut found = Vec::new();
        decoder.feed(b"\x1b", &mut found);
        assert!(decoder.waits() && found.is_empty());
        decoder.feed(b"[A", &mut found);
        assert_eq!(found, [Decoded::Key(Key::plain(KeyCode::Up))]);
        assert!(!decoder.waits());
    }

    #[test]
    fn a_paste_is_text() {
        let bytes = b"a\x1b[200~q\rc\x03\x1b[A\r\ny\x1b[201~b";
        let whole = ["a", "paste \"q\\nc\\u{3}\\u{1b}[A\\ny\"", "b"];
        assert_eq!(decode(&[bytes]), whole);
        let apart: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(&apart), whole);
    }

    proptest! {
        #[test]
        fn any_bytes_end_and_pieces_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..200) {
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(decode(&[first, second]), decode(&[&bytes]));
        }
    }
}
