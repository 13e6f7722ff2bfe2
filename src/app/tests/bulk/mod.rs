//! Decisions about all that match: marked, counted, asked about as counted, sent chunk by chunk, stopped, told.

mod asking;
mod running;

use crate::app::bulk::{BulkEnd, BulkQuestion, BulkRun, Found, Phase, Stopping};
use crate::app::keys::Key;
use crate::app::list::MOST;
use crate::app::message::{Broken, FailureCause, Message, ReadFailure, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::question::Ask as _;
use crate::app::state::Access;
use crate::app::testing::{Console, Line, change, clock, local, overview, page, reads, task};
use crate::app::{Effect, Read, RequestId};
use crate::domain::bulk::{Chunk, Count, Left, Matching, Preview, Uncertain};
use crate::domain::observed::{Filter, Page};
use crate::domain::outcome::Verdict;
use crate::domain::{DecisionKind, InstanceState, Seen, Status, Task, TaskId};

fn failed(id: i64) -> Task {
    Task { status: Status::Failed, version: 3, ..task(id) }
}

fn with_more(ids: std::ops::RangeInclusive<i64>) -> Page {
    let first = TaskId(*ids.start());
    Page { next_before: Some(first), ..page(ids.map(failed)) }
}

fn preview(kind: DecisionKind, ready: &[(Status, i64)]) -> Preview {
    let matching = Matching { kind, filter: Filter::default(), created_before: None, up_to: TaskId(20_000) };
    Preview {
        matching,
        ready: ready.iter().copied().collect(),
        complete: true,
        left_out: [(Status::Succeeded, Count { rows: 9_000, complete: true })].into(),
        looked_at: 30_000,
        read_at: clock(0),
    }
}

fn failures() -> Preview {
    let found = preview(DecisionKind::Requeue, &[(Status::Failed, 12_000), (Status::Canceled, 345)]);
    Preview { left_out: [].into(), ..found }
}

/// A console on which all that match are marked and not counted yet.
fn marked() -> Console {
    let mut console = Console::with(with_more(901..=1_000));
    console.press("A");
    console.load(with_more(501..=1_000));
    assert!(console.state.list.all.is_some(), "{}", console.notice());
    console
}

/// The same, counted.
fn counted() -> Console {
    let mut console = marked();
    console.send(Message::Looked { look: 1, result: Ok(failures()) });
    console
}

/// The same, with the first chunk under way.
fn running() -> Console {
    let mut console = counted();
    assert_eq!(console.press("r y").len(), 1);
    console
}

fn question(console: &Console) -> &BulkQuestion {
    match console.state.overlay() {
        Some(Overlay::Bulk(question)) => question,
        other => panic!("no question: {other:?}, {}", console.notice()),
    }
}

fn run(console: &Console) -> &BulkRun {
    console.state.bulk.run.as_ref().expect("a run")
}

fn sent(request: u64, preview: &Preview, reason: Option<&str>, after: Option<i64>) -> Effect {
    Effect::DecideChunk {
        request: RequestId(request),
        matching: Box::new(preview.matching.clone()),
        reason: reason.map(str::to_owned),
        after: after.map(TaskId),
    }
}

fn answer(console: &mut Console, request: u64, chunk: Chunk) -> Vec<Effect> {
    let result = Ok(chunk);
    let mut effects = console.send(Message::ChunkDecided { request: RequestId(request), result });
    effects.retain(|effect| !matches!(effect, Effect::Read(_)));
    effects
}

fn fail(
    console: &mut Console,
    failure: WriteFailure,
    chunk: Chunk,
    uncertain: Option<Uncertain>,
) -> Vec<Effect> {
    let result = Err(Box::new(Broken { chunk, failure, uncertain }));
    let mut effects = console.send(Message::ChunkDecided { request: RequestId(1), result });
    effects.retain(|effect| !matches!(effect, Effect::Read(_)));
    effects
}

fn chunk(committed: i64, next_after: Option<i64>) -> Chunk {
    Chunk { committed, looked_at: committed, next_after: next_after.map(TaskId), ..Chunk::default() }
}

fn moved(id: i64) -> Left {
    let task = Task { status: Status::Canceled, version: 4, ..failed(id) };
    let verdict = Verdict::Conflict { task, last: Some(change("bob", "cancel", 4, None)) };
    Left { seen: Seen { id: TaskId(id), version: 3 }, verdict }
}

fn logged(console: &Console, text: &str) -> bool {
    console.state.log.entries.iter().any(|entry| entry.text.contains(text))
}
