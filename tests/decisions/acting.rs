//! The process that acted, in the audit trail: which one it was, filled in by the database.

use serde_json::{Value, json};
use taskdeck::domain::Process;

use crate::desk::{Desk, dialog, wait_until};
use crate::racers::{Racer, for_a_row, until_all_wait};
use crate::runner::User;
use crate::scene::{fill, number, outside};
use crate::support::{database, empty_database, psql, until};
use crate::worker::Headless;

/// What the events of the database say about their processes, the oldest first.
fn processes(user: &User) -> Vec<String> {
    let document = user.json(0, &["events"]);
    let events = document["events"].as_array().expect("a list");
    events.iter().map(|event| event["process"].as_str().expect("a process").to_owned()).collect()
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_act_tells_its_process_in_the_trail_and_in_the_tasks_history() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "--hold", "x"]);
    let racer = Racer::start(&user, "ann", "approve", &["1@0".to_owned()]);
    let pid = racer.pid;
    assert_eq!(racer.end().code, 0);
    let place = format!("{}:{pid}", host());
    assert_eq!(processes(&user), [format!("taskdeck approve ann@{place} operator")]);
    let show = user.json(0, &["show", "1"]);
    assert_eq!(show["events"][0]["process"], json!(format!("taskdeck approve ann@{place} operator")));
    for text in [user.text(0, &["events"]), user.text(0, &["show", "1"])] {
        assert!(text.contains(&format!("approve {place}")), "{text}");
        assert!(!text.contains("operator"), "only what for and where: {text}");
    }

    // Another hand under the same name: the loser is told where.
    let conflict = user.json(3, &["--operator", "ann", "reject", "1@0"]);
    let message = conflict["message"].as_str().expect("a message");
    assert!(message.contains(&format!(" ago from {place} (v0 → v1)")), "{message}");
    let other = user.json(3, &["--operator", "ben", "reject", "1@0"]);
    assert!(other["message"].as_str().is_some_and(|text| !text.contains(" from ")), "{other}");

    // What was written before there was such a column, and by a session without a name.
    db.psql("UPDATE taskdeck.events SET process = NULL");
    assert_eq!(user.json(0, &["events"])["events"][0]["process"], Value::Null);
    let nameless = "SET application_name = ''; INSERT INTO taskdeck.events (task_id, actor, move, status_before, \
         status_after, version_before, version_after, operation_id) VALUES (1, 'sql', 'approve', 'SUBMITTED', 'QUEUED', 0, 1, \
         gen_random_uuid())";
    psql(&db.url, nameless).expect("insert");
    psql(&db.url, &nameless.replace("SET application_name = '';", "")).expect("insert");
    let events = user.json(0, &["show", "1"])["events"].clone();
    assert_eq!((&events[1]["process"], &events[2]["process"]), (&Value::Null, &json!("psql")), "{events}");
    assert!(user.text(0, &["events"]).contains(" psql "), "another program's name is told as it is");
}

/// Workers, recoverers and what operators do to queues and processes, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_and_whoever_asks_them_to_stop_are_told_too() {
    let db = database().await;
    let watch = outside(&db.url).await;
    let user = User::of(&db.url);
    fill(&watch, 1, "status, scheduled_at", "'QUEUED', now()").await;
    let worker = Headless::start(&db.url, &["--exec", "false", "--operator", "svc"], &[]);
    let place = format!("{}:{}", host(), worker.process().pid);
    until("a failed attempt", || async {
        (number(&watch, "SELECT count(*) FROM taskdeck.events").await > 0).then_some(())
    })
    .await;
    assert_eq!(processes(&user)[0], format!("taskdeck headless svc@{place} workers"));
    assert_eq!(user.json(0, &["events"])["events"][0]["actor"], json!(place), "as instances are called");
    for args in [&["pause", "default"][..], &["stop", "--all"]] {
        user.text(0, args);
        let last = processes(&user).pop().expect("an event");
        assert!(last.starts_with(&format!("taskdeck {} tester@{}:", args[0], host())), "{last}");
    }
}

/// Neither an address that has a name for us nor a long operator hides host and process id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_name_hides_host_and_process_id() {
    let db = database().await;
    let named =
        format!("{}?application_name=nightly%20import%20of%20the%20accounts%20department%20@far:1", db.url);
    let long = "Maximilian Mustermann-Öztürk <max@example.com>, on behalf of the whole department";
    let users = [
        User::of(&named),
        User::of(&db.url).with("PGAPPNAME", "psql"),
        User::of(&db.url).with("TASKDECK_OPERATOR", long),
        User::of(&named).with("TASKDECK_OPERATOR", long),
    ];
    for (user, id) in users.iter().zip(1..) {
        user.text(0, &["submit", "--hold", "x"]);
        let mut command = user.command(&["approve", &format!("{id}@0")]);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("start");
        let pid = child.id();
        assert!(child.wait().expect("wait").success());
        let process = processes(&users[0]).pop().expect("an event");
        let place = format!("{}:{pid}", host());
        assert_eq!(Process(process.clone()).place(), Some(place.as_str()), "{process}");
        assert!(process.starts_with("taskdeck approve ") && process.len() <= 63, "{process}");
    }
    let told = processes(&users[0]);
    assert!(told[0].contains(" operator night") && told[1].ends_with(" operator psql"), "{told:?}");
    // All of a process's sessions are still counted as ours, and screen 3 says whose they are.
    let worker = Headless::start(&named, &["--workers", "1", "--operator", "svc"], &[]);
    let sessions = format!(
        "SELECT count(*) > 1, bool_and(starts_with(application_name, 'taskdeck headless svc@{}:{} ')) \
         FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
             AND application_name LIKE '%{}%'",
        host(),
        worker.process().pid,
        worker.process().pid
    );
    until("the sessions of a worker", || async { (db.psql(&sessions) == "t|t").then_some(()) }).await;
}

#[test]
fn the_console_says_from_where_the_operators_own_name_was_first() {
    let url = empty_database();
    let mut desk = Desk::open(&url);
    desk.start("--workers 0 --lock-timeout 50s --statement-timeout 55s");
    desk.begin_empty();
    let id = desk.submit(&["--hold", "whose is it"]);
    desk.wait_line(id, &["SUBMITTED"]);
    desk.terminal.keys("g");
    // The console is kept from learning of it, by a session that holds the row, until its own decision is on its way.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (mut holder, watch) = runtime.block_on(async { (outside(&url).await, outside(&url).await) });
    let gate = runtime.block_on(holder.transaction()).expect("begin");
    runtime
        .block_on(gate.batch_execute(&format!("SELECT FROM taskdeck.tasks WHERE id = {id} FOR UPDATE")))
        .expect("hold");
    let user = User::of(&url);
    let racer = Racer::start(&user, "alice", "reject", &[format!("{id}@0")]);
    let pid = racer.pid;
    let first = runtime.block_on(until_all_wait(&watch, &[pid], |_, wait| for_a_row(wait)));
    assert_eq!(first, [pid]);
    desk.terminal.keys("a");
    desk.terminal.wait_text("Approve");
    desk.terminal.keys("y");
    let both = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    wait_until("both behind the gate", || (desk.psql(both) == "2").then_some(()));
    runtime.block_on(gate.commit()).expect("open the gate");
    assert_eq!(racer.end().code, 0);
    let screen = desk.terminal.wait_text("Nothing was changed");
    let said = dialog(&screen);
    let place = format!("{}:{pid}", host());
    assert!(said.contains("alice rejected it") && said.contains(&format!("from {place}")), "{screen}");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed dialog", |screen| !screen.contains("Nothing was changed"));
    assert_eq!(desk.quit(), 0);
}
