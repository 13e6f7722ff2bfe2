//! States that can be reached: everything goes through the console's own `update`.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use taskdeck::app::keys::{Key, Keymap};
use taskdeck::app::message::{FailureCause, LinkReport, ReadFailure};
use taskdeck::app::state::{Access, FirstStart, Session, Setup};
use taskdeck::app::{Effect, Message, State, update};
use taskdeck::domain::observed::{Filter, Listed, Page};
use taskdeck::domain::outcome::TaskHistory;
use taskdeck::domain::{Approval, InstanceId, Name, TaskId};
use taskdeck::ui::{Charset, Drawn, Look, Theme, draw};
use uuid::Uuid;

use crate::fixtures::{events, local, overview, rows};

/// The database's clock at every first read.
pub(crate) fn now() -> Timestamp {
    "2026-11-30T10:00:00Z".parse().expect("a timestamp")
}

/// So many seconds before [`now`].
pub(crate) fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

pub(crate) fn instance(number: u128) -> InstanceId {
    InstanceId(Uuid::from_u128(number))
}

pub(crate) const HERE: u128 = 1;
pub(crate) const WEB2: u128 = 2;
pub(crate) const WEB1: u128 = 3;
pub(crate) const WEB3: u128 = 4;
pub(crate) const WEB4: u128 = 5;
pub(crate) const WEB5: u128 = 6;

/// A console with what it was asked to do.
pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) at: Duration,
    pub(crate) effects: Vec<Effect>,
}

pub(crate) fn session() -> Session {
    Session {
        database: "app@db1/jobs".to_owned(),
        database_short: "db1/jobs".to_owned(),
        server: None,
        operator: "alice".to_owned(),
        access: Access::ReadWrite,
        decide_denied: None,
        submit_denied: None,
        stop_denied: None,
        queues_denied: None,
        workers: 4,
        grace: Duration::from_secs(30),
        max_input_bytes: 1024 * 1024,
        approval: Approval::Anybody,
        notify: false,
        tenant: Name::default_name(),
        queue: Name::default_name(),
        max_attempts: 3,
    }
}

impl World {
    pub(crate) fn new(first_start: FirstStart, session: Session) -> Self {
        let setup = Setup { session, keymap: Keymap::default(), filter: Filter::default(), first_start };
        let mut world = Self { state: State::new(setup), at: Duration::from_mins(1), effects: Vec::new() };
        world.send(Message::Tick);
        world
    }

    /// A console that has read nothing yet.
    pub(crate) fn blank() -> Self {
        Self::new(FirstStart::No, session())
    }

    /// A busy morning: every state, every kind of trouble that is not an outage.
    pub(crate) fn busy() -> Self {
        let mut world = Self::blank();
        world.send(Message::Link(LinkReport::Server { server: "PostgreSQL 15.18 primary".to_owned() }));
        world.send(Message::Link(LinkReport::Listening));
        for step in 0..12_u32 {
            world.send(Message::OverviewLoaded(overview(300.0 + f64::from(step * 37 % 150))));
            world.pass(1_000);
        }
        world.send(Message::Local(local()));
        world.send(Message::OverviewLoaded(overview(412.0)));
        world.list(rows());
        world.pass(200);
        world
    }

    pub(crate) fn send(&mut self, message: Message) -> &mut Self {
        self.effects.extend(update(&mut self.state, self.at, message));
        self
    }

    /// Time passes.
    pub(crate) fn pass(&mut self, ms: u64) -> &mut Self {
        self.at += Duration::from_millis(ms);
        self.send(Message::Tick)
    }

    pub(crate) fn size(&mut self, width: u16, height: u16) -> &mut Self {
        self.send(Message::Resize { width, height })
    }

    /// Time since the console was started, by the database's clock.
    fn since_start(&self) -> SignedDuration {
        SignedDuration::try_from(self.at.saturating_sub(Duration::from_mins(1))).expect("short")
    }

    /// Presses keys: `"j j space"`.
    pub(crate) fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.look();
            let key: Key = key.parse().expect(key);
            self.send(Message::Key(key));
        }
        self
    }

    /// A frame is drawn, as it is before each key: only what was on screen can be decided.
    fn look(&mut self) {
        let size = self.state.size;
        let (_, drawn) = self.draw(&plain(), size.width, size.height);
        self.send(Message::Drawn(drawn.targets.into_iter().map(|(_, target)| target).collect()));
    }

    /// The list arrives as `rows`.
    pub(crate) fn list(&mut self, rows: Vec<Listed>) -> &mut Self {
        let generation = self.state.list.generation;
        let moved = self.since_start();
        let page = Page { rows, next_before: Some(TaskId(48_000)), read_at: now() + moved };
        self.send(Message::ListLoaded { generation, page })
    }

    /// The list arrives as `rows`, which are all that match.
    pub(crate) fn whole_list(&mut self, rows: Vec<Listed>) -> &mut Self {
        let generation = self.state.list.generation;
        let page = Page { rows, next_before: None, read_at: now() + self.since_start() };
        self.send(Message::ListLoaded { generation, page })
    }

    /// The cursor goes to `id` and its detail arrives.
    pub(crate) fn on(&mut self, id: i64) -> &mut Self {
        self.press("g");
        while self.state.list.under_cursor().map(Listed::id) != Some(TaskId(id)) {
            self.press("j");
        }
        self.pass(200);
        let task = self.state.list.task(TaskId(id)).expect("a listed task").clone();
        let moved = self.since_start();
        let found = Some(TaskHistory { events: events(&task), task });
        self.send(Message::DetailLoaded { id: TaskId(id), read_at: now() + moved, found })
    }

    /// The database stops answering.
    pub(crate) fn lose(&mut self) -> &mut Self {
        let failure = || ReadFailure {
            cause: FailureCause::NoAnswer,
            message: "connection refused".to_owned(),
            hint: Some("is the server running?".to_owned()),
        };
        let generation = self.state.list.generation;
        for _ in 0..3 {
            self.pass(4_000);
            self.send(Message::ListFailed { generation, failure: failure() });
            self.send(Message::OverviewFailed(failure()));
        }
        self.pass(1_300)
    }

    pub(crate) fn draw(&self, look: &Look, width: u16, height: u16) -> (Buffer, Drawn) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let drawn = draw(&self.state, look, &mut buffer);
        (buffer, drawn)
    }

    /// What stands on the screen, after the console has been told how much room there is.
    pub(crate) fn picture(&mut self, width: u16, height: u16) -> String {
        self.size(width, height);
        let look = plain();
        let (_, drawn) = self.draw(&look, width, height);
        self.send(Message::Viewport(drawn.viewport));
        let (buffer, drawn) = self.draw(&look, width, height);
        let mut text = text_of(&buffer);
        if let Some(at) = drawn.cursor {
            write!(text, "\ncursor at {},{}", at.x, at.y).expect("a String");
        }
        text
    }
}

pub(crate) fn plain() -> Look {
    Look { theme: Theme::plain(), glyphs: Charset::Unicode.glyphs() }
}

/// The text of a frame, without the blanks at the end of lines; the place behind a wide character is skipped.
pub(crate) fn text_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let lines: Vec<String> = (area.top()..area.bottom())
        .map(|y| {
            let mut line = String::new();
            let mut skip = 0;
            for x in area.left()..area.right() {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let symbol = buffer[(x, y)].symbol();
                skip = taskdeck::domain::text::width(symbol).saturating_sub(1);
                line.push_str(symbol);
            }
            line.trim_end().to_owned()
        })
        .collect();
    lines.join("\n")
}
