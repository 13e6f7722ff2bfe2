//! Kills, freezes and drains workers.

use std::sync::Arc;

use rustix::process::Signal;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinSet;

use crate::fleet::{By, Fleet, Member, signal_groups};
use crate::plan::{Deck, millis};
use crate::stage::Stage;

#[derive(Debug, Clone, Copy)]
enum Act {
    /// The process only: what it runs goes on to its end while others take the task back.
    KillAlone,
    /// With what it runs, as when a machine stops.
    KillAll,
    /// The process only.
    FreezeAlone,
    /// With what it runs.
    FreezeAll,
    Drain,
}

/// Does it until the faults are over; then nobody is frozen or missing any more.
pub(crate) async fn run(stage: Arc<Stage>, fleet: Arc<Fleet>) {
    let mut dice = stage.plan.dice("workers");
    let mut deck = Deck::new(&[
        Act::KillAlone,
        Act::KillAlone,
        Act::KillAll,
        Act::KillAll,
        Act::FreezeAlone,
        Act::FreezeAll,
        Act::Drain,
    ]);
    let mut under_way = JoinSet::new();
    while stage.pause(millis(&mut dice, 200, 800)).await {
        if let Some(member) = fleet.pick(&mut dice) {
            let act = deck.deal(&mut dice);
            // Longer than the lease, mostly.
            let frozen = millis(&mut dice, 1_500, 4_000);
            under_way.spawn(strike(Arc::clone(&stage), Arc::clone(&fleet), member, act, frozen));
        }
    }
    while let Some(done) = under_way.join_next().await {
        done.expect("nobody panics while workers are struck");
    }
}

async fn strike(
    stage: Arc<Stage>,
    fleet: Arc<Fleet>,
    mut member: OwnedMutexGuard<Member>,
    act: Act,
    frozen: std::time::Duration,
) {
    let who = format!("{} ({})", member.name, member.pid().as_raw_nonzero());
    match act {
        Act::KillAlone => {
            stage.note("kill -9 of a worker", who);
            member.signal(Signal::KILL);
        }
        Act::KillAll => {
            stage.note("kill -9 of a worker and what it runs", who);
            // Stopped first, so that it begins nothing more and sees none of them die.
            member.signal(Signal::STOP);
            let groups = member.groups();
            member.signal(Signal::KILL);
            signal_groups(&groups, Signal::KILL);
        }
        Act::FreezeAlone | Act::FreezeAll => {
            let all = matches!(act, Act::FreezeAll);
            let kind = if all { "SIGSTOP of a worker and what it runs" } else { "SIGSTOP of a worker" };
            stage.note(kind, format!("{who} for {frozen:?}"));
            member.signal(Signal::STOP);
            let groups = if all { member.groups() } else { Vec::new() };
            fleet.freeze(&groups);
            tokio::time::sleep(frozen).await;
            signal_groups(&groups, Signal::CONT);
            member.signal(Signal::CONT);
            return;
        }
        Act::Drain => {
            member.signal(Signal::TERM);
            let code = fleet.ended(&mut member, By::Drain).await;
            stage.note("SIGTERM of a worker", format!("{who}, exit {code:?}"));
            fleet.start_again(&mut member);
            return;
        }
    }
    fleet.ended(&mut member, By::Kill).await;
    fleet.start_again(&mut member);
}
