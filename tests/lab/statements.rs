//! Every statement of the lab is accepted by the server.

use taskdeck::db::Limits;

use crate::support::{empty_database, open};

#[tokio::test]
async fn every_statement_prepares() {
    let db = open(&empty_database(), Limits::default()).await;
    db.migrate().await.expect("migrates");
    for statement in taskdeck::db::lab::STATEMENTS {
        if let Err(error) = db.prepare_check(*statement).await {
            panic!("{}: {error:?}", statement.name);
        }
    }
}
