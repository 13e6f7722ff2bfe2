//! Texts that want to be more than text, in every field that a stranger can fill.

use unicode_width::UnicodeWidthStr as _;

use crate::desk::{Desk, line_of};
use crate::support::empty_database;

/// Sets the title, writes the clipboard, clears the screen, moves the cursor, turns colours and the reading
/// direction, hides behind zero width, and mixes widths.
const HOSTILE: [&str; 8] = [
    "title \u{1b}]0;owned\u{7} \u{1b}]2;owned\u{1b}\\ end",
    "clipboard \u{1b}]52;c;b3duZWQ=\u{7} end",
    "modes \u{1b}[?1049l\u{1b}[?25h\u{1b}[?2004l\u{1b}c\u{1b}[2J\u{1b}[H end",
    "c1 \u{9b}2J\u{9d}0;owned\u{9c}\u{90}q\u{9c}\u{85} end",
    "bidi \u{202e}desrever\u{202c} \u{2066}isolated\u{2069} \u{200f}\u{61c} end",
    "zero \u{200b}\u{200d}\u{feff}\u{ad}\u{2060}width \u{301}\u{301} end",
    "wide \u{8bed}\u{8a00} \u{1f469}\u{200d}\u{1f680} \u{2601}\u{fe0f} end",
    "colour \u{1b}[31;7mred\u{1b}[0m \u{8}\u{8}\u{8}\u{7f} \r\n\t end",
];

#[test]
fn hostile_texts_stay_texts_in_every_field_and_on_every_screen() {
    let mut desk = Desk::sized(160, 40, Some(&empty_database()), &[]);
    desk.start("--workers 0");
    desk.begin_empty();
    let mark = desk.terminal.mark();
    // Past the checks at the door, as another program with the same tables could put them there.
    for (index, text) in (1..).zip(HOSTILE) {
        let text = text.replace('\'', "''");
        desk.psql(&format!(
            "INSERT INTO taskdeck.task_inputs (id, tenant, submission, input)
                 VALUES ({index}, '{text}', gen_random_uuid(), '{text}');
             INSERT INTO taskdeck.tasks (id, tenant, queue, status, max_attempts, attempt, priority, created_at,
                     scheduled_at, finished_at, error)
                 VALUES ({index}, '{text}', '{text}', 'FAILED', 3, 3, 0, now(), now(), now(), '{text}');
             INSERT INTO taskdeck.events (task_id, actor, move, status_before, status_after, version_before,
                     version_after, reason, operation_id)
                 VALUES ({index}, '{text}', '{text}', 'RUNNING', 'FAILED', 0, 1, '{text}', gen_random_uuid())"
        ));
    }
    desk.psql(&format!(
        "INSERT INTO taskdeck.instances (id, host, pid, version, kind, operator, queues, slots, state, lease_until)
             VALUES (gen_random_uuid(), '{0}', 1, '{0}', '{0}', '{0}', ARRAY['{0}'], 4, 'working', now() + '1 h')",
        HOSTILE[2]
    ));
    for id in 1..=8 {
        desk.wait_line(id, &["FAILED"]);
    }
    columns_are_aligned(&desk.terminal.screen());
    for id in 1..=8 {
        // The detail pane, the whole input over everything, and back.
        desk.terminal.keys(&format!("/{id}\r"));
        desk.terminal.wait_for("its detail", |screen| {
            screen.contains(&format!("Task {id} ")) && screen.contains("Timeline")
        });
        desk.terminal.keys("\r");
        desk.terminal.wait_text(&format!("Input of task {id}"));
        desk.terminal.keys("\u{1b}");
        desk.terminal.wait_for("the closed input", |screen| !screen.contains("Input of task"));
    }
    desk.terminal.keys("2");
    let screen = desk
        .terminal
        .wait_for("the instance", |screen| screen.contains("INSTANCE") && screen.contains("modes"));
    assert!(screen.contains("1 Tasks"), "{screen}");
    desk.terminal.keys("1");
    desk.wait_line(1, &["FAILED"]);
    // The question about a hostile row, and the answer in the notice line and on screen 5.
    desk.terminal.keys("/8\r");
    desk.terminal.wait_text("Task 8 ");
    desk.terminal.keys("r");
    desk.terminal.wait_text("Requeue task 8?");
    desk.terminal.keys("y");
    desk.wait_line(8, &["QUEUED"]);
    desk.terminal.keys("5");
    desk.terminal.wait_text("requeued 8");

    let modes = desk.terminal.modes();
    assert_eq!(modes, (true, true, true), "alternate screen, hidden cursor, bracketed paste");
    let sent = String::from_utf8_lossy(&desk.terminal.bytes_since(mark)).into_owned();
    for (what, forbidden) in [
        ("an OSC", "\u{1b}]"),
        ("a DCS", "\u{1b}P"),
        ("a reset", "\u{1b}c"),
        ("the way out of the alternate screen", "\u{1b}[?1049l"),
        ("the end of bracketed paste", "\u{1b}[?2004l"),
        ("a bell", "\u{7}"),
        ("a backspace", "\u{8}"),
        ("a reversal", "\u{202e}"),
        ("an isolate", "\u{2066}"),
        ("zero width", "\u{200b}"),
        ("a byte order mark", "\u{feff}"),
    ] {
        assert!(!sent.contains(forbidden), "{what} was sent");
    }
    assert!(!sent.chars().any(|c| ('\u{80}'..='\u{9f}').contains(&c)), "a C1 control was sent");
    assert!(sent.contains("\\u{202e}") && sent.contains("\\e]52"), "the texts were shown at all");
    assert_eq!(desk.quit(), 0);
}

/// Every row's divider between list and detail stands in the same column, whatever the widths before it.
fn columns_are_aligned(screen: &str) {
    let divider = |line: &str| line.find('\u{2502}').map(|at| line[..at].width());
    let heading =
        screen.lines().find(|line| line.contains("STATE") && line.contains("INPUT")).expect("headings");
    let wanted = divider(heading).expect("a divider");
    for id in 1..=8 {
        let line = line_of(screen, id).expect("its line");
        assert_eq!(divider(line), Some(wanted), "{line}\n{screen}");
        // The state's column begins where its heading does.
        let at = line.find("FAILED").map(|at| line[..at].width());
        assert_eq!(at, heading.find("STATE").map(|at| heading[..at].width()), "{line}");
    }
}
