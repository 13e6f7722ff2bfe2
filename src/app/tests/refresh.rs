//! What is read when, and that failed reads never pass for answers.

use std::time::Duration;

use super::super::testing::{Console, clock, history, local, overview, page, reads, task};
use crate::app::header::header;
use crate::app::link::Link;
use crate::app::message::{FailureCause, LinkReport, Message, ReadFailure};
use crate::app::refresh::next_wake;
use crate::app::{Effect, Read};
use crate::domain::{InstanceState, TaskId};

fn failure(cause: FailureCause) -> ReadFailure {
    ReadFailure { cause, message: "connection refused".into(), hint: None }
}

fn names(effects: &[Effect]) -> Vec<&'static str> {
    reads(effects)
        .into_iter()
        .map(|read| match read {
            Read::List { .. } => "list",
            Read::Overview => "overview",
            Read::Detail { .. } => "detail",
            Read::Instances => "instances",
            Read::Queues => "queues",
            Read::Limits => "limits",
            Read::Health => "health",
            Read::Figures => "figures",
            Read::Matching { .. } => "matching",
        })
        .collect()
}

#[test]
fn what_is_shown_is_read_every_second_and_one_at_a_time() {
    let mut console = Console::new();
    assert_eq!(names(&console.send(Message::Tick)), ["overview", "list"]);
    assert_eq!(names(&console.at(5.0).send(Message::Tick)), [""; 0], "none was answered yet");
    let mut console = Console::with(page([task(1)]));
    assert_eq!(names(&console.at(0.9).send(Message::Tick)), ["detail"]);
    assert_eq!(names(&console.at(1.0).send(Message::Tick)), ["overview", "list"]);
    console.send(Message::OverviewLoaded(overview()));
    console.load(page([task(1)]));
    let mut effects = console.at(1.1).press("3");
    effects.extend(console.send(Message::Tick));
    assert_eq!(console.state.refresh.health.in_flight, Some(console.now));
    assert_eq!(names(&console.at(2.2).send(Message::Tick)), ["overview"], "the list is not shown");
}

#[test]
fn while_nothing_answers_one_attempt_at_a_time_is_made_later_and_later() {
    let mut console = Console::with(page([task(1)]));
    let mut tried = Vec::new();
    console.send(Message::DetailLoaded { id: TaskId(1), read_at: clock(0), found: Some(history(task(1))) });
    for tenth in 10..400 {
        let effects = console.at(f64::from(tenth) / 10.0).send(Message::Tick);
        if names(&effects).contains(&"overview") {
            tried.push(tenth / 10);
            let generation = console.state.list.generation;
            console.send(Message::OverviewFailed(failure(FailureCause::NoAnswer)));
            console.send(Message::ListFailed { generation, failure: failure(FailureCause::NoAnswer) });
            if tried.len() > 1 {
                assert_eq!(names(&effects), ["overview"]);
            }
        }
    }
    assert_eq!(tried, [1, 2, 4, 8, 16, 26, 36]);
    console.at(46.0).send(Message::Tick);
    let effects = console.send(Message::OverviewLoaded(overview()));
    assert_eq!(names(&effects), ["list", "detail"], "everything on screen is read again");
    assert!(console.notice().contains("answers again"), "{}", console.notice());
}

#[test]
fn a_failed_refresh_keeps_the_rows_and_is_no_answer() {
    let mut console = Console::with(page([task(1)]));
    let rows = console.state.list.rows.clone();
    let generation = console.state.list.generation;
    console.send(Message::ListFailed { generation, failure: failure(FailureCause::Refused) });
    assert_eq!((console.state.list.rows.clone(), console.state.list.failure.is_some()), (rows, true));
    console.press("/ 9 9 enter");
    console.send(Message::DetailFailed { id: TaskId(99), failure: failure(FailureCause::NoAnswer) });
    assert!(console.state.detail.current().is_none(), "could not ask is not no such task");
    assert!(console.state.detail.failure.is_some());
    console.send(Message::DetailLoaded { id: TaskId(99), read_at: clock(1), found: None });
    assert!(console.state.detail.current().is_some_and(|read| read.found.is_none()));
    assert!(console.state.detail.failure.is_none());
}

#[test]
fn the_detail_is_read_when_the_cursor_rests_or_the_row_changed() {
    let mut console = Console::with(page([task(1), task(2)]));
    console.at(0.2).send(Message::Tick);
    console.send(Message::DetailLoaded { id: TaskId(2), read_at: clock(0), found: Some(history(task(2))) });
    assert_eq!(names(&console.at(0.9).send(Message::Tick)), [""; 0], "nothing tells that it changed");
    let changed = crate::domain::Task { version: 1, ..task(2) };
    let effects = {
        console.at(1.5).send(Message::Tick);
        console.load(page([task(1), changed]))
    };
    assert_eq!(names(&effects), ["detail"]);
    // An answer about a task that the pane has left is not shown as another one's.
    console.press("down");
    console.send(Message::DetailLoaded { id: TaskId(2), read_at: clock(0), found: Some(history(task(2))) });
    assert_eq!(console.state.detail.target, Some(TaskId(1)));
    assert!(console.state.detail.task().is_none());
    console.now += Duration::from_millis(200);
    assert!(names(&console.send(Message::Tick)).contains(&"detail"));
    console.send(Message::DetailLoaded { id: TaskId(2), read_at: clock(0), found: Some(history(task(2))) });
    assert!(console.state.refresh.detail.in_flight.is_some(), "the answer about 1 is still waited for");
}

#[test]
fn at_rest_nothing_is_drawn_more_than_once_a_second() {
    let mut console = Console::with(page([task(1)]));
    console.send(Message::Local(local(InstanceState::Working, &[])));
    console.at(1.0).send(Message::Tick);
    console.state.needs_draw = false;
    console.at(1.3).send(Message::Tick);
    console.send(Message::Local(local(InstanceState::Working, &[])));
    console.load(page([task(1)]));
    assert!(!console.state.needs_draw);
    assert!(next_wake(&console.state) <= Duration::from_secs(1));
    console.at(2.0).send(Message::Tick);
    assert!(console.state.needs_draw, "ages are a second older");
}

#[test]
fn a_notify_reads_soon_but_not_more_often_than_it_helps() {
    let mut console = Console::with(page([task(1)]));
    assert_eq!(names(&console.at(0.1).send(Message::Wake)), [""; 0]);
    assert_eq!(names(&console.at(0.3).send(Message::Tick)), ["overview", "list", "detail"]);
}

#[test]
fn how_changes_are_learned_is_said_as_it_is_known() {
    let mut console = Console::with(page([task(1)]));
    let said = |console: &Console, text: &str| {
        console.state.log.entries.iter().filter(|entry| entry.text.contains(text)).count()
    };
    assert_eq!((header(&console.state).link.as_str(), said(&console, "told at once")), ("link ok", 0));
    console.send(Message::Link(LinkReport::Listening));
    console.send(Message::Link(LinkReport::Listening));
    assert_eq!((header(&console.state).link.as_str(), said(&console, "told at once")), ("link ok", 1));
    for _ in 0..2 {
        console.send(Message::Link(LinkReport::Polling { reason: "a pooler".into() }));
    }
    assert_eq!((header(&console.state).link.as_str(), said(&console, "a pooler")), ("link ok, polling", 1));
}

#[test]
fn an_answer_that_refuses_is_no_silence() {
    let mut console = Console::with(page([task(1)]));
    let slow = ReadFailure {
        cause: FailureCause::Refused,
        message: "the server stopped the statement (57014)".into(),
        hint: None,
    };
    let asked = console.at(14.0).send(Message::OverviewFailed(slow));
    assert_eq!(console.state.link, Link::Ok);
    assert_eq!(header(&console.state).link, "link ok, COUNTS 14 s OLD");
    // Everything else is read on.
    assert!(names(&asked).contains(&"list"), "{asked:?}");
    console.send(Message::OverviewLoaded(overview()));
    assert_eq!(header(&console.state).link, "link ok");
}

#[test]
fn ages_are_the_databases_and_grow_by_this_clock_only() {
    let mut console = Console::with(page([task(1)]));
    console.at(4.0).send(Message::Tick);
    let read = console.state.list.read.expect("read");
    // Created a minute before the read by the database's clock; the read is four seconds old.
    assert_eq!(console.state.age(clock(-60), read.read_at, read.arrived), Duration::from_secs(64));
    assert_eq!(console.state.wall(console.now), Some(clock(4)));
    // A moment after the read, by a clock that was set back: no age, and no panic.
    assert_eq!(console.state.age(clock(9), read.read_at, read.arrived), Duration::from_secs(4));
}

#[test]
fn notices_go_away_by_themselves() {
    let mut console = Console::with(page([task(1)]));
    console.press("4");
    assert!(!console.notice().is_empty());
    console.now += Duration::from_secs(7);
    console.send(Message::Tick);
    assert!(console.notice().is_empty());
}
