//! Servers that are ill in one way each.

use super::super::Level;
use super::*;
use crate::domain::observed::{LockWait, OldTransaction};

fn healthy() -> Health {
    Health {
        read_at: jiff::Timestamp::UNIX_EPOCH,
        server_version: "15.18".to_owned(),
        database: "jobs".to_owned(),
        role: "app".to_owned(),
        is_replica: false,
        is_read_only: false,
        isolation: "read committed".to_owned(),
        connections: 10,
        max_connections: 100,
        ours: 3,
        oldest_transaction: None,
        dead_rows: 12,
        waits: Vec::new(),
    }
}

fn facts(version_num: i32, encoding: &str) -> ServerFacts {
    ServerFacts { version_num, encoding: encoding.to_owned() }
}

#[test]
fn versions_and_encodings() {
    assert_eq!(version(&facts(130_011, "UTF8")).level, Level::Fail);
    assert_eq!(version(&facts(140_000, "UTF8")).level, Level::Ok);
    assert_eq!(version(&facts(180_003, "UTF8")).message, "PostgreSQL 18.3");
    assert_eq!(version(&facts(190_000, "UTF8")).level, Level::Warn);
    assert_eq!(encoding(&facts(150_000, "SQL_ASCII")).level, Level::Fail);
}

#[test]
fn a_healthy_server_has_nothing_to_mend() {
    let health = healthy();
    for check in [
        isolation(&health),
        writable(&health, Access::ReadWrite),
        connections(&health, &Limits::default()),
        oldest_transaction(&health),
        dead_rows(&health),
        lock_waits(&health),
        clock(Duration::from_millis(3), Duration::from_millis(5)),
    ] {
        assert_eq!((check.level, &check.hint), (Level::Ok, &None), "{check:?}");
    }
}

#[test]
fn every_illness_is_told_with_its_cure() {
    let old = OldTransaction {
        pid: 7,
        open_ms: 3_600_000,
        role: "bob".to_owned(),
        application: "psql".to_owned(),
        state: "idle in transaction".to_owned(),
    };
    let waiting = LockWait {
        pid: 8,
        application: "taskdeck".to_owned(),
        waiting_ms: 4_000,
        blocked_by: 7,
        blocker_application: "psql".to_owned(),
        lock: "row".to_owned(),
    };
    let ill = Health {
        isolation: "serializable".to_owned(),
        is_replica: true,
        connections: 95,
        oldest_transaction: Some(old),
        dead_rows: 5_000_000,
        waits: vec![waiting],
        ..healthy()
    };
    for check in [
        isolation(&ill),
        writable(&ill, Access::ReadWrite),
        writable(&Health { is_read_only: true, ..healthy() }, Access::ReadWrite),
        connections(&ill, &Limits::default()),
        oldest_transaction(&ill),
        dead_rows(&ill),
        lock_waits(&ill),
        clock(Duration::from_mins(10), Duration::from_millis(5)),
        behind_pooler(),
        undelivered(Duration::from_secs(3)),
    ] {
        assert!(check.level == Level::Warn && check.hint.is_some(), "{check:?}");
    }
    assert_eq!(writable(&Health { is_read_only: true, ..healthy() }, Access::ReadOnly).level, Level::Ok);
    assert!(oldest_transaction(&ill).hint.is_some_and(|hint| hint.contains("pg_terminate_backend(7)")));
}

#[test]
fn rights_are_told_by_what_they_are_for() {
    let right = |table, privilege, needed_to, granted| Privilege { table, privilege, needed_to, granted };
    let with = |look, operate, work| {
        privileges(&[
            right("tasks", "SELECT", NeededTo::Look, look),
            right("tasks", "UPDATE", NeededTo::Operate, operate),
            right("queues", "UPDATE", NeededTo::Direct, operate),
            right("instances", "INSERT", NeededTo::Work, work),
        ])
    };
    assert_eq!(with(Some(true), Some(true), Some(true)).level, Level::Ok);
    assert_eq!(
        with(Some(true), Some(true), Some(false)).message,
        "this role may look, submit and decide, pause queues and stop workers; not work: it lacks INSERT on instances"
    );
    assert_eq!(
        with(Some(true), Some(false), Some(true)).message,
        "this role may look, work; not submit and decide: it lacks UPDATE on tasks; not pause queues and stop workers: \
         it lacks UPDATE on queues"
    );
    assert_eq!(with(None, Some(true), Some(true)).level, Level::Fail);
}
