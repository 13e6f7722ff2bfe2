//! The question: what was drawn is what is asked, and only after `y`.

use super::*;

#[test]
fn d_asks_once_y_drains_and_only_the_row_says_that_it_does() {
    let mut console = on_web2();
    assert_eq!(console.press("d"), []);
    assert_eq!(question(&console).title(), "Drain web2:991?");
    let says = question(&console).says(&console.state).join("\n");
    for words in [
        "headless, started by carol, queues default",
        "working, runs 2 tasks now: 7 9",
        "claims nothing more",
        "--grace",
    ] {
        assert!(says.contains(words), "{words}: {says}");
    }
    assert_eq!(console.press("d"), [], "the act's key is no answer");
    assert_eq!(console.press("y"), [stop(1, StopMode::Drain, &[(WEB2, 0)], None)]);
    assert_eq!(console.state.beside_instance(id(WEB2)).as_deref(), Some("drain: asking…"));
    assert_eq!(console.press("d"), []);
    assert!(console.notice().contains("already asking web2:991"), "{}", console.notice());
    assert!(logged(&console, "asked to drain web2:991"));
    answer(&mut console, 1, vec![committed(WEB2)]);
    assert_eq!(console.notice(), "asked web2:991 to drain; its state tells when it does");
    assert_eq!(console.state.beside_instance(id(WEB2)), None);
    // Not before its own row says so.
    let row = console.state.instance_of(id(WEB2)).expect("listed");
    assert_eq!((row.state, console.state.asked_briefly(row)), (InstanceState::Working, None));
    let row = asked(StopMode::Drain, working(WEB2, "web2"));
    assert_eq!(
        console.state.asked_briefly(&row).expect("asked"),
        format!("drain not seen yet, by bob {} s ago", 4 + console.now.as_secs())
    );
    let row = Instance { state: InstanceState::Draining, ..row };
    assert!(console.state.asked_briefly(&row).expect("asked").starts_with("by bob "));
}

#[test]
fn n_and_esc_keep_it() {
    for key in ["n", "esc"] {
        let mut console = on_web2();
        console.press("d");
        assert_eq!(console.press(key), []);
        assert!(console.state.overlays.is_empty() && console.state.acts.stops.is_empty());
    }
}

#[test]
fn c_makes_it_a_cancel_and_y_asks_for_what_the_question_names() {
    let mut console = on_web2();
    console.press("d c");
    assert_eq!(question(&console).title(), "Cancel what web2:991 runs?");
    let says = question(&console).says(&console.state).join("\n");
    assert!(
        says.contains("what it runs is asked to stop") && says.contains("requeue brings it back"),
        "{says}"
    );
    assert_eq!(console.press("d c i h i enter y"), [stop(1, StopMode::Cancel, &[(WEB2, 0)], Some("hi"))]);
}

#[test]
fn an_instance_that_somebody_asks_while_the_question_stands_is_not_asked() {
    let mut console = on_web2();
    console.press("d");
    let moved = asked(StopMode::Drain, working(WEB2, "web2"));
    console.send(Message::InstancesLoaded(vec![moved, working(WEB3, "web3")]));
    assert!(matches!(question(&console).rows[0].standing, StopStanding::Moved { .. }));
    let says = question(&console).says(&console.state).join("\n");
    assert!(says.contains("Not possible: bob asked it to drain"), "{says}");
    assert_eq!(console.press("y"), []);
    assert!(console.notice().contains("nothing was sent"), "{}", console.notice());
    // A cancel is as stale.
    assert_eq!(console.press("c y"), []);

    let mut console = on_web2();
    console.press("d");
    console.send(Message::InstancesLoaded(vec![process(WEB2, "web2", InstanceState::Stopped)]));
    assert_eq!(console.press("y"), []);
    assert!(console.notice().contains("has stopped"), "{}", console.notice());
    console.send(Message::InstancesLoaded(vec![working(WEB3, "web3")]));
    assert_eq!(question(&console).rows[0].standing, StopStanding::Gone);
    assert_eq!(console.press("y"), []);
}

#[test]
fn what_arrived_after_the_last_frame_was_not_seen() {
    let mut console = on_web2();
    console.line = Line::Stalled;
    console.send(Message::InstancesLoaded(vec![asked(StopMode::Drain, working(WEB2, "web2"))]));
    assert_eq!(console.press("d y c y"), []);
    assert_eq!(question(&console).rows[0].seen.stop_version, 0);
    console.press("esc");
    console.send(Message::InstancesLoaded(vec![working(8, "web8")]));
    console.press("g d");
    assert_eq!(console.notice(), "web8:991 has not been on screen yet: look at it, then act");
}

#[test]
fn one_that_was_asked_to_drain_can_be_asked_to_cancel_and_nothing_more() {
    let drains = asked(StopMode::Drain, process(WEB2, "web2", InstanceState::Draining));
    let mut console = Console::fleet(vec![drains]);
    console.press("d");
    // A hand that is used to `d y` changes nothing.
    assert_eq!(console.press("y"), []);
    assert!(console.notice().contains("bob asked it to drain"), "{}", console.notice());
    assert_eq!(console.press("c y"), [stop(1, StopMode::Cancel, &[(WEB2, 1)], None)]);
    let cancels = asked(StopMode::Cancel, process(WEB2, "web2", InstanceState::Canceling));
    let mut console = Console::fleet(vec![cancels]);
    console.press("d");
    assert!(console.notice().contains("more cannot be asked"), "{}", console.notice());
}

#[test]
fn where_nothing_can_be_asked_the_footer_has_no_d_and_the_key_says_why() {
    let shown =
        |console: &Console| footer(&console.state).iter().any(|item| item.action == Action::DrainInstance);
    for (state, why) in [
        (InstanceState::Watching, "web2:991 only watches"),
        (InstanceState::Stopped, "web2:991 has stopped"),
        (InstanceState::Lost, "web2:991 is lost"),
        (InstanceState::Canceling, "what it runs was asked to stop already"),
    ] {
        let mut console = Console::fleet(vec![process(WEB2, "web2", state)]);
        assert!(!shown(&console), "{state:?}");
        assert_eq!(console.press("d"), []);
        assert!(console.notice().contains(why), "{}", console.notice());
        assert!(console.state.overlays.is_empty());
    }
    let mut console = Console::fleet(vec![process(HERE, "ops1", InstanceState::Watching)]);
    console.press("d");
    assert!(console.notice().contains("this process only watches"), "{}", console.notice());
    assert!(shown(&on_web2()) && shown(&Console::fleet(vec![working(HERE, "ops1")])));
    console.press("1 d");
    assert_eq!(console.notice(), "drain: d is for an instance on screen 2");
}

#[test]
fn a_read_only_session_asks_nobody_and_says_why() {
    let mut console = on_web2();
    console.state.session.access = Access::ReadOnly { reason: "started with --read-only".into() };
    for keys in ["d", ": s t o p space - - a l l enter"] {
        assert_eq!(console.press(keys), []);
        assert!(console.notice().contains("read-only: started with --read-only"), "{}", console.notice());
        assert!(console.state.overlays.is_empty());
    }
}
