//! Does what the console wants done: each effect is a task of its own against the database, with the deadlines of
//! the db floor, and its answer goes back as a message.

use std::path::Path;

use uuid::Uuid;

use super::translate::{read_failure, unknown, write_failure};
use crate::app::message::{LinesReport, WriteFailure};
use crate::app::{Message, Read, RequestId};
use crate::db::{Db, DbError, ListQuery, Preview};
use crate::domain::input::{SubmissionKey, check_text, decode_text};
use crate::domain::{Decision, DecisionKind, NewTask, OperationId, Seen};
use crate::ui::Messages;

/// How many lines of a file one statement submits.
const LINES_AT_ONCE: usize = 500;

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
    /// New at each start: with a request's number it names a write, so that sending it again is the same write.
    pub(super) session: Uuid,
    /// What a sample text gets besides its text.
    pub(super) samples: NewTask,
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
            Read::Overview => match self.db.overview(self.tenant.as_deref()).await {
                Ok(overview) => Message::OverviewLoaded(overview),
                Err(error) => Message::OverviewFailed(read_failure(&error)),
            },
            Read::Detail { id, tenant } => match self.db.history(id, tenant.as_deref()).await {
                Ok((found, read_at)) => Message::DetailLoaded { id, read_at, found },
                Err(error) => Message::DetailFailed { id, failure: read_failure(&error) },
            },
            Read::Instances => match self.db.instances().await {
                Ok(instances) => Message::InstancesLoaded(instances),
                Err(error) => Message::InstancesFailed(read_failure(&error)),
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
        tokio::spawn(async move {
            let decision = Decision {
                kind,
                rows,
                tenant,
                operator: this.operator.clone(),
                reason,
                operation: OperationId(this.operation(request, 0)),
            };
            let lost = |trouble: &_| this.tell(Message::Decided { request, result: Err(unknown(trouble)) });
            let result = this.db.decide(&decision, &lost).await.map_err(|error| write_failure(&error));
            this.tell(Message::Decided { request, result });
        });
    }

    /// Submits one text.
    pub(super) fn submit(&self, request: RequestId, text: String, task: NewTask) {
        let this = self.clone();
        tokio::spawn(async move {
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
        tokio::spawn(async move {
            let result = match read_text(Path::new(&path)).await {
                Ok(text) => this.submit_each(request, text.lines(), &task).await,
                Err(message) => Err(WriteFailure::BadInput { message }),
            };
            this.tell(Message::LinesSubmitted { request, result });
        });
    }

    /// Submits the samples of a first start.
    pub(super) fn submit_samples(&self, request: RequestId) {
        let this = self.clone();
        tokio::spawn(async move {
            let result = this.submit_each(request, SAMPLES.into_iter(), &this.samples).await;
            this.tell(Message::LinesSubmitted { request, result });
        });
    }

    async fn submit_each(
        &self,
        request: RequestId,
        lines: impl Iterator<Item = &str>,
        task: &NewTask,
    ) -> Result<LinesReport, WriteFailure> {
        let mut report = LinesReport { submitted: 0, refused: Vec::new() };
        let mut accepted = Vec::new();
        for (number, line) in (1_u64..).zip(lines) {
            match check_text(line, self.max_input_bytes) {
                Ok(()) => {
                    accepted.push((SubmissionKey { id: self.operation(request, number), given: None }, line));
                }
                Err(refusal) => report.refused.push((number, refusal.to_string())),
            }
        }
        for lines in accepted.chunks(LINES_AT_ONCE) {
            let lost =
                |trouble: &_| self.tell(Message::LinesSubmitted { request, result: Err(unknown(trouble)) });
            match self.db.submit_all(lines, task, Preview::Beginning, &lost).await {
                Ok(submitted) => report.submitted += submitted.len() as u64,
                Err(error) => return Err(interrupted(&error, report.submitted)),
            }
        }
        Ok(report)
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

/// A failure half-way through a file says how far it came: what was submitted stays submitted.
fn interrupted(error: &DbError, submitted: u64) -> WriteFailure {
    let failure = write_failure(error);
    if submitted == 0 {
        return failure;
    }
    let told = |message: String| format!("{message}; {submitted} lines before were submitted and stay so");
    match failure {
        WriteFailure::Unavailable { message, hint } => {
            WriteFailure::Unavailable { message: told(message), hint }
        }
        WriteFailure::Refused { why, message, hint } => {
            WriteFailure::Refused { why, message: told(message), hint }
        }
        WriteFailure::Unresolved { message, hint } => {
            WriteFailure::Unresolved { message: told(message), hint }
        }
        other => other,
    }
}

async fn read_text(path: &Path) -> Result<String, String> {
    let bytes = tokio::fs::read(path).await.map_err(|error| format!("file: {}: {error}", path.display()))?;
    decode_text(bytes).map_err(|refusal| refusal.to_string())
}
