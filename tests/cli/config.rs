//! What is in force, and from where.

use serde_json::{Value, json};

use crate::runner::User;
use crate::support::empty_database;

fn setting<'a>(answer: &'a Value, name: &str) -> (&'a Value, &'a str) {
    let line = answer["settings"].as_array().expect("a list").iter().find(|line| line["name"] == name);
    let line = line.unwrap_or_else(|| panic!("{name} is listed: {answer}"));
    (&line["value"], line["source"].as_str().expect("a source"))
}

#[test]
fn a_flag_is_stronger_than_a_variable_and_that_than_the_file() {
    let user = User::new().with("TASKDECK_POLL", "3s").with("TASKDECK_LEASE", "33s");
    let file = user.file(
        ".config/taskdeck/config.toml",
        "poll = \"4s\"\nlease = \"44s\"\ngrace = \"55s\"\nqueue = [\"a\", \"b\"]\n[keys]\ncancel = \"ctrl-k\"\n",
    );
    let path = file.to_str().expect("UTF-8");
    let answer = user.json(0, &["--poll", "2s", "config"]);
    assert_eq!(answer["file"], path);
    assert_eq!(setting(&answer, "poll"), (&json!("2s"), "--poll"));
    assert_eq!(setting(&answer, "lease"), (&json!("33s"), "TASKDECK_LEASE"));
    assert_eq!(setting(&answer, "grace"), (&json!("55s"), path));
    assert_eq!(setting(&answer, "queue"), (&json!("a,b"), path));
    assert_eq!(setting(&answer, "batch"), (&json!("500"), "default"));
    assert_eq!(setting(&answer, "database_url"), (&Value::Null, "default"));
    assert_eq!(answer["keys"]["cancel"], json!(["ctrl-k"]));
    let text = user.text(0, &["config"]);
    assert!(
        text.contains("TASKDECK_LEASE")
            && text.contains("keys.cancel")
            && text.contains("the private server"),
        "{text}"
    );
    assert_eq!(setting(&user.json(0, &["--exec", "wc -w", "config"]), "analyser").0, "command");
}

#[test]
fn another_file_may_be_named_by_flag_or_variable() {
    let user = User::new();
    user.file(".config/taskdeck/config.toml", "batch = 7");
    let other = user.file("other.toml", "batch = 8");
    let other = other.to_str().expect("UTF-8");
    assert_eq!(setting(&user.json(0, &["config"]), "batch").0, "7");
    assert_eq!(setting(&user.json(0, &["--config", other, "config"]), "batch"), (&json!("8"), other));
    let user = user.with("TASKDECK_CONFIG", other);
    assert_eq!(setting(&user.json(0, &["config"]), "batch").0, "8");
    assert_eq!(setting(&user.json(0, &["--config", "/dev/null", "config"]), "batch").0, "500");
    let user = user.with("XDG_CONFIG_HOME", "/nowhere");
    assert_eq!(setting(&user.json(0, &["config"]), "batch").0, "8");
}

#[test]
fn an_unknown_key_is_an_error_with_key_and_file() {
    let user = User::new();
    let file = user.file("c.toml", "pool_sise = 4");
    let error = user.json(2, &["--config", file.to_str().expect("UTF-8"), "list"]);
    assert_eq!(error["error"]["kind"], "config");
    assert_eq!(error["error"]["message"], format!("unknown key `pool_sise` in {}", file.display()));
    assert_eq!(error["error"]["hint"], "did you mean `pool_size`?");
}

#[test]
fn the_database_is_the_first_that_is_named() {
    let url = empty_database();
    let (address, name) = url.rsplit_once('/').expect("a name");
    let port = address.rsplit_once(':').expect("a port").1;
    let named = |user: &User, args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["config"]).collect();
        let answer = user.json(0, &args);
        let (value, source) = setting(&answer, "database_url");
        (value.as_str().expect("an address").to_owned(), source.to_owned())
    };
    let user = User::new()
        .with("PGHOST", "127.0.0.1")
        .with("PGPORT", port)
        .with("PGUSER", "tester")
        .with("PGDATABASE", name);
    let file = user.file("c.toml", "database_url = \"postgresql://x@filehost/d\"");
    let user = user.with("TASKDECK_CONFIG", file.to_str().expect("UTF-8"));
    assert_eq!(named(&user, &[]).1, "PGHOST");
    user.json(0, &["status"]);
    let user = user.with("DATABASE_URL", "postgresql://a@one/d");
    assert_eq!(named(&user, &[]).1, "DATABASE_URL");
    let user = user.with("TASKDECK_DATABASE_URL", "postgresql://a:word@two/d");
    let (value, source) = named(&user, &[]);
    assert_eq!(source, "TASKDECK_DATABASE_URL");
    assert!(value.contains("a:***@two"), "{value}");
    assert_eq!(named(&user, &["--database-url", "postgresql://a@three/d"]).1, "--database-url");
    let user = User::new();
    let file = user.file(".config/taskdeck/config.toml", "database_url = \"postgresql://x@filehost/d\"");
    assert_eq!(named(&user, &[]).1, file.display().to_string());
}

#[test]
fn the_shipped_example_is_accepted() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/taskdeck.toml");
    let answer = User::new().json(0, &["--config", example, "config"]);
    assert_eq!(setting(&answer, "poll"), (&json!("1s"), "default"), "all of it is commented out");
}
