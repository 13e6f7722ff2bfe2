//! Screen 5: every act with its outcome, and what went wrong; newest last.

use std::collections::VecDeque;
use std::time::Duration;

/// How grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It went as asked.
    Info,
    /// It needs a look.
    Warn,
    /// It went wrong.
    Error,
}

/// Where a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The operator and the answers to what they asked for.
    Operator,
    /// This process's workers.
    Workers,
    /// The connection to the database.
    Link,
    /// The program's own log.
    Program,
}

impl Source {
    /// One word for the screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "you",
            Self::Workers => "workers",
            Self::Link => "link",
            Self::Program => "program",
        }
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When, since the program's start; [`super::State::wall`] makes a time of day of it.
    pub at: Duration,
    /// How grave it is.
    pub level: Level,
    /// Where it comes from.
    pub source: Source,
    /// What happened; may hold text from the database, so it must pass the `visible` function when drawn.
    pub text: String,
    /// How often the same was said in a row.
    pub times: u32,
}

/// The log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// The lines, oldest first.
    pub entries: VecDeque<Entry>,
    /// How many were dropped because the log was full.
    pub dropped: u64,
    /// How many lines the view is above the newest; 0 follows it.
    pub back: usize,
    /// Only lines that contain this are shown.
    pub search: Option<String>,
}

impl Log {
    /// How many lines are kept.
    pub const KEPT: usize = 2_000;

    /// Adds a line; the same again right after only counts.
    pub(super) fn push(&mut self, at: Duration, level: Level, source: Source, text: String) {
        if let Some(last) = self.entries.back_mut()
            && last.text == text
            && last.level == level
            && last.source == source
        {
            last.times = last.times.saturating_add(1);
            last.at = at;
            return;
        }
        if self.entries.len() == Self::KEPT {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(Entry { at, level, source, text, times: 1 });
        if self.back > 0 {
            // What is being read stays where it is.
            self.back += 1;
        }
    }

    /// The lines that match the search, oldest first.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        let wanted = self.search.as_deref().map(str::to_lowercase);
        self.entries
            .iter()
            .filter(move |entry| wanted.as_ref().is_none_or(|text| entry.text.to_lowercase().contains(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(log: &mut Log, text: &str) {
        log.push(Duration::ZERO, Level::Info, Source::Workers, text.to_owned());
    }

    #[test]
    fn the_same_again_only_counts() {
        let mut log = Log::default();
        for text in ["no answer", "no answer", "no answer", "ok", "no answer"] {
            push(&mut log, text);
        }
        let lines: Vec<_> = log.entries.iter().map(|entry| (entry.text.as_str(), entry.times)).collect();
        assert_eq!(lines, [("no answer", 3), ("ok", 1), ("no answer", 1)]);
    }

    #[test]
    fn it_stays_small_and_what_is_read_stays_in_place() {
        let mut log = Log { back: 5, ..Log::default() };
        for line in 0..Log::KEPT + 10 {
            push(&mut log, &line.to_string());
        }
        assert_eq!((log.entries.len(), log.dropped), (Log::KEPT, 10));
        assert_eq!(log.back, 5 + Log::KEPT + 10);
        log.search = Some("99".to_owned());
        assert!(log.shown().all(|entry| entry.text.contains("99")));
    }
}
