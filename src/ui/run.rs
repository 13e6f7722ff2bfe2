//! The thread of the console: one queue in, state, effects out, and a frame when nothing is left to take.
//!
//! Invariant: nothing but this thread writes on the terminal, and nothing but drawing waits for it. A stalled
//! line stops this thread; workers, heartbeats and answers go on, and are taken when the line moves again.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::input::Input;
use super::view::{Draw, Look};
use crate::app::log::Level;
use crate::app::message::Signal;
use crate::app::{Effect, Message, State, refresh, update};

/// Frames come at most this often: faster than eyes, slower than a burst of answers.
const FRAME: Duration = Duration::from_millis(16);

/// While messages keep coming, a frame is drawn at least this often.
const AT_LEAST: Duration = Duration::from_millis(200);

/// What comes through the queue.
#[derive(Debug)]
pub(super) enum Event {
    /// From the root.
    Message(Box<Message>),
    /// From the reader of keys.
    Input(Input),
    /// The root wants to know whether everything that it sent before has been taken.
    Ask(oneshot::Sender<()>),
    /// The root ends the console.
    Stop,
}

impl From<Input> for Event {
    fn from(input: Input) -> Self {
        Self::Input(input)
    }
}

/// The terminal as the loop needs it; tests have another.
pub(super) trait Surface {
    /// Columns and lines.
    fn size(&self) -> io::Result<(u16, u16)>;
    /// Draws a frame.
    fn draw(&mut self, paint: &mut dyn FnMut(&mut Buffer) -> Option<Position>) -> io::Result<()>;
    /// The next frame is sent whole.
    fn forget(&mut self) -> io::Result<()>;
    /// Puts a text on the terminal's clipboard; in words why it cannot.
    fn copy(&mut self, text: &str) -> Result<(), String>;
    /// Shows a text in another program and waits for it; in words why it cannot.
    fn show(&mut self, name: &str, text: &str) -> Result<(), String>;
    /// Stops the process until it is continued; in words why it cannot.
    fn suspend(&mut self) -> Result<(), String>;
    /// Takes the terminal again after a stop that nobody announced.
    fn retake(&mut self) -> io::Result<()>;
}

/// The loop.
pub(super) struct Console<S> {
    state: State,
    look: Look,
    draw: Draw,
    surface: S,
    /// Since when the program runs; the times of all messages count from here.
    started: Instant,
    effects: UnboundedSender<Effect>,
    drawn_at: Option<Instant>,
    /// The terminal is gone: there is no drawing, but what runs here is still drained.
    dark: bool,
    stop: bool,
}

impl<S: Surface> Console<S> {
    /// A console that has not drawn yet.
    pub(super) fn new(
        state: State,
        look: Look,
        draw: Draw,
        surface: S,
        started: Instant,
        effects: UnboundedSender<Effect>,
    ) -> Self {
        Self { state, look, draw, surface, started, effects, drawn_at: None, dark: false, stop: false }
    }

    /// Runs until the state has ended, the root stops it, or nobody is left to talk to.
    pub(super) fn run(&mut self, queue: &Receiver<Event>) {
        self.resized();
        self.take(Message::Tick);
        while !self.over() {
            match queue.recv_timeout(self.patience()) {
                Ok(event) => {
                    self.handle(event);
                    self.drain(queue);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.wake_at() <= self.started.elapsed() {
                self.take(Message::Tick);
            }
            if self.frame_is_due() && !self.over() {
                self.frame();
            }
        }
        // The last picture stays true until the terminal is given back.
        if !self.dark && !self.stop {
            self.frame();
        }
    }

    fn over(&self) -> bool {
        self.stop || self.state.ended
    }

    /// Takes what else is there, so that a burst costs one frame; but not for ever.
    fn drain(&mut self, queue: &Receiver<Event>) {
        let began = Instant::now();
        while !self.over() && began.elapsed() < AT_LEAST {
            match queue.try_recv() {
                Ok(event) => self.handle(event),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }

    /// How long to wait for the next event: until the frame that is wanted, or until the state wants a tick.
    fn patience(&self) -> Duration {
        let now = self.started.elapsed();
        let wake = self.wake_at().saturating_sub(now);
        if self.state.needs_draw && !self.dark { wake.min(self.until_frame()) } else { wake }
    }

    /// When the state wants its next tick, since the start.
    fn wake_at(&self) -> Duration {
        self.state.now + refresh::next_wake(&self.state)
    }

    fn until_frame(&self) -> Duration {
        self.drawn_at.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()))
    }

    fn frame_is_due(&self) -> bool {
        self.state.needs_draw && !self.dark && self.until_frame().is_zero()
    }

    fn frame(&mut self) {
        self.state.needs_draw = false;
        let mut drawn = None;
        let (state, look, draw) = (&self.state, &self.look, self.draw);
        let result = self.surface.draw(&mut |buffer| {
            let frame = draw(state, look, buffer);
            let cursor = frame.cursor;
            drawn = Some((frame, buffer.area));
            cursor
        });
        self.drawn_at = Some(Instant::now());
        if result.is_err() {
            return self.gone();
        }
        let Some((frame, area)) = drawn else { return };
        self.take(Message::Drawn(frame.targets.iter().map(|(_, target)| *target).collect()));
        if (area.width, area.height) != (self.state.size.width, self.state.size.height) {
            self.take(Message::Resize { width: area.width, height: area.height });
        }
        if frame.viewport != self.state.viewport {
            self.take(Message::Viewport(frame.viewport));
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Message(message) if *message == Message::Signal(Signal::Hangup) => self.gone(),
            Event::Message(message) => self.take(*message),
            Event::Input(Input::Gone) => self.gone(),
            Event::Input(Input::Key(key)) => self.take(Message::Key(key)),
            Event::Input(Input::Paste(text)) => self.take(Message::Paste(text)),
            Event::Input(Input::Resized) => self.resized(),
            Event::Input(Input::Continued) => {
                if self.surface.retake().is_err() {
                    return self.gone();
                }
                self.take(Message::Continued);
                self.resized();
                self.state.needs_draw = true;
            }
            Event::Input(Input::StopAsked) => self.terminal_effect(Effect::Suspend),
            // A root that does not wait any more wants no answer.
            Event::Ask(answer) => drop(answer.send(())),
            Event::Stop => self.stop = true,
        }
    }

    fn resized(&mut self) {
        if let Ok((width, height)) = self.surface.size() {
            self.take(Message::Resize { width, height });
        }
    }

    /// The terminal is gone: said once, never drawn on again.
    fn gone(&mut self) {
        if !self.dark {
            self.dark = true;
            self.take(Message::Signal(Signal::Hangup));
        }
    }

    fn take(&mut self, message: Message) {
        let at = self.started.elapsed();
        for effect in update(&mut self.state, at, message) {
            self.terminal_effect(effect);
        }
    }

    /// Does what only the terminal's owner can do; everything else is the root's.
    fn terminal_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Copy { text } => {
                let done = self.surface.copy(&text).map(|()| text.len());
                self.take(Message::ClipboardDone(done));
            }
            Effect::EditInput { id, text } => {
                let done = self.surface.show(&id.to_string(), &text);
                self.resized();
                self.take(Message::EditorDone(done));
                self.state.needs_draw = true;
            }
            Effect::Suspend => match self.surface.suspend() {
                Ok(()) => {
                    self.resized();
                    self.take(Message::Continued);
                    self.state.needs_draw = true;
                }
                Err(why) => {
                    let text = format!("not suspended: {why}");
                    self.take(Message::Notice { level: Level::Warn, text });
                }
            },
            Effect::Redraw => {
                if self.surface.forget().is_err() {
                    self.gone();
                }
                self.state.needs_draw = true;
            }
            // A root that is gone wants nothing any more.
            other => self.stop |= self.effects.send(other).is_err(),
        }
    }
}

#[cfg(test)]
mod tests;
