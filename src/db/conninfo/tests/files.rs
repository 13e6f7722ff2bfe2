use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::pgpass::{Wanted, find};
use super::super::{ConnInfoError, service};
use super::World;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn write(dir: &TempDir, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("mode set");
    path
}

fn look(text: &str, host: &str, port: u16, dbname: &str, user: &str) -> Option<String> {
    find(text, Wanted { host, port, dbname, user }).map(|secret| secret.expose().to_owned())
}

#[test]
fn the_first_line_that_matches_gives_the_password() {
    let text = "# comment\n\nbroken\ndb1:5432:jobs:app:exact\n*:*:*:app:any\ndb1:5432:jobs:app:late\n";
    assert_eq!(look(text, "db1", 5432, "jobs", "app").as_deref(), Some("exact"));
    assert_eq!(look(text, "db1", 5433, "jobs", "app").as_deref(), Some("any"));
    assert_eq!(look(text, "db1", 5432, "jobs", "bob"), None);
}

#[test]
fn escapes_are_undone_in_every_field() {
    let text = "\\:\\:1:*:a\\\\b:u\\:v:p\\:q\\\\r:s\r\n";
    assert_eq!(look(text, "::1", 1, "a\\b", "u:v").as_deref(), Some("p:q\\r:s"));
    assert_eq!(look("\\*:*:*:*:star", "db1", 1, "d", "u"), None);
}

#[test]
fn localhost_is_also_the_usual_sockets() {
    let text = "localhost:*:*:*:pw";
    for host in ["localhost", "/var/run/postgresql", "/tmp"] {
        assert_eq!(look(text, host, 5432, "d", "u").as_deref(), Some("pw"), "{host}");
    }
    assert_eq!(look(text, "/home/mallory", 5432, "d", "u"), None);
    assert_eq!(look("/home/me/pg:*:*:*:pw", "/home/me/pg", 5432, "d", "u").as_deref(), Some("pw"));
}

#[test]
fn the_password_file_is_used_unless_a_password_is_given() {
    let home = folder();
    write(&home, ".pgpass", "db1:5432:jobs:app:first\ndb2:*:*:*:second\n", 0o600);
    let world = |url: &str| World::new(&[]).home(home.path()).flag(url).info();
    let info = world("postgresql://app@db1,db2/jobs");
    assert_eq!(info.config().get_password(), Some(&b"first"[..]));
    assert_eq!(info.password_from(), Some(home.path().join(".pgpass").to_str().expect("UTF-8")));
    assert_eq!(world("postgresql://app:own@db1/jobs").config().get_password(), Some(&b"own"[..]));
    assert_eq!(world("postgresql://app@db9/jobs").config().get_password(), None);
    let other = write(&home, "other", "*:*:*:*:third\n", 0o400);
    let env = [("PGPASSFILE", other.to_str().expect("UTF-8"))];
    let info = World::new(&env).home(home.path()).flag("postgresql://app@db1/jobs").info();
    assert_eq!(info.config().get_password(), Some(&b"third"[..]));
    assert!(info.warnings().is_empty());
    assert!(!format!("{info:?}").contains("third"));
}

#[test]
fn a_password_file_that_others_may_read_is_ignored_with_a_warning() {
    let home = folder();
    for mode in [0o640, 0o604, 0o644, 0o660] {
        write(&home, ".pgpass", "*:*:*:*:geheim\n", mode);
        let info = World::new(&[]).home(home.path()).flag("host=db1").info();
        assert_eq!(info.config().get_password(), None);
        let [warning] = info.warnings() else { panic!("one warning, not {:?}", info.warnings()) };
        assert!(warning.contains(".pgpass") && warning.contains(&format!("{mode:04o}")), "{warning}");
        assert!(!warning.contains("geheim"));
    }
    let info = World::new(&[]).flag("host=db1 passfile=/nonexistent/pgpass").info();
    assert_eq!(info.warnings().len(), 1);
    assert!(World::new(&[]).flag("host=db1 passfile=/dev/null").info().warnings().is_empty());
    assert!(World::new(&[]).home("/nonexistent").flag("host=db1").info().warnings().is_empty());
}

const SERVICES: &str = "\
# services
[other]
nonsense here
[jobs]
host=db1
 port=5433
user=svc
password=geheim
user=late
[last]
host=db3
";

#[test]
fn a_service_fills_before_the_variables() {
    let home = folder();
    write(&home, ".pg_service.conf", SERVICES, 0o600);
    let env = [("PGSERVICE", "jobs"), ("PGUSER", "app"), ("PGDATABASE", "d")];
    let info = World::new(&env).home(home.path()).info();
    assert_eq!(info.label(), "svc@db1:5433/d");
    assert_eq!(info.source().to_string(), "PGSERVICE");
    assert_eq!(info.config().get_password(), Some(&b"geheim"[..]));
    assert!(!format!("{info:?} {}", info.redacted_url()).contains("geheim"));
    let info = World::new(&env).home(home.path()).flag("postgresql://me@/x?service=last").info();
    assert_eq!(info.label(), "me@db3/x");
    let named = write(&home, "named", "[jobs]\nhost=db9\n", 0o600);
    let url = format!("service=jobs servicefile={}", named.display());
    assert_eq!(World::new(&[]).home(home.path()).flag(&url).info().host_label(), "db9");
    let env = [("PGSERVICE", "jobs"), ("PGSERVICEFILE", named.to_str().expect("UTF-8"))];
    assert_eq!(World::new(&env).home(home.path()).info().host_label(), "db9");
}

#[test]
fn the_systems_file_is_asked_second() {
    let (home, system) = (folder(), folder());
    write(&home, ".pg_service.conf", SERVICES, 0o600);
    write(&system, "pg_service.conf", "[wide]\nhost=db7\n[jobs]\nhost=no\n", 0o644);
    let dir = system.path().to_str().expect("UTF-8");
    let host = |name| {
        World::new(&[("PGSERVICE", name), ("PGSYSCONFDIR", dir)]).home(home.path()).info().host_label()
    };
    assert_eq!((host("wide").as_str(), host("jobs").as_str()), ("db7", "db1:5433"));
    let error = World::new(&[("PGSERVICE", "nope"), ("PGSYSCONFDIR", dir)]).home(home.path()).error();
    assert!(matches!(&error, ConnInfoError::ServiceNotFound { name, .. } if name == "nope"), "{error}");
    assert!(error.hint().contains(".pg_service.conf") && error.hint().contains(dir), "{}", error.hint());
}

#[test]
fn a_broken_section_is_an_error_with_its_line() {
    let fails = |text: &str| match service::section(text, "a", Path::new("/f")) {
        Err(ConnInfoError::ServiceFile { line, reason, .. }) => (line, reason),
        other => panic!("{other:?}"),
    };
    assert_eq!(fails("[a]\nhost=h\ngeheim\n").0, 3);
    assert!(!fails("[a]\npassword\ngeheim\n").1.contains("geheim"));
    assert!(fails("[a]\nhots=h\n").1.contains("hots"));
    assert!(fails("[a]\nservice=b\n").1.contains("service"));
    assert!(fails("[a]\nldap://x\n").1.contains("LDAP"));
}

proptest! {
    #[test]
    fn no_file_makes_the_readers_panic(text in "(?s)[a:\\\\*\\[\\]=\n#é]{0,60}") {
        let _ = find(&text, Wanted { host: "a", port: 1, dbname: "a", user: "a" });
        let _ = service::section(&text, "a", Path::new("/f"));
    }

    #[test]
    fn a_password_file_gives_back_what_was_put_in(user in "[^\0\r\n]+", password in "[^\0\r\n]+") {
        let escape = |text: &str| text.replace('\\', "\\\\").replace(':', "\\:");
        let line = format!("*:*:*:{}:{}\n", escape(&user), escape(&password));
        if user != "*" {
            prop_assert_eq!(look(&line, "h", 1, "d", &user), Some(password));
        }
    }
}
