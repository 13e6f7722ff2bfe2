//! All of it on a server of ours.

use serde_json::{Value, json};

use crate::runner::User;
use crate::running::nothing_is_left;
use crate::support::{database, psql};

/// Everything that stands in the product's own tables.
fn everything(url: &str) -> String {
    ["tasks", "task_inputs", "instances", "events", "queues", "limits", "outbox", "migrations"]
        .iter()
        .map(|table| {
            let sql = format!(
                "SELECT coalesce(string_agg(t::text, '|' ORDER BY t::text), '') FROM taskdeck.{table} t"
            );
            psql(url, &sql).unwrap_or_else(|error| panic!("{table}: {error}"))
        })
        .collect()
}

fn verdicts(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let experiments = report["experiments"].as_array().expect("a list");
    experiments.iter().map(|found| (text(&found["name"]), text(&found["verdict"]))).collect()
}

#[tokio::test]
async fn all_of_it_holds_keeps_its_evidence_and_leaves_the_real_tasks_alone() {
    let db = database().await;
    let user = User::of(&db.url);
    user.json(0, &["submit", "a real task"]);
    user.json(0, &["pause", "bills"]);
    let before = everything(&db.url);
    let report = user.json(0, &["lab", "all", "--rounds", "2", "--save", "evidence.json"]);
    assert_eq!(report["outcome"], "holds");
    let verdicts = verdicts(&report);
    assert_eq!(verdicts.len(), 13);
    assert!(verdicts.iter().all(|(_, verdict)| verdict == "holds"), "{verdicts:?}");
    for experiment in report["experiments"].as_array().expect("a list") {
        let name = &experiment["name"];
        let rounds = experiment["rounds"].as_array().expect("rounds");
        assert!(!rounds.is_empty() && experiment["proving"].as_u64() > Some(0), "{name}");
        assert_eq!(experiment["broken"], json!([]), "{name}");
    }
    let race =
        report["experiments"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "claim-race"));
    let race = race.expect("the race");
    assert!(race["waits"]["p50_ms"].as_f64() > Some(0.0), "{}", race["waits"]);
    let wins = race["wins"].as_object().expect("wins");
    let rounds = race["rounds"].as_array().expect("rounds").len();
    let won: u64 = wins.values().filter_map(Value::as_u64).sum();
    assert_eq!(usize::try_from(won), Ok(rounds), "one winner a round: {wins:?}");
    assert_eq!(everything(&db.url), before, "the real tasks are as they were");
    nothing_is_left(&db.url);

    // The same evidence is judged and drawn again.
    let again = user.json(0, &["lab", "show", "evidence.json"]);
    assert_eq!(again["experiments"], report["experiments"]);
    let drawn = user.text(0, &["lab", "show", "evidence.json"]);
    assert!(
        drawn.contains("claim-race") && drawn.contains("A claim") && drawn.contains("waited for"),
        "{drawn}"
    );
    assert!(drawn.contains("third connection, after:"), "{drawn}");
}

#[tokio::test]
async fn what_a_file_says_of_itself_is_not_believed() {
    let db = database().await;
    let user = User::of(&db.url);
    user.json(0, &["lab", "claim-race", "--rounds", "2", "--save", "evidence.json"]);
    let path = user.home().join("evidence.json");
    let mut evidence: Value = serde_json::from_slice(&std::fs::read(&path).expect("read")).expect("JSON");
    for call in evidence["experiments"][0]["rounds"][1]["calls"].as_array_mut().expect("calls") {
        call["answer"] = json!("won");
    }
    let forged = user.file("forged.json", evidence.to_string());
    let run = user.run(&["lab", "show", forged.to_str().expect("a path")]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("BROKEN") && run.out.contains("I1: one claim has one winner"), "{run:?}");
    assert!(run.err.contains("the file says HOLDS"), "{run:?}");

    let hostile = evidence.to_string().replace("\"who\":\"A\"", "\"who\":\"\\u001b[2J\"");
    user.file("hostile.json", hostile);
    user.run(&["lab", "show", "hostile.json", "-v"]).assert_harmless();
    user.file("other.json", "{}");
    for wrong in [vec!["lab", "show", "other.json"], vec!["lab", "show", "absent.json"], vec!["lab", "show"]]
    {
        assert_eq!(user.run(&wrong).code, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn text_is_a_summary_an_experiment_and_a_line_a_round_where_asked_for() {
    let db = database().await;
    let user = User::of(&db.url);
    let text = user.text(0, &["lab", "claim-race", "--rounds", "3", "--callers", "3"]);
    assert!(text.contains("claim-race       HOLDS"), "{text}");
    assert!(
        text.contains("rounds that prove something ") && text.contains(" of 3  took effect A "),
        "{text}"
    );
    assert!(text.contains("exactly one wins") && text.ends_with("all of it holds\n"), "{text}");
    assert!(!text.contains("round   1"), "{text}");
    let text = user.text(0, &["-v", "lab", "claim-race", "--rounds", "3"]);
    assert!(text.contains("proves it"), "{text}");
    assert_eq!(text.matches("  A claim ").count(), 3, "a line a round: {text}");
}
