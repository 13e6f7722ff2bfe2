//! Help is pinned: what scripts and docs name stays named. `INSTA_UPDATE=always cargo test --test cli` takes changes.

use crate::runner::User;

#[test]
fn help_of_the_program_and_of_each_command() {
    let user = User::new();
    let commands: &[&[&str]] = &[
        &[],
        &["submit"],
        &["list"],
        &["show"],
        &["cancel"],
        &["approve"],
        &["reject"],
        &["requeue"],
        &["events"],
        &["status"],
        &["outbox"],
        &["instances"],
        &["queues"],
        &["pause"],
        &["resume"],
        &["limits"],
        &["limit"],
        &["stop"],
        &["lab"],
        &["doctor"],
        &["migrate"],
        &["private"],
        &["private", "status"],
        &["private", "stop"],
        &["private", "destroy"],
        &["private", "url"],
        &["config"],
        &["completions"],
        &["man"],
    ];
    for command in commands {
        let args: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let help = user.text(0, &args);
        let name = if command.is_empty() { "taskdeck".to_owned() } else { command.join("-") };
        // What every command takes is pinned once, with the program.
        let own = if command.is_empty() {
            help.as_str()
        } else {
            help.split("\nEverywhere:").next().unwrap_or_default()
        };
        insta::assert_snapshot!(format!("help-{name}"), own);
    }
}

#[test]
fn what_this_release_does_not_have_is_not_there() {
    let user = User::new();
    for later in ["prune", "help"] {
        assert_eq!(user.run(&[later]).code, 2, "{later}");
    }
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(User::new().text(0, &["--version"]), format!("taskdeck {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_manual_page_is_whole() {
    let page = User::new().text(0, &["man"]);
    for part in [
        ".TH taskdeck 1",
        ".SH \"TASKDECK SUBMIT\"",
        "\\-\\-max\\-attempts",
        ".SH \"TASKDECK PRIVATE DESTROY\"",
        "\\-\\-yes",
        "Exit codes",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let submit = page
        .split(".SH \"TASKDECK SUBMIT\"")
        .nth(1)
        .and_then(|rest| rest.split(".SH").next())
        .expect("a section");
    assert!(!submit.contains("database\\-url"), "global flags stand once: {submit}");
}

#[test]
fn completions_for_every_shell() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = user.text(0, &["completions", shell]);
        assert!(script.contains("requeue") && script.contains("max-attempts"), "{shell}");
    }
}
