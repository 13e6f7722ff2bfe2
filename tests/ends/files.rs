//! `:lines FILE` in the console: a file of any kind and size, and no line twice.

use crate::desk::Desk;
use crate::proxy::{Cut, Proxy};
use crate::support::{empty_database, shared_server};

#[test]
fn what_is_no_file_of_lines_is_refused_at_once() {
    let mut desk = Desk::open(&empty_database());
    desk.start("--workers 0");
    desk.begin_empty();
    for path in ["/dev/zero", "/tmp"] {
        desk.terminal.keys(&format!(":lines {path}\r"));
        desk.terminal.wait_text("Submit a file");
        desk.terminal.keys("y");
        desk.terminal.wait_text(&format!("{path}: is not a regular file"));
    }
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.tasks"), "0");
    assert_eq!(desk.quit(), 0);
}

#[test]
fn a_file_goes_on_where_it_was_interrupted_and_makes_no_line_twice() {
    let url = empty_database();
    let (proxy, _runtime) = Proxy::start_aside(shared_server().port());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines");
    let lines: String = (1..=1_200).map(|number| format!("line {number}\n")).collect();
    std::fs::write(&file, lines).expect("write the lines");

    let mut desk = Desk::open(&proxy.address(&url));
    desk.start("--workers 0");
    desk.begin_empty();
    let submit = |desk: &mut Desk| {
        desk.terminal.keys(&format!(":lines {}\r", file.display()));
        desk.terminal.wait_text("Submit a file");
        desk.terminal.keys("y");
    };
    // The second statement's answer never comes, nor does one to asking again.
    for _ in 0..500 {
        proxy.cut(Cut::After, "line 501");
        proxy.cut(Cut::After, "s.submission = ANY");
    }
    submit(&mut desk);
    desk.terminal.wait_text("outcome unknown, checking");
    desk.terminal.wait_text("could not be found out");
    proxy.disarm();
    submit(&mut desk);
    let screen = desk.terminal.wait_text("were in the table already");
    let said = screen.lines().find(|line| line.contains("already")).unwrap_or_default();
    assert!(said.contains("200 tasks submitted, 1000 were in the table already"), "{said}");
    assert_eq!(desk.psql("SELECT count(*), count(DISTINCT input) FROM taskdeck.task_inputs"), "1200|1200");
    // What was done is done: the same file again is meant.
    submit(&mut desk);
    desk.terminal.wait_text("1,200 tasks submitted");
    assert_eq!(desk.psql("SELECT count(*) FROM taskdeck.tasks"), "2400");
    assert_eq!(desk.quit(), 0);
}
