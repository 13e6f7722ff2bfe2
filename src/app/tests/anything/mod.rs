//! Whatever comes in, in whatever order: no panic, no write without its answer, no version that was not on
//! screen, and a way out.

mod made;

use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;

use made::*;

use super::super::testing::{Console, ESC, Line, clock, history, overview, page, setup};
use crate::app::bulk::{Shown, Stopping};
use crate::app::conflict::Conflict;
use crate::app::keys::{Key, KeyCode};
use crate::app::list::Cursor;
use crate::app::message::{
    Confirmed, LinesReport, Message, ReadFailure, Signal, Target, Viewport, WorkerEvent, WorkersEnded,
};
use crate::app::overlay::Overlay;
use crate::app::question::Standing;
use crate::app::queues::QueueStanding;
use crate::app::state::{Access, FirstStart, Screen};
use crate::app::stop::StopStanding;
use crate::app::{Effect, RequestId, Setup, State, footer, header, help};
use crate::domain::instance::SeenInstance;
use crate::domain::outcome::Submitted;
use crate::domain::{InstanceState, Task, TaskId};

/// A message, or a page of the list, whose generation is that of the state.
#[derive(Debug, Clone)]
enum Event {
    Send(Box<Message>),
    Load(Vec<Task>, bool),
    FailList(ReadFailure),
    /// A command is typed, from screen 2.
    Type(&'static str),
    /// A frame reaches the terminal.
    Draw,
}

fn event() -> impl Strategy<Value = Event> {
    let messages = prop_oneof![
        30 => any_key().prop_map(Message::Key),
        2 => "[yqc\n\r\u{1b}\u{301} 7]{0,6}".prop_map(Message::Paste),
        2 => (0_u16..200, 0_u16..60).prop_map(|(width, height)| Message::Resize { width, height }),
        1 => (0_usize..30, 0_usize..30).prop_map(|(rows, lines)| Message::Viewport(Viewport {
            list_rows: rows, detail_rows: rows, detail_lines: lines, overlay_rows: rows, overlay_lines: lines,
        })),
        3 => Just(Message::Tick),
        1 => Just(Message::Wake),
        2 => Just(Message::OverviewLoaded(overview())),
        2 => any_failure().prop_map(Message::OverviewFailed),
        3 => any_task().prop_map(|task| Message::DetailLoaded {
            id: task.id, read_at: clock(0), found: Some(history(task)),
        }),
        1 => (1_i64..12).prop_map(|id| Message::DetailLoaded { id: TaskId(id), read_at: clock(0), found: None }),
        1 => (1_i64..12, any_failure()).prop_map(|(id, failure)| Message::DetailFailed { id: TaskId(id), failure }),
        3 => any_local(),
        6 => any_instances().prop_map(Message::InstancesLoaded),
        4 => any_queues().prop_map(Message::QueuesLoaded),
        3 => (1_u64..5, any_queue_decided())
            .prop_map(|(request, result)| Message::QueueDecided { request: RequestId(request), result }),
        3 => (1_u64..5, any_stopped())
            .prop_map(|(request, result)| Message::StopAnswered { request: RequestId(request), result }),
        1 => any_stop().prop_map(|asked| Message::WorkersEnded(WorkersEnded {
            asked, left: vec![TaskId(1)], unanswered: Vec::new(), confirmed: Confirmed::No,
        })),
        5 => (1_u64..4, any_looked()).prop_map(|(look, result)| Message::Looked { look, result }),
        5 => (1_u64..6, any_chunk())
            .prop_map(|(request, result)| Message::ChunkDecided { request: RequestId(request), result }),
        4 => (1_u64..5, any_decided())
            .prop_map(|(request, result)| Message::Decided { request: RequestId(request), result }),
        2 => (1_u64..5, any_write_failure())
            .prop_map(|(request, failure)| Message::Submitted { request: RequestId(request), result: Err(failure) }),
        1 => (1_u64..5, any_task()).prop_map(|(request, task)| Message::Submitted {
            request: RequestId(request),
            result: Ok(Box::new(Submitted { task, created: true, resolved_from_unknown: false })),
        }),
        1 => (1_u64..5).prop_map(|request| Message::LinesSubmitted {
            request: RequestId(request), result: Ok(LinesReport { submitted: 1, known: 0, refused: 0, named: Vec::new() }),
        }),
        1 => prop::sample::select(vec![Signal::Terminate, Signal::Hangup, Signal::Interrupt])
            .prop_map(Message::Signal),
        2 => prop_oneof![
            (1_i64..12).prop_map(|id| Target::Task(TaskId(id))),
            (0_usize..4).prop_map(|at| Target::Screen(Screen::ALL[at])),
            (-9_i32..9).prop_map(Target::Wheel),
            Just(Target::Detail),
            Just(Target::Instance(3)),
            Just(Target::Queue(1)),
        ].prop_map(Message::Clicked),
        1 => Just(Message::Workers {
            events: vec![WorkerEvent::LeaseLost { id: TaskId(1) }], missed: 3,
        }),
    ];
    prop_oneof![
        20 => messages.prop_map(|message| Event::Send(Box::new(message))),
        5 => (prop::collection::vec(any_task(), 0..10), any::<bool>()).prop_map(|(tasks, more)| Event::Load(tasks, more)),
        1 => any_failure().prop_map(Event::FailList),
        4 => prop::sample::select(vec!["pause a", "resume a", "pause b x", "resume c", "pause"]).prop_map(Event::Type),
        8 => Just(Event::Draw),
    ]
}

fn messages(state: &State, event: Event) -> Vec<Message> {
    let generation = state.list.generation;
    match event {
        Event::Send(message) => vec![*message],
        Event::FailList(failure) => vec![Message::ListFailed { generation, failure }],
        Event::Draw => Vec::new(),
        Event::Type(text) => {
            let keys = "2:".chars().chain(text.chars()).map(Key::char).chain([Key::plain(KeyCode::Enter)]);
            keys.map(Message::Key).collect()
        }
        Event::Load(tasks, more) => {
            let mut page = page(tasks);
            page.rows.dedup_by_key(|row| row.id());
            page.next_before = page.rows.last().map(crate::domain::observed::Listed::id).filter(|_| more);
            vec![Message::ListLoaded { generation, page }]
        }
    }
}

/// What of each row a frame has shown.
#[derive(Default)]
struct Seen {
    versions: HashSet<(TaskId, i64)>,
    /// How often each instance had been asked to stop.
    instances: HashSet<SeenInstance>,
    /// The version of each queue; one that is not listed was never paused.
    queues: HashSet<(String, i64)>,
    /// What was marked with all others without ever having been on screen.
    unseen_marks: HashSet<(TaskId, i64)>,
}

impl Seen {
    /// A frame of this state is drawn.
    fn frame(&mut self, state: &State, frame: &Message) {
        let Message::Drawn(targets) = frame else { panic!("{frame:?}") };
        let read = state.instances.read.iter().flat_map(|read| read.value.iter().enumerate());
        let read = read.filter(|(at, _)| targets.contains(&Target::Instance(*at)));
        self.instances
            .extend(read.map(|(_, one)| SeenInstance { id: one.id, stop_version: one.stop_version }));
        let read = state.queues.read.iter().flat_map(|read| read.value.iter().enumerate());
        let read = read.filter(|(at, _)| targets.contains(&Target::Queue(*at)));
        self.queues.extend(read.map(|(_, queue)| (queue.name.clone(), queue.state.version)));
        let rows = state.list.rows.iter().filter_map(|row| row.task());
        let rows = rows.filter(|task| targets.contains(&Target::Task(task.id)));
        self.versions.extend(rows.chain(state.detail.task()).map(|task| (task.id, task.version)));
        if state.overlay() == Some(&Overlay::Conflict)
            && let Some(row) = state.conflicts.front().and_then(Conflict::row_under_cursor)
        {
            self.versions.insert((row.id, row.version));
        }
    }

    /// `A` also marks what is loaded and was never on screen; nothing else may get into a decision unseen.
    fn marked(&mut self, state: &State) {
        let never = |id| !self.versions.iter().any(|(seen, _)| *seen == id);
        let marks = state.list.marks.values().filter(|row| never(row.id));
        self.unseen_marks.extend(marks.map(|row| (row.id, row.version)));
    }

    fn holds(&self, row: (TaskId, i64)) -> bool {
        self.versions.contains(&row) || self.unseen_marks.contains(&row)
    }
}

/// Whether the end that was asked for has come, with something left that must be named.
fn settled(effect: &Effect, state: &State) -> bool {
    let stopped = state.local.as_ref().is_none_or(|read| read.value.state == InstanceState::Stopped);
    matches!(effect, Effect::Leave { .. }) && state.shutdown.is_some() && stopped && state.unanswered() == 0
}

/// Whether the message is the answer that the state before it waits for.
fn answers(before: &State, message: &Message, effect: &Effect) -> bool {
    let key = match message {
        Message::Key(key) => Some(key.normal()),
        _ => None,
    };
    match (effect, before.overlay()) {
        (Effect::Decide { kind, rows, tenant, .. }, Some(Overlay::Question(question))) => {
            key == Some(Key::char('y'))
                && question.kind == *kind
                && question.tenant == *tenant
                && question.rows.iter().all(|row| matches!(row.standing, Standing::Ready { .. }))
                && question
                    .rows
                    .iter()
                    .map(|row| (row.seen.id, row.seen.version))
                    .eq(rows.iter().map(|row| (row.id, row.version)))
        }
        (Effect::DecideChunk { matching, after, .. }, Some(Overlay::Bulk(question))) => {
            key == Some(Key::char('y'))
                && question.shown == Shown::Yes
                && question.preview().is_some_and(|found| found.matching == **matching)
                && after.is_none()
        }
        (Effect::DecideChunk { matching, after, .. }, _) => {
            let Message::ChunkDecided { request, result: Ok(chunk) } = message else { return false };
            before.bulk.run.as_ref().is_some_and(|run| {
                run.request == *request && run.stopping == Stopping::No && run.matching == **matching
            }) && chunk.next_after.is_some()
                && *after == chunk.next_after
        }
        (Effect::Stop { mode, instances, .. }, Some(Overlay::Stop(question))) => {
            let ready = question.rows.iter().filter(|row| row.standing == StopStanding::Ready);
            key == Some(Key::char('y'))
                && question.mode == *mode
                && ready.map(|row| row.seen).eq(instances.iter().copied())
        }
        (Effect::DecideQueue { act, queue, version, .. }, Some(Overlay::Queue(question))) => {
            key == Some(Key::char('y'))
                && question.standing == QueueStanding::Ready
                && (question.act, &question.queue, question.version) == (*act, queue, *version)
        }
        (Effect::Submit { text, .. }, Some(Overlay::Submit)) => {
            key == Some(Key::ctrl('s')) && before.submit.text.text() == *text
        }
        (Effect::SubmitSamples { .. }, Some(Overlay::FirstStart))
        | (Effect::SubmitLines { .. }, Some(Overlay::SubmitLines { .. })) => key == Some(Key::char('y')),
        (Effect::Shutdown(_) | Effect::Leave { .. }, overlay) => {
            matches!(message, Message::Signal(_))
                || key == Some(Key::ctrl('c'))
                || overlay == Some(&Overlay::Shutdown)
                || overlay == Some(&Overlay::Unsent)
                // With nothing in flight there is nothing to ask.
                || before.in_flight() == 0
        }
        _ => false,
    }
}

fn check(before: &State, message: &Message, effects: &[Effect], state: &State, drawn: &Seen) {
    for effect in effects {
        match effect {
            Effect::Decide { rows, .. } => {
                assert!(answers(before, message, effect), "{message:?} → {effect:?}");
                assert!(rows.iter().all(|row| drawn.holds((row.id, row.version))), "{effect:?}");
                assert!(rows.windows(2).all(|two| two[0].id < two[1].id), "ascending, distinct: {effect:?}");
            }
            Effect::DecideChunk { .. } => {
                assert!(answers(before, message, effect), "{message:?} → {effect:?}");
                assert!(before.session.access == Access::ReadWrite, "{effect:?}");
                assert!(state.bulk_runs() && before.shutdown.is_none(), "{effect:?}");
            }
            Effect::Stop { instances, .. } => {
                assert!(answers(before, message, effect), "{message:?} → {effect:?}");
                assert!(instances.iter().all(|seen| drawn.instances.contains(seen)), "{effect:?}");
                assert!(before.session.access == Access::ReadWrite, "{effect:?}");
            }
            Effect::DecideQueue { queue, version, .. } => {
                assert!(answers(before, message, effect), "{message:?} → {effect:?}");
                let seen = (queue.as_str().to_owned(), *version);
                assert!(*version == 0 || drawn.queues.contains(&seen), "{effect:?}");
                assert!(before.session.access == Access::ReadWrite, "{effect:?}");
            }
            Effect::Submit { .. }
            | Effect::SubmitLines { .. }
            | Effect::SubmitSamples { .. }
            | Effect::Shutdown(_)
            | Effect::Leave { .. } => {
                assert!(
                    answers(before, message, effect) || settled(effect, state),
                    "{message:?} → {effect:?}"
                );
            }
            Effect::Quit => {
                assert_eq!((state.in_flight(), state.unanswered()), (0, 0));
                let stopped =
                    state.local.as_ref().is_none_or(|read| read.value.state == InstanceState::Stopped);
                assert!(stopped);
            }
            _ => {}
        }
    }
    match state.list.cursor {
        Cursor::On { id } => assert!(state.list.position(id).is_some(), "{id}"),
        Cursor::Gone { id, at } => assert!(state.list.position(id).is_none() && at <= state.list.rows.len()),
        Cursor::None => {}
    }
    assert!(state.list.offset <= state.list.rows.len());
    assert!(!matches!(state.overlay(), Some(Overlay::Conflict)) || !state.conflicts.is_empty());
    assert!(!matches!(state.overlay(), Some(Overlay::BulkRun)) || state.bulk.run.is_some());
    assert!(state.list.all.is_none() || state.list.marks.is_empty());
    assert!(!matches!(state.overlay(), Some(Overlay::QueueConflict)) || !state.queue_conflicts.is_empty());
    assert!(!matches!(state.overlay(), Some(Overlay::StopConflict)) || !state.stop_conflicts.is_empty());
    let draw = || {
        (footer::footer(state), header::header(state), help::help(state), crate::app::shutdown::said(state))
    };
    assert_eq!(draw(), draw());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_breaks_and_nothing_is_written_unasked(
        first in any::<bool>(),
        events in prop::collection::vec((event(), 0_u64..700), 1..120),
    ) {
        let first_start = if first { FirstStart::Yes } else { FirstStart::No };
        let state = State::new(Setup { first_start, ..setup() });
        let mut console = Console { state, now: Duration::ZERO, line: Line::Stalled };
        let mut drawn = Seen::default();
        for (event, passed) in events {
            console.now += Duration::from_millis(passed);
            let before = console.state.clone();
            if matches!(event, Event::Draw) {
                let frame = console.frame();
                drawn.frame(&before, &frame);
                console.send(frame);
                continue;
            }
            for message in messages(&before, event) {
                let before = console.state.clone();
                let effects = console.send(message.clone());
                drawn.marked(&console.state);
                check(&before, &message, &effects, &console.state, &drawn);
                prop_assert!(!before.ended || effects.is_empty());
            }
        }
        // There is always a way out.
        let mut ended = console.state.ended;
        for key in std::iter::repeat_n(ESC, 12).chain([Key::char('q')]).chain([Key::ctrl('c'); 3]) {
            console.now += Duration::from_millis(500);
            let effects = console.send(Message::Key(key));
            ended |= effects.iter().any(|effect| matches!(effect, Effect::Quit | Effect::Leave { .. }));
        }
        prop_assert!(ended, "{:?} {:?}", console.state.shutdown, console.state.overlays);
    }
}
