//! Repeated errors, told once with a count. In an outage every part says the same: it is told by the first that meets
//! it, and once more where that one only helps and then one that works meets it too.

use std::collections::HashMap;
use std::time::Instant;

use super::event::{Events, Part, WorkerEvent};
use crate::db::DbError;

/// How many different messages of one part's outage are told.
const TOLD: usize = 4;

/// What does not get through now.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    open: HashMap<Part, Outage>,
}

#[derive(Debug)]
struct Outage {
    since: Instant,
    failures: u64,
    told: Vec<String>,
    latest: String,
}

impl Troubles {
    /// A call failed.
    pub(super) fn failed(&mut self, part: Part, error: &DbError, events: &Events, now: Instant) {
        let message = error.to_string();
        let known = self
            .open
            .iter()
            .any(|(told, outage)| (told.works() || !part.works()) && outage.told.contains(&message));
        let outage = self.open.entry(part).or_insert_with(|| Outage {
            since: now,
            failures: 0,
            told: Vec::new(),
            latest: String::new(),
        });
        outage.failures += 1;
        outage.latest.clone_from(&message);
        if outage.told.len() < TOLD && !known {
            outage.told.push(message.clone());
            events.tell(|| WorkerEvent::Trouble { part, message, hint: error.hint().map(str::to_owned) });
        }
    }

    /// A call got through. Returns whether that is news.
    pub(super) fn over(&mut self, part: Part, events: &Events, now: Instant) -> bool {
        let Some(outage) = self.open.remove(&part) else { return false };
        events.tell(|| WorkerEvent::TroubleOver {
            part,
            failures: outage.failures,
            lasted: now.saturating_duration_since(outage.since),
        });
        true
    }

    /// Why the worker cannot work now, where it cannot.
    pub(super) fn shown(&self) -> Option<String> {
        [Part::Heart, Part::Claims, Part::Finishes, Part::Releases, Part::Deliveries]
            .iter()
            .find_map(|part| self.open.get(part).map(|outage| format!("{}: {}", part.name(), outage.latest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Trouble;

    #[test]
    fn a_repeated_error_is_told_once_with_a_count() {
        let (events, mut told) = Events::channel(9);
        let (mut troubles, now) = (Troubles::default(), Instant::now());
        let error = DbError::Unavailable(Trouble::new("refused").hint("start it"));
        for _ in 0..3 {
            troubles.failed(Part::Claims, &error, &events, now);
        }
        assert_eq!(troubles.shown().as_deref(), Some("claims: refused"));
        troubles.failed(Part::Recovery, &error, &events, now);
        assert!(troubles.over(Part::Claims, &events, now));
        assert!(!troubles.over(Part::Claims, &events, now));
        assert_eq!(troubles.shown(), None);
        let hint = Some("start it".to_owned());
        let first = WorkerEvent::Trouble { part: Part::Claims, message: "refused".to_owned(), hint };
        assert_eq!(told.try_recv(), Ok(first));
        let over =
            WorkerEvent::TroubleOver { part: Part::Claims, failures: 3, lasted: std::time::Duration::ZERO };
        assert_eq!(told.try_recv(), Ok(over), "the other part's failure was no news");
        assert!(troubles.over(Part::Recovery, &events, now), "though its end is");
        assert!(matches!(
            told.try_recv(),
            Ok(WorkerEvent::TroubleOver { part: Part::Recovery, failures: 1, .. })
        ));
        for part in [Part::Recovery, Part::Listener, Part::Heart, Part::Claims] {
            troubles.failed(part, &error, &events, now);
        }
        assert!(matches!(told.try_recv(), Ok(WorkerEvent::Trouble { part: Part::Recovery, .. })));
        assert!(
            matches!(told.try_recv(), Ok(WorkerEvent::Trouble { part: Part::Heart, .. })),
            "this one works"
        );
        assert!(told.try_recv().is_err());
    }
}
