//! The moments in which all that match are marked and decided about.

use taskdeck::app::message::{Broken, ReadFailure, WriteFailure};
use taskdeck::app::{Effect, Message, Read, RequestId};
use taskdeck::domain::bulk::{Chunk, Count, Left, Matching, Preview, Uncertain};
use taskdeck::domain::observed::{Filter, Listed};
use taskdeck::domain::outcome::Verdict;
use taskdeck::domain::{DecisionKind, LastChange, Seen, Status, Task, TaskId};

use crate::fixtures::{rows, task};
use crate::scenes::with;
use crate::world::{World, ago, now, plain, text_of};

/// What a look at this filter finds.
fn found(kind: DecisionKind, filter: Filter) -> Preview {
    let count = |rows: i64| Count { rows, complete: true };
    let (ready, left_out) = match kind {
        DecisionKind::Requeue => (vec![(Status::Failed, 12_000), (Status::Canceled, 345)], Vec::new()),
        _ => (
            vec![(Status::Queued, 1_204), (Status::Running, 8)],
            vec![(Status::Running, count(1)), (Status::Succeeded, Count { rows: 4_980, complete: false })],
        ),
    };
    Preview {
        matching: Matching { kind, filter, created_before: None, up_to: TaskId(48_219) },
        ready: ready.into_iter().collect(),
        complete: kind == DecisionKind::Requeue,
        left_out: left_out.into_iter().collect(),
        looked_at: 212_345,
        read_at: now(),
    }
}

/// The latest look that was asked for is answered.
fn answer_look(world: &mut World) {
    let asked = world.effects.iter().rev().find_map(|effect| match effect {
        Effect::Read(Read::Matching { look, kind, filter }) => Some((*look, *kind, filter.clone())),
        _ => None,
    });
    let (look, kind, filter) = asked.expect("a look");
    world.send(Message::Looked { look, result: Ok(found(kind, filter)) });
}

/// More failures of one cause than can be loaded.
fn failures() -> World {
    with(World::busy(), |world| {
        world.press("f 5 6 enter /");
        world.send(Message::Paste("no such column".to_owned())).press("enter");
        world.list(rows()).press("A");
    })
}

pub(crate) fn bulk_marked() -> World {
    with(failures(), |world| {
        answer_look(world);
        world.pass(3_000);
    })
}

pub(crate) fn bulk_question() -> World {
    with(bulk_marked(), |world| {
        world.press("r");
    })
}

pub(crate) fn bulk_question_counting() -> World {
    with(bulk_marked(), |world| {
        world.press("c");
    })
}

/// Nothing narrows it, not all was looked at, and some stay as they are.
pub(crate) fn bulk_question_everything() -> World {
    with(World::busy(), |world| {
        world.press("A c");
        answer_look(world);
        world.pass(1_000);
    })
}

pub(crate) fn bulk_question_failed() -> World {
    with(bulk_question_counting(), |world| {
        let failure = ReadFailure {
            cause: taskdeck::app::message::FailureCause::Refused,
            message: "the server ended the statement: it took longer than 10 s".to_owned(),
            hint: None,
        };
        world.send(Message::Looked { look: 2, result: Err(failure) });
    })
}

fn chunk(world: &mut World, chunk: Chunk) {
    let request = request(world);
    world.pass(1_100).send(Message::ChunkDecided { request, result: Ok(chunk) });
}

fn request(world: &World) -> RequestId {
    let sent = world.effects.iter().rev().find_map(|effect| match effect {
        Effect::DecideChunk { request, .. } => Some(*request),
        _ => None,
    });
    sent.expect("a chunk that was sent")
}

fn moved(id: i64, actor: &str, movement: &str, status: Status, reason: Option<&str>) -> Left {
    let last = LastChange {
        actor: actor.to_owned(),
        process: None,
        movement: movement.to_owned(),
        at: ago(4),
        ago_ms: 4_000,
        version_after: 4,
        reason: reason.map(str::to_owned),
    };
    let task = Task { version: 4, ..task(id, status, 4, "billing", "import") };
    let verdict = Verdict::Conflict { task, last: Some(last) };
    Left { seen: Seen { id: TaskId(id), version: 3 }, verdict }
}

fn left() -> Vec<Left> {
    let own = task(40_117, Status::Rejected, 2, "billing", "import");
    vec![
        moved(40_101, "bob", "requeue", Status::Running, Some("only the small ones, see ticket 4711")),
        moved(40_105, "bob", "requeue", Status::Queued, None),
        Left { seen: Seen { id: TaskId(40_117), version: 2 }, verdict: Verdict::Refused { task: own } },
        Left { seen: Seen { id: TaskId(40_120), version: 3 }, verdict: Verdict::NotFound },
    ]
}

fn some(committed: i64, left: Vec<Left>) -> Chunk {
    Chunk { committed, left, looked_at: 5_000, next_after: Some(TaskId(40_200)), ..Chunk::default() }
}

pub(crate) fn bulk_running() -> World {
    with(bulk_question(), |world| {
        world.press("y");
        chunk(world, some(500, Vec::new()));
        chunk(world, Chunk { retries: 1, ..some(496, left()) });
        chunk(world, some(500, Vec::new()));
        world.pass(700);
    })
}

pub(crate) fn bulk_stopping() -> World {
    with(bulk_running(), |world| {
        world.press("esc");
    })
}

pub(crate) fn bulk_stopped() -> World {
    with(bulk_stopping(), |world| chunk(world, some(500, Vec::new())))
}

pub(crate) fn bulk_done() -> World {
    with(bulk_running(), |world| {
        for _ in 0..20 {
            chunk(world, some(500, Vec::new()));
        }
        chunk(
            world,
            Chunk {
                next_after: None,
                ..some(345, vec![moved(48_001, "bob", "cancel", Status::Canceled, None); 4])
            },
        );
    })
}

pub(crate) fn bulk_unknown() -> World {
    with(bulk_running(), |world| {
        let request = request(world);
        let failure = WriteFailure::Unresolved {
            message: "the connection was lost after the request was sent".to_owned(),
            hint: None,
        };
        let uncertain = Some(Uncertain { from: TaskId(40_201), to: TaskId(40_733), rows: 500 });
        let broken = Broken { chunk: Chunk::default(), failure, uncertain };
        world.send(Message::ChunkDecided { request, result: Err(Box::new(broken)) });
    })
}

pub(crate) fn bulk_ending() -> World {
    with(bulk_running(), |world| {
        world.press("ctrl-c");
    })
}

/// At any size that shows a dialog, whoever looks is told how many, and how to say no.
#[test]
fn how_many_and_the_way_out_are_never_cut() {
    for (width, height) in [(80, 24), (120, 40), (40, 12), (60, 10)] {
        let mut world = bulk_question();
        let text = world.picture(width, height);
        for word in ["Requeue all 12,345 that match?", "reason", "requeue all 12,345", "n do not"] {
            assert!(text.contains(word), "{word} {width}x{height}\n{text}");
        }
        let mut world = bulk_running();
        let text = world.picture(width, height);
        for word in ["1,496 of about 12,345", "Esc stop after this chunk"] {
            assert!(text.contains(word), "{word} {width}x{height}\n{text}");
        }
    }
    // At 80x24 nothing of any of them is cut.
    let scenes = [
        bulk_question,
        bulk_question_counting,
        bulk_question_everything,
        bulk_question_failed,
        bulk_running,
        bulk_stopping,
        bulk_stopped,
        bulk_done,
        bulk_unknown,
    ];
    for scene in scenes {
        let mut world = scene();
        world.size(80, 24);
        let (buffer, _) = world.draw(&plain(), 80, 24);
        let text = text_of(&buffer);
        assert!(!text.contains("more line"), "{text}");
    }
}

#[test]
fn all_that_match_are_seen_to_be_marked() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut world = bulk_marked();
        let text = world.picture(width, height);
        assert!(text.contains("all 12,345 that match (3 s ago)"), "{width}x{height}\n{text}");
    }
    let listed = rows().into_iter().filter_map(|row| match row {
        Listed::Task(task) => Some(task.id.to_string()),
        Listed::Bad { .. } => None,
    });
    let text = bulk_marked().picture(120, 40);
    for id in listed.take(5) {
        let line = text.lines().find(|line| line.contains(&format!("  {id}  "))).expect("its row");
        assert!(line.starts_with('*'), "{line}");
    }
}
