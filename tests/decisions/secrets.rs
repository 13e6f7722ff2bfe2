//! A password is nowhere but where the user has put it: not in what is printed or logged, not where other users of the
//! machine can look, not in the database.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::desk::Desk;
use crate::runner::{User, eventually, wait};
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

/// A user, and what stands before each command of theirs.
struct Keeper {
    place: &'static str,
    flags: Vec<String>,
    user: User,
}

impl Keeper {
    /// `args` behind the flags.
    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        self.flags.iter().map(String::as_str).chain(args.iter().copied()).collect()
    }
}

/// Users who give `password` in the flag, in each of its forms. Their `PGPASSWORD` is another one, which it beats.
fn flagged(url: &str, password: &str) -> Vec<Keeper> {
    let (_, place) = url.split_once('@').expect("a place");
    let (host, rest) = place.split_once(':').expect("a port");
    let (port, dbname) = rest.split_once('/').expect("a database");
    let keywords = format!("user = locked password = '{password}' host={host} port={port} dbname={dbname}");
    let keeper = |place, flags| {
        let user = User::new().with("TASKDECK_OPERATOR", "tester").with("PGPASSWORD", "an0ther");
        Keeper { place, flags, user }
    };
    let uri = url.replace("locked@", &format!("locked:{password}@"));
    vec![
        keeper("--database-url URI", vec!["--database-url".to_owned(), uri]),
        keeper("--database-url=URI?password=", vec![format!("--database-url={url}?password={password}")]),
        keeper("--database-url keywords", vec!["--database-url".to_owned(), keywords]),
    ]
}

/// Users who keep `password` in each of the places for one.
fn users(url: &str, password: &str) -> Vec<Keeper> {
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
    let places = vec![
        ("PGPASSWORD", of().with("PGPASSWORD", password)),
        ("~/.pgpass", own),
        ("PGPASSFILE", named.with("PGPASSFILE", &path)),
        ("TASKDECK_DATABASE_URL", User::of(&with)),
        ("the configuration file", config),
    ];
    let kept = places.into_iter().map(|(place, user)| Keeper { place, flags: Vec::new(), user });
    kept.chain(flagged(url, password)).collect()
}

/// What other users see of a process, its arguments apart from each other by spaces.
fn title(pid: u32) -> String {
    let title = std::fs::read(format!("/proc/{pid}/cmdline")).expect("its title");
    String::from_utf8_lossy(&title).replace('\0', " ")
}

#[test]
fn a_wrong_password_from_anywhere_is_exit_5_with_a_hint_and_stands_nowhere() {
    let (server, url) = locked();
    for keeper in users(&url, WRONG) {
        let (place, user) = (keeper.place, &keeper.user);
        for command in [&["list"][..], &["approve", "1@0"], &["submit", "x"], &["doctor"], &["--no-ui"]] {
            for format in ["text", "json"] {
                let log = user.home().join("log");
                let mut args = vec!["-vvvv", "--log-file", log.to_str().expect("UTF-8"), "--output", format];
                args.extend(command);
                let args = keeper.args(&args);
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
fn works(server: &Server, keeper: &Keeper) -> String {
    let log = keeper.user.home().join("works");
    let args = ["-vvvv", "--log-file", log.to_str().expect("UTF-8"), "--no-ui"];
    let mut command = keeper.user.command(&keeper.args(&args));
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
    for keeper in users(&url, RIGHT) {
        let (place, user) = (keeper.place, &keeper.user);
        let log = user.home().join("log");
        let args =
            ["-vvvv", "--log-file", log.to_str().expect("UTF-8"), "--output", "json", "events", "--follow"];
        let mut command = user.command(&keeper.args(&args));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("start");
        let pid = child.id();
        let session =
            format!("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%:{pid} operator'");
        eventually(place, || server.psql("postgres", &session).is_ok_and(|count| count == "1"));
        let title = title(pid);
        assert!(title.contains("events --follow") && !title.contains(RIGHT), "{place}: {title}");
        user.text(0, &keeper.args(&["submit", "--hold", "x"]));
        let last = server.psql("postgres", "SELECT max(id) FROM taskdeck.tasks").expect("a task");
        user.text(0, &keeper.args(&["approve", &last]));
        assert!(std::process::Command::new("kill").arg(pid.to_string()).status().expect("kill").success());
        let output = child.wait_with_output().expect("its end");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let log = std::fs::read_to_string(&log).expect("a log");
        assert!(!said.contains(RIGHT) && !log.contains(RIGHT), "{place}: {said} {log}");
        let log = works(&server, &keeper);
        assert!(log.contains("INFO") && !log.contains(RIGHT), "{place}: {log}");
        let config = user.text(0, &keeper.args(&["config"]));
        assert!(!config.contains(RIGHT), "{place}: {config}");
        if !keeper.flags.is_empty() {
            let line = config.lines().find(|line| line.starts_with("database_url")).expect("the setting");
            assert!(
                line.contains(":***@") && line.trim_end().ends_with(" --database-url"),
                "{place}: {line}"
            );
        }
    }
    let everything = server.psql(
        "postgres",
        "SELECT string_agg(v::text, ' ') FROM taskdeck.events v UNION ALL SELECT string_agg(a::text, ' ') FROM pg_stat_activity a",
    );
    let everything = everything.expect("what there is");
    assert!(everything.contains("approve") && !everything.contains(RIGHT), "{everything}");
    assert!(!server.log().contains(RIGHT));
}

/// Keeps the environment that it was started with, the whole of it or nothing.
fn keeping(path: &Path) -> String {
    format!("cat /proc/$$/environ >{0}.part && mv {0}.part {0}", path.display())
}

/// What [`keeping`] has kept, once it has.
fn kept(path: &Path) -> String {
    eventually("a program was started", || path.exists());
    let kept = String::from_utf8_lossy(&std::fs::read(path).expect("its environment")).replace('\0', "\n");
    assert!(kept.contains("PATH="), "an environment: {kept}");
    kept
}

#[test]
fn what_a_worker_starts_gets_no_password_of_the_flag() {
    let (server, url) = locked();
    for (at, keeper) in flagged(&url, RIGHT).into_iter().enumerate() {
        let place = keeper.place;
        let home = keeper.user.home();
        let (analysed, told) = (home.join("analysed"), home.join("told"));
        let [exec, hook] = [&analysed, &told].map(|path| format!("sh -c '{}'", keeping(path)));
        let args = ["--no-ui", "--analyser", "command", "--exec", &exec, "--hook", &hook];
        let log = std::fs::File::create(home.join("log")).expect("a log");
        let child = keeper
            .user
            .command(&keeper.args(&args))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let mut child = child.expect("start");
        let pid = child.id();
        let registered = format!("SELECT count(*) FROM taskdeck.instances WHERE pid = {pid}");
        eventually(place, || server.psql("postgres", &registered).is_ok_and(|count| count == "1"));
        keeper.user.text(0, &keeper.args(&["submit", "--notify", &format!("text {at}")]));
        for environment in [kept(&analysed), kept(&told)] {
            assert!(!environment.contains(RIGHT), "{place}: {environment}");
        }
        let title = title(pid);
        assert!(title.contains("--no-ui") && title.contains("--database-url"), "{place}: {title}");
        assert!(!title.contains(RIGHT), "{place}: {title}");
        // There it is, for the same user alone: what was started would have had it.
        let own = std::fs::read(format!("/proc/{pid}/environ")).expect("its environment");
        assert!(String::from_utf8_lossy(&own).contains(RIGHT), "{place}");
        assert!(std::process::Command::new("kill").arg(pid.to_string()).status().expect("kill").success());
        assert_eq!(wait(&mut child, &args), 0, "{place}");
        let log = std::fs::read_to_string(home.join("log")).expect("its log");
        assert!(!log.contains(RIGHT), "{place}: {log}");
    }
}

#[test]
fn a_consoles_title_and_its_editor_have_no_password_of_the_flag() {
    let (_server, url) = locked();
    let folder = tempfile::tempdir().expect("a folder");
    for (at, keeper) in flagged(&url, RIGHT).into_iter().enumerate() {
        let edited = folder.path().join(format!("edited{at}"));
        let editor = format!("sh -c '{}'", keeping(&edited));
        let mut desk = Desk::sized(120, 40, None, &[("VISUAL", &editor)]);
        let id = keeper.user.text(0, &keeper.args(&["submit", "--hold", &format!("text {at}")]));
        assert!(!id.is_empty());
        let flags: Vec<String> = keeper.flags.iter().map(|flag| format!("\"{flag}\"")).collect();
        let console = desk.start(&format!("{} --workers 0", flags.join(" ")));
        let title = title(console.pid);
        assert!(title.contains("--workers 0") && !title.contains(RIGHT), "{}: {title}", keeper.place);
        desk.terminal.wait_text(&format!("text {at}"));
        desk.terminal.keys("g");
        desk.terminal.wait_text("Input (6 B)");
        desk.terminal.keys("e");
        let environment = kept(&edited);
        assert!(!environment.contains(RIGHT), "{}: {environment}", keeper.place);
        desk.wait_drawn();
        assert_eq!(desk.quit(), 0);
    }
}

#[test]
fn what_somebody_else_has_handed_on_is_not_heeded() {
    let (_server, url) = locked();
    let with = url.replace("locked@", &format!("locked:{RIGHT}@"));
    let user = User::new();
    // The shell gives its process to the program, so that also the id can be right.
    let script =
        r#"export TASKDECK_HANDED_ON="{\"pid\":$1,\"arguments\":{\"$2\":\"$3\"}}"; shift 3; exec "$@""#;
    let run = |pid: &str, at: &str, value: &str, flag: &str| {
        let script = script.replace("$1", pid);
        let (program, name) = (crate::runner::PROGRAM, "sh");
        let args = ["-c", &script, name, pid, at, value, program, "--database-url", flag, "list"];
        let mut command = std::process::Command::new("sh");
        let output = command.args(args).env_clear().env("HOME", user.home()).output().expect("run");
        output.status.code().expect("a code")
    };
    assert_eq!(run("1", "2", &with, &with), 0, "the flag's own password");
    assert_eq!(run("1", "2", &with, &url), 5, "another process's");
    assert_eq!(run("$$", "3", &with, &url), 5, "of another argument");
    let elsewhere = with.replace("/postgres", "/template1");
    assert_eq!(run("$$", "2", &elsewhere, &url), 5, "of another address");
}

#[test]
fn a_password_that_cannot_be_taken_out_of_the_title_is_told_and_works() {
    let (_server, url) = locked();
    let (_, place) = url.split_once('@').expect("a place");
    let (port, _) = place.trim_start_matches("127.0.0.1:").split_once('/').expect("a port");
    // Longer than one variable may be, once it is written down; the last of a name counts.
    let long = "\"".repeat(100_000);
    let keywords = format!(
        "application_name='{long}' application_name=short user=locked password={RIGHT} host=127.0.0.1 port={port} dbname=postgres"
    );
    let run = User::new().run(&["--database-url", &keywords, "status"]);
    assert_eq!(run.code, 0, "{run:?}");
    let told = "the password in --database-url stays visible in this process's command line: ";
    assert!(run.err.contains(told) && !run.err.contains(RIGHT), "{}", run.err);
}
