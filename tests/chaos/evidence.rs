//! What a run leaves behind, as it is laid before the audit: rows, events, the witness's steps, the ledger, and what
//! the program said. Read outside everything that is under test.

use std::collections::BTreeMap;

use crate::analyser::{Ledger, Line};
use crate::fleet::{End, Fleet};
use crate::journal::{Decide, Submit};
use crate::plan::Micros;
use crate::stage::{Row, Stage};

/// The seven states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Submitted,
    Queued,
    Running,
    Succeeded,
    Failed,
    Canceled,
    Rejected,
}

impl State {
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "SUBMITTED" => Self::Submitted,
            "QUEUED" => Self::Queued,
            "RUNNING" => Self::Running,
            "SUCCEEDED" => Self::Succeeded,
            "FAILED" => Self::Failed,
            "CANCELED" => Self::Canceled,
            "REJECTED" => Self::Rejected,
            _ => panic!("`{word}` is no state"),
        }
    }

    pub(crate) fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled | Self::Rejected)
    }
}

/// A row of `tasks` with its text.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) queue: String,
    pub(crate) text: String,
    pub(crate) state: State,
    pub(crate) version: i64,
    pub(crate) claim_no: i64,
    /// Words, bytes, runes.
    pub(crate) counts: [i64; 3],
    pub(crate) output: Option<String>,
}

/// A row of `events`.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    #[expect(dead_code, reason = "for people")]
    pub(crate) at: Micros,
    pub(crate) actor: String,
    pub(crate) act: String,
    pub(crate) from: State,
    pub(crate) to: State,
    pub(crate) before: i64,
    pub(crate) after: i64,
}

/// A row as the witness saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) state: State,
    pub(crate) version: i64,
    pub(crate) claim_no: i64,
    pub(crate) attempt: i64,
    pub(crate) max_attempts: i64,
    pub(crate) owner: Option<String>,
    pub(crate) requested: bool,
}

/// One change of a row, by the witness.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) at: Micros,
    /// When the statement that made it began.
    pub(crate) began: Micros,
    /// None where the row was made.
    pub(crate) old: Option<Side>,
    /// None where it was removed.
    pub(crate) new: Option<Side>,
    /// State and end of lease of the instance that claims, or that held the claim; none where there is no such row.
    pub(crate) owner: Option<(String, Micros)>,
}

/// Everything about one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) task: Option<Task>,
    pub(crate) events: Vec<Event>,
    pub(crate) steps: Vec<Step>,
    pub(crate) lines: Vec<Line>,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) tasks: BTreeMap<i64, History>,
    pub(crate) submits: Vec<Submit>,
    pub(crate) decisions: Vec<Decide>,
    /// Instances that were declared lost: when, and until when their lease was.
    pub(crate) losses: Vec<(Micros, Micros)>,
    /// Instances that went on after their end: from which state into which.
    pub(crate) rises: Vec<String>,
    /// How the workers' processes ended.
    pub(crate) ends: Vec<End>,
    /// Every instance that was ever registered: its process, and when.
    pub(crate) registered: Vec<(i64, Micros)>,
    /// Instances that have not ended although every process has.
    pub(crate) open_instances: Vec<String>,
    /// Sessions of the program that are left.
    pub(crate) sessions: i64,
    /// Requests that were cut, and crashes of the server.
    pub(crate) cuts: u64,
    pub(crate) crashes: usize,
}

/// How many tasks are read at once.
const PAGE: i64 = 20_000;

/// A time as whole microseconds.
fn micros(column: &str) -> String {
    format!("(extract(epoch FROM {column}) * 1000000)::bigint")
}

impl Evidence {
    /// Reads all of it, after everything has ended.
    pub(crate) async fn read(stage: &Stage, fleet: &Fleet, ledger: &Ledger, crashes: usize) -> Self {
        let mut evidence = Self { ends: fleet.ends(), ..Self::default() };
        (evidence.submits, evidence.decisions) = stage.journal.read();
        (evidence.cuts, evidence.crashes) = (stage.proxy.cuts(), crashes);
        let last = stage.number("SELECT coalesce(max(task_id), 0) FROM chaos.steps").await;
        let mut from = 0;
        while from <= last {
            evidence.read_page(stage, from, from + PAGE).await;
            from += PAGE;
        }
        for line in ledger.read() {
            evidence.tasks.entry(line.task).or_default().lines.push(line);
        }
        let losses = format!("SELECT {}, {} FROM chaos.losses", micros("at"), micros("lease"));
        evidence.losses =
            stage.rows_at_last(&losses).await.iter().map(|row| (row.number(0), row.number(1))).collect();
        let rises = "SELECT instance || ' was ' || ended || ' and became ' || state FROM chaos.rises";
        evidence.rises = stage.rows_at_last(rises).await.iter().map(|row| row.word(0).to_owned()).collect();
        let open = "SELECT host || ':' || pid || ' is ' || state FROM taskdeck.instances
                    WHERE state NOT IN ('stopped', 'lost')";
        evidence.open_instances =
            stage.rows_at_last(open).await.iter().map(|row| row.word(0).to_owned()).collect();
        let registered = format!("SELECT pid, {} FROM taskdeck.instances", micros("started_at"));
        evidence.registered =
            stage.rows_at_last(&registered).await.iter().map(|row| (row.number(0), row.number(1))).collect();
        evidence.sessions = stage.number(SESSIONS).await;
        evidence
    }

    async fn read_page(&mut self, stage: &Stage, from: i64, to: i64) {
        let tasks = format!(
            "SELECT t.id, t.queue, x.input, t.status, t.version, t.claim_no, t.words, t.bytes, t.runes, t.output
             FROM taskdeck.tasks t LEFT JOIN taskdeck.task_inputs x ON x.id = t.id
             WHERE t.id >= {from} AND t.id < {to}"
        );
        for row in stage.rows_at_last(&tasks).await {
            self.tasks.entry(row.number(0)).or_default().task = Some(Task {
                queue: row.word(1).to_owned(),
                text: row.word(2).to_owned(),
                state: State::parse(row.word(3)),
                version: row.number(4),
                claim_no: row.number(5),
                counts: [6, 7, 8].map(|at| row.number(at)),
                output: row.text(9).map(str::to_owned),
            });
        }
        let events = format!(
            "SELECT task_id, {}, actor, move, status_before, status_after, version_before, version_after
             FROM taskdeck.events WHERE task_id >= {from} AND task_id < {to} ORDER BY task_id, version_after, id",
            micros("at")
        );
        for row in stage.rows_at_last(&events).await {
            self.tasks.entry(row.number(0)).or_default().events.push(Event {
                at: row.number(1),
                actor: row.word(2).to_owned(),
                act: row.word(3).to_owned(),
                from: State::parse(row.word(4)),
                to: State::parse(row.word(5)),
                before: row.number(6),
                after: row.number(7),
            });
        }
        let steps = format!(
            "SELECT task_id, {}, {}, old_status, old_version, old_claim_no, old_attempt, old_owner, old_requested,
                    old_max_attempts, new_status, new_version, new_claim_no, new_attempt, new_owner,
                    new_requested, new_max_attempts, owner_state, {}
             FROM chaos.steps WHERE task_id >= {from} AND task_id < {to} ORDER BY task_id, new_version, n",
            micros("at"),
            micros("began"),
            micros("owner_lease")
        );
        for row in stage.rows_at_last(&steps).await {
            self.tasks.entry(row.number(0)).or_default().steps.push(Step {
                at: row.number(1),
                began: row.number(2),
                old: side(&row, 3),
                new: side(&row, 10),
                owner: row.text(17).map(|state| (state.to_owned(), row.number(18))),
            });
        }
    }
}

/// The program's sessions.
pub(crate) const SESSIONS: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = 'chaos' AND application_name LIKE 'taskdeck %'";

fn side(row: &Row, from: usize) -> Option<Side> {
    Some(Side {
        state: State::parse(row.text(from)?),
        version: row.number(from + 1),
        claim_no: row.number(from + 2),
        attempt: row.number(from + 3),
        owner: row.text(from + 4).map(str::to_owned),
        requested: row.word(from + 5) == "t",
        max_attempts: row.number(from + 6),
    })
}
