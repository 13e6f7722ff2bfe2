//! What every key does: the acts of this screen first, then the rest, each with whether it can be done now.

use super::command::VERBS;
use super::footer::{Availability, FooterItem, footer_of};
use super::input::layer_of;
use super::keys::{Action, Entry, Layer, TABLE};
use super::overlay::Overlay;
use super::state::State;

/// A line of help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelpLine {
    /// Begins a part.
    Title {
        /// Its title.
        text: String,
    },
    /// An act.
    Act {
        /// Its keys: `Space x`.
        keys: String,
        /// What it does.
        text: String,
        /// Why it cannot be done now, where it cannot.
        unavailable: Option<String>,
    },
    /// A line of text.
    Text {
        /// The text.
        text: String,
    },
}

/// The lines of help, for what lies below it.
pub fn help(state: &State) -> Vec<HelpLine> {
    let below = state.below_help();
    let mut lines = vec![title(&format!("On {}", place(state, below)))];
    let here = footer_of(state, below);
    lines.extend(here.iter().map(|item| here_line(state, layer_of(below), item)));
    let shown: Vec<Action> = here.iter().map(|item| item.action).collect();
    for (layer, text) in [
        (Layer::Screen, "On every screen"),
        (Layer::Dialog, "In a question"),
        (Layer::Shutdown, "When the program ends"),
        (Layer::Text, "While typing"),
    ] {
        lines.push(title(text));
        lines.extend(
            TABLE
                .iter()
                .filter(|entry| entry.layers.contains(&layer))
                .filter(|entry| layer != Layer::Screen || !shown.contains(&entry.action))
                .filter(|entry| layer == Layer::Screen || !entry.layers.contains(&Layer::Screen))
                .map(|entry| entry_line(state, layer, entry)),
        );
    }
    lines.extend(EDITING.iter().map(|(keys, text)| HelpLine::Act {
        keys: (*keys).to_owned(),
        text: (*text).to_owned(),
        unavailable: None,
    }));
    lines.push(title("Commands after :"));
    lines.extend(VERBS.iter().map(|verb| HelpLine::Act {
        keys: format!("{} {}", verb.name, verb.argument).trim_end().to_owned(),
        text: verb.long.to_owned(),
        unavailable: None,
    }));
    lines.push(title("What the numbers say"));
    lines.extend(NUMBERS.iter().map(|text| HelpLine::Text { text: (*text).to_owned() }));
    lines
}

/// Keys of the text itself, which cannot be remapped.
const EDITING: [(&str, &str); 3] = [
    ("Ctrl-U", "Empty from the cursor to the start of the line; at its start, join it with the line before."),
    ("Ctrl-K", "Empty from the cursor to the end of the line."),
    ("Ctrl-W", "Empty the word before the cursor."),
];

const NUMBERS: [&str; 6] = [
    "V is the row's version: it rises by one at every change. A decision carries the version that you saw.",
    "Ages are by the database's clock as of the latest read, plus the time since; this host's clock is not used.",
    "~ marks an estimate from the planner's statistics.",
    "oldest due: how long the task that has waited longest could have been claimed, and why it was not.",
    "done/s and failed/min: the sum of what live instances measured at their last heartbeat.",
    "RUNNING canceling: asked to stop; it stays RUNNING until its analyser has returned.",
];

fn title(text: &str) -> HelpLine {
    HelpLine::Title { text: text.to_owned() }
}

fn place(state: &State, below: Option<&Overlay>) -> String {
    match below {
        None => format!("screen {} {}", state.screen.digit(), state.screen.title()),
        Some(_) => "what is open".to_owned(),
    }
}

fn keys(state: &State, action: Action, layer: Layer) -> String {
    let keys = state.keymap.keys(action).iter();
    let keys = keys.filter(|key| layer != Layer::Text || key.text().is_none());
    keys.map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn here_line(state: &State, layer: Layer, item: &FooterItem) -> HelpLine {
    HelpLine::Act {
        keys: keys(state, item.action, layer),
        text: super::keys::entry(item.action).long.to_owned(),
        unavailable: match &item.availability {
            Availability::Enabled => None,
            Availability::Disabled { reason } => Some(reason.clone()),
        },
    }
}

fn entry_line(state: &State, layer: Layer, entry: &Entry) -> HelpLine {
    let refused = (layer == Layer::Screen && state.below_help().is_none())
        .then(|| super::availability::refusal(state, entry.action))
        .flatten();
    HelpLine::Act {
        keys: keys(state, entry.action, layer),
        text: entry.long.to_owned(),
        unavailable: refused,
    }
}
