//! The signals that end a run, for both roots.

use color_eyre::eyre::WrapErr as _;
use tokio::signal::unix::{Signal as Caught, SignalKind, signal};

pub use crate::app::message::Signal;

/// SIGTERM, SIGINT and SIGHUP.
#[derive(Debug)]
pub struct Signals {
    terminate: Caught,
    interrupt: Caught,
    hangup: Caught,
}

impl Signals {
    /// Takes the signals over. Done as the very first thing, so that one that comes while the process still starts
    /// is waiting when [`Signals::next`] looks.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn install() -> color_eyre::Result<Self> {
        let take = |kind| signal(kind).wrap_err("cannot take signals over");
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
            hangup: take(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.hangup.recv() => Signal::Hangup,
        }
    }
}

/// The signal's name, as people write it.
pub const fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::Terminate => "SIGTERM",
        Signal::Interrupt => "SIGINT",
        Signal::Hangup => "SIGHUP",
    }
}
