//! Where an experiment cannot run it says so, with the reason: neither passed nor failed.

use serde_json::Value;

use crate::pooler::pooler;
use crate::runner::User;
use crate::running::nothing_is_left;
use crate::support::{Server, empty_database, psql, shared_server};

fn cannot(report: &Value, name: &str) -> String {
    let all = report["experiments"].as_array().expect("a list");
    let experiment = all.iter().find(|found| found["name"] == name).expect("it is named");
    assert_eq!(experiment["verdict"], "cannot_run_here", "{experiment}");
    experiment["message"].as_str().expect("a reason").to_owned()
}

#[test]
fn a_role_that_may_not_create_a_schema_is_told_so() {
    let url = empty_database();
    psql(&url, "CREATE ROLE guest LOGIN")
        .or_else(|error| if error.contains("already exists") { Ok(String::new()) } else { Err(error) })
        .expect("role");
    let user = User::of(&url.replace("tester@", "guest@"));
    let report = user.json(0, &["lab", "all"]);
    assert!(cannot(&report, "claim-race").contains("guest may not create a schema"));
    assert_eq!(report["experiments"][0]["name"], "isolation");
    assert_eq!(report["experiments"][0]["verdict"], "holds");
    let report = user.json(1, &["lab", "claim-race"]);
    assert_eq!(report["outcome"], "cannot_run_here");
    let text = user.text(1, &["lab", "claim-race"]);
    assert!(text.contains("CANNOT RUN HERE"), "{text}");
}

#[test]
fn a_standby_is_told_from_a_primary() {
    let mut primary = Server::start();
    let standby = primary.start_standby();
    let user = User::of(&standby.url("postgres"));
    let report = user.json(1, &["lab", "lost-reply"]);
    assert!(cannot(&report, "lost-reply").contains("standby"));
    assert_eq!(report["server"]["recovery"], true);
}

/// What needs no session settings runs behind a pooler too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_pooler_what_needs_session_settings_cannot_run() {
    let url = empty_database();
    let user = User::of(&pooler(&url, shared_server().port()).await);
    let run =
        tokio::task::spawn_blocking(move || user.run(&["--output", "json", "lab", "all", "--rounds", "2"]));
    let run = run.await.expect("no panic");
    let report = run.json();
    assert!(cannot(&report, "lock-timeout").contains("pooler"));
    assert_eq!(report["server"]["pooler"], true);
    for found in report["experiments"].as_array().expect("a list") {
        let (name, verdict) = (&found["name"], &found["verdict"]);
        let cannot = name == "lock-timeout" || name == "pool-starvation";
        let expected = if cannot { "cannot_run_here" } else { "holds" };
        assert_eq!(verdict, expected, "{name}: {}", found["message"]);
    }
    assert_eq!(run.code, 0);
    nothing_is_left(&url);
}

#[test]
fn a_server_that_looks_for_deadlocks_late_is_not_waited_for() {
    let url = empty_database();
    let set = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''60s''', current_database()); END $$";
    psql(&url, set).expect("set");
    let user = User::of(&url);
    let report = user.json(0, &["lab", "all", "--rounds", "1"]);
    for name in ["deadlock", "lock-timeout"] {
        assert!(cannot(&report, name).contains("deadlock_timeout"));
    }
}
