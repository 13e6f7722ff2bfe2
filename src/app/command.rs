//! The command line: its verbs, its completions, what was typed before.

/// Commands that were typed, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandHistory(pub Vec<String>);

/// A verb of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    /// Its name.
    pub name: &'static str,
    /// What may follow: `ID…`.
    pub argument: &'static str,
    /// What it does.
    pub long: &'static str,
}

/// The verbs, in the order of help.
pub const VERBS: &[Verb] = &[
    Verb { name: "goto", argument: "ID", long: "show this task" },
    Verb { name: "cancel", argument: "[ID…]", long: "cancel these tasks, or the one under the cursor" },
    Verb { name: "requeue", argument: "[ID…]", long: "requeue them" },
    Verb { name: "approve", argument: "[ID…]", long: "approve them" },
    Verb { name: "reject", argument: "[ID…]", long: "reject them" },
    Verb { name: "submit", argument: "[TEXT]", long: "write a text; Ctrl-S submits it" },
    Verb { name: "lines", argument: "FILE", long: "submit each line of a file as a task" },
    Verb { name: "filter", argument: "[STATE…]", long: "show only these states; none: all" },
    Verb { name: "tenant", argument: "[NAME]", long: "show only this tenant's tasks; none: all" },
    Verb { name: "queue", argument: "[NAME]", long: "show only this queue's tasks; none: all" },
    Verb { name: "search", argument: "[TEXT]", long: "show only texts that contain this; none: all" },
    Verb { name: "tasks", argument: "", long: "screen 1" },
    Verb { name: "workers", argument: "", long: "screen 2" },
    Verb { name: "database", argument: "", long: "screen 3" },
    Verb { name: "log", argument: "", long: "screen 5" },
    Verb { name: "help", argument: "", long: "what every key does" },
    Verb { name: "quit", argument: "", long: "end this process; with tasks in flight it asks how" },
];
