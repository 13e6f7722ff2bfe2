//! `taskdeck config`: every setting in force and where it was given. The password never.

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::open::resolve;
use super::run::Call;
use super::table::Table;
use crate::config::setting::ALL;
use crate::config::{Analyser, ConfigFile, Key, Layers, Spec};

#[derive(Debug, Serialize)]
struct Document {
    file: Option<String>,
    settings: Vec<Line>,
    keys: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    value: Option<String>,
    source: String,
}

/// Prints the settings.
///
/// # Errors
/// The address of the database is malformed.
pub(super) fn run(call: &Call, layers: &Layers, file: &ConfigFile) -> Result<Exit, Failure> {
    let info = resolve(&call.settings)?;
    let settings = ALL
        .iter()
        .map(|spec| match (spec.key, &info) {
            // Also a variable of libpq may have named it, which is no layer of ours; and the address as it was given
            // may hold the password.
            (Key::DatabaseUrl, Some(info)) => Line {
                name: spec.name,
                value: Some(info.redacted_url().to_owned()),
                source: match info.source() {
                    crate::db::conninfo::Source::ConfigFile => layers.origin(spec.key).to_string(),
                    other => other.to_string(),
                },
            },
            (Key::DatabaseUrl, None) => Line { name: spec.name, value: None, source: "default".to_owned() },
            _ => line(call, layers, spec),
        })
        .collect();
    let document = Document {
        file: file.path.as_ref().map(|path| path.display().to_string()),
        settings,
        keys: call.settings.keys.clone(),
    };
    call.output.print(&document, || text(call, &document))?;
    Ok(Exit::Done)
}

fn line(call: &Call, layers: &Layers, spec: &'static Spec) -> Line {
    let value = match (layers.raw(spec.key), spec.key) {
        (Some(raw), key) if key.is_switch() => {
            Some((!["false", "no", "off", "0"].contains(&raw.text.to_ascii_lowercase().as_str())).to_string())
        }
        // Naming a command is asking for it.
        (Some(_), Key::Analyser) => Some(match &call.settings.workers.analyser {
            Analyser::TextStats => "text-stats".to_owned(),
            Analyser::Command { .. } => "command".to_owned(),
        }),
        (Some(raw), _) => Some(raw.text.clone()),
        (None, Key::Operator) => Some(call.settings.operator.clone()),
        (None, Key::Workers) => Some(call.settings.workers.slots.to_string()),
        (None, _) => None,
    };
    Line { name: spec.name, value, source: layers.origin(spec.key).to_string() }
}

fn text(call: &Call, document: &Document) -> String {
    let mut table = Table::new(&["SETTING", "VALUE", "FROM"], &[]);
    for (line, spec) in document.settings.iter().zip(ALL) {
        let value = line.value.clone().unwrap_or_else(|| format!("({})", spec.unset));
        table.push(vec![line.name.to_owned(), value, line.source.clone()]);
    }
    for (action, keys) in &document.keys {
        let from = document.file.clone().unwrap_or_default();
        table.push(vec![format!("keys.{action}"), keys.join(" "), from]);
    }
    table.render(call.output)
}
