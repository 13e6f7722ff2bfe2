//! `cancel`, `approve`, `reject`, `requeue`.

use serde_json::{Value, json};

use crate::runner::User;
use crate::support::database;

fn outcomes(answer: &Value) -> Vec<(i64, &str)> {
    answer["tasks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (row["id"].as_i64().expect("id"), row["outcome"].as_str().expect("outcome")))
        .collect()
}

#[tokio::test]
async fn every_decision_takes_effect_and_says_so() {
    let db = database().await;
    let user = User::of(&db.url);
    for _ in 0..2 {
        user.text(0, &["submit", "--hold", "x"]);
    }
    let approved = user.json(0, &["approve", "1@0"]);
    assert_eq!(approved["outcome"], "committed");
    assert_eq!((&approved["task"]["status"], &approved["task"]["version"]), (&json!("QUEUED"), &json!(1)));
    assert_eq!((&approved["resolved_from_unknown"], &approved["retries"]), (&json!(false), &json!(0)));
    assert!(approved["message"].is_string());
    assert_eq!(user.text(0, &["cancel", "1"]), "task 1: canceled, now CANCELED (v1 → v2)\n");
    assert_eq!(
        user.text(0, &["reject", "2", "--reason", "no"]),
        "task 2: rejected, now REJECTED (v0 → v1)\n"
    );
    assert_eq!(
        user.text(0, &["requeue", "1", "2@1"]),
        "task 1: requeued, now QUEUED (v2 → v3)\ntask 2: requeued, now QUEUED (v1 → v2)\n"
    );
    assert_eq!(
        db.psql("SELECT string_agg(actor || ' ' || move, ', ' ORDER BY id) FROM taskdeck.events"),
        "tester approve, tester cancel, tester reject, tester requeue, tester requeue"
    );
}

#[tokio::test]
async fn the_loser_is_told_who_was_first_and_when() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "--hold", "x"]);
    user.text(0, &["--operator", "bob", "reject", "1@0", "--reason", "too risky"]);
    let answer = user.json(3, &["--operator", "alice", "approve", "1@0"]);
    assert_eq!(answer["outcome"], "conflict");
    assert_eq!((&answer["task"]["status"], &answer["task"]["version"]), (&json!("REJECTED"), &json!(1)));
    let message = answer["message"].as_str().expect("a message");
    assert!(
        message.contains("bob rejected it ")
            && message.contains(" ago (v0 → v1): too risky. Nothing was changed."),
        "{message}"
    );
    let text = user.text(3, &["--operator", "alice", "approve", "1@0"]);
    assert!(text.ends_with(" ago (v0 → v1): too risky\nNothing was changed.\n"), "{text}");
    let text = user.text(3, &["approve", "1"]);
    assert_eq!(text, "task 1: it is REJECTED; only SUBMITTED can be approved\nNothing was changed.\n");
    let never = user.text(3, &["requeue", "1@8"]);
    assert!(never.contains("it has version 1, not the one that was named"), "{never}");
    assert_eq!(db.psql("SELECT version, status FROM taskdeck.tasks"), "1|REJECTED");
}

#[tokio::test]
async fn of_several_all_are_changed_or_none() {
    let db = database().await;
    let user = User::of(&db.url);
    for _ in 0..3 {
        user.text(0, &["submit", "--hold", "x"]);
    }
    user.text(0, &["reject", "2"]);
    let answer = user.json(3, &["approve", "1", "2@0", "3"]);
    assert_eq!(answer["outcome"], "conflict");
    assert_eq!(outcomes(&answer), [(1, "not_applied"), (2, "conflict"), (3, "not_applied")]);
    assert_eq!(answer["tasks"][0]["task"]["status"], "SUBMITTED");
    let missing = user.json(4, &["approve", "3", "77", "1@0"]);
    assert_eq!(missing["outcome"], "not_found");
    assert_eq!(outcomes(&missing), [(1, "not_applied"), (3, "not_applied"), (77, "not_found")]);
    assert_eq!(missing["tasks"][2]["task"], Value::Null);
    assert_eq!(db.psql("SELECT count(*) FROM taskdeck.tasks WHERE version = 0"), "2");
    let both = user.json(0, &["approve", "1", "3"]);
    assert_eq!(outcomes(&both), [(1, "committed"), (3, "committed")]);
}

#[tokio::test]
async fn another_tenants_row_is_not_found_and_stays_as_it_is() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["--tenant", "acme", "submit", "--hold", "x"]);
    let answer = user.json(4, &["--tenant", "globex", "approve", "1@0"]);
    assert_eq!((&answer["outcome"], &answer["task"]), (&json!("not_found"), &Value::Null));
    let text = user.text(4, &["--tenant", "globex", "approve", "1"]);
    assert_eq!(text, "task 1: there is no such task of tenant globex\nNothing was changed.\n");
    assert_eq!(db.psql("SELECT version FROM taskdeck.tasks"), "0");
}

#[tokio::test]
async fn what_would_write_is_refused_with_read_only() {
    let db = database().await;
    let user = User::of(&db.url);
    user.text(0, &["submit", "--hold", "x"]);
    let answer = user.json(7, &["--read-only", "approve", "1"]);
    assert_eq!(answer["outcome"], "refused");
    assert_eq!(answer["error"]["kind"], "refused", "one parser serves: {answer}");
    assert_eq!(user.json(7, &["--read-only", "submit", "x"])["error"]["kind"], "refused");
    assert_eq!(user.json(7, &["--read-only", "migrate"])["error"]["kind"], "refused");
    assert_eq!(user.run(&["--read-only", "--no-ui"]).code, 7);
    user.json(0, &["--read-only", "list"]);
    assert_eq!(db.psql("SELECT count(*), sum(version) FROM taskdeck.tasks"), "1|0");
}

#[tokio::test]
async fn a_role_without_the_right_is_refused() {
    let db = database().await;
    let viewer = format!("viewer{}", crate::support::unique());
    db.psql(&format!(
        "CREATE ROLE {viewer} LOGIN; GRANT USAGE ON SCHEMA taskdeck TO {viewer}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA taskdeck TO {viewer}"
    ));
    User::of(&db.url).text(0, &["submit", "--hold", "x"]);
    let user = User::of(&db.url.replace("tester@", &format!("{viewer}@")));
    user.json(0, &["list"]);
    let answer = user.json(7, &["approve", "1"]);
    assert_eq!((&answer["outcome"], &answer["task"]), (&json!("refused"), &Value::Null));
    assert!(
        user.json(7, &["submit", "x"])["error"]["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("the role lacks INSERT on"))
    );
    assert_eq!(
        user.json(0, &["doctor"])["checks"]
            .as_array()
            .expect("checks")
            .iter()
            .find(|check| check["name"] == "privileges")
            .map(|check| &check["level"]),
        Some(&json!("warn"))
    );
}

#[tokio::test]
async fn wrongly_named_tasks_are_usage_errors() {
    let user = User::of("postgresql://nobody@127.0.0.1:1/none");
    for bad in ["x", "1@", "1@x", "-5", "1@-2"] {
        let error = user.json(2, &["cancel", bad]);
        assert_eq!(error["error"]["kind"], "usage", "{error}");
    }
    assert!(
        user.json(2, &["cancel", "5", "5@1"])["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("twice"))
    );
    let unavailable = user.json(5, &["cancel", "1", "2"]);
    assert_eq!(unavailable["outcome"], "unavailable");
    assert_eq!(outcomes(&unavailable), [(1, "unavailable"), (2, "unavailable")]);
}

/// How often the server had rolled a decision back is told apart from what became of it.
#[tokio::test]
async fn what_was_decided_again_is_said() {
    let db = database().await;
    let user = User::of(&db.url);
    db.psql(
        "CREATE SEQUENCE tries; \
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
           IF nextval('tries') % 3 <> 0 THEN RAISE EXCEPTION 'as told' USING ERRCODE = '40P01'; END IF; \
           RETURN NEW; END $$; \
         CREATE TRIGGER refuse BEFORE UPDATE ON taskdeck.tasks FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    for _ in 0..3 {
        user.text(0, &["submit", "--hold", "x"]);
    }
    let answer = user.json(0, &["approve", "1@0"]);
    assert_eq!((&answer["outcome"], &answer["retries"]), (&json!("committed"), &json!(2)));
    assert_eq!(
        user.text(0, &["approve", "2@0"]),
        "task 2: approved, now QUEUED (v0 → v1)\nIt was decided again 2 times, as the server had rolled it back.\n"
    );
    db.psql(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               RAISE EXCEPTION 'as told' USING ERRCODE = '40001'; END $$",
    );
    let answer = user.json(5, &["approve", "3@0"]);
    assert_eq!((&answer["outcome"], &answer["retries"]), (&json!("unavailable"), &json!(3)));
    let message = answer["message"].as_str().expect("a message");
    assert!(message.contains("40001") && message.contains("tried again 3 times"), "{message}");
    assert_eq!(db.psql("SELECT status, version FROM taskdeck.tasks WHERE id = 3"), "SUBMITTED|0");
}

#[tokio::test]
async fn nobody_approves_what_they_submitted_where_four_eyes_are_asked_for() {
    let db = database().await;
    let careful = User::of(&db.url).with("TASKDECK_FOUR_EYES", "true");
    let careless = User::of(&db.url);
    careful.text(0, &["submit", "--hold", "one"]);
    careless.text(0, &["submit", "--hold", "two"]);
    // The first task keeps the rule; for the second it is the approver's configuration that has it.
    for (user, id) in [(&careless, "1"), (&careful, "2")] {
        let refused = user.json(7, &["approve", id]);
        assert_eq!(
            (&refused["outcome"], &refused["task"]["status"]),
            (&json!("refused"), &json!("SUBMITTED"))
        );
        assert!(refused["message"].as_str().is_some_and(|text| text.contains("four eyes")), "{refused}");
        assert_eq!(refused["error"]["kind"], "refused");
        assert_eq!(refused["error"]["hint"], format!("another operator may: `taskdeck approve {id}`"));
        assert_eq!(user.json(0, &["show", id])["events"], json!([]));
    }
    let run = careful.run(&["approve", "1", "2"]);
    assert_eq!(run.code, 7);
    assert!(run.err.contains("another operator may: `taskdeck approve 1 2`"), "{run:?}");
    assert_eq!(careful.json(7, &["approve", "1", "2"])["error"]["kind"], "refused", "also of several");
    assert_eq!(careless.json(0, &["show", "1"])["task"]["submitted_by"], "tester");
    assert_eq!(careful.json(0, &["--operator", "bob", "approve", "1", "2"])["outcome"], "committed");
}
