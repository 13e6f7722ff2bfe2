//! A queue is paused and resumed once, as it was seen, and is shown paused only when the database says so.

use super::super::testing::{Console, Line, clock, overview, page};
use crate::app::acts::Phase;
use crate::app::footer::footer;
use crate::app::header::{Well, header};
use crate::app::keys::Action;
use crate::app::message::{Message, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::question::Ask as _;
use crate::app::queues::{QueueQuestion, QueueStanding};
use crate::app::state::{Access, Screen, WorkersPane};
use crate::app::{Effect, RequestId};
use crate::domain::Name;
use crate::domain::observed::{OldestDue, Overview};
use crate::domain::queue::{Queue, QueueAct, QueueChange, QueueDecided, QueueOutcome, QueueState};

fn state(version: i64, paused: bool, by: &str) -> QueueState {
    let change = QueueChange { by: by.into(), at: clock(-4), reason: Some("bad import".into()) };
    QueueState { paused, version, changed: Some(change) }
}

fn queue(name: &str, state: QueueState) -> Queue {
    Queue {
        name: name.into(),
        state,
        waiting: 120,
        later: 0,
        running: 3,
        held: 1,
        oldest_waiting_ms: Some(240_000),
        takers: 2,
    }
}

/// Screen 2 with an open queue `bills` and a paused one `mail`.
fn console() -> Console {
    let mut console = Console::fleet(vec![]);
    console.send(Message::QueuesLoaded(vec![
        queue("bills", QueueState::OPEN),
        queue("mail", state(3, true, "bob")),
    ]));
    console
}

fn keys(text: &str) -> String {
    let keys: Vec<String> =
        text.chars().map(|c| if c == ' ' { "space".to_owned() } else { c.to_string() }).collect();
    format!(": {} enter", keys.join(" "))
}

fn question(console: &Console) -> &QueueQuestion {
    match console.state.overlay() {
        Some(Overlay::Queue(question)) => question,
        other => panic!("no question: {other:?}"),
    }
}

fn sent(request: u64, act: QueueAct, queue: &str, version: i64, reason: Option<&str>) -> Effect {
    Effect::DecideQueue {
        request: RequestId(request),
        act,
        queue: Name::new("queue", queue).expect("a name"),
        version,
        reason: reason.map(str::to_owned),
    }
}

fn answer(console: &mut Console, outcome: QueueOutcome, state: QueueState) {
    let decided = QueueDecided { outcome, state, resolved_from_unknown: false, retries: 0 };
    console.send(Message::QueueDecided { request: RequestId(1), result: Ok(decided) });
}

fn fail(console: &mut Console, failure: WriteFailure) {
    console.send(Message::QueueDecided { request: RequestId(1), result: Err(failure) });
}

fn logged(console: &Console, text: &str) -> bool {
    console.state.log.entries.iter().any(|entry| entry.text.contains(text))
}

#[test]
fn a_pause_names_what_will_happen_and_carries_the_version_that_was_seen() {
    let mut console = console();
    assert_eq!(console.press(&keys("pause bills bad import")), [], "nothing before the answer");
    assert_eq!(question(&console).title(), "Pause queue bills?");
    let says = question(&console).says(&console.state);
    assert_eq!(
        says[0],
        "Workers claim nothing more from `bills`; 3 that run go on; 120 wait, the oldest for 4 m."
    );
    assert_eq!(console.press("y"), [sent(1, QueueAct::Pause, "bills", 0, Some("bad import"))]);
    assert_eq!(console.state.beside_queue("bills").as_deref(), Some("pause: asking…"));
    assert!(
        !console.state.queue_of("bills").expect("listed").state.paused,
        "not before the database says so"
    );
    assert_eq!(console.press(&keys("pause bills")), []);
    assert_eq!(question(&console).standing, QueueStanding::Busy);
    console.press("esc");
    answer(&mut console, QueueOutcome::Committed, state(1, true, "alice"));
    assert!(console.notice().starts_with("paused queue bills (v0 → v1);"), "{}", console.notice());
    assert!(logged(&console, "asked to pause queue bills (v0): \"bad import\""));
    assert_eq!(console.state.beside_queue("bills"), None);

    assert_eq!(console.press(&keys("resume mail")), []);
    let says = question(&console).says(&console.state).join(" ");
    assert!(
        says.contains("Workers claim from `mail` again: 120 wait, the oldest for 4 m; 2 workers"),
        "{says}"
    );
    assert!(says.contains("It was paused by bob") && says.contains("\"bad import\""), "{says}");
    assert_eq!(console.press("y"), [sent(2, QueueAct::Resume, "mail", 3, None)]);
}

#[test]
fn a_queue_that_is_not_listed_was_never_paused() {
    let mut console = console();
    assert_eq!(console.press(&keys("pause empty")), []);
    assert!(question(&console).says(&console.state)[1].contains("nobody ever paused it"));
    assert_eq!(console.press("y"), [sent(1, QueueAct::Pause, "empty", 0, None)]);
}

#[test]
fn what_is_so_already_is_not_asked_for_and_a_bad_name_is_refused() {
    let mut console = console();
    for (typed, why) in [
        ("pause mail", "pause: queue mail was paused by bob"),
        ("resume bills", "resume: queue bills is open: nobody ever paused it"),
        ("resume nothing", "nobody ever paused it"),
        ("pause Bills!", "pause: queue"),
        ("pause", "write the queue's name"),
    ] {
        assert_eq!(console.press(&keys(typed)), [], "{typed}");
        assert!(console.notice().contains(why), "{typed}: {}", console.notice());
        assert!(console.state.overlays.is_empty(), "{typed}");
    }
}

#[test]
fn only_what_was_on_screen_is_decided() {
    let mut console = console();
    console.press("1");
    assert_eq!(console.press(&keys("pause bills")), []);
    assert_eq!((console.state.screen, console.state.overlays.len()), (Screen::Workers, 0));
    assert_eq!(console.state.workers_pane, WorkersPane::Queues);
    assert!(console.notice().contains("Look, then ask again"), "{}", console.notice());
    // The line stalls, and what arrives since is not on screen.
    console.line = Line::Stalled;
    console.send(Message::QueuesLoaded(vec![
        queue("bills", state(2, false, "bob")),
        queue("new", QueueState::OPEN),
    ]));
    assert_eq!(console.press(&keys("pause new")), []);
    assert!(console.notice().contains("has not been on screen yet"), "{}", console.notice());
    assert_eq!(console.press(&keys("pause bills")), []);
    assert!(matches!(question(&console).standing, QueueStanding::Moved { .. }));
    assert_eq!(console.press("y"), []);
}

#[test]
fn somebody_who_decides_while_the_question_stands_is_told_of() {
    let mut console = console();
    console.press(&keys("pause bills"));
    console.send(Message::QueuesLoaded(vec![queue("bills", state(1, true, "bob"))]));
    let says = question(&console).says(&console.state).join(" ");
    assert!(says.starts_with("Not possible: queue bills was paused by bob"), "{says}");
    assert_eq!(console.press("y"), []);
    assert!(console.notice().contains("nothing was sent"), "{}", console.notice());
}

#[test]
fn somebody_who_was_first_is_told_with_when_and_why() {
    let mut console = console();
    console.press(&format!("{} y", keys("pause bills")));
    answer(&mut console, QueueOutcome::Conflict, state(2, false, "bob"));
    assert_eq!(console.state.overlay(), Some(&Overlay::QueueConflict));
    let lines = console.state.queue_conflicts[0].lines(&console.state);
    assert_eq!(lines[0], "You asked to pause queue bills as you saw it: v0.");
    assert!(lines[1].starts_with("It was resumed by bob") && lines[1].contains("bad import"), "{lines:?}");
    assert_eq!(lines[2], "It is now open, v2.");
    assert!(logged(&console, "nothing was changed: You asked to pause queue bills"));
    assert_eq!(console.press("y"), [], "it takes no answer");
    console.press("enter");
    assert_eq!(
        (console.state.workers_pane, console.state.queue.as_deref()),
        (WorkersPane::Queues, Some("bills"))
    );
    assert!(console.state.overlays.is_empty() && console.state.queue_conflicts.is_empty());
}

#[test]
fn an_unknown_outcome_is_called_so_until_it_is_resolved() {
    let mut console = console();
    console.press(&format!("{} y", keys("pause bills")));
    fail(&mut console, WriteFailure::Unknown { message: "the reply was lost".into() });
    assert_eq!(console.state.beside_queue("bills").as_deref(), Some("pause: outcome unknown, checking…"));
    assert_eq!(console.state.unanswered(), 1, "the end of the process waits for it");
    let mut given_up = Console { state: console.state.clone(), ..console };
    let decided = QueueDecided {
        outcome: QueueOutcome::Committed,
        state: state(1, true, "alice"),
        resolved_from_unknown: true,
        retries: 0,
    };
    console.send(Message::QueueDecided { request: RequestId(1), result: Ok(decided) });
    assert!(console.notice().ends_with("(confirmed after a lost answer)"), "{}", console.notice());

    fail(&mut given_up, WriteFailure::Unresolved { message: "no answer in 30 s".into(), hint: None });
    assert_eq!(given_up.state.acts.queues[0].phase, Phase::Unresolved);
    assert!(given_up.notice().contains("look at its row on screen 2"), "{}", given_up.notice());
    given_up.send(Message::QueuesLoaded(vec![queue("bills", QueueState::OPEN)]));
    assert_eq!(given_up.state.beside_queue("bills").as_deref(), Some("pause: outcome not known"));
    given_up.send(Message::QueuesLoaded(vec![queue("bills", state(1, true, "alice"))]));
    assert_eq!(given_up.state.beside_queue("bills"), None, "its row tells");
}

#[test]
fn a_session_that_may_not_says_why() {
    let mut read_only = console();
    read_only.state.session.access = Access::ReadOnly { reason: "started with --read-only".into() };
    assert_eq!(read_only.press(&keys("pause bills")), []);
    assert_eq!(read_only.notice(), "read-only: started with --read-only");
    assert!(read_only.state.overlays.is_empty());

    let mut console = console();
    console.press(&format!("{} y", keys("pause bills")));
    let message = "permission denied for table queues".to_owned();
    fail(&mut console, WriteFailure::Refused { message, hint: None });
    assert!(console.notice().contains("refused, nothing was changed"), "{}", console.notice());
    assert_eq!(console.press(&keys("pause bills")), []);
    assert_eq!(console.notice(), "permission denied for table queues");
    console.press("ctrl-r");
    console.press(&keys("pause bills"));
    assert_eq!(question(&console).title(), "Pause queue bills?");
}

#[test]
fn tab_leads_to_the_queues_and_enter_to_the_tasks_of_one() {
    let mut console = console();
    assert_eq!(console.state.workers_pane, WorkersPane::Instances);
    console.press("tab j");
    assert_eq!(console.state.queue.as_deref(), Some("mail"));
    // Without a name it is the one under the cursor.
    console.press(&keys("resume"));
    assert_eq!(question(&console).title(), "Resume queue mail?");
    console.press("esc d");
    assert!(console.notice().contains("that is for an instance"), "{}", console.notice());
    let items = footer(&console.state);
    assert!(items.iter().any(|item| item.action == Action::CommandLine && item.label == "pause, resume"));
    console.press("esc");
    assert_eq!(console.state.workers_pane, WorkersPane::Instances);
    console.press("tab enter");
    assert_eq!(
        (console.state.screen, console.state.list.filter.queue.as_deref()),
        (Screen::Tasks, Some("mail"))
    );
    // What has run empty leaves the list, and the cursor stays on its line.
    console.press("2");
    console.send(Message::QueuesLoaded(vec![queue("bills", QueueState::OPEN)]));
    assert_eq!(console.state.queue.as_deref(), Some("bills"));
    console.send(Message::QueuesLoaded(vec![]));
    assert_eq!(console.state.queue, None);
}

#[test]
fn the_command_line_completes_what_can_be_paused_or_resumed() {
    let console = console();
    let completed = |typed: &str| crate::app::command::completions(&console.state, typed);
    assert_eq!(completed("p"), ["pause "]);
    assert_eq!(completed("pause "), ["pause bills"]);
    assert_eq!(completed("resume "), ["resume mail"]);
    assert_eq!(completed("pause bills b"), [""; 0], "a reason is not a name");
}

#[test]
fn a_task_that_waits_in_a_paused_queue_is_said_to_wait_for_a_person() {
    let mut console = Console::with(page([]));
    let oldest = OldestDue {
        id: crate::domain::TaskId(7),
        queue: "bills".into(),
        waiting_ms: 1_000,
        takers: 2,
        free_slots: 2,
        paused_by: Some("bob".into()),
        at_limit: None,
    };
    console.send(Message::OverviewLoaded(Overview { oldest_due: Some(oldest), ..overview() }));
    let above = header(&console.state);
    assert_eq!(above.oldest, "oldest due 1 s: queue bills is paused by bob");
    assert_eq!(above.oldest_health, Well::Doubtful);
}
