//! How the root starts the console and talks with it.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::input::{Reader, into_queue};
use super::outside::{EndEditor, end_editor};
use super::owner::Owner;
use super::quit::restore_before_it;
use super::run::{Console, Event};
use super::terminal::{Screen, restore, said};
use super::view::{Draw, Look};
use crate::app::{Effect, Message, State};

/// How long the console may take to take the terminal again from an editor that was ended.
const AFTER_EDITOR: Duration = Duration::from_millis(500);

/// How the console is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// How things look.
    pub look: Look,
    /// What draws them.
    pub draw: Draw,
    /// When the program started: the zero of all times in the state.
    pub started: Instant,
}

/// A console at work.
#[derive(Debug)]
pub struct UiHandle {
    /// The way in for messages.
    pub messages: Messages,
    /// What is to be done besides what the terminal's owner does itself. It closes when the console has ended.
    pub effects: UnboundedReceiver<Effect>,
    /// How it ended; the terminal has been given back by then.
    pub ended: oneshot::Receiver<Ended>,
}

/// How a console ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// As it was told to.
    Well,
    /// Its thread panicked. The terminal was given back and the panic reported; workers go on until the root
    /// stops them.
    Panicked {
        /// What the panic said.
        said: String,
    },
    /// The line has stalled and its thread hangs in a write; the terminal was given back as far as possible.
    Stalled,
}

/// The way in for messages; may be cloned and sent anywhere.
#[derive(Debug, Clone)]
pub struct Messages(Sender<Event>);

/// The console has ended and takes no more messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the console has ended")]
pub struct ConsoleEnded;

impl Messages {
    /// Hands a message to the console. Never waits, whatever the terminal does.
    ///
    /// # Errors
    /// The console has ended.
    pub fn send(&self, message: Message) -> Result<(), ConsoleEnded> {
        self.0.send(Event::Message(Box::new(message))).map_err(|_| ConsoleEnded)
    }
}

/// Takes the terminal and runs the console on a thread of its own, until the state has ended.
///
/// [`super::install_panic_hook`] should have been called before.
///
/// # Errors
/// The terminal could not be taken or the thread not be started; the terminal is as it was.
pub fn spawn(state: State, options: Options) -> io::Result<UiHandle> {
    restore_before_it()?;
    let (queue, events) = channel();
    let (effect_out, effects) = unbounded_channel();
    let (ended_out, ended) = oneshot::channel();
    let (ready_out, ready) = channel();
    let keys = queue.clone();
    std::thread::Builder::new().name("taskdeck-console".to_owned()).spawn(move || {
        let owner = match take(keys) {
            Ok(owner) => {
                let _ = ready_out.send(Ok(()));
                owner
            }
            Err(error) => {
                let _ = ready_out.send(Err(error));
                return;
            }
        };
        let run = AssertUnwindSafe(move || {
            Console::new(state, options.look, options.draw, owner, options.started, effect_out).run(&events);
        });
        let ended = match std::panic::catch_unwind(run) {
            Ok(()) => Ended::Well,
            Err(panic) => Ended::Panicked { said: said(panic.as_ref()).to_owned() },
        };
        // The root may not want to know.
        let _ = ended_out.send(ended);
    })?;
    ready.recv().map_err(|_| io::Error::other("the console's thread ended at once"))??;
    Ok(UiHandle { messages: Messages(queue), effects, ended })
}

fn take(keys: Sender<Event>) -> io::Result<Owner> {
    let screen = Screen::take()?;
    let reader = Reader::start(into_queue(keys))?;
    Ok(Owner { reader, screen })
}

impl UiHandle {
    /// Answers once the console has taken everything that was sent before. It does not while its line has stalled
    /// or another program has the terminal. An error: it has ended.
    pub fn takes(&self) -> oneshot::Receiver<()> {
        let (answer, taken) = oneshot::channel();
        // To one that has ended nothing is sent; then the answer's end is dropped and says so.
        let _ = self.messages.0.send(Event::Ask(answer));
        taken
    }

    /// Ends the console, whatever its state, and waits at most `limit` for it to give the terminal back.
    ///
    /// Where the line has stalled, its thread hangs in a write that nobody can call back; then the terminal is
    /// given back from here as far as that is possible, and the thread is left behind.
    pub async fn finish(self, limit: Duration) -> Ended {
        // One that has ended needs no telling.
        let _ = self.messages.0.send(Event::Stop);
        let mut ended = self.ended;
        // An editor that has the terminal is told that its time is over, as when a terminal goes away.
        end_editor(EndEditor::Asked);
        let mut outcome = tokio::time::timeout(limit, &mut ended).await;
        if outcome.is_err() && end_editor(EndEditor::Now) {
            outcome = tokio::time::timeout(AFTER_EDITOR, ended).await;
        }
        match outcome {
            Ok(Ok(ended)) => ended,
            Ok(Err(_)) => Ended::Well,
            Err(_) => {
                let (done, given_back) = oneshot::channel();
                // Writing may hang here as well, so it has a thread of its own.
                std::thread::spawn(move || {
                    restore();
                    let _ = done.send(());
                });
                let _ = tokio::time::timeout(Duration::from_millis(500), given_back).await;
                Ended::Stalled
            }
        }
    }
}
