use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use ratatui::layout::Rect;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::app::keys::{Key, Keymap};
use crate::app::state::{Access, FirstStart, Session, Setup};
use crate::domain::observed::Filter;
use crate::domain::{Approval, Name};
use crate::ui::{Charset, Theme};

/// What was asked of the terminal.
#[derive(Debug, Default)]
struct Asked {
    frames: usize,
    copied: Vec<String>,
    suspended: usize,
    forgot: usize,
    broken: bool,
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Asked>>);

impl Fake {
    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.0.lock().expect("no test panics while it holds this")
    }
}

impl Surface for Fake {
    fn size(&self) -> io::Result<(u16, u16)> {
        Ok((100, 30))
    }

    fn draw(&mut self, paint: &mut dyn FnMut(&mut Buffer) -> Option<Position>) -> io::Result<()> {
        let mut asked = self.asked();
        if asked.broken {
            return Err(io::Error::other("gone"));
        }
        asked.frames += 1;
        paint(&mut Buffer::empty(Rect::new(0, 0, 100, 30)));
        Ok(())
    }

    fn forget(&mut self) -> io::Result<()> {
        self.asked().forgot += 1;
        Ok(())
    }

    fn copy(&mut self, text: &str) -> Result<(), String> {
        self.asked().copied.push(text.to_owned());
        Ok(())
    }

    fn show(&mut self, _name: &str, _text: &str) -> Result<(), String> {
        Err("no editor".to_owned())
    }

    fn suspend(&mut self) -> Result<(), String> {
        self.asked().suspended += 1;
        Ok(())
    }

    fn retake(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn state() -> State {
    let session = Session {
        database: "app@db1/jobs".to_owned(),
        database_short: "db1/jobs".to_owned(),
        server: None,
        operator: "alice".to_owned(),
        access: Access::ReadWrite,
        decide_denied: None,
        submit_denied: None,
        stop_denied: None,
        queues_denied: None,
        workers: 0,
        grace: Duration::from_secs(30),
        max_input_bytes: 1_000,
        approval: Approval::Anybody,
        notify: false,
        tenant: Name::default_name(),
        queue: Name::default_name(),
        max_attempts: 3,
    };
    State::new(Setup {
        session,
        keymap: Keymap::default(),
        filter: Filter::default(),
        first_start: FirstStart::No,
    })
}

fn console() -> (Console<Fake>, Fake, UnboundedReceiver<Effect>) {
    let fake = Fake::default();
    let (effect_out, effects) = unbounded_channel();
    let look = Look { theme: Theme::plain(), glyphs: Charset::Unicode.glyphs() };
    (Console::new(state(), look, crate::ui::draw, fake.clone(), Instant::now(), effect_out), fake, effects)
}

fn run(console: &mut Console<Fake>, script: impl FnOnce(&Sender<Event>)) {
    let (queue, events) = channel();
    script(&queue);
    console.run(&events);
}

fn all(mut effects: UnboundedReceiver<Effect>) -> Vec<Effect> {
    std::iter::from_fn(|| effects.try_recv().ok()).collect()
}

#[test]
fn a_burst_costs_few_frames_and_quit_ends_it() {
    let (mut console, fake, effects) = console();
    run(&mut console, |queue| {
        for _ in 0..500 {
            queue.send(Event::Message(Box::new(Message::Wake))).expect("a listener");
            queue.send(Event::Input(Input::Key(Key::char('j')))).expect("a listener");
        }
        queue.send(Event::Input(Input::Key(Key::char('q')))).expect("a listener");
    });
    assert!(console.state.ended);
    assert!(fake.asked().frames <= 3, "{} frames", fake.asked().frames);
    let effects = all(effects);
    assert!(effects.contains(&Effect::Quit), "{effects:?}");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Read(_))), "{effects:?}");
}

#[test]
fn what_is_the_terminals_is_done_here_and_goes_nowhere_else() {
    let (mut console, fake, effects) = console();
    console.terminal_effect(Effect::Copy { text: "abc".to_owned() });
    run(&mut console, |queue| {
        queue.send(Event::Input(Input::Key(Key::ctrl('l')))).expect("a listener");
        queue.send(Event::Input(Input::Key(Key::ctrl('z')))).expect("a listener");
        queue.send(Event::Stop).expect("a listener");
    });
    {
        let asked = fake.asked();
        assert_eq!(asked.copied, ["abc"]);
        // Once for Ctrl-L, once after the stop.
        assert_eq!((asked.suspended, asked.forgot), (1, 2));
    }
    let effects = all(effects);
    assert!(effects.iter().all(|effect| matches!(effect, Effect::Read(_))), "{effects:?}");
}

#[test]
fn a_terminal_that_is_gone_ends_it_without_drawing() {
    for how in [Event::Input(Input::Gone), Event::Message(Box::new(Message::Signal(Signal::Hangup)))] {
        let (mut console, fake, effects) = console();
        run(&mut console, |queue| queue.send(how).expect("a listener"));
        assert!(console.state.ended && console.dark);
        assert_eq!(fake.asked().frames, 0);
        assert!(all(effects).contains(&Effect::Quit));
    }
    let (mut console, fake, effects) = console();
    fake.asked().broken = true;
    let (queue, events) = channel();
    console.run(&events);
    drop(queue);
    assert!(console.state.ended && console.dark);
    assert!(all(effects).contains(&Effect::Quit));
}

#[test]
fn a_root_that_is_gone_ends_it() {
    let (mut console, _fake, effects) = console();
    drop(effects);
    run(&mut console, |_queue| {});
}
