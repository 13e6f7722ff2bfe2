//! What the database answered, and what is not known yet.

use super::*;

#[test]
fn a_refusal_is_kept_until_everything_is_read_again() {
    let mut console = on_web2();
    console.press("d y");
    let message = "permission denied for table instances".to_owned();
    fail(&mut console, WriteFailure::Refused { message, hint: None });
    assert!(console.notice().contains("refused, nothing was changed"), "{}", console.notice());
    console.press("d");
    assert_eq!(console.notice(), "drain: permission denied for table instances");
    console.press("ctrl-r d");
    assert_eq!(question(&console).title(), "Drain web2:991?");
}

#[test]
fn somebody_got_there_first() {
    let mut console = on_web2();
    console.press("d y");
    let at = console.now.as_secs().cast_signed() - 3;
    let instance = stopping(WEB2, InstanceState::Working, 1, Some(by_bob(StopMode::Drain, at)));
    answer(&mut console, 1, vec![(id(WEB2), StopVerdict::Conflict { instance })]);
    assert_eq!(console.state.overlay(), Some(&Overlay::StopConflict));
    let conflict = &console.state.stop_conflicts[0];
    assert_eq!(conflict.title(), "Nothing was changed");
    assert_eq!(
        conflict.rows[0].lines(&console.state, StopMode::Drain),
        [
            "You asked web2:991 to drain.",
            "bob asked it to drain 3 s ago: \"kernel\". Nothing was changed.",
            "It is now working; it has not seen that yet.",
        ]
    );
    assert!(logged(&console, "drain web2:991: not asked. You asked"));
    assert_eq!(console.press("y"), [], "it takes no answer");
    console.press("enter");
    assert_eq!((console.state.overlays.len(), console.state.screen), (0, Screen::Workers));

    for (state, why) in [
        (InstanceState::Stopped, "It has stopped meanwhile"),
        (InstanceState::Lost, "It was declared lost meanwhile"),
        (InstanceState::Watching, "It only watches"),
    ] {
        let mut console = on_web2();
        console.press("d y");
        let verdict = StopVerdict::Conflict { instance: stopping(WEB2, state, 0, None) };
        answer(&mut console, 1, vec![(id(WEB2), verdict)]);
        let lines = console.state.stop_conflicts[0].rows[0].lines(&console.state, StopMode::Drain);
        assert!(lines[1].starts_with(why), "{lines:?}");
        assert!(logged(&console, why));
    }
    let mut console = on_web2();
    console.press("d y");
    answer(&mut console, 1, vec![(id(WEB2), StopVerdict::NotFound)]);
    let lines = console.state.stop_conflicts[0].rows[0].lines(&console.state, StopMode::Drain);
    assert_eq!(lines[1], "There is no such instance any more.");
}

#[test]
fn an_unknown_outcome_is_shown_as_such_until_it_is_known() {
    let mut console = on_web2();
    console.press("d y");
    fail(&mut console, WriteFailure::Unknown { message: "the reply was lost".into() });
    let beside = console.state.beside_instance(id(WEB2));
    assert_eq!(beside.as_deref(), Some("drain: outcome unknown, checking…"));
    assert_eq!(console.state.unanswered(), 1);
    let mut resolved = Console { state: console.state.clone(), ..console };
    let result = Ok(StopAnswer {
        mode: StopMode::Drain,
        instances: vec![committed(WEB2)],
        resolved_from_unknown: true,
        retries: 0,
    });
    resolved.send(Message::StopAnswered { request: RequestId(1), result });
    assert!(resolved.notice().contains("(confirmed after a lost answer)"), "{}", resolved.notice());

    fail(&mut console, WriteFailure::Unresolved { message: "no answer in 30 s".into(), hint: None });
    assert_eq!(console.state.acts.stops[0].phase, Phase::Unresolved);
    assert!(console.notice().contains("look at its row on screen 2"), "{}", console.notice());
    console.send(Message::InstancesLoaded(vec![working(WEB2, "web2")]));
    let beside = console.state.beside_instance(id(WEB2));
    assert_eq!(beside.as_deref(), Some("drain: outcome not known"), "its row has not moved");
    console.send(Message::InstancesLoaded(vec![asked(StopMode::Drain, working(WEB2, "web2"))]));
    assert_eq!(console.state.beside_instance(id(WEB2)), None, "the row tells now");
}

#[test]
fn an_instance_without_a_lease_may_obey_nobody() {
    let mut console = on_web2();
    let silent = Instance { lease_left_s: -4.0, ..working(WEB2, "web2") };
    console.send(Message::InstancesLoaded(vec![silent]));
    console.press("d");
    let says = question(&console).says(&console.state).join("\n");
    assert!(says.contains("Its lease has passed"), "{says}");
    console.press("y");
    let instance = Stopping { lease_past: true, ..stopping(WEB2, InstanceState::Working, 1, None) };
    answer(&mut console, 1, vec![(id(WEB2), StopVerdict::Committed { instance })]);
    assert!(console.notice().contains("web2:991 may be dead and obey nobody"), "{}", console.notice());
}
