//! What the console wants done, as data. The root does it and answers with a [`super::Message`].

use crate::domain::bulk::Matching;
use crate::domain::instance::SeenInstance;
use crate::domain::observed::Filter;
use crate::domain::queue::QueueAct;
use crate::domain::{DecisionKind, Name, NewTask, Seen, StopMode, TaskId};

/// Numbers a write that this console asked for; its answer carries the same number. Never used again, but by
/// a submit that is sent again unchanged: the root must derive the submission key (and the operation id) from
/// it, so that sending again can never make two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Something for the root to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Read something; the answer is the matching `…Loaded` or `…Failed` message.
    Read(Read),
    /// Send a decision, which the operator has confirmed; the answer is `Decided`.
    Decide {
        /// Numbers it.
        request: RequestId,
        /// What is decided.
        kind: DecisionKind,
        /// About which rows, each with the version that was on screen when the key was pressed; ascending ids.
        rows: Vec<Seen>,
        /// Why, as the operator put it.
        reason: Option<String>,
        /// Only rows of this tenant, if set.
        tenant: Option<String>,
    },
    /// Decide about the next chunk of all that match, which the operator has confirmed; the answer is `ChunkDecided`.
    DecideChunk {
        /// Numbers it.
        request: RequestId,
        /// What is decided and about which tasks, as a look found them and a frame showed it.
        matching: Box<Matching>,
        /// Why, as the operator put it.
        reason: Option<String>,
        /// Only ids above this.
        after: Option<TaskId>,
    },
    /// Ask instances to stop, which the operator has confirmed; the answer is `StopAnswered`.
    Stop {
        /// Numbers it.
        request: RequestId,
        /// How they are to stop.
        mode: StopMode,
        /// Which, each with the version that was on screen when the key was pressed.
        instances: Vec<SeenInstance>,
        /// Why, as the operator put it.
        reason: Option<String>,
    },
    /// Pause or resume a queue, which the operator has confirmed; the answer is `QueueDecided`.
    DecideQueue {
        /// Numbers it.
        request: RequestId,
        /// What is decided.
        act: QueueAct,
        /// About which queue.
        queue: Name,
        /// Its version as it was on screen; 0 where it was not listed.
        version: i64,
        /// Why, as the operator put it.
        reason: Option<String>,
    },
    /// Submit one text; the answer is `Submitted`.
    Submit {
        /// Numbers it; the same number with the same text is the same submit.
        request: RequestId,
        /// The text, checked.
        text: String,
        /// What it gets besides its text.
        task: NewTask,
    },
    /// Submit each line of a file as a task; the answer is `LinesSubmitted`.
    SubmitLines {
        /// Numbers it; under the same number a line that is in the table already is not submitted again.
        request: RequestId,
        /// The file, as the operator named it.
        path: String,
        /// What each gets besides its text.
        task: NewTask,
    },
    /// Submit the sample texts that a first start offers; each answers with `LinesSubmitted`.
    SubmitSamples {
        /// Numbers it.
        request: RequestId,
    },
    /// Put text on the operator's clipboard (OSC 52); the answer is `ClipboardDone`.
    Copy {
        /// The text.
        text: String,
    },
    /// Open a task's whole input, read-only, in `$EDITOR` or a pager; the answer is `EditorDone`.
    EditInput {
        /// The task.
        id: TaskId,
        /// Its input.
        text: String,
    },
    /// Give the terminal back to the shell and stop this process until it is continued.
    Suspend,
    /// Clear the terminal and draw everything anew.
    Redraw,
    /// Tell this process's workers to stop; `Local` messages tell how far they are.
    Shutdown(ShutdownMode),
    /// End the process now although work is in flight.
    Leave {
        /// What stays RUNNING until the lease passes; to be said on stderr.
        tasks: Vec<TaskId>,
        /// Writes whose answer is not known; to be said on stderr.
        unanswered: usize,
    },
    /// Say this on standard error once the terminal is given back: the process is about to end.
    Farewell {
        /// One line; may hold text from the database.
        text: String,
    },
    /// End the process: nothing of it is in flight.
    Quit,
}

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// A page of tasks.
    List {
        /// Comes back with the answer; an answer to an earlier question is dropped.
        generation: u64,
        /// Which tasks.
        filter: Filter,
        /// Only ids below this.
        before: Option<TaskId>,
        /// At most so many rows.
        limit: usize,
    },
    /// How many match, for a decision about all of them.
    Matching {
        /// Comes back with the answer.
        look: u64,
        /// Which decision.
        kind: DecisionKind,
        /// Which tasks.
        filter: Filter,
    },
    /// Tallies, oldest due task, rates.
    Overview,
    /// One task with its whole text and its events.
    Detail {
        /// The task.
        id: TaskId,
        /// Only if it is this tenant's.
        tenant: Option<String>,
    },
    /// Every running process.
    Instances,
    /// Every queue that holds something or was ever paused.
    Queues,
    /// Every tenant that has a limit.
    Limits,
    /// The server as a session sees it.
    Health,
    /// This process's own pools and statements; needs no database.
    Figures,
}

/// How workers are told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownMode {
    /// Claim nothing more and wait for what runs.
    Drain,
    /// Claim nothing more and ask what runs to stop.
    Cancel,
}
