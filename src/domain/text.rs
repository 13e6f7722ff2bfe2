//! Text from outside made safe to show: nothing in it can move the cursor, set colours, write the clipboard
//! or turn the reading direction, and its width on a terminal is known.
//!
//! Every field of a row passes [`visible`] (or [`visible_lines`]) at the edge where it is drawn or printed;
//! there is no other way in.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Makes `text` one line of harmless characters: line ends and tabs become `\n` and `\t`, other controls,
/// direction marks and invisible characters become escapes like `\e`, `\0` or `\u{202e}`.
///
/// Variation selectors and zero-width joiners are left out: terminals disagree about the width of what they
/// join, and apart each picture has a known one.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) && !starts_with_mark(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    if starts_with_mark(text) {
        // A mark with nothing to stand on would be drawn onto whatever is left of the field.
        shown.push('\u{25cc}');
    }
    for c in text.chars() {
        push_visible(&mut shown, c);
    }
    Cow::Owned(shown)
}

/// Like [`visible`] for a text of several lines: line ends (LF, CR LF) divide it, tabs become four spaces.
pub fn visible_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('\n').map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        visible(&line.replace('\t', "    ")).into_owned()
    })
}

/// Columns that `text` takes on a terminal. It should have passed [`visible`].
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(grapheme_width).sum()
}

/// `text` cut to at most `columns`, with `ellipsis` (one column wide) at the end where something was cut.
pub fn cut<'a>(text: &'a str, columns: usize, ellipsis: &str) -> Cow<'a, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(width(ellipsis)) else { return Cow::Borrowed("") };
    let mut kept = String::with_capacity(columns + ellipsis.len());
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        used += grapheme_width(grapheme);
        if used > room {
            break;
        }
        kept.push_str(grapheme);
    }
    kept.push_str(ellipsis);
    Cow::Owned(kept)
}

/// `text` cut to `columns` as [`cut`] does and filled with spaces on the right to exactly `columns`.
pub fn fit(text: &str, columns: usize, ellipsis: &str) -> String {
    let mut fitted = cut(text, columns, ellipsis).into_owned();
    let missing = columns.saturating_sub(width(&fitted));
    fitted.extend(std::iter::repeat_n(' ', missing));
    fitted
}

/// Divides a line (which has passed [`visible`]) into pieces of at most `columns`, never inside a grapheme
/// and at a space where there is one.
pub fn wrap(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut used = 0;
    for word in words_and_gaps(line) {
        let word_width = width(word);
        if used + word_width > columns && word_width <= columns && used > 0 {
            rows.push(std::mem::take(&mut row));
            used = 0;
            if word.trim().is_empty() {
                continue;
            }
        }
        for grapheme in word.graphemes(true) {
            // A base with spacing marks can be wider than a very narrow pane: it has no place there.
            let grapheme = if grapheme_width(grapheme) > columns { "?" } else { grapheme };
            let grapheme_width = grapheme_width(grapheme);
            if used + grapheme_width > columns && used > 0 {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            row.push_str(grapheme);
            used += grapheme_width;
        }
    }
    rows.push(row);
    rows
}

/// The runs of spaces and the runs of anything else, in turn: a word keeps its punctuation.
fn words_and_gaps(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let gap = rest.chars().next()? == ' ';
        let end = rest.find(|c: char| (c == ' ') != gap).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

/// Whether `c` must be escaped in JSON output: controls and characters that turn the reading direction.
pub fn is_hostile(c: char) -> bool {
    c.is_control() || turns_direction(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

fn grapheme_width(grapheme: &str) -> usize {
    // The program's own drawing measures the same way, so that what fits here fits there.
    grapheme.width()
}

fn is_plain(c: char) -> bool {
    !is_hostile(c) && !is_invisible(c) && !is_joiner(c)
}

fn turns_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

fn starts_with_mark(text: &str) -> bool {
    text.graphemes(true)
        .next()
        .is_some_and(|first| grapheme_width(first) == 0 && first.chars().next().is_some_and(is_plain))
}

fn push_visible(shown: &mut String, c: char) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        '\u{1b}' => shown.push_str("\\e"),
        '\0' => shown.push_str("\\0"),
        c if is_joiner(c) => {}
        c if is_plain(c) => shown.push(c),
        c => write!(shown, "{}", c.escape_unicode()).expect("writing to a String cannot fail"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_visible() {
        assert_eq!(visible("a\u{1b}[31mb\u{7}\0\n\t\r"), "a\\e[31mb\\u{7}\\0\\n\\t\\r");
        assert_eq!(visible("\u{9b}2J \u{202e}abc\u{2066}"), "\\u{9b}2J \\u{202e}abc\\u{2066}");
        assert_eq!(visible("plain, 语言, e\u{301}"), "plain, 语言, e\u{301}");
        assert_eq!(visible("\u{301}x"), "\u{25cc}\u{301}x");
        assert_eq!(visible("👩\u{200d}🚀 \u{2601}\u{fe0f}"), "👩🚀 \u{2601}");
    }

    #[test]
    fn columns_are_kept() {
        assert_eq!(cut("语言语言", 5, "…"), "语言…");
        assert_eq!(fit("语言语言", 6, "…"), "语言… ");
        assert_eq!(fit("abc", 5, "…"), "abc  ");
        assert_eq!(fit("abc", 0, "…"), "");
        assert_eq!(fit("\u{ff76}\u{ff9e}x", 4, "…"), "\u{ff76}\u{ff9e}x ");
        assert_eq!(wrap("the quick brown fox", 10), ["the quick ", "brown fox"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("it ran (twice).", 9), ["it ran ", "(twice)."]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("\u{18800}\u{cf3}", 2), ["?"]);
    }

    #[test]
    fn lines_are_divided() {
        assert_eq!(visible_lines("a\r\n\tb\u{1b}\n").collect::<Vec<_>>(), ["a", "    b\\e", ""]);
    }

    proptest! {
        #[test]
        fn nothing_hostile_is_left(text in any::<String>(), columns in 0_usize..40) {
            let shown = visible(&text);
            prop_assert!(!shown.chars().any(|c| is_hostile(c) || is_invisible(c) || is_joiner(c)));
            prop_assert_eq!(width(&fit(&shown, columns, "…")), columns);
            for row in wrap(&shown, columns) {
                // One grapheme is never divided; some that nobody writes take three columns.
                prop_assert!(width(&row) <= columns.max(2) || row.graphemes(true).count() == 1);
            }
            prop_assert_eq!(visible(&shown).into_owned(), shown.into_owned());
        }
    }
}
