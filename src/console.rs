//! The root with a terminal: the console on a thread of its own, workers beside it, and between them this loop,
//! which runs effects and sends their answers back.

mod alone;
mod effects;
mod ending;
mod successor;
mod translate;
mod waits;

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use color_eyre::eyre::WrapErr as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant as Deadline;
use uuid::Uuid;

use alone::{Asked, Watch};
use effects::{Performer, Writes};
use ending::{Ending, WRITES_WITHIN};
use successor::Successor;
use waits::{at, ended, moved};

use crate::app::message::LinkReport;
use crate::app::state::Setup;
use crate::app::{Effect, Message, ShutdownMode, State};
use crate::db::Db;
use crate::domain::observed::LocalWorkers;
use crate::domain::{InstanceState, NewTask, TaskId};
use crate::logging::{self, LogLine};
use crate::signals::Signals;
use crate::ui::{self, Draw, Look, Messages, UiHandle};
use crate::worker::{self, Analyser, Ended, Events, Heard, Shutdown, Worker, WorkerEvent, WorkerHandle};

/// How many events of workers may wait for the console.
const EVENTS: usize = 1_024;

/// What the console starts with.
#[derive(Debug)]
pub struct Start {
    /// The database, open and with a schema that fits.
    pub db: Db,
    /// This process's workers; none where the session is read-only, so that not even an instance may be written.
    pub workers: Option<Workers>,
    /// Who works where, which keys, what is shown first.
    pub setup: Setup,
    /// How things look.
    pub look: Look,
    /// What draws them.
    pub draw: Draw,
    /// What a sample text gets besides its text.
    pub samples: NewTask,
    /// Lines of the program's own log.
    pub log_lines: Option<Receiver<LogLine>>,
}

/// This process's workers.
#[derive(Debug)]
pub struct Workers {
    /// What they are told.
    pub config: worker::Config,
    /// What they do with each text.
    pub analyser: Arc<dyn Analyser>,
}

/// How the console ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Nothing was left.
    Clean,
    /// Something was left behind, which was said on standard error.
    Left {
        /// These tasks stay RUNNING until this process's lease passes.
        tasks: Vec<TaskId>,
        /// So many writes had no answer.
        unanswered: usize,
    },
    /// The console itself broke; the terminal was given back and the workers were drained.
    Broken {
        /// What it said.
        said: String,
    },
}

/// Runs the console until the operator, a signal or the end of the terminal ends it.
///
/// # Errors
/// The terminal or the signals could not be taken.
pub async fn run(start: Start) -> color_eyre::Result<End> {
    let started = Instant::now();
    let mut signals = Signals::install()?;
    ui::install_panic_hook(|said| tracing::error!("{said}"));
    let (events, told) = Events::channel(EVENTS);
    let performer_session = start.setup.session.clone();
    let tenant = start.setup.filter.tenant.clone();
    let ui = ui::spawn(State::new(start.setup), ui::Options { look: start.look, draw: start.draw, started })
        .wrap_err("the terminal could not be taken")?;
    if let Some(lines) = start.log_lines {
        forward(lines, ui.messages.clone());
    }
    let successor = start.workers.as_ref().and_then(|workers| Successor::of(workers, &events));
    let workers = start
        .workers
        .map(|Workers { config, analyser }| Worker::start(start.db.clone(), config, analyser, events));
    let performer = Performer {
        db: start.db,
        messages: ui.messages.clone(),
        operator: performer_session.operator.clone(),
        tenant,
        max_input_bytes: performer_session.max_input_bytes,
        approval: performer_session.approval,
        session: Uuid::now_v7(),
        samples: start.samples,
        writes: Writes::default(),
    };
    tell_server(&performer);
    let (heard, listener) = ears(&performer.db, workers.as_ref());
    let watch = Watch::default();
    let predecessor = None;
    let farewells = Vec::new();
    let mut root =
        Root { ui, workers, successor, predecessor, told, performer, heard, listener, watch, farewells };
    let ending = root.serve(&mut signals).await;
    Ok(root.end(ending, &mut signals, &performer_session).await)
}

struct Root {
    ui: UiHandle,
    workers: Option<WorkerHandle>,
    /// What follows the workers should they end before the process; none once it was begun, or the end was asked
    /// for here.
    successor: Option<Successor>,
    /// How the workers ended that it has followed.
    predecessor: Option<Ended>,
    told: mpsc::Receiver<WorkerEvent>,
    performer: Performer,
    /// What the listening connection hears: the workers' or, where there are none, one of this root.
    heard: watch::Receiver<Heard>,
    listener: Option<JoinHandle<()>>,
    /// Whether the console takes what it is sent.
    watch: Watch,
    /// What is to be said once the terminal is given back.
    farewells: Vec<String>,
}

impl Root {
    async fn serve(&mut self, signals: &mut Signals) -> Ending {
        let mut local = self.workers.as_ref().map(WorkerHandle::local);
        let mut said = Deadline::now();
        let mut missed = (0, 0);
        let mut heard = Heard::default();
        // Until when everything must be settled, once the workers have ended.
        let mut settled_by = None;
        loop {
            if self.watch.is_alone() && self.is_over(settled_by) {
                return Ending::WithoutConsole;
            }
            tokio::select! {
                effect = self.ui.effects.recv() => {
                    let Some(effect) = effect else { return Ending::ConsoleGone };
                    if let Some(ending) = self.perform(effect) {
                        return ending;
                    }
                }
                signal = signals.next() => {
                    self.tell(Message::Signal(signal));
                    self.watch.signal(signal, self.ui.takes());
                }
                asked = self.watch.given_up() => {
                    if let Some(ending) = self.act_alone(asked) {
                        return ending;
                    }
                }
                () = self.performer.writes.done(), if self.watch.is_alone() && self.performer.writes.count() > 0 => {}
                event = self.told.recv(), if !self.told.is_closed() || !self.told.is_empty() => {
                    if let Some(event) = event {
                        self.pass_on(&event);
                    }
                }
                Ok(()) = self.heard.changed() => self.hear(&mut heard),
                () = moved(&mut local, said) => {
                    said = Deadline::now();
                    if let Some(local) = &mut local {
                        let now = local.borrow_and_update().clone();
                        self.tell(Message::Local(now));
                    }
                    self.count_missed(&mut missed);
                }
                ended = ended(self.workers.as_ref()), if settled_by.is_none() => {
                    if let Some(successor) = self.successor.take() {
                        local = Some(self.succeed(successor, ended));
                    } else {
                        self.workers_ended(local.as_ref());
                        settled_by = Some(Deadline::now() + WRITES_WITHIN);
                    }
                }
                () = at(settled_by) => return Ending::WithoutConsole,
            }
        }
    }

    /// Whether nothing is left to wait for.
    fn is_over(&self, settled_by: Option<Deadline>) -> bool {
        (self.workers.is_none() || settled_by.is_some()) && self.performer.writes.count() == 0
    }

    /// The workers have ended: the console is told so, and ends when its writes are answered too.
    fn workers_ended(&mut self, local: Option<&watch::Receiver<LocalWorkers>>) {
        self.pass_on_all();
        if let Some(local) = local {
            let now = local.borrow().clone();
            // However they ended: one that could not say so itself has stopped too.
            self.tell(Message::Local(LocalWorkers { state: InstanceState::Stopped, ..now }));
        }
        self.watch.expect(self.ui.takes());
    }

    /// The workers have ended and nobody here asked them to: a watching instance takes their place.
    fn succeed(&mut self, successor: Successor, ended: Ended) -> watch::Receiver<LocalWorkers> {
        self.pass_on_all();
        let last = self.workers.take().map(|workers| workers.local().borrow().clone());
        let workers = successor.begin(&self.performer.db);
        let local = workers.local();
        self.heard = workers.heard();
        self.workers = Some(workers);
        let asked = last.and_then(|last| last.asked_to_stop);
        self.tell(translate::workers_ended(asked, &ended));
        self.predecessor = Some(ended);
        self.tell(Message::Local(local.borrow().clone()));
        local
    }

    /// What the end was told with comes before the end itself.
    fn pass_on_all(&mut self) {
        while let Ok(event) = self.told.try_recv() {
            self.pass_on(&event);
        }
    }

    /// Does what signals ask for while the console takes nothing.
    fn act_alone(&mut self, asked: Asked) -> Option<Ending> {
        let mode = match asked {
            Asked::Nothing => return None,
            Asked::Drain => Shutdown::Drain,
            Asked::Cancel => Shutdown::Cancel,
            Asked::Leave => return Some(Ending::Leave { tasks: Vec::new(), unanswered: 0 }),
        };
        tracing::warn!(
            ?mode,
            "the console takes nothing: its line has stalled or an editor has the terminal"
        );
        self.shut_down(mode);
        None
    }

    /// Tells the workers to end with the process.
    fn shut_down(&mut self, mode: Shutdown) {
        self.successor = None;
        if let Some(workers) = &self.workers {
            workers.shutdown(mode);
        }
    }

    /// Passes on what the listening connection heard.
    fn hear(&mut self, before: &mut Heard) {
        let now = self.heard.borrow_and_update().clone();
        if now.how != before.how
            && let Some(message) = translate::hearing(&now.how)
        {
            self.tell(message);
        }
        if now.wakes != before.wakes {
            self.tell(Message::Wake);
        }
        *before = now;
    }

    fn perform(&mut self, effect: Effect) -> Option<Ending> {
        let performer = &self.performer;
        match effect {
            Effect::Read(read) => performer.read(read),
            Effect::Decide { request, kind, rows, reason, tenant } => {
                performer.decide(request, kind, rows, reason, tenant);
            }
            Effect::DecideChunk { request, matching, reason, after } => {
                performer.decide_chunk(request, *matching, reason, after);
            }
            Effect::Farewell { text } => self.farewells.push(text),
            Effect::Stop { request, mode, instances, reason } => {
                performer.stop(request, mode, instances, reason);
            }
            Effect::DecideQueue { request, act, queue, version, reason } => {
                performer.decide_queue(request, act, queue, version, reason);
            }
            Effect::Submit { request, text, task } => performer.submit(request, text, task),
            Effect::SubmitLines { request, path, task } => performer.submit_lines(request, path, task),
            Effect::SubmitSamples { request } => performer.submit_samples(request),
            Effect::Shutdown(mode) => {
                let mode = match mode {
                    ShutdownMode::Drain => Shutdown::Drain,
                    ShutdownMode::Cancel => Shutdown::Cancel,
                };
                self.shut_down(mode);
            }
            Effect::Leave { tasks, unanswered } => return Some(Ending::Leave { tasks, unanswered }),
            Effect::Quit => return Some(Ending::Quit),
            // The console's own thread does these; they never come here.
            Effect::Copy { .. } | Effect::EditInput { .. } | Effect::Suspend | Effect::Redraw => {}
        }
        None
    }

    fn pass_on(&self, event: &WorkerEvent) {
        for message in translate::worker_event(event) {
            self.tell(message);
        }
    }

    /// Says how much the console has not been told, since it could not keep up.
    fn count_missed(&self, (events, lines): &mut (u64, u64)) {
        let now = self.workers.as_ref().map_or(0, WorkerHandle::missed_events);
        if now > *events {
            self.tell(Message::Workers { events: Vec::new(), missed: now - *events });
            *events = now;
        }
        let now = logging::missed();
        if now > *lines {
            let text = format!("{} lines of the program's log came too fast to show", now - *lines);
            self.tell(Message::LogLine { level: crate::app::log::Level::Warn, text });
            *lines = now;
        }
    }

    fn tell(&self, message: Message) {
        // A console that has ended is noticed by its effects, which end too.
        let _ = self.ui.messages.send(message);
    }
}

/// What tells of changes: the workers' listening connection, or where there are no workers one of the root's own.
fn ears(db: &Db, workers: Option<&WorkerHandle>) -> (watch::Receiver<Heard>, Option<JoinHandle<()>>) {
    if let Some(workers) = workers {
        return (workers.heard(), None);
    }
    let heard = watch::Sender::default();
    let ears = heard.subscribe();
    let db = db.clone();
    let listener = tokio::spawn(async move {
        worker::listen(&db, &heard, |_| {}).await;
    });
    (ears, Some(listener))
}

/// Which server this is, for the header, once it can be asked.
fn tell_server(performer: &Performer) {
    let performer = performer.clone();
    tokio::spawn(async move {
        if let Ok(health) = performer.db.health().await {
            let kind = if health.is_replica { "replica" } else { "primary" };
            let server = format!("PostgreSQL {} {kind}", translate::short_version(&health.server_version));
            let _ = performer.messages.send(Message::Link(LinkReport::Server { server }));
        }
    });
}

/// Hands the program's log lines to screen 5. Receiving blocks, so it has a thread; the channel's end ends it.
fn forward(lines: Receiver<LogLine>, messages: Messages) {
    std::thread::spawn(move || {
        for line in lines {
            let level = translate::level(line.level);
            if messages.send(Message::LogLine { level, text: line.text }).is_err() {
                return;
            }
        }
    });
}
