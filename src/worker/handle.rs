//! How a root starts a worker and ends it.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::analyser::Analyser;
use super::closing::{self, Ended};
use super::config::Config;
use super::event::{Events, Part, Shutdown};
use super::finisher::{self, Lane};
use super::hearing::Heard;
use super::shared::{Core, Phase};
use super::supervise::keep;
use super::{claimer, heart, hook, slots, watchers};
use crate::db::Db;
use crate::domain::observed::LocalWorkers;

/// Starts workers.
#[derive(Debug, Clone, Copy)]
pub struct Worker;

/// A worker that runs. Dropping it leaves at once, as [`WorkerHandle::leave`] does.
#[derive(Debug)]
pub struct WorkerHandle {
    core: Arc<Core>,
    ended: watch::Receiver<Option<Ended>>,
    conductor: JoinHandle<()>,
}

impl Worker {
    /// Begins a new instance that claims, runs and commits until it is shut down; with no workers it only watches
    /// and recovers. It returns at once: that the database does not answer yet is told as an event.
    ///
    /// Must be called within a tokio runtime.
    pub fn start(db: Db, config: Config, analyser: Arc<dyn Analyser>, events: Events) -> WorkerHandle {
        let core = Arc::new(Core::new(db, config, analyser, events));
        let mut parts = JoinSet::new();
        keep(&mut parts, &core, Part::Heart, heart::run);
        keep(&mut parts, &core, Part::Recovery, watchers::recovery);
        keep(&mut parts, &core, Part::View, watchers::view);
        keep(&mut parts, &core, Part::Listener, watchers::listener);
        if core.config.workers == 0 {
            core.claims_ended.set();
        } else {
            keep(&mut parts, &core, Part::Claims, claimer::run);
            keep(&mut parts, &core, Part::Cancels, watchers::cancels);
            for lane in [Lane::Successes, Lane::Others, Lane::Releases] {
                keep(&mut parts, &core, lane.part(), move |core| finisher::run(core, lane));
            }
            for slot in 0..core.config.workers {
                keep(&mut parts, &core, Part::Slots, move |core| slots::run(core, slot));
            }
        }
        if let Some(hook) = core.config.hook.clone() {
            keep(&mut parts, &core, Part::Deliveries, move |core| hook::run(core, hook.clone()));
        } else {
            core.deliveries_ended.set();
        }
        let (tell, ended) = watch::channel(None);
        let conductor = tokio::spawn({
            let core = Arc::clone(&core);
            async move {
                let ended = closing::run(core, parts).await;
                tell.send_replace(Some(ended));
            }
        });
        WorkerHandle { core, ended, conductor }
    }
}

impl WorkerHandle {
    /// Shuts down; a graver mode than the present one replaces it, a milder one changes nothing. A drain becomes a
    /// cancel when the grace time has passed. [`WorkerHandle::ended`] tells when it is done.
    pub fn shutdown(&self, mode: Shutdown) {
        self.core.advance(Phase::from(mode));
    }

    /// Ends at once, without waiting for anything: programs that run are killed, and the tasks that are returned
    /// stay RUNNING until the lease passes.
    pub fn leave(&self) -> Ended {
        let left = closing::left(&self.core);
        self.core.advance(Phase::Leaving);
        left
    }

    /// Waits until the worker has ended: after a shutdown nothing of it runs any more.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        let told = ended.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
        // If it ended without a word (the runtime is going down) then what it holds is left.
        told.unwrap_or_else(|| closing::left(&self.core))
    }

    /// What the worker does, as it changes.
    pub fn local(&self) -> watch::Receiver<LocalWorkers> {
        self.core.local.subscribe()
    }

    /// What the listening connection hears, for whoever shows what the tables hold.
    pub fn heard(&self) -> watch::Receiver<Heard> {
        self.core.heard.subscribe()
    }

    /// How many events were lost because nobody took them in time.
    pub fn missed_events(&self) -> u64 {
        self.core.events.missed()
    }

    /// Looks for something to claim now, without waiting for a wake-up or the next poll.
    pub fn wake(&self) {
        self.core.bells.work.notify_one();
        self.core.bells.cancels.notify_one();
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.core.advance(Phase::Leaving);
        self.conductor.abort();
    }
}
