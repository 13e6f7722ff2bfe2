//! What goes wrong: each with its exit code, in text and in JSON, and never with a password.

use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runner::{User, numbered, wait};
use crate::support::{Server, database, empty_database, free_port, psql};

/// Every command that opens the database.
const COMMANDS: &[&[&str]] = &[
    &["list"],
    &["show", "1"],
    &["submit", "x"],
    &["submit", "--wait", "x"],
    &["cancel", "1"],
    &["approve", "1@0", "2@0"],
    &["status"],
    &["instances"],
    &["doctor"],
    &["migrate"],
    &["--no-ui"],
];

/// Those that somebody waits for. A worker waits for its database itself; `tests/ends/starting.rs` has that.
fn commands() -> impl Iterator<Item = &'static [&'static str]> {
    COMMANDS.iter().copied().filter(|command| command[0] != "--no-ui")
}

#[test]
fn a_server_that_goes_away_is_exit_5_and_is_not_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = listener.local_addr().expect("an address").port();
    let tries = Arc::new(AtomicU32::new(0));
    std::thread::spawn({
        let tries = Arc::clone(&tries);
        move || {
            // Each is let in and dropped at once.
            while listener.accept().is_ok() {
                tries.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let user = User::of(&format!("postgresql://app@127.0.0.1:{port}/none?sslmode=disable"));
    for command in commands() {
        let before = tries.load(Ordering::SeqCst);
        let run = user.run(command);
        assert_eq!(run.code, 5, "{command:?}: {run:?}");
        assert_eq!(tries.load(Ordering::SeqCst) - before, 1, "{command:?}: {run:?}");
    }
}

#[test]
fn an_address_where_nobody_listens_is_exit_5() {
    let port = free_port();
    let user = User::of(&format!("postgresql://app:s3cret-word@127.0.0.1:{port}/none"));
    for command in commands() {
        let run = user.run(command);
        assert_eq!(run.code, 5, "{command:?}: {run:?}");
        let said = format!("{}{}", run.out, run.err);
        assert!(said.contains(&format!("cannot connect to 127.0.0.1:{port}")), "{command:?}: {run:?}");
        assert!(!said.contains("s3cret-word"), "{command:?}: {run:?}");
        let json = user.json(5, command);
        assert_eq!(json["error"]["kind"], "unavailable", "{command:?}");
        assert!(json["error"]["hint"].is_string() && !json.to_string().contains("s3cret-word"), "{json}");
    }
}

#[test]
fn a_wrong_password_is_exit_5_and_never_printed() {
    let server = Server::start();
    let ask = |sql: &str| server.psql("postgres", sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    ask("CREATE ROLE locked LOGIN PASSWORD 'right'");
    let hba = ask("SHOW hba_file");
    ask(&format!(
        "COPY (SELECT unnest(ARRAY['host all locked all scram-sha-256', 'host all all all trust', 'local all all trust'])) TO '{hba}'"
    ));
    ask("SELECT pg_reload_conf()");
    let url = format!("postgresql://locked:s3cret-word@127.0.0.1:{}/postgres", server.port());
    crate::runner::eventually("the server asks for passwords", || psql(&url, "SELECT 1").is_err());
    let user = User::of(&url);
    for command in COMMANDS {
        let run = user.run(command);
        assert_eq!(run.code, 5, "{command:?}: {run:?}");
        assert!(!format!("{run:?}").contains("s3cret-word"), "{command:?}: {run:?}");
    }
    let error = user.json(5, &["list"]);
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("password")), "{error}");
    assert!(error["error"]["hint"].as_str().is_some_and(|text| text.contains("locked")), "{error}");
}

#[test]
fn no_output_of_any_command_shows_the_password() {
    let url = empty_database().replace("tester@", "tester:s3cret-word@");
    let file = User::new();
    file.file(".config/taskdeck/config.toml", format!("database_url = \"{url}\"\noperator = \"x\""));
    let listless: Vec<&[&str]> = commands().collect();
    let waiting: &[&str] = &["submit", "--wait", "--timeout", "10ms", "x"];
    let more: [&[&str]; 4] = [&["config"], &["-vvv", "list"], &["--poll", "x", "config"], &["nonsense"]];
    for user in [User::of(&url), file] {
        for command in listless
            .iter()
            .copied()
            .filter(|command| command[1..] != ["--wait", "x"])
            .chain(more)
            .chain([waiting])
        {
            for format in ["text", "json"] {
                let args: Vec<&str> = ["--output", format].iter().chain(command).copied().collect();
                let run = user.run(&args);
                assert!(!format!("{run:?}").contains("s3cret-word"), "{args:?}: {run:?}");
            }
        }
    }
    let misplaced = User::new().run(&[&url]);
    assert_eq!(misplaced.code, 2);
    assert!(!format!("{misplaced:?}").contains("s3cret-word"), "{misplaced:?}");
}

#[test]
fn a_wrong_command_line_is_exit_2_also_in_json() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    let wrong: &[&[&str]] = &[
        &["nonsense"],
        &["--nonsense"],
        &["show"],
        &["cancel"],
        &["submit", "--lines", "f", "--file", "g"],
        &["--queue", "mail", "submit", "x"],
        &["--workers", "3", "list"],
        &["--no-ui", "list"],
        &["--poll", "-5s"],
        &["--workers", "-1", "--no-ui"],
        &["--config", "/nowhere.toml", "list"],
        &["--schema", "No", "list"],
        &["--database-url", "", "list"],
        &["--database-url", "mysql://x/y", "list"],
        &["private", "destroy", "now"],
        &["completions", "tcsh"],
        &["--log-file", "/nowhere/log", "list"],
        &["list", "--output", "yaml"],
    ];
    for args in wrong {
        let run = user.run(args);
        assert_eq!(run.code, 2, "{args:?}: {run:?}");
        assert!(run.out.is_empty() && run.err.contains("error: "), "{args:?}: {run:?}");
        if args.last() == Some(&"yaml") {
            continue;
        }
        let error = user.json(2, args);
        assert!(error["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{args:?}: {error}");
        assert!(["usage", "config"].contains(&error["error"]["kind"].as_str().expect("a kind")), "{error}");
    }
    let error = user.json(2, &["--queue", "mail", "submit", "x"]);
    assert!(
        error["error"]["hint"].as_str().is_some_and(|hint| hint.contains("behind the command")),
        "{error}"
    );
}

#[test]
fn the_console_needs_a_terminal() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    let run = user.run(&[]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("terminal") && run.err.contains("--no-ui"), "{run:?}");
    assert_eq!(user.json(2, &[])["error"]["kind"], "no_terminal");
}

#[tokio::test]
async fn a_reader_that_went_away_is_no_panic() {
    let db = database().await;
    let user = User::of(&db.url);
    let lines = numbered("a line of some length, number", 1..=2_000);
    assert_eq!(user.run_with(&["submit", "--lines", "-"], lines.as_bytes()).code, 0);
    for args in [
        &["list", "--limit", "2000"][..],
        &["--output", "json", "list", "--limit", "2000"],
        &["--help"],
        &["man"],
    ] {
        let mut command = user.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start");
        drop(child.stdout.take());
        let code = wait(&mut child, args);
        let mut err = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().expect("piped"), &mut err).expect("read");
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let user = User::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("open /dev/full");
    let mut command = user.command(&["config"]);
    command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    let output = command.output().expect("run");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"));
}

#[tokio::test]
async fn a_role_that_may_not_work_is_told_so_at_the_start() {
    let db = crate::support::database().await;
    db.psql(
        "CREATE ROLE only_looks LOGIN; GRANT USAGE ON SCHEMA taskdeck TO only_looks; \
             GRANT SELECT ON ALL TABLES IN SCHEMA taskdeck TO only_looks",
    );
    let user = User::of(&db.url.replace("tester@", "only_looks@"));
    let refused = user.json(7, &["--no-ui"]);
    assert_eq!(refused["error"]["kind"], "refused");
    assert!(
        refused["error"]["message"].as_str().is_some_and(|text| text.contains("may not run tasks")),
        "{refused}"
    );
}
