//! Runs the program's commands as a script does, and kills some in the middle.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use crate::journal::Told;
use crate::stage::{PROGRAM, Stage};

/// The most time that a call may take: it pursues an unknown outcome for 30 s, and each step of that has its deadline.
const ENDS_WITHIN: Duration = Duration::from_mins(2);

/// What becomes of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    Lives,
    /// kill -9 this long after its start.
    KilledAfter(Duration),
}

impl Fate {
    /// One in a dozen is killed.
    pub(crate) fn of(dice: &mut fastrand::Rng) -> Self {
        if dice.u32(0..12) == 0 {
            Self::KilledAfter(Duration::from_millis(dice.u64(1..120)))
        } else {
            Self::Lives
        }
    }
}

/// Runs a command of the program on the database at `url`.
pub(crate) async fn call(stage: &Stage, url: &str, arguments: &[&str], fate: Fate) -> Told {
    let mut command = Command::new(PROGRAM);
    command
        .args([
            "--output",
            "json",
            "--statement-timeout",
            "3s",
            "--acquire-timeout",
            "3s",
            "--lock-timeout",
            "1s",
        ])
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", stage.folder())
        .env("TASKDECK_DATABASE_URL", url)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = command.spawn().expect("start the program").wait_with_output();
    let (limit, cut_short) = match fate {
        Fate::Lives => (ENDS_WITHIN, Told::Hung),
        Fate::KilledAfter(limit) => (limit, Told::Killed),
    };
    // The call that is dropped is killed with it.
    if let Ok(output) = tokio::time::timeout(limit, output).await {
        let output = output.expect("wait for the program");
        let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        return Told::Exit { code: output.status.code().unwrap_or(-1), document };
    }
    if cut_short == Told::Killed {
        let kind = if arguments[0] == "submit" { "kill -9 of a submit" } else { "kill -9 of a decision" };
        stage.note(kind, arguments.join(" ").chars().take(80).collect::<String>());
    }
    cut_short
}
