//! A row that came back to the state in which it was seen is another row: what was decided about the old one is refused.

use serde_json::json;
use taskdeck::db::{Db, Release};
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::outcome::Finished;
use taskdeck::domain::{InstanceId, NewTask, Status, Task};

use crate::desk::{Desk, dialog};
use crate::racers::waiting;
use crate::runner::User;
use crate::scene::{claim, decided, failure, finish, outside, row, submit_as, worker};
use crate::support::{database, until};

/// A task that was seen in a state and has come back to it since.
struct Returned {
    seen: Task,
    now: Task,
}

/// Takes a task into `status`, away, and back.
async fn returned(db: &Db, instance: InstanceId, status: Status) -> Returned {
    let once = NewTask { max_attempts: 1, ..NewTask::default() };
    let task = submit_as(db, "there and back", &once).await;
    let cancel = async |task: &Task| decided(db, DecisionKind::Cancel, task).await;
    let requeue = async |task: &Task| decided(db, DecisionKind::Requeue, task).await;
    let fail = async || {
        let claimed = claim(db, instance).await;
        let failed = finish(db, instance, &failure(&claimed, "no")).await;
        assert_eq!(failed, Finished::Committed { status: Status::Failed });
        row(db, claimed.id).await
    };
    let (seen, now) = match status {
        Status::Queued => {
            let now = requeue(&cancel(&task).await).await;
            (task, now)
        }
        Status::Canceled => {
            let seen = cancel(&task).await;
            let now = cancel(&requeue(&seen).await).await;
            (seen, now)
        }
        Status::Running => {
            let claimed = claim(db, instance).await;
            let seen = row(db, claimed.id).await;
            db.release(instance, "w", "stops", &[Release::new(claimed.id, claimed.claim_no)])
                .await
                .expect("release");
            claim(db, instance).await;
            let now = row(db, claimed.id).await;
            (seen, now)
        }
        Status::Failed => {
            let seen = fail().await;
            requeue(&seen).await;
            let now = fail().await;
            (seen, now)
        }
        other => panic!("nothing leads back to {other}"),
    };
    assert_eq!((seen.status, now.status), (status, status));
    assert!(now.version > seen.version);
    Returned { seen, now }
}

/// Of each state that a task can come back to, the decision that is possible from it.
const BACK: [(Status, &str); 4] = [
    (Status::Queued, "cancel"),
    (Status::Running, "cancel"),
    (Status::Failed, "requeue"),
    (Status::Canceled, "requeue"),
];

#[tokio::test]
async fn the_old_version_is_refused_on_the_command_line() {
    let test = database().await;
    let user = User::of(&test.url);
    let instance = worker(&test.db).await;
    for (status, verb) in BACK {
        let Returned { seen, now } = returned(&test.db, instance, status).await;
        let events =
            || test.psql(&format!("SELECT count(*) FROM taskdeck.events WHERE task_id = {}", now.id));
        let before = events();
        let answer = user.json(3, &[verb, &format!("{}@{}", seen.id, seen.version)]);
        assert_eq!(
            (&answer["outcome"], &answer["task"]["status"]),
            (&json!("conflict"), &json!(status.as_str()))
        );
        assert_eq!(answer["task"]["version"], now.version, "the row as it is");
        let message = answer["message"].as_str().expect("a message");
        let versions = format!("(v{} → v{})", seen.version, now.version);
        assert!(message.contains(&versions) && message.contains("Nothing was changed"), "{message}");
        assert_eq!(row(&test.db, now.id).await, now, "{status}");
        assert_eq!(events(), before, "{status}: no event");
        // Who has seen it as it is now may.
        user.json(0, &[verb, &format!("{}@{}", now.id, now.version)]);
    }
}

/// A held task is never held again, so what was decided about it cannot fit by chance either.
#[tokio::test]
async fn nothing_leads_back_to_what_was_held() {
    for kind in DecisionKind::ALL {
        for from in Status::ALL {
            let to = kind.leads_to(from);
            assert!(!matches!(to, Some(Status::Submitted)), "{kind} of {from}");
            assert_eq!(
                to == Some(Status::Rejected),
                kind == DecisionKind::Reject && from == Status::Submitted
            );
        }
    }
    let test = database().await;
    let user = User::of(&test.url);
    user.text(0, &["submit", "--hold", "x"]);
    user.text(0, &["--operator", "bob", "reject", "1@0"]);
    user.text(0, &["--operator", "bob", "requeue", "1@1"]);
    for verb in ["approve", "reject", "cancel"] {
        let answer = user.json(3, &[verb, "1@0"]);
        let message = answer["message"].as_str().expect("a message");
        assert!(message.contains("bob requeued it ") && message.contains("(v0 → v2)"), "{verb}: {message}");
    }
    assert_eq!(test.psql("SELECT status, version FROM taskdeck.tasks"), "QUEUED|2");
}

/// In the console: the decision is on its way, with the version that was on screen, while the row leaves and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_version_is_refused_in_the_console() {
    let test = database().await;
    let (mut holder, watch) = (outside(&test.url).await, outside(&test.url).await);
    let mut desk = Desk::open(&test.url);
    let console = desk.start("--workers 0 --lock-timeout 50s --statement-timeout 55s");
    let id = desk.submit(&["there and back"]);
    desk.wait_line(id, &["QUEUED"]);
    desk.terminal.keys("g");
    // Bob cancels and requeues it; until he commits, the console shows what was.
    let bob = holder.transaction().await.expect("begin");
    for (from, to, verb, version, end) in
        [("QUEUED", "CANCELED", "cancel", 0, "now()"), ("CANCELED", "QUEUED", "requeue", 1, "NULL")]
    {
        bob.batch_execute(&format!(
            "UPDATE taskdeck.tasks SET status = '{to}', version = version + 1, finished_at = {end} WHERE id = {id};
             INSERT INTO taskdeck.events (task_id, actor, move, status_before, status_after, version_before,
                     version_after, operation_id)
                 VALUES ({id}, 'bob', '{verb}', '{from}', '{to}', {version}, {version} + 1, gen_random_uuid())"
        ))
        .await
        .expect("bob's acts");
    }
    desk.terminal.keys("c");
    desk.terminal.wait_text("will be CANCELED at once");
    desk.terminal.keys("y");
    until("the console behind bob", || async {
        waiting(&watch).await.contains_key(&console.pid).then_some(())
    })
    .await;
    bob.commit().await.expect("commit");
    let screen = desk.terminal.wait_text("Nothing was changed");
    let said = dialog(&screen);
    for text in [
        format!("You asked to cancel {id} as you saw it: v0."),
        "bob requeued it".to_owned(),
        "It is now QUEUED, v2.".to_owned(),
    ] {
        assert!(said.contains(&text), "{text} in\n{screen}");
    }
    assert_eq!(desk.row(id), "QUEUED|f|2");
    assert_eq!(desk.psql("SELECT string_agg(actor, ',') FROM taskdeck.events"), "bob,bob");
    desk.terminal.keys("\u{1b}");
    desk.terminal.wait_for("the closed dialog", |screen| !screen.contains("Nothing was changed"));
    assert_eq!(desk.quit(), 0);
}
