//! A server that was killed under its users is started again by one of them.

use rustix::process::{Signal, kill_process};

use crate::support::{Folder, Helper, ask, eventually, runs};
use crate::{Left, pid};

#[test]
fn of_several_that_notice_one_starts_it_and_the_others_find_it() {
    let folder = Folder::new();
    let (mut first, joined) = Helper::keeping(&folder);
    let mut others: Vec<Helper> = (0..3).map(|_| Helper::keeping(&folder).0).collect();
    let user = folder.start();
    let url = user.url();
    ask(&url, "CREATE TABLE kept AS SELECT 42 AS answer");
    let mut server = joined.server;
    for round in 0..3 {
        kill_process(pid(server), Signal::KILL).expect("it can be killed");
        let mut found = vec![first.again()];
        found.extend(others.iter_mut().map(Helper::again));
        let started: Vec<_> = found.iter().filter(|(_, origin)| origin == "Started").collect();
        assert_eq!(started.len(), 1, "round {round}: {found:?}");
        assert!(
            found.iter().all(|(pid, _)| *pid == started[0].0),
            "round {round}: one server for all: {found:?}"
        );
        server = started[0].0;
        assert!(runs(server));
        // At the same address, with everything that was committed.
        assert_eq!(ask(&url, "SELECT answer FROM kept"), "42");
    }
    for helper in others {
        assert_eq!(helper.leave(), "used");
    }
    assert_eq!(first.leave(), "used");
    assert!(runs(server));
    // Who leaves last stops it, and nobody starts it again.
    assert_eq!(user.leave().expect("leaves"), Left::Stopped);
    assert!(!runs(server));
}

/// The one who looks after it is the one who stops it: the two must not meet.
#[test]
fn the_last_one_out_stops_it_although_it_looked_after_it() {
    let folder = Folder::new();
    for _ in 0..3 {
        let (mut only, joined) = Helper::keeping(&folder);
        kill_process(pid(joined.server), Signal::KILL).expect("it can be killed");
        let (server, origin) = only.again();
        assert_eq!(origin, "Started");
        assert_eq!(only.leave(), "stopped");
        eventually("no server", || !runs(server));
        assert!(matches!(
            taskdeck::db::private::status(&folder.options()),
            Ok(crate::Status::Stopped { .. })
        ));
    }
}
