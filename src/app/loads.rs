//! What arrives besides the list: overview, processes, server, this process's own workers, the link.

use super::fleet::{to, why};
use super::link::{Link, Wakes};
use super::log::{Level, Source};
use super::message::{Confirmed, FailureCause, LinkReport, ReadFailure, WorkerEvent, WorkersEnded};
use super::state::{Figures, Read, State};
use crate::domain::observed::{Health, LocalWorkers, Overview, PoolFigures, StatementFigures};
use crate::domain::{Instance, Status, TaskId};

impl State {
    pub(super) fn overview_loaded(&mut self, overview: Overview) {
        self.refresh.overview.answered(self.now);
        self.link_up();
        self.done_history.push(overview.done_per_s);
        self.failed_history.push(overview.failed_per_min);
        self.overview_failure = None;
        self.needs_draw = true;
        self.overview = Some(self.read(overview));
    }

    pub(super) fn overview_failed(&mut self, failure: ReadFailure) {
        self.refresh.overview.failed(self.now);
        self.needs_draw = true;
        match failure.cause {
            FailureCause::NoAnswer => self.no_answer(failure.message.clone()),
            FailureCause::Refused => {
                self.link_up();
                if self.overview_failure.as_ref() != Some(&failure) {
                    self.log.push(self.now, Level::Warn, Source::Link, failure.message.clone());
                }
            }
        }
        self.overview_failure = Some(failure);
    }

    pub(super) fn instances_loaded(&mut self, instances: Vec<Instance>) {
        self.refresh.instances.answered(self.now);
        self.needs_draw = true;
        self.instances.failure = None;
        self.instances.read = Some(self.read(instances));
        self.stops_seen();
        self.order_instances();
        let instances = self.instances.read.iter().flat_map(|read| &read.value);
        let mut ids = instances.map(|instance| instance.id);
        let first = ids.clone().next();
        self.instance = self.instance.filter(|id| ids.any(|other| other == *id)).or(first);
    }

    /// This process first, then those that live, then what has stopped or was lost.
    fn order_instances(&mut self) {
        let here = self.local.as_ref().map(|local| local.value.instance);
        if let Some(read) = &mut self.instances.read {
            read.value.sort_by_key(|instance| match instance.state {
                _ if Some(instance.id) == here => 0,
                state if state.is_alive() => 1,
                _ => 2,
            });
        }
    }

    pub(super) fn instances_failed(&mut self, failure: ReadFailure) {
        self.refresh.instances.failed(self.now);
        self.needs_draw |= self.instances.failure.as_ref() != Some(&failure);
        self.instances.failure = Some(failure);
    }

    pub(super) fn health_loaded(&mut self, health: Health) {
        self.refresh.health.answered(self.now);
        self.needs_draw = true;
        self.health.failure = None;
        self.health.read = Some(self.read(health));
    }

    pub(super) fn health_failed(&mut self, failure: ReadFailure) {
        self.refresh.health.failed(self.now);
        self.needs_draw |= self.health.failure.as_ref() != Some(&failure);
        self.health.failure = Some(failure);
    }

    pub(super) fn figures_loaded(&mut self, pools: Vec<PoolFigures>, statements: Vec<StatementFigures>) {
        self.refresh.figures.answered(self.now);
        self.needs_draw = true;
        self.figures = Some(self.read(Figures { pools, statements }));
    }

    pub(super) fn local_loaded(&mut self, local: LocalWorkers) {
        let before = self.local.as_ref().map(|read| &read.value);
        if let Some(trouble) = &local.trouble
            && before.and_then(|before| before.trouble.as_ref()) != Some(trouble)
        {
            self.log.push(self.now, Level::Error, Source::Workers, trouble.clone());
        }
        self.needs_draw |= before != Some(&local);
        let heard_first = self.local.is_none();
        if local.asked_to_stop.is_some() {
            self.asked_before.clone_from(&local.asked_to_stop);
        }
        let is_another = before.is_none_or(|before| before.instance != local.instance);
        let here = local.instance;
        self.local = Some(self.read(local));
        if is_another && self.instances.read.is_some() {
            // Which of the processes is this one was not known when they were read.
            self.order_instances();
        }
        if heard_first && self.instances.read.is_some() {
            let instances = self.instances.read.iter().flat_map(|read| &read.value);
            if let Some(own) = instances.map(|instance| instance.id).find(|id| *id == here) {
                self.instance = Some(own);
            }
        }
    }

    pub(super) fn worker_events(&mut self, events: Vec<WorkerEvent>, missed: u64) {
        self.needs_draw = true;
        for event in events {
            // Who is at this console must hear of it, on whatever screen.
            let is_said = matches!(event, WorkerEvent::AskedToStop { .. });
            let (level, text) = worker_line(event);
            if is_said {
                self.say_from(Source::Workers, level, text);
            } else {
                self.log.push(self.now, level, Source::Workers, text);
            }
        }
        if missed > 0 {
            let text = format!("{missed} more lines of the workers were not kept: they came too fast");
            self.log.push(self.now, Level::Warn, Source::Workers, text);
        }
    }

    /// The workers have ended and the process has not: it watches from now on.
    pub(super) fn workers_ended(&mut self, ended: WorkersEnded) {
        let well = ended.is_well();
        // Where the lease was lost meanwhile, the instance that followed knows of no request.
        let ended = WorkersEnded { asked: ended.asked.or_else(|| self.asked_before.take()), ..ended };
        let how = match &ended.asked {
            Some(request) if well => format!("have stopped, as {} asked", request.by),
            // That they have stopped is what the database says, and it did not.
            Some(request) => format!("have ended, as {} asked", request.by),
            None => "have ended unasked".to_owned(),
        };
        let mut text = format!("the workers of this process {how}; this console only watches now");
        let list = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if !ended.left.is_empty() {
            let left = list(&ended.left);
            text = format!("{text}; left RUNNING until their lease passes: {left}");
        }
        if !ended.unanswered.is_empty() {
            let unanswered = list(&ended.unanswered);
            text = format!("{text}; no answer told whether the end of these has arrived: {unanswered}");
        }
        if ended.confirmed == Confirmed::No {
            text.push_str(
                "; the database did not confirm it: what was claimed and not heard of runs again once their lease passes",
            );
        }
        let level = if ended.asked.is_some() && well { Level::Warn } else { Level::Error };
        self.say_from(Source::Workers, level, text);
        self.workers_ended = Some(ended);
        self.refresh_now();
    }

    pub(super) fn link_report(&mut self, report: LinkReport) {
        self.needs_draw = true;
        match report {
            LinkReport::Listening => self.set_wakes(Wakes::Told, "changes are told at once".to_owned()),
            LinkReport::Polling { reason } => {
                self.set_wakes(Wakes::Polled, format!("changes are seen at the next read only: {reason}"));
            }
            LinkReport::Server { server } => self.session.server = Some(server),
        }
    }

    fn set_wakes(&mut self, wakes: Wakes, text: String) {
        if self.wakes != wakes {
            let level = if wakes == Wakes::Told { Level::Info } else { Level::Warn };
            self.log.push(self.now, level, Source::Link, text);
            self.wakes = wakes;
        }
    }

    fn link_up(&mut self) {
        match std::mem::replace(&mut self.link, Link::Ok) {
            Link::Ok => {}
            Link::Connecting { .. } => {
                self.needs_draw = true;
                self.log.push(self.now, Level::Info, Source::Link, "the database answers".to_owned());
            }
            Link::NoAnswer { since, attempts, .. } => {
                let gap = crate::domain::figure::age(self.since(since));
                self.say(
                    Level::Info,
                    format!("the database answers again after {gap} ({attempts} attempts)"),
                );
                // Everything on screen is as old as the gap.
                self.refresh_rows();
                self.needs_draw = true;
            }
        }
    }

    fn no_answer(&mut self, message: String) {
        let next_try = self.refresh.overview.due;
        self.link = match &self.link {
            Link::Connecting { attempts } => Link::Connecting { attempts: attempts.saturating_add(1) },
            Link::Ok => {
                let since = self.overview.as_ref().map_or(self.now, |read| read.arrived);
                self.log.push(self.now, Level::Error, Source::Link, format!("no answer: {message}"));
                Link::NoAnswer { since, attempts: 1, next_try, message }
            }
            Link::NoAnswer { since, attempts, .. } => {
                Link::NoAnswer { since: *since, attempts: attempts.saturating_add(1), next_try, message }
            }
        };
    }

    fn read<T>(&self, value: T) -> Read<T> {
        Read { value, arrived: self.now }
    }
}

fn worker_line(event: WorkerEvent) -> (Level, String) {
    match event {
        WorkerEvent::Finished { id, status, error } => {
            let level = match status {
                Status::Failed => Level::Error,
                _ if error.is_some() => Level::Warn,
                _ => Level::Info,
            };
            let text = match (status, error) {
                (Status::Queued, Some(error)) => format!("{id} failed and will be tried again: {error}"),
                (Status::Queued, None) => format!("{id} was given back to its queue"),
                (status, Some(error)) => format!("{id} is {status}: {error}"),
                (status, None) => format!("{id} is {status}"),
            };
            (level, text)
        }
        WorkerEvent::LeaseLost { id } => (
            Level::Warn,
            format!("{id}: the result came too late, another claim is current; nothing was changed"),
        ),
        WorkerEvent::Recovered { id, status, from } => {
            (Level::Warn, format!("{id} taken back ({from}); it is {status} now"))
        }
        WorkerEvent::AskedToStop { mode, by, reason } => {
            let reason = why(reason.as_deref());
            (Level::Warn, format!("{by} asked this process {}{reason}", to(mode)))
        }
        WorkerEvent::Trouble { message } => (Level::Error, message),
    }
}
