//! A decision about all that match, asked for on a terminal: what matches is shown, and only a clear answer is a yes.

use crate::desk::Desk;
use crate::support::database;

#[tokio::test]
async fn what_matches_is_shown_and_asked_about() {
    let db = database().await;
    let mut desk = Desk::open(&db.url);
    for _ in 0..3 {
        desk.submit(&["--hold", "x"]);
    }
    let changed = || db.psql("SELECT count(*) FROM taskdeck.tasks WHERE version > 0");
    for (answer, left) in [("n", "0"), ("", "0"), ("reject", "0"), ("y", "3")] {
        desk.run("taskdeck reject --all --search X");
        let asked = until_it_asks(&mut desk, "Do you want to reject all of them? [y/N]");
        assert!(asked.contains("3 tasks match: 3 SUBMITTED"), "{asked}");
        desk.terminal.line(answer);
        until_it_says(
            &mut desk,
            if answer == "y" { "rejected 3 tasks" } else { "error: nothing was changed" },
        );
        assert_eq!(changed(), left, "{answer:?}");
    }
    // Nothing narrows it: a `y` that was typed ahead is no answer.
    for (answer, said) in [("y", "error: nothing was changed"), ("requeue", "requeued 3 tasks")] {
        desk.run("taskdeck requeue --all");
        until_it_asks(&mut desk, "every task of every tenant. Type requeue to requeue them all:");
        desk.terminal.line(answer);
        until_it_says(&mut desk, said);
    }
    desk.run("taskdeck approve --all");
    until_it_says(&mut desk, "nothing matches; nothing was changed");
}

fn until_it_asks(desk: &mut Desk, question: &str) -> String {
    desk.terminal.wait_for(question, |screen| screen.trim_end().ends_with(question))
}

/// It is cleared then, so that the next time it is not the answer of this time that is read.
fn until_it_says(desk: &mut Desk, text: &str) {
    desk.terminal.wait_for(text, |screen| screen.contains(text) && screen.trim_end().ends_with("shell>"));
    desk.terminal.line("clear");
    desk.terminal.wait_for("a clear screen", |screen| screen.trim() == "shell>");
}
