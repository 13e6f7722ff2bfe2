//! Everything that the console knows. The `ui` floor draws it and changes nothing.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::acts::Acts;
use super::bulk::Bulks;
use super::command::CommandHistory;
use super::conflict::Conflict;
use super::detail::Detail;
use super::drawn::DrawnRows;
use super::effect::RequestId;
use super::keys::{Key, Keymap};
use super::link::{Link, Wakes};
use super::list::TaskList;
use super::log::Log;
use super::message::Viewport;
use super::notice::Notice;
use super::overlay::Overlay;
use super::queues::QueueConflict;
use super::refresh::Refresh;
use super::shutdown::Shutdown;
use super::stop::StopConflict;
use super::submit::SubmitForm;
use crate::domain::limit::TenantLimits;
use crate::domain::observed::{Filter, Health, LocalWorkers, Overview, PoolFigures, StatementFigures};
use crate::domain::queue::Queue;
use crate::domain::{Approval, Instance, InstanceId, Name, StopRequest};

/// The state of the console.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Time since the program started, as of the latest message.
    pub now: Duration,
    /// Who works where.
    pub session: Session,
    /// Which key calls what.
    pub keymap: Keymap,
    /// The terminal's size.
    pub size: Size,
    /// Room for what scrolls.
    pub viewport: Viewport,
    /// Which screen is shown.
    pub screen: Screen,
    /// Which pane of it the keys go to.
    pub pane: Pane,
    /// What lies over the screen; the last is on top and gets the keys.
    pub overlays: Vec<Overlay>,
    /// Screen 1's list.
    pub list: TaskList,
    /// What of the rows has been on screen.
    pub drawn: DrawnRows,
    /// Screen 1's detail pane.
    pub detail: Detail,
    /// Screen 2's processes.
    pub instances: Table<Vec<Instance>>,
    /// Which of them the cursor is on.
    pub instance: Option<InstanceId>,
    /// Screen 2's queues.
    pub queues: Table<Vec<Queue>>,
    /// Which of them the cursor is on, by name.
    pub queue: Option<String>,
    /// Screen 2's tenants that have a limit.
    pub limits: Table<Vec<TenantLimits>>,
    /// Which of them the cursor is on, by name.
    pub limit: Option<String>,
    /// Which of them screen 2's keys go to.
    pub workers_pane: WorkersPane,
    /// This process's workers; none where it has none or has not heard of them yet.
    pub local: Option<Read<LocalWorkers>>,
    /// What was last asked of this process's workers, also where the instance that was asked has lost its lease.
    pub(super) asked_before: Option<StopRequest>,
    /// Screen 3's server.
    pub health: Table<Health>,
    /// Screen 3's pools and statements of this process.
    pub figures: Option<Read<Figures>>,
    /// Tallies and rates for the header.
    pub overview: Option<Read<Overview>>,
    /// Why the latest overview could not be read, if it could not.
    pub overview_failure: Option<super::message::ReadFailure>,
    /// Tasks finished per second over the last reads.
    pub done_history: History,
    /// Attempts failed per minute over the last reads.
    pub failed_history: History,
    /// Whether the database answers.
    pub link: Link,
    /// How changes are learned; in the header where the database does not tell.
    pub wakes: Wakes,
    /// Writes that are not answered yet.
    pub acts: Acts,
    /// Decisions about all that match.
    pub bulk: Bulks,
    /// Conflicts to show, the first one first; they wait while something else is open.
    pub conflicts: VecDeque<Conflict>,
    /// Requests to stop that did not reach every instance; shown after the conflicts.
    pub stop_conflicts: VecDeque<StopConflict>,
    /// Decisions about queues that changed nothing; shown after those.
    pub queue_conflicts: VecDeque<QueueConflict>,
    /// How this process's workers ended, where they did before the process.
    pub workers_ended: Option<super::message::WorkersEnded>,
    /// The text that is being written, also while its editor is closed.
    pub submit: SubmitForm,
    /// Commands that were typed.
    pub commands: CommandHistory,
    /// The line above the footer.
    pub notice: Option<Notice>,
    /// Screen 5.
    pub log: Log,
    /// How far the end of this process is, once it was asked for.
    pub shutdown: Option<Shutdown>,
    /// When what is read next.
    pub refresh: Refresh,
    /// Whether something visible changed since the root last cleared it.
    pub needs_draw: bool,
    /// Whether `Quit` or `Leave` was sent; nothing follows it.
    pub ended: bool,
    /// The number of the next write.
    pub next_request: u64,
    /// The key that answered the latest question, and when it last came: while it repeats it does nothing more.
    pub(super) answered_by: Option<(Key, Duration)>,
}

/// Where the console is when it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Who works where.
    pub session: Session,
    /// Which key calls what.
    pub keymap: Keymap,
    /// What the list shows at first.
    pub filter: Filter,
    /// Whether the schema was made just now, so that sample texts are offered.
    pub first_start: FirstStart,
}

/// Whether the database was set up by this start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstStart {
    /// It was: it holds nothing yet.
    Yes,
    /// It was there before.
    No,
}

/// Who works where; facts that the root knows at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Which database, with its role: `app@db1/jobs`, or `private server`.
    pub database: String,
    /// The same where there is little room: `db1/jobs`.
    pub database_short: String,
    /// Which server, once known: `PostgreSQL 15.18 primary`.
    pub server: Option<String>,
    /// Who decides.
    pub operator: String,
    /// Whether anything may be changed.
    pub access: Access,
    /// Why decisions are not possible for this role, where they are not.
    pub decide_denied: Option<String>,
    /// Why submitting is not possible for this role, where it is not.
    pub submit_denied: Option<String>,
    /// Why no instance may be asked to stop by this role, where none may.
    pub stop_denied: Option<String>,
    /// Why no queue may be paused or resumed by this role, where none may.
    pub queues_denied: Option<String>,
    /// This process's workers.
    pub workers: usize,
    /// How long a drain waits before it cancels.
    pub grace: Duration,
    /// The largest text that may be submitted.
    pub max_input_bytes: usize,
    /// Who may approve a held task, as this program is set up.
    pub approval: Approval,
    /// Whether what is submitted here is to be told of, as this program is set up.
    pub notify: bool,
    /// The tenant of a new task unless another is written.
    pub tenant: Name,
    /// The queue of a new task unless another is written.
    pub queue: Name,
    /// `max_attempts` of a new task.
    pub max_attempts: i32,
}

/// Whether anything may be changed in this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// It may, as far as the role may.
    ReadWrite,
    /// Nothing may.
    ReadOnly {
        /// Why: `started with --read-only`, `the server is a standby`.
        reason: String,
    },
}

/// The terminal's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Lines.
    pub height: u16,
}

/// A screen. `4 Race` does not exist in this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Screen {
    /// The tasks.
    Tasks,
    /// The processes.
    Workers,
    /// Pools, statements, the server.
    Database,
    /// Every act and its outcome.
    Log,
}

impl Screen {
    /// Every screen, in the order of the tabs.
    pub const ALL: [Self; 4] = [Self::Tasks, Self::Workers, Self::Database, Self::Log];

    /// The digit that opens it.
    pub const fn digit(self) -> char {
        match self {
            Self::Tasks => '1',
            Self::Workers => '2',
            Self::Database => '3',
            Self::Log => '5',
        }
    }

    /// Its name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tasks => "Tasks",
            Self::Workers => "Workers",
            Self::Database => "Database",
            Self::Log => "Log",
        }
    }
}

/// A pane of the Tasks screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The list.
    List,
    /// The detail; on a narrow terminal it is shown in place of the list.
    Detail,
}

/// A pane of the Workers screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkersPane {
    /// The processes.
    Instances,
    /// The queues; where there is little room it is shown in place of the processes.
    Queues,
    /// The tenants that have a limit; likewise. There only while there is one.
    Limits,
}

/// Something that was read, with when.
#[derive(Debug, Clone, PartialEq)]
pub struct Read<T> {
    /// What.
    pub value: T,
    /// When it arrived, since the program's start.
    pub arrived: Duration,
}

/// This process's own pools and statements.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Its pools.
    pub pools: Vec<PoolFigures>,
    /// Its statements.
    pub statements: Vec<StatementFigures>,
}

/// What a screen other than the first shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<T> {
    /// What was read last, if anything was.
    pub read: Option<Read<T>>,
    /// Why the latest read failed, if it did; what was read before stays.
    pub failure: Option<super::message::ReadFailure>,
    /// The first visible row.
    pub offset: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { read: None, failure: None, offset: 0 }
    }
}

/// The latest figures of a rate, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History(pub VecDeque<f64>);

impl History {
    /// How many figures are kept.
    pub const LEN: usize = 60;

    /// Adds a figure and drops the oldest where there are too many.
    pub fn push(&mut self, figure: f64) {
        if self.0.len() == Self::LEN {
            self.0.pop_front();
        }
        self.0.push_back(figure);
    }
}

impl State {
    /// The console as it starts; the first `update` asks for the first reads.
    pub fn new(setup: Setup) -> Self {
        let size = Size { width: 80, height: 24 };
        let submit = SubmitForm::new(&setup.session);
        let may_submit = setup.session.access == Access::ReadWrite && setup.session.submit_denied.is_none();
        let overlays = match setup.first_start {
            FirstStart::Yes if may_submit => vec![Overlay::FirstStart],
            FirstStart::Yes | FirstStart::No => Vec::new(),
        };
        Self {
            now: Duration::ZERO,
            session: setup.session,
            keymap: setup.keymap,
            size,
            viewport: super::frame::assumed(size),
            screen: Screen::Tasks,
            pane: Pane::List,
            overlays,
            list: TaskList::new(setup.filter),
            drawn: DrawnRows::default(),
            detail: Detail::default(),
            instances: Table::default(),
            instance: None,
            queues: Table::default(),
            queue: None,
            limits: Table::default(),
            limit: None,
            workers_pane: WorkersPane::Instances,
            local: None,
            asked_before: None,
            health: Table::default(),
            figures: None,
            overview: None,
            overview_failure: None,
            done_history: History::default(),
            failed_history: History::default(),
            link: Link::Connecting { attempts: 0 },
            wakes: Wakes::Unknown,
            acts: Acts::default(),
            bulk: Bulks::default(),
            conflicts: VecDeque::new(),
            stop_conflicts: VecDeque::new(),
            queue_conflicts: VecDeque::new(),
            workers_ended: None,
            submit,
            commands: CommandHistory::default(),
            notice: None,
            log: Log::default(),
            shutdown: None,
            refresh: Refresh::default(),
            needs_draw: true,
            ended: false,
            next_request: 1,
            answered_by: None,
        }
    }

    /// What is on top and gets the keys, if something lies over the screen.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlays.last()
    }

    /// What lies on top when help is taken away.
    pub fn below_help(&self) -> Option<&Overlay> {
        self.overlays.iter().rev().find(|overlay| !matches!(overlay, Overlay::Help { .. }))
    }

    /// How long ago something arrived.
    pub fn since(&self, arrived: Duration) -> Duration {
        self.now.saturating_sub(arrived)
    }

    /// The age now of a moment on the database's clock, seen in a read that was made at `read_at` and arrived
    /// at `arrived`: its age then, and the time since. The console's own clock is never asked.
    pub fn age(&self, moment: Timestamp, read_at: Timestamp, arrived: Duration) -> Duration {
        let then = read_at.duration_since(moment);
        Duration::try_from(then).unwrap_or_default() + self.since(arrived)
    }

    /// The database's clock at `at`, as far as the latest read tells; none before the first read.
    pub fn wall(&self, at: Duration) -> Option<Timestamp> {
        let overview = self.overview.as_ref().map(|read| (read.arrived, read.value.read_at));
        let (arrived, read_at) = overview.or(self.list.read.map(|read| (read.arrived, read.read_at)))?;
        let moved = SignedDuration::try_from(at).ok()? - SignedDuration::try_from(arrived).ok()?;
        read_at.checked_add(moved).ok()
    }

    pub(super) fn request(&mut self) -> RequestId {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        request
    }
}
