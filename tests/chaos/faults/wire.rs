//! Cuts lines at the statements where it hurts most: those that change something, and those that ask what happened.

use std::sync::Arc;

use crate::plan::{Deck, millis};
use crate::proxy::Cut;
use crate::stage::Stage;

/// A piece of each statement that no other has; the empty one is in every request.
const STATEMENTS: &[&str] = &[
    // submit, submitted, decide, decided
    "task_inputs (tenant, submission",
    "task_inputs (tenant, submission",
    "s.submission = ANY",
    "judged AS MATERIALIZED",
    "judged AS MATERIALIZED",
    "v.move = 'request-cancel'",
    // claim_next, claimed
    "c.priority DESC, c.id",
    "c.priority DESC, c.id",
    "t.id <> ALL",
    // finish_success, finish, finished, release
    "words = f.words",
    "words = f.words",
    "coalesce(upd.status, cur.status)",
    "SELECT v.status_after",
    "attempt = t.attempt - 1",
    // heartbeat, register, recover, end_instance
    "claims_per_s = $8",
    "(id, host, pid, version, kind",
    "'lease lost: '",
    "state = 'stopped', ended_at",
    "",
];

/// Cuts until the faults are over; then nothing more is cut.
pub(crate) async fn run(stage: Arc<Stage>) {
    let mut dice = stage.plan.dice("wire");
    let mut cuts = Deck::new(&[
        Cut::Before,
        Cut::Late,
        Cut::Late,
        Cut::After,
        Cut::After,
        Cut::After,
        Cut::Middle,
        Cut::Middle,
        Cut::Stall,
    ]);
    let mut statements = Deck::new(STATEMENTS);
    while stage.pause(millis(&mut dice, 50, 300)).await {
        if stage.proxy.armed() > STATEMENTS.len() {
            // What nobody sends keeps its cuts waiting.
            stage.proxy.disarm();
        }
        stage.proxy.cut(cuts.deal(&mut dice), statements.deal(&mut dice));
    }
    stage.proxy.disarm();
}
