//! A `PostgreSQL` server of the test's own: stopped by its pid and removed when dropped.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::certs::Pair;

const HBA: &str = "\
local   all all trust
hostssl all cert_user  127.0.0.1/32 cert
host    all scram_user 127.0.0.1/32 scram-sha-256
hostssl all tls_user   127.0.0.1/32 trust
host    all open_user  127.0.0.1/32 trust
";

const ROLES: &str = "\
CREATE ROLE cert_user LOGIN; CREATE ROLE tls_user LOGIN; CREATE ROLE open_user LOGIN;
CREATE ROLE scram_user LOGIN PASSWORD 'right: pass\\word'";

/// The password of `scram_user`.
pub(crate) const PASSWORD: &str = "right: pass\\word";

/// What the server has for TLS.
pub(crate) enum Tls<'a> {
    Off,
    On { pair: &'a Pair, client_ca: &'a str },
}

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    dir: TempDir,
}

impl Server {
    pub(crate) async fn start(tls: Tls<'_>) -> Self {
        let dir = tempfile::Builder::new().prefix("taskdeck-tls-").tempdir_in("/tmp").expect("a folder");
        let account = Account::of_server();
        account.own(dir.path());
        let data = dir.path().join("data");
        let output = account
            .command("initdb")
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--no-locale",
                "-D",
            ])
            .arg(&data)
            .current_dir(dir.path())
            .output()
            .expect("initdb runs; install the server programs or name their folder in TASKDECK_PG_BIN");
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
        let mut settings = format!(
            "listen_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nfsync = off\nmax_connections = 30\n",
            dir.path().display()
        );
        if let Tls::On { pair, client_ca } = tls {
            for (name, text) in
                [("server.crt", pair.cert.as_str()), ("server.key", &pair.key), ("ca.crt", client_ca)]
            {
                let path = data.join(name);
                fs::write(&path, text).expect("written");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("mode set");
                account.own(&path);
            }
            settings.push_str("ssl = on\nssl_ca_file = 'ca.crt'\n");
        }
        fs::write(data.join("postgresql.auto.conf"), settings).expect("written");
        fs::write(data.join("pg_hba.conf"), HBA).expect("written");
        // Between the choice of a port and the server's own bind another program may take it.
        for _ in 0..5 {
            let (mut child, port) = spawn(&account, dir.path(), &data);
            if await_ready(&mut child, dir.path(), port).await {
                return Self { child, port, dir };
            }
        }
        panic!("the server does not start: {}", log(dir.path()));
    }

    /// Where the test keeps its own files.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("mode set");
        path
    }

    pub(crate) fn socket_dir(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

fn spawn(account: &Account, dir: &Path, data: &Path) -> (Child, u16) {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|probe| probe.local_addr()).expect("a free port").port();
    let log = fs::File::create(dir.join("log")).expect("a log");
    let child = account
        .command("postgres")
        .arg("-D")
        .arg(data)
        .args(["-p", &port.to_string()])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("postgres runs");
    (child, port)
}

/// Asks until it answers; `false` if it ended instead. Past the deadline the server is stopped.
async fn await_ready(child: &mut Child, dir: &Path, port: u16) -> bool {
    let mut config = tokio_postgres::Config::new();
    config.host_path(dir).port(port).user("postgres").dbname("postgres");
    let deadline = Instant::now() + Duration::from_mins(1);
    while Instant::now() < deadline {
        if child.try_wait().expect("the child can be asked").is_some() {
            return false;
        }
        if let Ok((client, connection)) = config.connect(tokio_postgres::NoTls).await {
            let connection = tokio::spawn(connection);
            client.batch_execute(ROLES).await.expect("roles are made");
            drop(client);
            connection.await.expect("no panic").expect("a clean end");
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop(child);
    panic!("the server does not answer: {}", log(dir));
}

fn log(dir: &Path) -> String {
    fs::read_to_string(dir.join("log")).unwrap_or_default()
}

/// Fast shutdown; one that takes too long is killed.
fn stop(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    for (signal, patience) in [(Signal::INT, 10), (Signal::QUIT, 5)] {
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
        let deadline = Instant::now() + Duration::from_secs(patience);
        while Instant::now() < deadline {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Who runs the server: ourselves, or `postgres` if we are root, whom the server refuses.
struct Account {
    other: Option<(u32, u32)>,
    bin: PathBuf,
}

impl Account {
    fn of_server() -> Self {
        let other = rustix::process::geteuid().is_root().then(|| {
            let passwd = fs::read_to_string("/etc/passwd").expect("/etc/passwd");
            let line = passwd.lines().find(|line| line.starts_with("postgres:")).expect("a user postgres");
            let mut ids = line.split(':').skip(2).map(|id| id.parse().expect("a number"));
            (ids.next().expect("uid"), ids.next().expect("gid"))
        });
        Self { other, bin: find_programs() }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.env("LC_ALL", "C");
        if let Some((uid, gid)) = self.other {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn own(&self, path: &Path) {
        if let Some((uid, gid)) = self.other {
            chown(path, Some(uid), Some(gid)).expect("root may change the owner");
        }
    }
}

fn find_programs() -> PathBuf {
    let named = std::env::var_os("TASKDECK_PG_BIN").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = (14..=18).rev().map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    named
        .into_iter()
        .chain(debian)
        .chain(std::env::split_paths(&path))
        .find(|dir| dir.join("initdb").exists() && dir.join("postgres").exists())
        .expect("PostgreSQL's server programs: install them or name their folder in TASKDECK_PG_BIN")
}
