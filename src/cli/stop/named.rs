//! Which instances a command line means: by id, by its beginning, or by `host:pid`.

use crate::cli::exit::Failure;
use crate::config::whole;
use crate::domain::instance::SeenInstance;
use crate::domain::text::visible;
use crate::domain::{Instance, StopMode};

/// So many characters of an id are at least to be written, as in the console.
const ID_FROM: usize = 4;

/// What a command line means.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    /// To be asked, each with its version as read, or as named behind an `@`.
    pub(super) to_ask: Vec<SeenInstance>,
    /// Those that run tasks and were asked for as much before.
    pub(super) asked_before: Vec<&'a Instance>,
    /// Names that no instance has.
    pub(super) unknown: Vec<String>,
}

/// Every instance that runs tasks.
pub(super) fn all(known: &[Instance], mode: StopMode) -> Named<'_> {
    let running = known.iter().filter(|instance| instance.state.runs_tasks());
    let (asked_before, to_ask): (Vec<_>, Vec<_>) =
        running.partition(|instance| instance.stop.as_ref().is_some_and(|stop| stop.mode >= mode));
    Named { to_ask: to_ask.into_iter().map(seen).collect(), asked_before, unknown: Vec::new() }
}

/// The instances that `texts` name.
///
/// # Errors
/// A name that means several, is too short to mean one, or is there twice: then nobody is asked.
pub(super) fn each<'a>(known: &'a [Instance], texts: &[String]) -> Result<Named<'a>, Failure> {
    let mut named = Named::default();
    for text in texts {
        let (name, version) = text.rsplit_once('@').map_or((text.as_str(), None), |(n, v)| (n, Some(v)));
        let version = version
            .map(|version| whole(version, 0, i64::MAX))
            .transpose()
            .map_err(|problem| Failure::usage(format!("version of {}: {problem}", visible(name))))?;
        let one = one(known, name)?.map(seen);
        let twice = match one {
            Some(one) => named.to_ask.iter().any(|other| other.id == one.id),
            None => named.unknown.iter().any(|other| other == name),
        };
        if twice {
            return Err(Failure::usage(format!("instance {} is named twice", visible(name))));
        }
        match one {
            Some(one) => {
                named.to_ask.push(SeenInstance { stop_version: version.unwrap_or(one.stop_version), ..one });
            }
            None => named.unknown.push(name.to_owned()),
        }
    }
    Ok(named)
}

/// The one that `name` means, if there is one. Of several with one `host:pid` those that live come first: a process that
/// lost its lease goes on under a new id.
fn one<'a>(known: &'a [Instance], name: &str) -> Result<Option<&'a Instance>, Failure> {
    if name.chars().count() < ID_FROM && !name.contains(':') {
        let message = format!("`{}` is too short for an instance", visible(name));
        return Err(Failure::usage(message)
            .hint(format!("write host:pid, or at least {ID_FROM} characters of the id")));
    }
    // An id is hexadecimal, which is written in either case; a host's name is as the host says it.
    let id = name.to_ascii_lowercase();
    let fits = |instance: &&Instance| instance.label() == name || instance.id.to_string().starts_with(&id);
    let mut found: Vec<&Instance> = known.iter().filter(fits).collect();
    if found.iter().any(|instance| instance.state.is_alive()) {
        found.retain(|instance| instance.state.is_alive());
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => {
            let ids: Vec<String> = several.iter().map(|instance| instance.id.to_string()).collect();
            Err(Failure::usage(format!("`{}` means several: {}", visible(name), ids.join(", ")))
                .hint("name one by its id"))
        }
    }
}

fn seen(instance: &Instance) -> SeenInstance {
    SeenInstance { id: instance.id, stop_version: instance.stop_version }
}
