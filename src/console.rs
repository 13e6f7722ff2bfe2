//! The root with a terminal: the console on a thread of its own, workers beside it, and between them this loop,
//! which runs effects and sends their answers back.

mod effects;
mod translate;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use color_eyre::eyre::WrapErr as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant as Deadline, sleep_until};
use uuid::Uuid;

use effects::Performer;

use crate::app::message::{LinkReport, Signal as Told};
use crate::app::state::{Session, Setup};
use crate::app::{Effect, Message, ShutdownMode, State};
use crate::db::Db;
use crate::domain::observed::LocalWorkers;
use crate::domain::{NewTask, TaskId};
use crate::logging::{self, LogLine};
use crate::ui::{self, Draw, Ended, Look, Messages, UiHandle};
use crate::worker::{self, Analyser, Events, Shutdown, Worker, WorkerEvent, WorkerHandle};

/// How many events of workers may wait for the console.
const EVENTS: usize = 1_024;

/// The console hears of its workers at most this often, however fast they are…
const LOCAL_AT_MOST: Duration = Duration::from_millis(100);

/// … and at least this often, since ages move on.
const LOCAL_AT_LEAST: Duration = Duration::from_secs(1);

/// How long giving the terminal back may take where its line has stalled.
const RESTORE_WITHIN: Duration = Duration::from_secs(2);

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
    /// These tasks stay RUNNING until this process's lease passes.
    Left {
        /// Which.
        tasks: Vec<TaskId>,
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
    let mut signals = Signals::take()?;
    ui::install_panic_hook(|said| tracing::error!("{said}"));
    let (events, told) = Events::channel(EVENTS);
    let performer_session = start.setup.session.clone();
    let tenant = start.setup.filter.tenant.clone();
    let ui = ui::spawn(State::new(start.setup), ui::Options { look: start.look, draw: start.draw, started })
        .wrap_err("the terminal could not be taken")?;
    if let Some(lines) = start.log_lines {
        forward(lines, ui.messages.clone());
    }
    let workers = start
        .workers
        .map(|Workers { config, analyser }| Worker::start(start.db.clone(), config, analyser, events));
    let performer = Performer {
        db: start.db,
        messages: ui.messages.clone(),
        operator: performer_session.operator.clone(),
        tenant,
        max_input_bytes: performer_session.max_input_bytes,
        session: Uuid::now_v7(),
        samples: start.samples,
    };
    tell_server(&performer);
    let mut root = Root { ui, workers, told, performer };
    let ending = root.serve(&mut signals).await;
    Ok(root.end(ending, &mut signals, &performer_session).await)
}

/// Why the loop ended.
enum Ending {
    /// The state wants to end; nothing is in flight.
    Quit,
    /// The operator leaves although work is in flight.
    Leave { tasks: Vec<TaskId>, unanswered: usize },
    /// The workers have ended, perhaps with tasks that they could not finish.
    WorkersEnded { left: Vec<TaskId> },
    /// The console's thread has ended by itself.
    ConsoleGone,
}

struct Root {
    ui: UiHandle,
    workers: Option<WorkerHandle>,
    told: mpsc::Receiver<WorkerEvent>,
    performer: Performer,
}

impl Root {
    async fn serve(&mut self, signals: &mut Signals) -> Ending {
        let mut local = self.workers.as_ref().map(WorkerHandle::local);
        let mut said = Deadline::now();
        let mut missed = (0, 0);
        loop {
            tokio::select! {
                effect = self.ui.effects.recv() => {
                    let Some(effect) = effect else { return Ending::ConsoleGone };
                    if let Some(ending) = self.perform(effect) {
                        return ending;
                    }
                }
                signal = signals.next() => self.tell(Message::Signal(signal)),
                event = self.told.recv(), if !self.told.is_closed() || !self.told.is_empty() => {
                    if let Some(event) = event {
                        self.pass_on(&event);
                    }
                }
                () = moved(&mut local, said) => {
                    said = Deadline::now();
                    if let Some(local) = &mut local {
                        let now = local.borrow_and_update().clone();
                        self.tell(Message::Local(now));
                    }
                    self.count_missed(&mut missed);
                }
                left = ended(self.workers.as_ref()) => {
                    // What the end was told with comes before the end itself.
                    while let Ok(event) = self.told.try_recv() {
                        self.pass_on(&event);
                    }
                    return Ending::WorkersEnded { left };
                }
            }
        }
    }

    fn perform(&self, effect: Effect) -> Option<Ending> {
        let performer = &self.performer;
        match effect {
            Effect::Read(read) => performer.read(read),
            Effect::Decide { request, kind, rows, reason, tenant } => {
                performer.decide(request, kind, rows, reason, tenant);
            }
            Effect::Submit { request, text, task } => performer.submit(request, text, task),
            Effect::SubmitLines { request, path, task } => performer.submit_lines(request, path, task),
            Effect::SubmitSamples { request } => performer.submit_samples(request),
            Effect::Shutdown(mode) => {
                let mode = match mode {
                    ShutdownMode::Drain => Shutdown::Drain,
                    ShutdownMode::Cancel => Shutdown::Cancel,
                };
                if let Some(workers) = &self.workers {
                    workers.shutdown(mode);
                }
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

    /// Gives the terminal back, then ends the workers; nothing is said to have ended before it has.
    async fn end(self, ending: Ending, signals: &mut Signals, session: &Session) -> End {
        let Self { ui, workers, .. } = self;
        let ended = ui.finish(RESTORE_WITHIN).await;
        if let Ended::Panicked { said } = ended {
            say("taskdeck: the console has broken; its workers are drained (Ctrl-C: cancel, again: leave)");
            let left = drain(workers, signals).await;
            tell_left(&left, session);
            return End::Broken { said };
        }
        let left = match ending {
            Ending::Leave { tasks, unanswered } => {
                let mut left = workers.as_ref().map_or_else(Vec::new, WorkerHandle::leave);
                if left.is_empty() {
                    left = tasks;
                }
                if unanswered > 0 {
                    say(&format!(
                        "taskdeck: {unanswered} writes had no answer yet; `taskdeck show ID` tells what became of them"
                    ));
                }
                left
            }
            Ending::WorkersEnded { left } => left,
            Ending::Quit | Ending::ConsoleGone => drain(workers, signals).await,
        };
        tell_left(&left, session);
        if left.is_empty() { End::Clean } else { End::Left { tasks: left } }
    }
}

/// Ends the workers without a screen: signals make it graver, as everywhere.
async fn drain(workers: Option<WorkerHandle>, signals: &mut Signals) -> Vec<TaskId> {
    let Some(workers) = workers else { return Vec::new() };
    workers.shutdown(Shutdown::Drain);
    let mut asked = 0;
    loop {
        tokio::select! {
            ended = workers.ended() => return ended.left,
            _ = signals.next() => {
                asked += 1;
                if asked > 1 {
                    return workers.leave();
                }
                workers.shutdown(Shutdown::Cancel);
            }
        }
    }
}

/// Waits until there is something new to say of this process's workers, or it is time to say it again.
async fn moved(local: &mut Option<watch::Receiver<LocalWorkers>>, said: Deadline) {
    let again = sleep_until(said + LOCAL_AT_LEAST);
    match local {
        None => again.await,
        Some(local) => {
            sleep_until(said + LOCAL_AT_MOST).await;
            tokio::select! {
                changed = local.changed() => if changed.is_err() { again.await },
                () = sleep_until(said + LOCAL_AT_LEAST) => {}
            }
        }
    }
}

/// Waits until the workers have ended; for ever where there are none.
async fn ended(workers: Option<&WorkerHandle>) -> Vec<TaskId> {
    match workers {
        Some(workers) => workers.ended().await.left,
        None => std::future::pending().await,
    }
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

fn tell_left(left: &[TaskId], session: &Session) {
    if !left.is_empty() {
        let ids: Vec<String> = left.iter().map(ToString::to_string).collect();
        say(&format!(
            "taskdeck: left RUNNING on {} until the lease of this process passes, then they run again: {}",
            session.database_short,
            ids.join(", ")
        ));
    }
}

/// Says a line on standard error; where the terminal is gone nobody is there to hear it.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The signals that a console obeys.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn take() -> color_eyre::Result<Self> {
        let take = |kind| signal(kind).wrap_err("cannot take signals over");
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
            hangup: take(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::Terminate,
            _ = self.interrupt.recv() => Told::Interrupt,
            _ = self.hangup.recv() => Told::Hangup,
        }
    }
}
