//! The moments in which queues are looked at, paused and resumed.

use taskdeck::app::{Effect, Message, RequestId};
use taskdeck::domain::TaskId;
use taskdeck::domain::observed::{OldestDue, Overview};
use taskdeck::domain::queue::{Queue, QueueChange, QueueDecided, QueueOutcome, QueueState};

use crate::fixtures::{instances, overview};
use crate::scenes::with;
use crate::world::{World, ago, plain, text_of};

fn changed(paused: bool, version: i64, by: &str, seconds: i64, reason: Option<&str>) -> QueueState {
    let change = QueueChange { by: by.to_owned(), at: ago(seconds), reason: reason.map(str::to_owned) };
    QueueState { paused, version, changed: Some(change) }
}

fn listed(bills: QueueState) -> Vec<Queue> {
    let bills = Queue {
        name: "bills".to_owned(),
        state: bills,
        waiting: 120,
        later: 2,
        running: 3,
        held: 0,
        oldest_waiting_ms: Some(250_000),
        takers: 2,
    };
    let queue = |name: &str, state| Queue { name: name.to_owned(), state, ..bills.clone() };
    vec![
        bills.clone(),
        Queue {
            waiting: 1_204,
            oldest_waiting_ms: Some(3_000),
            held: 3,
            ..queue("default", QueueState::OPEN)
        },
        Queue {
            waiting: 7,
            running: 0,
            oldest_waiting_ms: Some(5_400_000),
            ..queue(
                "mail",
                changed(true, 3, "bob", 5_300, Some("bad import of 2026-11-29.csv, see ticket 4711")),
            )
        },
        Queue {
            waiting: 0,
            running: 0,
            later: 0,
            oldest_waiting_ms: None,
            takers: 0,
            ..queue("reports", changed(false, 4, "carol", 610, None))
        },
    ]
}

/// Screen 2 on a quiet morning, with the keys on the processes.
pub(crate) fn workers_queues() -> World {
    with(World::busy(), |world| {
        world.press("2").send(Message::InstancesLoaded(instances()));
        world.send(Message::QueuesLoaded(listed(QueueState::OPEN)));
    })
}

/// The same with the keys on the queues, the cursor on the paused one.
pub(crate) fn queues() -> World {
    with(workers_queues(), |world| {
        world.press("tab j j");
    })
}

fn typed(world: &mut World, text: &str) {
    let keys = text.chars().map(|c| if c == ' ' { "space".to_owned() } else { c.to_string() });
    world.press(&format!(": {} enter", keys.collect::<Vec<_>>().join(" ")));
}

pub(crate) fn queue_pause() -> World {
    with(queues(), |world| typed(world, "pause bills bad import"))
}

pub(crate) fn queue_resume() -> World {
    with(queues(), |world| typed(world, "resume"))
}

pub(crate) fn queue_moved() -> World {
    with(queue_pause(), |world| {
        let bob = changed(true, 1, "bob", 2, Some("wrong prices"));
        world.send(Message::QueuesLoaded(listed(bob)));
    })
}

pub(crate) fn queues_asking() -> World {
    with(queue_pause(), |world| {
        world.press("y");
    })
}

/// The number under which the latest decision was sent.
fn request(world: &World) -> RequestId {
    let sent = world.effects.iter().rev().find_map(|effect| match effect {
        Effect::DecideQueue { request, .. } => Some(*request),
        _ => None,
    });
    sent.expect("a decision that was sent")
}

pub(crate) fn queue_conflict() -> World {
    with(queues_asking(), |world| {
        let decided = QueueDecided {
            outcome: QueueOutcome::Conflict,
            state: changed(false, 2, "bob", 3, Some("prices are right again")),
            resolved_from_unknown: false,
            retries: 0,
        };
        let request = request(world);
        world.send(Message::QueueDecided { request, result: Ok(decided) });
    })
}

pub(crate) fn tasks_paused() -> World {
    with(World::busy(), |world| {
        let due = OldestDue {
            id: TaskId(47_001),
            queue: "mail".to_owned(),
            waiting_ms: 250_000,
            takers: 2,
            free_slots: 1,
            paused_by: Some("bob".to_owned()),
            at_limit: None,
        };
        world.send(Message::OverviewLoaded(Overview { oldest_due: Some(due), ..overview(31.0) }));
    })
}

/// Whatever the size, who looks at screen 2 is told that something is paused.
#[test]
fn a_paused_queue_is_named_beside_the_processes_and_its_reason_at_80_columns() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let (buffer, _) = workers_queues().draw(&plain(), width, height);
        let text = text_of(&buffer);
        assert!(text.contains("4 queues, 1 paused: mail"), "{width}x{height}\n{text}");
    }
    for width in [80, 120] {
        let (buffer, _) = tasks_paused().draw(&plain(), width, 24);
        assert!(text_of(&buffer).contains("queue mail is paused by bob"), "{width}\n{}", text_of(&buffer));
    }
    let mut world = queues();
    let text = world.picture(80, 24);
    for word in ["PAUSED", "1,204", "bob 1 h ago", "bad import of 2026-11-29.csv, see ticket 4711"] {
        assert!(text.replace("\n   ", " ").contains(word), "{word}: {text}");
    }
}
