//! A worker that is killed: nobody is left to stop its command, and that changes nothing in the tables.

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::process::Process;
use crate::support::empty_database;
use crate::worker::Headless;

/// In the first process it waits until `GO` is there or its folder is not, then leaves a file to say that it has come to its end.
const COMMAND: &str = r#"sh -c '
    if [ -n "$GO" ]; then
        while [ -d "${GO%/*}" ] && ! [ -e "$GO" ]; do sleep 0.05; done
        echo to the end >"$GO.done"
    fi
    echo by "$NAME"'"#;

#[test]
fn the_command_of_a_killed_worker_goes_on_and_its_end_changes_nothing() {
    let url = empty_database();
    let desk = Desk::open(&url);
    let folder = tempfile::tempdir().expect("a folder");
    let go = folder.path().join("go");
    let go_path = go.display().to_string();
    let flags = ["--workers", "1", "--analyser", "command", "--exec", COMMAND];
    let short = [&flags[..], &["--lease", "5s"]].concat();
    let first = Headless::start(&url, &short, &[("NAME", "first"), ("GO", &go_path)]);
    let id = desk.submit(&["text"]);
    desk.wait_row(id, |row| row.starts_with("RUNNING"));
    let command = Process::child_of(first.process().pid, "sh");
    first.process().signal(Signal::KILL);
    assert_eq!(first.end().code, None);

    let second = Headless::start(&url, &flags, &[("NAME", "second")]);
    desk.wait_row(id, |row| row == "SUCCEEDED|f|4");
    let result = format!("SELECT output, claim_no FROM taskdeck.tasks WHERE id = {id}");
    assert_eq!(desk.psql(&result), "by second\n|2");
    assert!(!command.is_gone(), "nobody has stopped it");
    std::fs::write(&go, "").expect("let it end");
    let done = folder.path().join("go.done");
    wait_until("its end", || (done.exists() && command.is_gone()).then_some(()));
    assert_eq!(desk.psql(&result), "by second\n|2");
    assert_eq!(desk.row(id), "SUCCEEDED|f|4");
    second.process().signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
}
