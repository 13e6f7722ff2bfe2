//! Cuts lines at the statements where it hurts most: those that change something, and those that ask what happened.

use std::sync::Arc;

use taskdeck::db::sql::{self, Statement};

use crate::plan::{Deck, millis};
use crate::proxy::Cut;
use crate::stage::Stage;

/// A decision's statement, and a piece of it that no other has.
pub(crate) const DECIDES: (Statement, &str) = (sql::DECIDE, "judged AS MATERIALIZED");

/// The statements to cut at, those twice that are cut twice as often, each with a piece that no other has.
const STATEMENTS: &[(Statement, &str)] = &[
    (sql::SUBMIT, "task_inputs (tenant, submission"),
    (sql::SUBMIT, "task_inputs (tenant, submission"),
    (sql::SUBMITTED, "s.submission = ANY"),
    DECIDES,
    DECIDES,
    (sql::DECIDED, "v.move = 'request-cancel'"),
    (sql::CLAIM_NEXT, "NULL, 'limited'"),
    (sql::CLAIM_NEXT, "NULL, 'limited'"),
    (sql::CLAIMED, "t.id <> ALL"),
    (sql::FINISH_SUCCESS, "NOT t.notify"),
    (sql::FINISH_SUCCESS, "NOT t.notify"),
    (sql::SUCCEEDED, "(t.words, t.bytes, t.runes)"),
    (sql::FINISH, "coalesce(upd.status, cur.status)"),
    (sql::FINISHED, "SELECT v.status_after"),
    (sql::RELEASE, "attempt = t.attempt - 1"),
    (sql::HEARTBEAT, "claims_per_s = $8"),
    (sql::REGISTER, "(id, host, pid, version, kind"),
    (sql::RECOVER, "'lease lost: '"),
    (sql::END_INSTANCE, "state = 'stopped', ended_at"),
];

/// What is in every request.
const ANY: &str = "";

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
    let markers: Vec<&'static str> = STATEMENTS.iter().map(|(_, marker)| *marker).chain([ANY]).collect();
    let mut statements = Deck::new(&markers);
    while stage.pause(millis(&mut dice, 50, 300)).await {
        if stage.proxy.armed() > markers.len() {
            // What nobody sends keeps its cuts waiting.
            stage.proxy.disarm();
        }
        stage.proxy.cut(cuts.deal(&mut dice), statements.deal(&mut dice));
    }
    stage.proxy.disarm();
}

#[cfg(test)]
mod tests {
    use taskdeck::db::sql::{ALL, Schema, render};

    use super::STATEMENTS;

    #[test]
    fn every_marker_is_of_its_own_statement_and_of_no_other() {
        let schema = Schema::new("taskdeck").expect("a name");
        for (statement, marker) in STATEMENTS {
            let have = ALL.iter().filter(|other| render(other.text, &schema).contains(marker));
            let names: Vec<&str> = have.map(|other| other.name).collect();
            assert_eq!(names, [statement.name], "`{marker}`");
        }
    }
}
