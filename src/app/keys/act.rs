//! What a key can call, and where.

use super::key::Key;

/// What a key can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is described by its entry in the table, for every reader at once")]
pub enum Action {
    Up,
    Down,
    Left,
    Right,
    Top,
    Bottom,
    PageUp,
    PageDown,
    Open,
    Back,
    NextPane,
    PreviousPane,
    Screen1,
    Screen2,
    Screen3,
    Screen4,
    Screen5,
    Search,
    FilterStates,
    FilterTenant,
    NewTask,
    Cancel,
    Requeue,
    Approve,
    Reject,
    Mark,
    MarkAll,
    Copy,
    EditInput,
    Race,
    DrainInstance,
    CommandLine,
    Help,
    Refresh,
    Redraw,
    Suspend,
    Quit,
    Interrupt,
    Yes,
    No,
    Reason,
    ShutdownDrain,
    ShutdownCancel,
    Submit,
    Hold,
}

/// Where a key is looked up. Within a layer a key has one meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// Any of the five screens.
    Screen,
    /// A question, a conflict, a list to choose from, a text to read.
    Dialog,
    /// The shutdown question and its progress.
    Shutdown,
    /// A field or editor: characters are text.
    Text,
}

/// How grave an act is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gravity {
    /// Moves or shows.
    Light,
    /// Changes tasks or processes, after a question.
    Changes,
    /// Changes what cannot be made good by the opposite act; its key is a capital.
    Grave,
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// What is called.
    pub action: Action,
    /// Its name in the configuration.
    pub name: &'static str,
    /// The keys that call it unless remapped.
    pub keys: &'static [Key],
    /// Where it can be called.
    pub layers: &'static [Layer],
    /// One or two words for the footer.
    pub short: &'static str,
    /// A sentence for help and docs.
    pub long: &'static str,
    /// How grave it is.
    pub gravity: Gravity,
}
