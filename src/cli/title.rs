//! The command line as others see it (`ps`, `/proc`): without the password of `--database-url`.
//!
//! A process cannot change its own title without unsafe code, but it can run itself again by another: same process, same
//! program, and what was taken out handed on in the environment, which only the same user can read. There the arguments
//! are put together again before anybody reads them, so that a password has the place that it had.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::output::note;
use crate::db::conninfo::without_secrets;
use crate::domain::handed::HANDED_ON;

const FLAG: &str = "--database-url";

/// The arguments that were covered. No `Debug`: there are passwords in it.
#[derive(Serialize, Deserialize)]
struct Handed {
    /// Who has set it: running itself again, a process keeps its id, and no other process has it meanwhile.
    pid: u32,
    /// As they were, by their place.
    arguments: BTreeMap<usize, String>,
}

/// Gives the arguments (the program's name first) as the user has written them. If the title shows a password, this
/// process first becomes one whose title does not; where that fails, it says so and goes on.
pub fn cover(args: Vec<OsString>) -> Vec<OsString> {
    let pid = std::process::id();
    let handed = std::env::var(HANDED_ON).ok().and_then(|text| serde_json::from_str::<Handed>(&text).ok());
    // What another process has set (a parent of another make, somebody by hand) is not ours.
    let own = handed.filter(|handed| handed.pid == pid);
    if let Some(whole) = own.as_ref().and_then(|handed| restored(&args, handed)) {
        return whole;
    }
    let (shown, arguments) = covered(&args);
    if arguments.is_empty() {
        return args;
    }
    let why = match own {
        // It has run itself again before and still shows one: once more would be no better.
        Some(_) => format!("{HANDED_ON} holds something else"),
        None => run_again(&shown, &Handed { pid, arguments }).to_string(),
    };
    note(&format!("taskdeck: the password in {FLAG} stays visible in this process's command line: {why}"));
    args
}

/// Replaces this process; returns only if that cannot be done.
fn run_again(shown: &[OsString], handed: &Handed) -> std::io::Error {
    let again = || {
        let program = std::env::current_exe()?;
        let handed = serde_json::to_string(handed)?;
        let (name, rest) = shown.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(Command::new(program).arg0(name).args(rest).env(HANDED_ON, handed).exec())
    };
    again().unwrap_or_else(|error: std::io::Error| error)
}

/// The arguments without secrets, and those that had one as they were.
fn covered(args: &[OsString]) -> (Vec<OsString>, BTreeMap<usize, String>) {
    let mut shown = args.to_vec();
    let mut arguments = BTreeMap::new();
    let mut is_value = false;
    // What follows `--` is a task's text.
    for (at, arg) in args.iter().enumerate().skip(1).take_while(|(_, arg)| *arg != "--") {
        let Some(text) = arg.to_str() else {
            is_value = false;
            continue;
        };
        let bare = if is_value {
            is_value = false;
            without_secrets(text)
        } else {
            is_value = text == FLAG;
            let value = text.strip_prefix(FLAG).and_then(|rest| rest.strip_prefix('='));
            value.and_then(without_secrets).map(|bare| format!("{FLAG}={bare}"))
        };
        if let Some(bare) = bare {
            shown[at] = bare.into();
            arguments.insert(at, text.to_owned());
        }
    }
    (shown, arguments)
}

/// The arguments with what was handed on in its place; `None` if these are not what it was taken out of.
fn restored(args: &[OsString], handed: &Handed) -> Option<Vec<OsString>> {
    let mut whole = args.to_vec();
    for (at, text) in &handed.arguments {
        *whole.get_mut(*at)? = text.into();
    }
    let (shown, arguments) = covered(&whole);
    (shown == args && arguments == handed.arguments).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[&str]) -> Vec<OsString> {
        line.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_password_is_taken_out_wherever_the_flag_stands_and_put_back() {
        let url = "postgresql://app:s3cret@db1/jobs";
        let with = format!("--database-url={url}");
        let bare = "postgresql://app@db1/jobs";
        let with_bare = format!("--database-url={bare}");
        for (given, wanted) in [
            (vec!["t", "--database-url", url, "list"], vec!["t", "--database-url", bare, "list"]),
            (vec!["t", "list", "--database-url", url], vec!["t", "list", "--database-url", bare]),
            (vec!["t", &with, "list"], vec!["t", &with_bare, "list"]),
            (vec!["t", &with, "submit", "x", &with], vec!["t", &with_bare, "submit", "x", &with_bare]),
            (vec!["t", &with, "submit", "--", &with], vec!["t", &with_bare, "submit", "--", &with]),
        ] {
            let given = words(&given);
            let (shown, arguments) = covered(&given);
            assert_eq!(shown, words(&wanted));
            let handed = Handed { pid: 1, arguments };
            assert_eq!(restored(&shown, &handed), Some(given));
            assert_eq!(restored(&words(&["t", "list"]), &handed), None);
        }
    }

    #[test]
    fn what_has_no_password_is_left_alone() {
        let url = "postgresql://app:s3cret@db1/jobs";
        for line in [
            &["t"][..],
            &["t", "--database-url"],
            &["t", "--database-url", ""],
            &["t", "--database-url", "postgresql://app@db1/jobs"],
            &["t", "--database-url=host=db1 user=app"],
            &["t", "--database-url", "--", url],
            &["t", "submit", "--", "--database-url", url],
        ] {
            let line = words(line);
            let (shown, arguments) = covered(&line);
            assert!(shown == line && arguments.is_empty(), "{line:?}");
        }
    }
}
