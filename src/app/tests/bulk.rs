//! Decisions about all that match: marked, counted, asked about as counted, sent chunk by chunk, stopped, told.

use super::super::testing::{Console, Line, change, clock, local, overview, page, reads, task};
use crate::app::bulk::{BulkEnd, BulkQuestion, BulkRun, Found, Phase, Stopping};
use crate::app::keys::Key;
use crate::app::list::MOST;
use crate::app::message::{Broken, FailureCause, Message, ReadFailure, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::question::Ask as _;
use crate::app::state::Access;
use crate::app::{Effect, Read, RequestId};
use crate::domain::bulk::{Chunk, Count, Left, Matching, Preview, Uncertain};
use crate::domain::observed::{Filter, Page};
use crate::domain::outcome::Verdict;
use crate::domain::{DecisionKind, InstanceState, Seen, Status, Task, TaskId};

fn failed(id: i64) -> Task {
    Task { status: Status::Failed, version: 3, ..task(id) }
}

fn with_more(ids: std::ops::RangeInclusive<i64>) -> Page {
    let first = TaskId(*ids.start());
    Page { next_before: Some(first), ..page(ids.map(failed)) }
}

fn preview(kind: DecisionKind, ready: &[(Status, i64)]) -> Preview {
    let matching = Matching { kind, filter: Filter::default(), created_before: None, up_to: TaskId(20_000) };
    Preview {
        matching,
        ready: ready.iter().copied().collect(),
        complete: true,
        left_out: [(Status::Succeeded, Count { rows: 9_000, complete: true })].into(),
        looked_at: 30_000,
        read_at: clock(0),
    }
}

fn failures() -> Preview {
    let found = preview(DecisionKind::Requeue, &[(Status::Failed, 12_000), (Status::Canceled, 345)]);
    Preview { left_out: [].into(), ..found }
}

/// A console on which all that match are marked and not counted yet.
fn marked() -> Console {
    let mut console = Console::with(with_more(901..=1_000));
    console.press("A");
    console.load(with_more(501..=1_000));
    assert!(console.state.list.all.is_some(), "{}", console.notice());
    console
}

/// The same, counted.
fn counted() -> Console {
    let mut console = marked();
    console.send(Message::Looked { look: 1, result: Ok(failures()) });
    console
}

/// The same, with the first chunk under way.
fn running() -> Console {
    let mut console = counted();
    assert_eq!(console.press("r y").len(), 1);
    console
}

fn question(console: &Console) -> &BulkQuestion {
    match console.state.overlay() {
        Some(Overlay::Bulk(question)) => question,
        other => panic!("no question: {other:?}, {}", console.notice()),
    }
}

fn run(console: &Console) -> &BulkRun {
    console.state.bulk.run.as_ref().expect("a run")
}

fn sent(request: u64, preview: &Preview, reason: Option<&str>, after: Option<i64>) -> Effect {
    Effect::DecideChunk {
        request: RequestId(request),
        matching: Box::new(preview.matching.clone()),
        reason: reason.map(str::to_owned),
        after: after.map(TaskId),
    }
}

fn answer(console: &mut Console, request: u64, chunk: Chunk) -> Vec<Effect> {
    let result = Ok(chunk);
    let mut effects = console.send(Message::ChunkDecided { request: RequestId(request), result });
    effects.retain(|effect| !matches!(effect, Effect::Read(_)));
    effects
}

fn fail(
    console: &mut Console,
    failure: WriteFailure,
    chunk: Chunk,
    uncertain: Option<Uncertain>,
) -> Vec<Effect> {
    let result = Err(Box::new(Broken { chunk, failure, uncertain }));
    let mut effects = console.send(Message::ChunkDecided { request: RequestId(1), result });
    effects.retain(|effect| !matches!(effect, Effect::Read(_)));
    effects
}

fn chunk(committed: i64, next_after: Option<i64>) -> Chunk {
    Chunk { committed, looked_at: committed, next_after: next_after.map(TaskId), ..Chunk::default() }
}

fn moved(id: i64) -> Left {
    let task = Task { status: Status::Canceled, version: 4, ..failed(id) };
    let verdict = Verdict::Conflict { task, last: Some(change("bob", "cancel", 4, None)) };
    Left { seen: Seen { id: TaskId(id), version: 3 }, verdict }
}

fn logged(console: &Console, text: &str) -> bool {
    console.state.log.entries.iter().any(|entry| entry.text.contains(text))
}

#[test]
fn where_more_match_than_can_be_loaded_all_that_match_are_marked_and_counted_at_once() {
    let mut console = Console::with(with_more(901..=1_000));
    console.press("A");
    assert_eq!(console.state.list.limit, MOST);
    let effects = console.load(with_more(501..=1_000));
    let look = Read::Matching { look: 1, kind: DecisionKind::Requeue, filter: Filter::default() };
    assert!(reads(&effects).contains(&&look), "{effects:?}");
    assert!(console.state.list.marks.is_empty(), "not by row: that would be a part of them");
    assert_eq!(console.state.all_marked().as_deref(), Some("all that match"));
    console.send(Message::Looked { look: 1, result: Ok(failures()) });
    assert_eq!(console.notice(), "12,345 match and are marked: 12,000 FAILED, 345 CANCELED");
    console.now += std::time::Duration::from_secs(3);
    console.send(Message::Tick);
    assert_eq!(console.state.all_marked().as_deref(), Some("all 12,345 that match (3 s ago)"));
    // No single row is marked beside them, and Esc takes the whole of it back.
    console.press("space");
    assert!(console.state.list.marks.is_empty() && console.notice().contains("all that match are marked"));
    console.press("esc");
    assert_eq!(console.state.list.all, None);
}

#[test]
fn what_was_not_looked_at_to_the_end_is_at_least() {
    let mut console = marked();
    let found = Preview { complete: false, ..failures() };
    console.send(Message::Looked { look: 1, result: Ok(found) });
    assert_eq!(
        console.notice(),
        "at least 12,345 match and are marked: at least 12,000 FAILED, at least 345 CANCELED"
    );
    console.press("r");
    assert_eq!(question(&console).title(), "Requeue all that match, at least 12,345?");
    assert!(question(&console).says(&console.state)[0].starts_with("There may be more: 30,000 rows"));
    assert_eq!(console.press("y").len(), 1);
}

#[test]
fn another_filter_ends_the_mark_and_says_so() {
    let mut console = marked();
    console.press("f 5 enter");
    assert_eq!(console.state.list.all, None);
    assert!(console.notice().starts_with("the mark on all that match is gone"), "{}", console.notice());
    // What the look before finds is nobody's any more.
    console.send(Message::Looked { look: 1, result: Ok(failures()) });
    assert_eq!(console.state.list.all, None);
    assert!(!console.notice().contains("12,345"), "{}", console.notice());
}

#[test]
fn an_act_waits_until_what_is_to_be_marked_is_loaded() {
    let mut console = Console::with(with_more(901..=1_000));
    console.press("A r");
    assert!(console.state.overlays.is_empty());
    assert!(console.notice().contains("still being loaded to be marked"), "{}", console.notice());
    console.load(page((701..=1_000).map(failed)));
    console.press("r");
    assert!(
        matches!(console.state.overlay(), Some(Overlay::Question(question)) if question.rows.len() == 300)
    );

    // Also where not even the first rows of another filter are there.
    let mut console = Console::with(page((1..=5).map(failed)));
    console.press("f 5 enter A r");
    assert!(console.state.overlays.is_empty() && console.state.list.marks.is_empty());
    console.load(page((1..=4).map(failed)));
    assert_eq!(console.notice(), "4 marked; these are all that match");
}

#[test]
fn the_question_says_how_many_what_becomes_of_them_and_what_is_left_and_y_sends_that() {
    let mut console = marked();
    let found = preview(DecisionKind::Requeue, &[(Status::Failed, 12_000), (Status::Canceled, 345)]);
    console.send(Message::Looked { look: 1, result: Ok(found.clone()) });
    assert_eq!(console.press("r"), []);
    let asked = question(&console);
    assert_eq!(
        (asked.title().as_str(), asked.yes().as_str()),
        ("Requeue all 12,345 that match?", "requeue all 12,345")
    );
    let lines: Vec<String> =
        asked.lines().iter().map(|line| format!("{} {} {}", line.count, line.status, line.says)).collect();
    assert_eq!(
        lines,
        [
            "12,000 FAILED will be QUEUED, no attempt spent",
            "345 CANCELED will be QUEUED, no attempt spent",
            "9,000 SUCCEEDED left: requeue is not for SUCCEEDED",
        ]
    );
    let says = asked.says(&console.state);
    let chunks =
        "In chunks of at most 500, each all or none; what moves on meanwhile is left as it is and counted.";
    assert_eq!(says, ["Counted 0 s ago; what was submitted since is not touched.", chunks]);
    assert_eq!(console.press("i h i enter"), []);
    assert_eq!(console.press("y"), [sent(1, &found, Some("hi"), None)]);
    assert_eq!(console.state.overlay(), Some(&Overlay::BulkRun));
    assert_eq!(console.state.list.all, None, "they are decided about once");
    assert!(logged(&console, "asked to requeue all that match: no filter"));
}

#[test]
fn a_decision_that_was_not_counted_is_counted_first_and_only_what_was_shown_is_agreed_to() {
    let mut console = counted();
    console.press("c");
    assert_eq!(question(&console).found, Found::Looking);
    assert_eq!(console.press("y"), []);
    assert!(console.notice().contains("still counting"), "{}", console.notice());
    // The first look is not this one's.
    console.send(Message::Looked { look: 1, result: Ok(failures()) });
    assert_eq!(question(&console).found, Found::Looking);
    let found = preview(DecisionKind::Cancel, &[(Status::Queued, 7)]);
    console.line = Line::Stalled;
    console.send(Message::Looked { look: 2, result: Ok(found.clone()) });
    assert_eq!(console.press("y"), [], "no frame has shown it");
    assert!(console.notice().contains("only just come"), "{}", console.notice());
    console.line = Line::Open;
    console.send(Message::Tick);
    assert_eq!(console.press("y"), [sent(1, &found, None, None)]);
}

#[test]
fn a_count_that_is_old_is_made_anew_and_what_failed_too() {
    let mut console = counted();
    console.now += std::time::Duration::from_secs(60);
    console.press("r");
    assert_eq!(question(&console).found, Found::Looking);

    let mut console = marked();
    let failure = ReadFailure { cause: FailureCause::Refused, message: "took too long".into(), hint: None };
    console.send(Message::Looked { look: 1, result: Err(failure.clone()) });
    assert!(console.notice().contains("could not be read: took too long"), "{}", console.notice());
    console.press("r");
    assert_eq!(question(&console).found, Found::Looking);
    console.send(Message::Looked { look: 2, result: Err(failure) });
    assert_eq!(console.press("y"), []);
    assert!(
        console.notice().contains("nothing was sent; not possible: could not be counted"),
        "{}",
        console.notice()
    );
}

#[test]
fn what_is_for_none_of_them_or_not_allowed_is_not_asked_or_not_sent() {
    let mut console = marked();
    console.send(Message::Looked { look: 1, result: Ok(preview(DecisionKind::Requeue, &[])) });
    console.press("r");
    assert_eq!(question(&console).blocked().as_deref(), Some("not possible: none of them can be requeued"));
    assert_eq!(console.press("y"), []);

    let mut console = marked();
    console.state.list.filter.statuses = vec![Status::Succeeded];
    console.press("r");
    assert!(console.state.overlays.is_empty());
    assert!(console.notice().contains("requeue is for FAILED, CANCELED, REJECTED"), "{}", console.notice());

    let mut console = counted();
    console.state.session.access = Access::ReadOnly { reason: "started with --read-only".into() };
    console.press("r");
    assert!(console.state.overlays.is_empty() && console.notice().contains("read-only"));

    let mut console = counted();
    console.press("r");
    console.state.session.decide_denied = Some("the role viewer may not change tasks".into());
    assert_eq!(console.press("y"), []);
    assert_eq!(console.notice(), "the role viewer may not change tasks");
}

#[test]
fn one_chunk_follows_the_other_until_all_were_looked_at_and_the_sum_is_told() {
    let mut console = running();
    assert_eq!(answer(&mut console, 7, chunk(9, None)), [], "an answer to nothing");
    assert_eq!(answer(&mut console, 1, chunk(500, Some(600))), [sent(2, &failures(), None, Some(600))]);
    assert_eq!(answer(&mut console, 1, chunk(500, Some(600))), [], "the same answer twice");
    assert_eq!(run(&console).progress(), "500 of about 12,345 requeued");
    let left = Chunk { left: vec![moved(700)], retries: 1, ..chunk(499, Some(1_100)) };
    assert_eq!(answer(&mut console, 2, left), [sent(3, &failures(), None, Some(1_100))]);
    assert_eq!(answer(&mut console, 3, chunk(11, None)), []);
    assert!(matches!(run(&console).phase, Phase::Ended { end: BulkEnd::Done, .. }));
    assert_eq!(run(&console).title(), "Done: 1,010 requeued");
    let told = "requeue all that match: 1,010 requeued; 1 was left as it is: 1 moved on; decided again once after a deadlock";
    assert!(console.notice().starts_with(told), "{}", console.notice());
    assert!(logged(&console, told));
    assert!(logged(
        &console,
        "left as it is: 700: bob canceled it 2 s ago (v3 → v4). It is now CANCELED, v4."
    ));
    assert_eq!(console.press("enter"), []);
    assert!(console.state.overlays.is_empty() && console.state.bulk.run.is_none());
}

#[test]
fn esc_stops_after_the_chunk_under_way_and_nothing_is_sent_after_it() {
    for key in ["esc", "n"] {
        let mut console = running();
        assert_eq!(console.press(key), []);
        assert_eq!(run(&console).stopping, Stopping::Yes);
        assert_eq!(console.state.overlay(), Some(&Overlay::BulkRun), "it is shown until it has ended");
        console.press(key);
        assert_eq!(answer(&mut console, 1, chunk(500, Some(600))), []);
        assert_eq!(run(&console).title(), "Stopped: 500 requeued, the rest as it was");
        assert!(console.notice().contains("You stopped it"), "{}", console.notice());
        console.press("esc");
        assert!(console.state.overlays.is_empty());
    }
    // Other keys do nothing while it runs, but help.
    let mut console = running();
    assert_eq!(console.press("y enter r q"), []);
    assert_eq!((run(&console).stopping, console.state.shutdown), (Stopping::No, None));
}

#[test]
fn the_rest_of_the_console_goes_on_while_it_runs() {
    let mut console = running();
    console.send(Message::OverviewLoaded(overview()));
    console.load(with_more(501..=1_000));
    console.now += std::time::Duration::from_secs(5);
    let effects = console.send(Message::Tick);
    assert!(reads(&effects).iter().any(|read| matches!(read, Read::Overview)), "{effects:?}");
    assert!(reads(&effects).iter().any(|read| matches!(read, Read::List { .. })), "{effects:?}");
}

#[test]
fn a_chunk_that_was_not_applied_ends_it_with_what_was_done_before() {
    let mut console = running();
    let failure = WriteFailure::Unavailable { message: "connection refused".into(), hint: None };
    assert_eq!(fail(&mut console, failure, chunk(120, Some(620)), None), []);
    assert_eq!(run(&console).title(), "Broken off: 120 requeued, the rest as it was");
    assert!(console.notice().contains("was not applied: connection refused"), "{}", console.notice());
    assert_eq!(console.state.bulk.unresolved, 0);

    let mut console = running();
    let failure = WriteFailure::Refused { message: "the role viewer may not".into(), hint: None };
    assert_eq!(fail(&mut console, failure, Chunk::default(), None), []);
    assert_eq!(console.state.decide_denied().as_deref(), Some("the role viewer may not"));
}

#[test]
fn a_chunk_whose_outcome_is_unknown_names_its_rows_and_nothing_after_it_is_sent() {
    let mut console = running();
    let lost = WriteFailure::Unknown { message: "the reply was lost".into() };
    assert_eq!(fail(&mut console, lost, Chunk::default(), None), []);
    assert_eq!(run(&console).phase, Phase::Unknown);
    let mut resolved = Console { state: console.state.clone(), ..console };
    let found = Chunk { resolved_from_unknown: true, ..chunk(500, None) };
    assert_eq!(answer(&mut resolved, 1, found), []);
    assert!(resolved.notice().contains("an answer was lost and then found out"), "{}", resolved.notice());

    let rows = Some(Uncertain { from: TaskId(501), to: TaskId(1_000), rows: 480 });
    let gone = WriteFailure::Unresolved { message: "no answer in 30 s".into(), hint: None };
    assert_eq!(fail(&mut console, gone, Chunk::default(), rows), []);
    assert_eq!(run(&console).title(), "Outcome unknown for 480 tasks");
    let why = run(&console).why_ended().expect("a reason");
    assert!(why.starts_with("Outcome unknown for ids 501..1000 (480 tasks, all of them or none)"), "{why}");
    assert!(why.contains("nothing after them was sent"), "{why}");
    // The end of the process does not pass over it.
    console.send(Message::Local(local(InstanceState::Stopped, &[])));
    console.press("enter");
    let effects = console.press("q");
    assert!(
        !effects.iter().any(|effect| matches!(effect, Effect::Farewell { .. })),
        "that was read: {effects:?}"
    );
    assert_eq!(effects.last(), Some(&Effect::Leave { tasks: Vec::new(), unanswered: 1 }), "{effects:?}");
}

#[test]
fn whoever_ends_the_process_meanwhile_is_told_the_sum_on_the_way_out() {
    let mut console = running();
    console.send(Message::Local(local(InstanceState::Stopped, &[])));
    let effects = console.press("ctrl-c");
    assert!(
        !effects.iter().any(|effect| matches!(effect, Effect::Quit | Effect::Leave { .. })),
        "{effects:?}"
    );
    assert_eq!(run(&console).stopping, Stopping::Yes);
    let said = crate::app::shutdown::said(&console.state).expect("an end");
    assert_eq!(said.bulk.as_deref(), Some("0 of about 12,345 requeued; it stops after the chunk under way."));
    assert_eq!(said.unanswered, None, "it is told once");
    let effects = answer(&mut console, 1, chunk(500, Some(600)));
    let [Effect::Farewell { text }, Effect::Quit] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.starts_with("requeue all that match: 500 requeued"), "{text}");

    // Who leaves at once leaves a chunk without its answer, and is told so.
    let mut console = running();
    console.send(Message::Local(local(InstanceState::Working, &[3])));
    answer(&mut console, 1, chunk(500, Some(600)));
    console.press("ctrl-c ctrl-c");
    let effects = console.press("ctrl-c");
    let [Effect::Farewell { text }, Effect::Leave { tasks, unanswered: 1 }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(text.contains("500 requeued; the chunk under way behind task 600 has no answer yet"), "{text}");
    assert_eq!(*tasks, [TaskId(3)]);
}

#[test]
fn a_verb_with_all_asks_about_all_that_match() {
    let mut console = Console::with(page((1..=5).map(failed)));
    let mut effects = Vec::new();
    for c in ":requeue --all".chars() {
        effects.extend(console.send(Message::Key(Key::char(c))));
    }
    effects.extend(console.send(Message::Key("enter".parse().expect("a key"))));
    let look = Read::Matching { look: 1, kind: DecisionKind::Requeue, filter: Filter::default() };
    assert!(reads(&effects).contains(&&look), "{effects:?}");
    assert_eq!(question(&console).title(), "Requeue all that match?");
    console.send(Message::Looked { look: 1, result: Ok(failures()) });
    assert_eq!(console.press("y"), [sent(1, &failures(), None, None)]);

    let mut console = Console::with(page((1..=5).map(failed)));
    console.press("3 : r e q u e u e space - - a l l enter");
    assert!(console.state.overlays.is_empty() && console.notice().contains("Look, then ask again"));
}
