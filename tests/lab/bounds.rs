//! A run is bounded, ends when it is told to, and is alone.

use rustix::process::Signal;

use crate::runner::User;
use crate::running::{Running, nothing_is_left, number, schemas};
use crate::support::{empty_database, psql};

#[test]
fn signals_end_it_and_it_cleans_up() {
    let url = empty_database();
    let user = User::of(&url);
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let running = Running::start(&user, &url, 5, &["all", "--rounds", "1000"]);
        running.signal(signal);
        let (code, report) = running.end();
        assert_eq!(code, 1, "{report}");
        assert!(report["stopped"].as_str().is_some_and(|why| why.contains(name)), "{}", report["stopped"]);
        assert_eq!(report["left_behind"], serde_json::Value::Null);
        let last = report["experiments"].as_array().and_then(|all| all.last()).expect("each is named");
        assert_eq!((&last["name"], &last["verdict"]), (&"lease-loss".into(), &"not_shown".into()));
        nothing_is_left(&url);
    }
}

#[test]
fn the_time_that_is_given_is_all_that_it_takes() {
    let url = empty_database();
    let user = User::of(&url);
    let report = user.json(1, &["lab", "deadlock", "--rounds", "1000", "--timeout", "3s"]);
    let rounds = report["experiments"][0]["rounds"].as_array().expect("rounds").len();
    assert!(rounds < 1_000, "{rounds}");
    assert!(
        report["stopped"].as_str().is_some_and(|why| why.contains("--timeout 3s")),
        "{}",
        report["stopped"]
    );
    nothing_is_left(&url);
}

#[test]
fn rounds_and_callers_are_bounded() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    for wrong in [
        ["--rounds", "0"],
        ["--rounds", "1001"],
        ["--callers", "1"],
        ["--callers", "17"],
        ["--timeout", "-1s"],
        ["--timeout", "soon"],
        ["--save", "/proc/nowhere/at-all"],
    ] {
        let args: Vec<&str> = ["lab", "all"].iter().chain(&wrong).copied().collect();
        assert_eq!(user.run(&args).code, 2, "{wrong:?}");
    }
    assert_eq!(user.run(&["lab", "no-such"]).code, 2);
    assert_eq!(user.run(&["lab", "all", "file.json"]).code, 2);
}

#[test]
fn more_callers_are_more_callers() {
    let url = empty_database();
    let report = User::of(&url).json(0, &["lab", "claim-race", "--rounds", "2", "--callers", "6"]);
    for round in report["experiments"][0]["rounds"].as_array().expect("rounds") {
        assert_eq!(round["calls"].as_array().map(Vec::len), Some(6));
    }
}

#[test]
fn read_only_is_refused_before_anybody_is_asked() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    assert_eq!(user.json(7, &["--read-only", "lab", "all"])["error"]["kind"], "refused");
}

#[test]
fn two_labs_at_once_leave_each_other_alone() {
    let url = empty_database();
    let user = User::of(&url);
    let first = Running::start(&user, &url, 3, &["claim-race", "--rounds", "1000"]);
    let before = number(&url, "SELECT count(*) FROM taskdeck_lab.tasks");
    let second = user.json(3, &["lab", "claim-race"]);
    assert_eq!(second["error"]["kind"], "conflict");
    let message = second["error"]["message"].as_str().expect("a message");
    assert!(message.contains("another lab is at work") && message.contains("(pid "), "{message}");
    assert!(number(&url, "SELECT count(*) FROM taskdeck_lab.tasks") >= before, "it was not made anew");
    first.signal(Signal::INT);
    let (_, report) = first.end();
    let experiment = &report["experiments"][0];
    assert_eq!(experiment["broken"], serde_json::json!([]));
    assert!(experiment["proving"].as_u64() > Some(0), "{experiment}");
    nothing_is_left(&url);
}

/// A schema that only bears the name is somebody's own.
#[test]
fn a_schema_that_no_lab_made_is_not_touched() {
    let url = empty_database();
    psql(&url, "CREATE SCHEMA taskdeck_lab; CREATE TABLE taskdeck_lab.mine (); COMMENT ON SCHEMA taskdeck_lab IS 'mine'")
        .expect("make");
    let user = User::of(&url);
    let error = user.json(7, &["lab", "all"]);
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("no lab made")), "{error}");
    assert_eq!(number(&url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'taskdeck_lab'"), 1);
    assert_eq!(schemas(&url), 1);
    let other = user.json(0, &["--schema", "work", "lab", "claim-race", "--rounds", "1"]);
    assert_eq!(other["server"]["schema"], "work_lab");
}
