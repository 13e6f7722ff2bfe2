//! Anything that may come in.

use proptest::prelude::*;

use crate::app::keys::{Key, KeyCode};
use crate::app::message::{Broken, FailureCause, Message, ReadFailure, WriteFailure};
use crate::app::testing::{change, clock, local, process, task};
use crate::domain::bulk::{Chunk, Count, Left, Matching, Preview, Uncertain};
use crate::domain::limit::OverLimit;
use crate::domain::observed::Filter;
use crate::domain::outcome::{Decided, StopAnswer, StopVerdict, Stopping, Verdict};
use crate::domain::queue::{Queue, QueueChange, QueueDecided, QueueOutcome, QueueState};
use crate::domain::{
    DecisionKind, Instance, InstanceState, Seen, Status, StopMode, StopRequest, Task, TaskId,
};

pub(super) fn any_task() -> impl Strategy<Value = Task> {
    (1_i64..12, 0_usize..7, 0_i64..4, any::<bool>()).prop_map(|(id, status, version, cancel_requested)| {
        Task { status: Status::ALL[status], version, cancel_requested, ..task(id) }
    })
}

pub(super) fn any_key() -> impl Strategy<Value = Key> {
    const CODES: [KeyCode; 13] = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
    ];
    prop_oneof![
        6 => prop::sample::select("cyrnaXxAyqde12345/ft:?ighGjk 7s".chars().collect::<Vec<_>>()).prop_map(Key::char),
        // What decides must come often enough to be decided on something.
        6 => prop::sample::select(vec!['c', 'c', 'y', 'y', 'r', 'd', '2']).prop_map(Key::char),
        3 => prop::sample::select(CODES.to_vec()).prop_map(Key::plain),
        1 => prop::sample::select(vec!['s', 'r', 'l', 'z', 'c', 'w']).prop_map(Key::ctrl),
        1 => (any::<char>(), any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(c, ctrl, alt, shift)| Key { code: KeyCode::Char(c), ctrl, alt, shift }),
    ]
}

pub(super) fn any_failure() -> impl Strategy<Value = ReadFailure> {
    prop::sample::select(vec![FailureCause::NoAnswer, FailureCause::Refused]).prop_map(|cause| ReadFailure {
        cause,
        message: "no".into(),
        hint: None,
    })
}

pub(super) fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        any_task().prop_map(|task| Verdict::Committed { task, version_before: 0 }),
        any_task().prop_map(|task| Verdict::Conflict { task, last: Some(change("bob", "cancel", 1, None)) }),
        Just(Verdict::NotFound),
        any_task().prop_map(|task| Verdict::Held { task }),
        any_task()
            .prop_map(|task| Verdict::OverLimit { task, over: OverLimit { used: 5, most: 5, asked: 1 } }),
    ]
}

pub(super) fn any_write_failure() -> impl Strategy<Value = WriteFailure> {
    let message = || "no".to_owned();
    prop::sample::select(vec![
        WriteFailure::Unavailable { message: message(), hint: None },
        WriteFailure::Unknown { message: message() },
        WriteFailure::Unresolved { message: message(), hint: None },
        WriteFailure::BadInput { message: message() },
    ])
}

pub(super) fn any_decided() -> impl Strategy<Value = Result<Decided, WriteFailure>> {
    let rows = prop::collection::vec((1_i64..12, any_verdict()), 0..4);
    let decided = (rows, 0_usize..4).prop_map(|(rows, kind)| Decided {
        kind: DecisionKind::ALL[kind],
        rows: rows.into_iter().map(|(id, verdict)| (TaskId(id), verdict)).collect(),
        resolved_from_unknown: false,
        retries: 0,
    });
    prop_oneof![2 => decided.prop_map(Ok), 1 => any_write_failure().prop_map(Err)]
}

pub(super) fn any_looked() -> impl Strategy<Value = Result<Preview, ReadFailure>> {
    let found = (0_i64..3, any::<bool>(), 0_usize..4).prop_map(|(rows, complete, kind)| {
        let kind = DecisionKind::ALL[kind];
        Preview {
            matching: Matching { kind, filter: Filter::default(), created_before: None, up_to: TaskId(12) },
            ready: (rows > 0).then_some((Status::Failed, rows)).into_iter().collect(),
            complete,
            left_out: [(Status::Running, Count { rows: 1, complete })].into(),
            looked_at: 12,
            read_at: clock(0),
        }
    });
    prop_oneof![3 => found.prop_map(Ok), 1 => any_failure().prop_map(Err)]
}

fn any_part() -> impl Strategy<Value = Chunk> {
    let left = prop::collection::vec((1_i64..12, any_verdict()), 0..3);
    (0_i64..3, left, any::<bool>()).prop_map(|(committed, left, more)| Chunk {
        committed,
        left: left
            .into_iter()
            .map(|(id, verdict)| Left { seen: Seen { id: TaskId(id), version: 0 }, verdict })
            .collect(),
        looked_at: 5,
        next_after: more.then_some(TaskId(5)),
        ..Chunk::default()
    })
}

pub(super) fn any_chunk() -> impl Strategy<Value = Result<Chunk, Box<Broken>>> {
    let rows = Some(Uncertain { from: TaskId(1), to: TaskId(5), rows: 5 });
    let broken = (any_part(), any_write_failure())
        .prop_map(move |(chunk, failure)| Box::new(Broken { chunk, failure, uncertain: rows }));
    prop_oneof![4 => any_part().prop_map(Ok), 1 => broken.prop_map(Err)]
}

pub(super) fn any_stop() -> impl Strategy<Value = Option<StopRequest>> {
    let modes = prop::sample::select(vec![None, None, Some(StopMode::Drain), Some(StopMode::Cancel)]);
    modes.prop_map(|mode| mode.map(|mode| StopRequest { mode, by: "bob".into(), at: clock(0), reason: None }))
}

pub(super) fn any_instances() -> impl Strategy<Value = Vec<Instance>> {
    // What works must come often enough to be asked.
    let state = prop::sample::select(
        InstanceState::ALL.into_iter().chain([InstanceState::Working; 6]).collect::<Vec<_>>(),
    );
    prop::collection::vec((0_u128..3, state, 0_i64..2, any_stop()), 1..4).prop_map(|rows| {
        let made = rows.into_iter().map(|(number, state, stop_version, stop)| Instance {
            stop_version,
            stop,
            ..process(number, "web", state)
        });
        let mut all: Vec<Instance> = made.collect();
        all.sort_by_key(|one| one.id);
        all.dedup_by_key(|one| one.id);
        all
    })
}

pub(super) fn any_stopped() -> impl Strategy<Value = Result<StopAnswer, WriteFailure>> {
    let verdict = (0_usize..6, any_stop(), 0_u8..3).prop_map(|(state, stop, which)| {
        let instance = Stopping {
            id: process(0, "web", InstanceState::Working).id,
            label: "web:991".into(),
            state: InstanceState::ALL[state],
            lease_past: which == 0,
            stop_version: 1,
            stop,
        };
        match which {
            0 => StopVerdict::Committed { instance },
            1 => StopVerdict::Conflict { instance },
            _ => StopVerdict::NotFound,
        }
    });
    let answer = prop::collection::vec((0_u128..3, verdict), 0..3).prop_map(|rows| StopAnswer {
        mode: StopMode::Drain,
        instances: rows
            .into_iter()
            .map(|(number, verdict)| (process(number, "web", InstanceState::Working).id, verdict))
            .collect(),
        resolved_from_unknown: false,
        retries: 0,
    });
    prop_oneof![2 => answer.prop_map(Ok), 1 => any_write_failure().prop_map(Err)]
}

pub(super) fn any_local() -> impl Strategy<Value = Message> {
    (0_usize..6, prop::collection::vec(1_i64..12, 0..3))
        .prop_map(|(state, running)| Message::Local(local(InstanceState::ALL[state], &running)))
}

fn any_queue_state() -> impl Strategy<Value = QueueState> {
    (0_i64..3, any::<bool>()).prop_map(|(version, paused)| match version {
        0 => QueueState::OPEN,
        version => {
            let change = QueueChange { by: "bob".into(), at: clock(0), reason: None };
            QueueState { paused, version, changed: Some(change) }
        }
    })
}

pub(super) fn any_queues() -> impl Strategy<Value = Vec<Queue>> {
    let names = prop::sample::subsequence(vec!["a", "b", "c"], 0..3);
    (names, any_queue_state()).prop_map(|(names, state)| {
        let queue = |name: &str| Queue {
            name: name.to_owned(),
            state: state.clone(),
            waiting: 1,
            later: 0,
            running: 1,
            held: 0,
            oldest_waiting_ms: Some(7),
            takers: 1,
        };
        names.into_iter().map(queue).collect()
    })
}

pub(super) fn any_queue_decided() -> impl Strategy<Value = Result<QueueDecided, WriteFailure>> {
    let outcome = prop::sample::select(vec![QueueOutcome::Committed, QueueOutcome::Conflict]);
    let decided = (outcome, any_queue_state()).prop_map(|(outcome, state)| QueueDecided {
        outcome,
        state,
        resolved_from_unknown: false,
        retries: 0,
    });
    prop_oneof![2 => decided.prop_map(Ok), 1 => any_write_failure().prop_map(Err)]
}
