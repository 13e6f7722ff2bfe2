//! A console for tests: messages in, effects out, at times that the test chooses.

use std::time::Duration;

use jiff::Timestamp;

use super::effect::{Effect, Read, RequestId};
use super::keys::{Key, KeyCode, Keymap};
use super::message::{Message, Target};
use super::state::{Access, FirstStart, Screen, Session, Setup, State};
use super::update;
use crate::domain::instance::InFlight;
use crate::domain::observed::{Filter, Listed, LocalWorkers, Overview, Page, SlotRun, Tallies};
use crate::domain::outcome::{Decided, TaskHistory, Verdict};
use crate::domain::{
    Approval, DecisionKind, Instance, InstanceId, InstanceState, LastChange, Name, Seen, Status, StopMode,
    StopRequest, Task, TaskId, TextCounts,
};

pub(super) struct Console {
    pub(super) state: State,
    pub(super) now: Duration,
    /// Whether what is sent is drawn before the next message.
    pub(super) line: Line,
}

/// Whether frames reach the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// They do, after every message.
    Open,
    /// They do not.
    Stalled,
}

pub(super) fn setup() -> Setup {
    Setup {
        session: Session {
            database: "app@db1/jobs".into(),
            database_short: "db1/jobs".into(),
            server: None,
            operator: "alice".into(),
            access: Access::ReadWrite,
            decide_denied: None,
            submit_denied: None,
            stop_denied: None,
            queues_denied: None,
            workers: 2,
            grace: Duration::from_secs(30),
            max_input_bytes: 1000,
            approval: Approval::Anybody,
            notify: false,
            tenant: Name::default_name(),
            queue: Name::default_name(),
            max_attempts: 3,
        },
        keymap: Keymap::default(),
        filter: Filter::default(),
        first_start: FirstStart::No,
    }
}

impl Console {
    pub(super) fn new() -> Self {
        Self { state: State::new(setup()), now: Duration::ZERO, line: Line::Open }
    }

    /// A console that has read this page and an overview.
    pub(super) fn with(page: Page) -> Self {
        let mut console = Self::new();
        console.send(Message::Tick);
        console.send(Message::OverviewLoaded(overview()));
        console.load(page);
        console
    }

    pub(super) fn at(&mut self, seconds: f64) -> &mut Self {
        self.now = Duration::from_secs_f64(seconds);
        self
    }

    pub(super) fn send(&mut self, message: Message) -> Vec<Effect> {
        let mut effects = update(&mut self.state, self.now, message);
        if self.line == Line::Open {
            let frame = self.frame();
            effects.extend(update(&mut self.state, self.now, frame));
        }
        effects
    }

    /// What a frame of the state as it is tells: the visible rows, and on screen 1 the detail pane.
    pub(super) fn frame(&self) -> Message {
        if self.state.screen == Screen::Workers {
            let rows = self.state.instances.read.iter().flat_map(|read| &read.value);
            let rows = rows.take(self.state.viewport.list_rows).enumerate();
            let queues = self.state.queues.read.iter().flat_map(|read| &read.value).enumerate();
            let queues = queues.map(|(at, _)| Target::Queue(at));
            return Message::Drawn(rows.map(|(at, _)| Target::Instance(at)).chain(queues).collect());
        }
        let list = &self.state.list;
        let rows = list.rows.iter().skip(list.offset).take(self.state.viewport.list_rows);
        Message::Drawn(rows.map(|row| Target::Task(row.id())).chain([Target::Detail]).collect())
    }

    pub(super) fn load(&mut self, page: Page) -> Vec<Effect> {
        self.send(Message::ListLoaded { generation: self.state.list.generation, page })
    }

    /// Presses keys as they are named, with enough time between them not to be a key held down. Reads are left
    /// out of what comes back.
    pub(super) fn press(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in keys.split(' ') {
            self.now += Duration::from_millis(800);
            let key: Key = key.parse().expect(key);
            effects.extend(self.send(Message::Key(key)));
        }
        effects.retain(|effect| !matches!(effect, Effect::Read(_)));
        effects
    }

    pub(super) fn notice(&self) -> &str {
        self.state.notice.as_ref().map_or("", |notice| &notice.text)
    }

    /// Screen 2 with these instances.
    pub(super) fn fleet(instances: Vec<Instance>) -> Self {
        let mut console = Self::with(page([]));
        console.send(Message::Local(local(InstanceState::Working, &[])));
        console.press("2");
        console.send(Message::InstancesLoaded(instances));
        console
    }

    pub(super) fn decided(
        &mut self,
        request: u64,
        kind: DecisionKind,
        rows: Vec<(i64, Verdict)>,
    ) -> Vec<Effect> {
        let rows = rows.into_iter().map(|(id, verdict)| (TaskId(id), verdict)).collect();
        let result = Ok(Decided { kind, rows, resolved_from_unknown: false, retries: 0 });
        self.send(Message::Decided { request: RequestId(request), result })
    }
}

pub(super) fn reads(effects: &[Effect]) -> Vec<&Read> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Read(read) => Some(read),
            _ => None,
        })
        .collect()
}

pub(super) fn clock(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).expect("in range")
}

pub(super) fn task(id: i64) -> Task {
    Task {
        id: TaskId(id),
        tenant: "default".into(),
        queue: "default".into(),
        status: Status::Queued,
        version: 0,
        attempt: 0,
        max_attempts: 3,
        claim_no: 0,
        claimed_by: None,
        worker: None,
        cancel_requested: false,
        priority: 0,
        input: "hello".into(),
        input_bytes: 5,
        submitted_by: Some("alice".into()),
        approval: Approval::Anybody,
        counts: TextCounts::default(),
        output: None,
        error: None,
        created_at: clock(-60),
        scheduled_at: clock(-60),
        started_at: None,
        finished_at: None,
    }
}

pub(super) fn seen(id: i64, version: i64) -> Seen {
    Seen { id: TaskId(id), version }
}

pub(super) fn page(tasks: impl IntoIterator<Item = Task>) -> Page {
    let mut rows: Vec<_> = tasks.into_iter().map(|task| Listed::Task(Box::new(task))).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.id()));
    Page { rows, next_before: None, read_at: clock(0) }
}

pub(super) fn history(task: Task) -> TaskHistory {
    TaskHistory { task, events: Vec::new() }
}

pub(super) fn overview() -> Overview {
    Overview {
        read_at: clock(0),
        tallies: Tallies::default(),
        oldest_due: None,
        done_per_s: 1.0,
        failed_per_min: 0.0,
        alive_instances: 1,
        outbox: None,
        lost_instances: 0,
    }
}

pub(super) fn local(state: InstanceState, running: &[i64]) -> LocalWorkers {
    LocalWorkers {
        instance: InstanceId(uuid::Uuid::nil()),
        state,
        slots: 2,
        running: running
            .iter()
            .enumerate()
            .map(|(at, id)| SlotRun {
                slot: at + 1,
                id: TaskId(*id),
                claim_no: 1,
                for_: Duration::from_secs(16),
                doing: "counting".into(),
                cancel_requested: false,
                finishing: false,
            })
            .collect(),
        buffered: 0,
        asked_to_stop: None,
        lease_left: Duration::from_secs(27),
        trouble: None,
        lost: None,
    }
}

/// A worker without a terminal on a host of this name that runs two tasks.
pub(super) fn process(number: u128, host: &str, state: InstanceState) -> Instance {
    let flight =
        |id| InFlight { id: TaskId(id), claim_no: 1, cancel_requested: false, status: Status::Running };
    Instance {
        id: InstanceId(uuid::Uuid::from_u128(number)),
        host: host.into(),
        pid: 991,
        version: "0.1.0".into(),
        kind: "headless".into(),
        operator: "carol".into(),
        queues: vec!["default".into()],
        slots: 4,
        state,
        started_at: clock(-60),
        heartbeat_at: clock(-2),
        lease_left_s: 25.0,
        done_total: 3,
        failed_total: 0,
        done_per_s: 0.0,
        failed_per_min: 0.0,
        claims_per_s: 0.0,
        recovered: 0,
        recovered_tasks: Vec::new(),
        stop_version: 0,
        stop: None,
        in_flight: vec![flight(7), flight(9)],
        running: 2,
        of_other_tenants: 0,
    }
}

/// The same, asked to stop by bob four seconds ago.
pub(super) fn asked(mode: StopMode, instance: Instance) -> Instance {
    let stop = StopRequest { mode, by: "bob".into(), at: clock(-4), reason: Some("kernel".into()) };
    Instance { stop_version: instance.stop_version + 1, stop: Some(stop), ..instance }
}

pub(super) fn change(actor: &str, movement: &str, version_after: i64, reason: Option<&str>) -> LastChange {
    LastChange {
        actor: actor.into(),
        process: None,
        movement: movement.into(),
        at: clock(-2),
        ago_ms: 2_000,
        version_after,
        reason: reason.map(str::to_owned),
    }
}

pub(super) const ESC: Key = Key::plain(KeyCode::Esc);
