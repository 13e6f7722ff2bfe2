//! The table as `docs/keys.md` shows it.

use std::fmt::Write as _;

use super::act::{Gravity, Layer};
use super::keymap::Keymap;
use super::table::TABLE;

const SECTIONS: [(Layer, &str); 4] = [
    (Layer::Screen, "On a screen"),
    (Layer::Dialog, "In a question, a conflict, a list to choose from"),
    (Layer::Shutdown, "In the shutdown question"),
    (Layer::Text, "While typing"),
];

/// The keys of `keymap` as Markdown tables, one a layer.
///
/// # Panics
/// Never: writing to a `String` cannot fail.
pub fn markdown(keymap: &Keymap) -> String {
    let mut page = String::from(
        "| mark | meaning |\n|---|---|\n| ● | changes something, after a question |\n| ▲ | graver: not made good by the opposite act |\n",
    );
    for (layer, title) in SECTIONS {
        write!(page, "\n## {title}\n\n| keys | name | | what it does |\n|---|---|---|---|\n")
            .expect("String");
        for entry in TABLE.iter().filter(|entry| entry.layers.contains(&layer)) {
            let mark = match entry.gravity {
                Gravity::Light => "",
                Gravity::Changes => "●",
                Gravity::Grave => "▲",
            };
            let keys: Vec<_> = keymap
                .keys(entry.action)
                .iter()
                .filter(|key| layer != Layer::Text || key.text().is_none())
                .map(|key| format!("`{key}`"))
                .collect();
            writeln!(page, "| {} | {} | {mark} | {} |", keys.join(" "), entry.name, entry.long)
                .expect("String");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_stands_in_the_page_with_its_keys() {
        let page = markdown(&Keymap::default());
        for entry in TABLE {
            assert!(page.contains(&format!("| {} |", entry.name)), "{}", entry.name);
        }
        assert!(page.contains("| `Space` `x` | mark |"));
        // While typing, a letter is text, so only the arrow moves.
        assert!(page.contains("| `Up` | up |"));
    }
}
