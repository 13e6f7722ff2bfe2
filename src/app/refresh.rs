//! When what is read: every second while it is shown and answered, later and later while it is not.
//!
//! The overview is the probe of the link: it is read on every screen. While the link gives no answer nothing
//! else is asked, so that an outage costs one attempt at a time.

use std::time::Duration;

use super::bulk::Look;
use super::detail::Follows;
use super::effect::{Effect, Read};
use super::link::Link;
use super::state::{Screen, State};

/// How often what is shown is read again.
pub const PERIOD: Duration = Duration::from_secs(1);

/// The longest wait between two attempts.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(10);

/// How long the cursor rests on a row before it is read for the detail pane.
pub const REST: Duration = Duration::from_millis(120);

/// NOTIFY may come with every change: reads that it wakes keep this distance.
const WAKE_DISTANCE: Duration = Duration::from_millis(250);

/// The root's own deadlines answer long before; this only heals an answer that never comes.
const LOST: Duration = Duration::from_mins(2);

/// When each kind of read is due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refresh {
    pub(super) list: Slot,
    pub(super) overview: Slot,
    pub(super) detail: Slot,
    pub(super) instances: Slot,
    pub(super) queues: Slot,
    pub(super) limits: Slot,
    pub(super) health: Slot,
    pub(super) figures: Slot,
}

/// One kind of read: at most one is in flight.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Slot {
    /// Since when one is in flight.
    pub(super) in_flight: Option<Duration>,
    /// When the next one is due, since the program's start.
    pub(super) due: Duration,
    /// How many failed in a row.
    pub(super) failures: u32,
    /// When the latest one was asked for.
    asked: Option<Duration>,
}

impl Slot {
    /// Asks for it now, whatever is in flight: the question is another one.
    pub(super) fn now(&mut self, now: Duration) {
        self.in_flight = None;
        self.due = now;
    }

    /// Asks for it as soon as what is in flight is answered, at once if nothing is.
    pub(super) fn soon(&mut self, now: Duration) {
        self.due = self.due.min(now);
    }

    fn wake(&mut self, now: Duration) {
        let earliest = self.asked.map_or(now, |asked| asked + WAKE_DISTANCE);
        self.due = self.due.min(earliest.max(now));
    }

    pub(super) fn answered(&mut self, now: Duration) {
        let took = self.in_flight.take().map_or(Duration::ZERO, |asked| now.saturating_sub(asked));
        self.failures = 0;
        // What answers slowly is not asked back to back.
        self.due = self.due.max(now + took.min(LONGEST_BACKOFF) / 2);
    }

    pub(super) fn failed(&mut self, now: Duration) {
        self.in_flight = None;
        self.failures = self.failures.saturating_add(1);
        self.due = now + backoff(self.failures);
    }

    /// Takes the question, if it is due and none is in flight.
    fn take(&mut self, now: Duration) -> bool {
        let lost = self.in_flight.is_some_and(|asked| now.saturating_sub(asked) > LOST);
        if (self.in_flight.is_some() && !lost) || self.due > now {
            return false;
        }
        self.in_flight = Some(now);
        self.asked = Some(now);
        // A wake or a refresh that comes while the question is under way pulls this nearer again.
        self.due = now + PERIOD;
        true
    }
}

/// The wait after so many failures in a row: 1, 2, 4, 8, 10, 10, … seconds.
pub const fn backoff(failures: u32) -> Duration {
    let seconds = match failures {
        0 | 1 => 1,
        2 => 2,
        3 => 4,
        4 => 8,
        _ => LONGEST_BACKOFF.as_secs(),
    };
    Duration::from_secs(seconds)
}

/// How long the root may wait before the next `Tick`: until something is due or an age on screen changes.
pub fn next_wake(state: &State) -> Duration {
    let now = state.now;
    let next_second = Duration::from_secs(now.as_secs() + 1);
    let refresh = &state.refresh;
    let shown = shown(state);
    let slots = [
        (true, &refresh.overview),
        (shown.list, &refresh.list),
        (shown.workers, &refresh.instances),
        (shown.workers, &refresh.queues),
        (shown.workers, &refresh.limits),
        (shown.database, &refresh.health),
        (shown.database, &refresh.figures),
        (shown.list && state.detail.wants_read(state), &refresh.detail),
    ];
    slots
        .into_iter()
        .filter(|(shown, slot)| *shown && slot.in_flight.is_none() && slot.due > now)
        .map(|(_, slot)| slot.due)
        .chain(state.notice.as_ref().map(|notice| notice.until))
        .chain((state.since(state.detail.target_since) < REST).then(|| state.detail.target_since + REST))
        .fold(next_second, Duration::min)
        .saturating_sub(now)
        .max(Duration::from_millis(10))
}

#[derive(Clone, Copy)]
struct Shown {
    list: bool,
    workers: bool,
    database: bool,
}

fn shown(state: &State) -> Shown {
    let link_up = !matches!(state.link, Link::NoAnswer { .. });
    let on = |screen| link_up && state.screen == screen;
    Shown { list: on(Screen::Tasks), workers: on(Screen::Workers), database: on(Screen::Database) }
}

/// Asks for what is due.
pub(super) fn ask(state: &mut State, effects: &mut Vec<Effect>) {
    let now = state.now;
    let shown = shown(state);
    let mut read = |read| effects.push(Effect::Read(read));
    if let Some(Look { number: look, kind, filter }) = state.bulk.wanted.take() {
        read(Read::Matching { look, kind, filter });
    }
    if state.refresh.overview.take(now) {
        read(Read::Overview);
    }
    if shown.list && state.refresh.list.take(now) {
        let list = &state.list;
        read(Read::List {
            generation: list.generation,
            filter: list.filter.clone(),
            before: list.before,
            limit: list.limit,
        });
    }
    if shown.list
        && state.detail.wants_read(state)
        && let Some(id) = state.detail.target
        && state.refresh.detail.take(now)
    {
        read(Read::Detail { id, tenant: state.list.filter.tenant.clone() });
    }
    if shown.workers && state.refresh.instances.take(now) {
        read(Read::Instances);
    }
    if shown.workers && state.refresh.queues.take(now) {
        read(Read::Queues);
    }
    if shown.workers && state.refresh.limits.take(now) {
        read(Read::Limits);
    }
    if shown.database && state.refresh.health.take(now) {
        read(Read::Health);
    }
    if state.screen == Screen::Database && state.refresh.figures.take(now) {
        read(Read::Figures);
    }
}

impl State {
    /// Reads everything that is shown as soon as possible: the database told of a change.
    pub(super) fn wake(&mut self) {
        let now = self.now;
        for slot in [&mut self.refresh.list, &mut self.refresh.overview, &mut self.refresh.instances] {
            if slot.failures == 0 {
                slot.wake(now);
            }
        }
    }

    /// Reads everything that is shown at once: the operator asked, or something was just written.
    pub(super) fn refresh_now(&mut self) {
        self.refresh.overview.soon(self.now);
        self.refresh_rows();
    }

    /// Reads at once what is shown besides the overview.
    pub(super) fn refresh_rows(&mut self) {
        let now = self.now;
        let refresh = &mut self.refresh;
        for slot in [
            &mut refresh.list,
            &mut refresh.detail,
            &mut refresh.instances,
            &mut refresh.queues,
            &mut refresh.limits,
            &mut refresh.health,
            &mut refresh.figures,
        ] {
            slot.soon(now);
        }
        self.detail.stale = true;
    }
}

impl super::detail::Detail {
    /// Whether the target is to be read: it is another one, its row changed, the latest read failed, or no list
    /// tells of its changes.
    pub(super) fn wants_read(&self, state: &State) -> bool {
        let Some(id) = self.target else { return false };
        let rested = self.follows == Follows::Number || state.since(self.target_since) >= REST;
        let row = state.list.task(id).map(|task| task.version);
        let known = self.current().map(|read| read.found.as_ref().map(|found| found.task.version));
        let changed = match (known, row) {
            (Some(version), Some(row)) => version.is_none_or(|version| version < row),
            // Nothing was read of it yet, or no row of the list tells when it changes.
            (None, _) | (Some(_), None) => true,
        };
        rested && (changed || self.stale || self.failure.is_some())
    }
}
