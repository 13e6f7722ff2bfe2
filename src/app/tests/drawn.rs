//! What is decided is what was drawn: on a line that has stalled, what has arrived since is not what was seen.

use super::super::testing::{Console, Line, change, clock, history, page, seen, task};
use crate::app::message::{Message, Target};
use crate::app::overlay::Overlay;
use crate::app::question::{Ask as _, Question, Standing};
use crate::app::{Effect, RequestId};
use crate::domain::outcome::Verdict;
use crate::domain::{DecisionKind, Status, Task, TaskId};

fn with(id: i64, status: Status, version: i64) -> Task {
    Task { status, version, ..task(id) }
}

/// A console whose line has just stalled.
fn stalled(tasks: impl IntoIterator<Item = Task>) -> Console {
    Console { line: Line::Stalled, ..Console::with(page(tasks)) }
}

fn question(console: &Console) -> &Question {
    match console.state.overlay() {
        Some(Overlay::Question(question)) => question,
        other => panic!("no question: {other:?}, {}", console.notice()),
    }
}

#[test]
fn a_row_that_changed_after_the_last_frame_is_not_decided() {
    let mut console = stalled([with(7, Status::Queued, 4)]);
    console.load(page([with(7, Status::Running, 5)]));
    assert_eq!(console.press("c y"), []);
    assert_eq!(question(&console).rows[0].seen.version, 4);
    assert_eq!(question(&console).rows[0].standing, Standing::Moved { version: 5, status: Status::Running });
    // Once a frame has shown it, it can be decided.
    console.line = Line::Open;
    console.press("esc");
    let effects = console.press("c y");
    assert!(matches!(&effects[..], [Effect::Decide { rows, .. }] if rows == &[seen(7, 5)]), "{effects:?}");
}

#[test]
fn a_row_that_came_back_to_the_state_that_was_drawn_is_another() {
    let (then, now) = (with(7, Status::Queued, 4), with(7, Status::Queued, 6));
    let moved = Standing::Moved { version: 6, status: Status::Queued };
    let mut console = stalled([then.clone()]);
    console.load(page([now.clone()]));
    assert_eq!(console.press("c y"), []);
    assert_eq!(question(&console).rows[0].standing, moved);
    // Also where it left and came back while the question stood.
    let mut console = Console::with(page([then]));
    console.press("c");
    console.load(page([now]));
    assert_eq!(console.press("y"), []);
    assert_eq!(question(&console).rows[0].standing, moved);
}

#[test]
fn a_row_that_was_never_drawn_is_not_decided() {
    let mut console = stalled([task(7)]);
    console.load(page([task(7), task(8)]));
    console.press("up up c");
    assert!(console.state.overlays.is_empty());
    assert_eq!(console.notice(), "8 has not been on screen yet: look at it, then act");
    console.press("space");
    assert!(console.state.list.marks.is_empty());
    console.press(": c a n c e l space 8 enter");
    assert!(console.notice().contains("8 was not on screen"), "{}", console.notice());
}

#[test]
fn a_mark_is_what_was_drawn_when_it_was_made() {
    let mut console = stalled([with(7, Status::Queued, 4), with(8, Status::Queued, 1)]);
    console.load(page([with(7, Status::Queued, 5), with(8, Status::Queued, 1)]));
    console.press("A c");
    assert_eq!(question(&console).yes(), "cancel them (not possible: 1 moved)");
}

#[test]
fn a_detail_pane_is_decided_as_it_was_drawn() {
    let mut console = Console::with(page([with(7, Status::Failed, 3)]));
    let read = |version| Message::DetailLoaded {
        id: TaskId(7),
        read_at: clock(1),
        found: Some(history(with(7, Status::Failed, version))),
    };
    console.press("enter");
    console.send(read(3));
    console.line = Line::Stalled;
    console.send(read(4));
    assert_eq!(console.press("r y"), []);
    assert_eq!(question(&console).rows[0].seen.version, 3);
}

#[test]
fn a_conflict_that_was_not_drawn_yet_takes_no_act() {
    let mut console = Console::with(page([with(7, Status::Submitted, 0)]));
    console.press("a y");
    console.line = Line::Stalled;
    let last = Some(change("bob", "reject", 1, None));
    let conflict = Verdict::Conflict { task: with(7, Status::Rejected, 1), last };
    console.decided(1, DecisionKind::Approve, vec![(7, conflict)]);
    // Meant for the list, from which the conflict takes the keys.
    assert_eq!(console.press("r"), []);
    assert_eq!(console.state.overlay(), Some(&Overlay::Conflict));
    console.line = Line::Open;
    console.send(Message::Tick);
    console.press("r");
    assert_eq!(question(&console).title(), "Requeue task 7?");
    let effects = console.press("y");
    assert!(matches!(&effects[..], [Effect::Decide { request: RequestId(2), .. }]), "{effects:?}");
}

#[test]
fn what_lies_over_a_row_hides_its_changes() {
    let mut console = Console::with(page([with(7, Status::Queued, 4)]));
    console.press("?");
    console.load(page([with(7, Status::Queued, 5)]));
    console.line = Line::Stalled;
    console.press("esc c");
    assert!(matches!(question(&console).rows[0].standing, Standing::Moved { .. }));
}

#[test]
fn a_row_scrolled_away_stays_as_it_was_drawn() {
    let mut console = stalled((1..=60).map(task));
    console.send(Message::Drawn(vec![Target::Task(TaskId(1))]));
    console.press(": c a n c e l space 6 0 enter");
    assert!(matches!(console.state.overlay(), Some(Overlay::Question(_))), "{}", console.notice());
}
