//! The moments in which instances are asked to stop.

use taskdeck::app::message::{Confirmed, WorkersEnded};
use taskdeck::app::{Effect, Message, RequestId};
use taskdeck::domain::observed::LocalWorkers;
use taskdeck::domain::outcome::{StopAnswer, StopVerdict, Stopping};
use taskdeck::domain::{Instance, InstanceState, StopMode};

use crate::fixtures::{by_bob, fleet, instances, local};
use crate::scenes::with;
use crate::world::{HERE, WEB2, WEB3, World, instance};

/// Screen 2 while others are asked, with the cursor so many rows down.
fn on_row(row: usize) -> World {
    with(World::busy(), |world| {
        world.press("2").send(Message::InstancesLoaded(fleet()));
        for _ in 0..row {
            world.press("j");
        }
    })
}

pub(crate) fn workers_asked() -> World {
    on_row(1)
}

pub(crate) fn workers_lost() -> World {
    on_row(5)
}

/// Three quiet instances, the cursor on the second, which works.
fn quiet() -> World {
    with(World::busy(), |world| {
        let quiet = instances().into_iter().map(|one| match one.state {
            InstanceState::Draining => Instance { state: InstanceState::Working, ..one },
            _ => one,
        });
        world.press("2").send(Message::InstancesLoaded(quiet.collect())).press("j");
    })
}

pub(crate) fn stop_question() -> World {
    with(quiet(), |world| {
        world.press("d");
    })
}

pub(crate) fn stop_question_cancel() -> World {
    with(stop_question(), |world| {
        world.press("c i");
        world.send(Message::Paste("kernel update".to_owned()));
    })
}

pub(crate) fn stop_question_here() -> World {
    with(quiet(), |world| {
        world.press("k d");
    })
}

pub(crate) fn stop_question_moved() -> World {
    with(stop_question(), |world| {
        world.send(Message::InstancesLoaded(fleet()));
    })
}

pub(crate) fn workers_asking() -> World {
    with(stop_question(), |world| {
        world.press("y");
    })
}

pub(crate) fn stop_all() -> World {
    with(on_row(0), |world| {
        world.press(": s t o p space - - a l l enter");
    })
}

/// The number under which the latest request was sent.
fn request(world: &World) -> RequestId {
    let sent = world.effects.iter().rev().find_map(|effect| match effect {
        Effect::Stop { request, .. } => Some(*request),
        _ => None,
    });
    sent.expect("a request that was sent")
}

pub(crate) fn stop_conflict() -> World {
    with(workers_asking(), |world| {
        let now = Stopping {
            id: instance(WEB2),
            label: "web2:991".to_owned(),
            state: InstanceState::Working,
            lease_past: false,
            stop_version: 1,
            stop: Some(by_bob(StopMode::Drain, 3, Some("kernel update"))),
        };
        let instances = vec![(now.id, StopVerdict::Conflict { instance: now })];
        let answer =
            StopAnswer { mode: StopMode::Drain, instances, resolved_from_unknown: false, retries: 0 };
        let request = request(world);
        world.send(Message::StopAnswered { request, result: Ok(answer) });
    })
}

/// This process's workers while they do what bob asked.
fn asked_here() -> LocalWorkers {
    let mut workers = local();
    workers.state = InstanceState::Draining;
    workers.running.truncate(2);
    workers.buffered = 0;
    workers.asked_to_stop = Some(by_bob(StopMode::Drain, 4, Some("kernel update")));
    workers
}

pub(crate) fn workers_here_asked() -> World {
    with(on_row(0), |world| {
        let mut all = fleet();
        all[0].state = InstanceState::Draining;
        all[0].stop = asked_here().asked_to_stop;
        world.send(Message::InstancesLoaded(all)).send(Message::Local(asked_here()));
    })
}

pub(crate) fn shutdown_asked() -> World {
    with(World::busy(), |world| {
        world.send(Message::Local(asked_here())).press("q");
    })
}

pub(crate) fn workers_ended() -> World {
    with(workers_here_asked(), |world| {
        let asked = asked_here().asked_to_stop;
        world.send(Message::WorkersEnded(WorkersEnded {
            asked: asked.clone(),
            left: Vec::new(),
            unanswered: Vec::new(),
            confirmed: Confirmed::Yes,
        }));
        let watching = LocalWorkers {
            instance: instance(WEB3 + 40),
            state: InstanceState::Watching,
            slots: 0,
            running: Vec::new(),
            buffered: 0,
            asked_to_stop: None,
            ..local()
        };
        let own = Instance {
            id: watching.instance,
            state: InstanceState::Watching,
            slots: 0,
            running: 0,
            in_flight: Vec::new(),
            ..instances().remove(0)
        };
        let mut all = fleet();
        let ended = Instance {
            id: instance(HERE),
            state: InstanceState::Stopped,
            running: 0,
            stop: asked,
            ..all.remove(0)
        };
        all.extend([own, ended]);
        world.send(Message::Local(watching)).send(Message::InstancesLoaded(all)).press("g");
    })
}
