//! This console's own workers are asked.

use super::*;

/// This process's workers as they are, asked by bob.
fn local_asked(state: InstanceState, running: &[i64], mode: StopMode) -> Message {
    Message::Local(LocalWorkers { asked_to_stop: Some(by_bob(mode, -4)), ..local(state, running) })
}

#[test]
fn this_process_says_who_asked_its_workers_to_stop_and_goes_on_watching() {
    let mut console = Console::fleet(vec![Instance { kind: "console".into(), ..working(HERE, "ops1") }]);
    console.press("d");
    assert_eq!(question(&console).title(), "Drain this process?");
    let says = question(&console).says(&console.state).join("\n");
    assert!(says.contains("the console stays and only watches"), "{says}");
    console.press("esc 1");
    let event =
        WorkerEvent::AskedToStop { mode: StopMode::Drain, by: "bob".into(), reason: Some("kernel".into()) };
    console.send(Message::Workers { events: vec![event], missed: 0 });
    assert_eq!(console.notice(), "bob asked this process to drain: \"kernel\"");
    console.send(local_asked(InstanceState::Draining, &[7], StopMode::Drain));
    let above = header::header(&console.state);
    assert_eq!(
        (above.workers.as_str(), above.workers_asked.as_deref()),
        ("draining 1/2", Some("asked by bob"))
    );

    let ended = |left: Vec<TaskId>| {
        Message::WorkersEnded(WorkersEnded {
            asked: Some(by_bob(StopMode::Drain, -4)),
            left,
            unanswered: vec![],
            confirmed: Confirmed::Yes,
        })
    };
    console.send(ended(vec![]));
    assert_eq!(
        console.notice(),
        "the workers of this process have stopped, as bob asked; this console only watches now"
    );
    console.send(Message::Local(LocalWorkers { instance: id(77), ..local(InstanceState::Watching, &[]) }));
    let above = header::header(&console.state);
    assert_eq!(
        (above.workers.as_str(), above.workers_asked.as_deref()),
        ("watching", Some("stopped by bob"))
    );
    assert!(!console.state.ended && console.state.shutdown.is_none());
    // What takes their place ends with the process, and only then is it over.
    assert_eq!(console.press("q"), [Effect::Shutdown(ShutdownMode::Drain)]);
    let effects = console.send(Message::Local(local(InstanceState::Stopped, &[])));
    assert!(effects.contains(&Effect::Quit), "{effects:?}");

    let mut console = Console::fleet(vec![]);
    console.send(ended(vec![TaskId(7)]));
    assert!(console.notice().ends_with("left RUNNING until their lease passes: 7"), "{}", console.notice());
    assert!(console.notice().contains("have ended, as bob asked"), "{}", console.notice());
    let well = WorkersEnded { asked: None, left: vec![], unanswered: vec![], confirmed: Confirmed::Yes };
    console.send(Message::WorkersEnded(well));
    assert!(console.notice().contains("have ended unasked"), "{}", console.notice());
}

#[test]
fn an_end_that_the_database_did_not_confirm_is_not_called_one() {
    let unconfirmed = WorkersEnded {
        asked: Some(by_bob(StopMode::Drain, -4)),
        left: vec![],
        unanswered: vec![],
        confirmed: Confirmed::No,
    };
    let mut console = Console::fleet(vec![]);
    console.send(Message::WorkersEnded(unconfirmed.clone()));
    let said = console.notice();
    assert!(said.contains("have ended, as bob asked") && !said.contains("have stopped"), "{said}");
    assert!(said.contains("the database did not confirm it"), "{said}");
    assert_eq!(console.state.notice.as_ref().map(|notice| notice.level), Some(Level::Error));
    console.send(Message::Local(LocalWorkers { instance: id(77), ..local(InstanceState::Watching, &[]) }));
    let above = header::header(&console.state);
    assert_eq!(above.workers_asked.as_deref(), Some("ended, not confirmed, asked by bob"));

    let unanswered = WorkersEnded { unanswered: vec![TaskId(7)], confirmed: Confirmed::Yes, ..unconfirmed };
    console.send(Message::WorkersEnded(unanswered));
    let said = console.notice();
    assert!(said.contains("no answer told whether the end of these has arrived: 7"), "{said}");
    assert!(!said.contains("have stopped"), "{said}");
}

#[test]
fn an_end_of_the_process_during_a_drain_by_request_says_who_asked_and_works() {
    let mut console = Console::fleet(vec![]);
    console.send(local_asked(InstanceState::Draining, &[7], StopMode::Drain));
    assert_eq!(console.press("q"), []);
    let asked = said(&console.state).expect("an end").asked.expect("who asked");
    assert!(asked.starts_with("bob asked these workers to drain "), "{asked}");
    assert_eq!(console.press("d"), [Effect::Shutdown(ShutdownMode::Drain)]);
    let progress = said(&console.state).expect("an end").progress.expect("progress").1;
    assert_eq!(progress, "1 left   waiting 00:00", "its grace time began before");
    let effects = console.send(local_asked(InstanceState::Stopped, &[], StopMode::Drain));
    assert!(effects.contains(&Effect::Quit), "{effects:?}");

    let mut console = Console::fleet(vec![]);
    console.send(local_asked(InstanceState::Canceling, &[7], StopMode::Cancel));
    console.press("q d");
    assert!(logged(&console, "bob asked for it"), "{:?}", console.state.log.entries);
}
