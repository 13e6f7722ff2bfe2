//! A process that delivers notifications is killed, stopped or cut off at each step of a delivery: everything is told at
//! least once and in order, nothing before it was decided, and nothing twice without a reason.

use std::collections::BTreeMap;

use rustix::process::Signal;

use crate::desk::{Desk, wait_until};
use crate::process::Process;
use crate::proxy::{Cut, Proxy};
use crate::receiver::{Receiver, WAITS};
use crate::support::{Server, empty_database, shared_server};
use crate::worker::Headless;

/// A text that only the statement holds which says that something was delivered.
const DONE: &str = "coalesce(delivered_at";
/// A text that only the statement holds which puts a delivery off.
const RETRY: &str = "), behind AS (";
/// A text that only the statement of a delivery's claim holds.
const CLAIM: &str = "o.claim_no = due.claim_no";

/// A lease for who is to lose it, and for who is not.
const SHORT: [&str; 2] = ["--lease", "5s"];

/// A process that delivers and does nothing else.
fn deliverer(url: &str, receiver: &Receiver, flags: &[&str]) -> Headless {
    let hook = receiver.hook();
    let flags = [&["--workers", "0", "--poll", "200ms", "--hook", &hook][..], flags].concat();
    Headless::start(url, &flags, &[])
}

/// A held task that is to be told of, and its rejection.
fn rejected(desk: &Desk) -> i64 {
    let id = desk.submit(&["--notify", "--hold", "text"]);
    assert!(desk.taskdeck(&["reject", &id.to_string()]).status.success());
    id
}

fn wait_delivered(desk: &Desk) {
    wait_until("everything is delivered", || {
        let left = desk.psql("SELECT count(*) FROM taskdeck.outbox WHERE delivered_at IS NULL");
        (left == "0").then_some(())
    });
}

fn ends_well(worker: Headless) {
    worker.process().signal(Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
    assert!(end.log.lines().last().unwrap_or_default().contains("nothing was left"), "{}", end.log);
}

/// Which claims there were, and whether the first one's owner is lost.
fn claims(desk: &Desk) -> String {
    desk.psql(
        "SELECT o.claim_no, (SELECT count(*) FROM taskdeck.instances i WHERE i.state = 'lost') FROM taskdeck.outbox o",
    )
}

#[test]
fn killed_before_the_hook_was_begun() {
    let url = empty_database();
    let (proxy, _runtime) = Proxy::start_aside(shared_server().port());
    let desk = Desk::open(&url);
    let receiver = Receiver::with("");
    let id = rejected(&desk);
    proxy.cut(Cut::Stall, CLAIM);
    let patient = [&SHORT[..], &["--statement-timeout", "10m"]].concat();
    let first = deliverer(&proxy.address(&url), &receiver, &patient);
    // It has claimed it, and does not know.
    wait_until("the claim", || (desk.psql("SELECT claim_no FROM taskdeck.outbox") == "1").then_some(()));
    first.process().signal(Signal::KILL);
    assert_eq!(first.end().code, None);
    assert_eq!(receiver.log(), [""; 0]);
    let second = deliverer(&url, &receiver, &[]);
    wait_delivered(&desk);
    assert_eq!(
        (receiver.of(id), claims(&desk)),
        (vec!["begun 1 2".to_owned(), "ended 1 2".to_owned()], "2|1".to_owned())
    );
    ends_well(second);
}

#[test]
fn killed_while_the_hook_runs() {
    let desk = Desk::open(&empty_database());
    let receiver = Receiver::with(WAITS);
    let first = deliverer(&desk.url(), &receiver, &SHORT);
    let id = rejected(&desk);
    wait_until("the hook", || (receiver.of(id).len() == 1).then_some(()));
    let hook = Process::child_of(first.process().pid, "sh");
    first.process().signal(Signal::KILL);
    first.end();
    hook.signal(Signal::KILL);
    receiver.open();
    let second = deliverer(&desk.url(), &receiver, &[]);
    wait_delivered(&desk);
    assert_eq!(
        (receiver.of(id), claims(&desk)),
        (["begun 1 1", "begun 1 2", "ended 1 2"].map(str::to_owned).to_vec(), "2|1".to_owned())
    );
    ends_well(second);
}

#[test]
fn killed_after_the_hook_has_ended_and_before_that_was_written_down() {
    let url = empty_database();
    let (proxy, _runtime) = Proxy::start_aside(shared_server().port());
    let desk = Desk::open(&url);
    let receiver = Receiver::with("");
    for _ in 0..500 {
        proxy.cut(Cut::Before, DONE);
    }
    let first = deliverer(&proxy.address(&url), &receiver, &SHORT);
    let id = rejected(&desk);
    wait_until("the end of the hook, which is not heard", || {
        (receiver.of(id).len() == 2 && proxy.cuts() > 0).then_some(())
    });
    first.process().signal(Signal::KILL);
    first.end();
    assert_eq!(desk.psql("SELECT count(delivered_at) FROM taskdeck.outbox"), "0");
    let second = deliverer(&url, &receiver, &[]);
    wait_delivered(&desk);
    // Told twice, and the first owner is lost: that is why.
    let said = ["begun 1 1", "ended 1 1", "begun 1 2", "ended 1 2"].map(str::to_owned).to_vec();
    assert_eq!((receiver.of(id), claims(&desk)), (said, "2|1".to_owned()));
    ends_well(second);
}

/// The hook has failed, and that is not written down either.
#[test]
fn killed_after_the_hook_has_failed_and_before_it_was_put_off() {
    let url = empty_database();
    let (proxy, _runtime) = Proxy::start_aside(shared_server().port());
    let desk = Desk::open(&url);
    let receiver = Receiver::with("[ $TASKDECK_DELIVERY != 1 ] || exit 1");
    for _ in 0..500 {
        proxy.cut(Cut::Before, RETRY);
    }
    let first = deliverer(&proxy.address(&url), &receiver, &SHORT);
    let id = rejected(&desk);
    wait_until("the failure of the hook, which is not heard", || {
        (receiver.of(id).len() == 1 && proxy.cuts() > 0).then_some(())
    });
    first.process().signal(Signal::KILL);
    first.end();
    let held = "SELECT claimed_by IS NOT NULL, claim_no, error FROM taskdeck.outbox";
    assert_eq!(desk.psql(held), "t|1|", "it is still the first one's");
    let second = deliverer(&url, &receiver, &[]);
    wait_delivered(&desk);
    let said = ["begun 1 1", "begun 1 2", "ended 1 2"].map(str::to_owned).to_vec();
    assert_eq!((receiver.of(id), claims(&desk)), (said, "2|1".to_owned()));
    ends_well(second);
}

#[test]
fn a_hook_that_is_killed_or_fails_is_tried_until_it_has_told_it() {
    let desk = Desk::open(&empty_database());
    let receiver =
        Receiver::with("case $TASKDECK_DELIVERY in 1) kill -KILL $$ ;; 2) echo not now >&2; exit 1 ;; esac");
    let worker = deliverer(&desk.url(), &receiver, &[]);
    let id = rejected(&desk);
    wait_delivered(&desk);
    assert_eq!(receiver.of(id), ["begun 1 1", "begun 1 2", "begun 1 3", "ended 1 3"]);
    let log = worker.log();
    assert!(log.contains("killed by SIGKILL (9)") && log.contains("exit 1: not now"), "{log}");
    ends_well(worker);
}

#[test]
fn a_database_that_restarts_while_the_hook_runs_is_told_its_end_once() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    let desk = Desk::open(&server.url("work"));
    let receiver = Receiver::with(WAITS);
    let worker = deliverer(&desk.url(), &receiver, &["--lease", "5m"]);
    let id = rejected(&desk);
    wait_until("the hook", || (receiver.of(id).len() == 1).then_some(()));
    server.stop();
    receiver.open();
    wait_until("the end of the hook", || (receiver.of(id).len() == 2).then_some(()));
    server.start_again();
    wait_delivered(&desk);
    assert_eq!(receiver.of(id), ["begun 1 1", "ended 1 1"]);
    ends_well(worker);
}

/// Two processes that work and deliver, one of them killed on the way: each task's notifications in the order of its
/// versions, each told, none twice but after its owner was lost; and each hook sees what it tells of in the table.
#[test]
fn two_processes_share_what_is_to_be_told_and_one_is_killed() {
    let desk = Desk::open(&empty_database());
    let sees = format!(
        "seen=$(psql -X -A -t -d '{}' -c \"SELECT version >= $TASKDECK_VERSION FROM taskdeck.tasks WHERE id = $TASKDECK_TASK_ID\")\n\
         [ \"$seen\" = t ] || say \"early:$seen\"\n\
         echo begun >>\"$here/of$PPID\"\n{WAITS}\n\
         kill -0 $PPID || exit 1",
        desk.url()
    );
    let receiver = Receiver::with(&sees);
    let hook = receiver.hook();
    let flags = ["--workers", "1", "--poll", "200ms", "--hook", &hook];
    let first = Headless::start(&desk.url(), &[&flags[..], &SHORT].concat(), &[]);
    let second = Headless::start(&desk.url(), &flags, &[]);
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(desk.submit(&["--notify", "--hold", "two words"]));
    }
    let named: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    assert!(desk.taskdeck(&[&["approve"][..], &named].concat()).status.success());
    // It is killed between the two lines of its hooks, which end with it.
    let begun = format!("of{}", first.process().pid);
    wait_until("a hook of the first", || (!receiver.file(&begun).is_empty()).then_some(()));
    first.process().signal(Signal::KILL);
    first.end();
    receiver.open();
    wait_until("everything has ended", || {
        (desk.psql("SELECT count(*) FROM taskdeck.tasks WHERE status = 'SUCCEEDED'") == "12").then_some(())
    });
    wait_delivered(&desk);
    for id in &ids {
        let said = receiver.of(id);
        assert!(!said.iter().any(|line| line.starts_with("early")), "{id}: {said:?}");
        // What each delivery told in the end, in the order of telling.
        let mut told: BTreeMap<i64, i64> = BTreeMap::new();
        let mut latest = 0;
        for line in &said {
            let words: Vec<&str> = line.split(' ').collect();
            let (version, delivery): (i64, i64) =
                (words[1].parse().expect("a version"), words[2].parse().expect("a number"));
            assert!(version >= latest, "{id}: {said:?}");
            latest = version;
            if words[0] == "ended" {
                told.insert(version, delivery);
            }
        }
        let versions: Vec<i64> = told.keys().copied().collect();
        let written = desk.psql(&format!(
            "SELECT string_agg(version::text, ' ' ORDER BY version) FROM taskdeck.outbox WHERE task_id = {id}"
        ));
        assert_eq!(
            versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            written,
            "{id}: {said:?}"
        );
    }
    // More than one delivery was begun of those alone that the killed process had.
    let again = desk.psql("SELECT count(*) FROM taskdeck.outbox WHERE claim_no > 1");
    let twice =
        receiver.log().iter().filter(|line| line.starts_with("begun") && !line.ends_with(" 1")).count();
    assert_eq!(twice.to_string(), again);
    let again: usize = again.parse().expect("a number");
    assert!((1..=4).contains(&again), "what it had begun, and no more than it could have had: {again}");
    ends_well(second);
}

#[test]
fn a_drain_waits_for_the_hook_and_a_third_signal_names_what_it_leaves() {
    let desk = Desk::open(&empty_database());
    let receiver = Receiver::with(WAITS);
    let worker = deliverer(&desk.url(), &receiver, &[]);
    let id = rejected(&desk);
    wait_until("the hook", || (receiver.of(id).len() == 1).then_some(()));
    worker.process().signal(Signal::TERM);
    worker.wait_log("draining", 1);
    receiver.open();
    let end = worker.end();
    assert_eq!((end.code, receiver.of(id).len()), (Some(0), 2), "{}", end.log);

    let receiver = Receiver::with(&format!("trap '' TERM\n{WAITS}"));
    let worker = deliverer(&desk.url(), &receiver, &["--grace", "10m"]);
    let id = rejected(&desk);
    wait_until("the hook", || (receiver.of(id).len() == 1).then_some(()));
    for told in ["draining", "canceling", "leaving"] {
        worker.process().signal(Signal::TERM);
        worker.wait_log(told, 1);
    }
    let end = worker.end();
    assert_eq!(end.code, Some(1), "{}", end.log);
    let last = end.log.lines().last().unwrap_or_default();
    assert!(
        last.contains(&format!("notifications=\"{id}@1\""))
            || last.contains(&format!("notifications={id}@1")),
        "{last}"
    );
    assert!(last.contains("for the second time"), "{last}");
}

/// A hook gets a text, not the database.
#[test]
fn no_secret_is_in_the_environment_of_a_hook() {
    let desk = Desk::open(&empty_database());
    let receiver = Receiver::with("env >\"$here/env\"");
    let hook = receiver.hook();
    let variables = [
        ("PGPASSWORD", "s3cret"),
        ("DATABASE_URL", "postgresql://a:s3cret@h/d"),
        ("NOTIFY_SOCKET", "/nowhere"),
    ];
    let worker = Headless::start(&desk.url(), &["--workers", "0", "--hook", &hook], &variables);
    rejected(&desk);
    wait_delivered(&desk);
    let env = receiver.file("env");
    assert!(env.contains("TASKDECK_VERSION=1"), "{env}");
    for hidden in ["s3cret", "TASKDECK_DATABASE_URL", "NOTIFY_SOCKET"] {
        assert!(!env.contains(hidden), "{hidden}: {env}");
    }
    ends_well(worker);
}
