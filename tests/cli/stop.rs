//! `taskdeck stop`: workers elsewhere end because they were asked to, and the command sees them do it.

use serde_json::json;

use crate::runner::{User, eventually};
use crate::support::database;
use crate::workers::Worker;

/// Waits until `count` instances work; their documents.
fn working(user: &User, count: usize) -> Vec<serde_json::Value> {
    let list = || user.json(0, &["instances"])["instances"].as_array().expect("a list").clone();
    let works = |list: &[serde_json::Value]| list.iter().filter(|one| one["state"] == "working").count();
    eventually("they work", || works(&list()) == count);
    list()
}

fn label(instance: &serde_json::Value) -> String {
    format!("{}:{}", instance["host"].as_str().expect("a host"), instance["pid"])
}

#[tokio::test]
async fn all_workers_end_because_they_were_asked_to() {
    let db = database().await;
    let user = User::of(&db.url);
    let none = user.json(0, &["stop", "--all"]);
    assert_eq!((&none["outcome"], &none["message"]), (&json!("committed"), &json!("no workers run")));
    let (one, two) = (Worker::start(&user, &[]), Worker::start(&user, &["--work-delay", "1s"]));
    working(&user, 2);
    let id = user.json(0, &["submit", "in flight"])["task"]["id"].to_string();
    eventually("it runs", || user.json(0, &["show", &id])["task"]["status"] != "QUEUED");
    let answer = user.json(0, &["stop", "--all", "--reason", "new release", "--wait", "--timeout", "55s"]);
    assert_eq!((&answer["outcome"], &answer["mode"]), (&json!("committed"), &json!("drain")));
    let asked = answer["instances"].as_array().expect("a list");
    assert_eq!(asked.len(), 2);
    for one in asked {
        assert_eq!((&one["outcome"], &one["instance"]["state"]), (&json!("committed"), &json!("stopped")));
        let stop = &one["instance"]["stop"];
        assert_eq!((&stop["mode"], &stop["by"]), (&json!("drain"), &json!("tester")));
        assert_eq!(stop["reason"], "new release");
    }
    assert_eq!((one.ended(), two.ended()), (0, 0), "a clean end each");
    assert_eq!(user.json(0, &["show", &id])["task"]["status"], "SUCCEEDED");
    assert!(user.text(0, &["instances"]).contains("stopped, asked by tester"));
}

#[tokio::test]
async fn one_is_named_by_its_id_the_beginning_of_it_or_its_host_and_pid() {
    let db = database().await;
    let user = User::of(&db.url);
    let workers = [Worker::start(&user, &[]), Worker::start(&user, &[]), Worker::start(&user, &[])];
    let listed = working(&user, 3);
    let ids: Vec<&str> = listed.iter().map(|one| one["id"].as_str().expect("an id")).collect();
    let labels: Vec<String> = listed.iter().map(label).collect();

    let unknown = user.json(4, &["stop", "nowhere:1"]);
    assert_eq!(unknown["error"]["kind"], "not_found");
    let several = user.json(2, &["stop", &ids[0][..3]]);
    assert!(several["error"]["message"].as_str().is_some_and(|text| text.contains(ids[1])), "{several}");
    assert_eq!(user.json(2, &["stop", &labels[0], ids[0]])["error"]["kind"], "usage", "named twice");
    assert_eq!(user.json(2, &["stop", "--mode", "kill", ids[0]])["error"]["kind"], "usage");
    assert_eq!(user.run(&["stop"]).code, 2);
    assert_eq!(user.json(7, &["--read-only", "stop", ids[0]])["error"]["kind"], "refused");
    let stale = user.json(3, &["stop", &format!("{}@7", ids[0])]);
    assert_eq!(
        (&stale["outcome"], &stale["instances"][0]["outcome"]),
        (&json!("conflict"), &json!("conflict"))
    );
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.events"), "0", "nobody was asked so far");

    let text = user.text(0, &["stop", &labels[1], "--mode", "cancel", "--wait"]);
    assert_eq!(text, format!("{}: has stopped\n", labels[1]));
    user.text(0, &["stop", &format!("{}@0", ids[0]), "--wait"]);
    let unique = &ids[2][..ids[2].len() - 1];
    user.text(0, &["stop", unique, "--wait"]);
    for worker in workers {
        assert_eq!(worker.ended(), 0);
    }
    let again = user.json(3, &["stop", ids[2]]);
    assert!(again["message"].as_str().is_some_and(|text| text.contains("it has stopped")), "{again}");
}
