//! Layers and parsers together.

use std::path::Path;

use super::super::setting::ALL;
use super::*;

fn read(flags: &[(Key, &str)], env: &[(&str, &str)], file: &str) -> Result<(Settings, Layers), ConfigError> {
    let flags: Vec<(Key, String)> = flags.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
    let env: Vec<(String, String)> =
        env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let lookup = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
    let file = ConfigFile::parse(Path::new("/c.toml"), file)?;
    let layers = Layers::new(&flags, &lookup, &file);
    Settings::read(&layers, &file).map(|settings| (settings, layers))
}

#[test]
fn every_key_has_a_line_and_every_default_is_valid() {
    let (settings, _) = read(&[], &[], "").expect("defaults");
    assert_eq!(settings.limits, Limits::default());
    assert_eq!(settings.workers.slots, cores());
    assert_eq!(settings.max_input_bytes, crate::domain::input::DEFAULT_MAX_INPUT_BYTES);
    for spec in ALL {
        assert_eq!(spec.key.spec().name, spec.name);
    }
}

#[test]
fn flag_over_variable_over_file_over_default() {
    let poll = |flags: &[(Key, &str)], env: &[(&str, &str)], file: &str| {
        let (settings, layers) = read(flags, env, file).expect("good");
        (settings.workers.poll.as_secs(), layers.origin(Key::Poll).to_string())
    };
    let flag: &[(Key, &str)] = &[(Key::Poll, "2s")];
    let env: &[(&str, &str)] = &[("TASKDECK_POLL", "3s")];
    let file = "poll = \"4s\"";
    assert_eq!(poll(flag, env, file), (2, "--poll".to_owned()));
    assert_eq!(poll(&[], env, file), (3, "TASKDECK_POLL".to_owned()));
    assert_eq!(poll(&[], &[("TASKDECK_POLL", "")], file), (4, "/c.toml".to_owned()));
    assert_eq!(poll(&[], &[], ""), (1, "default".to_owned()));
}

#[test]
fn a_bad_value_names_its_place() {
    let error = |flags: &[(Key, &str)], env: &[(&str, &str)], file: &str| {
        read(flags, env, file).expect_err("bad").to_string()
    };
    assert!(error(&[(Key::Poll, "-5s")], &[], "").starts_with("--poll: `-5s` is negative"));
    assert!(
        error(&[], &[("TASKDECK_WORKERS", "-1")], "").starts_with("TASKDECK_WORKERS: `-1` is out of range")
    );
    assert!(error(&[], &[], "batch = 0").starts_with("batch in /c.toml: `0` is out of range"));
    assert!(error(&[(Key::Queue, "a,B")], &[], "").starts_with("--queue: `B` is not a name"));
    assert!(error(&[(Key::Workers, "x\u{1b}")], &[], "").contains("x\\e"));
    assert!(error(&[(Key::Analyser, "command")], &[], "").contains("--exec"));
    assert!(error(&[(Key::Exec, "a 'b")], &[], "").contains("quote"));
    assert!(error(&[(Key::Schema, "Bad")], &[], "").starts_with("--schema: use 1 to 48"));
}

#[test]
fn a_command_alone_chooses_its_analyser() {
    let (settings, _) = read(&[(Key::Exec, "wc -w 'a b'")], &[], "").expect("good");
    assert_eq!(settings.workers.analyser, Analyser::Command { line: "wc -w 'a b'".to_owned() });
    assert!(read(&[(Key::Exec, "wc"), (Key::Analyser, "text-stats")], &[], "").is_err());
}

#[test]
fn a_read_only_process_never_migrates_and_pools_follow_the_size() {
    let (settings, _) = read(&[(Key::ReadOnly, "true"), (Key::PoolSize, "2")], &[], "").expect("good");
    assert_eq!((settings.access, settings.mode), (Access::ReadOnly, Mode::Check));
    assert_eq!((settings.limits.operator_pool, settings.limits.workers_pool), (2, 2));
    let (settings, _) = read(&[(Key::PoolSize, "20")], &[], "").expect("good");
    assert_eq!((settings.limits.operator_pool, settings.limits.workers_pool), (10, 20));
}

#[test]
fn no_debug_output_shows_an_address() {
    let url = "postgresql://a:secret@h/d";
    let (settings, _) =
        read(&[(Key::DatabaseUrl, url)], &[], &format!("database_url = \"{url}\"")).expect("good");
    assert!(!format!("{settings:?}").contains("secret"));
    assert!(settings.flag_url.is_some() && settings.file_url.is_some());
}
