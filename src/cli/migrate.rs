//! `taskdeck migrate`.

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, open};
use super::run::Call;
use crate::db::Access;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'a str,
    from: i32,
    to: i32,
}

/// Brings the schema to this program's version. `--no-migrate` is about starts; who asks for it gets it.
///
/// # Errors
/// The session is read-only, the role may not, or the schema is newer.
pub(super) async fn run(call: &Call) -> Result<Exit, Failure> {
    if call.settings.access == Access::ReadOnly {
        return Err(Failure::read_only("the migration"));
    }
    let session = open(&call.settings, "migrate", SchemaCheck::ByCommand).await?;
    let migrated = session.db.migrate().await;
    session.close().await;
    let done = migrated?;
    let schema = call.settings.schema.name();
    call.output.print(&Document { schema, from: done.from, to: done.to }, || {
        if done.from == done.to {
            format!("schema {schema} has version {}; there was nothing to do\n", done.to)
        } else {
            format!("schema {schema} went from version {} to {}\n", done.from, done.to)
        }
    })?;
    Ok(Exit::Done)
}
