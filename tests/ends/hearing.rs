//! The console learns of changes as they are made: with workers, without them, and where nothing may be written.

use std::time::{Duration, Instant};

use crate::desk::Desk;
use crate::support::empty_database;

#[test]
fn a_change_is_read_when_it_is_told() {
    let url = empty_database();
    for flags in ["--workers 0", "--workers 1 --queue other", "--read-only"] {
        let mut desk = Desk::open(&url);
        desk.start(flags);
        if desk.terminal.screen().contains("A new database") {
            desk.begin_empty();
        }
        desk.terminal.keys("5");
        desk.terminal.wait_text("changes are told at once");
        desk.terminal.keys("1");
        // A single one may be luck: the console reads by itself each second.
        let mut slowest = Duration::ZERO;
        for _ in 0..6 {
            let id = desk.submit(&["told of"]);
            let told = Instant::now();
            desk.wait_line(id, &["QUEUED"]);
            slowest = slowest.max(told.elapsed());
        }
        assert!(slowest < Duration::from_millis(700), "{flags}: {slowest:?}");
        assert_eq!(desk.quit(), 0);
    }
}
