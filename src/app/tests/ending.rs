//! The end of the process.

use super::super::testing::{Console, local, page, task};
use crate::app::message::{Message, Signal, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::shutdown::{Said, ShutdownPhase, said};
use crate::app::{Effect, RequestId, ShutdownMode};
use crate::domain::{InstanceState, TaskId};

const DRAIN: Effect = Effect::Shutdown(ShutdownMode::Drain);
const CANCEL: Effect = Effect::Shutdown(ShutdownMode::Cancel);

fn working(running: &[i64]) -> Console {
    let mut console = Console::with(page([task(1)]));
    console.send(Message::Local(local(InstanceState::Working, running)));
    console
}

fn says(console: &Console) -> Said {
    said(&console.state).expect("an end")
}

fn phase(console: &Console) -> Option<ShutdownPhase> {
    console.state.shutdown.map(|shutdown| shutdown.phase)
}

fn told(console: &mut Console, state: InstanceState, running: &[i64]) -> Vec<Effect> {
    let mut effects = console.send(Message::Local(local(state, running)));
    effects.retain(|effect| !matches!(effect, Effect::Read(_)));
    effects
}

#[test]
fn with_nothing_in_flight_it_ends_once_the_workers_have_stopped() {
    let mut console = working(&[]);
    assert_eq!(console.press("q"), [DRAIN]);
    assert_eq!(told(&mut console, InstanceState::Draining, &[]), []);
    assert_eq!(told(&mut console, InstanceState::Stopped, &[]), [Effect::Quit]);
    assert_eq!(console.press("q c y"), [], "nothing follows");

    let mut console = Console::with(page([task(1)]));
    console.state.session.workers = 0;
    let mut told_so = Console { state: console.state.clone(), ..console };
    told_so.send(Message::Local(local(InstanceState::Watching, &[])));
    assert_eq!(told_so.press("q"), [Effect::Quit]);
    assert_eq!(console.press("q"), [Effect::Quit], "a console that only watches has nothing to wait for");
}

#[test]
fn with_tasks_in_flight_it_is_a_choice() {
    let mut console = working(&[7, 9]);
    assert_eq!(console.press("q"), []);
    assert_eq!(says(&console).title, "2 tasks are running here");
    assert_eq!(says(&console).progress, None);
    assert_eq!(console.press("esc"), []);
    assert_eq!((phase(&console), console.state.overlays.is_empty()), (None, true), "stayed");
    assert_eq!(console.press("q d"), [DRAIN]);
    assert_eq!(console.press("d"), []);
    assert_eq!(console.notice(), "already draining");
    // One can look around meanwhile; nothing is called ended before it is.
    assert_eq!(console.press("esc 5 q"), []);
    assert_eq!(console.state.overlay(), Some(&Overlay::Shutdown));
    assert_eq!(told(&mut console, InstanceState::Draining, &[9]), []);
    assert_eq!(says(&console).progress.expect("progress").1, "1 left   waiting 00:03 of 00:30");
    assert_eq!(says(&console).running[0].id, TaskId(9));
    assert_eq!(console.press("c"), [CANCEL]);
    assert_eq!(told(&mut console, InstanceState::Canceling, &[9]), []);
    assert_eq!(told(&mut console, InstanceState::Canceling, &[]), [], "not before they have stopped");
    assert_eq!(told(&mut console, InstanceState::Stopped, &[]), [Effect::Quit]);
}

#[test]
fn ctrl_c_asks_then_cancels_then_leaves_and_says_what_stays() {
    let mut console = working(&[9, 7]);
    assert_eq!(console.press("ctrl-c"), []);
    assert_eq!(console.press("ctrl-c"), [CANCEL]);
    let left = vec![TaskId(7), TaskId(9)];
    assert_eq!(console.press("ctrl-c"), [Effect::Leave { tasks: left.clone(), unanswered: 0 }]);

    let mut console = working(&[9, 7]);
    assert_eq!(console.press("q d ctrl-c"), [DRAIN, CANCEL]);
    let left_behind = says(&console).left_behind.expect("a line");
    assert!(left_behind.contains("stay RUNNING until the lease ends in"), "{left_behind}");
    assert_eq!(console.press("ctrl-c"), [Effect::Leave { tasks: left, unanswered: 0 }]);
}

#[test]
fn a_drain_whose_time_is_over_is_shown_as_what_it_is() {
    let mut console = working(&[9]);
    console.press("q d");
    told(&mut console, InstanceState::Canceling, &[9]);
    assert_eq!(phase(&console), Some(ShutdownPhase::Canceling));
}

#[test]
fn a_write_without_an_answer_is_waited_for() {
    let mut console = working(&[]);
    console.press("c y");
    assert_eq!(console.press("q"), [DRAIN]);
    assert_eq!(told(&mut console, InstanceState::Stopped, &[]), []);
    assert_eq!(console.press("ctrl-c ctrl-c"), [CANCEL, Effect::Leave { tasks: vec![], unanswered: 1 }]);
}

#[test]
fn workers_that_stop_with_something_left_end_it_and_it_is_named() {
    let mut console = working(&[9, 7]);
    console.press("q c");
    let left = Effect::Leave { tasks: vec![TaskId(7), TaskId(9)], unanswered: 0 };
    assert_eq!(told(&mut console, InstanceState::Stopped, &[9, 7]), [left]);
}

#[test]
fn a_write_that_was_given_up_is_named_at_the_end() {
    let mut console = working(&[]);
    console.press("c y q");
    assert_eq!(told(&mut console, InstanceState::Stopped, &[]), []);
    let fail = |failure| Message::Decided { request: RequestId(1), result: Err(failure) };
    let unknown = console.send(fail(WriteFailure::Unknown { message: "the reply was lost".into() }));
    assert!(!unknown.contains(&Effect::Quit), "{unknown:?}");
    let given_up = WriteFailure::Unresolved { message: "no answer in 30 s".into(), hint: None };
    assert_eq!(console.send(fail(given_up)), [Effect::Leave { tasks: vec![], unanswered: 1 }]);

    // Once it is answered there is nothing to name.
    let mut console = working(&[]);
    console.press("c y q");
    told(&mut console, InstanceState::Stopped, &[]);
    let refused = WriteFailure::Unavailable { message: "refused".into(), hint: None };
    assert_eq!(console.send(fail(refused)), [Effect::Quit]);
}

#[test]
fn an_unsent_text_is_asked_about() {
    let mut console = working(&[]);
    console.press("n h i esc");
    assert_eq!(console.press("q"), []);
    assert_eq!(console.state.overlay(), Some(&Overlay::Unsent));
    assert_eq!(console.press("n"), []);
    assert_eq!((phase(&console), console.state.submit.text.text().as_str()), (None, "hi"));
    assert_eq!(console.press("q y"), [DRAIN]);
}

#[test]
fn signals_ask_nobody() {
    let mut console = working(&[9]);
    console.press("q");
    let mut signal = |signal| {
        let mut effects = console.send(Message::Signal(signal));
        effects.retain(|effect| !matches!(effect, Effect::Read(_)));
        effects
    };
    assert_eq!(signal(Signal::Hangup), [DRAIN]);
    assert_eq!(signal(Signal::Hangup), []);
    assert_eq!(signal(Signal::Terminate), [CANCEL]);
    assert_eq!(signal(Signal::Terminate), [Effect::Leave { tasks: vec![TaskId(9)], unanswered: 0 }]);
}

#[test]
fn a_question_whose_last_task_has_ended_says_so_and_quit_or_enter_ends() {
    for key in ["q", "enter"] {
        let mut console = working(&[7]);
        console.press("q enter");
        assert_eq!(
            (phase(&console), says(&console).nothing_left),
            (Some(ShutdownPhase::Asked), false),
            "{key}"
        );
        assert_eq!(told(&mut console, InstanceState::Working, &[]), [], "it does not end by itself");
        assert_eq!(says(&console).title, "Nothing is running here any more");
        assert!(says(&console).nothing_left);
        let mut stays = Console { state: console.state.clone(), ..console };
        assert_eq!(stays.press(key), [DRAIN], "{key}");
        assert_eq!(told(&mut stays, InstanceState::Stopped, &[]), [Effect::Quit], "{key}");
    }
    let mut console = working(&[7]);
    console.press("q");
    told(&mut console, InstanceState::Working, &[]);
    assert_eq!(console.press("esc"), []);
    assert_eq!(phase(&console), None);
}
