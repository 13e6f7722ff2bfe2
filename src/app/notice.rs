//! The line above the footer: what just happened or why a key did nothing.

use std::time::Duration;

use super::log::{Level, Source};
use super::state::{Screen, State};

/// A line that goes away by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How grave it is.
    pub level: Level,
    /// What to say; may hold text from the database, so it must pass the `visible` function when drawn.
    pub text: String,
    /// Whether it is about what is on screen, so that it ends with it.
    pub kind: NoticeKind,
    /// When it goes away, since the program's start.
    pub until: Duration,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// What happened: it stays true whatever is looked at.
    Event,
    /// The screen and the marks as they were when it was said.
    Hint,
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
        self.notice = Some(Notice {
            level: Level::Info,
            text: text.into(),
            kind: NoticeKind::Hint,
            until: self.now + shown_for(Level::Info),
        });
    }

    /// Says what happened, on screen and in the log.
    pub(super) fn say(&mut self, level: Level, text: impl Into<String>) {
        self.say_from(Source::Operator, level, text);
    }

    /// Says what happened elsewhere, on screen and in the log.
    pub(super) fn say_from(&mut self, source: Source, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.log.push(self.now, level, source, text.clone());
        self.notice =
            Some(Notice { level, text, kind: NoticeKind::Event, until: self.now + shown_for(level) });
    }

    /// What a hint is about now: it ends where this changes.
    pub(super) fn hinted_at(&self) -> (Screen, usize, bool) {
        (self.screen, self.list.marks.len(), self.list.all.is_some())
    }

    /// Takes a hint away that was said `before` the screen or the marks changed.
    pub(super) fn end_hint(&mut self, before: Option<&Notice>) {
        if self.notice.as_ref() == before && before.is_some_and(|notice| notice.kind == NoticeKind::Hint) {
            self.notice = None;
            self.needs_draw = true;
        }
    }

    /// Takes the notice away when its time is over.
    pub(super) fn expire_notice(&mut self) {
        if self.notice.as_ref().is_some_and(|notice| notice.until <= self.now) {
            self.notice = None;
            self.needs_draw = true;
        }
    }
}
