//! The texts that are submitted: each is nobody else's, says what the command is to do with it, and is hard to count.

use std::sync::atomic::{AtomicU64, Ordering};

const WORDS: &[&str] =
    &["plain", "naïve", "任务", "Ωmega", "two\u{a0}words", "e\u{301}", "🦀", "\tblank", "end."];

/// Words, bytes and Unicode scalar values, as this side counts them.
pub(crate) fn counts(text: &str) -> [i64; 3] {
    let counts = [text.split_whitespace().count(), text.len(), text.chars().count()];
    counts.map(|count| i64::try_from(count).expect("a small number"))
}

/// A text that has never been before, of plain words only.
pub(crate) fn plain(what: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("t{} {what}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A text that has never been before; `what` is told to the command.
pub(crate) fn text(dice: &mut fastrand::Rng, what: &str) -> String {
    let mut text = plain(what);
    for _ in 0..dice.usize(1..8) {
        text.push(' ');
        text.push_str(WORDS[dice.usize(0..WORDS.len())]);
    }
    text
}

/// A text for the command: most end at once, some sleep, so that they are killed while they run, and some fail.
pub(crate) fn errand(dice: &mut fastrand::Rng) -> String {
    let what = match dice.u32(0..100) {
        0..30 => format!("sleeps 0.{:03}", dice.u32(50..400)),
        30..45 => format!("sleeps {}.{}", dice.u32(1..3), dice.u32(0..10)),
        45..53 => "fails now".to_owned(),
        53..63 => "wavers once".to_owned(),
        _ => "is quick".to_owned(),
    };
    text(dice, &what)
}
