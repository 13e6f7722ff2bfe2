//! What `text-stats` counts.

use serde::Serialize;

/// Counts of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TextCounts {
    /// Runs of characters that are not white space by Unicode's `White_Space` property.
    pub words: i64,
    /// Bytes of UTF-8.
    pub bytes: i64,
    /// Unicode scalar values.
    pub runes: i64,
}

impl TextCounts {
    /// Counts `text`.
    pub fn of(text: &str) -> Self {
        Self {
            words: count(text.split_whitespace().count()),
            bytes: count(text.len()),
            runes: count(text.chars().count()),
        }
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n).expect("a text in memory is shorter than i64::MAX")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_words_bytes_and_runes() {
        let of = |text| {
            let counts = TextCounts::of(text);
            (counts.words, counts.bytes, counts.runes)
        };
        assert_eq!(of(""), (0, 0, 0));
        assert_eq!(of("hello world"), (2, 11, 11));
        assert_eq!(of("  a\u{2003}b\u{85}c\n"), (3, 11, 8));
        assert_eq!(of("Go 语言"), (2, 9, 5));
        // A zero-width space is not White_Space, and a combining accent is a rune of its own.
        assert_eq!(of("a\u{200b}b e\u{301}"), (2, 9, 6));
    }
}
