//! How a role looks. The modifiers (bold, dim, reverse, underline) are the same in every theme and carry the
//! meaning; a theme adds colours, which only repeat it, so `NO_COLOR` loses nothing
//! (<https://github.com/Byron/dua-cli/issues/238>).

use std::collections::BTreeMap;
use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};

/// What a piece of the screen is, for the eye.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// What waits: the plain look.
    Plain,
    /// Names of things: column titles, headings of a pane.
    Title,
    /// A key that does something.
    Key,
    /// A key that does nothing here, an explanation, a unit.
    Faint,
    /// A final state.
    Done,
    /// A running task.
    Running,
    /// Needs a person.
    Attention,
    /// Wrong: the header when it is not well, a failure.
    Trouble,
    /// A word about trouble inside a quiet line.
    Bad,
    /// Went well.
    Good,
    /// Lines around dialogs and between panes.
    Frame,
    /// The row under the cursor.
    Selected,
    /// The tab of the screen that is shown.
    Tab,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 13] = [
        Self::Plain,
        Self::Title,
        Self::Key,
        Self::Faint,
        Self::Done,
        Self::Running,
        Self::Attention,
        Self::Trouble,
        Self::Bad,
        Self::Good,
        Self::Frame,
        Self::Selected,
        Self::Tab,
    ];

    const fn modifiers(self) -> Modifier {
        match self {
            Self::Plain | Self::Good => Modifier::empty(),
            Self::Title => Modifier::UNDERLINED,
            Self::Key | Self::Running | Self::Bad => Modifier::BOLD,
            Self::Faint | Self::Done | Self::Frame => Modifier::DIM,
            Self::Attention | Self::Selected => Modifier::REVERSED,
            Self::Trouble | Self::Tab => Modifier::REVERSED.union(Modifier::BOLD),
        }
    }

    /// The entry of a theme's file that colours it.
    const fn entry(self) -> Option<&'static str> {
        match self {
            Self::Plain | Self::Selected | Self::Tab => None,
            Self::Title => Some("title"),
            Self::Key => Some("key"),
            Self::Done | Self::Faint => Some("done"),
            Self::Running => Some("running"),
            Self::Attention => Some("attention"),
            Self::Trouble | Self::Bad => Some("trouble"),
            Self::Good => Some("good"),
            Self::Frame => Some("frame"),
        }
    }
}

/// Colours for the roles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Theme {
    colours: BTreeMap<Role, Color>,
}

/// A theme that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// A name that no theme has.
    #[error("`{name}` is not a theme; the themes are auto, dark, light and plain")]
    Name {
        /// The name.
        name: String,
    },
    /// The file is not a table of texts.
    #[error("not a theme: {problem}")]
    Format {
        /// What the reader of TOML says.
        problem: String,
    },
    /// An entry that no role has.
    #[error(
        "`{entry}` is not an entry of a theme; the entries are title, key, done, running, attention, trouble, good, frame"
    )]
    Entry {
        /// Its name.
        entry: String,
    },
    /// A value that names no colour.
    #[error(
        "{entry}: `{value}` is not a colour; use a name such as `red` or `lightblue`, `#rrggbb`, or 0 to 255"
    )]
    Colour {
        /// The entry.
        entry: String,
        /// The value.
        value: String,
    },
}

impl Theme {
    /// For dark backgrounds.
    ///
    /// # Panics
    /// Never: the file ships in the binary and a test reads it.
    pub fn dark() -> Self {
        include_str!("../../assets/themes/dark.toml").parse().expect("the shipped theme is read by a test")
    }

    /// For light backgrounds.
    ///
    /// # Panics
    /// Never: the file ships in the binary and a test reads it.
    pub fn light() -> Self {
        include_str!("../../assets/themes/light.toml").parse().expect("the shipped theme is read by a test")
    }

    /// No colour at all, for `NO_COLOR`.
    pub fn plain() -> Self {
        Self::default()
    }

    /// The theme that suits this environment; `wanted` is `dark`, `light`, `plain` or `auto`, and `get` reads an
    /// environment variable.
    ///
    /// `NO_COLOR` wins over everything (<https://no-color.org>). Most terminals do not tell their background;
    /// where `COLORFGBG` does, it decides, else dark is taken.
    ///
    /// # Errors
    /// `wanted` is none of these names.
    pub fn of_environment(wanted: &str, get: impl Fn(&str) -> Option<String>) -> Result<Self, ThemeError> {
        let background = || get("COLORFGBG")?.rsplit(';').next()?.parse::<u8>().ok();
        let theme = match wanted {
            "plain" => Self::plain(),
            "light" => Self::light(),
            "auto" if matches!(background(), Some(7 | 9..=15)) => Self::light(),
            "dark" | "auto" => Self::dark(),
            other => return Err(ThemeError::Name { name: other.to_owned() }),
        };
        Ok(Self::under_no_color(theme, get))
    }

    /// `theme`, or no colour at all where `NO_COLOR` is set.
    pub fn under_no_color(theme: Self, get: impl Fn(&str) -> Option<String>) -> Self {
        let set = get("NO_COLOR").is_some_and(|value| !value.is_empty());
        if set { Self::plain() } else { theme }
    }

    /// The look of `role`.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::new().add_modifier(role.modifiers());
        match self.colours.get(&role) {
            Some(colour) => style.fg(*colour),
            None => style,
        }
    }
}

impl FromStr for Theme {
    type Err = ThemeError;

    fn from_str(text: &str) -> Result<Self, ThemeError> {
        let entries: BTreeMap<String, String> =
            toml::from_str(text).map_err(|error| ThemeError::Format { problem: error.to_string() })?;
        let mut colours = BTreeMap::new();
        for (entry, value) in entries {
            let colour = value
                .parse::<Color>()
                .map_err(|_| ThemeError::Colour { entry: entry.clone(), value: value.clone() })?;
            let before = colours.len();
            for role in Role::ALL.into_iter().filter(|role| role.entry() == Some(&entry)) {
                colours.insert(role, colour);
            }
            if colours.len() == before {
                return Err(ThemeError::Entry { entry });
            }
        }
        Ok(Self { colours })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_themes_are_whole() {
        for theme in [Theme::dark(), Theme::light()] {
            for role in Role::ALL {
                assert_eq!(theme.style(role).fg.is_some(), role.entry().is_some(), "{role:?}");
            }
        }
    }

    #[test]
    fn colours_only_repeat() {
        for role in Role::ALL {
            let plain = Theme::plain().style(role);
            assert_eq!((plain.fg, plain.bg), (None, None));
            for theme in [Theme::dark(), Theme::light()] {
                assert_eq!(theme.style(role).add_modifier, plain.add_modifier);
            }
        }
    }

    #[test]
    fn the_environment_decides() {
        let theme = |wanted: &str, pairs: &[(&str, &str)]| {
            let get = |name: &str| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            Theme::of_environment(wanted, get)
        };
        assert_eq!(theme("auto", &[]), Ok(Theme::dark()));
        assert_eq!(theme("auto", &[("COLORFGBG", "0;default;15")]), Ok(Theme::light()));
        assert_eq!(theme("auto", &[("COLORFGBG", "15;0")]), Ok(Theme::dark()));
        assert_eq!(theme("light", &[("NO_COLOR", "")]), Ok(Theme::light()));
        assert_eq!(theme("light", &[("NO_COLOR", "1")]), Ok(Theme::plain()));
        assert!(theme("mauve", &[("NO_COLOR", "1")]).is_err());
    }

    #[test]
    fn a_wrong_theme_says_what_is_wrong() {
        let problem = |text: &str| text.parse::<Theme>().expect_err(text).to_string();
        assert!(problem("title = 'mauve-ish'").starts_with("title: `mauve-ish` is not a colour"));
        assert!(problem("titel = 'red'").contains("`titel`"));
        assert!(problem("title = 3").starts_with("not a theme"));
    }
}
