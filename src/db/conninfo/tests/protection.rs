use std::fs;
use std::path::{Path, PathBuf};

use tokio_postgres::config::SslMode as Driver;

use super::super::{ClientCert, ConnInfo, ConnInfoError, ModeChoice, Roots, SslMode, connector};
use super::{World, error, info};

#[test]
fn other_machines_must_prove_who_they_are() {
    for (url, mode) in [
        ("host=/tmp", SslMode::Disable),
        ("host=/tmp sslmode=verify-full", SslMode::Disable),
        ("host=localhost", SslMode::Prefer),
        ("host=127.0.0.2", SslMode::Prefer),
        ("host=::1", SslMode::Prefer),
        ("host=db1 hostaddr=127.0.0.1", SslMode::Prefer),
        ("host=localhost sslrootcert=/ca", SslMode::VerifyFull),
        ("host=localhost sslrootcert=system", SslMode::VerifyFull),
        ("host=db1", SslMode::VerifyFull),
        ("host=localhost,db1", SslMode::VerifyFull),
        ("host=localhost.example.org", SslMode::VerifyFull),
        ("host=localhost hostaddr=192.0.2.1", SslMode::VerifyFull),
        ("host=db1 sslmode=prefer", SslMode::Prefer),
        ("host=db1 sslmode=allow", SslMode::Allow),
        ("host=db1 sslmode=verify-ca", SslMode::VerifyCa),
    ] {
        let info = info(url);
        assert_eq!(info.ssl(), mode, "{url}");
        let given = if url.contains("sslmode") { ModeChoice::Given } else { ModeChoice::Default };
        assert_eq!(info.ssl_choice(), given, "{url}");
    }
    let by_variable = |env: &[(&str, &str)]| World::new(env).flag("host=db1").info().ssl();
    assert_eq!(by_variable(&[("PGSSLMODE", "disable")]), SslMode::Disable);
    assert_eq!(by_variable(&[("PGREQUIRESSL", "1")]), SslMode::Require);
    assert_eq!(by_variable(&[("PGREQUIRESSL", "0")]), SslMode::VerifyFull);
    assert_eq!(by_variable(&[("PGREQUIRESSL", "1"), ("PGSSLMODE", "prefer")]), SslMode::Prefer);
}

#[test]
fn the_driver_is_told_whether_tls_is_a_must() {
    let told = |mode: &str| info(&format!("host=db1 sslmode={mode}")).config().get_ssl_mode();
    assert_eq!(["disable", "allow", "prefer"].map(told), [Driver::Disable, Driver::Prefer, Driver::Prefer]);
    assert_eq!(["require", "verify-ca", "verify-full"].map(told), [Driver::Require; 3]);
    assert_eq!(info("host=/tmp sslmode=require").config().get_ssl_mode(), Driver::Disable);
}

#[test]
fn weak_combinations_are_refused() {
    for url in [
        "host=db1 sslmode=prefer sslnegotiation=direct",
        "host=localhost sslnegotiation=direct",
        "host=db1 sslmode=verify-ca sslrootcert=system",
    ] {
        assert!(matches!(error(url), ConnInfoError::WeakMode { .. }), "{url}");
    }
    assert!(matches!(error("host=/tmp,db1"), ConnInfoError::MixedHosts { .. }));
    assert!(matches!(error("host=/tmp,db1 sslmode=require"), ConnInfoError::MixedHosts { .. }));
    assert_eq!(info("host=/tmp,localhost").ssl(), SslMode::Prefer);
    assert_eq!(info("host=db1 sslnegotiation=direct").ssl(), SslMode::VerifyFull);
}

#[test]
fn the_usual_files_are_found_as_libpq_finds_them() {
    let home = tempfile::tempdir().expect("a folder");
    let dir = home.path().join(".postgresql");
    fs::create_dir(&dir).expect("a folder");
    let world = |url: &str| World::new(&[]).home(home.path()).flag(url);
    assert_eq!(*world("host=db1").info().roots(), Roots::System);
    assert_eq!(*world("host=db1 sslmode=require").info().roots(), Roots::Unchecked);
    let put = |name: &str| {
        fs::write(dir.join(name), "").expect("written");
        dir.join(name)
    };
    let path = put("root.crt");
    let own = Roots::File { path };
    assert_eq!(*world("host=db1").info().roots(), own);
    assert_eq!(*world("host=db1 sslmode=require").info().roots(), own);
    assert_eq!(*world("host=db1 sslmode=prefer").info().roots(), Roots::Unchecked);
    let given = Roots::File { path: PathBuf::from("/ca") };
    assert_eq!(*world("host=db1 sslrootcert=/ca").info().roots(), given);
    assert_eq!(*world("host=db1 sslrootcert=/ca sslmode=prefer").info().roots(), given);
    assert_eq!(*world("host=db1 sslrootcert=system").info().roots(), Roots::System);
    put("root.crl");
    assert_eq!(world("host=db1").info().warnings().len(), 1);

    let cert = put("postgresql.crt");
    assert_eq!(world("host=db1").error(), ConnInfoError::HalfClientCert { missing: "sslkey" });
    assert_eq!(world("host=db1 sslmode=disable").info().client_cert(), None);
    let key = put("postgresql.key");
    assert_eq!(world("host=db1").info().client_cert(), Some(&ClientCert { cert, key: key.clone() }));
    let cert = PathBuf::from("/mine");
    assert_eq!(world("host=db1 sslcert=/mine").info().client_cert(), Some(&ClientCert { cert, key }));
    assert_eq!(error("host=db1 sslkey=/k"), ConnInfoError::HalfClientCert { missing: "sslcert" });
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let home = tempfile::tempdir().expect("a folder");
    let empty = home.path().join("empty.crt");
    fs::write(&empty, "nothing\n").expect("written");
    for path in [empty, home.path().join("missing.crt")] {
        let info = info(&format!("host=db1 sslrootcert={}", path.display()));
        let Err(error) = connector(&info) else { panic!("{} was taken", path.display()) };
        let text = error.to_string();
        assert!(text.contains("sslrootcert") && text.contains(path.to_str().expect("UTF-8")), "{text}");
    }
}

#[test]
fn the_private_server_takes_nothing_from_the_environment() {
    let info =
        ConnInfo::for_private_server(Path::new("/run/td"), 5432, "postgres", "taskdeck").expect("good");
    assert_eq!(info.label(), "postgres@[local]/taskdeck");
    assert_eq!(info.source().to_string(), "private server");
    assert_eq!((info.ssl(), info.is_local()), (SslMode::Disable, true));
    assert!(connector(&info).is_ok());
    assert!(ConnInfo::for_private_server(Path::new("relative"), 5432, "u", "d").is_err());
}

#[test]
fn a_key_is_for_its_owner_alone() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let home = tempfile::tempdir().expect("a folder");
    let pair = rcgen::generate_simple_self_signed(["client".to_owned()]).expect("a certificate");
    let (cert, key) = (home.path().join("c.crt"), home.path().join("c.key"));
    fs::write(&cert, pair.cert.pem()).expect("written");
    fs::write(&key, pair.signing_key.serialize_pem()).expect("written");
    let info = info(&format!("host=localhost sslcert={} sslkey={}", cert.display(), key.display()));
    // Root may hand its key to a group, as a distribution does with the group `ssl-cert`.
    let of_root = key.metadata().expect("there").uid() == 0;
    for (mode, good) in [(0o600, true), (0o400, true), (0o640, of_root), (0o660, false), (0o604, false)] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("mode set");
        let result = connector(&info);
        assert_eq!(result.is_ok(), good, "{mode:04o}: {:?}", result.err());
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("mode set");
    fs::write(&key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n").expect("written");
    let Err(error) = connector(&info) else { panic!("an encrypted key was taken") };
    assert!(error.to_string().contains("is encrypted"), "{error}");
}
