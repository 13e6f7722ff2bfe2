//! The moments in which tenants' limits are looked at, and stand in the way.

use taskdeck::app::Message;
use taskdeck::domain::TaskId;
use taskdeck::domain::limit::{AtLimit, LimitChange, LimitState, TenantLimits};
use taskdeck::domain::observed::{OldestDue, Overview};

use crate::fixtures::overview;
use crate::queues::workers_queues;
use crate::scenes::with;
use crate::world::{World, ago, plain, text_of};

fn limited(tenant: &str, running: (i64, Option<i64>), approved: (i64, Option<i64>)) -> TenantLimits {
    TenantLimits {
        tenant: tenant.to_owned(),
        state: LimitState {
            max_running: running.1,
            max_approved_per_day: approved.1,
            version: 3,
            changed: Some(LimitChange {
                by: "bob".to_owned(),
                at: ago(5_300),
                reason: Some("contract of November, see ticket 4711".to_owned()),
            }),
        },
        running: running.0,
        approved_today: approved.0,
    }
}

fn listed() -> Vec<TenantLimits> {
    vec![
        limited("billing", (2, Some(2)), (3, Some(5))),
        limited("legal", (0, None), (1_204, Some(1_200))),
        limited("mail", (1, Some(8)), (0, None)),
    ]
}

/// Screen 2 with the keys on the processes.
pub(crate) fn workers_limits() -> World {
    with(workers_queues(), |world| {
        world.send(Message::LimitsLoaded(listed()));
    })
}

/// The same with the keys on the limits, the cursor on the first.
pub(crate) fn limits() -> World {
    with(workers_limits(), |world| {
        world.press("tab tab");
    })
}

pub(crate) fn tasks_at_limit() -> World {
    with(World::busy(), |world| {
        let due = OldestDue {
            id: TaskId(47_001),
            queue: "default".to_owned(),
            waiting_ms: 250_000,
            takers: 2,
            free_slots: 1,
            paused_by: None,
            at_limit: Some(AtLimit { tenant: "billing".to_owned(), running: 2, max_running: 2 }),
        };
        world.send(Message::OverviewLoaded(Overview { oldest_due: Some(due), ..overview(31.0) }));
    })
}

/// Whatever the size, who looks at screen 2 is told that somebody has used up a limit, and the header says that this is
/// why the oldest waits.
#[test]
fn a_tenant_at_its_limit_is_named() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let (buffer, _) = workers_limits().draw(&plain(), width, height);
        let text = text_of(&buffer);
        assert!(text.contains("3 tenants, 2 at the limit: billing legal"), "{width}x{height}\n{text}");
    }
    for width in [80, 120] {
        let (buffer, _) = tasks_at_limit().draw(&plain(), width, 24);
        assert!(text_of(&buffer).contains("tenant billing runs 2 of 2"), "{width}\n{}", text_of(&buffer));
    }
    let mut world = limits();
    let text = world.picture(80, 24).replace("\n   ", " ");
    for word in
        ["2 of 2", "3 of 5", "1,204 of 1,200", "1 of 8", "see ticket 4711", "2 more may be approved today"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// Tab goes round all three; where nobody has a limit there are two and no word of it.
#[test]
fn the_pane_is_there_while_somebody_has_a_limit() {
    let mut world = limits();
    assert!(world.picture(120, 40).contains(" > billing"));
    world.press("enter");
    assert_eq!(world.state.list.filter.tenant.as_deref(), Some("billing"), "its tasks");
    let mut world = limits();
    world.send(Message::LimitsLoaded(vec![limited("billing", (2, None), (3, None))]));
    let text = world.picture(120, 40);
    assert!(!text.contains("Limits"), "{text}");
    world.press("tab tab tab");
    assert!(!world.picture(120, 40).contains("Limits"));
}
