//! The line above the footer: what just happened or why a key did nothing.

use std::time::Duration;

use super::log::{Level, Source};
use super::state::State;

/// A line that goes away by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How grave it is.
    pub level: Level,
    /// What to say; may hold text from the database, so it must pass the `visible` function when drawn.
    pub text: String,
    /// When it goes away, since the program's start.
    pub until: Duration,
}

const fn shown_for(level: Level) -> Duration {
    match level {
        Level::Info => Duration::from_secs(6),
        Level::Warn => Duration::from_secs(10),
        Level::Error => Duration::from_secs(20),
    }
}

impl State {
    /// Says why a key did nothing; not worth a line in the log.
    pub(super) fn hint(&mut self, text: impl Into<String>) {
        self.notice =
            Some(Notice { level: Level::Info, text: text.into(), until: self.now + shown_for(Level::Info) });
    }

    /// Says what happened, on screen and in the log.
    pub(super) fn say(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.log.push(self.now, level, Source::Operator, text.clone());
        self.notice = Some(Notice { level, text, until: self.now + shown_for(level) });
    }

    /// Takes the notice away when its time is over.
    pub(super) fn expire_notice(&mut self) {
        if self.notice.as_ref().is_some_and(|notice| notice.until <= self.now) {
            self.notice = None;
            self.needs_draw = true;
        }
    }
}
