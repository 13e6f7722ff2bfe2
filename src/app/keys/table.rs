//! The table itself: every act that a key can call, its name, its default keys, and its words.

use super::act::{Action, Entry, Gravity, Layer};
use super::key::{Key, KeyCode};

use Layer::{Dialog, Screen, Shutdown, Text};

const ALL: &[Layer] = &[Screen, Dialog, Shutdown, Text];
const SCREEN: &[Layer] = &[Screen];
const MOVING: &[Layer] = &[Screen, Dialog];
const MOVING_AND_TYPING: &[Layer] = &[Screen, Dialog, Text];
/// The conflict dialog and the question to an instance offer the same acts under the same keys.
const ACTS: &[Layer] = &[Screen, Dialog];

const fn k(c: char) -> Key {
    Key::char(c)
}

const fn p(code: KeyCode) -> Key {
    Key::plain(code)
}

const SHIFT_TAB: Key = Key { shift: true, ..Key::plain(KeyCode::Tab) };

const fn light(
    action: Action,
    name: &'static str,
    keys: &'static [Key],
    layers: &'static [Layer],
    short: &'static str,
    long: &'static str,
) -> Entry {
    Entry { action, name, keys, layers, short, long, gravity: Gravity::Light }
}

const fn changes(
    action: Action,
    name: &'static str,
    keys: &'static [Key],
    layers: &'static [Layer],
    short: &'static str,
    long: &'static str,
) -> Entry {
    Entry { action, name, keys, layers, short, long, gravity: Gravity::Changes }
}

/// Every act, in the order in which help and docs show them.
pub const TABLE: &[Entry] = &[
    changes(
        Action::Cancel,
        "cancel",
        &[k('c')],
        ACTS,
        "cancel",
        "Cancel the task, or every marked task: a waiting one at once, a running one is asked to stop.",
    ),
    changes(
        Action::Requeue,
        "requeue",
        &[k('r')],
        ACTS,
        "requeue",
        "Put a failed, canceled or rejected task back in its queue, with no attempt spent.",
    ),
    changes(
        Action::Approve,
        "approve",
        &[k('a')],
        ACTS,
        "approve",
        "Let a held task run: it moves from SUBMITTED to QUEUED.",
    ),
    Entry {
        action: Action::Reject,
        name: "reject",
        keys: &[k('X')],
        layers: ACTS,
        short: "reject",
        long: "Refuse a held task: it becomes REJECTED and does not run.",
        gravity: Gravity::Grave,
    },
    changes(Action::NewTask, "new-task", &[k('n')], SCREEN, "new", "Write a text and submit it as a task."),
    light(
        Action::Open,
        "open",
        &[p(KeyCode::Enter)],
        ALL,
        "open",
        "Open what is under the cursor; in the detail pane, the whole input; when ending with nothing left to wait for, end.",
    ),
    light(
        Action::Mark,
        "mark",
        &[k(' '), k('x')],
        ACTS,
        "mark",
        "Mark the row (or take its mark away) and move down; acts then apply to all marked rows.",
    ),
    light(
        Action::MarkAll,
        "mark-all",
        &[k('A')],
        SCREEN,
        "mark all",
        "Mark all that match the filter, and say how many: up to 500 row by row, more of them all together. What is then asked says of which states they are.",
    ),
    light(
        Action::Copy,
        "copy",
        &[k('y')],
        SCREEN,
        "copy",
        "Copy the task's input to the clipboard of your terminal.",
    ),
    light(
        Action::EditInput,
        "edit-input",
        &[k('e')],
        SCREEN,
        "$EDITOR",
        "Open the task's input in $EDITOR, to read; nothing is written back.",
    ),
    light(Action::Race, "race", &[k('R')], SCREEN, "race", "Race for the task; not part of this version."),
    changes(
        Action::DrainInstance,
        "drain-instance",
        &[k('d')],
        ACTS,
        "drain",
        "On screen 2: ask the instance under the cursor to drain; in that question, the key of cancel asks what it runs to stop instead.",
    ),
    light(
        Action::Search,
        "search",
        &[k('/')],
        SCREEN,
        "search",
        "Show only what contains a text; a bare number goes to that task.",
    ),
    light(
        Action::FilterStates,
        "filter-states",
        &[k('f')],
        SCREEN,
        "filter",
        "Choose which states the list shows.",
    ),
    light(
        Action::FilterTenant,
        "filter-tenant",
        &[k('t')],
        SCREEN,
        "tenant",
        "Choose whose tasks the list shows.",
    ),
    light(
        Action::CommandLine,
        "command-line",
        &[k(':')],
        SCREEN,
        "command",
        "Type a command; Tab completes it.",
    ),
    light(Action::Up, "up", &[p(KeyCode::Up), k('k')], MOVING_AND_TYPING, "up", "One up."),
    light(Action::Down, "down", &[p(KeyCode::Down), k('j')], MOVING_AND_TYPING, "down", "One down."),
    light(Action::Left, "left", &[p(KeyCode::Left), k('h')], SCREEN, "left", "To the pane on the left."),
    light(Action::Right, "right", &[p(KeyCode::Right), k('l')], SCREEN, "right", "To the pane on the right."),
    light(
        Action::Top,
        "top",
        &[k('g'), p(KeyCode::Home)],
        MOVING,
        "top",
        "To the first line; in a list, to the newest task.",
    ),
    light(Action::Bottom, "bottom", &[k('G'), p(KeyCode::End)], MOVING, "bottom", "To the last loaded line."),
    light(Action::PageUp, "page-up", &[p(KeyCode::PageUp)], MOVING, "page up", "One page up."),
    light(Action::PageDown, "page-down", &[p(KeyCode::PageDown)], MOVING, "page down", "One page down."),
    light(
        Action::Back,
        "back",
        &[p(KeyCode::Esc)],
        ALL,
        "back",
        "One step back: closes what is open, then clears the filter, then the marks. Never quits. While all that match are decided about: stops after the chunk under way.",
    ),
    light(
        Action::NextPane,
        "next-pane",
        &[p(KeyCode::Tab)],
        &[Screen, Text],
        "next pane",
        "To the next pane or field.",
    ),
    light(
        Action::PreviousPane,
        "previous-pane",
        &[SHIFT_TAB],
        &[Screen, Text],
        "previous pane",
        "To the previous pane or field.",
    ),
    light(Action::Screen1, "tasks", &[k('1')], SCREEN, "Tasks", "The tasks."),
    light(
        Action::Screen2,
        "workers",
        &[k('2')],
        SCREEN,
        "Workers",
        "This process's slots and every other process.",
    ),
    light(
        Action::Screen3,
        "database",
        &[k('3')],
        SCREEN,
        "Database",
        "Pools, statements, the server, who waits for whom.",
    ),
    light(Action::Screen4, "race-screen", &[k('4')], SCREEN, "Race", "Not part of this version."),
    light(
        Action::Screen5,
        "log",
        &[k('5')],
        SCREEN,
        "Log",
        "Every act with its outcome, and what went wrong.",
    ),
    light(Action::Help, "help", &[k('?')], ACTS, "help", "What every key does, this screen's acts first."),
    light(
        Action::Refresh,
        "refresh",
        &[Key::ctrl('r')],
        SCREEN,
        "refresh",
        "Read everything on screen again now.",
    ),
    light(Action::Redraw, "redraw", &[Key::ctrl('l')], ALL, "redraw", "Draw the screen anew."),
    light(
        Action::Suspend,
        "suspend",
        &[Key::ctrl('z')],
        ALL,
        "suspend",
        "Back to the shell; `fg` continues.",
    ),
    changes(
        Action::Quit,
        "quit",
        &[k('q')],
        &[Screen, Shutdown],
        "quit",
        "End this process; with tasks in flight it asks how.",
    ),
    changes(
        Action::Interrupt,
        "interrupt",
        &[Key::ctrl('c')],
        ALL,
        "quit",
        "As quit; again moves a drain to cancel, and once more leaves at once.",
    ),
    changes(Action::Yes, "yes", &[k('y')], &[Dialog], "yes", "Do what the question names."),
    light(Action::No, "no", &[k('n')], &[Dialog], "no", "Do not."),
    light(
        Action::Reason,
        "reason",
        &[k('i'), p(KeyCode::Tab)],
        &[Dialog],
        "reason",
        "Write a reason, which is kept with the decision.",
    ),
    changes(
        Action::ShutdownDrain,
        "shutdown-drain",
        &[k('d')],
        &[Shutdown],
        "drain",
        "Claim nothing more and wait for what runs here.",
    ),
    changes(
        Action::ShutdownCancel,
        "shutdown-cancel",
        &[k('c')],
        &[Shutdown],
        "cancel",
        "Ask what runs here to stop, and wait until it has.",
    ),
    changes(
        Action::Submit,
        "submit",
        &[Key::ctrl('s')],
        &[Text],
        "submit",
        "Submit the text that was written.",
    ),
    light(
        Action::Hold,
        "hold",
        &[Key::ctrl('t')],
        &[Text],
        "hold",
        "In a new task: hold it until it is approved, or queue it at once after all.",
    ),
];

/// The line of the table for `action`.
///
/// # Panics
/// Never: a test walks every action.
pub fn entry(action: Action) -> &'static Entry {
    TABLE.iter().find(|entry| entry.action == action).expect("every action stands in the table")
}
