//! An end is not silent about writes of which nobody knows what became of them.

use crate::desk::Desk;
use crate::proxy::{Cut, Proxy};
use crate::support::{empty_database, shared_server};

/// A text that only the statement holds which looks for what a decision has changed.
const TRACE: &str = "AND (v.move = $4";

/// A desk whose database is behind a proxy, with the runtime that the proxy needs.
fn behind_proxy() -> (Desk, Proxy, tokio::runtime::Runtime) {
    let url = empty_database();
    let (proxy, runtime) = Proxy::start_aside(shared_server().port());
    (Desk::open(&proxy.address(&url)), proxy, runtime)
}

#[test]
fn a_write_whose_answer_is_lost_is_pursued_to_its_end() {
    let (mut desk, proxy, _runtime) = behind_proxy();
    desk.start("--workers 1 --queue other");
    desk.begin_empty();
    let id = desk.submit(&["waits in a queue that nobody takes"]);
    desk.wait_line(id, &["QUEUED"]);
    desk.terminal.keys("g");
    // The first answer is lost, and so are those to the first times that it is asked again.
    for _ in 0..6 {
        proxy.cut(Cut::After, "said by the operator");
        proxy.cut(Cut::After, TRACE);
    }
    desk.terminal.keys("ci");
    desk.terminal.keys("said by the operator\r");
    desk.terminal.keys("y");
    desk.terminal.wait_text("outcome unknown, checking");
    desk.terminal.keys("q");
    // The workers are done at once; the console is not, before the decision is.
    desk.terminal.wait_text("1 of your acts waits for the database");
    assert_eq!(desk.back_in_shell(), 0);
    assert!(proxy.cuts() >= 6, "{} answers were lost", proxy.cuts());
    assert!(desk.row(id).starts_with("CANCELED|"), "{}", desk.row(id));
}

#[test]
fn leaving_a_write_without_its_answer_is_said_and_is_no_success() {
    let (mut desk, proxy, _runtime) = behind_proxy();
    desk.start("--workers 1 --queue other");
    desk.begin_empty();
    let id = desk.submit(&["waits in a queue that nobody takes"]);
    desk.wait_line(id, &["QUEUED"]);
    desk.terminal.keys("g");
    for _ in 0..500 {
        proxy.cut(Cut::After, "said by the operator");
        proxy.cut(Cut::After, TRACE);
    }
    desk.terminal.keys("ci");
    desk.terminal.keys("said by the operator\r");
    desk.terminal.keys("y");
    desk.terminal.wait_text("outcome unknown, checking");
    desk.terminal.keys("q");
    desk.terminal.wait_text("1 of your acts waits for the database");
    desk.terminal.keys("\u{3}");
    desk.terminal.wait_text("asked to stop");
    desk.terminal.keys("\u{3}");
    assert_eq!(desk.back_in_shell(), 1);
    let screen = desk.terminal.screen().replace('\n', "");
    assert!(screen.contains("1 write has no answer"), "{screen}");
}
