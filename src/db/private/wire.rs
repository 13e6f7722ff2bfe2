//! Asks a server over its socket whether it takes connections: the first messages of the protocol, no more.
//!
//! A connection that is merely accepted says nothing: the kernel accepts for a server that is still recovering.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often it is looked whether it is still worth waiting for an answer.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What the server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It takes connections to the database. The version is the one that it reports, if it got that far.
    Ready { version: Option<String> },
    /// It runs and says "not yet".
    NotYet { message: String },
    /// It refuses this user or database for good.
    Refused { message: String },
    /// There is no socket.
    NoSocket,
    /// The connection was accepted, and nothing came until it was given up.
    Silent,
}

/// Opens one connection, reads the answer, and closes it. An answer is waited for until `over`.
pub(super) fn ask(socket: &Path, user: &str, database: &str, over: &dyn Fn() -> bool) -> Answer {
    match converse(socket, user, database, over) {
        Ok(answer) => answer,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Answer::NoSocket,
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Answer::Silent
        }
        Err(error) => Answer::NotYet { message: error.to_string() },
    }
}

fn converse(socket: &Path, user: &str, database: &str, over: &dyn Fn() -> bool) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(&startup_message(user, database)?)?;
    let mut version = None;
    loop {
        await_message(&stream, over)?;
        let mut header = [0; 5];
        stream.read_exact(&mut header)?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
        let body_length = length.checked_sub(4).filter(|length| *length < 64 * 1024);
        let body_length = body_length.ok_or_else(|| io::Error::other("the answer is not PostgreSQL's"))?;
        let mut body = vec![0; usize::try_from(body_length).map_err(io::Error::other)?];
        stream.read_exact(&mut body)?;
        match header[0] {
            b'S' => version = parameter(&body, "server_version").or(version),
            b'E' => return Ok(refusal(&body)),
            b'Z' => {
                // Terminate; the answer is known, so a failure to say goodbye changes nothing.
                let _ = stream.write_all(&[b'X', 0, 0, 0, 4]);
                return Ok(Answer::Ready { version });
            }
            _ => {}
        }
    }
}

/// Waits until something can be read; what is there is read at once, as messages come whole.
fn await_message(stream: &UnixStream, over: &dyn Fn() -> bool) -> io::Result<()> {
    loop {
        let mut fds = [PollFd::new(stream, PollFlags::IN)];
        match poll(&mut fds, Some(&LOOK_EVERY)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// The first message of protocol 3.0.
fn startup_message(user: &str, database: &str) -> io::Result<Vec<u8>> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    for text in ["user", user, "database", database, "application_name", "taskdeck private"] {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    let mut message = u32::try_from(body.len() + 4).map_err(io::Error::other)?.to_be_bytes().to_vec();
    message.append(&mut body);
    Ok(message)
}

/// The value in a `ParameterStatus` message, if it is for `name`; of the version only the number.
fn parameter(body: &[u8], name: &str) -> Option<String> {
    let mut parts = body.split(|byte| *byte == 0);
    (parts.next()? == name.as_bytes()).then_some(())?;
    let value = String::from_utf8_lossy(parts.next()?).into_owned();
    value.split_whitespace().next().map(str::to_owned)
}

/// Reads an `ErrorResponse`.
fn refusal(body: &[u8]) -> Answer {
    let mut code = String::new();
    let mut message = String::new();
    for field in body.split(|byte| *byte == 0) {
        match field.split_first() {
            Some((b'C', value)) => code = String::from_utf8_lossy(value).into_owned(),
            Some((b'M', value)) => message = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }
    match code.as_str() {
        // cannot_connect_now: starting, recovering or shutting down.
        "57P03" => Answer::NotYet { message },
        // too_many_connections: it runs; that all places are taken is for the pools to meet.
        "53300" => Answer::Ready { version: None },
        _ => Answer::Refused { message: format!("{message} ({code})") },
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, parameter, refusal};

    #[test]
    fn refusals_are_told_apart_by_their_code() {
        let starting = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";
        assert_eq!(
            refusal(starting),
            Answer::NotYet { message: "the database system is starting up".into() }
        );
        assert_eq!(refusal(b"SFATAL\0C53300\0Msorry\0\0"), Answer::Ready { version: None });
        let missing = refusal(b"SFATAL\0C3D000\0Mdatabase \"x\" does not exist\0\0");
        assert_eq!(missing, Answer::Refused { message: "database \"x\" does not exist (3D000)".into() });
    }

    #[test]
    fn the_version_is_only_the_number() {
        let body = b"server_version\x0015.18 (Debian 15.18-0+deb12u1)\0";
        assert_eq!(parameter(body, "server_version").as_deref(), Some("15.18"));
        assert_eq!(parameter(body, "TimeZone"), None);
    }
}
