use super::*;
use crate::domain::TextCounts;

fn ledger(slots: usize) -> Ledger {
    Ledger::new(InstanceId(uuid::Uuid::from_u128(1)), slots)
}

fn claimed(id: i64, claim_no: i64) -> Claimed {
    Claimed {
        id: TaskId(id),
        tenant: "default".to_owned(),
        claim_no,
        attempt: 1,
        max_attempts: 3,
        input: Ok("a b".to_owned()),
    }
}

fn success() -> End {
    End::Finish(FinishEnd::Success { counts: TextCounts::of("a b"), output: None })
}

fn ids(finishes: &[Finish]) -> Vec<i64> {
    finishes.iter().map(|finish| finish.id.0).collect()
}

/// What is to be given back, by claim.
fn returns(ledger: &Ledger) -> Vec<Claim> {
    ledger.releases(9).iter().map(|release| (release.id, release.claim_no)).collect()
}

#[test]
fn a_claim_is_run_once_however_often_it_is_told() {
    let (mut ledger, now) = (ledger(2), Instant::now());
    assert_eq!(ledger.admit(vec![claimed(1, 1)], now), [(TaskId(1), 1)]);
    assert_eq!(ledger.admit(vec![claimed(1, 1)], now), []);
    let (claim, _) = ledger.start(0, now).expect("a claim waits");
    assert_eq!(ledger.admit(vec![claimed(1, 1)], now), []);
    assert!(ledger.start(1, now).is_none());
    assert_eq!(ledger.returned(claim, success(), now), Returned::Success);
    assert_eq!(ledger.admit(vec![claimed(1, 1)], now), []);
    assert_eq!(ledger.returned(claim, success(), now), Returned::Discarded);
    assert_eq!(ids(&ledger.successes(9)), [1]);
    ledger.settle([claim]);
    assert!(ledger.is_empty() && ledger.successes(9).is_empty());
}

#[test]
fn room_is_the_free_slots_and_ahead_only_when_that_is_worth_a_claim() {
    let (mut ledger, now) = (ledger(2), Instant::now());
    assert_eq!(ledger.room(0, 500), 2);
    assert_eq!(ledger.room(10, 500), 12);
    assert_eq!(ledger.room(10, 5), 5);
    ledger.admit((1..=8).map(|id| claimed(id, 1)).collect(), now);
    assert_eq!(ledger.room(10, 500), 0, "8 wait, more than half of what is claimed ahead");
    ledger.start(0, now);
    ledger.start(1, now);
    assert_eq!(ledger.room(0, 500), 0);
    assert_eq!(ledger.room(12, 500), 6);
    ledger.close();
    assert_eq!(ledger.room(12, 500), 0);
}

#[test]
fn what_is_finished_faster_than_it_is_committed_does_not_pile_up() {
    let (mut ledger, now) = (ledger(1), Instant::now());
    for id in 1..=41 {
        assert!(ledger.room(10, 10) > 0, "{id}");
        ledger.admit(vec![claimed(id, 1)], now);
        let (claim, _) = ledger.start(0, now).expect("a claim waits");
        ledger.returned(claim, success(), now);
    }
    assert_eq!(ledger.room(10, 10), 0);
    ledger.settle([(TaskId(1), 1)]);
    assert_eq!(ledger.room(10, 10), 1);
}

#[test]
fn a_stopped_run_is_given_back_but_where_the_row_asked_for_it() {
    let (mut ledger, now) = (ledger(2), Instant::now());
    ledger.admit(vec![claimed(1, 1), claimed(2, 1)], now);
    let (one, _) = ledger.start(0, now).expect("one");
    let (two, started) = ledger.start(1, now).expect("two");
    let token = ledger.request(two).expect("it runs");
    token.request();
    assert!(started.cancel.is_requested());
    assert!(ledger.request(two).is_none(), "asked before");
    assert!(ledger.slots(now)[1].cancel_requested);
    assert_eq!(ledger.returned(one, End::Stopped, now), Returned::Release);
    assert_eq!(ledger.returned(two, End::Stopped, now), Returned::Other);
    assert_eq!(returns(&ledger), [one]);
    assert_eq!(ledger.releases(9), ledger.releases(9), "sent again it is the same release");
    assert_eq!(ids(&ledger.others(9)), [2]);
}

#[test]
fn a_cancel_of_what_has_not_begun_means_that_it_never_does() {
    let (mut ledger, now) = (ledger(1), Instant::now());
    ledger.admit(vec![claimed(1, 1)], now);
    assert!(ledger.request((TaskId(1), 1)).is_none());
    assert!(ledger.request((TaskId(9), 1)).is_none());
    assert!(ledger.start(0, now).is_none());
    assert_eq!(returns(&ledger), [(TaskId(1), 1)]);
}

#[test]
fn a_closed_ledger_gives_back_what_waits_and_what_still_comes() {
    let (mut ledger, now) = (ledger(1), Instant::now());
    ledger.admit(vec![claimed(1, 1), claimed(2, 1)], now);
    let (one, _) = ledger.start(0, now).expect("one");
    ledger.close();
    ledger.admit(vec![claimed(3, 1)], now);
    assert!(ledger.start(0, now).is_none());
    assert_eq!(returns(&ledger), [(TaskId(2), 1), (TaskId(3), 1)]);
    ledger.settle(returns(&ledger));
    assert_eq!(ledger.held(), [TaskId(1)]);
    ledger.returned(one, success(), now);
    ledger.settle([one]);
    assert!(ledger.is_empty());
}

#[test]
fn what_waits_long_behind_busy_slots_is_given_back() {
    let (mut ledger, now) = (ledger(1), Instant::now());
    ledger.admit(vec![claimed(1, 1), claimed(2, 1)], now);
    let (second, later) = (Duration::from_secs(1), now + Duration::from_secs(2));
    assert!(!ledger.give_back_stale(second, later), "a slot is free");
    ledger.start(0, now);
    assert!(!ledger.give_back_stale(second, now), "not long");
    assert!(ledger.give_back_stale(second, later));
    assert_eq!((returns(&ledger), ledger.buffered()), (vec![(TaskId(2), 1)], 0));
}

#[test]
fn a_lost_lease_discards_results_but_keeps_the_slots_busy() {
    let (mut ledger, now) = (ledger(2), Instant::now());
    ledger.admit(vec![claimed(1, 1), claimed(2, 1), claimed(3, 1)], now);
    let (one, _) = ledger.start(0, now).expect("one");
    let (two, _) = ledger.start(1, now).expect("two");
    ledger.returned(one, success(), now);
    let next = InstanceId(uuid::Uuid::from_u128(2));
    let loss = ledger.lose_lease(next);
    assert_eq!(loss.discarded, [TaskId(1), TaskId(2), TaskId(3)]);
    assert_eq!((loss.running.len(), ledger.instance()), (1, next));
    assert!(ledger.successes(9).is_empty() && ledger.start(0, now).is_none());
    assert_eq!(ledger.room(0, 9), 1, "the orphan occupies its slot");
    assert_eq!(ledger.slots(now).len(), 1);
    assert_eq!(ledger.held(), [TaskId(2)]);
    // Its task may come back to this very process, under another claim.
    ledger.admit(vec![claimed(2, 2)], now);
    let (again, _) = ledger.start(0, now).expect("claimed again");
    assert_eq!(ledger.returned(two, success(), now), Returned::Discarded);
    assert_eq!(ledger.returned(again, success(), now), Returned::Success);
    assert_eq!(ids(&ledger.successes(9)), [2]);
}

#[test]
fn one_that_cannot_be_committed_does_not_hold_up_the_others() {
    let (mut ledger, now) = (ledger(1), Instant::now());
    for id in 1..=3 {
        ledger.admit(vec![claimed(id, 1)], now);
        let (claim, _) = ledger.start(0, now).expect("a claim waits");
        ledger.returned(claim, success(), now);
    }
    ledger.put_back(&[(TaskId(1), 1)]);
    assert_eq!(ids(&ledger.successes(9)), [2, 3, 1]);
    ledger.settle([(TaskId(3), 1)]);
    assert_eq!(ids(&ledger.successes(9)), [2, 1]);
}

#[test]
fn a_slot_shows_its_last_run_as_finishing_until_the_database_has_answered() {
    let (mut ledger, now) = (ledger(1), Instant::now());
    ledger.admit(vec![claimed(1, 1)], now);
    let (claim, started) = ledger.start(0, now).expect("a claim waits");
    started.doing.now("counting");
    assert_eq!(ledger.slots(now)[0].doing, "counting");
    ledger.returned(claim, success(), now);
    assert!(ledger.slots(now)[0].finishing);
    ledger.settle([claim]);
    assert!(ledger.slots(now).is_empty());
}
