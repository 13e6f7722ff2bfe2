//! `taskdeck private …`: looks after the private server.

use serde::Serialize;

use super::args::PrivateCommand;
use super::exit::{Exit, Failure};
use super::open::blocking;
use super::prompt::{ask, can_ask};
use super::run::Call;
use crate::config::Settings;
use crate::db::private::{self, Destroyed, Options, Status, Stopped, Usage};
use crate::domain::text::visible;

/// Where the private server of these settings is.
pub(super) fn options(settings: &Settings) -> Options {
    // A server that gives no answer for so long gives none to a connection of ours either.
    Options { silence: settings.limits.acquire, ..Options::from_env(settings.data_dir.clone()) }
}

#[derive(Debug, Serialize)]
struct Document {
    state: &'static str,
    folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    major: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_use: Option<bool>,
}

impl Document {
    fn new(state: &'static str) -> Self {
        Self { state, folder: None, major: None, pid: None, since: None, url: None, in_use: None }
    }
}

/// Does what is asked.
///
/// # Errors
/// What stands in the way; for `url`, that no server runs; for `destroy`, that nobody said yes.
pub(super) async fn run(call: &Call, command: PrivateCommand) -> Result<Exit, Failure> {
    let options = options(&call.settings);
    match command {
        PrivateCommand::Status => {
            let status = blocking(move || private::status(&options)).await??;
            let (document, text) = describe(status);
            call.output.print(&document, || text)?;
        }
        PrivateCommand::Url => {
            let Status::Running { url, .. } = blocking(move || private::status(&options)).await?? else {
                return Err(Failure::new(Exit::NotFound, "not_found", "the private server does not run")
                    .hint("it runs for as long as a taskdeck uses it: start one in another terminal"));
            };
            let document = Document { url: Some(url.clone()), ..Document::new("running") };
            call.output.print(&document, || format!("{url}\n"))?;
        }
        PrivateCommand::Stop => {
            let (document, text) = match blocking(move || private::stop(&options)).await?? {
                Stopped::Stopped => ("stopped", "the private server is stopped; its data stays\n"),
                Stopped::NotRunning => ("not_running", "the private server did not run\n"),
            };
            call.output.print(&Document::new(document), || text.to_owned())?;
        }
        PrivateCommand::Destroy { yes } => return destroy(call, options, yes.then_some(Agreed)).await,
    }
    Ok(Exit::Done)
}

/// The user said `--yes`.
#[derive(Debug, Clone, Copy)]
struct Agreed;

async fn destroy(call: &Call, options: Options, agreed: Option<Agreed>) -> Result<Exit, Failure> {
    if agreed.is_none() {
        let look = options.clone();
        let (document, _) = describe(blocking(move || private::status(&look)).await??);
        let folder = document.folder.unwrap_or_default();
        if document.state != "none" {
            if !can_ask() {
                return Err(Failure::usage(format!("destroying {folder} removes every task in it"))
                    .hint("say --yes if that is meant"));
            }
            if !ask(&format!("Remove {folder} with every task in it? This cannot be undone. [y/N] "))? {
                return Err(Failure::new(Exit::Unexpected, "declined", "nothing was removed"));
            }
        }
    }
    let (document, text) = match blocking(move || private::destroy(&options)).await?? {
        Destroyed::Removed { folder } => {
            let folder = folder.display().to_string();
            let text = format!("{} is removed\n", visible(&folder));
            (Document { folder: Some(folder), ..Document::new("removed") }, text)
        }
        Destroyed::Nothing => (Document::new("none"), "there was nothing to remove\n".to_owned()),
    };
    call.output.print(&document, || text)?;
    Ok(Exit::Done)
}

fn describe(status: Status) -> (Document, String) {
    match status {
        Status::None { folder } => {
            let folder = folder.display().to_string();
            let text = format!("there is no private server yet; it would be in {}\n", visible(&folder));
            (Document { folder: Some(folder), ..Document::new("none") }, text)
        }
        Status::Stopped { folder, major } => {
            let folder = folder.display().to_string();
            let text = format!("stopped: PostgreSQL {major} in {}\n", visible(&folder));
            (Document { folder: Some(folder), major: Some(major), ..Document::new("stopped") }, text)
        }
        Status::Running { folder, major, pid, since, url, usage } => {
            let folder = folder.display().to_string();
            let (in_use, words) = match usage {
                Usage::InUse => (true, "in use"),
                Usage::Unused => (false, "used by nobody; `taskdeck private stop` stops it"),
            };
            let text = format!(
                "running: PostgreSQL {major} in {}\nprocess: {pid}, since {since:.0}\naddress: {url}\nusage:   {words}\n",
                visible(&folder)
            );
            let document = Document {
                state: "running",
                folder: Some(folder),
                major: Some(major),
                pid: Some(pid),
                since: Some(since),
                url: Some(url),
                in_use: Some(in_use),
            };
            (document, text)
        }
    }
}
