//! How it looks: a text picture drops that.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use taskdeck::ui::{Charset, Look, Theme};

use crate::scenes::SCENES;
use crate::world::{World, plain, text_of};

fn scene(name: &str) -> World {
    let (_, scene) = SCENES.into_iter().find(|(known, _)| *known == name).expect(name);
    scene()
}

fn frame(name: &str, look: &Look) -> Buffer {
    let mut world = scene(name);
    world.size(120, 40);
    world.draw(look, 120, 40).0
}

/// The modifiers of the cell where `text` begins.
fn at(buffer: &Buffer, text: &str) -> Modifier {
    let whole = text_of(buffer);
    let (y, line) = whole.lines().enumerate().find(|(_, line)| line.contains(text)).expect(text);
    let before = &line[..line.find(text).expect(text)];
    let x = taskdeck::domain::text::width(before);
    let place = (u16::try_from(x).expect("small"), u16::try_from(y).expect("small"));
    buffer[place].modifier
}

#[test]
fn without_colours_the_modifiers_carry_the_meaning() {
    let buffer = frame("tasks", &plain());
    assert!(at(&buffer, "48213  RUN").contains(Modifier::REVERSED), "the row under the cursor");
    assert!(at(&buffer, "48217").contains(Modifier::BOLD), "what runs");
    assert!(!at(&buffer, "48217").contains(Modifier::REVERSED));
    assert!(at(&buffer, "48209").contains(Modifier::DIM), "what is final");
    assert_eq!(at(&buffer, "48219"), Modifier::empty(), "what waits");
    assert!(at(&buffer, "SUBMITTED").contains(Modifier::REVERSED), "what needs a person");
    assert!(at(&buffer, "1 Tasks").contains(Modifier::REVERSED), "the screen that is shown");
    assert!(!at(&buffer, "2 Workers").contains(Modifier::REVERSED));
    assert!(!at(&buffer, "taskdeck").contains(Modifier::REVERSED), "quiet when well");
    assert!(at(&buffer, "r requeue").contains(Modifier::DIM), "what cannot be done now");
}

#[test]
fn a_lost_link_changes_the_shape_of_the_first_line_and_dims_the_rows() {
    let buffer = frame("tasks_no_answer", &plain());
    for x in 0..120 {
        assert!(buffer[(x, 0)].modifier.contains(Modifier::REVERSED), "column {x}");
    }
    for row in ["48219", "48213"] {
        assert!(at(&buffer, row).contains(Modifier::DIM), "{row}");
    }
    let well = frame("tasks", &plain());
    assert!((0..120).any(|x| !well[(x, 0)].modifier.contains(Modifier::REVERSED)));
}

#[test]
fn no_colour_means_none_and_a_theme_adds_only_colours() {
    let themed =
        [Theme::dark(), Theme::light()].map(|theme| Look { theme, glyphs: Charset::Unicode.glyphs() });
    for (name, _) in SCENES {
        let buffer = frame(name, &plain());
        for cell in &buffer.content {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{name}");
        }
        for look in &themed {
            let coloured = frame(name, look);
            assert_eq!(text_of(&buffer), text_of(&coloured), "{name}");
            let modifiers =
                |buffer: &Buffer| buffer.content.iter().map(|cell| cell.modifier).collect::<Vec<_>>();
            assert_eq!(modifiers(&buffer), modifiers(&coloured), "{name}");
        }
    }
}
