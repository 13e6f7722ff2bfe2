//! Without a database: the private server, announced, shared, looked after.

use crate::runner::User;
use crate::support::{programs, server_account};

/// A user with a data folder that the server's account can reach.
fn user() -> (User, tempfile::TempDir) {
    let folder = tempfile::Builder::new().prefix("tdp-").tempdir_in("/tmp").expect("a data folder");
    if let Some((uid, gid)) = server_account() {
        std::os::unix::fs::chown(folder.path(), Some(uid), Some(gid)).expect("give it to the server's user");
    }
    let user = User::new()
        .with("TASKDECK_DATA_DIR", folder.path().to_str().expect("UTF-8"))
        .with("TASKDECK_PG_BIN", programs().to_str().expect("UTF-8"));
    (user, folder)
}

#[test]
fn data_survives_and_the_last_one_out_stops_the_server() {
    let (user, _folder) = user();
    assert_eq!(user.json(0, &["private", "status"])["state"], "none");
    assert_eq!(user.json(4, &["private", "url"])["error"]["kind"], "not_found");
    let run = user.run(&["submit", "kept"]);
    assert_eq!(run.code, 0, "{run:?}");
    let announced: Vec<&str> = run.err.lines().filter(|line| line.contains("private PostgreSQL")).collect();
    assert_eq!(announced.len(), 1, "one line: {run:?}");
    assert_eq!(user.json(0, &["private", "status"])["state"], "stopped");
    assert_eq!(user.json(0, &["list"])["tasks"][0]["input"], "kept");
    assert_eq!(user.json(0, &["private", "stop"])["state"], "not_running");
    let refused = user.json(2, &["private", "destroy"]);
    assert!(refused["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--yes")), "{refused}");
    assert_eq!(user.json(0, &["list"])["tasks"][0]["input"], "kept", "nothing was removed");
    assert_eq!(user.json(0, &["private", "destroy", "--yes"])["state"], "removed");
    assert_eq!(user.json(0, &["private", "destroy"])["state"], "none");
}

#[test]
fn no_programs_is_a_configuration_error_that_says_what_to_install() {
    let (user, _folder) = user();
    let user = user.with("TASKDECK_PG_BIN", "/nowhere");
    let error = user.json(2, &["list"]);
    assert_eq!(error["error"]["kind"], "config");
    assert!(error["error"]["hint"].as_str().is_some_and(|hint| hint.contains("TASKDECK_PG_BIN")), "{error}");
}
