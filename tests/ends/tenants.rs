//! Who looks at one tenant sees no task of another, also where processes are shown.

use crate::desk::Desk;
use crate::support::empty_database;

#[test]
fn what_processes_have_in_flight_names_only_the_tenants_own_tasks() {
    let url = empty_database();
    let mut workers = Desk::open(&url);
    workers.start("--workers 2 --work-delay 50s");
    workers.begin_empty();
    let other = workers.submit(&["--tenant", "other", "not to be seen"]);
    workers.wait_row(other, |row| row.starts_with("RUNNING"));
    let own = workers.submit(&["--tenant", "own", "mine"]);
    workers.wait_row(own, |row| row.starts_with("RUNNING"));

    let of = |tenant: &[&str]| {
        let output = workers.taskdeck(&[&["instances", "--output", "json"], tenant].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
        let instance = document["instances"][0].clone();
        let flight = instance["in_flight"].as_array().expect("a list").iter();
        let ids: Vec<_> = flight.map(|flight| flight["id"].as_i64().expect("an id")).collect();
        (ids, instance["running"].as_i64(), instance["of_other_tenants"].as_i64())
    };
    assert_eq!(of(&[]), (vec![other, own], Some(2), Some(0)));
    assert_eq!(of(&["--tenant", "own"]), (vec![own], Some(2), Some(1)));
    let text = workers.taskdeck(&["instances", "--tenant", "own"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains(&format!("{own} 1 of other tenants")), "{text}");

    let mut desk = Desk::open(&url);
    desk.start("--read-only --tenant own");
    desk.terminal.keys("2");
    desk.terminal.wait_text(&format!("{own} 1 of other tenants"));
    assert_eq!(desk.quit(), 0);
    workers.terminal.keys("qc");
    assert_eq!(workers.back_in_shell(), 0);
}
