//! What follows from what the server says. Pure, so that each can be tested without a server that is ill.

use std::time::Duration;

use super::Check;
use crate::db::{Access, DbError, Limits, NeededTo, Privilege, ServerFacts};
use crate::domain::figure::{age, thousands, wait};
use crate::domain::observed::Health;

/// The versions that are supported, by major number.
const MAJORS: std::ops::RangeInclusive<i32> = 14..=18;

/// Beyond this an open transaction is worth a word: vacuum keeps every row that was dead since.
const LONG_TRANSACTION: Duration = Duration::from_mins(5);

/// Beyond this many dead rows claims begin to walk over them.
const MANY_DEAD: i64 = 200_000;

/// A difference of clocks beyond this confuses whoever compares logs with the history.
const CLOCKS_APART: Duration = Duration::from_secs(2);

pub(super) fn version(facts: &ServerFacts) -> Check {
    let major = facts.version_num / 10_000;
    let words = format!("PostgreSQL {major}.{}", facts.version_num % 10_000);
    if MAJORS.contains(&major) {
        Check::ok("server version", words)
    } else if major > *MAJORS.end() {
        Check::warn(
            "server version",
            format!("{words} is newer than what this program was tested with (14 to 18)"),
        )
        .hint("use a newer taskdeck if something does not work")
    } else {
        Check::fail("server version", format!("{words} is too old")).hint("use PostgreSQL 14 to 18")
    }
}

pub(super) fn encoding(facts: &ServerFacts) -> Check {
    if facts.encoding == "UTF8" {
        Check::ok("encoding", "UTF8")
    } else {
        Check::fail("encoding", format!("{}: texts outside it cannot be stored", facts.encoding))
            .hint("make a database with ENCODING 'UTF8' and TEMPLATE template0")
    }
}

pub(super) fn schema(name: &str, checked: &Result<(), DbError>) -> Check {
    match checked {
        Ok(()) => Check::ok("schema", format!("{name} has the version that this program needs")),
        Err(error) => Check::unanswered("schema", error),
    }
}

pub(super) fn privileges(privileges: &[Privilege]) -> Check {
    let missing = |needed_to: NeededTo| {
        let list: Vec<String> = privileges
            .iter()
            .filter(|privilege| privilege.needed_to == needed_to && privilege.granted != Some(true))
            .map(|privilege| format!("{} on {}", privilege.privilege, privilege.table))
            .collect();
        (!list.is_empty()).then(|| list.join(", "))
    };
    let ask = "ask the schema's owner to grant it, if this role should do that";
    if let Some(list) = missing(NeededTo::Look) {
        return Check::fail("privileges", format!("this role cannot show tasks: it lacks {list}")).hint(ask);
    }
    let (mut may, mut may_not) = (vec!["look"], Vec::new());
    for (needed_to, what) in [
        (NeededTo::Operate, "submit and decide"),
        (NeededTo::Direct, "pause queues and stop workers"),
        (NeededTo::Work, "work"),
    ] {
        match missing(needed_to) {
            None => may.push(what),
            Some(list) => may_not.push(format!("not {what}: it lacks {list}")),
        }
    }
    let may = format!("this role may {}", may.join(", "));
    if may_not.is_empty() {
        Check::ok("privileges", may)
    } else {
        Check::warn("privileges", format!("{may}; {}", may_not.join("; "))).hint(ask)
    }
}

pub(super) fn isolation(health: &Health) -> Check {
    let isolation = &health.isolation;
    if isolation == "read committed" {
        Check::ok("isolation", isolation)
    } else {
        Check::warn(
            "isolation",
            format!("{isolation} by default: races end in serialization failures, which are retried"),
        )
        .hint("ALTER ROLE … SET default_transaction_isolation = 'read committed'")
    }
}

pub(super) fn writable(health: &Health, asked: Access) -> Check {
    if health.is_replica {
        Check::warn("writable", "this server is a replica: it shows tasks, and nothing can be changed")
            .hint("name the primary, or several hosts with target_session_attrs=read-write")
    } else if health.is_read_only && asked == Access::ReadOnly {
        Check::ok("writable", "read-only, as --read-only asks")
    } else if health.is_read_only {
        Check::warn("writable", "the session is read-only: nothing can be changed")
            .hint("look for default_transaction_read_only at the role, the database or the server")
    } else {
        Check::ok("writable", "this server is a primary and takes changes")
    }
}

pub(super) fn connections(health: &Health, limits: &Limits) -> Check {
    let left = health.max_connections - health.connections;
    // A worker's process: both pools and the connection that listens.
    let one = i64::try_from(limits.operator_pool + limits.workers_pool + 1).unwrap_or(i64::MAX);
    let words = format!(
        "{} of {} in use; a worker of these settings takes up to {one}",
        health.connections, health.max_connections
    );
    if left < one {
        Check::warn("connections", format!("{words}, and {left} are left"))
            .hint("raise max_connections, lower --pool-size, or put a pooler in front")
    } else {
        Check::ok("connections", words)
    }
}

pub(super) fn oldest_transaction(health: &Health) -> Check {
    let name = "oldest transaction";
    let Some(oldest) = &health.oldest_transaction else { return Check::ok(name, "none is open") };
    let open = Duration::from_millis(u64::try_from(oldest.open_ms).unwrap_or(0));
    let words = format!("open for {} by {} (pid {}, {})", age(open), oldest.role, oldest.pid, oldest.state);
    if open > LONG_TRANSACTION {
        Check::warn(name, format!("{words}: claims get slower the longer it stays open"))
            .hint(format!("find out what it does; pg_terminate_backend({}) ends it", oldest.pid))
    } else {
        Check::ok(name, words)
    }
}

pub(super) fn dead_rows(health: &Health) -> Check {
    let words = format!("{} in tasks", thousands(health.dead_rows));
    if health.dead_rows > MANY_DEAD {
        Check::warn("dead rows", format!("{words}: vacuum does not keep up"))
            .hint("look for a long transaction or replication slot that holds it back, and at autovacuum's settings")
    } else {
        Check::ok("dead rows", words)
    }
}

pub(super) fn lock_waits(health: &Health) -> Check {
    match health.waits.iter().max_by_key(|wait| wait.waiting_ms) {
        None => Check::ok("locks", "nobody waits for one"),
        Some(longest) => {
            let waited = age(Duration::from_millis(u64::try_from(longest.waiting_ms).unwrap_or(0)));
            Check::warn("locks", format!("{} sessions wait, the longest for {waited}", health.waits.len()))
                .hint(format!("it waits for pid {} ({})", longest.blocked_by, longest.blocker_application))
        }
    }
}

pub(super) fn clock(apart: Duration, round_trip: Duration) -> Check {
    let words = format!("{} apart, round trip {}", wait(apart), wait(round_trip));
    if apart > CLOCKS_APART + round_trip {
        Check::warn("clock", format!("{words}; leases and due times go by the database's clock all the same"))
            .hint("synchronise this host's or the server's clock")
    } else {
        Check::ok("clock", words)
    }
}

pub(super) fn behind_pooler() -> Check {
    Check::warn("notifications", "a pooler in transaction mode is in between: workers poll and are not woken")
        .hint("a direct address for workers starts tasks at once; with the pooler keep --poll short")
}

pub(super) fn delivered(took: Duration) -> Check {
    Check::ok("notifications", format!("delivered within {}", wait(took)))
}

pub(super) fn undelivered(within: Duration) -> Check {
    Check::warn(
        "notifications",
        format!("none was delivered within {}: workers poll and are not woken", age(within)),
    )
    .hint("a pooler may accept LISTEN and drop what comes; on a replica nothing can be announced")
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
