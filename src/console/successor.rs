//! What follows workers that ended although this process goes on, since somebody asked them to stop: an instance that
//! only watches, so that the console still listens and takes back what others lose.

use super::Workers;
use crate::db::Db;
use crate::worker::{Config, Events, Worker, WorkerHandle};

/// Begins the watching instance; there is one at most, as nobody can ask it to stop.
#[derive(Debug)]
pub(super) struct Successor {
    workers: Workers,
    events: Events,
}

impl Successor {
    /// For workers of this kind; none where they only watch already.
    pub(super) fn of(workers: &Workers, events: &Events) -> Option<Self> {
        let Workers { config, analyser } = workers;
        let watching = Config { workers: 0, ..config.clone() };
        (config.workers > 0).then(|| Self {
            workers: Workers { config: watching, analyser: analyser.clone() },
            events: events.clone(),
        })
    }

    /// Begins it.
    pub(super) fn begin(self, db: &Db) -> WorkerHandle {
        let Workers { config, analyser } = self.workers;
        Worker::start(db.clone(), config, analyser, self.events)
    }
}
