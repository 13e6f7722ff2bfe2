//! Rules that are broken on purpose: the lab says which, and shows the round.

use serde_json::Value;

use crate::pooler::pooler;
use crate::runner::User;
use crate::running::nothing_is_left;
use crate::support::{empty_database, psql, shared_server};

/// The one experiment of a run.
fn only(report: &Value) -> &Value {
    let all = report["experiments"].as_array().expect("a list");
    assert_eq!(all.len(), 1);
    &all[0]
}

fn first_broken(experiment: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let first = &experiment["broken"][0];
    let round = usize::try_from(first["round"].as_u64().expect("a number")).expect("small");
    assert!(experiment["rounds"][round - 1]["calls"].is_array(), "the round is shown: {experiment}");
    (text(&first["rule"]), text(&first["message"]))
}

#[test]
fn a_claim_without_its_condition_has_two_winners() {
    let url = empty_database();
    let user = User::of(&url);
    let report = user.json(1, &["lab", "claim-race", "--broken", "--rounds", "2"]);
    let experiment = only(&report);
    assert_eq!((&report["outcome"], &experiment["verdict"]), (&"broken".into(), &"broken".into()));
    let (rule, message) = first_broken(experiment);
    assert!(rule.starts_with("I1:") && message.contains("A and B"), "{rule}: {message}");
    nothing_is_left(&url);
    assert_eq!(user.run(&["lab", "all", "--broken"]).code, 2, "no other experiment has such a variant");
}

/// Changes what every lab of this database makes of its tables, as soon as it has made them.
fn sabotage(url: &str, body: &str) {
    let sql = format!(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN {body} END $f$; \
         CREATE FUNCTION sabotage() RETURNS event_trigger LANGUAGE plpgsql AS $f$ BEGIN \
           IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'taskdeck_lab.tasks') \
              AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'swallow') THEN \
             CREATE TRIGGER swallow BEFORE UPDATE ON taskdeck_lab.tasks FOR EACH ROW EXECUTE FUNCTION public.swallow(); \
           END IF; END $f$; \
         CREATE EVENT TRIGGER sabotage ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION sabotage()"
    );
    psql(url, &sql).expect("a superuser's event trigger");
}

#[test]
fn a_trigger_that_swallows_the_update_is_noticed() {
    let url = empty_database();
    sabotage(&url, "RETURN NULL;");
    let user = User::of(&url);
    let (rule, message) = first_broken(only(&user.json(1, &["lab", "claim-race", "--rounds", "1"])));
    assert!(rule.starts_with("I1:") && message.contains("nobody"), "{rule}: {message}");
    let text = user.text(1, &["lab", "decision-race", "--rounds", "1"]);
    assert!(text.contains("BROKEN") && text.contains("I7:") && text.contains("round 1"), "{text}");
    nothing_is_left(&url);
}

#[test]
fn a_trigger_that_adds_a_version_is_noticed() {
    let url = empty_database();
    sabotage(&url, "NEW.version = NEW.version + 1; RETURN NEW;");
    let user = User::of(&url);
    let (rule, message) = first_broken(only(&user.json(1, &["lab", "decision-race", "--rounds", "1"])));
    assert!(rule.starts_with("I8:") && message.contains("from 0 to 2"), "{rule}: {message}");
}

/// The program's own sessions override what the database has; behind a pooler that swallows their settings nothing does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_isolation_level_is_overridden_or_told() {
    for level in ["repeatable read", "serializable"] {
        let url = empty_database();
        let set = format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''{level}''', \
             current_database()); END $$"
        );
        psql(&url, &set).expect("set");
        let user = User::of(&url);
        let report = user.json(0, &["lab", "claim-race", "--rounds", "2"]);
        assert_eq!(report["server"]["isolation"], "read committed");
        assert_eq!(report["server"]["isolation_set"], level);

        let through = User::of(&pooler(&url, shared_server().port()).await);
        let report = tokio::task::spawn_blocking(move || {
            let isolation = through.json(1, &["lab", "isolation"]);
            assert_eq!(isolation["server"]["pooler"], true);
            let (rule, message) = first_broken(only(&isolation));
            assert!(rule.contains("read committed") && message.contains(level), "{rule}: {message}");
            through.json(1, &["lab", "claim-race", "--rounds", "2"])
        });
        let report = report.await.expect("no panic");
        let (rule, message) = first_broken(only(&report));
        assert!(rule.contains("answered, not failed") && message.contains("40001"), "{rule}: {message}");
        nothing_is_left(&url);
    }
}
