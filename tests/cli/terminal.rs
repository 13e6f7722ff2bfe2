//! On a terminal: colours unless `NO_COLOR`, lines no wider than it, a question before what cannot be undone.

use std::io::{Read as _, Write as _};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::runner::{PROGRAM, User, numbered};
use crate::support::database;

/// Runs a command on a terminal of 60 columns and returns what it wrote.
fn on_terminal(user: &User, args: &[&str], more: &[(&str, &str)]) -> String {
    converse(user, args, more, "")
}

/// Likewise, with something typed ahead.
fn answering(user: &User, args: &[&str], typed: &str) -> String {
    converse(user, args, &[], typed)
}

fn converse(user: &User, args: &[&str], more: &[(&str, &str)], typed: &str) -> String {
    let size = PtySize { rows: 24, cols: 60, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).expect("a pseudo terminal");
    let mut command = CommandBuilder::new(PROGRAM);
    command.args(args);
    command.env_clear();
    for (name, value) in user.command(args).get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    for (name, value) in more {
        command.env(name, value);
    }
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).expect("start");
    drop(pair.slave);
    let mut writer = pair.master.take_writer().expect("a writer");
    writer.write_all(typed.as_bytes()).expect("type");
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let mut bytes = Vec::new();
    // The other end goes away with the program, which some systems tell as an error.
    let _ = reader.read_to_end(&mut bytes);
    child.wait().expect("wait");
    String::from_utf8(bytes).expect("UTF-8")
}

#[tokio::test]
async fn colours_only_on_a_terminal_and_never_with_no_color() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", &"long text ".repeat(15)]);
    let coloured = on_terminal(&user, &["list"], &[]);
    assert!(coloured.contains("\u{1b}[36mQUEUED\u{1b}[0m"), "{coloured:?}");
    let plain = on_terminal(&user, &["list"], &[("NO_COLOR", "1")]);
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    assert!(!user.text(0, &["list"]).contains('\u{1b}'));
    for line in plain.lines() {
        assert!(line.chars().count() <= 60, "{line:?}");
    }
    assert!(plain.contains('…') && !user.text(0, &["list"]).contains('…'));
}

#[tokio::test]
async fn a_file_of_lines_shows_how_far_it_is() {
    let db = database().await;
    let user = User::of(&db.url);
    let file = user.file("lines", numbered("line", 1..=1_500));
    let shown = on_terminal(&user, &["submit", "--lines", file.to_str().expect("UTF-8")], &[]);
    assert!(shown.contains('%') && shown.contains("1,000 submitted"), "{shown:?}");
    assert!(shown.contains("submitted 1,500 (tasks 1 to 1500)"), "{shown:?}");
}

#[test]
fn destroying_asks_and_only_a_yes_is_a_yes() {
    let (user, _folder) = crate::private::user();
    assert_eq!(user.run(&["submit", "kept"]).code, 0);
    let shown = answering(&user, &["private", "destroy"], "no\n");
    assert!(
        shown.contains("This cannot be undone. [y/N]") && shown.contains("nothing was removed"),
        "{shown:?}"
    );
    assert_eq!(user.json(0, &["private", "status"])["state"], "stopped");
    assert!(answering(&user, &["private", "destroy"], "y\n").contains(" is removed"));
    assert_eq!(user.json(0, &["private", "status"])["state"], "none");
}
