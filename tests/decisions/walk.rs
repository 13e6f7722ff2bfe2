//! Every command of the command line under roles that may not do everything: what is refused says which right is missing
//! and changes nothing. The commands are those of the program's own definition: one without a line here is a failure.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use taskdeck::cli::Cli;
use taskdeck::domain::decision::DecisionKind;

use crate::company::Company;
use crate::desk::wait_until;
use crate::runner::User;
use crate::scene::{LONG, decided, new_instance, row, submit, submit_held, worker};
use crate::worker::Headless;

/// The roles of `assets/sql/roles.sql`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Viewer,
    Operator,
    Worker,
}

use Role::{Operator, Viewer, Worker};

/// What a command does to the database that is named.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// It looks: every role may.
    Looks,
    /// It changes something: these roles may.
    Writes(&'static [Role]),
    /// It would change the schema, were there anything to change; in a read-only session it is refused whatever there is.
    Migrates,
    /// It is about something else, and how it ends here is no matter.
    Elsewhere,
}

use Does::{Elsewhere, Looks, Migrates, Writes};

/// A line for each command, or several where it has several ways; the command's own name (and its subcommand's) first, or
/// a flag where the program is run without one. What each is about is made by [`scene`].
const LINES: &[(&[&str], Does)] = &[
    (&["--no-ui"], Writes(&[Worker])),
    (&["submit", "x"], Writes(&[Operator])),
    (&["submit", "--hold", "--key", "k", "x"], Writes(&[Operator])),
    (&["submit", "--lines", "lines"], Writes(&[Operator])),
    (&["list"], Looks),
    (&["show", "1"], Looks),
    (&["approve", "1@0"], Writes(&[Operator, Worker])),
    (&["reject", "2"], Writes(&[Operator, Worker])),
    (&["cancel", "3@0", "--reason", "no"], Writes(&[Operator, Worker])),
    (&["cancel", "5@0", "6@0"], Writes(&[Operator, Worker])),
    (&["requeue", "4@1"], Writes(&[Operator, Worker])),
    (&["requeue", "--all", "--dry-run"], Looks),
    (&["requeue", "--all", "--yes", "--status", "CANCELED"], Writes(&[Operator, Worker])),
    (&["events"], Looks),
    (&["events", "--task", "4", "--since", "1h"], Looks),
    (&["status"], Looks),
    (&["outbox"], Looks),
    (&["instances"], Looks),
    (&["queues"], Looks),
    (&["pause", "default"], Writes(&[Operator])),
    (&["resume", "shut"], Writes(&[Operator])),
    (&["limits"], Looks),
    (&["limit", "default", "--max-running", "5"], Writes(&[Operator])),
    (&["stop", "--all"], Writes(&[Operator, Worker])),
    (&["stop", "--all", "--mode", "cancel"], Writes(&[Operator, Worker])),
    (&["doctor"], Looks),
    // In a schema of its own.
    (&["lab", "isolation", "--rounds", "1"], Elsewhere),
    (&["migrate"], Migrates),
    (&["private", "status"], Elsewhere),
    (&["private", "stop"], Elsewhere),
    (&["private", "destroy", "--yes"], Elsewhere),
    (&["private", "url"], Elsewhere),
    (&["config"], Elsewhere),
    (&["completions", "bash"], Elsewhere),
    (&["man"], Elsewhere),
];

/// The commands that have no commands below them, each by its words; the program without a command has none.
fn commands(of: &clap::Command, before: &[String], found: &mut BTreeSet<Vec<String>>) {
    let below: Vec<_> = of.get_subcommands().collect();
    if below.is_empty() || before.is_empty() {
        found.insert(before.to_vec());
    }
    for command in below {
        let words = [before, &[command.get_name().to_owned()]].concat();
        commands(command, &words, found);
    }
}

/// The command that a line is of.
fn command_of(args: &[&str], known: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
    let words: Vec<String> =
        args.iter().take_while(|word| !word.starts_with('-')).map(ToString::to_string).collect();
    (0..=words.len()).rev().map(|count| words[..count].to_vec()).find(|words| known.contains(words))
}

#[test]
fn no_command_is_forgotten() {
    let mut known = BTreeSet::new();
    commands(&Cli::command(), &[], &mut known);
    assert!(known.len() > 20 && known.contains(&vec!["private".to_owned(), "url".to_owned()]), "{known:?}");
    let mut unnamed = known.clone();
    for (args, _) in LINES {
        let command = command_of(args, &known).unwrap_or_else(|| panic!("{args:?} is no command"));
        assert_eq!(
            command.is_empty(),
            args[0].starts_with('-'),
            "{args:?}: `{}` is no command any more",
            args[0]
        );
        unnamed.remove(&command);
    }
    assert!(
        unnamed.is_empty(),
        "say in LINES which roles may run {:?}",
        unnamed.iter().map(|words| words.join(" ")).collect::<Vec<_>>()
    );
}

/// Tasks 1 and 2 are held, 3, 5 and 6 wait, 4 is canceled; the queue `shut` is paused, a process works.
async fn scene(company: &Company) {
    let db = &company.test.db;
    for _ in 0..2 {
        submit_held(db, "held").await;
    }
    submit(db, "waits").await;
    let four = submit(db, "canceled").await;
    decided(db, DecisionKind::Cancel, &row(db, four.id).await).await;
    for _ in 0..2 {
        submit(db, "waits").await;
    }
    User::of(&company.test.url).text(0, &["pause", "shut"]);
    worker(db).await;
    db.register(&new_instance(&["other"], LONG)).await.expect("register");
}

/// A user with what the lines need in their home folder.
fn user(url: &str) -> User {
    let user = User::of(url);
    user.file("lines", "one\ntwo\n");
    user
}

/// Runs a line that is to be refused: exit 7, the reason in words and as JSON, and nothing changed.
fn is_refused(company: &Company, user: &User, args: &[&str], reason: &str) {
    let before = company.everything();
    let run = user.run(args);
    assert_eq!(run.code, 7, "{args:?}: {run:?}");
    let said = format!("{}{}", run.out, run.err);
    assert!(said.contains(reason), "{args:?} does not say `{reason}`: {run:?}");
    let document = user.json(7, args);
    assert_eq!(document["error"]["kind"], "refused", "{args:?}: {document}");
    let told = document["error"].to_string();
    assert!(told.contains(reason), "{args:?} does not say `{reason}`: {document}");
    assert_eq!(company.everything(), before, "{args:?} changed something");
}

/// Starts a process without a terminal under this login, lets it run a task of a queue of its own and tell of that, and
/// ends it.
fn works(company: &Company, url: &str) {
    let worker = Headless::start(url, &["--queue", "elsewhere", "--hook", "true", "--poll", "200ms"], &[]);
    let owner = User::of(&company.test.url);
    let submitted = owner.json(0, &["submit", "--queue", "elsewhere", "--notify", "text"]);
    let id = submitted["task"]["id"].as_i64().expect("an id");
    wait_until("its end, and that it is told", || {
        let told = company.test.psql(&format!(
            "SELECT t.status, count(o), count(o.delivered_at) FROM taskdeck.tasks t \
             LEFT JOIN taskdeck.outbox o ON o.task_id = t.id WHERE t.id = {id} GROUP BY t.status"
        ));
        (told == "SUCCEEDED|1|1").then_some(())
    });
    worker.process().signal(rustix::process::Signal::TERM);
    let end = worker.end();
    assert_eq!(end.code, Some(0), "{}", end.log);
}

async fn walk(role: Role) {
    let company = Company::new().await;
    scene(&company).await;
    let url = company.login("walker", &format!("{role:?}").to_lowercase());
    let user = user(&url);
    for (args, does) in LINES {
        match does {
            Writes(roles) if !roles.contains(&role) => is_refused(&company, &user, args, "lacks "),
            Writes(_) if args[0] == "--no-ui" => works(&company, &url),
            Writes(_) => {
                let before = company.everything();
                let run = user.run(args);
                assert_eq!(run.code, 0, "{args:?}: {run:?}");
                assert_ne!(company.everything(), before, "{args:?} was to change something: {run:?}");
            }
            Looks | Migrates | Elsewhere => {
                let before = company.everything();
                let run = user.run(args);
                assert!(run.code == 0 || matches!(does, Elsewhere), "{args:?}: {run:?}");
                assert_eq!(company.everything(), before, "{args:?} changed something");
            }
        }
    }
}

#[tokio::test]
async fn a_viewer_changes_nothing_by_any_command() {
    walk(Viewer).await;
}

#[tokio::test]
async fn an_operator_is_refused_what_is_the_workers() {
    walk(Operator).await;
}

#[tokio::test]
async fn a_worker_is_refused_what_is_the_operators() {
    walk(Worker).await;
}

/// The same with `--read-only`, by whom the tables belong to.
#[tokio::test]
async fn read_only_changes_nothing_by_any_command() {
    let company = Company::new().await;
    scene(&company).await;
    let user = user(&company.test.url).with("TASKDECK_READ_ONLY", "true");
    for (args, does) in LINES {
        match does {
            Writes(_) | Migrates => is_refused(&company, &user, args, "read-only"),
            Looks | Elsewhere => {
                let before = company.everything();
                let run = user.run(args);
                assert!(run.code == 0 || matches!(does, Elsewhere), "{args:?}: {run:?}");
                assert_eq!(company.everything(), before, "{args:?} changed something");
            }
        }
    }
}

/// Whatever statement it may be: the server gives the viewer no way to write, in this schema or by making one.
#[tokio::test]
async fn the_server_gives_a_viewer_no_right_to_write() {
    let company = Company::new().await;
    let rights = |role: &str| {
        company.test.psql(&format!(
            "SELECT c.relname, p.name FROM pg_class c CROSS JOIN unnest(ARRAY['INSERT', 'UPDATE', 'REFERENCES']) AS p(name) \
               WHERE c.relnamespace = 'taskdeck'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') \
                 AND has_any_column_privilege('{role}', c.oid, p.name) \
             UNION ALL \
             SELECT c.relname, p.name FROM pg_class c CROSS JOIN unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) AS p(name) \
               WHERE c.relnamespace = 'taskdeck'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') \
                 AND has_table_privilege('{role}', c.oid, p.name) \
             UNION ALL \
             SELECT c.relname, 'sequence' FROM pg_class c WHERE c.relnamespace = 'taskdeck'::regnamespace \
                 AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege('{role}', c.oid, 'USAGE, UPDATE') END \
             UNION ALL \
             SELECT 'taskdeck', 'CREATE' WHERE has_schema_privilege('{role}', 'taskdeck', 'CREATE') \
             UNION ALL \
             SELECT p.proname, 'EXECUTE' FROM pg_proc p WHERE p.pronamespace = 'taskdeck'::regnamespace AND p.prosecdef \
             ORDER BY 1, 2"
        ))
    };
    let prefix = &company.prefix;
    assert_eq!(rights(&format!("{prefix}_viewer")), "");
    let operator = rights(&format!("{prefix}_operator"));
    assert!(
        operator.contains("tasks|INSERT") && operator.contains("tasks|UPDATE"),
        "the question finds rights: {operator}"
    );
    assert!(!operator.contains("events|UPDATE") && !operator.contains("DELETE"), "{operator}");
    // And what the audit trail says of itself is nobody's to write.
    let writable = |role: &str, privilege: &str| {
        company.test.psql(&format!(
            "SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute WHERE attrelid = 'taskdeck.events'::regclass \
             AND attnum > 0 AND has_column_privilege('{role}', attrelid, attnum, '{privilege}') \
             AND attname IN ('id', 'at', 'session_role', 'process')"
        ))
    };
    for role in ["viewer", "operator", "worker"].map(|role| format!("{prefix}_{role}")) {
        assert_eq!(
            (writable(&role, "INSERT"), writable(&role, "UPDATE")),
            (String::new(), String::new()),
            "{role}"
        );
        assert_eq!(
            writable(&role, "SELECT"),
            "at id process session_role",
            "{role}: the question finds columns"
        );
    }
}
