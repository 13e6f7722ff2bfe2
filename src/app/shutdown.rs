//! The end of this process: asked, drained, canceled, left.

use std::time::Duration;

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// How far it is.
    pub phase: ShutdownPhase,
    /// Since when it is in this phase, since the program's start.
    pub since: Duration,
    /// Who asked for it.
    pub asked_by: AskedBy,
}

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownPhase {
    /// The operator has been asked how; nothing was begun.
    Asked,
    /// Nothing more is claimed; what runs is waited for.
    Draining,
    /// What runs was asked to stop and is waited for.
    Canceling,
}

/// Who asked for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// A key such as `q`.
    Key,
    /// Ctrl-C.
    Interrupt,
    /// A signal; there is nobody to answer questions.
    Signal,
}
