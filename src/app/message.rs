//! What happens to the console: keys, answers, reports, time. Plain comparable data.

use jiff::Timestamp;

use super::effect::RequestId;
use super::keys::Key;
use super::log::Level;
use crate::domain::bulk::{Chunk, Preview, Uncertain};
use crate::domain::limit::TenantLimits;
use crate::domain::observed::{Health, LocalWorkers, Overview, Page, PoolFigures, StatementFigures};
use crate::domain::outcome::{Decided, StopAnswer, Submitted, TaskHistory};
use crate::domain::queue::{Queue, QueueDecided};
use crate::domain::{Instance, Status, StopMode, StopRequest, TaskId};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A key was pressed (or repeats); never a release.
    Key(Key),
    /// Text was pasted; it is never keys.
    Paste(String),
    /// The terminal has a new size.
    Resize {
        /// Columns.
        width: u16,
        /// Lines.
        height: u16,
    },
    /// The last frame had room for so much; sent only where it differs from what the console assumed.
    Viewport(Viewport),
    /// A frame of the state as it is was drawn, and this is on it (as it could be clicked).
    Drawn(Vec<Target>),
    /// Something on screen was clicked.
    Clicked(Target),
    /// Time passed. [`super::refresh::next_wake`] says when the next one is wanted.
    Tick,
    /// Something changed in the database (NOTIFY): read soon.
    Wake,
    /// A page of tasks arrived.
    ListLoaded {
        /// The question's generation.
        generation: u64,
        /// The answer.
        page: Page,
    },
    /// A page of tasks could not be read.
    ListFailed {
        /// The question's generation.
        generation: u64,
        /// Why.
        failure: ReadFailure,
    },
    /// How many match arrived, or could not be read.
    Looked {
        /// The number of the question.
        look: u64,
        /// The answer.
        result: Result<Preview, ReadFailure>,
    },
    /// Tallies and rates arrived.
    OverviewLoaded(Overview),
    /// They could not be read.
    OverviewFailed(ReadFailure),
    /// One task arrived, or the database said that there is none.
    DetailLoaded {
        /// Which was asked for.
        id: TaskId,
        /// The database's clock when it was read.
        read_at: Timestamp,
        /// The task with its events; none: no such row for this tenant.
        found: Option<TaskHistory>,
    },
    /// One task could not be read, which says nothing about whether it exists.
    DetailFailed {
        /// Which was asked for.
        id: TaskId,
        /// Why.
        failure: ReadFailure,
    },
    /// The processes arrived.
    InstancesLoaded(Vec<Instance>),
    /// They could not be read.
    InstancesFailed(ReadFailure),
    /// The queues arrived.
    QueuesLoaded(Vec<Queue>),
    /// They could not be read.
    QueuesFailed(ReadFailure),
    /// The tenants that have a limit arrived.
    LimitsLoaded(Vec<TenantLimits>),
    /// They could not be read.
    LimitsFailed(ReadFailure),
    /// The server's health arrived.
    HealthLoaded(Box<Health>),
    /// It could not be read.
    HealthFailed(ReadFailure),
    /// This process's own pools and statements.
    FiguresLoaded {
        /// Its pools.
        pools: Vec<PoolFigures>,
        /// Its statements.
        statements: Vec<StatementFigures>,
    },
    /// This process's workers as they are now; sent when something about them changed and at least once a
    /// second. Never sent where this process has no workers.
    Local(LocalWorkers),
    /// Workers did something worth a line in the log.
    Workers {
        /// What, oldest first.
        events: Vec<WorkerEvent>,
        /// How many more there were that the channel had no room for.
        missed: u64,
    },
    /// This process's workers have ended though it is not about to end itself; from now on it only watches.
    WorkersEnded(WorkersEnded),
    /// A decision's answer. `WriteFailure::Unknown` is not the last one: another follows.
    Decided {
        /// Which.
        request: RequestId,
        /// What became of it.
        result: Result<Decided, WriteFailure>,
    },
    /// The answer to a chunk of all that match. `WriteFailure::Unknown` is not the last one: another follows.
    ChunkDecided {
        /// Which.
        request: RequestId,
        /// What became of it.
        result: Result<Chunk, Box<Broken>>,
    },
    /// The answer to a request to stop. `WriteFailure::Unknown` is not the last one: another follows.
    StopAnswered {
        /// Which.
        request: RequestId,
        /// What became of it.
        result: Result<StopAnswer, WriteFailure>,
    },
    /// The answer to a decision about a queue. `WriteFailure::Unknown` is not the last one: another follows.
    QueueDecided {
        /// Which.
        request: RequestId,
        /// What became of it.
        result: Result<QueueDecided, WriteFailure>,
    },
    /// A submit's answer. `WriteFailure::Unknown` is not the last one: another follows.
    Submitted {
        /// Which.
        request: RequestId,
        /// What became of it.
        result: Result<Box<Submitted>, WriteFailure>,
    },
    /// What became of a file's lines or of the samples.
    LinesSubmitted {
        /// Which.
        request: RequestId,
        /// What became of them.
        result: Result<LinesReport, WriteFailure>,
    },
    /// The root learned something about the connection by another way than a read.
    Link(LinkReport),
    /// Something to tell the operator; it goes to the log too.
    Notice {
        /// How grave it is.
        level: Level,
        /// One line.
        text: String,
    },
    /// A line of the program's own log, for screen 5 only.
    LogLine {
        /// How grave it is.
        level: Level,
        /// One line.
        text: String,
    },
    /// The process got a signal.
    Signal(Signal),
    /// The process was continued after a suspend.
    Continued,
    /// What became of a copy.
    ClipboardDone(Result<usize, String>),
    /// The editor or pager has ended.
    EditorDone(Result<(), String>),
}

/// How this process's workers ended before the process itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkersEnded {
    /// Who asked them to; none: nobody did.
    pub asked: Option<StopRequest>,
    /// Tasks that stay RUNNING until the lease of their instance passes.
    pub left: Vec<TaskId>,
    /// Tasks whose end was on its way to the database: they are left too, unless it has arrived.
    pub unanswered: Vec<TaskId>,
    /// Whether the database answered at the end.
    pub confirmed: Confirmed,
}

/// Whether the database confirmed the end of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// It did: nothing is RUNNING under it but what is named.
    Yes,
    /// It did not answer: a claim that was not heard of may stay RUNNING until the lease passes.
    No,
}

impl WorkersEnded {
    /// Whether nothing was left, and the database said so.
    pub fn is_well(&self) -> bool {
        self.left.is_empty() && self.unanswered.is_empty() && self.confirmed == Confirmed::Yes
    }
}

/// How many lines there were for what scrolls; no rows: it was not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewport {
    /// Rows of the list (or table, or log) of the screen.
    pub list_rows: usize,
    /// Lines of the detail pane.
    pub detail_rows: usize,
    /// Lines that its content takes once it is laid out.
    pub detail_lines: usize,
    /// Lines of what an overlay scrolls (help, whole input).
    pub overlay_rows: usize,
    /// Lines that its content takes once it is laid out.
    pub overlay_lines: usize,
}

/// What was clicked, as the frame that was drawn tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A screen's tab.
    Screen(super::state::Screen),
    /// A task's row.
    Task(TaskId),
    /// An instance's row, by its place in the list.
    Instance(usize),
    /// A queue's row, by its place in the list.
    Queue(usize),
    /// The row of a tenant that has a limit, by its place in the list.
    Limit(usize),
    /// The detail pane.
    Detail,
    /// The wheel, in lines; negative is up.
    Wheel(i32),
}

/// Why nothing could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFailure {
    /// Whether the link is at fault.
    pub cause: FailureCause,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Where a read failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The database did not answer: no connection, or its deadline passed.
    NoAnswer,
    /// The database answered, but not this: a privilege, a missing table, a statement that took too long.
    Refused,
}

/// Why a write has no outcome of the kind that it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteFailure {
    /// Certainly not applied.
    Unavailable {
        /// What happened.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// It was sent and no answer came; the root is still finding out, and another answer follows.
    Unknown {
        /// What happened.
        message: String,
    },
    /// It was sent, no answer came, and what became of it could not be found out in time. The last answer.
    Unresolved {
        /// What happened.
        message: String,
        /// How to find out.
        hint: Option<String>,
    },
    /// The role or mode may not do such acts at all; certainly not applied.
    Refused {
        /// What happened.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The input was refused before it reached the database.
    BadInput {
        /// What is wrong, with the field's name.
        message: String,
    },
}

/// Why a chunk of all that match was not decided to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// What became of the part of it that was decided.
    pub chunk: Chunk,
    /// Why no more of it was.
    pub failure: WriteFailure,
    /// Where that is not known: of which rows.
    pub uncertain: Option<Uncertain>,
}

/// What became of a file's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesReport {
    /// How many were put into the table.
    pub submitted: u64,
    /// How many an earlier attempt at the same file had put there.
    pub known: u64,
    /// How many were refused.
    pub refused: u64,
    /// The first of those, by number from 1, with the reason.
    pub named: Vec<(u64, String)>,
}

/// What the root learned about the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkReport {
    /// The listening connection works: changes are told at once.
    Listening,
    /// It does not: changes are seen at the next poll.
    Polling {
        /// Why.
        reason: String,
    },
    /// Which server this is, once known: `PostgreSQL 15.18 primary`.
    Server {
        /// In words.
        server: String,
    },
}

/// A signal that the process got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: drain, then cancel.
    Terminate,
    /// SIGHUP or a terminal that is gone: drain and end without a screen.
    Hangup,
    /// SIGINT: as Ctrl-C.
    Interrupt,
}

/// What a worker did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerEvent {
    /// A finish was committed.
    Finished {
        /// The task.
        id: TaskId,
        /// The state that the row now has.
        status: Status,
        /// The reason, where the attempt failed.
        error: Option<String>,
    },
    /// A finish came too late: the claim was no longer current and nothing was changed.
    LeaseLost {
        /// The task.
        id: TaskId,
    },
    /// This instance recovered a task of another that was lost.
    Recovered {
        /// The task.
        id: TaskId,
        /// The state that the row now has.
        status: Status,
        /// Why: `lease lost: web1:873 no longer answers`.
        from: String,
    },
    /// Somebody asked this process's workers to stop, and they do.
    AskedToStop {
        /// How.
        mode: StopMode,
        /// Who.
        by: String,
        /// Why, as they put it.
        reason: Option<String>,
    },
    /// Something went wrong that is not one task's failure.
    Trouble {
        /// What.
        message: String,
    },
}
