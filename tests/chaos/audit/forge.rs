//! Evidence that is made up: a run in which everything is right, and the means to tell others.

use serde_json::json;

use crate::analyser::{Line, What};
use crate::evidence::{Event, Evidence, History, Side, State, Step, Task};
use crate::fleet::{By, End};
use crate::journal::{Decide, Kind, Submit, Told};
use crate::texts::counts;

use State::{Canceled, Queued, Running, Submitted, Succeeded};

/// A task whose history is told step by step; its clock ticks once a step.
pub(super) struct Tale {
    history: History,
    side: Side,
    text: String,
}

impl Tale {
    /// As a submit leaves it.
    pub(super) fn begin(text: &str, state: State) -> Self {
        let side = Side {
            state,
            version: 0,
            claim_no: 0,
            attempt: 0,
            max_attempts: 3,
            owner: None,
            requested: false,
        };
        let history = History {
            steps: vec![Step { at: 0, began: 0, old: None, new: Some(side.clone()), owner: None }],
            ..History::default()
        };
        Self { history, side, text: text.to_owned() }
    }

    fn at(&self) -> i64 {
        self.side.version * 100
    }

    pub(super) fn step(mut self, owner: Option<(&str, i64)>, change: impl FnOnce(&mut Side)) -> Self {
        let old = self.side.clone();
        self.side.version += 1;
        change(&mut self.side);
        let at = self.at();
        let owner = owner.map(|(state, lease)| (state.to_owned(), lease));
        self.history.steps.push(Step {
            at,
            began: at - 1,
            old: Some(old),
            new: Some(self.side.clone()),
            owner,
        });
        self
    }

    pub(super) fn claim(self) -> Self {
        let lease = self.at() + 1_000;
        self.step(Some(("working", lease)), |side| {
            *side = Side {
                state: Running,
                claim_no: side.claim_no + 1,
                attempt: side.attempt + 1,
                owner: Some("one".to_owned()),
                ..side.clone()
            };
        })
    }

    pub(super) fn line(mut self, after: i64, what: What) -> Self {
        let at = self.at() + after;
        self.history.lines.push(Line { task: 1, claim_no: self.side.claim_no, pid: 1, at, what });
        self
    }

    pub(super) fn ran(self) -> Self {
        self.line(10, What::Start).line(20, What::End)
    }

    pub(super) fn event(mut self, act: &str, actor: &str, to: State) -> Self {
        let (from, before) = (self.side.state, self.side.version);
        let owner = (from == Running).then_some(("lost", self.at() + 50));
        self.history.events.push(Event {
            at: self.at() + 100,
            actor: actor.to_owned(),
            act: act.to_owned(),
            from,
            to,
            before,
            after: before + 1,
        });
        self.step(owner, |side| {
            side.state = to;
            side.requested = to == Running;
            if to == Queued {
                side.owner = None;
            }
            match act {
                "release" => side.attempt -= 1,
                "requeue" => side.attempt = 0,
                "recover" => side.owner = None,
                _ => {}
            }
        })
    }

    /// The last step left something else.
    pub(super) fn but(mut self, change: impl FnOnce(&mut Side)) -> Self {
        change(&mut self.side);
        self.history.steps.last_mut().expect("it has begun").new = Some(self.side.clone());
        self
    }

    pub(super) fn success(self) -> Self {
        self.step(Some(("working", 10_000)), |side| {
            side.state = Succeeded;
            side.requested = false;
        })
    }

    /// With the row as the history has left it.
    pub(super) fn end(mut self, id: i64, queue: &str) -> (i64, History) {
        let succeeded = self.side.state == Succeeded;
        self.history.task = Some(Task {
            queue: queue.to_owned(),
            counts: if succeeded { counts(&self.text) } else { [0; 3] },
            text: self.text,
            state: self.side.state,
            version: self.side.version,
            claim_no: self.side.claim_no,
            output: (succeeded && queue == "default").then(|| format!("{id}/{} is", self.side.claim_no)),
        });
        (id, self.history)
    }
}

pub(super) fn exit(code: i32, document: serde_json::Value) -> Told {
    Told::Exit { code, document }
}

pub(super) fn send(text: &str, key: Option<&str>, told: Told) -> Submit {
    Submit { at: 0, kind: Kind::One { key: key.map(str::to_owned) }, texts: vec![text.to_owned()], told }
}

pub(super) fn decide(operator: &str, verb: &'static str, row: (i64, Option<i64>), told: Told) -> Decide {
    Decide { at: 0, operator: operator.to_owned(), verb, rows: vec![row], told }
}

/// A run in which everything is right: task 1 was recovered and ran again, 2 was held and decided on by two at once,
/// 3 was canceled, and 4 and 5 came from a file of three lines whose answer was lost.
pub(super) fn right() -> Evidence {
    let one = Tale::begin("one", Queued).claim().line(10, What::Start).event("recover", "host", Queued);
    let mut one = one.claim().ran().success().end(1, "default");
    // The first run goes on although it is worth nothing any more.
    one.1.lines.push(Line { task: 1, claim_no: 1, pid: 1, at: 315, what: What::End });
    let two = Tale::begin("two words", Submitted).event("approve", "op-1", Queued).claim().success();
    let three =
        Tale::begin("three", Queued).event("cancel", "op-3", Canceled).event("requeue", "op-4", Queued);
    let four = Tale::begin("four", Queued).claim().success();
    let five = Tale::begin("five", Queued).claim().success();
    Evidence {
        tasks: [
            one,
            two.end(2, "counting"),
            three.event("cancel", "op-5", Canceled).end(3, "default"),
            four.end(4, "counting"),
            five.end(5, "counting"),
        ]
        .into(),
        submits: vec![
            send("one", Some("k"), exit(6, json!({}))),
            send("one", Some("k"), exit(0, json!({"created": false, "task": {"id": 1}}))),
            send("two words", None, exit(0, json!({"created": true, "task": {"id": 2}}))),
            send("three", None, Told::Killed),
            send("never", None, exit(5, json!({}))),
            Submit {
                at: 0,
                kind: Kind::Lines,
                texts: vec!["four".to_owned(), "five".to_owned()],
                told: exit(6, json!({"submitted": 0})),
            },
        ],
        decisions: vec![
            decide(
                "op-1",
                "approve",
                (2, Some(0)),
                exit(0, json!({"outcome": "committed", "task": {"id": 2, "status": "QUEUED", "version": 1}})),
            ),
            decide(
                "op-2",
                "reject",
                (2, Some(0)),
                exit(3, json!({"outcome": "conflict", "task": {"id": 2, "status": "QUEUED", "version": 1}})),
            ),
            decide("op-3", "cancel", (3, None), Told::Killed),
            decide("op-4", "requeue", (3, Some(1)), exit(6, json!({"outcome": "unknown"}))),
            decide(
                "op-5",
                "cancel",
                (3, Some(2)),
                exit(
                    0,
                    json!({"outcome": "committed", "task": {"id": 3, "status": "CANCELED", "version": 3}}),
                ),
            ),
            decide("op-6", "cancel", (99, Some(0)), exit(4, json!({"outcome": "not_found"}))),
            decide("op-7", "cancel", (1, Some(0)), exit(5, json!({"error": {"kind": "unavailable"}}))),
        ],
        // That number was another process's before and after.
        registered: vec![(7, 50), (8, 150), (7, 250)],
        cuts: 1,
        crashes: 1,
        losses: vec![(100, 99)],
        ends: vec![
            end(By::Kill, None),
            end(By::Drain, Some(1)),
            end(By::Itself, Some(5)),
            end(By::LastDrain, Some(0)),
            End { signal: Some(15), ..end(By::Drain, None) },
        ],
        ..Evidence::default()
    }
}

pub(super) fn task(evidence: &mut Evidence, id: i64) -> &mut Task {
    history(evidence, id).task.as_mut().expect("it is there")
}

pub(super) fn history(evidence: &mut Evidence, id: i64) -> &mut History {
    evidence.tasks.get_mut(&id).expect("it is there")
}

fn end(by: By, code: Option<i32>) -> End {
    let signal = code.is_none().then_some(9);
    End { name: "a".to_owned(), pid: 7, lived: (100, 200), by, code, signal }
}
