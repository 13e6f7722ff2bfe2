//! One chunk after the other: progress, stop, trouble, sum, the way out.

use super::*;

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
