//! The house's rule: arrows between the floors run one way, and each kind of line has its room.
//! `ARCHITECTURE.md` says why; this says where it is broken, with file and line.

use std::path::{Path, PathBuf};

/// A floor and what it may use besides the standard library and crates.
struct Floor {
    name: &'static str,
    may_use: &'static [&'static str],
    /// Crates that it must not name.
    not: &'static [&'static str],
}

const TERMINAL: &[&str] = &["crossterm", "ratatui"];
const DATABASE: &[&str] = &["tokio_postgres", "deadpool", "deadpool_postgres", "rustls"];

const FLOORS: &[Floor] = &[
    Floor {
        name: "domain",
        may_use: &[],
        not: &["tokio", "tokio_postgres", "deadpool_postgres", "crossterm", "ratatui", "rustls"],
    },
    Floor { name: "db", may_use: &["domain"], not: TERMINAL },
    Floor {
        name: "worker",
        may_use: &["db", "domain"],
        not: &["crossterm", "ratatui", "tokio_postgres", "deadpool_postgres", "rustls"],
    },
    Floor {
        name: "lab",
        may_use: &["db", "domain"],
        not: &["crossterm", "ratatui", "tokio_postgres", "deadpool_postgres", "rustls"],
    },
    Floor {
        name: "app",
        may_use: &["domain"],
        not: &["crossterm", "ratatui", "tokio", "tokio_postgres", "deadpool_postgres", "rustls"],
    },
    Floor { name: "ui", may_use: &["app", "domain"], not: DATABASE },
];

/// The rooms that a floor must not look into: the other floors and the roots.
const ROOMS: &[&str] = &[
    "app",
    "cli",
    "config",
    "console",
    "db",
    "domain",
    "headless",
    "lab",
    "logging",
    "signals",
    "submit_lines",
    "ui",
    "worker",
];

/// Where something may be printed: the roots, and the command line with its output.
const MAY_PRINT: &[&str] =
    &["src/main.rs", "src/cli.rs", "src/cli/", "src/console.rs", "src/console/", "src/headless.rs"];

/// The most lines of a file: beyond it holds two ideas.
const LONGEST: usize = 420;

/// Says so of a file that is too long, of the program or of its tests.
fn too_long(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONGEST).then(|| format!("{path}:{lines}: {lines} lines: a file this long holds two ideas"))
}

/// What is wrong in one file, as `path:line: what`.
fn violations(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let floor = FLOORS.iter().find(|floor| {
        path.starts_with(&format!("src/{}/", floor.name)) || path == format!("src/{}.rs", floor.name)
    });
    found.extend(too_long(path, text));
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        let mut say = |what: String| found.push(format!("{path}:{number}: {what}: {}", code.trim_end()));
        if let Some(floor) = floor {
            for room in ROOMS.iter().filter(|room| **room != floor.name && !floor.may_use.contains(room)) {
                if names_room(code, room) {
                    say(format!("`{}` must not use `{room}`", floor.name));
                }
            }
            for krate in floor.not {
                if names_crate(code, krate) {
                    say(format!("`{}` must not name `{krate}`", floor.name));
                }
            }
        }
        if !path.starts_with("src/db/") && holds_sql(code) {
            say("SQL stands outside db/".to_owned());
        }
        if !MAY_PRINT.iter().any(|place| path.starts_with(place))
            && ["println!(", "print!(", "eprintln!(", "eprint!(", "dbg!("]
                .iter()
                .any(|call| calls(code, call))
        {
            say("only the roots print".to_owned());
        }
        if code.contains("#[allow(") || code.contains("#![allow(") {
            say("use #[expect(…, reason)]".to_owned());
        }
    }
    found
}

fn names_room(code: &str, room: &str) -> bool {
    ["crate::", "taskdeck::"].iter().any(|root| {
        code.match_indices(root).any(|(at, _)| {
            let rest = &code[at + root.len()..];
            // `use crate::{app::X, db::Y};` names rooms behind the brace.
            rest.strip_prefix('{').map_or_else(
                || starts_with_name(rest, room),
                |group| group.split([',', '{']).any(|part| starts_with_name(part.trim_start(), room)),
            )
        })
    })
}

fn starts_with_name(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn names_crate(code: &str, krate: &str) -> bool {
    code.match_indices(krate).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + krate.len()..];
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"') && after.starts_with("::")
    })
}

/// Whether a line holds a piece of a statement: two of its words in their order, in capitals.
fn holds_sql(code: &str) -> bool {
    [("SELECT ", " FROM "), ("INSERT INTO ", ""), ("UPDATE ", " SET "), ("DELETE FROM ", "")]
        .iter()
        .any(|(first, second)| code.find(first).is_some_and(|at| code[at..].contains(second)))
}

fn calls(code: &str, call: &str) -> bool {
    code.match_indices(call)
        .any(|(at, _)| !code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_'))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What `wrong` finds in the files below a folder of this repository.
fn found_in<F: IntoIterator<Item = String>>(folder: &str, wrong: impl Fn(&str, &str) -> F) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join(folder), &mut files);
    assert!(files.len() > 20, "the files of {folder} were found");
    let look = |file: &PathBuf| {
        let path = file.strip_prefix(root).expect("below the root").to_string_lossy();
        wrong(&path, &std::fs::read_to_string(file).expect("a source file"))
    };
    files.iter().flat_map(look).collect()
}

#[test]
fn arrows_run_one_way() {
    let found = found_in("src", violations);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_test_file_is_too_long() {
    let found = found_in("tests", too_long);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_floor_is_there() {
    for floor in FLOORS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(floor.name);
        assert!(folder.is_dir(), "{} is gone; FLOORS must follow", folder.display());
    }
}

#[test]
fn what_is_broken_is_found() {
    let broken = [
        ("src/domain/a.rs", "use crate::db::Db;"),
        ("src/domain/a.rs", "let x: tokio::time::Instant;"),
        ("src/db/a.rs", "use crate::worker;"),
        ("src/db/a.rs", "use crate::{domain::Task, app::State};"),
        ("src/app/a.rs", "use crate::db::DbError;"),
        ("src/app/a.rs", "fn f(key: crossterm::event::KeyEvent) {}"),
        ("src/ui/a.rs", "use crate::worker::Worker;"),
        ("src/ui/a.rs", "fn f(row: &tokio_postgres::Row) {}"),
        ("src/worker/a.rs", "use crate::ui;"),
        ("src/worker/a.rs", "use crate::lab::Plan;"),
        ("src/lab/a.rs", "use crate::worker::Worker;"),
        ("src/lab/a.rs", "let sql = \"SELECT id FROM tasks\";"),
        ("src/worker/a.rs", "client.query(\"SELECT id FROM tasks\")"),
        ("src/console.rs", "let sql = \"UPDATE tasks SET status = 'QUEUED'\";"),
        ("src/worker/a.rs", "println!(\"done\");"),
        ("src/app/a.rs", "    dbg!(state);"),
        ("src/db/a.rs", "#[allow(dead_code)]"),
    ];
    for (path, line) in broken {
        assert_eq!(violations(path, line).len(), 1, "{path}: {line}");
    }
    let right = [
        ("src/db/a.rs", "use crate::domain::Task;"),
        ("src/db/a.rs", "// SELECT id FROM tasks, as crate::app once did"),
        ("src/worker/a.rs", "use crate::{db::Db, domain::Task};"),
        ("src/ui/a.rs", "use crate::app::State;"),
        ("src/lab/a.rs", "use crate::db::lab::Guard;"),
        ("src/domain/a.rs", "use crate::domain::lab::Round;"),
        ("src/console.rs", "use crate::{app, db, ui, worker};"),
        ("src/app/a.rs", "use crate::application_note;"),
        ("src/main.rs", "eprintln!(\"{error}\");"),
    ];
    for (path, line) in right {
        assert_eq!(violations(path, line), Vec::<String>::new(), "{path}: {line}");
    }
    assert_eq!(violations("src/db/a.rs", &"\n".repeat(LONGEST + 1)).len(), 1);
}
