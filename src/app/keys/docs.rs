//! The table, and the verbs of the command line, as `docs/keys.md` shows them.

use std::fmt::Write as _;

use super::super::command::VERBS;
use super::act::{Gravity, Layer};
use super::keymap::Keymap;
use super::table::TABLE;

const SECTIONS: [(Layer, &str); 4] = [
    (Layer::Screen, "On a screen"),
    (Layer::Dialog, "In a question, a conflict, a list to choose from"),
    (Layer::Shutdown, "In the shutdown question"),
    (Layer::Text, "While typing"),
];

/// What holds for all verbs, or for several.
const COMMAND_LINE: &str = "
## On the command line

`:` opens it, `Tab` completes, `Up` brings back what was typed before. As much of a verb as tells it from the others is
enough; a number alone goes to that task.

| command | what it does |
|---|---|
";

/// What follows the verbs.
const ARGUMENTS: &str = "
`[ID...]` is one number or several, each with or without the version (`:cancel 17@3`), and can be `--all` for all four
verbs. A decision, a stop or a pause is about what is on screen, as it was drawn, and asks first. An instance is `here`, a
host, `host:pid`, or an id or how it begins.
";

/// The keys of `keymap` as Markdown tables, one a layer, and the verbs of the command line.
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
    page.push_str(COMMAND_LINE);
    for verb in VERBS {
        let command = format!(":{} {}", verb.name, verb.argument);
        writeln!(page, "| `{}` | {} |", command.trim_end(), verb.long).expect("String");
    }
    page.push_str(ARGUMENTS);
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
        for verb in VERBS {
            assert!(page.contains(&format!("| `:{}", verb.name)), "{}", verb.name);
        }
        assert!(page.contains("| `:lines FILE` |"));
        // While typing, a letter is text, so only the arrow moves.
        assert!(page.contains("| `Up` | up |"));
    }
}
