//! Text is text: the editor, the fields, pastes.

use super::super::testing::{Console, page, task};
use crate::app::message::{LinesReport, Message, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::state::{FirstStart, Screen};
use crate::app::submit::Sending;
use crate::app::{Effect, RequestId, State};
use crate::domain::input::Admission;
use crate::domain::outcome::Submitted;

fn paste(console: &mut Console, text: &str) -> Vec<Effect> {
    let mut effects = console.send(Message::Paste(text.into()));
    effects.retain(|effect| !matches!(effect, Effect::Read(_)));
    effects
}

fn answer(console: &mut Console, request: u64, result: Result<Box<Submitted>, WriteFailure>) {
    console.send(Message::Submitted { request: RequestId(request), result });
}

fn unavailable() -> WriteFailure {
    WriteFailure::Unavailable { message: "connection refused".into(), hint: None }
}

fn submitted(id: i64) -> Box<Submitted> {
    Box::new(Submitted { task: task(id), created: true, resolved_from_unknown: false })
}

#[test]
fn a_paste_is_text_wherever_it_lands() {
    let mut console = Console::with(page([task(1)]));
    assert_eq!(paste(&mut console, "cy\nq"), []);
    assert!(console.state.overlays.is_empty() && console.notice().contains("into a field only"));
    console.press("c");
    assert_eq!(paste(&mut console, "y"), []);
    let Some(Overlay::Question(question)) = console.state.overlay() else { panic!("the question stands") };
    assert!(question.reason.is_empty(), "text goes into a field that is open, not beside it");
    console.press("esc n");
    assert_eq!(paste(&mut console, "one\r\ntwo\u{13}\n"), []);
    assert_eq!(console.state.submit.text.text(), "one\ntwo\u{13}\n");
}

#[test]
fn only_ctrl_s_submits() {
    let mut console = Console::with(page([task(1)]));
    assert_eq!(console.press("n h i enter y"), []);
    let effects = console.press("ctrl-s");
    let [Effect::Submit { request: RequestId(1), text, task }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((text.as_str(), task.tenant.as_str(), task.priority), ("hi\ny", "default", 0));
    assert_eq!(console.press("ctrl-s x"), [], "not twice");
    assert_eq!(console.state.submit.text.text(), "hi\ny", "what is sent does not change under it");
    answer(&mut console, 1, Ok(submitted(12)));
    assert_eq!(console.notice(), "submitted 12, QUEUED");
    assert!(console.state.overlays.is_empty() && console.state.submit.text.is_empty());
}

/// Where the program is set up so, what is submitted is to be told of.
#[test]
fn a_submit_asks_for_notifications_as_it_is_set_up() {
    for notify in [false, true] {
        let mut console = Console::with(page([task(1)]));
        console.state.session.notify = notify;
        let effects = console.press("n h i ctrl-s");
        let [Effect::Submit { task: new, .. }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(new.notify, notify);
        console.press("esc : l i n e s space f enter");
        let effects = console.press("y");
        let Some(Effect::SubmitLines { task: new, .. }) = effects.last() else { panic!("{effects:?}") };
        assert_eq!(new.notify, notify);
    }
}

#[test]
fn the_text_survives_and_sent_again_unchanged_it_is_the_same_submit() {
    let mut console = Console::with(page([task(1)]));
    console.press("n h i ctrl-s");
    answer(&mut console, 1, Err(WriteFailure::Unknown { message: "no reply".into() }));
    assert_eq!(console.state.submit.sending, Sending::Unknown { request: RequestId(1) });
    answer(&mut console, 1, Err(WriteFailure::Unresolved { message: "no reply".into(), hint: None }));
    assert!(console.notice().contains("never become two tasks"), "{}", console.notice());
    console.press("esc n");
    assert_eq!(console.state.submit.text.text(), "hi");
    let again = console.press("ctrl-s");
    assert!(matches!(&again[..], [Effect::Submit { request: RequestId(1), .. }]), "{again:?}");
    answer(&mut console, 1, Err(WriteFailure::Unresolved { message: "no reply".into(), hint: None }));
    let mut edited = Console { state: console.state.clone(), ..console };
    edited.press("! ctrl-s");
    assert!(edited.notice().contains("may be in the table too"), "{}", edited.notice());
    assert!(matches!(&console.press("ctrl-s")[..], [Effect::Submit { request: RequestId(1), .. }]));
    answer(&mut console, 1, Err(unavailable()));
    assert!(console.notice().contains("the text is kept"));
    let other = console.press("x ctrl-s");
    assert!(matches!(&other[..], [Effect::Submit { request: RequestId(2), .. }]), "{other:?}");
    // An answer to an earlier one is not taken for this one's.
    answer(&mut console, 1, Ok(submitted(3)));
    assert_eq!(console.state.submit.text.text(), "hix");
}

#[test]
fn bad_input_is_refused_with_the_fields_name() {
    let mut console = Console::with(page([task(1)]));
    assert_eq!(console.press("n ctrl-s"), []);
    assert_eq!(console.notice(), "not submitted: text: is empty");
    console.press("h i tab X ctrl-s");
    assert!(console.notice().contains("tenant: `defaultX` is not a name"), "{}", console.notice());
    console.press("backspace tab tab x ctrl-s");
    assert!(console.notice().contains("priority: write a whole number"), "{}", console.notice());
    console.press("backspace tab space");
    assert_eq!(console.state.submit.admission, Admission::Hold);
    let effects = console.press("ctrl-s");
    assert!(matches!(&effects[..], [Effect::Submit { task, .. }] if task.admission == Admission::Hold));
    let mut console = Console::with(page([task(1)]));
    console.press("n");
    paste(&mut console, &"x".repeat(1001));
    assert_eq!(console.press("ctrl-s"), []);
    assert!(console.notice().contains("1001 bytes"), "{}", console.notice());
}

#[test]
fn a_command_may_be_short_and_is_completed() {
    let mut console = Console::with(page([task(1)]));
    console.press(": f i tab f a tab enter");
    assert_eq!(console.state.list.filter.statuses, [crate::domain::Status::Failed]);
    console.press(": w enter");
    assert_eq!(console.state.screen, Screen::Workers);
    console.press(": x y z enter");
    assert_eq!(console.notice(), "`xyz` is not a command; Tab shows them");
    console.press(": q u e enter");
    assert_eq!(console.state.list.filter.queue, None);
    console.press(": up up enter");
    assert_eq!(console.notice(), "`xyz` is not a command; Tab shows them", "earlier commands come back");
    console.press(": s u b m i t space h i enter");
    assert_eq!(console.state.overlay(), Some(&Overlay::Submit), "Ctrl-S is still to be pressed");
    assert_eq!(console.state.submit.text.text(), "hi");
}

#[test]
fn a_file_that_was_not_submitted_to_its_end_goes_on_under_the_same_number() {
    let mut console = Console::with(page([task(1)]));
    let request = |effects: Vec<Effect>| match &effects[..] {
        [Effect::SubmitLines { request, .. }] => *request,
        other => panic!("{other:?}"),
    };
    let end = |console: &mut Console, request, result| {
        console.send(Message::LinesSubmitted { request, result });
    };
    let first = request(console.press(": l i n e s space f enter y"));
    assert_eq!(console.press(": l i n e s space f enter"), [], "not while it is not answered");
    assert!(console.state.overlays.is_empty());
    assert!(console.notice().contains("already submitting"), "{}", console.notice());
    end(&mut console, first, Err(WriteFailure::Unresolved { message: "no answer".into(), hint: None }));
    assert_eq!(console.state.acts.unresolved(), 1);
    let other = request(console.press(": l i n e s space g enter y"));
    assert_ne!(other, first, "another file is another submit");
    assert_eq!(request(console.press(": l i n e s space f enter y")), first);
    let report = LinesReport { submitted: 1, known: 2, refused: 0, named: Vec::new() };
    end(&mut console, first, Ok(report.clone()));
    assert_eq!(console.notice(), "lines of f: 1 tasks submitted, 2 were in the table already");
    assert_eq!(console.state.acts.unresolved(), 0);
    // What was done is done: the same file again is another submit.
    end(&mut console, other, Ok(report));
    assert_ne!(request(console.press(": l i n e s space f enter y")), first);
}

#[test]
fn lines_of_a_file_are_asked_about_and_reported() {
    let mut console = Console::with(page([task(1)]));
    assert_eq!(console.press(": l i n e s space f enter"), []);
    let effects = console.press("y");
    assert!(matches!(&effects[..], [Effect::SubmitLines { path, .. }] if path == "f"), "{effects:?}");
    let report =
        LinesReport { submitted: 999, known: 0, refused: 1, named: vec![(7, "text: is empty".into())] };
    console.send(Message::LinesSubmitted { request: RequestId(1), result: Ok(report) });
    assert_eq!(console.notice(), "lines of f: 999 tasks submitted, 1 lines refused (screen 5 says why)");
    assert!(
        console.state.log.entries.iter().any(|entry| entry.text.contains("line 7 refused: text: is empty"))
    );
}

#[test]
fn a_first_start_offers_samples_and_asks() {
    let mut console = Console::new();
    let setup = crate::app::Setup { first_start: FirstStart::Yes, ..super::super::testing::setup() };
    console.state = State::new(setup);
    assert_eq!(console.press("enter"), []);
    assert_eq!(console.press("y"), [Effect::SubmitSamples { request: RequestId(1) }]);
    assert!(console.state.overlays.is_empty());
    let mut setup = crate::app::Setup { first_start: FirstStart::Yes, ..super::super::testing::setup() };
    setup.session.submit_denied = Some("the role viewer may not submit".into());
    assert!(State::new(setup).overlays.is_empty(), "what is not allowed is not offered");
}

#[test]
fn a_tenant_is_checked_and_the_log_is_searched() {
    let mut console = Console::with(page([task(1)]));
    console.press("t A enter");
    assert!(matches!(console.state.overlay(), Some(Overlay::Tenant { problem: Some(_), .. })));
    console.press("backspace b enter");
    assert_eq!(console.state.list.filter.tenant.as_deref(), Some("b"));
    console.press("5 / d a t a enter");
    assert_eq!(console.state.log.search.as_deref(), Some("data"));
    assert_eq!(console.state.log.shown().count(), 1);
    console.press("esc");
    assert_eq!(console.state.log.search, None);
}

#[test]
fn a_task_is_held_by_its_switch_from_any_field_and_by_space_on_it() {
    let admission = |keys: &str| {
        let mut console = Console::with(page([task(1)]));
        let effects = console.press(&format!("n h i{keys} ctrl-s"));
        let [Effect::Submit { text, task, .. }] = &effects[..] else { panic!("{keys}: {effects:?}") };
        assert_eq!(text, "hi", "the switch is no text");
        task.admission
    };
    assert_eq!(admission(""), Admission::Queue);
    assert_eq!(admission(" ctrl-t"), Admission::Hold);
    assert_eq!(admission(" ctrl-t ctrl-t"), Admission::Queue);
    assert_eq!(admission(" tab tab tab tab space"), Admission::Hold);
    assert_eq!(admission(" tab tab tab tab space ctrl-t"), Admission::Queue);
    // Where there is nothing to hold it says so.
    let mut console = Console::with(page([task(1)]));
    console.press("/ ctrl-t");
    assert!(console.notice().contains("Enter searches"), "{}", console.notice());
    // A text that is on its way does not change.
    let mut console = Console::with(page([task(1)]));
    console.press("n h i ctrl-s ctrl-t");
    assert_eq!(console.state.submit.admission, Admission::Queue);
}
