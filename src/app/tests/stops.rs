//! Instances are asked to stop once, as they were seen, and only their own rows say that they do.

use super::super::testing::{Console, Line, asked, clock, local, process};
use crate::app::acts::Phase;
use crate::app::footer::footer;
use crate::app::keys::Action;
use crate::app::message::{Message, WorkerEvent, WorkersEnded, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::shutdown::said;
use crate::app::state::{Access, Screen};
use crate::app::stop::{StopQuestion, StopStanding};
use crate::app::{Effect, RequestId, ShutdownMode, header};
use crate::domain::instance::SeenInstance;
use crate::domain::observed::LocalWorkers;
use crate::domain::outcome::{StopAnswer, StopVerdict, Stopping};
use crate::domain::{Instance, InstanceId, InstanceState, StopMode, StopRequest, TaskId};

const HERE: u128 = 0;
const WEB2: u128 = 2;
const WEB3: u128 = 3;

fn id(number: u128) -> InstanceId {
    InstanceId(uuid::Uuid::from_u128(number))
}

fn working(number: u128, host: &str) -> Instance {
    process(number, host, InstanceState::Working)
}

/// A console with the cursor on web2.
fn on_web2() -> Console {
    Console::fleet(vec![working(WEB2, "web2"), working(WEB3, "web3")])
}

fn question(console: &Console) -> &StopQuestion {
    match console.state.overlay() {
        Some(Overlay::Stop(question)) => question,
        other => panic!("no question: {other:?}, {}", console.notice()),
    }
}

fn stop(request: u64, mode: StopMode, instances: &[(u128, i64)], reason: Option<&str>) -> Effect {
    Effect::Stop {
        request: RequestId(request),
        mode,
        instances: instances
            .iter()
            .map(|(number, stop_version)| SeenInstance { id: id(*number), stop_version: *stop_version })
            .collect(),
        reason: reason.map(str::to_owned),
    }
}

fn by_bob(mode: StopMode, second: i64) -> StopRequest {
    StopRequest { mode, by: "bob".into(), at: clock(second), reason: Some("kernel".into()) }
}

fn stopping(number: u128, state: InstanceState, stop_version: i64, stop: Option<StopRequest>) -> Stopping {
    Stopping { id: id(number), label: "web2:991".into(), state, lease_past: false, stop_version, stop }
}

fn answer(console: &mut Console, request: u64, instances: Vec<(InstanceId, StopVerdict)>) {
    let answer = StopAnswer { mode: StopMode::Drain, instances, resolved_from_unknown: false, retries: 0 };
    console.send(Message::StopAnswered { request: RequestId(request), result: Ok(answer) });
}

fn fail(console: &mut Console, failure: WriteFailure) {
    console.send(Message::StopAnswered { request: RequestId(1), result: Err(failure) });
}

fn committed(number: u128) -> (InstanceId, StopVerdict) {
    let instance = stopping(number, InstanceState::Working, 1, Some(by_bob(StopMode::Drain, 0)));
    (id(number), StopVerdict::Committed { instance })
}

fn logged(console: &Console, text: &str) -> bool {
    console.state.log.entries.iter().any(|entry| entry.text.contains(text))
}

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

#[test]
fn the_command_line_asks_one_a_host_or_all_that_are_on_screen() {
    let drains = asked(StopMode::Drain, process(4, "web4", InstanceState::Draining));
    let watches = process(5, "ops2", InstanceState::Watching);
    let fleet = || {
        Console::fleet(vec![working(HERE, "ops1"), working(WEB2, "web2"), drains.clone(), watches.clone()])
    };
    let mut console = fleet();
    console.press(": s t o p space w e b 2 : 9 9 1 enter");
    assert_eq!(question(&console).title(), "Drain web2:991?");
    assert_eq!(console.press("y"), [stop(1, StopMode::Drain, &[(WEB2, 0)], None)]);

    let mut console = fleet();
    console.press(": s t o p space h e r e space - - m o d e space c a n c e l enter");
    assert_eq!(question(&console).title(), "Cancel what this process runs?");
    console.press("esc : s t o p space - - a l l enter");
    assert_eq!(question(&console).title(), "Drain 3 instances?");
    assert_eq!(question(&console).yes(), "drain 2 of 3");
    let says: Vec<_> =
        question(&console).rows.iter().map(|row| question(&console).says_of(&console.state, row)).collect();
    assert_eq!(says[0], Ok("runs 2; waits for them, then ends".to_owned()));
    assert!(says[2].as_ref().is_err_and(|why| why.contains("not asked: bob asked it to drain")), "{says:?}");
    // Each is asked by itself: that one cannot be asked spares none of the others.
    assert_eq!(console.press("y"), [stop(1, StopMode::Drain, &[(HERE, 0), (WEB2, 0)], None)]);
    let conflict = stopping(WEB2, InstanceState::Working, 1, Some(by_bob(StopMode::Drain, 0)));
    answer(&mut console, 1, vec![committed(HERE), (id(WEB2), StopVerdict::Conflict { instance: conflict })]);
    assert_eq!(console.state.stop_conflicts[0].title(), "Not asked: 1 of 2");
    assert!(logged(&console, "asked this process to drain"));

    let mut console = fleet();
    for (typed, why) in [
        ("web9", "there is no instance `web9`"),
        ("--mode halt here", "`halt` is not a mode"),
        ("--mode", "is not a mode"),
        ("--all here", "not both"),
        ("--force here", "`--force` is not an option"),
        ("ops2", "only watches"),
        ("00000000", "begins several ids"),
    ] {
        let keys: Vec<String> =
            typed.chars().map(|c| if c == ' ' { "space".to_owned() } else { c.to_string() }).collect();
        assert_eq!(console.press(&format!(": s t o p space {} enter", keys.join(" "))), []);
        assert!(console.notice().contains(why), "{typed}: {}", console.notice());
        assert!(console.state.overlays.is_empty(), "{typed}");
    }
    // From another screen it is only shown: nobody has looked at them.
    console.press("1 : s t o p space h e r e enter");
    assert_eq!((console.state.screen, console.state.overlays.len()), (Screen::Workers, 0));
    assert!(console.notice().contains("Look, then ask again"), "{}", console.notice());
}

#[test]
fn the_command_line_completes_instances_and_modes() {
    let gone = process(9, "web9", InstanceState::Stopped);
    let console = Console::fleet(vec![working(HERE, "ops1"), working(WEB2, "Web2"), gone]);
    let completed = |typed: &str| crate::app::command::completions(&console.state, typed);
    assert_eq!(completed("sto"), ["stop "]);
    assert_eq!(completed("stop w"), ["stop Web2:991"]);
    assert_eq!(completed("stop "), ["stop --all", "stop --mode", "stop Web2:991", "stop here"]);
    assert_eq!(completed("stop here --mode "), ["stop here --mode cancel", "stop here --mode drain"]);
}

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
        Message::WorkersEnded(WorkersEnded { asked: Some(by_bob(StopMode::Drain, -4)), left })
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
    console.send(Message::WorkersEnded(WorkersEnded { asked: None, left: vec![] }));
    assert!(console.notice().contains("have ended unasked"), "{}", console.notice());
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
