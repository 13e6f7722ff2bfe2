//! Commands on a terminal: colours unless `NO_COLOR`, lines no wider than it, progress where it takes a while.

use std::fmt::Write as _;

use crate::desk::Desk;
use crate::support::{database, unique};

/// Runs a command on the terminal and returns what it wrote there.
fn on_terminal(desk: &mut Desk, command: &str) -> String {
    let mark = desk.terminal.mark();
    // What is typed is not what is written, so the echo of the line is no answer; nor is what stood there before.
    let number = unique();
    desk.run(&format!("echo BE''GIN{number}; {command}; echo EN''D{number}"));
    let [begin, end] = [format!("BEGIN{number}\r\n"), format!("END{number}\r\n")];
    desk.terminal.wait_for("the command's end", |screen| screen.lines().any(|line| line == end.trim_end()));
    let sent = String::from_utf8(desk.terminal.bytes_since(mark)).expect("UTF-8");
    let (_, rest) = sent.split_once(&begin).expect("it began");
    rest.split_once(&end).expect("it ended").0.to_owned()
}

fn piped(desk: &Desk, arguments: &[&str]) -> String {
    String::from_utf8(desk.taskdeck(arguments).stdout).expect("UTF-8")
}

#[tokio::test]
async fn colours_only_on_a_terminal_and_never_with_no_color() {
    let db = database().await;
    let mut desk = Desk::sized(60, 24, Some(&db.url), &[]);
    desk.submit(&[&"long text ".repeat(15)]);
    let coloured = on_terminal(&mut desk, "taskdeck list");
    assert!(coloured.contains("\u{1b}[36mQUEUED\u{1b}[0m"), "{coloured:?}");
    let plain = on_terminal(&mut desk, "NO_COLOR=1 taskdeck list");
    assert!(plain.contains("QUEUED") && !plain.contains('\u{1b}'), "{plain:?}");
    for line in plain.lines() {
        assert!(line.chars().count() <= 60, "{line:?}");
    }
    let piped = piped(&desk, &["list"]);
    assert!(piped.contains("QUEUED") && !piped.contains('\u{1b}'), "{piped:?}");
    assert!(plain.contains('…') && !piped.contains('…'), "{plain:?} {piped:?}");
}

#[tokio::test]
async fn a_file_of_lines_shows_how_far_it_is() {
    let db = database().await;
    let mut desk = Desk::sized(60, 24, Some(&db.url), &[]);
    let mut lines = String::new();
    for number in 1..=1_500 {
        writeln!(lines, "line {number}").expect("writing to a String cannot fail");
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, lines).expect("write the lines");
    let shown = on_terminal(&mut desk, &format!("taskdeck submit --lines {}", file.path().display()));
    assert!(shown.contains('%') && shown.contains("1,000 submitted"), "{shown:?}");
    assert!(shown.contains("submitted 1,500 (tasks 1 to 1500)"), "{shown:?}");
}
