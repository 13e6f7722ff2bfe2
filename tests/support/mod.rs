//! A throw-away `PostgreSQL` for tests. A missing server is a failure, never a reason to pass.
//!
//! The server belongs to a small shell that waits for this process to end: however the tests end, the server
//! ends with them and its files are removed.
#![expect(unreachable_pub, reason = "test binaries include it as a file")]

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use taskdeck::db::conninfo::{self, ConnInfo, Sources};
use taskdeck::db::{Access, Db, Limits, Options, Schema};

/// The most that any wait in a test lasts before it is a failure.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Starts the server that the arguments name and ends it when standard input ends.
const KEEPER: &str = r#"
[ -d "$2/data" ] || "$1/initdb" -D "$2/data" -U tester --auth=trust --no-sync --no-instructions --locale=C --encoding=UTF8 >"$2/initdb.log" 2>&1 || {
    cat "$2/initdb.log" >&2; rm -rf "$2"; exit 1; }
run() {
    "$1/postgres" -D "$2/data" -k "$2" -c listen_addresses=127.0.0.1 -p "$3" -c fsync=off -c full_page_writes=off \
        -c synchronous_commit="$4" -c max_connections=200 -c shared_buffers=64MB -c autovacuum_naptime=5s \
        >>"$2/server.log" 2>&1 </dev/null &
    pid=$!
}
run "$@"
while read -r word; do
    case "$word" in
        immediate) kill -QUIT "$pid"; wait "$pid"; echo stopped ;;
        fast) kill -INT "$pid"; wait "$pid"; echo stopped ;;
        start) run "$@"; echo started ;;
    esac
done
kill -QUIT "$pid" 2>/dev/null
wait "$pid"
rm -rf "$2"
"#;

/// A server of this process.
pub struct Server {
    keeper: Child,
    folder: PathBuf,
    port: u16,
}

/// What a commit waits for before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    /// Nothing: a crash of the server loses the newest of them.
    Fast,
    /// Until the log has left the server: its crash loses none. One of the machine would, as nothing is synced.
    Kept,
}

impl Server {
    /// Makes a cluster and starts it.
    pub fn start() -> Self {
        Self::keep(NewFolder::make(), free_port(), Commits::Fast)
    }

    /// Makes a cluster that may be stopped while clients look for it, and started again: nobody else gets its port
    /// meanwhile, and it keeps what it has answered through [`Server::stop_immediately`].
    pub fn start_restartable() -> Self {
        // Nobody must have the port while the server is down. From the range that the kernel gives to connections one
        // that is being made to this very port could get it, and would then be connected to itself.
        // Another test of this process may have found the same one free and not have its server there yet.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let first = std::process::id().wrapping_mul(37);
        let mut ports = std::iter::repeat_with(|| first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)))
            .map(|number| 20_000 + u16::try_from(number % 12_000).expect("a small number"));
        let port = ports.find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok());
        Self::keep(NewFolder::make(), port.expect("a free port"), Commits::Kept)
    }

    /// Starts what is in `folder`, a cluster of its own where there is none.
    fn keep(folder: NewFolder, port: u16, commits: Commits) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(programs()).arg(folder.path()).arg(port.to_string());
        command.arg(if commits == Commits::Kept { "on" } else { "off" });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).process_group(0);
        if let Some((uid, gid)) = server_account() {
            command.uid(uid).gid(gid);
        }
        let keeper = command.current_dir("/").spawn().expect("start the test server's keeper");
        // From now on the keeper removes it.
        let server = Self { keeper, folder: folder.keep(), port };
        server.wait_until_ready();
        server
    }

    /// A standby of this server, made from its files: stops it for that and starts it again.
    pub fn start_standby(&mut self) -> Self {
        self.stop();
        let folder = NewFolder::make();
        let data = folder.path().join("data");
        let copied = Command::new("cp").arg("-a").arg(self.folder.join("data")).arg(&data).status();
        assert!(copied.expect("cp starts").success(), "the cluster is copied");
        let settings = format!(
            "primary_conninfo = 'host=127.0.0.1 port={} user=tester'\nwal_retrieve_retry_interval = '100ms'\n",
            self.port
        );
        own(&data.join("postgresql.auto.conf"), &settings);
        own(&data.join("standby.signal"), "");
        self.start_again();
        Self::keep(folder, free_port(), Commits::Fast)
    }

    /// Starts it again after a stop, as a standby of nobody: it answers and takes no writes.
    pub fn start_again_demoted(&mut self) {
        own(&self.folder.join("data/standby.signal"), "");
        self.start_again();
    }

    /// The postmaster's process id.
    pub fn pid(&self) -> i32 {
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).expect("it runs");
        file.lines().next().and_then(|line| line.trim().parse().ok()).expect("a process id")
    }

    /// An address of `database` over TCP.
    pub fn url(&self, database: &str) -> String {
        format!("postgresql://tester@127.0.0.1:{}/{database}", self.port)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it as a crash would: no session is told, nothing is flushed.
    pub fn stop_immediately(&mut self) {
        self.tell("immediate");
    }

    /// Stops it in good order, ending every session. It waits for that: a runtime of one thread that is held up here
    /// while a connection of its own is on its way keeps the server waiting for that one's first word, a whole minute.
    pub fn stop(&mut self) {
        self.tell("fast");
    }

    /// Starts it again after a stop.
    pub fn start_again(&mut self) {
        self.tell("start");
        self.wait_until_ready();
    }

    fn tell(&mut self, word: &str) {
        use std::io::Write as _;
        let stdin = self.keeper.stdin.as_mut().expect("the keeper's standard input is piped");
        writeln!(stdin, "{word}").expect("the keeper reads");
        let stdout = self.keeper.stdout.as_mut().expect("the keeper's standard output is piped");
        let mut byte = [0];
        while byte[0] != b'\n' {
            stdout.read_exact(&mut byte).expect("the keeper answers");
        }
    }

    fn wait_until_ready(&self) {
        let started = Instant::now();
        while self.psql("postgres", "SELECT 1").is_err() {
            assert!(started.elapsed() < PATIENCE, "the test server did not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        ["initdb.log", "server.log"]
            .iter()
            .map(|name| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default())
            .collect()
    }

    /// Runs SQL by psql, outside everything that is under test; returns the rows, columns parted by `|`.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        psql(&self.url(database), sql)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// An empty folder for a server, its user's own; it is removed with this, unless it is kept.
struct NewFolder(Option<PathBuf>);

impl NewFolder {
    fn make() -> Self {
        let path = PathBuf::from(format!("/tmp/tdt-{}-{}", std::process::id(), unique()));
        std::fs::create_dir(&path).expect("make a folder for the test server");
        if let Some((uid, gid)) = server_account() {
            std::os::unix::fs::chown(&path, Some(uid), Some(gid))
                .expect("give the folder to the server's user");
        }
        Self(Some(path))
    }

    fn path(&self) -> &Path {
        self.0.as_deref().expect("it is kept at the end only")
    }

    /// Leaves the folder to whoever removes it later.
    fn keep(mut self) -> PathBuf {
        self.0.take().expect("it is kept once")
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Writes a file of the server's user's own.
fn own(path: &Path, text: &str) {
    std::fs::write(path, text).expect("write a file of the server's");
    if let Some((uid, gid)) = server_account() {
        std::os::unix::fs::chown(path, Some(uid), Some(gid)).expect("give it to the server's user");
    }
}

/// Runs SQL by psql against `url`.
pub fn psql(url: &str, sql: &str) -> Result<String, String> {
    let output = Command::new("psql")
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("psql does not start: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A database of one test on the server that the tests of this process share.
pub struct TestDb {
    /// Opened and migrated.
    pub db: Db,
    /// Its address.
    pub url: String,
}

impl TestDb {
    /// Another process's view of the same database: pools of its own.
    pub async fn open_again(&self, limits: Limits) -> Db {
        open(&self.url, limits).await
    }

    /// Runs SQL by psql, outside everything that is under test; returns the rows, columns parted by `|`.
    pub fn psql(&self, sql: &str) -> String {
        psql(&self.url, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

/// A fresh database, migrated, with the default limits.
pub async fn database() -> TestDb {
    database_with(Limits::default()).await
}

/// A fresh database, migrated.
pub async fn database_with(limits: Limits) -> TestDb {
    let url = empty_database();
    let db = open(&url, limits).await;
    db.migrate().await.expect("migrate");
    TestDb { db, url }
}

/// The address of a fresh database with nothing in it.
pub fn empty_database() -> String {
    let server = shared_server();
    let name = format!("t{}", unique());
    server.psql("postgres", &format!("CREATE DATABASE {name}")).expect("create a database");
    server.url(&name)
}

/// Opens `url` without migrating.
pub async fn open(url: &str, limits: Limits) -> Db {
    let options = Options {
        schema: Schema::new("taskdeck").expect("a name"),
        limits,
        access: Access::ReadWrite,
        application: "test".to_owned(),
    };
    Db::open(conn_info(url), options).await.expect("open the database")
}

/// The settings of `url`, whatever the environment says.
pub fn conn_info(url: &str) -> ConnInfo {
    let sources = Sources { flag_url: Some(url.to_owned()), ..Sources::new(&|_| None) };
    conninfo::resolve(&sources).expect("a good address").expect("a named database")
}

/// Waits until `test` gives something, at most [`PATIENCE`].
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut test: impl FnMut() -> F) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = test().await {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The server of this process's tests.
pub fn shared_server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// The folder of the server programs with the newest version.
pub fn programs() -> PathBuf {
    let named = std::env::var_os("TASKDECK_PG_BIN").map(PathBuf::from);
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut packaged: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path().join("bin")).collect())
        .unwrap_or_default();
    packaged.sort();
    named
        .into_iter()
        .chain(on_path.into_iter().flatten())
        .chain(packaged.into_iter().rev())
        .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
        .expect("PostgreSQL server programs are needed for tests (apt-get install postgresql)")
}

/// Whom the server runs as where this process is root, which `PostgreSQL` refuses.
pub fn server_account() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt as _;
    if std::fs::metadata("/proc/self").expect("this process's own entry").uid() != 0 {
        return None;
    }
    let accounts = std::fs::read_to_string("/etc/passwd").expect("the list of accounts");
    ["postgres", "nobody"].iter().find_map(|name| {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

/// A port that nobody listens on now.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    listener.local_addr().expect("address").port()
}

/// A number that no other test of this process has.
pub fn unique() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
