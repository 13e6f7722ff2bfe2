//! What is marked, counted, asked about, and what `y` sends.

use super::*;

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
    console.now += std::time::Duration::from_mins(1);
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
