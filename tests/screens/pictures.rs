//! What stands on the screen, at the sizes that matter.

use crate::scenes::SCENES;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (40, 12), (20, 5)];

/// Screens that tell more where there is much room.
const WIDE: (u16, u16) = (200, 60);

#[test]
fn every_screen_and_dialog() {
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        for (name, scene) in SCENES {
            let wide = ["workers", "stop", "queue"].iter().any(|part| name.starts_with(part)).then_some(WIDE);
            let pictures: Vec<String> = SIZES
                .into_iter()
                .chain(wide)
                .map(|(width, height)| format!("=== {width}x{height}\n{}", scene().picture(width, height)))
                .collect();
            insta::assert_snapshot!(name, pictures.join("\n"));
        }
    });
}

#[test]
fn without_utf8_nothing_else_is_sent() {
    use taskdeck::ui::{Charset, Look, Theme};

    let look = Look { theme: Theme::dark(), glyphs: Charset::Ascii.glyphs() };
    for (name, scene) in SCENES {
        let (buffer, _) = scene().draw(&look, 120, 40);
        for cell in &buffer.content {
            assert!(cell.symbol().is_ascii(), "{name}: {:?}", cell.symbol());
        }
    }
}
