//! `taskdeck stop`: workers elsewhere end because they were asked to, and the command sees them do it.

use serde_json::json;

use crate::runner::{User, eventually};
use crate::support::{database, unique};
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
    let nobody = json!("no workers run, so nobody was asked");
    assert_eq!((&none["outcome"], &none["message"]), (&json!("committed"), &nobody));
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

    let several = user.json(2, &["stop", &ids[0][..5]]);
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
    // An id is written in either case.
    let unique = ids[2][..ids[2].len() - 1].to_uppercase();
    user.text(0, &["stop", &unique, "--wait"]);
    for worker in workers {
        assert_eq!(worker.ended(), 0);
    }
    let again = user.json(3, &["stop", ids[2]]);
    assert!(again["message"].as_str().is_some_and(|text| text.contains("it has stopped")), "{again}");
}

/// A task that runs until the file is there, held by a worker of `user`.
pub(crate) fn held(user: &User, file: &str) -> Worker {
    let file = user.home().join(file);
    let home = user.home().display();
    let until = format!("sh -c 'while [ -d {home} ] && [ ! -e {} ]; do sleep 0.05; done'", file.display());
    let worker = Worker::start(user, &["--grace", "10m", "--exec", &until]);
    working(user, 1);
    let id = user.json(0, &["submit", "held"])["task"]["id"].to_string();
    eventually("it runs", || user.json(0, &["show", &id])["task"]["status"] == "RUNNING");
    worker
}

#[tokio::test]
async fn a_wait_for_all_is_also_for_those_that_were_asked_before() {
    let db = database().await;
    let user = User::of(&db.url);
    let busy = held(&user, "end");
    let first = label(&working(&user, 1)[0]);
    user.text(0, &["stop", "--all", "--reason", "new release"]);
    // Everybody was asked before.
    let text = user.text(0, &["stop", "--all"]);
    assert!(text.contains(&first) && text.contains("already, tester asked it to drain at "), "{text}");
    let wait = ["stop", "--all", "--wait", "--timeout", "300ms"];
    let none_new = user.json(1, &wait);
    assert_eq!((&none_new["error"]["kind"], &none_new["outcome"]), (&json!("timeout"), &json!("committed")));
    let of_it = &none_new["instances"][0];
    assert_eq!(
        (&of_it["outcome"], &of_it["instance"]["state"]),
        (&json!("asked_before"), &json!("draining"))
    );
    let run = user.run(&wait);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("error: after 300ms still at work: ") && run.err.contains(&first), "{run:?}");
    // One is asked now, the other was asked before.
    let idle = Worker::start(&user, &[]);
    eventually("it works", || {
        let list = user.json(0, &["instances"]);
        list["instances"].as_array().expect("a list").iter().any(|one| one["state"] == "working")
    });
    let some_new = user.json(1, &wait);
    let outcomes: Vec<&serde_json::Value> =
        some_new["instances"].as_array().expect("a list").iter().map(|one| &one["outcome"]).collect();
    assert_eq!(outcomes, ["committed", "asked_before"]);
    assert!(some_new["error"]["message"].as_str().is_some_and(|text| text.contains(&first)), "{some_new}");
    assert_eq!(idle.ended(), 0);
    user.file("end", "");
    let answer = user.json(0, &["stop", "--all", "--wait"]);
    let states = answer["instances"].as_array().expect("a list").iter().map(|one| &one["instance"]["state"]);
    assert!(states.into_iter().all(|state| state == "stopped"), "{answer}");
    assert_eq!(busy.ended(), 0);
}

#[tokio::test]
async fn a_name_that_nobody_has_spares_none_of_the_others() {
    let db = database().await;
    let user = User::of(&db.url);
    let alone = user.json(4, &["stop", "nowhere:1"]);
    assert_eq!(
        (&alone["outcome"], &alone["instances"][0]["name"]),
        (&json!("not_found"), &json!("nowhere:1"))
    );
    let worker = Worker::start(&user, &[]);
    let name = label(&working(&user, 1)[0]);
    let both = user.json(4, &["stop", "nowhere:1", &name, "--wait"]);
    assert_eq!(both["outcome"], "not_found");
    let [asked, unknown] = [0, 1].map(|at| &both["instances"][at]);
    assert_eq!(
        (&asked["outcome"], &asked["instance"]["state"]),
        (&json!("committed"), &json!("stopped")),
        "{both}"
    );
    assert_eq!(
        (&unknown["outcome"], &unknown["id"], &unknown["instance"], &unknown["name"]),
        (&json!("not_found"), &json!(null), &json!(null), &json!("nowhere:1"))
    );
    assert_eq!(worker.ended(), 0);
    let text = user.text(4, &["stop", "nowhere:1"]);
    assert!(text.contains("no instance `nowhere:1`") && text.contains("taskdeck instances"), "{text}");
    assert_eq!(user.json(2, &["stop", "nowhere:1", "nowhere:1"])["error"]["kind"], "usage", "named twice");
}

/// What may come of one letter is not what was meant.
#[tokio::test]
async fn a_beginning_of_an_id_has_at_least_four_characters() {
    let db = database().await;
    let user = User::of(&db.url);
    let worker = Worker::start(&user, &[]);
    let id = working(&user, 1)[0]["id"].as_str().expect("an id").to_owned();
    for short in ["", &id[..1], &id[..3]] {
        let error = user.json(2, &["stop", short]);
        assert!(error["error"]["hint"].as_str().is_some_and(|hint| hint.contains("at least 4")), "{error}");
    }
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.events"), "0");
    user.text(0, &["stop", &id[..4], "--wait"]);
    assert_eq!(worker.ended(), 0);
}

/// Instances are nobody's: who may see one tenant's tasks alone does not stop what runs everybody's.
#[test]
fn a_tenant_stops_nobody() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    let error = user.json(2, &["--tenant", "acme", "stop", "--all"]);
    assert_eq!(error["error"]["kind"], "usage");
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("no tenant's")), "{error}");
    assert_eq!(user.with("TASKDECK_TENANT", "acme").run(&["stop", "here:1"]).code, 2);
}

/// How often the server had rolled it back is told, whether it was given up or not.
#[tokio::test]
async fn a_stop_that_was_tried_again_says_so() {
    let db = database().await;
    let user = User::of(&db.url);
    let _worker = Worker::start(&user, &[]);
    working(&user, 1);
    db.psql(
        "CREATE SEQUENCE tries; \
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
           IF nextval('tries') < 6 THEN RAISE EXCEPTION 'as told' USING ERRCODE = '40P01'; END IF; \
           RETURN NEW; END $$; \
         CREATE TRIGGER refuse BEFORE UPDATE OF stop_mode ON taskdeck.instances FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let given_up = user.json(5, &["stop", "--all"]);
    assert_eq!((&given_up["outcome"], &given_up["retries"]), (&json!("unavailable"), &json!(3)));
    let text = user.text(0, &["stop", "--all"]);
    assert!(text.ends_with("It was decided again once, as the server had rolled it back.\n"), "{text}");
}

/// Whether a role may ask does not hang on who happens to be there.
#[tokio::test]
async fn who_may_stop_nobody_is_refused_also_where_nobody_works() {
    let db = database().await;
    let viewer = format!("stop_viewer_{}", unique());
    db.psql(&format!(
        "CREATE ROLE {viewer} LOGIN; GRANT USAGE ON SCHEMA taskdeck TO {viewer}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA taskdeck TO {viewer}"
    ));
    let user = User::of(&db.url.replace("tester@", &format!("{viewer}@")));
    for args in [&["stop", "--all"][..], &["stop", "--all", "--wait"], &["stop", "nowhere:1"]] {
        let answer = user.json(7, args);
        assert_eq!(
            (&answer["outcome"], &answer["error"]["kind"]),
            (&json!("refused"), &json!("refused")),
            "{args:?}"
        );
    }
}
