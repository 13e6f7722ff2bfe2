//! Does what the console wants done: each effect is a task of its own against the database, with the deadlines of
//! the db floor, and its answer goes back as a message.

use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use uuid::Uuid;

use super::translate::{broken, read_failure, unknown, write_failure};
use crate::app::message::{Broken, FailureCause, LinesReport, ReadFailure, WriteFailure};
use crate::app::{Message, Read, RequestId};
use crate::db::{Db, ListQuery, Preview};
use crate::domain::bulk::{Bulk, Chunk, Matching};
use crate::domain::input::SubmissionKey;
use crate::domain::instance::{SeenInstance, Stop};
use crate::domain::queue::{QueueAct, QueueDecision};
use crate::domain::{Approval, Decision, DecisionKind, Name, NewTask, OperationId, Seen, StopMode, TaskId};
use crate::submit_lines::{Job, Keys, Step, Stopped, submit_lines};
use crate::ui::Messages;

/// How many refused lines of a file are named.
const NAMED: usize = 20;

/// How long it is tried to tell a database that is slow from one that gives no answer.
const PROBE_WITHIN: Duration = Duration::from_secs(1);

/// What a first start offers, so that a newcomer sees tasks move.
const SAMPLES: [&str; 5] = [
    "The quick brown fox jumps over the lazy dog.",
    "Go 语言, Rust, and a word that is not ASCII: naïve.",
    "Exactly one actor wins each row;\nthe arbiter is one conditional UPDATE.",
    "Nothing is lost, nothing is done twice.",
    "Press n to write a text of your own, c to cancel one, ? for every key.",
];

/// Runs effects for one console.
#[derive(Debug, Clone)]
pub(super) struct Performer {
    pub(super) db: Db,
    pub(super) messages: Messages,
    pub(super) operator: String,
    /// Narrows the overview, if the program was started for one tenant.
    pub(super) tenant: Option<String>,
    pub(super) max_input_bytes: usize,
    /// Who may approve a held task, as this program is set up.
    pub(super) approval: Approval,
    /// New at each start: with a request's number it names a write, so that sending it again is the same write.
    pub(super) session: Uuid,
    /// What a sample text gets besides its text.
    pub(super) samples: NewTask,
    /// What is under way.
    pub(super) writes: Writes,
}

impl Performer {
    /// Reads something; the answer comes as a message.
    pub(super) fn read(&self, read: Read) {
        let this = self.clone();
        tokio::spawn(async move {
            let message = this.answer(read).await;
            this.tell(message);
        });
    }

    async fn answer(&self, read: Read) -> Message {
        match read {
            Read::List { generation, filter, before, limit } => {
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                let query = ListQuery { filter, before, limit, preview: Preview::Beginning };
                match self.db.list(&query).await {
                    Ok(page) => Message::ListLoaded { generation, page },
                    Err(error) => Message::ListFailed { generation, failure: read_failure(&error) },
                }
            }
            Read::Matching { look, kind, filter } => {
                let result = self.db.preview(kind, &filter, None).await;
                Message::Looked { look, result: result.map_err(|error| read_failure(&error)) }
            }
            Read::Overview => match self.db.overview(self.tenant.as_deref()).await {
                Ok(overview) => Message::OverviewLoaded(overview),
                Err(error) => Message::OverviewFailed(self.judge(read_failure(&error)).await),
            },
            Read::Detail { id, tenant } => match self.db.history(id, tenant.as_deref()).await {
                Ok((found, read_at)) => Message::DetailLoaded { id, read_at, found },
                Err(error) => Message::DetailFailed { id, failure: read_failure(&error) },
            },
            Read::Instances => match self.db.instances(self.tenant.as_deref()).await {
                Ok(instances) => Message::InstancesLoaded(instances),
                Err(error) => Message::InstancesFailed(read_failure(&error)),
            },
            Read::Queues => match self.db.queues(self.tenant.as_deref()).await {
                Ok(queues) => Message::QueuesLoaded(queues),
                Err(error) => Message::QueuesFailed(read_failure(&error)),
            },
            Read::Limits => match self.db.tenant_limits(self.tenant.as_deref()).await {
                Ok(limits) => Message::LimitsLoaded(limits),
                Err(error) => Message::LimitsFailed(read_failure(&error)),
            },
            Read::Health => match self.db.health().await {
                Ok(health) => Message::HealthLoaded(Box::new(health)),
                Err(error) => Message::HealthFailed(read_failure(&error)),
            },
            Read::Figures => Message::FiguresLoaded {
                pools: self.db.pool_figures(),
                statements: self.db.statement_figures(),
            },
        }
    }

    /// The overview is a large read. Where it got no answer in its time, a small one tells whether nothing does.
    async fn judge(&self, failure: ReadFailure) -> ReadFailure {
        if failure.cause == FailureCause::NoAnswer
            && matches!(timeout(PROBE_WITHIN, self.db.clock()).await, Ok(Ok(_)))
        {
            return ReadFailure { cause: FailureCause::Refused, ..failure };
        }
        failure
    }

    /// Sends a decision that the operator has confirmed.
    pub(super) fn decide(
        &self,
        request: RequestId,
        kind: DecisionKind,
        rows: Vec<Seen>,
        reason: Option<String>,
        tenant: Option<String>,
    ) {
        let this = self.clone();
        self.writes.spawn(async move {
            let decision = Decision {
                kind,
                rows,
                tenant,
                operator: this.operator.clone(),
                approval: this.approval,
                reason,
                operation: OperationId(this.operation(request, 0)),
            };
            let lost = |trouble: &_| this.tell(Message::Decided { request, result: Err(unknown(trouble)) });
            let result = this.db.decide(&decision, &lost).await.map_err(|error| write_failure(&error));
            this.tell(Message::Decided { request, result });
        });
    }

    /// Decides about the next chunk of all that match, which the operator has confirmed.
    pub(super) fn decide_chunk(
        &self,
        request: RequestId,
        matching: Matching,
        reason: Option<String>,
        after: Option<TaskId>,
    ) {
        let this = self.clone();
        self.writes.spawn(async move {
            let (operator, approval) = (this.operator.clone(), this.approval);
            let bulk = Bulk { matching, operator, approval, reason };
            let lost = |trouble: &_| {
                let broken = Broken { chunk: Chunk::default(), failure: unknown(trouble), uncertain: None };
                this.tell(Message::ChunkDecided { request, result: Err(Box::new(broken)) });
            };
            let result = this.db.decide_chunk(&bulk, after, &lost).await;
            let result = result.map_err(|interrupted| Box::new(broken(*interrupted)));
            this.tell(Message::ChunkDecided { request, result });
        });
    }

    /// Asks instances to stop, which the operator has confirmed.
    pub(super) fn stop(
        &self,
        request: RequestId,
        mode: StopMode,
        instances: Vec<SeenInstance>,
        reason: Option<String>,
    ) {
        let this = self.clone();
        self.writes.spawn(async move {
            let operator = this.operator.clone();
            let operation = OperationId(this.operation(request, 0));
            let stop = Stop { mode, instances, operator, reason, operation };
            let lost =
                |trouble: &_| this.tell(Message::StopAnswered { request, result: Err(unknown(trouble)) });
            let result = this.db.stop(&stop, &lost).await.map_err(|error| row_tells(write_failure(&error)));
            this.tell(Message::StopAnswered { request, result });
        });
    }

    /// Pauses or resumes a queue, which the operator has confirmed.
    pub(super) fn decide_queue(
        &self,
        request: RequestId,
        act: QueueAct,
        queue: Name,
        version: i64,
        reason: Option<String>,
    ) {
        let this = self.clone();
        self.writes.spawn(async move {
            let operator = this.operator.clone();
            let operation = OperationId(this.operation(request, 0));
            let decision = QueueDecision { act, queue, version, operator, reason, operation };
            let lost =
                |trouble: &_| this.tell(Message::QueueDecided { request, result: Err(unknown(trouble)) });
            let result = this.db.decide_queue(&decision, &lost).await;
            let result = result.map_err(|error| row_tells(write_failure(&error)));
            this.tell(Message::QueueDecided { request, result });
        });
    }

    /// Submits one text.
    pub(super) fn submit(&self, request: RequestId, text: String, task: NewTask) {
        let this = self.clone();
        self.writes.spawn(async move {
            let key = SubmissionKey { id: this.operation(request, 0), given: None };
            let lost = |trouble: &_| this.tell(Message::Submitted { request, result: Err(unknown(trouble)) });
            let result = this.db.submit(&text, &task, &key, &lost).await;
            let result = result.map(Box::new).map_err(|error| write_failure(&error));
            this.tell(Message::Submitted { request, result });
        });
    }

    /// Submits each line of a file.
    pub(super) fn submit_lines(&self, request: RequestId, path: String, task: NewTask) {
        let this = self.clone();
        self.writes.spawn(async move {
            let result = this.file(request, Path::new(&path), task).await;
            this.tell(Message::LinesSubmitted { request, result });
        });
    }

    async fn file(
        &self,
        request: RequestId,
        path: &Path,
        task: NewTask,
    ) -> Result<LinesReport, WriteFailure> {
        let bad = |problem: &dyn std::fmt::Display| WriteFailure::BadInput {
            message: format!("file: {}: {problem}", path.display()),
        };
        // A pipe or a device may give nothing, or give for ever.
        let metadata = tokio::fs::metadata(path).await.map_err(|error| bad(&error))?;
        if !metadata.is_file() {
            return Err(bad(&"is not a regular file"));
        }
        let file = tokio::fs::File::open(path).await.map_err(|error| bad(&error))?.into_std().await;
        let keys = Keys::Of(self.operation(request, 0));
        let job = Job { task, max_input_bytes: self.max_input_bytes, keys };
        let lost =
            |trouble: &_| self.tell(Message::LinesSubmitted { request, result: Err(unknown(trouble)) });
        let mut report = LinesReport { submitted: 0, known: 0, refused: 0, named: Vec::new() };
        // Nobody asks it to stop: what the console still writes is waited for at its end.
        let halt = std::future::pending();
        let ended = submit_lines(&self.db, BufReader::new(file), &job, halt, &lost, |step| match step {
            Step::Sending { .. } => {}
            Step::Refused { line, message } => {
                report.refused += 1;
                if report.named.len() < NAMED {
                    report.named.push((line, message));
                }
            }
            Step::Sent { made, .. } => {
                let created = made.iter().filter(|submitted| submitted.created).count() as u64;
                report.submitted += created;
                report.known += made.len() as u64 - created;
            }
        })
        .await;
        match ended {
            Ok(()) | Err(Stopped::Asked { .. }) => Ok(report),
            Err(Stopped::Reading { error, .. }) => {
                Err(interrupted(bad(&error), report.submitted + report.known))
            }
            Err(Stopped::Sending { error, .. }) => {
                Err(interrupted(write_failure(&error), report.submitted + report.known))
            }
        }
    }

    /// Submits the samples of a first start.
    pub(super) fn submit_samples(&self, request: RequestId) {
        let this = self.clone();
        self.writes.spawn(async move {
            let texts: Vec<_> = (1..)
                .zip(SAMPLES)
                .map(|(number, text)| {
                    (SubmissionKey { id: this.operation(request, number), given: None }, text)
                })
                .collect();
            let lost =
                |trouble: &_| this.tell(Message::LinesSubmitted { request, result: Err(unknown(trouble)) });
            let result = this.db.submit_all(&texts, &this.samples, Preview::Beginning, &lost).await;
            let result = result.map_err(|error| write_failure(&error)).map(|made| LinesReport {
                // Fresh ids are nobody else's.
                submitted: made.len() as u64,
                known: 0,
                refused: 0,
                named: Vec::new(),
            });
            this.tell(Message::LinesSubmitted { request, result });
        });
    }

    /// The id of one write: the same request with the same line is the same write, however often it is sent.
    fn operation(&self, request: RequestId, line: u64) -> Uuid {
        Uuid::new_v5(&self.session, format!("{}/{line}", request.0).as_bytes())
    }

    fn tell(&self, message: Message) {
        // A console that has ended wants no answers.
        let _ = self.messages.send(message);
    }
}

/// The row of an instance or a queue tells what became of it, not a task's timeline.
fn row_tells(failure: WriteFailure) -> WriteFailure {
    match failure {
        WriteFailure::Unresolved { message, .. } => WriteFailure::Unresolved { message, hint: None },
        other => other,
    }
}

/// A failure half-way through a file says how far it came: what is in the table stays there.
fn interrupted(failure: WriteFailure, before: u64) -> WriteFailure {
    if before == 0 {
        return failure;
    }
    let told = |message: String| {
        format!(
            "{message}; {before} lines before are in the table and stay there: the same file again goes on behind them"
        )
    };
    match failure {
        WriteFailure::Unavailable { message, hint } => {
            WriteFailure::Unavailable { message: told(message), hint }
        }
        WriteFailure::Refused { message, hint } => WriteFailure::Refused { message: told(message), hint },
        WriteFailure::Unresolved { message, hint } => {
            WriteFailure::Unresolved { message: told(message), hint }
        }
        WriteFailure::BadInput { message } => WriteFailure::BadInput { message: told(message) },
        other @ WriteFailure::Unknown { .. } => other,
    }
}

/// The writes that are under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Writes(Arc<watch::Sender<usize>>);

impl Writes {
    /// Runs a write; it counts until it has ended, however that is.
    fn spawn(&self, write: impl Future<Output = ()> + Send + 'static) {
        let counted = Counted::begin(self);
        tokio::spawn(async move {
            write.await;
            drop(counted);
        });
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until there are none.
    pub(super) async fn done(&self) {
        // The sender is a field of this very value.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

struct Counted(Writes);

impl Counted {
    fn begin(writes: &Writes) -> Self {
        writes.0.send_modify(|count| *count += 1);
        Self(writes.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
