//! Makes a cluster, whole or not at all.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::account::{RunAs, command};
use super::error::{PrivateError, io_error, last_lines};
use super::place::{Cluster, MARKER};
use super::programs::Programs;
use super::{DATABASE, USER};

/// How the folders begin that are not yet, or no longer, a cluster.
const UNFINISHED: &str = "unfinished-";

/// Makes the cluster's data folder. To be called under `start.lock`.
///
/// All is done in a folder beside it, which gets its name when it is whole: a call that is killed half-way leaves
/// nothing that looks like a cluster.
pub(super) fn create(cluster: &Cluster, programs: &Programs, run_as: &RunAs) -> Result<(), PrivateError> {
    let data = cluster.data();
    if fs::symlink_metadata(&data).is_ok() {
        return Err(PrivateError::NotOurs { path: data });
    }
    let fresh = unfinished(cluster);
    let made = fill(&fresh, programs, run_as).and_then(|()| {
        fs::rename(&fresh, &data).map_err(io_error("rename to its name", &fresh))?;
        // Without this a power cut could undo the renaming after tasks were acknowledged.
        File::open(&cluster.root).and_then(|dir| dir.sync_all()).map_err(io_error("flush", &cluster.root))
    });
    if made.is_err() {
        // The next call sweeps what cannot be removed now; the first error is the one to tell.
        let _ = fs::remove_dir_all(&fresh);
    }
    made
}

/// A name for a folder that is not a cluster.
pub(super) fn unfinished(cluster: &Cluster) -> std::path::PathBuf {
    cluster.root.join(format!("{UNFINISHED}{:016x}", fastrand::u64(..)))
}

/// Removes what killed calls left. To be called under `start.lock`.
///
/// Best effort: an initdb that outlived its caller may still write there; then the next call removes it.
pub(super) fn sweep(cluster: &Cluster) {
    for entry in fs::read_dir(&cluster.root).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn fill(fresh: &Path, programs: &Programs, run_as: &RunAs) -> Result<(), PrivateError> {
    DirBuilder::new().mode(0o700).create(fresh).map_err(io_error("create the folder", fresh))?;
    run_as.give(fresh).map_err(io_error("change the owner of", fresh))?;
    // Text sorts by code point (an index then never depends on the system's locale version), but letters are those
    // of Unicode where the system has such a locale, so that searching without regard to case finds É for é.
    let unicode = run_initdb(fresh, programs, run_as, "C.UTF-8")?;
    if !unicode.status.success() {
        let message = String::from_utf8_lossy(&unicode.stderr).into_owned();
        if !message.contains("locale") {
            return Err(PrivateError::InitFailed { output: last_lines(&message) });
        }
        let plain = run_initdb(fresh, programs, run_as, "C")?;
        if !plain.status.success() {
            let message = String::from_utf8_lossy(&plain.stderr).into_owned();
            return Err(PrivateError::InitFailed { output: last_lines(&message) });
        }
    }
    create_database(fresh, programs, run_as)?;
    let marker = fresh.join(MARKER);
    let text = "This cluster was made by Taskdeck for its own use (taskdeck private status).\n";
    let written = File::create_new(&marker).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| run_as.give(&marker)).map_err(io_error("write", &marker))
}

fn run_initdb(
    fresh: &Path,
    programs: &Programs,
    run_as: &RunAs,
    letters: &str,
) -> Result<Output, PrivateError> {
    // `trust` is for the socket alone, and the socket's folder lets only the server's account (and root) in. There
    // is no TCP; should someone switch it on, `reject` stands.
    command(&programs.initdb, run_as)
        .args(["--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--no-instructions"])
        .args(["--locale=C", &format!("--lc-ctype={letters}"), &format!("--username={USER}")])
        .arg("-D")
        .arg(fresh)
        .stderr(Stdio::piped())
        .output()
        .map_err(io_error("run", &programs.initdb))
}

/// Creates the database with a single-user server, so that a cluster is never seen without it.
fn create_database(fresh: &Path, programs: &Programs, run_as: &RunAs) -> Result<(), PrivateError> {
    let mut single = command(&programs.postgres, run_as);
    single.args(["--single", "-D"]).arg(fresh).arg("postgres");
    let output = feed(&mut single, format!("CREATE DATABASE {DATABASE}\n").as_bytes())
        .map_err(io_error("run", &programs.postgres))?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    // It goes on after an error and ends with success.
    let refused = ["ERROR:", "FATAL:", "PANIC:"].iter().any(|level| message.contains(level));
    if output.status.success() && !refused {
        return Ok(());
    }
    Err(PrivateError::InitFailed { output: last_lines(&message) })
}

fn feed(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ended early says why in its output, which tells more than a broken pipe.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output()
}
