//! A key press as the console knows it; the `ui` floor makes it from the terminal's.

use std::fmt;
use std::str::FromStr;

/// Which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    /// A character as it was typed: `X` is shift and x.
    Char(char),
    /// Enter or Return.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Insert.
    Insert,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key.
    F(u8),
}

/// A key with what was held down. Release events must not be turned into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// Whether Ctrl was held.
    pub ctrl: bool,
    /// Whether Alt was held.
    pub alt: bool,
    /// Whether Shift was held; never set for a character, which carries its case.
    pub shift: bool,
}

impl Key {
    /// The key alone.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// A character.
    pub const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }

    /// Ctrl and a character.
    pub const fn ctrl(c: char) -> Self {
        Self { ctrl: true, ..Self::char(c) }
    }

    /// The one form in which keys are compared: a character's shift is in its case, and terminals disagree
    /// about the case of a character with Ctrl.
    #[must_use]
    pub fn normal(mut self) -> Self {
        if let KeyCode::Char(c) = self.code {
            self.shift = false;
            if self.ctrl {
                self.code = KeyCode::Char(c.to_ascii_lowercase());
            }
        }
        self
    }

    /// The character that the key puts into a text field, if it is one.
    pub fn text(self) -> Option<char> {
        match self.code {
            // AltGr arrives as Ctrl and Alt on some terminals.
            KeyCode::Char(c) if self.ctrl == self.alt && !c.is_control() => Some(c),
            _ => None,
        }
    }
}

/// Names of keys that are not one character, as the configuration spells them and as the screen shows them.
const NAMED: [(&str, &str, KeyCode); 17] = [
    ("space", "Space", KeyCode::Char(' ')),
    ("enter", "Enter", KeyCode::Enter),
    ("esc", "Esc", KeyCode::Esc),
    ("tab", "Tab", KeyCode::Tab),
    ("backspace", "Backspace", KeyCode::Backspace),
    ("delete", "Del", KeyCode::Delete),
    ("insert", "Ins", KeyCode::Insert),
    ("up", "Up", KeyCode::Up),
    ("down", "Down", KeyCode::Down),
    ("left", "Left", KeyCode::Left),
    ("right", "Right", KeyCode::Right),
    ("home", "Home", KeyCode::Home),
    ("end", "End", KeyCode::End),
    ("pgup", "PgUp", KeyCode::PageUp),
    ("pgdn", "PgDn", KeyCode::PageDown),
    ("pageup", "PgUp", KeyCode::PageUp),
    ("pagedown", "PgDn", KeyCode::PageDown),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = String::new();
        for (held, name) in [(self.ctrl, "Ctrl-"), (self.alt, "Alt-"), (self.shift, "Shift-")] {
            if held {
                shown.push_str(name);
            }
        }
        match (NAMED.iter().find(|(_, _, code)| *code == self.code), self.code) {
            (Some((_, name, _)), _) => shown.push_str(name),
            (None, KeyCode::Char(c)) if self.ctrl => shown.extend(c.to_uppercase()),
            (None, KeyCode::Char(c)) => shown.push(c),
            (None, KeyCode::F(n)) => shown.extend(['F'.to_string(), n.to_string()]),
            (None, _) => {}
        }
        f.pad(&shown)
    }
}

/// A text that names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a key; write a character, `space`, `enter`, `esc`, `tab`, `pgdn`, `f5`, … with `ctrl-`, `alt-` or `shift-` before it"
)]
pub struct UnknownKey(pub String);

impl FromStr for Key {
    type Err = UnknownKey;

    /// Reads `ctrl-r`, `space`, `X`, `pgdn`, `shift-tab`, `-`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownKey(crate::domain::text::visible(text).into_owned());
        let mut key = Self::plain(KeyCode::Esc);
        let mut rest = text;
        loop {
            let lower = rest.to_ascii_lowercase();
            let prefix = ["ctrl-", "alt-", "shift-"].into_iter().find(|prefix| lower.starts_with(prefix));
            let Some(prefix) = prefix.filter(|prefix| rest.len() > prefix.len()) else { break };
            match prefix {
                "ctrl-" => key.ctrl = true,
                "alt-" => key.alt = true,
                _ => key.shift = true,
            }
            rest = &rest[prefix.len()..];
        }
        let lower = rest.to_ascii_lowercase();
        let mut chars = rest.chars();
        key.code = match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_control() && !c.is_whitespace() => KeyCode::Char(c),
            _ => match NAMED.iter().find(|(name, _, _)| *name == lower) {
                Some((_, _, code)) => *code,
                None => lower
                    .strip_prefix('f')
                    .and_then(|n| n.parse().ok())
                    .filter(|n| (1..=24).contains(n))
                    .map(KeyCode::F)
                    .ok_or_else(unknown)?,
            },
        };
        if let (KeyCode::Char(c), true) = (key.code, key.shift) {
            key.code = KeyCode::Char(c.to_uppercase().next().unwrap_or(c));
        }
        Ok(key.normal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_as_they_are_shown() {
        for text in
            ["Ctrl-R", "Space", "X", "x", "PgDn", "Shift-Tab", "-", "F5", "?", "Alt-Enter", "Ctrl-Alt-Up"]
        {
            let key: Key = text.parse().expect(text);
            assert_eq!(key.to_string(), text);
        }
        assert_eq!("ctrl-R".parse(), Ok(Key::ctrl('r')));
        assert_eq!("shift-x".parse(), Ok(Key::char('X')));
        assert_eq!("pagedown".parse(), Ok(Key::plain(KeyCode::PageDown)));
        for bad in ["", " ", "ctrl-", "pg", "f0", "f99", "ctrl-xy", "\u{1b}"] {
            assert!(bad.parse::<Key>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_plain_characters_are_text() {
        assert_eq!(Key::char('ü').text(), Some('ü'));
        assert_eq!(Key::ctrl('s').text(), None);
        assert_eq!(Key { alt: true, ..Key::ctrl('@') }.text(), Some('@'));
        assert_eq!(Key::plain(KeyCode::Enter).text(), None);
    }
}
