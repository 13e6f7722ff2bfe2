//! A lab that is killed in the middle of each experiment leaves a schema, which the next one removes, and nothing else.

use crate::runner::{User, eventually};
use crate::running::{Running, nothing_is_left, schemas};
use crate::support::empty_database;

/// Everything that makes tasks; `isolation` makes none.
const KINDS: [&str; 12] = [
    "claim-race",
    "decision-race",
    "cancel-race",
    "rollback",
    "ordered",
    "deadlock",
    "lock-timeout",
    "budget",
    "pool-starvation",
    "bad-row",
    "lost-reply",
    "lease-loss",
];

fn killed_in_the_middle_of(kinds: &[&str]) {
    let url = empty_database();
    let user = User::of(&url);
    for kind in kinds {
        // Pool starvation needs no task.
        let rows = if *kind == "pool-starvation" { 0 } else { 3 };
        Running::start(&user, &url, rows, &[kind, "--rounds", "1000"]).kill();
        assert_eq!(schemas(&url), 1, "{kind}: nobody could remove it");
        // The server may not have noticed yet that its owner is gone; then it is another's.
        eventually("the next lab runs", || {
            let run = user.run(&["lab", "claim-race", "--rounds", "1"]);
            assert!(matches!(run.code, 0 | 3), "{kind}: {run:?}");
            run.code == 0
        });
        nothing_is_left(&url);
    }
}

#[test]
fn races() {
    killed_in_the_middle_of(&KINDS[..4]);
}

#[test]
fn locks() {
    killed_in_the_middle_of(&KINDS[4..8]);
}

#[test]
fn the_others() {
    killed_in_the_middle_of(&KINDS[8..]);
}
