//! A password is nowhere but where the user has put it: not in what is printed or logged, not where other users of the
//! machine can look, not in the database.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::runner::{User, eventually};
use crate::support::{Server, psql};

const RIGHT: &str = "r1ght-0ne";
const WRONG: &str = "s3cret-word";

/// A server that asks `locked` for a password; its address without one.
fn locked() -> (Server, String) {
    let server = Server::start();
    let ask = |sql: &str| server.psql("postgres", sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    ask(&format!("CREATE ROLE locked LOGIN CREATEDB PASSWORD '{RIGHT}'"));
    ask("GRANT CREATE ON DATABASE postgres TO locked");
    let hba = ask("SHOW hba_file");
    ask(&format!(
        "COPY (SELECT unnest(ARRAY['host all locked all scram-sha-256', 'host all all all trust', 'local all all trust'])) TO '{hba}'"
    ));
    ask("SELECT pg_reload_conf()");
    let url = format!("postgresql://locked@127.0.0.1:{}/postgres", server.port());
    // With a wrong one, as it would be asked for at the terminal without.
    let wrong = url.replace("locked@", &format!("locked:{WRONG}@"));
    eventually("the server asks for passwords", || psql(&wrong, "SELECT 1").is_err());
    (server, url)
}

/// Users who keep `password` in each of the places for one.
fn users(url: &str, password: &str) -> Vec<(&'static str, User)> {
    let of = || User::of(url);
    let file = |user: User, name: &str| {
        let path = user.file(name, format!("127.0.0.1:*:*:locked:{password}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("mode");
        (user, path.display().to_string())
    };
    let (own, _) = file(of(), ".pgpass");
    let (named, path) = file(of(), "elsewhere/pass");
    let with = url.replace("locked@", &format!("locked:{password}@"));
    let config = User::new().with("TASKDECK_OPERATOR", "tester");
    config.file(".config/taskdeck/config.toml", format!("database_url = \"{with}\"\n"));
    vec![
        ("PGPASSWORD", of().with("PGPASSWORD", password)),
        ("~/.pgpass", own),
        ("PGPASSFILE", named.with("PGPASSFILE", &path)),
        ("TASKDECK_DATABASE_URL", User::of(&with)),
        ("the configuration file", config),
    ]
}

#[test]
fn a_wrong_password_from_anywhere_is_exit_5_with_a_hint_and_stands_nowhere() {
    let (server, url) = locked();
    for (place, user) in users(&url, WRONG) {
        for command in [&["list"][..], &["approve", "1@0"], &["submit", "x"], &["doctor"], &["--no-ui"]] {
            for format in ["text", "json"] {
                let log = user.home().join("log");
                let mut args = vec!["-vvvv", "--log-file", log.to_str().expect("UTF-8"), "--output", format];
                args.extend(command);
                let run = user.run(&args);
                assert_eq!(run.code, 5, "{place} {args:?}: {run:?}");
                let said = format!("{}{}", run.out, run.err);
                assert!(said.contains("password") && said.contains("locked"), "{place} {args:?}: {run:?}");
                // The checks of `doctor` say it in a line of their own.
                let came = "came from ";
                let hints = match (command[0], format) {
                    ("doctor", _) => said.contains(came),
                    (_, "json") => {
                        run.json()["error"]["hint"].as_str().is_some_and(|hint| hint.contains(came))
                    }
                    _ => said.contains("hint: ") && said.contains(came),
                };
                assert!(hints, "{place} {args:?} says what to do: {run:?}");
                let log = std::fs::read_to_string(&log).expect("a log");
                assert!(!said.contains(WRONG) && !log.contains(WRONG), "{place} {args:?}: {run:?} {log}");
            }
        }
    }
    assert!(!server.log().contains(WRONG), "{}", server.log());
}

/// A process without a terminal from its start to its end; what it has logged, which is the most that it can.
fn works(server: &Server, user: &User) -> String {
    let log = user.home().join("works");
    let mut command = user.command(&["-vvvv", "--log-file", log.to_str().expect("UTF-8"), "--no-ui"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start");
    let pid = child.id();
    let known = format!("SELECT count(*) FROM taskdeck.instances WHERE pid = {pid}");
    eventually("a registered worker", || server.psql("postgres", &known).is_ok_and(|count| count == "1"));
    assert!(std::process::Command::new("kill").arg(pid.to_string()).status().expect("kill").success());
    assert!(child.wait().expect("its end").success());
    std::fs::read_to_string(log).expect("its log")
}

#[test]
fn a_right_password_is_in_no_title_no_log_and_not_in_the_database() {
    let (server, url) = locked();
    for (place, user) in users(&url, RIGHT) {
        let log = user.home().join("log");
        let args =
            ["-vvvv", "--log-file", log.to_str().expect("UTF-8"), "--output", "json", "events", "--follow"];
        let mut command = user.command(&args);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("start");
        let pid = child.id();
        let session =
            format!("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%:{pid} operator'");
        eventually(place, || server.psql("postgres", &session).is_ok_and(|count| count == "1"));
        let title = std::fs::read(format!("/proc/{pid}/cmdline")).expect("its title");
        let title = String::from_utf8_lossy(&title).replace('\0', " ");
        assert!(title.contains("events --follow") && !title.contains(RIGHT), "{place}: {title}");
        user.text(0, &["submit", "--hold", "x"]);
        let last = server.psql("postgres", "SELECT max(id) FROM taskdeck.tasks").expect("a task");
        user.text(0, &["approve", &last]);
        assert!(std::process::Command::new("kill").arg(pid.to_string()).status().expect("kill").success());
        let output = child.wait_with_output().expect("its end");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let log = std::fs::read_to_string(&log).expect("a log");
        assert!(!said.contains(RIGHT) && !log.contains(RIGHT), "{place}: {said} {log}");
        let log = works(&server, &user);
        assert!(log.contains("INFO") && !log.contains(RIGHT), "{place}: {log}");
        let config = user.text(0, &["config"]);
        assert!(!config.contains(RIGHT), "{place}: {config}");
    }
    let everything = server.psql(
        "postgres",
        "SELECT string_agg(v::text, ' ') FROM taskdeck.events v UNION ALL SELECT string_agg(a::text, ' ') FROM pg_stat_activity a",
    );
    let everything = everything.expect("what there is");
    assert!(everything.contains("approve") && !everything.contains(RIGHT), "{everything}");
    assert!(!server.log().contains(RIGHT));
}
