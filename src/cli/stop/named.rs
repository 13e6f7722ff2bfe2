//! Which instances a command line means: by id, by its beginning, or by `host:pid`.

use crate::cli::exit::{Exit, Failure};
use crate::config::whole;
use crate::domain::instance::SeenInstance;
use crate::domain::text::visible;
use crate::domain::{Instance, StopMode};

/// Every instance that runs tasks and was not asked for as much already.
pub(super) fn all(known: &[Instance], mode: StopMode) -> Vec<SeenInstance> {
    known
        .iter()
        .filter(|instance| instance.state.runs_tasks())
        .filter(|instance| instance.stop.as_ref().is_none_or(|stop| stop.mode < mode))
        .map(seen)
        .collect()
}

/// The instances that `texts` name, each with its version as read, or as named behind an `@`.
pub(super) fn each(known: &[Instance], texts: &[String]) -> Result<Vec<SeenInstance>, Failure> {
    let mut named: Vec<SeenInstance> = Vec::with_capacity(texts.len());
    for text in texts {
        let (name, version) = text.rsplit_once('@').map_or((text.as_str(), None), |(n, v)| (n, Some(v)));
        let mut one = seen(one(known, name)?);
        if let Some(version) = version {
            one.stop_version = whole(version, 0, i64::MAX)
                .map_err(|problem| Failure::usage(format!("version of {}: {problem}", visible(name))))?;
        }
        if named.iter().any(|other| other.id == one.id) {
            return Err(Failure::usage(format!("instance {} is named twice", visible(name))));
        }
        named.push(one);
    }
    Ok(named)
}

/// The one that `name` means. Of several with one `host:pid` those that live come first: a process that lost its lease
/// goes on under a new id.
fn one<'a>(known: &'a [Instance], name: &str) -> Result<&'a Instance, Failure> {
    let fits = |instance: &&Instance| {
        !name.is_empty() && (instance.label() == name || instance.id.to_string().starts_with(name))
    };
    let mut found: Vec<&Instance> = known.iter().filter(fits).collect();
    if found.iter().any(|instance| instance.state.is_alive()) {
        found.retain(|instance| instance.state.is_alive());
    }
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(Failure::new(
            Exit::NotFound,
            "not_found",
            format!(
                "there is no instance `{}`, and none of that name ended within the last hour",
                visible(name)
            ),
        )
        .hint("`taskdeck instances` lists them")),
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
