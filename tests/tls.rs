//! The connection settings and the TLS connector against real servers.

#[path = "tls/certs.rs"]
mod certs;
#[path = "tls/middle.rs"]
mod middle;
#[path = "tls/server.rs"]
mod server;

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use certs::{Authority, self_signed};
use deadpool_postgres::{Manager, Pool};
use server::{PASSWORD, Server, Tls};
use taskdeck::db::conninfo::{ConnInfo, ConnInfoError, Sources, TlsConnector, connector, resolve};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// Generous: only a hang reaches it.
const DEADLINE: Duration = Duration::from_secs(30);

/// What came of an attempt.
#[derive(Debug)]
enum Attempt {
    Encrypted,
    Plain,
    /// The connector could not be made.
    Settings {
        text: String,
    },
    /// The connection failed: the whole chain of errors, the SQLSTATE, and the advice.
    Refused {
        text: String,
        code: Option<SqlState>,
        hint: String,
    },
}

impl Attempt {
    fn is_refused_for(&self, words: &str) -> bool {
        matches!(self, Self::Refused { text, .. } | Self::Settings { text } if text.contains(words))
    }

    fn has_code(&self, wanted: &SqlState) -> bool {
        matches!(self, Self::Refused { code: Some(code), .. } if code == wanted)
    }

    fn hint(&self) -> &str {
        match self {
            Self::Refused { hint, .. } => hint,
            _ => "",
        }
    }
}

/// Settings from this address alone.
fn info(url: &str) -> ConnInfo {
    let sources = Sources { flag_url: Some(url.to_owned()), ..Sources::new(&|_| None) };
    resolve(&sources).unwrap_or_else(|error| panic!("{url}: {error}")).expect("a database is named")
}

async fn open(info: &ConnInfo, tls: TlsConnector) -> Result<Client, tokio_postgres::Error> {
    let connecting = info.config().connect(tls);
    let (client, connection) =
        tokio::time::timeout(DEADLINE, connecting).await.expect("an answer in time")?;
    tokio::spawn(connection);
    Ok(client)
}

async fn attempt(url: &str) -> Attempt {
    attempt_with(&info(url)).await
}

async fn attempt_with(info: &ConnInfo) -> Attempt {
    let tls = match connector(info) {
        Ok(tls) => tls,
        Err(error) => return Attempt::Settings { text: error.to_string() },
    };
    let client = match open(info, tls).await {
        Ok(client) => client,
        Err(error) => {
            let mut text = error.to_string();
            let mut next = error.source();
            while let Some(error) = next {
                text = format!("{text}: {error}");
                next = error.source();
            }
            let hint = info.connect_hint(&error).unwrap_or_default();
            return Attempt::Refused { text, code: error.code().cloned(), hint };
        }
    };
    let row = client.query_one("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[]).await;
    if row.expect("an answer").get(0) { Attempt::Encrypted } else { Attempt::Plain }
}

/// An answer to expect, short enough for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Plain,
    Encrypted,
    UnknownIssuer,
    WrongName,
}

fn check(got: &Attempt, want: Want) -> bool {
    match want {
        Want::Plain => matches!(got, Attempt::Plain),
        Want::Encrypted => matches!(got, Attempt::Encrypted),
        // A machine without root certificates of its own says so before it connects.
        Want::UnknownIssuer => {
            got.is_refused_for("no root certificates")
                || (got.is_refused_for("UnknownIssuer") && got.hint().contains("sslrootcert=FILE"))
        }
        Want::WrongName => got.is_refused_for("not valid for name") && got.hint().contains("another name"),
    }
}

#[tokio::test]
async fn six_modes_against_authorities_and_names() {
    use Want::{Encrypted, Plain, UnknownIssuer, WrongName};
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let pair = ours.server(&["db.test"]);
    let server = Server::start(Tls::On { pair: &pair, client_ca: &ours.pem() }).await;
    let right = server.write("right.crt", &ours.pem());
    let wrong = server.write("wrong.crt", &theirs.pem());
    let base = format!("user=open_user dbname=postgres port={}", server.port);
    let right_name = "host=db.test hostaddr=127.0.0.1";
    let wrong_name = "host=127.0.0.1";
    let right = format!("sslrootcert={}", right.display());
    let wrong = format!("sslrootcert={}", wrong.display());
    let mut failures = Vec::new();
    // For each mode: no authority named, the right one, the right one under a wrong name, the wrong one.
    for (mode, wants) in [
        ("disable", [Plain, Plain, Plain, Plain]),
        ("allow", [Encrypted, Encrypted, Encrypted, UnknownIssuer]),
        ("prefer", [Encrypted, Encrypted, Encrypted, UnknownIssuer]),
        ("require", [Encrypted, Encrypted, Encrypted, UnknownIssuer]),
        ("verify-ca", [UnknownIssuer, Encrypted, Encrypted, UnknownIssuer]),
        ("verify-full", [UnknownIssuer, Encrypted, WrongName, UnknownIssuer]),
    ] {
        let cases = [(right_name, ""), (right_name, &*right), (wrong_name, &*right), (right_name, &*wrong)];
        for ((name, roots), want) in cases.into_iter().zip(wants) {
            let url = format!("{base} {name} {roots} sslmode={mode}");
            let got = attempt(&url).await;
            if !check(&got, want) {
                failures.push(format!("{mode} {name} {roots}: wanted {want:?}, got {got:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");

    // Nobody gave a mode: loopback is taken as it is, unless an authority is named.
    assert!(check(&attempt(&format!("{base} {wrong_name}")).await, Encrypted));
    assert!(check(&attempt(&format!("{base} {wrong_name} {right}")).await, WrongName));
    // An unencrypted connection that the server's rules refuse.
    let tls_user =
        format!("host=127.0.0.1 port={} user=tls_user dbname=postgres sslmode=disable", server.port);
    let refused = attempt(&tls_user).await;
    assert!(refused.has_code(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION), "{refused:?}");
    assert!(refused.hint().contains("sslmode=require"), "{refused:?}");
    // Sockets have no TLS, whatever is asked for.
    let socket = format!("{base} host={} sslmode=verify-full", server.socket_dir().display());
    assert!(check(&attempt(&socket).await, Plain));
}

#[tokio::test]
async fn clients_prove_who_they_are() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let pair = ours.server(&["db.test"]);
    let server = Server::start(Tls::On { pair: &pair, client_ca: &ours.pem() }).await;
    let roots = server.write("root.crt", &ours.pem());
    let base = format!(
        "host=db.test hostaddr=127.0.0.1 port={} dbname=postgres sslmode=verify-full sslrootcert={}",
        server.port,
        roots.display()
    );
    certificates(&server, &base, &ours, &theirs).await;
    passwords(&server, &base).await;
    cancels(&base).await;
    pools(&base).await;
}

async fn certificates(server: &Server, base: &str, ours: &Authority, theirs: &Authority) {
    let with = |name: &str, pair: &certs::Pair| {
        let cert = server.write(&format!("{name}.crt"), &pair.cert);
        let key = server.write(&format!("{name}.key"), &pair.key);
        format!("{base} user=cert_user sslcert={} sslkey={}", cert.display(), key.display())
    };
    let own = with("own", &ours.client("cert_user"));
    assert!(matches!(attempt(&own).await, Attempt::Encrypted));
    let none = attempt(&format!("{base} user=cert_user")).await;
    assert!(none.has_code(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION), "{none:?}");
    assert!(none.hint().contains("sslcert"), "{none:?}");
    let somebody = attempt(&with("somebody", &ours.client("somebody"))).await;
    assert!(somebody.has_code(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION), "{somebody:?}");
    let foreign = attempt(&with("foreign", &theirs.client("cert_user"))).await;
    assert!(matches!(foreign, Attempt::Refused { .. }), "{foreign:?}");

    // A key that does not belong to the certificate, and one that others may read.
    let (one, two) = (ours.client("cert_user"), ours.client("cert_user"));
    let mixed = attempt(&with("mixed", &certs::Pair { cert: one.cert, key: two.key })).await;
    assert!(matches!(mixed, Attempt::Settings { .. }), "{mixed:?}");
    let key = server.socket_dir().join("own.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("mode set");
    let Err(error) = connector(&info(&own)) else { panic!("a key that all may read was taken") };
    assert_eq!(error, ConnInfoError::KeyPermissions { path: key, mode: 0o644 });
}

async fn passwords(server: &Server, base: &str) {
    let quoted = PASSWORD.replace('\\', "\\\\");
    let right = attempt(&format!("{base} user=scram_user password='{quoted}'")).await;
    assert!(matches!(right, Attempt::Encrypted), "{right:?}");
    let bound = attempt(&format!("{base} user=scram_user password='{quoted}' channel_binding=require")).await;
    assert!(matches!(bound, Attempt::Encrypted), "{bound:?}");
    let wrong = attempt(&format!("{base} user=scram_user password=geheim")).await;
    assert!(wrong.has_code(&SqlState::INVALID_PASSWORD), "{wrong:?}");
    assert!(wrong.hint().contains("--database-url") && !format!("{wrong:?}").contains("geheim"), "{wrong:?}");
    let none = attempt(&format!("{base} user=scram_user")).await;
    assert!(none.is_refused_for("password missing") && none.hint().contains(".pgpass"), "{none:?}");

    let line = format!("db.test:{}:postgres:scram_user:{}\n", server.port, PASSWORD.replace('\\', "\\\\"));
    let pass_file = server.write("pgpass", &format!("db.test:1:*:*:other\n{line}"));
    let lookup = |name: &str| (name == "PGPASSFILE").then(|| pass_file.display().to_string());
    let resolve_with = || {
        let flag_url = Some(format!("{base} user=scram_user"));
        let sources = Sources { flag_url, ..Sources::new(&lookup) };
        resolve(&sources).expect("settings are good").expect("a database is named")
    };
    let from_file = resolve_with();
    assert!(matches!(attempt_with(&from_file).await, Attempt::Encrypted));
    assert!(!format!("{from_file:?}").contains("pass\\"), "{from_file:?}");
    fs::set_permissions(&pass_file, fs::Permissions::from_mode(0o640)).expect("mode set");
    let open_to_all = resolve_with();
    assert_eq!(open_to_all.warnings().len(), 1);
    assert!(attempt_with(&open_to_all).await.is_refused_for("password missing"));
}

/// A cancel request opens a connection of its own, which must be encrypted by the same rules.
async fn cancels(base: &str) {
    let info = info(&format!("{base} user=open_user"));
    let tls = connector(&info).expect("a connector");
    let client = open(&info, tls.clone()).await.expect("a connection");
    let token = client.cancel_token();
    let sleeping = client.batch_execute("SELECT pg_sleep(60)");
    let canceling = async {
        // The request is lost if it comes before the statement, so it is repeated until the statement ends.
        loop {
            token.cancel_query(tls.clone()).await.expect("the request is sent");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(DEADLINE, sleeping) => outcome.expect("canceled in time"),
        () = canceling => unreachable!("it repeats for ever"),
    };
    assert_eq!(outcome.expect_err("canceled").code(), Some(&SqlState::QUERY_CANCELED));
}

/// The pool asks more of the connector than the driver does: it is cloned and sent between threads.
async fn pools(base: &str) {
    let info = info(&format!("{base} user=open_user"));
    let tls = connector(&info).expect("a connector");
    let pool = Pool::builder(Manager::new(info.config().clone(), tls)).max_size(2).build().expect("a pool");
    for _ in 0..2 {
        let client = pool.get().await.expect("a connection");
        let row = client.query_one("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[]).await;
        assert!(row.expect("an answer").get::<_, bool>(0));
    }
}

#[tokio::test]
async fn a_server_without_tls_is_only_spoken_to_where_allowed() {
    let server = Server::start(Tls::Off).await;
    let base = format!("host=127.0.0.1 port={} user=open_user dbname=postgres", server.port);
    for mode in ["disable", "allow", "prefer"] {
        let got = attempt(&format!("{base} sslmode={mode}")).await;
        assert!(matches!(got, Attempt::Plain), "{mode}: {got:?}");
    }
    assert!(matches!(attempt(&base).await, Attempt::Plain));
    for mode in ["require", "verify-ca", "verify-full"] {
        let got = attempt(&format!("{base} sslmode={mode}")).await;
        assert!(got.is_refused_for("server does not support TLS"), "{mode}: {got:?}");
        assert!(got.hint().contains(&format!("sslmode={mode} asks for it")), "{got:?}");
    }
    // Of several hosts the next is tried, socket included.
    let several = format!(
        "host={},127.0.0.1 port=1,{} user=open_user dbname=postgres",
        server.socket_dir().display(),
        server.port
    );
    assert!(matches!(attempt(&several).await, Attempt::Plain));
}

#[tokio::test]
async fn a_certificate_may_be_its_own_authority() {
    let (own, other) = (self_signed(&["db.test", "127.0.0.1"]), self_signed(&["db.test"]));
    let server = Server::start(Tls::On { pair: &own, client_ca: &own.cert }).await;
    let right = server.write("right.crt", &own.cert);
    let wrong = server.write("wrong.crt", &other.cert);
    let base = format!("port={} user=tls_user dbname=postgres sslmode=verify-full", server.port);
    for host in ["host=db.test hostaddr=127.0.0.1", "host=127.0.0.1", "hostaddr=127.0.0.1"] {
        let got = attempt(&format!("{base} {host} sslrootcert={}", right.display())).await;
        assert!(matches!(got, Attempt::Encrypted), "{host}: {got:?}");
    }
    let named = attempt(&format!("{base} host=localhost sslrootcert={}", right.display())).await;
    assert!(check(&named, Want::WrongName), "{named:?}");
    let foreign = attempt(&format!("{base} host=127.0.0.1 sslrootcert={}", wrong.display())).await;
    assert!(matches!(foreign, Attempt::Refused { .. }), "{foreign:?}");
}
