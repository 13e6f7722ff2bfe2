//! Text being written: one line or several, with a cursor that steps by grapheme. Pure; the view draws it.

use unicode_segmentation::UnicodeSegmentation;

use super::keys::{Key, KeyCode};
use crate::domain::text;

/// How far Page Up and Page Down move the cursor, in lines.
const PAGE: usize = 10;

/// A text with a cursor.
///
/// Invariant: there is at least one line, no line holds a line end, and the cursor is at a grapheme's edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    lines: Vec<String>,
    line: usize,
    /// Bytes from the start of the line.
    byte: usize,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    OneLine,
    Lines,
}

/// What a key did to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// The text changed.
    Text,
    /// The cursor moved, or was already where the key would bring it.
    Cursor,
    /// The key is none of the editor's.
    Nothing,
}

impl Editor {
    /// A field of one line with the cursor at its end.
    pub fn line(text: &str) -> Self {
        Self::new(Shape::OneLine, text)
    }

    /// A text of several lines with the cursor at its end.
    pub fn lines(text: &str) -> Self {
        Self::new(Shape::Lines, text)
    }

    fn new(shape: Shape, text: &str) -> Self {
        let mut editor = Self { lines: vec![String::new()], line: 0, byte: 0, shape };
        editor.insert(text);
        editor
    }

    /// The whole text; lines are joined by `\n`.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The lines, as written: they must pass the `visible` function when drawn.
    pub fn rows(&self) -> &[String] {
        &self.lines
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.lines.len() == 1 && self.lines[0].is_empty()
    }

    /// Length of the text in bytes.
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(String::len).sum::<usize>() + self.lines.len() - 1
    }

    /// The line of the cursor, from 0.
    pub fn cursor_line(&self) -> usize {
        self.line
    }

    /// The cursor's place in its line, in bytes.
    pub fn cursor_byte(&self) -> usize {
        self.byte
    }

    /// The columns that what stands left of the cursor takes once it is made visible.
    pub fn cursor_column(&self) -> usize {
        text::width(&text::visible(&self.lines[self.line][..self.byte]))
    }

    /// Replaces the text; the cursor is at its end.
    pub fn set(&mut self, text: &str) {
        *self = Self::new(self.shape, text);
    }

    /// Puts text at the cursor: a key's character or a paste. Line ends become lines, or spaces in a field of
    /// one line.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let tail = self.lines[self.line].split_off(self.byte);
        let mut parts = text.split('\n');
        self.lines[self.line].push_str(parts.next().unwrap_or_default());
        match self.shape {
            Shape::OneLine => {
                for part in parts {
                    self.lines[0].push(' ');
                    self.lines[0].push_str(part);
                }
            }
            Shape::Lines => {
                let added: Vec<_> = parts.map(str::to_owned).collect();
                let at = self.line + 1;
                self.line += added.len();
                self.lines.splice(at..at, added);
            }
        }
        self.byte = self.lines[self.line].len();
        self.lines[self.line].push_str(&tail);
        // What was written may have joined what follows into one grapheme.
        self.byte = edge_at_or_after(&self.lines[self.line], self.byte);
    }

    /// Takes a key as an editor does.
    pub fn key(&mut self, key: Key) -> Edited {
        let word = key.ctrl || key.alt;
        match key.code {
            KeyCode::Enter if self.shape == Shape::Lines => {
                self.insert("\n");
                Edited::Text
            }
            KeyCode::Backspace => self.remove(|editor| if word { editor.word_left() } else { editor.left() }),
            KeyCode::Delete => self.remove(|editor| if word { editor.word_right() } else { editor.right() }),
            KeyCode::Left => self.moved(|editor| if word { editor.word_left() } else { editor.left() }),
            KeyCode::Right => self.moved(|editor| if word { editor.word_right() } else { editor.right() }),
            KeyCode::Home => self.moved(Self::line_start),
            KeyCode::End => self.moved(Self::line_end),
            KeyCode::Up if self.shape == Shape::Lines => self.vertical(|line| line.saturating_sub(1)),
            KeyCode::Down if self.shape == Shape::Lines => self.vertical(|line| line + 1),
            KeyCode::PageUp if self.shape == Shape::Lines => self.vertical(|line| line.saturating_sub(PAGE)),
            KeyCode::PageDown if self.shape == Shape::Lines => self.vertical(|line| line + PAGE),
            KeyCode::Char(c) if key.ctrl && !key.alt => self.ctrl(c),
            KeyCode::Char(c) if key.alt && !key.ctrl => self.alt(c),
            _ => match key.text() {
                Some(c) => {
                    self.insert(c.encode_utf8(&mut [0; 4]));
                    Edited::Text
                }
                None => Edited::Nothing,
            },
        }
    }

    fn ctrl(&mut self, c: char) -> Edited {
        match c {
            'a' => self.moved(Self::line_start),
            'e' => self.moved(Self::line_end),
            'b' => self.moved(Self::left),
            'f' => self.moved(Self::right),
            'w' => self.remove(Self::word_left),
            'u' => self.remove(|editor| if editor.byte > 0 { editor.line_start() } else { editor.left() }),
            'k' => self.remove(Self::line_end),
            'd' => self.remove(Self::right),
            'h' => self.remove(Self::left),
            _ => Edited::Nothing,
        }
    }

    fn alt(&mut self, c: char) -> Edited {
        match c {
            'b' => self.moved(Self::word_left),
            'f' => self.moved(Self::word_right),
            'd' => self.remove(Self::word_right),
            _ => Edited::Nothing,
        }
    }

    fn moved(&mut self, to: impl Fn(&Self) -> (usize, usize)) -> Edited {
        (self.line, self.byte) = to(self);
        Edited::Cursor
    }

    /// Removes what lies between the cursor and where `to` leads.
    fn remove(&mut self, to: impl Fn(&Self) -> (usize, usize)) -> Edited {
        let here = (self.line, self.byte);
        let there = to(self);
        if here == there {
            return Edited::Cursor;
        }
        let (start, end) = (here.min(there), here.max(there));
        let tail = self.lines[end.0].split_off(end.1);
        self.lines[start.0].truncate(start.1);
        self.lines[start.0].push_str(&tail);
        self.lines.drain(start.0 + 1..=end.0);
        (self.line, self.byte) = start;
        self.byte = edge_at_or_after(&self.lines[self.line], self.byte);
        Edited::Text
    }

    fn vertical(&mut self, to: impl Fn(usize) -> usize) -> Edited {
        let column = self.lines[self.line][..self.byte].graphemes(true).count();
        self.line = to(self.line).min(self.lines.len() - 1);
        let row = &self.lines[self.line];
        self.byte = row.grapheme_indices(true).nth(column).map_or(row.len(), |(at, _)| at);
        Edited::Cursor
    }

    fn line_start(&self) -> (usize, usize) {
        (self.line, 0)
    }

    fn line_end(&self) -> (usize, usize) {
        (self.line, self.lines[self.line].len())
    }

    fn left(&self) -> (usize, usize) {
        match self.lines[self.line][..self.byte].grapheme_indices(true).next_back() {
            Some((at, _)) => (self.line, at),
            None if self.line > 0 => (self.line - 1, self.lines[self.line - 1].len()),
            None => (0, 0),
        }
    }

    fn right(&self) -> (usize, usize) {
        match self.lines[self.line][self.byte..].graphemes(true).next() {
            Some(grapheme) => (self.line, self.byte + grapheme.len()),
            None if self.line + 1 < self.lines.len() => (self.line + 1, 0),
            None => (self.line, self.byte),
        }
    }

    fn word_left(&self) -> (usize, usize) {
        let before = &self.lines[self.line][..self.byte];
        let start = before.unicode_word_indices().next_back().map(|(at, _)| at);
        match start {
            Some(at) => (self.line, at),
            None if self.byte > 0 => (self.line, 0),
            None => self.left(),
        }
    }

    fn word_right(&self) -> (usize, usize) {
        let after = &self.lines[self.line][self.byte..];
        match after.unicode_word_indices().next() {
            Some((at, word)) => (self.line, self.byte + at + word.len()),
            None if !after.is_empty() => self.line_end(),
            None => self.right(),
        }
    }
}

fn edge_at_or_after(line: &str, byte: usize) -> usize {
    line.grapheme_indices(true).map(|(at, _)| at).find(|at| *at >= byte).unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn press(editor: &mut Editor, codes: &[KeyCode]) {
        for code in codes {
            editor.key(Key::plain(*code));
        }
    }

    #[test]
    fn a_paste_is_text_with_its_lines() {
        let mut editor = Editor::lines("ab");
        press(&mut editor, &[KeyCode::Left]);
        editor.insert("1\r\n2\r3");
        assert_eq!(editor.text(), "a1\n2\n3b");
        assert_eq!((editor.cursor_line(), editor.cursor_byte()), (2, 1));
        assert_eq!(editor.bytes(), editor.text().len());

        let mut field = Editor::line("x");
        field.insert("q\ny\n");
        assert_eq!(field.text(), "xq y ");
        assert_eq!(field.key(Key::plain(KeyCode::Enter)), Edited::Nothing);
    }

    #[test]
    fn the_cursor_steps_by_grapheme() {
        let mut editor = Editor::lines("e\u{301}👩\u{200d}🚀x");
        press(&mut editor, &[KeyCode::Left, KeyCode::Backspace]);
        assert_eq!(editor.text(), "e\u{301}x");
        press(&mut editor, &[KeyCode::Left]);
        assert_eq!(editor.cursor_byte(), 0);
        press(&mut editor, &[KeyCode::Delete]);
        assert_eq!(editor.text(), "x");
        let mut joined = Editor::line("\u{301}");
        press(&mut joined, &[KeyCode::Home]);
        joined.insert("e");
        assert_eq!(joined.cursor_byte(), 3, "behind the whole grapheme");
    }

    #[test]
    fn lines_are_joined_and_words_removed() {
        let mut editor = Editor::lines("one two\nthree");
        press(&mut editor, &[KeyCode::Home, KeyCode::Backspace]);
        assert_eq!(editor.text(), "one twothree");
        editor.key(Key::ctrl('w'));
        assert_eq!(editor.text(), "one three");
        editor.key(Key::ctrl('k'));
        assert_eq!(editor.text(), "one ");
        editor.key(Key::ctrl('u'));
        assert!(editor.is_empty());
        // Again and again it empties all of what is before the cursor.
        let mut editor = Editor::lines("one\ntwo\nthree");
        for left in ["one\ntwo\n", "one\ntwo", "one\n", "one", ""] {
            assert_eq!(editor.key(Key::ctrl('u')), Edited::Text);
            assert_eq!(editor.text(), left);
        }
        assert_eq!(editor.key(Key::ctrl('u')), Edited::Cursor);
        assert_eq!(editor.key(Key::ctrl('s')), Edited::Nothing);
    }

    proptest! {
        #[test]
        fn any_keys_leave_the_cursor_at_an_edge(
            start in "[a-c \n\u{301}\u{200d}👩语]{0,12}",
            keys in prop::collection::vec((0_usize..16, any::<bool>(), any::<char>()), 0..40),
        ) {
            const CODES: [KeyCode; 12] = [
                KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::End,
                KeyCode::Backspace, KeyCode::Delete, KeyCode::Enter, KeyCode::PageUp, KeyCode::PageDown,
                KeyCode::Char('w'),
            ];
            let mut editor = Editor::lines(&start);
            for (code, ctrl, c) in keys {
                let code = CODES.get(code).copied().unwrap_or(KeyCode::Char(c));
                editor.key(Key { ctrl, ..Key::plain(code) });
                let line = &editor.rows()[editor.cursor_line()];
                prop_assert_eq!(edge_at_or_after(line, editor.cursor_byte()), editor.cursor_byte());
                prop_assert!(editor.rows().iter().all(|row| !row.contains(['\n', '\r'])));
            }
        }
    }
}
