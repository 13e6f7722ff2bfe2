//! What the root does by itself while the console takes nothing: its line has stalled, or an editor has the
//! terminal. A signal must end the process all the same.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::signals::Signal;

/// How long the console may take to take what it was sent. The thread that draws does so within a frame.
const TAKES_WITHIN: Duration = Duration::from_secs(1);

/// What signals asked for, by their number, as with no screen at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing: the workers have ended, and only the end itself is to come.
    Nothing,
    /// To wait for what runs.
    Drain,
    /// To ask it to stop.
    Cancel,
    /// Not to wait.
    Leave,
}

/// Watches whether the console takes what it is sent.
#[derive(Debug)]
pub(super) struct Watch {
    patience: Duration,
    pending: Option<(oneshot::Receiver<()>, Instant)>,
    terminates: u32,
    hangups: u32,
    alone: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Self { patience: TAKES_WITHIN, pending: None, terminates: 0, hangups: 0, alone: false }
    }
}

impl Watch {
    /// A signal was passed on to the console, which answers through `taken`.
    pub(super) fn signal(&mut self, signal: Signal, taken: oneshot::Receiver<()>) {
        match signal {
            // While an editor has the terminal its Ctrl-C is its own.
            Signal::Interrupt if !self.alone => return,
            Signal::Hangup => self.hangups += 1,
            Signal::Terminate | Signal::Interrupt => self.terminates += 1,
        }
        self.expect(taken);
    }

    /// Something was sent that the console must take.
    pub(super) fn expect(&mut self, taken: oneshot::Receiver<()>) {
        // What is awaited already is awaited no longer than from its own time on.
        if self.pending.is_none() {
            self.pending = Some((taken, Instant::now() + self.patience));
        }
    }

    /// Whether the console did not take what it was sent in time.
    pub(super) const fn is_alone(&self) -> bool {
        self.alone
    }

    /// Waits until it is known that the console does not take what it was sent; then says what is asked of the root.
    /// May be dropped at any time.
    pub(super) async fn given_up(&mut self) -> Asked {
        let Some((taken, until)) = &mut self.pending else { return std::future::pending().await };
        let answer = tokio::select! {
            // One that has ended is noticed by its effects, which end too.
            _ = taken => true,
            () = sleep_until(*until) => false,
        };
        self.pending = None;
        if answer {
            self.alone = false;
            return std::future::pending().await;
        }
        self.alone = true;
        // A terminal that is gone says so once or often; that is one wish.
        match self.terminates.max(u32::from(self.hangups > 0)) {
            0 => Asked::Nothing,
            1 => Asked::Drain,
            2 => Asked::Cancel,
            _ => Asked::Leave,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn signals_grow_graver_and_hangups_do_not() {
        let patience = Duration::from_millis(50);
        let mut watch = Watch { patience, ..Watch::default() };
        let answers = std::cell::RefCell::new(Vec::new());
        let unanswered = || {
            let (answer, taken) = oneshot::channel();
            answers.borrow_mut().push(answer);
            taken
        };
        watch.signal(Signal::Interrupt, unanswered());
        assert!(watch.pending.is_none(), "Ctrl-C is the editor's");
        for (signal, asked) in [
            (Signal::Hangup, Asked::Drain),
            (Signal::Hangup, Asked::Drain),
            (Signal::Terminate, Asked::Drain),
            (Signal::Terminate, Asked::Cancel),
            (Signal::Interrupt, Asked::Leave),
        ] {
            let before = Instant::now();
            watch.signal(signal, unanswered());
            assert_eq!(watch.given_up().await, asked, "{signal:?}");
            assert!(before.elapsed() >= patience);
        }
        // A console that takes again what it is sent is no longer passed over.
        let (answer, taken) = oneshot::channel();
        watch.expect(taken);
        answer.send(()).expect("awaited");
        let waited = tokio::time::timeout(patience * 3, watch.given_up()).await;
        assert!(waited.is_err() && !watch.is_alone());
    }
}
