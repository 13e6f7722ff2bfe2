//! What only the terminal's owner can do besides drawing: the clipboard, an editor, stopping.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, getpid, getsid, kill_current_process_group, kill_process};
use signal_hook::{flag, low_level};

use crate::domain::handed::HANDED_ON;

/// How often a stop that has not come yet, or a continuation, is looked for. While stopped nothing runs at all.
const UNTIL_STOPPED: Duration = Duration::from_millis(2);

/// Longer sequences are dropped in silence by common terminals and by tmux, so we say it instead.
const CLIPBOARD_LIMIT: usize = 100_000;

/// How often it is looked whether the editor has ended.
const EDITOR_ENDED_EVERY: Duration = Duration::from_millis(20);

/// The editor that has the terminal. While it stands here it was not waited for, so its number is nobody else's.
static EDITOR: Mutex<Option<Child>> = Mutex::new(None);

/// How an editor is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndEditor {
    /// It may put its house in order.
    Asked,
    /// At once: it shows a copy, so nothing is lost.
    Now,
}

/// Ends the editor that has the terminal; whether there was one.
pub(super) fn end_editor(how: EndEditor) -> bool {
    let editor = EDITOR.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(editor) = editor.as_ref().and_then(|child| Pid::from_raw(i32::try_from(child.id()).ok()?))
    else {
        return false;
    };
    let signal = if how == EndEditor::Asked { Signal::HUP } else { Signal::KILL };
    // One that has just ended by itself is what is wanted.
    let _ = kill_process(editor, signal);
    true
}

/// Waits for the editor in a way that lets [`end_editor`] end it.
fn wait_for(child: Child) -> io::Result<ExitStatus> {
    let editor = || EDITOR.lock().unwrap_or_else(PoisonError::into_inner);
    *editor() = Some(child);
    loop {
        let ended = editor().as_mut().map_or(Ok(Some(ExitStatus::default())), Child::try_wait);
        if let Some(status) = ended.transpose() {
            *editor() = None;
            return status;
        }
        std::thread::sleep(EDITOR_ENDED_EVERY);
    }
}

/// The sequence that puts `text` on the clipboard of the terminal, which may be on another machine (OSC 52).
///
/// # Errors
/// Says so where the text is too long for it.
pub(super) fn clipboard(text: &str) -> Result<String, String> {
    let encoded = STANDARD.encode(text);
    if encoded.len() > CLIPBOARD_LIMIT {
        return Err(format!("{} bytes are more than a terminal's clipboard takes", text.len()));
    }
    Ok(format!("\x1b]52;c;{encoded}\x07"))
}

/// Stops this process and the rest of its group, as the shell's job, until it is continued.
///
/// SIGSTOP and to the group: SIGTSTP could be handled or ignored by somebody, and a wrapper that is not
/// stopped with us keeps the shell from getting its prompt back.
///
/// Returns when the process was continued. The signal stops the process, not this thread: another thread may be
/// the one that takes it, and until then this one would run on and take the terminal again under the shell.
///
/// # Errors
/// In words for the operator.
pub(super) fn stop() -> Result<(), String> {
    let continued = Arc::new(AtomicBool::new(false));
    let watched = flag::register(Signal::CONT.as_raw(), Arc::clone(&continued))
        .map_err(|error| format!("nobody would notice the continuation: {error}"))?;
    let stopped = kill_current_process_group(Signal::STOP).map_err(|error| error.to_string());
    while stopped.is_ok() && !continued.load(Ordering::SeqCst) {
        std::thread::sleep(UNTIL_STOPPED);
    }
    low_level::unregister(watched);
    stopped
}

/// Whether there is somebody who could continue us.
///
/// # Errors
/// The leader of a session has no shell above it.
pub(super) fn can_stop() -> Result<(), String> {
    if getsid(None).is_ok_and(|session| session == getpid()) {
        return Err("there is no shell to return to; it was started without one".to_owned());
    }
    Ok(())
}

/// Shows `text` in the operator's editor or pager and waits until it has ended. The terminal must be lent.
///
/// # Errors
/// In words for the operator.
pub(super) fn show_in_editor(name: &str, text: &str) -> Result<(), String> {
    let command = editor(|name| std::env::var(name).ok())?;
    let file = PrivateFile::create(name, text).map_err(|error| format!("no temporary file: {error}"))?;
    let (program, arguments) = command.split_first().ok_or("the editor's command is empty")?;
    let started = Command::new(program).args(arguments).arg(&file.path).env_remove(HANDED_ON).spawn();
    let status = started.and_then(wait_for).map_err(|error| format!("{program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
}

/// The command: `VISUAL`, `EDITOR` or `PAGER`, with arguments as a shell would divide them, else `less`.
fn editor(get: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, String> {
    let set = ["VISUAL", "EDITOR", "PAGER"]
        .into_iter()
        .find_map(|name| get(name).filter(|value| !value.trim().is_empty()).map(|value| (name, value)));
    match set {
        Some((name, value)) => shell_words::split(&value).map_err(|error| format!("{name}: {error}")),
        None => Ok(vec!["less".to_owned()]),
    }
}

/// A file that only this user can read, gone when dropped.
struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    fn create(name: &str, text: &str) -> io::Result<Self> {
        let path = folder().join(format!("taskdeck-{name}-{:016x}.txt", fastrand::u64(..)));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let created = Self { path };
        file.write_all(text.as_bytes())?;
        // So that the editor itself says that a change leads nowhere.
        fs::set_permissions(&created.path, Permissions::from_mode(0o400))?;
        Ok(created)
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // A file that is gone already is what is wanted.
        let _ = fs::remove_file(&self.path);
    }
}

/// The user's own folder in memory, where there is one.
fn folder() -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| Path::is_dir(path))
        .unwrap_or_else(std::env::temp_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clipboard_takes_text_as_base64() {
        assert_eq!(clipboard("hi \u{1b}"), Ok("\u{1b}]52;c;aGkgGw==\u{7}".to_owned()));
        assert!(clipboard(&"x".repeat(CLIPBOARD_LIMIT)).is_err());
    }

    #[test]
    fn the_editor_is_the_users_own() {
        let of = |pairs: &[(&str, &str)]| {
            editor(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            of(&[("EDITOR", "vi"), ("VISUAL", "code --wait 'a b'")]).expect("set"),
            ["code", "--wait", "a b"]
        );
        assert_eq!(of(&[("VISUAL", " "), ("PAGER", "less -S")]).expect("set"), ["less", "-S"]);
        assert_eq!(of(&[]).expect("none set"), ["less"]);
        assert!(of(&[("EDITOR", "vi 'x")]).expect_err("open quote").starts_with("EDITOR: "));
    }

    #[test]
    fn the_file_is_private_and_goes() {
        let file = PrivateFile::create("test", "secret").expect("a temporary file");
        let mode = fs::metadata(&file.path).expect("its metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o400);
        assert_eq!(fs::read_to_string(&file.path).expect("its text"), "secret");
        let path = file.path.clone();
        drop(file);
        assert!(!path.exists());
    }
}
