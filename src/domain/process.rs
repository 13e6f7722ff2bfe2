//! What this program's sessions call themselves, and the process that acted as the audit trail has it: the same text,
//! written by the database from what the session called itself.
//!
//! It says which process, on which host, for what; not who: that is the actor, and the database's own word for it the
//! role. Whoever may set `application_name` in a session of their own can call it anything.

use serde::Serialize;

/// How this program's sessions' names begin.
pub const APPLICATION: &str = "taskdeck ";

/// The most bytes of a session's name that the server keeps.
const KEPT: usize = 63;

/// The least of a shortened name that tells anything.
const LEAST: usize = 3;

/// Room for a pool's name and the space before it.
const POOL: usize = " operator".len();

/// What a process calls its sessions, but for the pool: `console bob@ops2:4402`. The server cuts a name; so that host
/// and process id survive that, the operator's part is what is shortened where all of it is too long, and then the
/// pool's.
pub fn application(purpose: &str, operator: &str, host: &str, pid: u32) -> String {
    let (operator, host) = (word(operator), word(host));
    let room = KEPT - APPLICATION.len() - purpose.len() - 1 - format!(":{pid}").len();
    let host = shortened(&host, room);
    let left = room.saturating_sub(POOL + host.len() + 1);
    match left {
        _ if operator.is_empty() || left < operator.len().min(LEAST) => format!("{purpose} {host}:{pid}"),
        _ if operator.len() <= left => format!("{purpose} {operator}@{host}:{pid}"),
        _ => format!("{purpose} {}~@{host}:{pid}", &operator[..left - 1]),
    }
}

/// The whole name of a session of `pool`. What the address calls it (`application_name`, `PGAPPNAME`) stands behind, as
/// far as the server keeps it.
pub fn session(application: &str, pool: &str, theirs: Option<&str>) -> String {
    let mut name = format!("{APPLICATION}{application}");
    for more in [Some(pool), theirs].into_iter().flatten().map(printable).filter(|more| !more.is_empty()) {
        let room = KEPT.saturating_sub(name.len() + 1);
        if room >= more.len().min(LEAST) {
            name.push(' ');
            name.push_str(&more[..more.len().min(room)]);
        }
    }
    name
}

/// The server makes anything else of a name unreadable, and longer.
fn printable(text: &str) -> String {
    text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect()
}

/// One word, with nothing in it that parts the words of a session's name.
fn word(text: &str) -> String {
    printable(text).replace([' ', '@'], "_")
}

/// The beginning and the end of a word, which is where hosts differ.
fn shortened(word: &str, room: usize) -> String {
    if word.len() <= room {
        return word.to_owned();
    }
    let end = (room - 1) / 2;
    format!("{}~{}", &word[..room - 1 - end], &word[word.len() - end..])
}

/// The process that acted, as its session called itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Process(pub String);

impl Process {
    /// `host:pid`, where the session was one of this program's.
    pub fn place(&self) -> Option<&str> {
        let (_, who) = self.words()?;
        let place = who.rsplit_once('@').map_or(who, |(_, place)| place);
        let (host, pid) = place.rsplit_once(':')?;
        (!host.is_empty() && pid.parse::<u32>().is_ok()).then_some(place)
    }

    /// What for and where, for a column: `console ops2:4402`; what is not this program's, as it is.
    pub fn brief(&self) -> String {
        match (self.words(), self.place()) {
            (Some((purpose, _)), Some(place)) => format!("{purpose} {place}"),
            _ => self.0.clone(),
        }
    }

    /// What for, and `who@host:pid`.
    fn words(&self) -> Option<(&str, &str)> {
        let mut words = self.0.strip_prefix(APPLICATION)?.split(' ');
        Some((words.next()?, words.next()?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(operator: &str, host: &str) -> String {
        session(&application("console", operator, host, 4_402), "operator", None)
    }

    #[test]
    fn a_name_tells_what_for_who_where_and_which_pool() {
        let name = named("bob", "ops2");
        assert_eq!(name, "taskdeck console bob@ops2:4402 operator");
        let process = Process(name);
        assert_eq!((process.place(), process.brief()), (Some("ops2:4402"), "console ops2:4402".to_owned()));
    }

    #[test]
    fn what_is_too_long_gives_way_in_order() {
        let long = "maximilian.mustermann.the.third";
        assert_eq!(named(long, "ops2"), "taskdeck console maximilian.mustermann.the.~@ops2:4402 operator");
        assert_eq!(named(long, "ops2").len(), KEPT);
        let pod = "taskdeck-worker-7d9c6b5f4-abcde";
        assert_eq!(named("bob", pod), format!("taskdeck console {pod}:4402 operator"));
        let far = "a-host-with-a-very-long-name-in-a-long-row.of-domains.example.com";
        assert_eq!(named("bob", far), "taskdeck console a-host-with-a-very-l~-domains.example.com:4402");
    }

    #[test]
    fn what_the_address_says_stands_behind_and_hides_nothing() {
        let ours = application("cancel", "bob", "ops2", 7);
        let name = session(&ours, "operator", Some("nightly-import-of-the-accounts-department"));
        assert_eq!(name, "taskdeck cancel bob@ops2:7 operator nightly-import-of-the-accou");
        assert_eq!(session(&ours, "operator", Some("x@y:1")), "taskdeck cancel bob@ops2:7 operator x@y:1");
        let process = Process(session(&ours, "operator", Some("x@y:1")));
        assert_eq!(process.place(), Some("ops2:7"));
    }

    #[test]
    fn another_programs_name_is_told_as_it_is() {
        for other in ["psql", "", "taskdeck", "taskdeck lab", "taskdeck test operator", "taskdeck x y@z:w q"]
        {
            let process = Process(other.to_owned());
            assert_eq!((process.place(), process.brief()), (None, other.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn host_and_process_id_survive(
            operator in ".{0,80}", host in "[a-z0-9.-]{1,35}", pid in 1_u32..=4_194_304, theirs in ".{0,80}",
        ) {
            let name = session(&application("instances", &operator, &host, pid), "operator", Some(&theirs));
            prop_assert!(name.len() <= KEPT && name.chars().all(|c| matches!(c, ' '..='~')), "{name}");
            let place = format!("{host}:{pid}");
            let process = Process(name);
            prop_assert_eq!(process.place(), Some(place.as_str()));
        }
    }
}
