//! The lab's statements, a file each in `sql/lab/`.

use crate::db::sql::{Effect, Statement};

macro_rules! statements {
    ($($constant:ident = $effect:ident $name:literal;)*) => {
        $(pub(super) const $constant: Statement = Statement {
            name: concat!("lab/", $name),
            text: include_str!(concat!("../sql/lab/", $name, ".sql")),
            effect: Effect::$effect,
        };)*
        /// Every one of them; a test prepares each against a real server.
        pub const STATEMENTS: &[Statement] = &[$($constant),*];
    };
}

statements! {
    GUARD = Read "guard";
    GUARD_OWNER = Read "guard_owner";
    FOUND = Read "found";
    CREATE = Write "create";
    MARK = Write "mark";
    REMOVE = Write "remove";
    BEGIN = Read "begin";
    COMMIT = Write "commit";
    ROLLBACK = Read "rollback";
    BACKEND = Read "backend";
    HOLD = Read "hold";
    TOUCH = Read "touch";
    HALF_FINISH = Read "half_finish";
    FAIL = Read "fail";
    ROWS = Read "rows";
    MADE_BY = Read "made_by";
    WAITS = Read "waits";
    SESSIONS = Read "sessions";
    CLAIM_WITHOUT_STATUS = Write "claim_without_status";
    APPROVE_BY_COUNT = Write "approve_by_count";
    HALF_READ = Read "half_read";
    SPOIL = Write "spoil";
    LEASE_PAST = Read "lease_past";
    SERVER = Read "server";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Schema;
    use crate::db::sql::{CLAIM_BY_ID, render};

    #[test]
    fn every_file_is_a_statement_under_its_contract() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/db/sql/lab");
        for entry in std::fs::read_dir(folder).expect("folder") {
            let path = entry.expect("entry").path();
            let name = format!("lab/{}", path.file_stem().expect("stem").to_string_lossy());
            assert!(
                STATEMENTS.iter().any(|statement| statement.name == name),
                "{name}.sql is used by nothing"
            );
        }
        let schema = Schema::new("taskdeck_lab").expect("name");
        for statement in STATEMENTS {
            assert!(statement.text.starts_with("-- "), "{} has no contract", statement.name);
            assert!(!render(statement.text, &schema).contains('{'), "{}", statement.name);
        }
    }

    /// What is broken on purpose lacks its conditions on the state and is otherwise the product's own.
    #[test]
    fn the_broken_claim_is_the_claim_without_its_conditions_on_the_state() {
        let schema = Schema::new("taskdeck_lab").expect("name");
        let (whole, broken) = (render(CLAIM_BY_ID.text, &schema), render(CLAIM_WITHOUT_STATUS.text, &schema));
        let conditions = ["cur.status = 'QUEUED'\nAND ", "AND t.status = 'QUEUED'\n"];
        let without = conditions.iter().fold(whole, |text, condition| {
            assert!(text.contains(condition), "{condition}: {text}");
            text.replace(condition, "")
        });
        assert_eq!(without, broken);
    }
}
