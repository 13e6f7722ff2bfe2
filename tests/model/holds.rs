//! With every guard in its place the whole space holds.

use taskdeck::domain::Status;

use crate::protocol::Guards;
use crate::search::explore;
use crate::world::{Budget, World};

#[test]
fn workers() {
    for (n, b) in [
        ("1task f1 l1", (1usize, Budget { lost_answers: 1, losses: 1, ..Budget::default() })),
        ("1task f2 l1", (1, Budget { lost_answers: 2, losses: 1, ..Budget::default() })),
        ("1task f1 l2", (1, Budget { lost_answers: 1, losses: 2, ..Budget::default() })),
        ("1task f1 l1 all", (1, Budget { lost_answers: 1, losses: 1, give_backs: 1, slow_recoveries: 1, ..Budget::default() })),
        ("1task f1 l1 dec1", (1, Budget { lost_answers: 1, losses: 1, decisions: 1,  ..Budget::default() })),
        ("1task f1 l1 dec2", (1, Budget { lost_answers: 1, losses: 1, decisions: 2,  ..Budget::default() })),
        ("2task f1 l0", (2, Budget { lost_answers: 1, losses: 0, ..Budget::default() })),
        ("2task f1 l1", (2, Budget { lost_answers: 1, losses: 1, ..Budget::default() })),
    ] {
    let t = std::time::Instant::now();
    let f = explore(World::new(&[Status::Queued; 2][..b.0], 2, b.1), Guards::ALL, &[]);
    println!("{n}: {} states {} steps {:?} broken {:#?} size {} {:?}", f.states, f.steps, t.elapsed(), f.broken, size_of::<World>(), f.sights.len());
    }
}
