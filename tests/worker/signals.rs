//! The root without a terminal, and its signals. One test, as signals are the whole process's.

use rustix::process::{Signal, getpid, kill_process};
use std::time::Duration;

use taskdeck::domain::{InstanceState, Status};
use taskdeck::headless::{Exit, run};
use taskdeck::signals::Signals;
use taskdeck::worker::{Cancels, Config};

use crate::rig::{config, reaches, submit, task};
use crate::support::{database, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_drain_then_cancel_then_leave() {
    let test = database().await;
    let send = |signal| kill_process(getpid(), signal).expect("a signal to oneself");
    let state = |wanted: InstanceState| {
        let test = &test;
        async move {
            until("the instance says what it does", || async {
                let instances = test.db.instances(None).await.expect("read");
                instances.iter().any(|instance| instance.state == wanted).then_some(())
            })
            .await;
        }
    };

    // A signal that was there before the start.
    let signals = Signals::install().expect("signals");
    send(Signal::TERM);
    assert_eq!(run(test.db.clone(), config(), signals).await.expect("runs"), Exit::Clean);

    // Drain, then cancel: a task that listens is CANCELED.
    let signals = Signals::install().expect("signals");
    let slow =
        Config { work_delay: Some(Duration::from_mins(10)), grace: Duration::from_mins(10), ..config() };
    let running = tokio::spawn(run(test.db.clone(), slow.clone(), signals));
    let id = submit(&test.db, "slow").await;
    reaches(&test.db, id, Status::Running).await;
    send(Signal::INT);
    state(InstanceState::Draining).await;
    assert_eq!(task(&test.db, id).await.status, Status::Running);
    send(Signal::HUP);
    assert_eq!(running.await.expect("no panic").expect("runs"), Exit::Clean);
    assert_eq!(task(&test.db, id).await.status, Status::Canceled);

    // The third leaves one that does not listen.
    let signals = Signals::install().expect("signals");
    let deaf = Config { cancels: Cancels::Ignored, ..slow };
    let running = tokio::spawn(run(test.db.clone(), deaf, signals));
    let id = submit(&test.db, "deaf").await;
    reaches(&test.db, id, Status::Running).await;
    send(Signal::TERM);
    state(InstanceState::Draining).await;
    send(Signal::TERM);
    state(InstanceState::Canceling).await;
    send(Signal::TERM);
    let exit = running.await.expect("no panic").expect("runs");
    assert_eq!((exit.code(), exit), (1, Exit::Left { tasks: vec![id] }));
    assert_eq!(task(&test.db, id).await.status, Status::Running);
}
