//! SIGQUIT ends the program on the spot, by its own default; but the terminal is given back first.
//!
//! On a thread of its own that waits for nothing else: who sends this signal wants an end to a program that may hang.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::Signal;
use signal_hook::low_level::{emulate_default_handler, pipe};

use super::terminal::restore;

/// How long giving the terminal back may take where its line has stalled.
const RESTORE_WITHIN: Duration = Duration::from_millis(500);

/// Takes the signal over for the rest of the process's life.
pub(super) fn restore_before_it() -> io::Result<()> {
    let (mut asked, handler) = UnixStream::pair()?;
    pipe::register(Signal::QUIT.as_raw(), handler)?;
    let waiter = std::thread::Builder::new().name("taskdeck-quit".to_owned());
    waiter.spawn(move || {
        // An end of the pipe would be an end of the handler, which is never taken away.
        if asked.read_exact(&mut [0]).is_err() {
            return;
        }
        let (done, given_back) = channel();
        std::thread::spawn(move || {
            restore();
            let _ = done.send(());
        });
        let _ = given_back.recv_timeout(RESTORE_WITHIN);
        // It knows this signal, so it does not return.
        let _ = emulate_default_handler(Signal::QUIT.as_raw());
    })?;
    Ok(())
}
