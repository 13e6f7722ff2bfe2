//! The one visible place of every statement: a file each in `sql/`, its contract above it.
//!
//! Statements are sent unnamed with their parameters' types, so that a call is one round trip, the planner
//! sees the values (partial indexes), and a transaction-mode pooler does not mind.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::Refusal;

/// Whether a statement can have changed something when its answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only reads.
    Read,
    /// It may write.
    Write,
}

/// A statement as it stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// The file's name without `.sql`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
    /// Whether it may write.
    pub effect: Effect,
}

macro_rules! statements {
    ($($(#[$doc:meta])* $constant:ident = $effect:ident $name:literal;)*) => {
        $($(#[$doc])*
        pub const $constant: Statement = Statement {
            name: $name,
            text: include_str!(concat!("sql/", $name, ".sql")),
            effect: Effect::$effect,
        };)*
        /// Every statement; a test prepares each against a real server.
        pub const ALL: &[Statement] = &[$($constant),*];
    };
}

statements! {
    /// See `submit.sql`.
    SUBMIT = Write "submit";
    /// See `submitted.sql`.
    SUBMITTED = Read "submitted";
    /// See `claim_next.sql`.
    CLAIM_NEXT = Write "claim_next";
    /// See `claim_limited.sql`.
    CLAIM_LIMITED = Write "claim_limited";
    /// See `claim_by_id.sql`.
    CLAIM_BY_ID = Write "claim_by_id";
    /// See `claimed.sql`.
    CLAIMED = Read "claimed";
    /// See `held.sql`.
    HELD = Read "held";
    /// See `finish_success.sql`.
    FINISH_SUCCESS = Write "finish_success";
    /// See `finish_told.sql`.
    FINISH_TOLD = Write "finish_told";
    /// See `succeeded.sql`.
    SUCCEEDED = Read "succeeded";
    /// See `finish.sql`.
    FINISH = Write "finish";
    /// See `finished.sql`.
    FINISHED = Read "finished";
    /// See `release.sql`.
    RELEASE = Write "release";
    /// See `released.sql`.
    RELEASED = Read "released";
    /// See `decide.sql`.
    DECIDE = Write "decide";
    /// See `decided.sql`.
    DECIDED = Read "decided";
    /// See `last_change.sql`.
    LAST_CHANGE = Read "last_change";
    /// See `task.sql`.
    TASK = Read "task";
    /// See `clock.sql`.
    CLOCK = Read "clock";
    /// See `events.sql`.
    EVENTS = Read "events";
    /// See `audit.sql`.
    AUDIT = Read "audit";
    /// See `list.sql`.
    LIST = Read "list";
    /// See `matches.sql`.
    MATCHES = Read "matches";
    /// See `preview.sql`.
    PREVIEW = Read "preview";
    /// See `newest.sql`.
    NEWEST = Read "newest";
    /// See `tallies.sql`.
    TALLIES = Read "tallies";
    /// See `tallies_live.sql`.
    TALLIES_LIVE = Read "tallies_live";
    /// See `tally_estimate.sql`.
    TALLY_ESTIMATE = Read "tally_estimate";
    /// See `total_estimate.sql`.
    TOTAL_ESTIMATE = Read "total_estimate";
    /// See `overview.sql`.
    OVERVIEW = Read "overview";
    /// See `oldest_due.sql`.
    OLDEST_DUE = Read "oldest_due";
    /// See `instances.sql`.
    INSTANCES = Read "instances";
    /// See `register.sql`.
    REGISTER = Write "register";
    /// See `heartbeat.sql`.
    HEARTBEAT = Write "heartbeat";
    /// See `end_instance.sql`.
    END_INSTANCE = Write "end_instance";
    /// See `declare_lost.sql`.
    DECLARE_LOST = Write "declare_lost";
    /// See `recover.sql`.
    RECOVER = Write "recover";
    /// See `stop.sql`.
    STOP = Write "stop";
    /// See `stops_asked.sql`.
    STOPS_ASKED = Read "stops_asked";
    /// See `decide_queue.sql`.
    DECIDE_QUEUE = Write "decide_queue";
    /// See `queue.sql`.
    QUEUE = Read "queue";
    /// See `queues.sql`.
    QUEUES = Read "queues";
    /// See `decide_limit.sql`.
    DECIDE_LIMIT = Write "decide_limit";
    /// See `limit.sql`.
    LIMIT = Read "limit";
    /// See `limits.sql`.
    LIMITS = Read "limits";
    /// See `cancel_requests.sql`.
    CANCEL_REQUESTS = Read "cancel_requests";
    /// See `prune_instances.sql`.
    PRUNE_INSTANCES = Write "prune_instances";
    /// See `outbox.sql`.
    OUTBOX = Read "outbox";
    /// See `outbox_tally.sql`.
    OUTBOX_TALLY = Read "outbox_tally";
    /// See `outbox_claim.sql`.
    OUTBOX_CLAIM = Write "outbox_claim";
    /// See `outbox_held.sql`.
    OUTBOX_HELD = Read "outbox_held";
    /// See `outbox_done.sql`.
    OUTBOX_DONE = Write "outbox_done";
    /// See `outbox_retry.sql`.
    OUTBOX_RETRY = Write "outbox_retry";
    /// See `outbox_prune.sql`.
    OUTBOX_PRUNE = Write "outbox_prune";
    /// See `wake.sql`.
    WAKE = Read "wake";
    /// See `health.sql`.
    HEALTH = Read "health";
    /// See `lock_waits.sql`.
    LOCK_WAITS = Read "lock_waits";
    /// See `session_deadline.sql`.
    SESSION_DEADLINE = Read "session_deadline";
    /// See `schema_version.sql`.
    SCHEMA_VERSION = Read "schema_version";
    /// See `privileges.sql`.
    PRIVILEGES = Read "privileges";
    /// See `server_facts.sql`.
    SERVER_FACTS = Read "server_facts";
}

/// The columns that make a task, of `t` (the row), `x` (its text) and `w` (its worker).
const COLUMNS: &str = "t.id, t.tenant, t.queue, t.status, t.version, t.attempt, t.max_attempts, t.claim_no, \
    t.claimed_by, t.cancel_requested, t.priority, t.words, t.bytes, t.runes, t.output, t.error, t.created_at, \
    t.scheduled_at, t.started_at, t.finished_at, x.input, x.input_bytes, x.submitted_by, x.four_eyes, w.worker";

/// What `matches.sql` and `preview.sql` have in common.
const MATCHING: &str = include_str!("sql/pieces/matching.sql");

/// The columns that [`MATCHING`] needs of each row that it looks at.
const OF_EACH: &str =
    "t.id, t.version, t.status, t.tenant, t.queue, t.created_at, t.cancel_requested, t.error";

/// A schema's name, checked and quoted: the only thing that is ever put into a statement's text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Schema(String);

impl Schema {
    /// Takes `name` as a schema's name.
    ///
    /// # Errors
    /// Refuses what is not 1 to 48 of `a-z`, `0-9` and `_`, beginning with a letter or `_`, and `pg_…`.
    pub fn new(name: &str) -> Result<Self, Refusal> {
        let fits = (1..=48).contains(&name.len())
            && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.starts_with("pg_");
        if fits {
            Ok(Self(name.to_owned()))
        } else {
            let problem = "use 1 to 48 of a-z, 0-9 and _, not beginning with a digit or pg_";
            Err(Refusal::new("schema", problem))
        }
    }

    /// The name, unquoted.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The name as it stands in a statement.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }

    /// The channel on which something to do is announced.
    pub(crate) fn channel(&self) -> String {
        format!("taskdeck_{}", self.0)
    }

    /// The channel on which a process that was asked to stop is told to look.
    pub(crate) fn fleet_channel(&self) -> String {
        format!("taskdeck_{}_fleet", self.0)
    }
}

/// Every statement's text for one schema.
#[derive(Debug, Clone)]
pub(crate) struct Texts(Arc<HashMap<&'static str, String>>);

impl Texts {
    pub(crate) fn new(schema: &Schema) -> Self {
        let all = ALL.iter().chain(super::lab::STATEMENTS);
        Self(Arc::new(all.map(|statement| (statement.name, render(statement.text, schema))).collect()))
    }

    pub(crate) fn of(&self, statement: Statement) -> &str {
        &self.0[statement.name]
    }
}

/// The statement without its contract, its names filled in.
pub fn render(text: &str, schema: &Schema) -> String {
    let mut body = without_comments(text).replace("{matching}", &without_comments(MATCHING));
    body = body.replace("{columns}", COLUMNS).replace("{of_each}", OF_EACH);
    expand(&mut body, "{text_and_worker ", text_and_worker);
    expand(&mut body, "{walk ", walk);
    expand(&mut body, "{reach ", reach);
    body.replace("{schema}", &schema.quoted())
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("--")).fold(
        String::with_capacity(text.len()),
        |mut body, line| {
            body.push_str(line.trim());
            body.push('\n');
            body
        },
    )
}

/// Replaces each `{name argument}` by what `piece` makes of its argument.
fn expand(body: &mut String, opening: &str, piece: fn(&str) -> String) {
    while let Some(start) = body.find(opening) {
        let end = start + body[start..].find('}').expect("the placeholder is closed");
        let made = piece(&body[start + opening.len()..end]);
        body.replace_range(start..=end, &made);
    }
}

/// The newest ids of the tasks that `condition` names, as `list.sql` needs them for each state.
fn walk(condition: &str) -> String {
    format!(
        "(SELECT t.id, t.queue, t.error FROM {{schema}}.tasks t LEFT JOIN {{schema}}.task_inputs x ON x.id = t.id \
         WHERE {condition} AND ($2::text IS NULL OR x.tenant = $2) AND ($5::bigint IS NULL OR t.id < $5) \
         ORDER BY t.id DESC \
         LIMIT CASE WHEN $4::text IS NULL AND $3::text IS NULL THEN $6::bigint ELSE $7::bigint END)"
    )
}

/// The next rows that `condition` names, for [`MATCHING`].
fn reach(condition: &str) -> String {
    format!(
        "(SELECT {OF_EACH} FROM {{schema}}.tasks t WHERE {condition} AND t.id > $6 AND t.id <= $7 \
         ORDER BY t.id LIMIT $8)"
    )
}

/// Joins to `t` the first `characters` (a parameter) of its text and the label of its worker.
fn text_and_worker(characters: &str) -> String {
    format!(
        "LEFT JOIN LATERAL (SELECT left(s.input, {characters}) AS input, \
         octet_length(s.input)::bigint AS input_bytes, s.submitted_by, s.four_eyes FROM {{schema}}.task_inputs s WHERE s.id = t.id) x ON true \
         LEFT JOIN LATERAL (SELECT i.host || ':' || i.pid AS worker FROM {{schema}}.instances i \
         WHERE i.id = t.claimed_by) w ON true"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled_and_every_contract_is_written() {
        let schema = Schema::new("taskdeck").expect("name");
        for statement in ALL {
            assert!(statement.text.starts_with("-- "), "{} has no contract", statement.name);
            let text = render(statement.text, &schema);
            assert!(!text.contains('{') && !text.contains("--"), "{}: {text}", statement.name);
        }
    }

    #[test]
    fn every_file_is_a_statement() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/db/sql");
        for entry in std::fs::read_dir(folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.extension().is_some_and(|extension| extension == "sql") {
                let stem = path.file_stem().expect("stem").to_string_lossy().into_owned();
                assert!(ALL.iter().any(|statement| statement.name == stem), "{stem}.sql is used by nothing");
            }
        }
    }

    #[test]
    fn schema_names_are_refused_rather_than_quoted() {
        for bad in ["", "Tasks", "a b", "a\"b", "1a", "pg_x", "a-b", &"x".repeat(49)] {
            assert!(Schema::new(bad).is_err(), "{bad}");
        }
        assert_eq!(Schema::new("jobs_2").expect("name").quoted(), "\"jobs_2\"");
    }
}
