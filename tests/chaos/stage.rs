//! Where a run takes place: the server, the two ways to it, the folder of its files, and what was done to it when.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

use crate::journal::Journal;
use crate::plan::{Micros, Plan, now, seconds};
use crate::proxy::Proxy;
use crate::support::{PATIENCE, Server, unique};

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_taskdeck");

/// How a process reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Direct,
    /// Where answers are cut off.
    Proxied,
    /// By a port of one's own.
    Own(u16),
}

/// See the module.
pub(crate) struct Stage {
    pub(crate) plan: Plan,
    pub(crate) proxy: Proxy,
    pub(crate) journal: Journal,
    server: Arc<Mutex<Server>>,
    port: u16,
    folder: PathBuf,
    began: Micros,
    until: Instant,
    noted: Mutex<Vec<Noted>>,
}

/// Something that was done to the run.
#[derive(Debug, Clone)]
struct Noted {
    at: Micros,
    kind: &'static str,
    what: String,
}

impl Stage {
    /// Starts the server, has the program make its tables, and puts the witness beside them.
    pub(crate) async fn set(plan: Plan) -> Arc<Self> {
        let name = format!("chaos-{}-{}-{}", plan.seed, std::process::id(), unique());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the run");
        let server = Server::start_restartable();
        server.psql("postgres", "CREATE DATABASE chaos").expect("a database");
        let port = server.port();
        let stage = Self {
            proxy: Proxy::start(port).await,
            journal: Journal::default(),
            server: Arc::new(Mutex::new(server)),
            port,
            folder,
            began: now(),
            until: Instant::now() + plan.faults,
            noted: Mutex::default(),
            plan,
        };
        let migrated = tokio::process::Command::new(PROGRAM)
            .args(["migrate", "--database-url", &stage.url(Route::Direct)])
            .output()
            .await
            .expect("run the program");
        assert!(migrated.status.success(), "{migrated:?}");
        stage.rows(include_str!("witness.sql")).await.expect("the witness");
        Arc::new(stage)
    }

    /// Where the run's files are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The database's address.
    pub(crate) fn url(&self, route: Route) -> String {
        url_by(match route {
            Route::Direct => self.port,
            Route::Proxied => self.proxy.port(),
            Route::Own(port) => port,
        })
    }

    /// The server's own port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether things are still being broken.
    pub(crate) fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// Waits, but not past the end of the faults; tells whether they go on.
    pub(crate) async fn pause(&self, wait: Duration) -> bool {
        tokio::time::sleep(wait.min(self.until.saturating_duration_since(Instant::now()))).await;
        self.goes_on()
    }

    /// Writes down that something was done.
    pub(crate) fn note(&self, kind: &'static str, what: impl Into<String>) {
        self.noted().push(Noted { at: now(), kind, what: what.into() });
    }

    /// How often each kind of thing was done.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for noted in self.noted().iter() {
            *counts.entry(noted.kind).or_default() += 1;
        }
        counts
    }

    /// Everything that was done, a line each.
    pub(crate) fn chronicle(&self) -> String {
        let line = |noted: &Noted| {
            format!("{:9.3} s  {}: {}\n", seconds(noted.at - self.began), noted.kind, noted.what)
        };
        self.noted().iter().map(line).collect()
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Noted>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the server that takes its time.
    pub(crate) async fn with_server<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Server) -> T + Send + 'static,
    ) -> T {
        let server = Arc::clone(&self.server);
        let done = tokio::task::spawn_blocking(move || {
            act(&mut server.lock().unwrap_or_else(PoisonError::into_inner))
        });
        done.await.expect("the server does as it is told")
    }

    /// What the server has logged.
    pub(crate) fn server_log(&self) -> String {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).log()
    }

    /// Runs SQL outside everything that is under test, on a connection of its own.
    pub(crate) async fn rows(&self, sql: &str) -> Result<Vec<Row>, String> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user("tester").dbname("chaos").application_name("chaos");
        // A commit of this session waits for no standby, whatever the run has told the server.
        config.options("-c synchronous_commit=local").connect_timeout(Duration::from_secs(5));
        let (client, connection) = config.connect(NoTls).await.map_err(|error| error.to_string())?;
        let driver = tokio::spawn(connection);
        let answer = client.simple_query(sql).await.map_err(|error| format!("{error:?}"));
        drop(client);
        let _ = driver.await;
        let messages = answer?.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some(Row((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect()))
            }
            _ => None,
        });
        Ok(messages.collect())
    }

    /// As [`Stage::rows`], and again until the server answers.
    pub(crate) async fn rows_at_last(&self, sql: &str) -> Vec<Row> {
        let started = Instant::now();
        loop {
            match self.rows(sql).await {
                Ok(rows) => return rows,
                Err(error) if started.elapsed() > PATIENCE => panic!("{sql}: {error}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// A number that the database is asked for.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.rows_at_last(sql).await.first().map_or(0, |row| row.number(0))
    }
}

/// The database's address by a port of one's own.
pub(crate) fn url_by(port: u16) -> String {
    format!("postgresql://tester@127.0.0.1:{port}/chaos?sslmode=disable")
}

/// A row as text.
#[derive(Debug, Clone)]
pub(crate) struct Row(Vec<Option<String>>);

impl Row {
    /// A column, if it is not NULL.
    pub(crate) fn text(&self, at: usize) -> Option<&str> {
        self.0[at].as_deref()
    }

    /// A column that is never NULL.
    pub(crate) fn word(&self, at: usize) -> &str {
        self.text(at).unwrap_or_default()
    }

    /// A whole number.
    pub(crate) fn number(&self, at: usize) -> i64 {
        let text = self.word(at);
        text.parse().unwrap_or_else(|_| panic!("`{text}` is no number: {self:?}"))
    }
}
