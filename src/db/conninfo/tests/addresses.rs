use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;
use tokio_postgres::config::{ChannelBinding, Host, LoadBalanceHosts, TargetSessionAttrs};

use super::super::{ConnInfoError, Origin, Source, keyword, uri};
use super::{World, error, info};

fn hosts(url: &str) -> Vec<Host> {
    info(url).config().get_hosts().to_vec()
}

fn tcp(name: &str) -> Host {
    Host::Tcp(name.to_owned())
}

#[test]
fn the_first_source_names_the_database() {
    let all = [
        ("TASKDECK_DATABASE_URL", "postgresql://two/x"),
        ("DATABASE_URL", "postgresql://three/x"),
        ("PGHOST", "four"),
    ];
    let named = |world: World| {
        let info = world.info();
        (info.host_label(), info.source().to_string())
    };
    let pair = |host: &str, source: &str| (host.to_owned(), source.to_owned());
    let five = "postgresql://five/x";
    assert_eq!(
        named(World::new(&all).flag("postgresql://one/x").config(five)),
        pair("one", "--database-url")
    );
    assert_eq!(named(World::new(&all).config(five)), pair("two", "TASKDECK_DATABASE_URL"));
    assert_eq!(named(World::new(&all[1..]).config(five)), pair("three", "DATABASE_URL"));
    assert_eq!(named(World::new(&all[2..]).config(five)), pair("four", "PGHOST"));
    assert_eq!(named(World::new(&[]).config(five)), pair("five", "configuration file"));
    assert!(World::new(&[]).resolve().expect("nothing is wrong").is_none());
}

#[test]
fn who_connects_does_not_name_a_database() {
    let env = [("PGUSER", "app"), ("PGPASSWORD", "pw"), ("PGSSLMODE", "require"), ("PGHOST", "")];
    assert!(World::new(&env).resolve().expect("nothing is wrong").is_none());
    let info = World::new(&env).config("postgresql://db1/jobs").info();
    assert_eq!((info.label().as_str(), info.source()), ("app@db1/jobs", Source::ConfigFile));
    assert_eq!(info.config().get_password(), Some(&b"pw"[..]));
}

#[test]
fn an_empty_flag_is_an_error_and_an_empty_variable_is_not_there() {
    assert_eq!(
        World::new(&[]).flag("").config("postgresql://x/").error(),
        ConnInfoError::Empty { source_name: Source::Flag }
    );
    assert_eq!(World::new(&[("DATABASE_URL", "")]).config("postgresql://x/").info().host_label(), "x");
}

#[test]
fn variables_fill_what_the_address_leaves_open() {
    let env = [("PGUSER", "app"), ("PGPORT", "6000"), ("PGDATABASE", "other"), ("PGAPPNAME", "me")];
    let info = World::new(&env).flag("postgresql://db1/jobs").info();
    assert_eq!(info.label(), "app@db1:6000/jobs");
    assert_eq!(info.config().get_application_name(), Some("me"));
    let info = World::new(&env).flag("host=db1 user=u port=1 fallback_application_name=f").info();
    assert_eq!(info.label(), "u@db1:1/other");
    assert_eq!(info.config().get_application_name(), Some("me"));
}

#[test]
fn defaults_are_libpqs() {
    let info = info("postgresql://");
    assert_eq!(info.label(), "tester@localhost/tester");
    assert_eq!(info.config().get_ports(), [5432]);
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join(".s.PGSQL.7000"), "").expect("a file");
    let mut world = World::new(&[("PGPORT", "7000")]);
    world.socket_dirs = vec![dir.path().join("none"), dir.path().to_owned()];
    let info = world.info();
    assert_eq!(info.config().get_hosts(), [Host::Unix(dir.path().to_owned())]);
    assert_eq!(info.label(), "tester@[local]:7000/tester");
    assert!(info.is_local());
}

#[test]
fn uris_are_read_as_libpq_reads_them() {
    let one = info("postgres://us%65r:p%40ss%3Aw@db1:5433/my%20db?application_name=a%26b&connect_timeout=10");
    let config = one.config();
    assert_eq!(config.get_user(), Some("user"));
    assert_eq!(config.get_password(), Some(&b"p@ss:w"[..]));
    assert_eq!(config.get_dbname(), Some("my db"));
    assert_eq!(config.get_application_name(), Some("a&b"));
    assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(10)));
    assert_eq!(info("postgresql://u:a:b?c@h/d").config().get_password(), Some(&b"a:b?c"[..]));

    let many = info("postgresql://h1:1,h2,[::1]:3/db");
    assert_eq!(many.config().get_hosts(), [tcp("h1"), tcp("h2"), tcp("::1")]);
    assert_eq!(many.config().get_ports(), [1, 5432, 3]);
    assert_eq!(many.label(), "tester@h1:1,h2,[::1]:3/db");

    let socket = Host::Unix("/var/run/pg".into());
    assert_eq!(hosts("postgresql://%2Fvar%2Frun%2Fpg/db"), std::slice::from_ref(&socket));
    assert_eq!(hosts("postgresql:///db?host=/var/run/pg"), std::slice::from_ref(&socket));
    assert_eq!(hosts("postgresql://ignored/db?host=/var/run/pg"), [socket]);
    assert_eq!(info("postgresql://h?user=me").label(), "me@h/me");
    assert_eq!(info("postgresql://h/d?ssl=true").ssl().as_str(), "require");
}

#[test]
fn keyword_strings_are_read_as_libpq_reads_them() {
    let one = info(r"host = db1  password='a b\'c\\' user=x\ y dbname='' port=5433");
    assert_eq!(one.config().get_password(), Some(&br"a b'c\"[..]));
    assert_eq!(one.label(), "x y@db1:5433/x y");
    assert_eq!(info("host=a host=b").host_label(), "b");
    assert_eq!(hosts("host=/tmp,db2 sslmode=prefer"), [Host::Unix("/tmp".into()), tcp("db2")]);
}

#[test]
fn parameters_keep_libpqs_units() {
    let info = info(
        "host=db1 tcp_user_timeout=1500 keepalives_idle=30 keepalives_interval=5 keepalives_count=3 keepalives=1 \
         target_session_attrs=read-write channel_binding=require load_balance_hosts=random options='-c a=b'",
    );
    let config = info.config();
    assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_millis(1500)));
    assert_eq!(config.get_keepalives_idle(), Duration::from_secs(30));
    assert_eq!(config.get_keepalives_interval(), Some(Duration::from_secs(5)));
    assert_eq!(config.get_keepalives_retries(), Some(3));
    assert!(config.get_keepalives());
    assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    assert_eq!(config.get_channel_binding(), ChannelBinding::Require);
    assert_eq!(config.get_load_balance_hosts(), LoadBalanceHosts::Random);
    assert_eq!(config.get_options(), Some("-c a=b"));
    let zero = super::info("host=db1 connect_timeout=0 tcp_user_timeout=0 keepalives=0");
    assert_eq!(zero.config().get_connect_timeout(), None);
    assert_eq!(zero.config().get_tcp_user_timeout(), None);
    assert!(!zero.config().get_keepalives());
}

#[test]
fn an_address_without_a_name_is_its_own_name() {
    let info = info("hostaddr=127.0.0.1,::1 port=1,2");
    assert_eq!(info.config().get_hosts(), [tcp("127.0.0.1"), tcp("::1")]);
    let addrs: [IpAddr; 2] = ["127.0.0.1".parse().expect("v4"), "::1".parse().expect("v6")];
    assert_eq!(info.config().get_hostaddrs(), addrs);
    assert!(info.is_local());
    assert!(super::info("host=db1 hostaddr=127.0.0.1").is_local());
    assert!(!super::info("host=localhost hostaddr=10.0.0.1").is_local());
    assert!(!super::info("host=localhost,db2").is_local());
}

#[test]
fn nothing_is_ignored() {
    for (url, name) in [
        ("host=h sslcrl=/x", "sslcrl"),
        ("host=h require_auth=scram-sha-256", "require_auth"),
        ("host=h gssencmode=require", "gssencmode"),
        ("host=h target_session_attrs=standby", "target_session_attrs"),
        ("host=h sslpassword=geheim", "sslpassword"),
        ("host=@abstract", "host"),
    ] {
        let error = error(url);
        assert!(matches!(&error, ConnInfoError::Unsupported { name: n, .. } if *n == name), "{error}");
        assert!(error.to_string().contains(name), "{error}");
        assert!(!format!("{error} {error:?} {}", error.hint()).contains("geheim"), "{error}");
        assert!(!error.hint().is_empty());
    }
    let world = World::new(&[("PGHOST", "h"), ("PGREQUIREAUTH", "scram-sha-256")]);
    assert!(world.error().to_string().starts_with("PGREQUIREAUTH: "), "{}", world.error());
    assert!(world.error().hint().contains("unset PGREQUIREAUTH"), "{}", world.error().hint());
    assert_eq!(
        error("postgresql://h/d?statement_timeout=5").to_string(),
        "--database-url: unknown connection parameter \"statement_timeout\""
    );
    assert_eq!(info("host=h gssencmode=disable sslcompression=0 client_encoding=UTF8").host_label(), "h");
}

#[test]
fn bad_values_name_parameter_and_value() {
    for (url, name, value) in [
        ("host=h port=70000", "port", "70000"),
        ("host=h port=0", "port", "0"),
        ("host=h connect_timeout=soon", "connect_timeout", "soon"),
        ("host=h keepalives_idle=1.5", "keepalives_idle", "1.5"),
        ("host=h sslmode=REQUIRE", "sslmode", "REQUIRE"),
        ("host=h hostaddr=db1", "hostaddr", "db1"),
        ("host=h channel_binding=x", "channel_binding", "x"),
        ("host=h load_balance_hosts=x", "load_balance_hosts", "x"),
        ("host=h sslnegotiation=x", "sslnegotiation", "x"),
        ("host=h target_session_attrs=x", "target_session_attrs", "x"),
    ] {
        let error = error(url);
        let matches =
            matches!(&error, ConnInfoError::BadValue { name: n, value: v, .. } if *n == name && v == value);
        assert!(matches, "{url}: {error:?}");
        assert!(error.hint().starts_with("it takes "));
    }
}

#[test]
fn lists_must_fit() {
    for url in
        ["host=a,b hostaddr=1.1.1.1", "host=a,b,c port=1,2", "host=a,b hostaddr=1.1.1.1,", "host=a port=1,2"]
    {
        assert!(matches!(error(url), ConnInfoError::HostLists { .. }), "{url}");
    }
}

/// Every way that I know to write a password wrongly, and not one may come back in an error.
#[test]
fn a_badly_written_password_is_not_repeated() {
    for url in [
        "postgresql://app:geheim@geheim@db1/jobs",
        "postgresql://app:geheim/geheim@db1/jobs",
        "postgresql://app:12/geheim@db1/jobs",
        "postgresql://app:geheim%zz@db1/jobs",
        "postgresql://app:%00geheim@db1/jobs",
        "postgresql://app:geheim%ff@db1/jobs",
        "postgresql://db1/jobs?password=x&geheim=y",
        "postgresql://db1/jobs?password=x&geheim",
        "postgresql://db1/jobs?password=x&geheim=%zz",
        "postgresql://db1/jobs?password=x=geheim",
        "host=db1 password=x geheim=3 user=y",
        "host=db1 password=x geheim",
        "host=db1 password='geheim",
        "mysql://app:geheim@db1/jobs?a=b",
        "app:geheim@db1",
        "app:geheim@db1?a=b",
    ] {
        let result = World::new(&[]).flag(url).resolve();
        let Err(error) = result else {
            panic!("{url} was taken: {:?}", result.map(|info| info.map(|i| i.label())))
        };
        let shown = format!("{error} {error:?} {}", error.hint());
        assert!(!shown.contains("geheim"), "{url}: {shown}");
    }
}

#[test]
fn no_text_shows_the_password() {
    let info = info("postgresql://app:geheim@db1:5433,db2/jobs?application_name=x%20y&sslmode=require");
    let all = format!("{info:?} {:#?} {} {}", info, info.label(), info.redacted_url());
    assert!(!all.contains("geheim"), "{all}");
    assert_eq!(
        info.redacted_url(),
        "postgresql://app:***@db1:5433,db2:5432/jobs?sslmode=require&application_name=x%20y"
    );
    assert_eq!(format!("{:?}", super::super::Secret::new("geheim")), "Secret(***)");
    let mut gathered = super::super::settings::Settings::default();
    gathered.fill("password", "geheim".to_owned(), &Origin::Address { source: Source::Flag });
    assert_eq!(format!("{gathered:?}"), r#"{"password": Address { source: Flag }}"#);
}

#[test]
fn labels_cannot_move_the_cursor() {
    let label = info("postgresql://a%1B%5B2J@h/d%E2%80%AE").label();
    assert!(!label.contains(['\u{1b}', '\u{202e}']), "{label:?}");
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC*", scheme in "(postgresql://|postgres://|)") {
        let _ = World::new(&[]).flag(&format!("{scheme}{text}")).resolve();
    }

    #[test]
    fn any_structure_is_answered(text in "[a-z%@:/?&=,\\[\\]' \\\\0-9]{0,40}", scheme in "(postgresql://|)") {
        let _ = World::new(&[]).flag(&format!("{scheme}{text}")).resolve();
    }

    #[test]
    fn percent_encoding_round_trips(text in "[^\0]*") {
        prop_assert_eq!(uri::decode(&uri::encode(&text), "text").expect("decodes"), text);
    }

    #[test]
    fn a_uri_gives_back_what_was_put_in(user in "[^\0]+", password in "[^\0]+", db in "[^\0]+", app in "[^\0]+") {
        let [u, p, d, a] = [&user, &password, &db, &app].map(|text| uri::encode(text));
        let info = info(&format!("postgresql://{u}:{p}@host/{d}?application_name={a}"));
        prop_assert_eq!(info.config().get_user(), Some(user.as_str()));
        prop_assert_eq!(info.config().get_password(), Some(password.as_bytes()));
        prop_assert_eq!(info.config().get_dbname(), Some(db.as_str()));
        prop_assert_eq!(info.config().get_application_name(), Some(app.as_str()));
    }

    #[test]
    fn a_quoted_value_gives_back_what_was_put_in(text in "[^\0]*") {
        let quoted = text.replace('\\', "\\\\").replace('\'', "\\'");
        let pairs = keyword::parse(&format!("user='{quoted}' host=h")).expect("parses");
        prop_assert_eq!(pairs, vec![("user", text), ("host", "h".to_owned())]);
    }

    #[test]
    fn no_password_is_ever_shown(password in "geheim[^\0]{0,20}") {
        let info = info(&format!("postgresql://u:{}@h/d", uri::encode(&password)));
        let shown = format!("{info:?} {} {}", info.label(), info.redacted_url());
        prop_assert!(!shown.contains("geheim"), "{}", shown);
    }
}
