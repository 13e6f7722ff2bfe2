//! Keys that do nothing say why; footer and help tell the same.

use std::collections::BTreeMap;

use super::super::testing::{Console, page, setup, task};
use crate::app::footer::{Availability, footer};
use crate::app::help::{HelpLine, help};
use crate::app::keys::{Action, Key, Keymap, Layer, TABLE};
use crate::app::state::{Access, Screen};
use crate::app::{Effect, Message, State};
use crate::domain::{Status, Task};

#[test]
fn a_key_that_does_nothing_says_why() {
    for (keys, why) in [
        ("4", "this version has no race screen"),
        ("R", "this version has no race screen"),
        ("d", "d is for an instance on screen 2"),
        ("2 d", "there is no row here"),
        ("2 c", "acts on tasks are on screen 1"),
        ("3 x", "list on screen 1"),
        ("3 /", "everything is on this screen"),
        ("5 enter", "nothing to open"),
        ("y", "no row"),
        ("f12", "F12 does nothing"),
    ] {
        let mut console = Console::with(page([]));
        assert_eq!(console.press(keys), [], "{keys}");
        assert!(console.notice().contains(why), "{keys}: {}", console.notice());
        assert!(console.state.overlays.is_empty(), "{keys}");
    }
}

#[test]
fn every_key_of_every_layer_does_something_or_says_something() {
    for entry in TABLE.iter().filter(|entry| entry.layers.contains(&Layer::Screen)) {
        for screen in Screen::ALL {
            let mut console = Console::with(page([]));
            console.state.screen = screen;
            let before = console.state.clone();
            let effects = console.press(&entry.keys[0].to_string());
            let after = &console.state;
            let moves = matches!(
                entry.action,
                Action::Up
                    | Action::Down
                    | Action::Top
                    | Action::Bottom
                    | Action::PageUp
                    | Action::PageDown
                    | Action::Refresh
            );
            let digit = after.screen == screen && entry.keys[0] == Key::char(screen.digit());
            assert!(
                moves
                    || digit
                    || !effects.is_empty()
                    || after.notice.is_some()
                    || after.overlays != before.overlays
                    || after.screen != before.screen
                    || (after.pane, after.workers_pane) != (before.pane, before.workers_pane)
                    || after.shutdown.is_some(),
                "{} on {screen:?}",
                entry.name
            );
        }
    }
}

#[test]
fn the_footer_is_what_the_keys_do() {
    let console = Console::with(page([Task { status: Status::Failed, ..task(7) }]));
    let items = footer(&console.state);
    assert_eq!(items[0].action, Action::Requeue, "what can be done to this row comes first");
    for item in items {
        let mut pressed = Console { state: console.state.clone(), ..console };
        let effects = pressed.press(&item.key);
        if let Availability::Disabled { reason } = item.availability {
            assert_eq!(effects, []);
            assert!(pressed.notice().ends_with(&reason), "{}: {}", item.key, pressed.notice());
        } else if item.action != Action::Quit {
            assert!(pressed.state != console.state, "{}", item.key);
        }
    }
}

#[test]
fn help_and_footer_follow_the_key_when_it_moves() {
    let overrides = BTreeMap::from([("cancel".to_owned(), vec!["ctrl-k".to_owned()])]);
    let keymap = Keymap::with_overrides(&overrides).expect("free");
    let mut console = Console::new();
    console.state = State::new(crate::app::Setup { keymap, ..setup() });
    console.send(Message::Tick);
    console.load(page([task(7)]));
    assert_eq!(footer(&console.state)[0].key, "Ctrl-K");
    let cancel = help(&console.state).into_iter().find_map(|line| match line {
        HelpLine::Act { keys, text, .. } if text.starts_with("Cancel the task") => Some(keys),
        _ => None,
    });
    assert_eq!(cancel.as_deref(), Some("Ctrl-K"));
    console.press("c");
    assert_eq!(console.notice(), "c does nothing; ? lists the keys");
    console.press("ctrl-k");
    assert!(!console.state.overlays.is_empty());
}

#[test]
fn help_names_every_act_once() {
    let mut console = Console::with(page([task(7)]));
    let lines = help(&console.state);
    let texts: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            HelpLine::Act { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    for entry in TABLE {
        assert_eq!(texts.iter().filter(|text| **text == entry.long).count(), 1, "{}", entry.name);
    }
    console.press("?");
    assert_eq!(help(&console.state), lines, "help is about what lies below it");
}

#[test]
fn read_only_says_so_at_every_act() {
    let mut console = Console::with(page([task(7)]));
    console.state.session.access = Access::ReadOnly { reason: "started with --read-only".into() };
    for key in ["c", "a", "X", "r", "n", ": s u b m i t enter", ": l i n e s space f enter"] {
        assert_eq!(console.press(key), []);
        assert!(
            console.notice().contains("read-only: started with --read-only"),
            "{key}: {}",
            console.notice()
        );
        assert!(console.state.overlays.is_empty(), "{key}");
    }
}

#[test]
fn terminal_keys_work_everywhere() {
    for open in ["?", "n", ":", "/", "c", "f", "t"] {
        let mut console = Console::with(page([task(7)]));
        console.press(open);
        assert_eq!(console.press("ctrl-l ctrl-z"), [Effect::Redraw, Effect::Suspend], "{open}");
    }
}

#[test]
fn the_log_says_why_a_task_was_taken_back() {
    use crate::app::Message;
    use crate::app::message::WorkerEvent;
    use crate::domain::{Status, TaskId};

    let mut console = Console::with(page([task(7)]));
    let from = "lease lost: vm:11679 no longer answers".to_owned();
    let events = vec![WorkerEvent::Recovered { id: TaskId(7), status: Status::Queued, from }];
    console.send(Message::Workers { events, missed: 0 });
    let said = &console.state.log.entries.back().expect("a line").text;
    assert_eq!(said, "7 taken back (lease lost: vm:11679 no longer answers); it is QUEUED now");
}
