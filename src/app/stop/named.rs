//! `:stop INSTANCE... | --all [--mode drain|cancel]`. Only what is on screen can be asked: a name alone does not say
//! as what the operator saw it.

use super::super::state::{Screen, State};
use crate::domain::text::visible;
use crate::domain::{Instance, InstanceId, InstanceState, StopMode};

/// So many characters of an id are at least to be written.
const ID_FROM: usize = 4;

/// What was typed.
struct Typed<'a> {
    mode: StopMode,
    who: Who<'a>,
}

enum Who<'a> {
    UnderCursor,
    All,
    Named(Vec<&'a str>),
}

fn mode_of(text: Option<&str>) -> Result<StopMode, String> {
    let text = text.unwrap_or_default();
    StopMode::ALL
        .into_iter()
        .find(|mode| mode.as_str() == text)
        .ok_or_else(|| format!("stop: `{}` is not a mode; --mode drain or --mode cancel", visible(text)))
}

fn parse(rest: &str) -> Result<Typed<'_>, String> {
    let mut typed = Typed { mode: StopMode::Drain, who: Who::UnderCursor };
    let mut words = rest.split_whitespace();
    while let Some(word) = words.next() {
        typed.who = match (word, typed.who) {
            ("--mode", who) => {
                typed.mode = mode_of(words.next())?;
                who
            }
            ("--all", Who::UnderCursor | Who::All) => Who::All,
            (word, who) if word.starts_with("--mode=") => {
                typed.mode = mode_of(word.strip_prefix("--mode="))?;
                who
            }
            ("--all", Who::Named(_)) | (_, Who::All) => {
                return Err("stop: name instances or write --all, not both".to_owned());
            }
            (word, _) if word.starts_with('-') => {
                return Err(format!("stop: `{}` is not an option; --all, --mode", visible(word)));
            }
            (word, Who::UnderCursor) => Who::Named(vec![word]),
            (word, Who::Named(mut names)) => {
                names.push(word);
                Who::Named(names)
            }
        };
    }
    Ok(typed)
}

impl State {
    /// Runs `:stop`.
    pub(in crate::app) fn stop_named(&mut self, rest: &str) {
        let typed = match parse(rest) {
            Ok(typed) => typed,
            Err(why) => return self.hint(why),
        };
        if let Some(denied) = self.stop_denied() {
            return self.hint(denied);
        }
        if self.screen != Screen::Workers {
            self.show(Screen::Workers);
            return self
                .hint("the instances were not on screen; here they are. Look, then ask again (: and Up)");
        }
        match self.those(&typed) {
            Ok(instances) => self.ask_stop_of(typed.mode, instances),
            Err(why) => self.hint(why),
        }
    }

    /// Which instances are meant, each as it was drawn.
    fn those(&self, typed: &Typed<'_>) -> Result<Vec<(InstanceId, String, i64)>, String> {
        let all = match &self.instances.read {
            Some(read) => read.value.as_slice(),
            None => return Err("the instances have not been read yet".to_owned()),
        };
        let found: Vec<&Instance> = match &typed.who {
            Who::UnderCursor => vec![self.instance_under_cursor().ok_or("there is no row here")?],
            Who::All => all
                .iter()
                .filter(|instance| instance.state.is_alive() && instance.state != InstanceState::Watching)
                .collect(),
            Who::Named(names) => {
                let mut found: Vec<&Instance> = Vec::new();
                for name in names {
                    let named = self.of_name(all, name)?;
                    found.extend(
                        named
                            .into_iter()
                            .filter(|one| !found.iter().any(|other| other.id == one.id))
                            .collect::<Vec<_>>(),
                    );
                }
                found
            }
        };
        if found.is_empty() {
            return Err("no instance works on this database, so there is none to ask".to_owned());
        }
        if let [one] = found.as_slice()
            && let Some(why) = self.asks_nothing(one)
        {
            return Err(why);
        }
        let drawn = found.into_iter().map(|instance| {
            // Like the rows of a mark on all that match, those of `--all` may lie beyond the screen's end.
            let loaded = matches!(typed.who, Who::All).then_some(instance.stop_version);
            let label = instance.label();
            match self.drawn.instance(instance.id).or(loaded) {
                Some(version) => Ok((instance.id, label, version)),
                None => Err(format!("{label} has not been on screen yet: look at it, then act")),
            }
        });
        drawn.collect()
    }

    /// The instances of this name: `here`, `host:pid`, a host (all that live there), an id or how it begins.
    fn of_name<'a>(&self, all: &'a [Instance], name: &str) -> Result<Vec<&'a Instance>, String> {
        // An id is hexadecimal, which is written in either case.
        let id = name.to_ascii_lowercase();
        let whole = |instance: &&Instance| {
            (name == "here" && self.is_here(instance.id))
                || instance.label() == name
                || instance.host == name
                || instance.id.to_string() == id
        };
        let mut found: Vec<&Instance> = all.iter().filter(whole).collect();
        if found.is_empty() && name.len() >= ID_FROM {
            found = all.iter().filter(|instance| instance.id.to_string().starts_with(&id)).collect();
            if found.len() > 1 {
                return Err(format!("stop: `{}` begins several ids; write more of it", visible(name)));
            }
        }
        if found.iter().any(|instance| instance.state.is_alive()) {
            found.retain(|instance| instance.state.is_alive());
        }
        if found.is_empty() {
            return Err(format!("stop: there is no instance `{}` here; Tab shows them", visible(name)));
        }
        Ok(found)
    }

    /// What may come next behind `:stop`, after `before`.
    pub(in crate::app) fn stop_words(&self, before: &str) -> Vec<String> {
        if before.split_whitespace().next_back() == Some("--mode") {
            return StopMode::ALL.into_iter().map(|mode| mode.as_str().to_owned()).collect();
        }
        let instances = self.instances.read.iter().flat_map(|read| &read.value);
        instances
            .filter(|instance| self.asks_nothing(instance).is_none())
            .map(|instance| if self.is_here(instance.id) { "here".to_owned() } else { instance.label() })
            .chain(["--all".to_owned(), "--mode".to_owned()])
            .collect()
    }
}
