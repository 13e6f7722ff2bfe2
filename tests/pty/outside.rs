//! What only the terminal's owner can do besides drawing: an editor, the clipboard.

use crate::desk::Desk;
use crate::support::empty_database;

/// A console with the cursor on a task whose text is `the text of the task`, and an editor that shows the file's
/// first line and reads a line of its own.
fn on_a_task() -> Desk {
    let editor = r#"sh -c 'echo EDITOR HAS $(head -n 1 "$1"); read -r line; echo EDITOR READ $line' editor"#;
    let mut desk = Desk::sized(120, 40, Some(&empty_database()), &[("VISUAL", editor)]);
    desk.start("--workers 0");
    desk.begin_empty();
    let id = desk.submit(&["the text of the task"]);
    desk.wait_line(id, &["QUEUED"]);
    desk.terminal.keys("g");
    desk.terminal.wait_text("Input (20 B)");
    desk
}

#[test]
fn the_editor_gets_the_terminal_and_every_key_until_it_ends() {
    let mut desk = on_a_task();
    desk.terminal.keys("e");
    desk.terminal.wait_text("EDITOR HAS the text of the task");
    assert_eq!(
        desk.terminal.modes(),
        (false, false, false),
        "alternate screen, hidden cursor, bracketed paste"
    );
    // `q` ends the console where the console reads it; the editor reads a whole line.
    desk.terminal.keys("qqq\r");
    desk.wait_drawn();
    desk.terminal.wait_text("Input (20 B)");
    assert_eq!(desk.quit(), 0);
    assert!(desk.terminal.screen().contains("EDITOR READ qqq"), "{}", desk.terminal.screen());
}

#[test]
fn a_copy_goes_to_the_terminals_clipboard() {
    let mut desk = on_a_task();
    let mark = desk.terminal.mark();
    desk.terminal.keys("y");
    desk.terminal.wait_text("copied 20 bytes");
    let sent = String::from_utf8_lossy(&desk.terminal.bytes_since(mark)).into_owned();
    // OSC 52 with the text in base64.
    assert!(sent.contains("\u{1b}]52;c;dGhlIHRleHQgb2YgdGhlIHRhc2s=\u{7}"), "{sent:?}");
    assert_eq!(desk.quit(), 0);
}
