//! The thread that reads keys. It sleeps until the terminal, a signal or the console wakes it, ends when the
//! terminal goes away, and reads nothing while an editor or the shell has the terminal.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::decode::{Decoded, Decoder};
use crate::app::keys::Key;

/// How long a lone Esc waits for the rest of a sequence: longer than a slow line takes between two bytes of
/// one key, shorter than people notice.
const ESC_WAIT: Duration = Duration::from_millis(60);

/// What the reader tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// A key was pressed.
    Key(Key),
    /// A text was pasted.
    Paste(String),
    /// The terminal may have a new size.
    Resized,
    /// The process was continued after a stop.
    Continued,
    /// Somebody asked the process to stop (SIGTSTP).
    StopAsked,
    /// The terminal is gone; the reader has ended.
    Gone,
}

/// Controls the reader's thread.
pub(super) struct Reader {
    gate: Arc<Gate>,
    wake: PipeWriter,
    /// Where a continuation is to be read, as the thread reads it too.
    continued: UnixStream,
}

#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    wanted: Wanted,
    resting: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    #[default]
    Read,
    Rest,
    End,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Starts reading stdin; `tell` is called on the reader's thread.
    pub(super) fn start(tell: impl Fn(Input) + Send + 'static) -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let signals = Signals::register()?;
        let gate = Arc::new(Gate::default());
        let continued = signals.continued()?;
        let thread = Thread { gate: Arc::clone(&gate), woken, signals, tell: Box::new(tell) };
        // Never joined: a reader that is stuck in the kernel must not hold up the exit.
        std::thread::Builder::new().name("taskdeck-keys".to_owned()).spawn(move || thread.run())?;
        Ok(Self { gate, wake, continued })
    }

    /// Stops reading; returns once nothing is read any more.
    pub(super) fn rest(&self) {
        self.want(Wanted::Rest);
        let state = self.gate.lock();
        // The reader never does anything that takes longer; the limit is for one that has ended.
        let limit = Duration::from_secs(1);
        drop(self.gate.changed.wait_timeout_while(state, limit, |state| !state.resting));
    }

    /// Forgets that the process was continued before now: for whoever is about to take the terminal back, which is the
    /// answer to it. The thread may not have come to it while it rested, and would tell it afterwards as one that nobody
    /// has answered.
    pub(super) fn forget_continued(&self) {
        forget(&self.continued);
    }

    /// Reads again.
    pub(super) fn resume(&self) {
        self.want(Wanted::Read);
    }

    fn want(&self, wanted: Wanted) {
        self.gate.lock().wanted = wanted;
        self.gate.changed.notify_all();
        // A reader that has ended has closed its end.
        let _ = (&self.wake).write(&[0]);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.want(Wanted::End);
    }
}

/// Signals as something to poll, each with what it means.
struct Signals([(UnixStream, Input); 3]);

/// Reads what a signal has left; it only counts that there was one.
fn forget(mut pipe: &UnixStream) {
    // Nothing is there where the other reader was first.
    let _ = pipe.read(&mut [0; 64]);
}

impl Signals {
    /// The pipe that tells of continuations, for another reader.
    fn continued(&self) -> io::Result<UnixStream> {
        self.0[1].0.try_clone()
    }

    fn register() -> io::Result<Self> {
        let pipe = |signal: Signal, input| {
            let (reader, writer) = UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            signal_hook::low_level::pipe::register(signal.as_raw(), writer)?;
            Ok::<_, io::Error>((reader, input))
        };
        Ok(Self([
            pipe(Signal::WINCH, Input::Resized)?,
            pipe(Signal::CONT, Input::Continued)?,
            pipe(Signal::TSTP, Input::StopAsked)?,
        ]))
    }
}

struct Thread {
    gate: Arc<Gate>,
    woken: PipeReader,
    signals: Signals,
    tell: Box<dyn Fn(Input) + Send>,
}

/// What a poll found.
struct Ready {
    keys: PollFlags,
    woken: PollFlags,
    signals: [PollFlags; 3],
}

impl Thread {
    fn run(self) {
        let mut decoder = Decoder::default();
        let mut found = Vec::new();
        while self.step(&mut decoder, &mut found) {
            for decoded in found.drain(..) {
                (self.tell)(match decoded {
                    Decoded::Key(key) => Input::Key(key),
                    Decoded::Paste(text) => Input::Paste(text),
                });
            }
        }
    }

    /// Waits once and takes what there is; whether to go on.
    fn step(&self, decoder: &mut Decoder, found: &mut Vec<Decoded>) -> bool {
        let wanted = self.settle_gate();
        if wanted == Wanted::End {
            return false;
        }
        let timeout = decoder.waits().then_some(ESC_WAIT);
        let ready = match self.poll(wanted, timeout) {
            Ok(ready) => ready,
            Err(Errno::INTR) => return true,
            Err(_) => return self.gone(),
        };
        let mut bytes = [0; 4096];
        if !ready.woken.is_empty() {
            // Only the wake-up counts.
            let _ = (&self.woken).read(&mut bytes);
            return true;
        }
        self.tell_signals(wanted, &ready);
        if ready.keys.is_empty() {
            decoder.settle(found);
            return true;
        }
        if wanted == Wanted::Rest {
            // Nothing was asked of the terminal, so this is its end.
            return self.gone();
        }
        // A terminal that is gone reads as nothing or as an error, for ever, and a reader that goes on spins
        // (<https://github.com/crossterm-rs/crossterm/issues/793>).
        match rustix::io::read(io::stdin(), &mut bytes) {
            Ok(0) => self.gone(),
            Ok(count) => {
                decoder.feed(&bytes[..count], found);
                true
            }
            Err(Errno::INTR | Errno::AGAIN) => true,
            Err(_) => self.gone(),
        }
    }

    fn gone(&self) -> bool {
        self.settle_for_good();
        (self.tell)(Input::Gone);
        false
    }

    /// Nobody needs to wait for a reader that has ended.
    fn settle_for_good(&self) {
        self.gate.lock().resting = true;
        self.gate.changed.notify_all();
    }

    fn settle_gate(&self) -> Wanted {
        let mut state = self.gate.lock();
        state.resting = state.wanted != Wanted::Read;
        self.gate.changed.notify_all();
        state.wanted
    }

    fn tell_signals(&self, wanted: Wanted, ready: &Ready) {
        for ((pipe, input), flags) in self.signals.0.iter().zip(ready.signals) {
            if flags.is_empty() {
                continue;
            }
            forget(pipe);
            match (wanted, input) {
                // The editor was suspended and took its whole group with it: we must stop as well, or the
                // shell never gets the terminal. When continued, the editor still has it.
                (Wanted::Rest, Input::StopAsked) => {
                    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
                }
                // Whoever lent the terminal takes it back when it is due.
                (Wanted::Rest, Input::Continued) => {}
                (_, input) => (self.tell)(input.clone()),
            }
        }
    }

    fn poll(&self, wanted: Wanted, timeout: Option<Duration>) -> Result<Ready, Errno> {
        let timeout = timeout.map(|wait| Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) });
        let stdin = io::stdin();
        let keys = if wanted == Wanted::Read { PollFlags::IN } else { PollFlags::empty() };
        let mut polled = [
            PollFd::new(&stdin, keys),
            PollFd::new(&self.woken, PollFlags::IN),
            PollFd::new(&self.signals.0[0].0, PollFlags::IN),
            PollFd::new(&self.signals.0[1].0, PollFlags::IN),
            PollFd::new(&self.signals.0[2].0, PollFlags::IN),
        ];
        poll(&mut polled, timeout.as_ref())?;
        let [keys, woken, signals @ ..] = polled.map(|fd| fd.revents());
        Ok(Ready { keys, woken, signals })
    }
}

/// Sends what the reader tells into a queue; a console that has ended hears nothing.
pub(super) fn into_queue<T: From<Input> + Send + 'static>(
    queue: Sender<T>,
) -> impl Fn(Input) + Send + 'static {
    move |input| {
        let _ = queue.send(input.into());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// A continuation that the thread has not come to while it rested was told after the terminal had been taken back,
    /// and had it taken a second time, with a second picture.
    #[test]
    fn a_continuation_that_was_answered_is_not_told_again() {
        let signals = Signals::register().expect("signals");
        let continued = signals.continued().expect("a descriptor");
        let (woken, wake) = io::pipe().expect("a pipe");
        let (gate, (told, tells)) = (Arc::new(Gate::default()), channel());
        let reader = Reader { gate: Arc::clone(&gate), wake, continued };
        let thread = Thread { gate, woken, signals, tell: Box::new(into_queue(told)) };
        // To this very thread, so that it has been told when this returns.
        let goes_on = || signal_hook::low_level::raise(Signal::CONT.as_raw()).expect("sent");
        // What is told once it reads again.
        let look = || {
            let ready = thread.poll(Wanted::Rest, Some(Duration::ZERO)).expect("polled");
            thread.tell_signals(Wanted::Read, &ready);
            tells.try_iter().collect::<Vec<Input>>()
        };
        goes_on();
        assert_eq!(look(), [Input::Continued], "nobody has answered it");
        goes_on();
        reader.forget_continued();
        assert_eq!(look(), []);
        // One that comes later is told.
        goes_on();
        assert_eq!(look(), [Input::Continued]);
    }
}
