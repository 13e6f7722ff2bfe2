//! Sizes, colours and character sets of terminals.

use crate::desk::Desk;
use crate::support::empty_database;

#[test]
fn every_size_draws_something_and_the_largest_draws_all_again() {
    let mut desk = Desk::sized(200, 60, Some(&empty_database()), &[]);
    let process = desk.start("--workers 1");
    desk.begin_empty();
    let id = desk.submit(&["hello world"]);
    desk.wait_line(id, &["SUCCEEDED"]);
    desk.terminal.keys("g");
    // The list in full, the row's detail and its timeline beside it.
    desk.terminal.wait_for("200x60", |screen| {
        ["TENANT", "QUEUE", "WORKER", "INPUT", "Timeline", "PostgreSQL"]
            .iter()
            .all(|text| screen.contains(text))
    });
    desk.terminal.resize(20, 5);
    let screen = desk.terminal.wait_for("20x5", |screen| {
        screen.lines().count() <= 5 && screen.contains("SUCC") && screen.contains(&id.to_string())
    });
    assert!(screen.lines().all(|line| line.chars().count() <= 20), "{screen}");
    // A question on this size still says how to answer it.
    desk.terminal.keys("r");
    desk.terminal.wait_for("an answer to r", |screen| !screen.trim().is_empty());
    desk.terminal.keys("n");
    desk.terminal.wait_for("the editor on 20x5", |screen| screen.contains("New task"));
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the list on 20x5", |screen| !screen.contains("New task"));
    desk.terminal.resize(80, 24);
    let screen = desk.terminal.wait_for("80x24", |screen| {
        ["1 Tasks", "STATE", "INPUT", "hello world", "quit"].iter().all(|text| screen.contains(text))
    });
    assert!(!screen.contains("Timeline"), "one pane: {screen}");
    desk.terminal.resize(1, 1);
    let mark = desk.terminal.mark();
    desk.terminal.keys("\u{c}");
    // There is nothing to read on one cell; that it is drawn on is seen by what is sent.
    desk.terminal.wait_bytes(mark);
    assert!(!process.is_gone());
    desk.terminal.resize(120, 40);
    let screen = desk.terminal.wait_for("120x40", |screen| {
        ["1 Tasks", "Timeline", "hello world", "quit", "PostgreSQL"].iter().all(|text| screen.contains(text))
    });
    assert_eq!(screen.matches("1 Tasks").count(), 1, "{screen}");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn no_color_sends_no_colour_and_still_shows_the_cursor() {
    let mut desk = Desk::sized(120, 40, Some(&empty_database()), &[("NO_COLOR", "1")]);
    desk.start("--workers 1");
    desk.begin_empty();
    let id = desk.submit(&["hello world"]);
    desk.submit(&["--hold", "held"]);
    desk.wait_line(id, &["SUCCEEDED"]);
    desk.terminal.keys("g?");
    desk.terminal.wait_text("On every screen");
    desk.terminal.keys("\u{1b}");
    desk.wait_line(id, &["SUCCEEDED"]);
    desk.terminal.keys("2");
    desk.terminal.wait_text("INSTANCE");
    desk.terminal.keys("1");
    desk.wait_line(id, &["SUCCEEDED"]);
    for sequence in graphics(&desk.terminal.bytes_since(0)) {
        for number in sequence.split([';', ':']) {
            let number: u8 = number.parse().unwrap_or(0);
            // 39 and 49 are the terminal's own colours; everything else in these ranges is a colour of ours.
            let own = matches!(number, 0..30 | 39 | 49 | 50..90);
            assert!(own, "a colour in ESC[{sequence}m");
        }
    }
    let cells = desk.terminal.cells();
    let reversed = (0..40).any(|line| cells.cell(line, 4).is_some_and(vt100::Cell::inverse));
    assert!(reversed, "the row under the cursor is reversed:\n{}", desk.terminal.screen());
    assert_eq!(desk.quit(), 0);
    // The same way of looking finds colours where they are allowed.
    let mark = desk.terminal.mark();
    desk.terminal.line("unset NO_COLOR");
    desk.start("--workers 1");
    desk.wait_line(id, &["SUCCEEDED"]);
    let coloured = graphics(&desk.terminal.bytes_since(mark)).iter().any(|sequence| {
        sequence.split([';', ':']).any(|number| matches!(number.parse(), Ok(30_u8..=38 | 90..98)))
    });
    assert!(coloured, "colours without NO_COLOR");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_locale_without_utf_8_gets_seven_bits_only() {
    let mut desk = Desk::sized(120, 40, Some(&empty_database()), &[("LC_ALL", "C")]);
    let mark = desk.terminal.mark();
    desk.start("--workers 1 --work-delay 1s");
    desk.terminal.wait_text("A new database");
    desk.terminal.keys("y");
    let id = desk.submit(&["na\u{ef}ve \u{8bed}\u{8a00} \u{1f680} text"]);
    desk.wait_line(id, &["SUCCEEDED", "na?ve ???? ?? text"]);
    for (key, shows) in [
        ("?", "On every screen"),
        ("\u{1b}", "STATE"),
        ("2", "INSTANCE"),
        ("3", "POOL"),
        ("5", "program"),
        ("1", "STATE"),
        ("n", "New task"),
    ] {
        desk.terminal.keys(key);
        desk.terminal.wait_text(shows);
    }
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed editor", |screen| !screen.contains("New task"));
    assert_eq!(desk.quit(), 0);
    let sent = desk.terminal.bytes_since(mark);
    let at = sent.iter().position(|byte| !byte.is_ascii());
    let near = at.map(|at| String::from_utf8_lossy(&sent[at.saturating_sub(40)..(at + 40).min(sent.len())]));
    assert_eq!(near, None, "a byte with the eighth bit");
}

/// What stands between `ESC [` and `m`, of each such sequence.
fn graphics(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes)
        .split("\u{1b}[")
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
            rest[end..].starts_with('m').then(|| rest[..end].to_owned())
        })
        .collect()
}
