use std::time::Duration;

use super::*;
use crate::app::message::{FailureCause, Message, ReadFailure};
use crate::app::testing::{Console, overview, page, task};
use crate::domain::observed::OldestDue;

fn no_answer() -> Message {
    Message::OverviewFailed(ReadFailure {
        cause: FailureCause::NoAnswer,
        message: "connection refused".to_owned(),
        hint: None,
    })
}

#[test]
fn well_and_quiet() {
    let mut console = Console::with(page([task(1)]));
    console.at(0.2).send(Message::Tick);
    let header = header(&console.state);
    assert_eq!(header.health, Well::Yes);
    assert_eq!((header.link.as_str(), header.data.as_str()), ("link ok", "data 0.2 s old"));
    assert_eq!(header.filter, "all states · all tenants · all queues");
    assert_eq!(header.oldest, "nothing due");
}

#[test]
fn an_outage_says_how_long_and_when_it_is_tried_again() {
    let mut console = Console::with(page([task(1)]));
    for at in [2.0, 3.5, 6.0] {
        console.at(at).send(no_answer());
    }
    console.at(8.0).send(Message::Tick);
    let header = header(&console.state);
    assert_eq!(header.health, Well::No);
    assert_eq!(header.link, "NO ANSWER for 8 s, next try in 2 s (4th)");
    assert_eq!(header.data, "DATA 8.0 s OLD");
    assert_eq!(console.state.list.rows.len(), 1, "rows stay");
}

#[test]
fn the_oldest_due_task_ages_and_says_why_it_waits() {
    let mut console = Console::with(page([task(1)]));
    let mut read = overview();
    read.oldest_due = Some(OldestDue {
        id: crate::domain::TaskId(1),
        queue: "mail".into(),
        waiting_ms: 2_500,
        takers: 0,
        free_slots: 0,
        paused_by: None,
        at_limit: None,
    });
    console.send(Message::OverviewLoaded(read));
    console.at(1.0).send(Message::Tick);
    let header = header(&console.state);
    assert_eq!(header.oldest, "oldest due 3 s: no live worker takes queue mail");
    assert_eq!(header.oldest_health, Well::No);
    assert_eq!(console.state.since(Duration::ZERO), Duration::from_secs(1));
}
