//! What a pooler in transaction mode does to a session's start, done by a few lines in front of the real server: it
//! refuses the parameters that this program asks for, or it swallows them.

use std::time::Duration;

use taskdeck::db::{Access, Db, DbError, Limits, Options as DbOptions, Schema};
use taskdeck::domain::NewTask;
use taskdeck::domain::decision::DecisionKind;
use taskdeck::domain::input::SubmissionKey;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::scene::{decision, number, outside, quiet, row, submit, unavailable};
use crate::support::{Server, conn_info, empty_database, open, psql, shared_server, until};

/// What happens to `options` in a startup message.
#[derive(Clone, Copy)]
pub(crate) enum Options {
    Refused,
    Swallowed,
}

/// Stands in front of the server on the port `back`; returns the address through it.
pub(crate) async fn pooler(url: &str, back: u16, options: Options) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let front = listener.local_addr().expect("address").port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, back, options));
        }
    });
    url.replace(&format!(":{back}/"), &format!(":{front}/"))
}

async fn serve(mut client: TcpStream, back: u16, options: Options) -> std::io::Result<()> {
    loop {
        let length = client.read_u32().await?;
        let mut body = vec![0; usize::try_from(length).expect("a length") - 4];
        client.read_exact(&mut body).await?;
        // A request for TLS comes before the startup message; a cancel request passes as it is.
        if body == 80_877_103_u32.to_be_bytes() {
            client.write_all(b"N").await?;
            continue;
        }
        let asks = body.windows(9).any(|window| window == b"\0options\0");
        if asks && matches!(options, Options::Refused) {
            let fields = b"SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
            client.write_u8(b'E').await?;
            client.write_u32(u32::try_from(fields.len()).expect("short") + 4).await?;
            client.write_all(fields).await?;
            return client.shutdown().await;
        }
        let body = if asks { without_options(&body) } else { body };
        let mut server = TcpStream::connect(("127.0.0.1", back)).await?;
        server.write_u32(u32::try_from(body.len()).expect("short") + 4).await?;
        server.write_all(&body).await?;
        copy_bidirectional(&mut client, &mut server).await?;
        return Ok(());
    }
}

/// The startup message less its `options`: the protocol's version, then names and values that end in NUL.
fn without_options(body: &[u8]) -> Vec<u8> {
    let mut kept = body[..4].to_vec();
    let words: Vec<&[u8]> = body[4..].split(|byte| *byte == 0).collect();
    for pair in words.chunks(2).filter(|pair| pair.len() == 2 && !pair[0].is_empty() && pair[0] != b"options")
    {
        kept.extend_from_slice(pair[0]);
        kept.push(0);
        kept.extend_from_slice(pair[1]);
        kept.push(0);
    }
    kept.push(0);
    kept
}

#[tokio::test]
async fn it_works_behind_a_pooler_and_knows_that_it_does() {
    for options in [Options::Refused, Options::Swallowed] {
        let url = empty_database();
        let db = open(&pooler(&url, shared_server().port(), options).await, Limits::default()).await;
        assert!(db.behind_pooler());
        db.migrate().await.expect("migrates");
        let key = SubmissionKey::fresh();
        let submitted = db.submit("a text", &NewTask::default(), &key, &|_| ()).await.expect("submits");
        assert!(submitted.created);
        assert_eq!(psql(&url, "SELECT count(*) FROM taskdeck.tasks").as_deref(), Ok("1"));
        let error = db.listen().await.expect_err("nothing would be delivered");
        assert!(error.to_string().contains("pooler"), "{error}");
    }
}

#[tokio::test]
async fn a_server_of_its_own_is_not_taken_for_a_pooler() {
    let db = open(&empty_database(), Limits::default()).await;
    assert!(!db.behind_pooler());
}

#[tokio::test]
async fn nobody_is_told_that_a_session_is_read_only_when_the_server_was_not() {
    for options in [Options::Refused, Options::Swallowed] {
        let through = pooler(&empty_database(), shared_server().port(), options).await;
        let read_only = DbOptions {
            schema: Schema::new("taskdeck").expect("a name"),
            limits: Limits::default(),
            access: Access::ReadOnly,
            application: "test".to_owned(),
        };
        let error = Db::open(conn_info(&through), read_only).await.expect_err("not enforced");
        assert!(matches!(&error, DbError::Unavailable(why) if why.message.contains("read-only")), "{error}");
    }
}

/// What was learned about the pooler lasts through a restart of the server behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_behind_a_pooler_is_restarted() {
    let mut server = Server::start_restartable();
    server.psql("postgres", "CREATE DATABASE work").expect("create");
    for options in [Options::Refused, Options::Swallowed] {
        let db = open(&pooler(&server.url("work"), server.port(), options).await, Limits::default()).await;
        db.migrate().await.expect("migrates");
        let task = submit(&db, "before").await;
        server.stop_immediately();
        let key = SubmissionKey::fresh();
        let refused = unavailable(db.submit("away", &NewTask::default(), &key, &|_| ()).await);
        assert!(refused.sqlstate.is_none(), "{refused}");
        server.start_again();
        let before = db.pool_figures()[0].timed_out;
        assert!(db.submit("back", &NewTask::default(), &key, &|_| ()).await.expect("submits").created);
        assert_eq!(row(&db, task.id).await, task);
        assert!(db.behind_pooler());
        assert_eq!(db.pool_figures()[0].timed_out, before, "nothing was waited for in vain");
    }
}

/// Behind a pooler the server knows no deadline of this program's: then the client's own is what stops a statement,
/// at the server too, and its connection goes with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clients_own_deadline_stops_a_statement_at_the_server() {
    let url = empty_database();
    let direct = open(&url, Limits::default()).await;
    direct.migrate().await.expect("migrates");
    // Long enough to be seen waiting, and for what waits for nobody.
    let limits = Limits { statement: Duration::from_secs(3), operator_pool: 1, ..Limits::default() };
    let db = open(&pooler(&url, shared_server().port(), Options::Swallowed).await, limits).await;
    let (mut holder, watch) = (outside(&url).await, outside(&url).await);
    let task = submit(&direct, "x").await;
    let naps = "CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS \
                  'BEGIN PERFORM pg_sleep(3600); RETURN NEW; END'; \
                CREATE TRIGGER nap BEFORE INSERT ON taskdeck.tasks FOR EACH ROW EXECUTE FUNCTION nap()";
    watch.batch_execute(naps).await.expect("a statement that takes long");
    let blocked = holder.transaction().await.expect("begin");
    blocked.batch_execute("LOCK TABLE taskdeck.tasks IN ROW EXCLUSIVE MODE").await.expect("lock");
    let lock = "SELECT FROM taskdeck.tasks FOR UPDATE";
    blocked.batch_execute(lock).await.expect("lock its row");
    for waits_for in ["Lock", "Timeout"] {
        let writing = tokio::spawn({
            let (db, task) = (db.clone(), task.clone());
            async move {
                if waits_for == "Lock" {
                    drop(db.decide(&decision(DecisionKind::Cancel, &[&task]), &quiet).await);
                } else {
                    drop(db.submit("y", &NewTask::default(), &SubmissionKey::fresh(), &quiet).await);
                }
            }
        });
        let waiting = format!(
            "SELECT coalesce(min(pid), 0)::bigint FROM pg_stat_activity WHERE wait_event_type = '{waits_for}' \
             AND datname = current_database() AND starts_with(application_name, 'taskdeck ')"
        );
        let pid = until("a statement that waits", || async {
            Some(number(&watch, &waiting).await).filter(|pid| *pid > 0)
        })
        .await;
        let same = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
        until("neither statement nor session", || async { (number(&watch, &same).await == 0).then_some(()) })
            .await;
        // It is pursued, so others of its kind follow; none of them stays behind.
        writing.abort();
        let _ = writing.await;
        until("nothing of it at the server", || async {
            (number(&watch, &waiting).await == 0).then_some(())
        })
        .await;
        assert_eq!(row(&db, task.id).await, task, "the only slot is free");
        until("nothing in use", || async { (db.operator_pool().figures().in_use == 0).then_some(()) }).await;
    }
}
