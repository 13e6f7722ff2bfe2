//! Decisions: asked once, sent as seen, answered by the database alone.

use super::super::testing::{Console, change, history, page, seen, task};
use crate::app::acts::Phase;
use crate::app::availability::availability;
use crate::app::footer::{Availability, footer};
use crate::app::keys::Action;
use crate::app::message::{Message, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::question::{Ask as _, Question, Standing};
use crate::app::{Effect, RequestId};
use crate::domain::outcome::Verdict;
use crate::domain::{Approval, DecisionKind, Status, Task, TaskId};

fn with(id: i64, status: Status, version: i64) -> Task {
    Task { status, version, ..task(id) }
}

fn question(console: &Console) -> &Question {
    match console.state.overlay() {
        Some(Overlay::Question(question)) => question,
        other => panic!("no question: {other:?}"),
    }
}

fn decide(request: u64, kind: DecisionKind, rows: &[(i64, i64)]) -> Effect {
    Effect::Decide {
        request: RequestId(request),
        kind,
        rows: rows.iter().map(|(id, version)| seen(*id, *version)).collect(),
        reason: None,
        tenant: None,
    }
}

fn fail(console: &mut Console, failure: WriteFailure) {
    console.send(Message::Decided { request: RequestId(1), result: Err(failure) });
}

#[test]
fn a_decision_is_asked_once_and_sent_as_it_was_seen() {
    let mut console = Console::with(page([with(7, Status::Queued, 4)]));
    assert_eq!(console.press("c"), []);
    assert_eq!(question(&console).title(), "Cancel task 7?");
    assert_eq!(question(&console).rows[0].says(DecisionKind::Cancel), "will be CANCELED at once");
    assert_eq!(console.press("c"), [], "the act's key is no answer");
    assert_eq!(console.press("y"), [decide(1, DecisionKind::Cancel, &[(7, 4)])]);
    // Nothing is shown as done before the database says so.
    assert_eq!(console.state.list.task(TaskId(7)).expect("listed").status, Status::Queued);
    assert_eq!(console.state.acts.beside(TaskId(7)).as_deref(), Some("cancel: asking…"));
    assert_eq!(console.press("c"), []);
    assert!(console.state.overlays.is_empty() && console.notice().contains("already asking"));
    let task = with(7, Status::Canceled, 5);
    console.decided(1, DecisionKind::Cancel, vec![(7, Verdict::Committed { task, version_before: 4 })]);
    assert_eq!(console.notice(), "canceled 7 (v4 → v5)");
    assert_eq!(console.state.acts.beside(TaskId(7)), None);
}

#[test]
fn n_and_esc_do_not() {
    for key in ["n", "esc"] {
        let mut console = Console::with(page([task(7)]));
        console.press("c");
        assert_eq!(console.press(key), []);
        assert!(console.state.overlays.is_empty() && console.state.acts.decisions.is_empty());
    }
}

#[test]
fn a_key_that_is_held_down_acts_once() {
    let mut console = Console::with(page([task(7), task(8)]));
    console.press("c");
    let key = crate::app::keys::Key::char('y');
    let mut effects = Vec::new();
    for _ in 0..20 {
        console.now += std::time::Duration::from_millis(30);
        effects.extend(console.send(Message::Key(key)));
    }
    effects.retain(|effect| !matches!(effect, Effect::Read(_)));
    assert_eq!(effects, [decide(1, DecisionKind::Cancel, &[(8, 0)])]);
    // `n` refuses once and does not go on to open the editor.
    console.press("down c");
    for _ in 0..20 {
        console.now += std::time::Duration::from_millis(30);
        console.send(Message::Key(crate::app::keys::Key::char('n')));
    }
    assert!(console.state.overlays.is_empty());
}

#[test]
fn a_row_that_changes_or_goes_while_the_question_stands_cannot_be_sent() {
    let mut console = Console::with(page([with(7, Status::Queued, 4), task(8)]));
    console.press("down c");
    console.load(page([with(7, Status::Running, 5), task(8)]));
    let moved = Standing::Moved { version: 5, status: Status::Running };
    assert_eq!(question(&console).rows[0].standing, moved);
    assert_eq!(question(&console).yes(), "cancel it (not possible: 1 moved)");
    assert_eq!(console.press("y"), []);
    assert!(console.notice().contains("nothing was sent"), "{}", console.notice());
    // The question stands until it is answered, and what moved stays moved even when it leaves.
    console.load(page([task(8)]));
    assert_eq!(question(&console).rows[0].standing, moved);
    assert_eq!(console.press("y"), []);

    let mut console = Console::with(page([task(7)]));
    console.press("c");
    console.load(page([]));
    assert_eq!(question(&console).rows[0].standing, Standing::Gone);
    assert_eq!(console.press("y"), []);
}

#[test]
fn newer_rows_do_not_make_the_row_of_a_question_gone() {
    let mut console = Console::with(page([task(7)]));
    console.press("c");
    let mut newer = page((8..108).map(task));
    newer.next_before = Some(TaskId(8));
    let effects = console.load(newer);
    assert_eq!(console.state.list.limit, 200, "{effects:?}");
    assert_eq!(console.press("y"), [decide(1, DecisionKind::Cancel, &[(7, 0)])]);
}

#[test]
fn all_marked_rows_or_none() {
    let mut console = Console::with(page([
        with(1, Status::Queued, 0),
        with(2, Status::Running, 1),
        with(3, Status::Queued, 4),
    ]));
    console.press("A c");
    assert_eq!(question(&console).title(), "Cancel 3 tasks?");
    assert!(question(&console).rows[1].says(DecisionKind::Cancel).contains("stays RUNNING until"));
    console.press("esc");
    console.load(page([with(1, Status::Queued, 0), with(2, Status::Running, 1), with(3, Status::Queued, 5)]));
    console.press("c");
    assert_eq!(question(&console).yes(), "cancel them (not possible: 1 moved)");
    assert_eq!(console.press("y"), []);
    console.press("esc esc A c i");
    assert_eq!(console.press("w r o n g enter y").len(), 1);
    let act = console.state.acts.decisions.last().expect("sent");
    assert_eq!(act.rows, [seen(1, 0), seen(2, 1), seen(3, 5)]);
    assert!(console.state.list.marks.is_empty());
}

#[test]
fn a_reason_is_text_and_goes_with_the_decision() {
    let mut console = Console::with(page([with(7, Status::Submitted, 0)]));
    console.press("X tab");
    assert_eq!(console.press("n y q"), [], "letters are text there");
    console.send(Message::Paste(" y\ny".into()));
    let effects = console.press("esc y");
    let [Effect::Decide { reason: Some(reason), kind: DecisionKind::Reject, .. }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(reason, "nyq y y");
}

#[test]
fn an_act_that_the_state_does_not_allow_says_so() {
    let mut console = Console::with(page([with(7, Status::Succeeded, 2)]));
    assert_eq!(console.press("r"), []);
    assert_eq!(console.notice(), "requeue: 7 is SUCCEEDED; requeue is for FAILED, CANCELED, REJECTED");
    let running = Task { cancel_requested: true, ..with(7, Status::Running, 3) };
    console.load(page([running]));
    console.press("c");
    assert!(console.notice().contains("already requested"), "{}", console.notice());
    assert!(console.state.overlays.is_empty());
}

#[test]
fn a_conflict_shows_the_row_as_it_is_and_only_a_fresh_question_acts_on_it() {
    let mut console = Console::with(page([with(7, Status::Submitted, 0)]));
    console.press("a y");
    let conflict = Verdict::Conflict {
        task: with(7, Status::Rejected, 1),
        last: Some(change("bob", "reject", 1, Some("duplicate of 48102"))),
    };
    let effects = console.decided(1, DecisionKind::Approve, vec![(7, conflict)]);
    assert!(effects.iter().all(|effect| matches!(effect, Effect::Read(_))), "{effects:?}");
    assert_eq!(console.state.overlay(), Some(&Overlay::Conflict));
    let lines = console.state.conflicts[0].lines(console.now);
    assert_eq!(
        lines,
        [
            "You asked to approve 7 as you saw it: v0.",
            "bob rejected it 2 s ago (v0 → v1): \"duplicate of 48102\".",
            "It is now REJECTED, v1."
        ]
    );
    assert_eq!(console.state.conflicts[0].possible(&console.state), [DecisionKind::Requeue]);
    assert_eq!(console.press("a"), []);
    assert_eq!(console.state.overlay(), Some(&Overlay::Conflict));
    assert_eq!(console.press("r"), []);
    assert_eq!(question(&console).title(), "Requeue task 7?");
    assert_eq!(console.press("y"), [decide(2, DecisionKind::Requeue, &[(7, 1)])]);
}

#[test]
fn who_may_not_approve_their_own_task_is_told_the_rule() {
    let mut console = Console::with(page([with(7, Status::Submitted, 0)]));
    console.press("a y");
    console.decided(
        1,
        DecisionKind::Approve,
        vec![(7, Verdict::Refused { task: with(7, Status::Submitted, 0) })],
    );
    let lines = console.state.conflicts[0].lines(console.now);
    assert_eq!(lines[1], "You submitted it yourself: another operator must approve it (four eyes).");
    assert_eq!(console.state.overlay(), Some(&Overlay::Conflict));
    let possible = console.state.conflicts[0].possible(&console.state);
    assert_eq!(possible, [DecisionKind::Cancel, DecisionKind::Reject], "all but what was refused");

    // A row that moved on, whatever to, is no case of the rule.
    let mut console = Console::with(page([with(7, Status::Submitted, 0)]));
    console.press("a y");
    let verdict = Verdict::Conflict { task: with(7, Status::Submitted, 0), last: None };
    console.decided(1, DecisionKind::Approve, vec![(7, verdict)]);
    let lines = console.state.conflicts[0].lines(console.now);
    assert!(!lines.join(" ").contains("four eyes"), "{lines:?}");
}

#[test]
fn who_may_not_approve_their_own_task_is_told_before_the_database_is_asked() {
    let held = |id, by: &str, approval| Task {
        submitted_by: Some(by.into()),
        approval,
        ..with(id, Status::Submitted, 0)
    };
    let approve = |console: &Console| availability(&console.state, Action::Approve);
    let own = || page([held(7, "alice", Approval::Another)]);
    let mut console = Console::with(own());
    let Availability::Disabled { reason } = approve(&console) else { panic!("she submitted it") };
    assert!(reason.contains("another operator must approve it"), "{reason}");
    assert!(
        footer(&console.state).iter().any(|item| item.action == Action::Approve
            && matches!(item.availability, Availability::Disabled { .. }))
    );
    assert_eq!(console.press("a"), []);
    assert!(
        console.state.overlays.is_empty() && console.notice().contains("four eyes"),
        "{}",
        console.notice()
    );
    for action in [Action::Reject, Action::Cancel] {
        assert_eq!(availability(&console.state, action), Availability::Enabled, "{action:?}");
    }
    // Another's task may be approved, and where no rule was set one's own.
    for task in [held(7, "bob", Approval::Another), held(7, "alice", Approval::Anybody)] {
        assert_eq!(approve(&Console::with(page([task]))), Availability::Enabled);
    }
    // The rule of this session holds for tasks that were submitted without it.
    let mut console = Console::with(page([held(7, "alice", Approval::Anybody)]));
    console.state.session.approval = Approval::Another;
    assert!(matches!(approve(&console), Availability::Disabled { .. }));
    // Among several marked the question names it, and nothing is sent.
    let mut console =
        Console::with(page([held(7, "alice", Approval::Another), held(8, "bob", Approval::Another)]));
    assert_eq!(console.press("A a"), []);
    let blocked = question(&console).blocked();
    assert_eq!(blocked.as_deref(), Some("not possible: 1 submitted by you (four eyes)"));
    assert_eq!(console.press("y"), []);
}

#[test]
fn a_conflict_does_not_take_the_keys_of_what_is_open() {
    let mut console = Console::with(page([with(7, Status::Submitted, 0)]));
    console.press("a y n h i");
    console.decided(1, DecisionKind::Approve, vec![(7, Verdict::NotFound)]);
    assert_eq!(console.state.overlay(), Some(&Overlay::Submit));
    console.press("esc");
    assert_eq!(console.state.overlay(), Some(&Overlay::Conflict));
    assert!(console.state.conflicts[0].lines(console.now)[1].contains("no such task"));
    console.press("esc");
    assert!(console.state.overlays.is_empty() && console.state.conflicts.is_empty());
}

#[test]
fn an_unknown_outcome_is_shown_as_unknown_until_it_is_resolved() {
    let mut console = Console::with(page([task(7)]));
    console.press("c y");
    fail(&mut console, WriteFailure::Unknown { message: "the reply was lost".into() });
    assert_eq!(console.state.acts.beside(TaskId(7)).as_deref(), Some("cancel: outcome unknown, checking…"));
    console.press("c");
    assert!(console.state.overlays.is_empty(), "it is still being asked");
    let mut resolved = Console { state: console.state.clone(), ..console };
    let task = with(7, Status::Canceled, 1);
    let rows = vec![(TaskId(7), Verdict::Committed { task, version_before: 0 })];
    let decided = crate::domain::outcome::Decided {
        kind: DecisionKind::Cancel,
        rows,
        resolved_from_unknown: true,
        retries: 0,
    };
    resolved.send(Message::Decided { request: RequestId(1), result: Ok(decided) });
    assert_eq!(resolved.notice(), "canceled 7 (v0 → v1) (confirmed after a lost answer)");

    fail(&mut console, WriteFailure::Unresolved { message: "no answer in 30 s".into(), hint: None });
    assert_eq!(console.state.acts.decisions[0].phase, Phase::Unresolved);
    console.load(page([with(7, Status::Canceled, 1)]));
    assert_eq!(console.state.acts.beside(TaskId(7)), None, "the row tells now");
}

#[test]
fn what_could_not_be_sent_or_is_not_allowed_says_that_nothing_changed() {
    let mut console = Console::with(page([task(7)]));
    console.press("c y");
    fail(&mut console, WriteFailure::Unavailable { message: "connection refused".into(), hint: None });
    assert!(console.notice().contains("not sent, database unavailable, nothing was changed"));
    assert!(console.state.acts.decisions.is_empty());

    let mut console = Console::with(page([task(7)]));
    console.press("c y");
    let failure =
        WriteFailure::Refused { message: "the role viewer may not change tasks".into(), hint: None };
    fail(&mut console, failure);
    console.press("c");
    assert_eq!(console.notice(), "cancel: the role viewer may not change tasks");
    console.press("ctrl-r c");
    assert!(matches!(console.state.overlay(), Some(Overlay::Question(_))), "it may be granted by now");
}

#[test]
fn a_detail_pane_decides_what_it_shows() {
    let mut console = Console::with(page([with(7, Status::Queued, 0)]));
    console.press("enter");
    let found = Some(history(with(7, Status::Failed, 3)));
    console.send(Message::DetailLoaded { id: TaskId(7), read_at: super::super::testing::clock(1), found });
    assert_eq!(console.press("r y"), [decide(1, DecisionKind::Requeue, &[(7, 3)])]);
}

#[test]
fn a_number_on_the_command_line_is_only_decided_once_it_is_on_screen() {
    let mut console = Console::with(page([with(7, Status::Queued, 4)]));
    assert_eq!(console.press(": c a n c e l space 9 enter"), []);
    assert!(console.notice().contains("9 was not on screen"), "{}", console.notice());
    assert!(console.state.overlays.is_empty());
    console.press("esc : c a n c e l space 7 @ 3 enter");
    assert!(console.notice().contains("7 is v4 on screen, not v3"), "{}", console.notice());
    console.press(": c a n c e l space 7 enter");
    assert_eq!(console.press("y"), [decide(1, DecisionKind::Cancel, &[(7, 4)])]);
}
