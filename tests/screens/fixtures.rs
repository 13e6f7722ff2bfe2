//! Rows, figures and processes of a busy morning.

use std::time::Duration;

use jiff::SignedDuration;
use taskdeck::domain::instance::{InFlight, TakenBack};
use taskdeck::domain::observed::{
    Health, Listed, LocalWorkers, LockWait, OldTransaction, OldestDue, Overview, PoolFigures, SlotRun,
    StatementFigures, Tallies, Tally,
};
use taskdeck::domain::{
    Approval, Event, Instance, InstanceState, OperationId, Status, StopMode, StopRequest, Task, TaskId,
    TextCounts,
};
use uuid::Uuid;

use crate::world::{HERE, WEB1, WEB2, WEB3, WEB4, WEB5, ago, instance, now};

pub(crate) fn task(id: i64, status: Status, version: i64, tenant: &str, input: &str) -> Task {
    Task {
        id: TaskId(id),
        tenant: tenant.to_owned(),
        queue: "default".to_owned(),
        status,
        version,
        attempt: 1,
        max_attempts: 3,
        claim_no: 1,
        claimed_by: None,
        worker: None,
        cancel_requested: false,
        priority: 0,
        input: input.to_owned(),
        input_bytes: i64::try_from(input.len()).expect("short"),
        submitted_by: Some("alice".into()),
        approval: Approval::Anybody,
        counts: TextCounts::default(),
        output: None,
        error: None,
        created_at: ago(60),
        scheduled_at: ago(60),
        started_at: None,
        finished_at: None,
    }
}

fn queued(id: i64, version: i64, tenant: &str, age: i64, input: &str) -> Task {
    Task {
        created_at: ago(age),
        scheduled_at: ago(age),
        attempt: 0,
        claim_no: 0,
        ..task(id, Status::Queued, version, tenant, input)
    }
}

fn running(id: i64, version: i64, tenant: &str, age: i64, by: (u128, &str), input: &str) -> Task {
    Task {
        claimed_by: Some(instance(by.0)),
        worker: Some(by.1.to_owned()),
        started_at: Some(ago(age)),
        ..task(id, Status::Running, version, tenant, input)
    }
}

fn finished(id: i64, status: Status, version: i64, tenant: &str, age: i64, input: &str) -> Task {
    let counts = if status == Status::Succeeded { TextCounts::of(input) } else { TextCounts::default() };
    Task {
        created_at: ago(age + 20),
        started_at: Some(ago(age + 3)),
        finished_at: Some(ago(age)),
        counts,
        ..task(id, status, version, tenant, input)
    }
}

/// The rows of a busy morning.
pub(crate) fn rows() -> Vec<Listed> {
    let fox = "The quick brown fox jumps over the lazy dog";
    let tasks = [
        queued(48_219, 0, "billing", 1, "Quarterly report, draft two"),
        Task {
            scheduled_at: now() + SignedDuration::from_secs(5),
            attempt: 1,
            ..queued(48_218, 4, "billing", 9, "Re: Re: invoice 2231")
        },
        running(48_217, 1, "default", 2, (HERE, "ops1:4402"), "Go 语言"),
        Task {
            cancel_requested: true,
            claim_no: 2,
            attempt: 2,
            ..running(48_213, 3, "billing", 12, (WEB2, "web2:991"), fox)
        },
        Task {
            created_at: ago(240),
            ..task(48_210, Status::Submitted, 0, "legal", "Contract §4, third reading")
        },
        finished(48_209, Status::Succeeded, 2, "default", 300, "hello world"),
        Task {
            error: Some("exit 1: no such column \"amount\"".to_owned()),
            attempt: 3,
            ..finished(48_207, Status::Failed, 6, "billing", 540, "import 2026-11-29.csv")
        },
        finished(48_206, Status::Canceled, 2, "default", 660, "again"),
    ];
    let mut rows: Vec<Listed> = tasks.into_iter().map(|task| Listed::Task(Box::new(task))).collect();
    rows.push(Listed::Bad { id: TaskId(48_205), problem: "status `DONE` is not a state".to_owned() });
    for number in 0..60 {
        let id = 48_204 - number;
        let text = format!("nightly {number}");
        rows.push(Listed::Task(Box::new(finished(id, Status::Succeeded, 2, "nightly", 700 + number, &text))));
    }
    rows
}

pub(crate) fn events(task: &Task) -> Vec<Event> {
    if !task.cancel_requested {
        return Vec::new();
    }
    vec![Event {
        at: ago(4),
        actor: "bob".to_owned(),
        process: None,
        movement: "request-cancel".to_owned(),
        from: Status::Running,
        to: Status::Running,
        version_before: 2,
        version_after: 3,
        reason: Some("wrong file".to_owned()),
        operation_id: OperationId(Uuid::from_u128(7)),
    }]
}

pub(crate) fn overview(done_per_s: f64) -> Overview {
    let mut tallies = Tallies::default();
    for (status, count, estimated) in [
        (Status::Submitted, 3, false),
        (Status::Queued, 1_204, false),
        (Status::Running, 8, false),
        (Status::Succeeded, 9_812_044, true),
        (Status::Failed, 212, false),
        (Status::Canceled, 31, false),
        (Status::Rejected, 2, false),
    ] {
        tallies.set(status, Tally { count, estimated });
    }
    Overview {
        read_at: now(),
        tallies,
        oldest_due: Some(OldestDue {
            id: TaskId(48_219),
            queue: "default".to_owned(),
            waiting_ms: 3_000,
            takers: 2,
            free_slots: 1,
            paused_by: None,
            at_limit: None,
        }),
        done_per_s,
        failed_per_min: 0.0,
        alive_instances: 2,
        outbox: None,
        lost_instances: 1,
    }
}

pub(crate) fn local() -> LocalWorkers {
    let run = |slot, id, seconds, doing: &str| SlotRun {
        slot,
        id: TaskId(id),
        claim_no: 1,
        for_: Duration::from_secs(seconds),
        doing: doing.to_owned(),
        cancel_requested: false,
        finishing: false,
    };
    LocalWorkers {
        instance: instance(HERE),
        state: InstanceState::Working,
        slots: 4,
        running: vec![
            run(1, 48_217, 16, "counting"),
            run(2, 48_222, 9, "command pid 5123"),
            SlotRun { cancel_requested: true, ..run(4, 48_230, 71, "command pid 5140") },
        ],
        buffered: 2,
        asked_to_stop: None,
        lease_left: Duration::from_secs(27),
        trouble: None,
        lost: None,
    }
}

pub(crate) fn health() -> Health {
    Health {
        read_at: now(),
        server_version: "15.18".to_owned(),
        database: "jobs".to_owned(),
        role: "app".to_owned(),
        is_replica: false,
        is_read_only: false,
        isolation: "read committed".to_owned(),
        connections: 23,
        max_connections: 100,
        ours: 8,
        oldest_transaction: Some(OldTransaction {
            pid: 4_711,
            open_ms: 2_467_000,
            role: "bob".to_owned(),
            application: "psql".to_owned(),
            state: "idle in transaction".to_owned(),
        }),
        dead_rows: 1_200_000,
        waits: vec![LockWait {
            pid: 5_120,
            application: "taskdeck workers".to_owned(),
            waiting_ms: 12_000,
            blocked_by: 4_711,
            blocker_application: "psql".to_owned(),
            lock: "row".to_owned(),
        }],
    }
}

pub(crate) fn pools() -> Vec<PoolFigures> {
    let pool = |name, max, size, in_use, waiting| PoolFigures {
        name,
        max,
        size,
        in_use,
        waiting,
        wait_p50: Duration::from_micros(300),
        wait_p99: Duration::from_millis(1),
        timed_out: 0,
    };
    vec![
        pool("operator", 3, 3, 1, 0),
        PoolFigures {
            wait_p50: Duration::from_millis(18),
            wait_p99: Duration::from_millis(210),
            timed_out: 2,
            ..pool("workers", 4, 4, 4, 11)
        },
        pool("listen", 1, 1, 1, 0),
    ]
}

pub(crate) fn statements() -> Vec<StatementFigures> {
    let statement = |name, per_s, p50, p99, rows| StatementFigures {
        name,
        calls: 2_400,
        errors: 0,
        per_s,
        p50: Duration::from_micros(p50),
        p99: Duration::from_micros(p99),
        rows,
    };
    vec![
        statement("claim", 41.0, 900, 2_100, 19_200),
        statement("finish", 40.0, 1_100, 2_400, 19_190),
        StatementFigures { errors: 3, ..statement("list", 2.0, 800, 1_200, 12_044) },
        statement("heartbeat", 0.1, 600, 900, 240),
    ]
}

pub(crate) fn instances() -> Vec<Instance> {
    let flight = |id, cancel_requested| InFlight {
        id: TaskId(id),
        claim_no: 1,
        cancel_requested,
        status: Status::Running,
    };
    let base = Instance {
        id: instance(HERE),
        host: "ops1".to_owned(),
        pid: 4_402,
        version: "0.1.0".to_owned(),
        kind: "console".to_owned(),
        operator: "alice".to_owned(),
        queues: vec!["default".to_owned()],
        slots: 4,
        state: InstanceState::Working,
        started_at: ago(3_600),
        heartbeat_at: ago(2),
        lease_left_s: 28.0,
        done_total: 41_000,
        failed_total: 12,
        done_per_s: 11.8,
        failed_per_min: 0.4,
        claims_per_s: 12.0,
        recovered: 0,
        recovered_tasks: Vec::new(),
        stop_version: 0,
        stop: None,
        in_flight: vec![flight(48_217, false), flight(48_222, false), flight(48_230, true)],
        running: 3,
        of_other_tenants: 0,
    };
    vec![
        base.clone(),
        Instance {
            id: instance(WEB2),
            host: "web2".to_owned(),
            pid: 991,
            kind: "headless".to_owned(),
            state: InstanceState::Draining,
            queues: vec!["default".to_owned(), "mail".to_owned()],
            claims_per_s: 0.0,
            lease_left_s: 25.0,
            in_flight: vec![flight(48_213, true)],
            running: 1,
            ..base.clone()
        },
        Instance {
            id: instance(WEB1),
            host: "web1".to_owned(),
            pid: 873,
            kind: "headless".to_owned(),
            state: InstanceState::Lost,
            lease_left_s: -41.0,
            recovered: 2,
            recovered_tasks: vec![
                TakenBack { id: TaskId(48_190), status: Status::Queued },
                TakenBack { id: TaskId(48_191), status: Status::Canceled },
            ],
            in_flight: Vec::new(),
            running: 0,
            ..base
        },
    ]
}

/// What bob asked for, so many seconds ago.
pub(crate) fn by_bob(mode: StopMode, seconds: i64, reason: Option<&str>) -> StopRequest {
    StopRequest { mode, by: "bob".to_owned(), at: ago(seconds), reason: reason.map(str::to_owned) }
}

fn asked(of: Instance, stop: StopRequest) -> Instance {
    Instance { stop_version: of.stop_version + 1, stop: Some(stop), ..of }
}

/// The same morning while a kernel is updated: one does not listen yet, one drains, one is past its grace time, one
/// has stopped, one was lost.
pub(crate) fn fleet() -> Vec<Instance> {
    let [here, web2, web1] = <[Instance; 3]>::try_from(instances()).expect("three");
    let more = |number, host: &str, pid| Instance {
        id: instance(number),
        host: host.to_owned(),
        pid,
        stop_version: 0,
        ..web2.clone()
    };
    let why = Some("kernel update");
    let working = Instance { state: InstanceState::Working, ..more(WEB3, "web3", 12_044) };
    let late = Instance { state: InstanceState::Canceling, ..more(WEB4, "web4", 77) };
    let gone = Instance {
        state: InstanceState::Stopped,
        in_flight: Vec::new(),
        running: 0,
        ..more(WEB5, "web5", 801)
    };
    vec![
        here,
        asked(working, by_bob(StopMode::Drain, 1, why)),
        asked(web2.clone(), by_bob(StopMode::Drain, 4, why)),
        asked(late, by_bob(StopMode::Drain, 41, why)),
        asked(gone, by_bob(StopMode::Cancel, 130, None)),
        web1,
    ]
}
