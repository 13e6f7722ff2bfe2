//! The moments that are pictured, each reached by keys and answers.

use taskdeck::app::message::{FailureCause, LinesReport, ReadFailure, WriteFailure};
use taskdeck::app::state::{Access, FirstStart};
use taskdeck::app::{Effect, Message, RequestId};
use taskdeck::domain::limit::OverLimit;
use taskdeck::domain::observed::{Listed, OldestDue, Overview};
use taskdeck::domain::outcome::{Decided, Verdict};
use taskdeck::domain::{DecisionKind, InstanceState, LastChange, Status, Task, TaskId};

use crate::bulk::{
    bulk_done, bulk_ending, bulk_marked, bulk_question, bulk_question_counting, bulk_question_everything,
    bulk_question_failed, bulk_running, bulk_stopped, bulk_stopping, bulk_unknown,
};
use crate::fixtures::{health, instances, local, overview, pools, rows, statements};
use crate::fleet::{
    shutdown_asked, stop_all, stop_conflict, stop_question, stop_question_cancel, stop_question_here,
    stop_question_moved, workers_asked, workers_asking, workers_ended, workers_here_asked, workers_lost,
};
use crate::limits::{limits, tasks_at_limit, workers_limits};
use crate::queues::{
    queue_conflict, queue_moved, queue_pause, queue_resume, queues, queues_asking, tasks_paused,
    workers_queues,
};
use crate::world::{World, ago, session};

/// A name and how to get there.
pub(crate) type Scene = (&'static str, fn() -> World);

pub(crate) const SCENES: [Scene; 68] = [
    ("tasks", tasks),
    ("tasks_connecting", World::blank),
    ("tasks_empty", empty),
    ("tasks_filtered_empty", filtered_empty),
    ("tasks_no_answer", no_answer),
    ("tasks_never_answered", never_answered),
    ("tasks_refused", refused),
    ("tasks_nobody_takes", nobody_takes),
    ("tasks_read_only", read_only),
    ("tasks_asking", asking),
    ("tasks_outcome_unknown", outcome_unknown),
    ("tasks_workers_in_trouble", workers_in_trouble),
    ("tasks_row_left", row_left),
    ("detail", detail),
    ("input", input),
    ("workers", workers),
    ("workers_asked", workers_asked),
    ("workers_lost", workers_lost),
    ("workers_asking", workers_asking),
    ("workers_here_asked", workers_here_asked),
    ("workers_ended", workers_ended),
    ("stop_question", stop_question),
    ("stop_question_cancel", stop_question_cancel),
    ("stop_question_here", stop_question_here),
    ("stop_question_moved", stop_question_moved),
    ("stop_all", stop_all),
    ("stop_conflict", stop_conflict),
    ("workers_queues", workers_queues),
    ("queues", queues),
    ("queues_asking", queues_asking),
    ("queue_pause", queue_pause),
    ("queue_resume", queue_resume),
    ("queue_moved", queue_moved),
    ("queue_conflict", queue_conflict),
    ("tasks_paused", tasks_paused),
    ("workers_limits", workers_limits),
    ("limits", limits),
    ("tasks_at_limit", tasks_at_limit),
    ("database", database),
    ("log", log),
    ("question", question),
    ("question_moved", question_moved),
    ("question_reason", question_reason),
    ("conflict", conflict),
    ("conflict_several", conflict_several),
    ("bulk_marked", bulk_marked),
    ("bulk_question", bulk_question),
    ("bulk_question_counting", bulk_question_counting),
    ("bulk_question_everything", bulk_question_everything),
    ("bulk_question_failed", bulk_question_failed),
    ("bulk_running", bulk_running),
    ("bulk_stopping", bulk_stopping),
    ("bulk_stopped", bulk_stopped),
    ("bulk_done", bulk_done),
    ("bulk_unknown", bulk_unknown),
    ("bulk_ending", bulk_ending),
    ("conflict_limit", conflict_limit),
    ("submit", submit),
    ("submit_failed", submit_failed),
    ("states", states),
    ("search", search),
    ("tenant", tenant),
    ("command", command),
    ("help", help),
    ("shutdown", shutdown),
    ("shutdown_draining", draining),
    ("shutdown_asked", shutdown_asked),
    ("first_start", first_start),
];

fn on(id: i64) -> World {
    let mut world = World::busy();
    world.on(id);
    world
}

pub(crate) fn with(mut world: World, steps: impl FnOnce(&mut World)) -> World {
    steps(&mut world);
    world
}

fn tasks() -> World {
    on(48_213)
}

fn empty() -> World {
    with(World::blank(), |world| {
        world.send(Message::OverviewLoaded(Overview { oldest_due: None, ..overview(0.0) })).list(Vec::new());
    })
}

fn filtered_empty() -> World {
    with(World::busy(), |world| {
        world.press("f space enter").list(Vec::new());
    })
}

fn no_answer() -> World {
    with(on(48_217), |world| {
        world.lose();
    })
}

fn never_answered() -> World {
    with(World::blank(), |world| {
        world.lose();
    })
}

fn refused() -> World {
    with(on(48_217), |world| {
        let failure = ReadFailure {
            cause: FailureCause::Refused,
            message: "permission denied for table tasks".to_owned(),
            hint: Some("GRANT taskdeck_viewer TO app".to_owned()),
        };
        let generation = world.state.list.generation;
        world.pass(2_000).send(Message::ListFailed { generation, failure });
    })
}

fn nobody_takes() -> World {
    with(on(48_219), |world| {
        let due = OldestDue {
            id: TaskId(47_001),
            queue: "mail".to_owned(),
            waiting_ms: 250_000,
            takers: 0,
            free_slots: 0,
            paused_by: None,
            at_limit: None,
        };
        let read = Overview { oldest_due: Some(due), failed_per_min: 14.0, ..overview(31.0) };
        world.send(Message::OverviewLoaded(read));
    })
}

fn read_only() -> World {
    let access = Access::ReadOnly { reason: "started with --read-only".to_owned() };
    with(World::new(FirstStart::No, taskdeck::app::state::Session { access, ..session() }), |world| {
        world.send(Message::OverviewLoaded(overview(3.0))).list(rows());
        world.press("c");
    })
}

/// The number under which the latest decision was sent.
fn request(world: &World) -> RequestId {
    let decided = world.effects.iter().rev().find_map(|effect| match effect {
        Effect::Decide { request, .. } => Some(*request),
        _ => None,
    });
    decided.expect("a decision that was sent")
}

fn asking() -> World {
    with(on(48_217), |world| {
        world.press("c y");
    })
}

fn outcome_unknown() -> World {
    with(asking(), |world| {
        let request = request(world);
        let message = "the connection was lost after the request was sent".to_owned();
        world.send(Message::Decided { request, result: Err(WriteFailure::Unknown { message }) });
    })
}

fn workers_in_trouble() -> World {
    with(on(48_217), |world| {
        let mut workers = local();
        workers.trouble = Some("claim: permission denied for table tasks".to_owned());
        world.send(Message::Local(workers));
    })
}

fn row_left() -> World {
    with(on(48_217), |world| {
        let left = rows().into_iter().filter(|row| row.id() != TaskId(48_217)).collect();
        world.list(left);
    })
}

fn detail() -> World {
    with(on(48_213), |world| {
        world.press("enter");
    })
}

fn input() -> World {
    with(detail(), |world| {
        world.press("enter");
    })
}

fn workers() -> World {
    with(World::busy(), |world| {
        world.press("2").send(Message::InstancesLoaded(instances())).press("j");
    })
}

fn database() -> World {
    with(World::busy(), |world| {
        world.press("3").send(Message::HealthLoaded(Box::new(health())));
        world.send(Message::FiguresLoaded { pools: pools(), statements: statements() });
    })
}

fn log() -> World {
    with(conflict(), |world| {
        world.press("esc").lose();
        let named = vec![(7, "text: is empty".to_owned())];
        let result = Ok(LinesReport { submitted: 998, known: 0, refused: 1, named });
        world.send(Message::LinesSubmitted { request: RequestId(99), result });
        world.press("5");
    })
}

fn question() -> World {
    with(on(48_217), |world| {
        world.press("c");
    })
}

fn question_moved() -> World {
    with(on(48_219), |world| {
        world.press("space space space c");
        let moved = rows()
            .into_iter()
            .map(|row| match row {
                Listed::Task(task) if task.id == TaskId(48_218) => {
                    Listed::Task(Box::new(Task { version: 5, status: Status::Canceled, ..*task }))
                }
                other => other,
            })
            .collect();
        world.list(moved);
    })
}

fn question_reason() -> World {
    with(on(48_210), |world| {
        world.press("X i");
        world.send(Message::Paste("duplicate of 48102".to_owned()));
    })
}

fn listed(id: i64) -> Task {
    let row = rows().into_iter().find(|row| row.id() == TaskId(id)).expect("a listed row");
    row.task().expect("a readable row").clone()
}

fn bob(movement: &str, version_after: i64, reason: Option<&str>) -> LastChange {
    LastChange {
        actor: "bob".to_owned(),
        process: None,
        movement: movement.to_owned(),
        at: ago(2),
        ago_ms: 2_000,
        version_after,
        reason: reason.map(str::to_owned),
    }
}

fn conflict() -> World {
    with(on(48_210), |world| {
        world.press("a y");
        let task = Task { status: Status::Rejected, version: 1, ..listed(48_210) };
        let last = Some(bob("reject", 1, Some("duplicate of 48102")));
        let rows = vec![(task.id, Verdict::Conflict { task, last })];
        let decided = Decided { kind: DecisionKind::Approve, rows, resolved_from_unknown: false, retries: 0 };
        let request = request(world);
        world.send(Message::Decided { request, result: Ok(decided) });
    })
}

fn conflict_several() -> World {
    with(on(48_219), |world| {
        world.press("space space space c y");
        let request = request(world);
        let running = Task { status: Status::Running, version: 1, ..listed(48_219) };
        let held = listed(48_217);
        let rows = vec![
            (held.id, Verdict::Held { task: held }),
            (TaskId(48_218), Verdict::NotFound),
            (running.id, Verdict::Conflict { task: running, last: Some(bob("claim", 1, None)) }),
        ];
        let decided = Decided { kind: DecisionKind::Cancel, rows, resolved_from_unknown: false, retries: 0 };
        world.send(Message::Decided { request, result: Ok(decided) });
        world.press("j");
    })
}

fn conflict_limit() -> World {
    with(on(48_210), |world| {
        world.press("a y");
        let request = request(world);
        let task = listed(48_210);
        let over = OverLimit { used: 5, most: 5, asked: 1 };
        let rows = vec![(task.id, Verdict::OverLimit { task, over })];
        let decided = Decided { kind: DecisionKind::Approve, rows, resolved_from_unknown: false, retries: 0 };
        world.send(Message::Decided { request, result: Ok(decided) });
    })
}

fn submit() -> World {
    with(World::busy(), |world| {
        world.press("n");
        world.send(Message::Paste("Go 语言\nq\n\tsecond line \u{1b}[31m with an escape".to_owned()));
    })
}

fn submit_failed() -> World {
    with(submit(), |world| {
        world.press("ctrl-s");
        let request = world.effects.iter().rev().find_map(|effect| match effect {
            Effect::Submit { request, .. } => Some(*request),
            _ => None,
        });
        let failure = WriteFailure::Unavailable {
            message: "no connection within 5 s".to_owned(),
            hint: Some("is the server running?".to_owned()),
        };
        let request = request.expect("a submit that was sent");
        world.send(Message::Submitted { request, result: Err(failure) });
    })
}

fn states() -> World {
    with(World::busy(), |world| {
        world.press("f space j");
    })
}

fn search() -> World {
    with(World::busy(), |world| {
        world.press("/ i n v");
    })
}

fn tenant() -> World {
    with(World::busy(), |world| {
        world.press("t B enter");
    })
}

fn command() -> World {
    with(World::busy(), |world| {
        world.press(": r e");
    })
}

fn help() -> World {
    with(on(48_213), |world| {
        world.press("?");
    })
}

fn shutdown() -> World {
    with(on(48_217), |world| {
        world.press("q");
    })
}

fn draining() -> World {
    with(shutdown(), |world| {
        world.press("d").pass(14_000);
        let mut workers = local();
        workers.state = InstanceState::Draining;
        workers.running.truncate(2);
        world.send(Message::Local(workers));
    })
}

fn first_start() -> World {
    with(World::new(FirstStart::Yes, session()), |world| {
        world.send(Message::OverviewLoaded(Overview { oldest_due: None, ..overview(0.0) })).list(Vec::new());
    })
}
