//! Any state, any size, any text: no panic, and nothing in a cell that a terminal would act on.

use jiff::SignedDuration;
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use taskdeck::app::Message;
use taskdeck::app::footer::{FooterItem, footer};
use taskdeck::domain::observed::Listed;
use taskdeck::domain::outcome::TaskHistory;
use taskdeck::domain::{Status, StopMode, StopRequest, Task, TaskId};

use crate::fixtures::{by_bob, health, instances, local, rows, task};
use crate::scenes::SCENES;
use crate::world::{World, now, plain};

/// Texts that broke other tools: sequences, direction marks, zero width, wide, joined, tabs, NUL.
const HOSTILE: [&str; 12] = [
    "\u{1b}]52;c;cm0gLXJm\u{7}\u{1b}[2J\u{1b}[31m",
    "\u{9b}2J\u{90}q\u{9c}",
    "\u{202e}abc\u{2066}def\u{2069}\u{200f}",
    "a\0b\tc\nd\re\u{8}",
    "👩\u{200d}👩\u{200d}👧\u{fe0f}🇩🇪☁\u{fe0f}",
    "\u{301}\u{301}e\u{301}\u{20dd}",
    "ﾊﾝｶｸ 全角 한국어 ไทย हिन्दी",
    "\u{feff}\u{200b}\u{ad}\u{2060}\u{e0041}",
    "\u{1160}\u{3164}\u{ffa0}",
    "\u{2028}\u{2029}\u{85}",
    "العربية עברית",
    "",
];

fn check(buffer: &Buffer, what: &str) {
    for cell in &buffer.content {
        for c in cell.symbol().chars() {
            assert!(!taskdeck::domain::text::is_hostile(c), "{what}: {:?}", cell.symbol());
        }
    }
}

/// A list, detail, workers and server made of one text.
fn hostile(text: &str) -> World {
    let mut world = World::busy();
    let mut listed: Vec<Listed> = Status::ALL
        .into_iter()
        .zip(48_220..)
        .map(|(status, id)| {
            Listed::Task(Box::new(Task {
                queue: text.to_owned(),
                worker: Some(text.to_owned()),
                error: Some(text.to_owned()),
                output: Some(text.to_owned()),
                started_at: Some(now()),
                finished_at: Some(now() + SignedDuration::from_hours(1)),
                ..task(id, status, 1, text, text)
            }))
        })
        .collect();
    listed.push(Listed::Bad { id: TaskId(1), problem: text.to_owned() });
    listed.reverse();
    world.list(listed.clone());
    let first = listed.iter().rev().find_map(Listed::task).expect("a task").clone();
    world.press("g j").pass(500);
    if let Some(id) = world.state.detail.target {
        let found = Some(TaskHistory { task: Task { id, ..first }, events: Vec::new() });
        world.send(Message::DetailLoaded { id, read_at: now(), found });
    }
    let mut processes = instances();
    for process in &mut processes {
        text.clone_into(&mut process.host);
        text.clone_into(&mut process.kind);
        text.clone_into(&mut process.operator);
        text.clone_into(&mut process.version);
        process.queues = vec![text.to_owned(); 3];
        let request = by_bob(StopMode::Drain, 3, Some(text));
        process.stop = Some(StopRequest { by: text.to_owned(), ..request });
    }
    let mut server = health();
    text.clone_into(&mut server.role);
    for wait in &mut server.waits {
        text.clone_into(&mut wait.application);
    }
    let mut workers = local();
    workers.trouble = Some(text.to_owned());
    for run in &mut workers.running {
        text.clone_into(&mut run.doing);
    }
    world.send(Message::Local(workers));
    world.send(Message::InstancesLoaded(processes));
    world.send(Message::HealthLoaded(Box::new(server)));
    world
}

#[test]
fn no_field_lets_a_terminal_be_told_anything() {
    for text in HOSTILE {
        for keys in [
            "",
            "enter",
            "enter enter",
            "2",
            "2 j",
            "2 d",
            "2 d c",
            "3",
            "5",
            "c",
            "A c",
            "A",
            "A c i",
            "?",
            "n",
            "q",
            ":",
            "/",
        ] {
            for (width, height) in [(120, 40), (80, 24), (33, 9)] {
                let mut world = hostile(text);
                world.size(width, height).press(keys);
                world.send(Message::Paste(text.to_owned()));
                check(&world.draw(&plain(), width, height).0, &format!("{text:?} {keys}"));
            }
        }
    }
}

#[test]
fn wide_and_zero_width_texts_keep_the_columns() {
    for text in HOSTILE {
        let mut world = hostile(text);
        world.size(200, 30);
        let (buffer, _) = world.draw(&plain(), 200, 30);
        // The line between list and detail stands in one column on every row.
        let column = (0..200).find(|x| buffer[(*x, 6)].symbol() == "│").expect("the line");
        for y in 5..28 {
            assert_eq!(buffer[(column, y)].symbol(), "│", "{text:?} line {y}");
        }
    }
}

/// What has no room in the footer is left out, the least used first; no entry is cut, and none touches another.
#[test]
fn the_footer_drops_whole_entries() {
    for (name, scene) in SCENES {
        for width in [20, 26, 33, 40, 47, 54, 61, 68, 75, 79, 80, 81, 90, 101, 120] {
            let mut world = scene();
            world.size(width, 24);
            let (buffer, _) = world.draw(&plain(), width, 24);
            let line: String = (0..width).map(|x| buffer[(x, 23)].symbol()).collect();
            let items = footer(&world.state);
            let entry = |item: &FooterItem| format!("{} {}", item.key, item.label);
            let (last, first): (Vec<_>, Vec<_>) = items.iter().partition(|item| {
                world.state.overlay().is_none() && matches!(item.label.as_str(), "help" | "quit")
            });
            let last: Vec<String> = last.into_iter().map(entry).collect();
            let left = line.trim().strip_suffix(&last.join(" ")).expect("help and quit stay");
            assert!(last.is_empty() || left.is_empty() || left.ends_with(' '), "{name}, {width}: {line}");
            let shown: Vec<&str> = left.trim().split("  ").filter(|entry| !entry.is_empty()).collect();
            assert!(width < 80 || first.is_empty() || !shown.is_empty(), "{name}, {width}: {line}");
            let wanted: Vec<String> = first.into_iter().map(entry).take(shown.len()).collect();
            assert_eq!(shown, wanted, "{name}, {width}: {line}");
        }
    }
}

#[test]
fn nothing_is_drawn_on_nothing() {
    for (name, scene) in SCENES {
        for (width, height) in [(0, 0), (1, 1), (0, 24), (80, 0), (1, 80), (250, 1), (2, 2)] {
            let mut world = scene();
            world.size(width, height);
            check(&world.draw(&plain(), width, height).0, name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_scene_at_any_size(
        scene in 0..SCENES.len(),
        width in 0_u16..=250,
        height in 0_u16..=80,
        text in any::<String>(),
        keys in prop::collection::vec("[a-zA-Z0-9:/?]|space|enter|esc|tab|up|down|pgdn|pgup|end|home", 0..6),
    ) {
        let (name, scene) = SCENES[scene];
        let mut world = scene();
        world.size(width, height);
        for key in keys {
            world.press(&key);
            world.send(Message::Paste(text.clone()));
            let (_, drawn) = world.draw(&plain(), width, height);
            world.send(Message::Viewport(drawn.viewport));
        }
        let mut listed = rows();
        listed.insert(0, Listed::Task(Box::new(task(50_000, Status::Queued, 0, &text, &text))));
        world.list(listed);
        let (buffer, drawn) = world.draw(&plain(), width, height);
        check(&buffer, name);
        for (area, _) in drawn.targets {
            prop_assert!(area.right() <= width && area.bottom() <= height);
        }
        if let Some(at) = drawn.cursor {
            prop_assert!(at.x < width && at.y < height);
        }
    }
}
