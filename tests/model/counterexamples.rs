//! Without one of its guards the protocol breaks. Each test names what breaks first and pins the shortest way there.
//!
//! P is a process, I an instance, T a task. "Gives up on the answer" leaves the statement under way; where it is
//! executed in the end the line begins with "late".

mod claims;
mod decisions;
mod recoveries;

use taskdeck::domain::Status;

use crate::guards::{Guard, Guards};
use crate::properties::Property;
use crate::search::explore;
use crate::world::{Budget, World};

const QUEUED: &[Status] = &[Status::Queued];
const SUBMITTED: &[Status] = &[Status::Submitted];

/// Where a search begins, and what may befall.
struct Scene {
    tasks: &'static [Status],
    max_attempts: u8,
    budget: Budget,
    /// What is known to break and not looked at.
    regardless: &'static [Property],
}

impl Scene {
    /// Without `gone`, `property` breaks first, and this is how.
    #[track_caller]
    fn breaks(self, gone: &[Guard], property: Property, way: &[&str]) {
        let Self { tasks, max_attempts, budget, regardless } = self;
        let found = explore(World::new(tasks, max_attempts, budget), Guards::without(gone), regardless);
        let Some((broken, path)) = found.broken else {
            panic!("nothing breaks in {} states without {gone:?}", found.states)
        };
        let told = format!("{broken:?}\n{}", path.join("\n"));
        assert_eq!(told, format!("{property:?}\n{}", way.join("\n")), "after {} states", found.states);
    }
}
