//! Instances are asked to stop once, as they were seen, and only their own rows say that they do.

mod answers;
mod asking;
mod here;
mod named;

use crate::app::acts::Phase;
use crate::app::footer::footer;
use crate::app::keys::Action;
use crate::app::log::Level;
use crate::app::message::{Confirmed, Message, WorkerEvent, WorkersEnded, WriteFailure};
use crate::app::overlay::Overlay;
use crate::app::question::Ask as _;
use crate::app::shutdown::said;
use crate::app::state::{Access, Screen};
use crate::app::stop::{StopQuestion, StopStanding};
use crate::app::testing::{Console, Line, asked, clock, local, process};
use crate::app::{Effect, RequestId, ShutdownMode, header};
use crate::domain::instance::SeenInstance;
use crate::domain::observed::LocalWorkers;
use crate::domain::outcome::{StopAnswer, StopVerdict, Stopping};
use crate::domain::{Instance, InstanceId, InstanceState, StopMode, StopRequest, TaskId};

const HERE: u128 = 0;
const WEB2: u128 = 2;
const WEB3: u128 = 3;

fn id(number: u128) -> InstanceId {
    InstanceId(uuid::Uuid::from_u128(number))
}

fn working(number: u128, host: &str) -> Instance {
    process(number, host, InstanceState::Working)
}

/// A console with the cursor on web2.
fn on_web2() -> Console {
    Console::fleet(vec![working(WEB2, "web2"), working(WEB3, "web3")])
}

fn question(console: &Console) -> &StopQuestion {
    match console.state.overlay() {
        Some(Overlay::Stop(question)) => question,
        other => panic!("no question: {other:?}, {}", console.notice()),
    }
}

fn stop(request: u64, mode: StopMode, instances: &[(u128, i64)], reason: Option<&str>) -> Effect {
    Effect::Stop {
        request: RequestId(request),
        mode,
        instances: instances
            .iter()
            .map(|(number, stop_version)| SeenInstance { id: id(*number), stop_version: *stop_version })
            .collect(),
        reason: reason.map(str::to_owned),
    }
}

fn by_bob(mode: StopMode, second: i64) -> StopRequest {
    StopRequest { mode, by: "bob".into(), at: clock(second), reason: Some("kernel".into()) }
}

fn stopping(number: u128, state: InstanceState, stop_version: i64, stop: Option<StopRequest>) -> Stopping {
    Stopping { id: id(number), label: "web2:991".into(), state, lease_past: false, stop_version, stop }
}

fn answer(console: &mut Console, request: u64, instances: Vec<(InstanceId, StopVerdict)>) {
    let answer = StopAnswer { mode: StopMode::Drain, instances, resolved_from_unknown: false, retries: 0 };
    console.send(Message::StopAnswered { request: RequestId(request), result: Ok(answer) });
}

fn fail(console: &mut Console, failure: WriteFailure) {
    console.send(Message::StopAnswered { request: RequestId(1), result: Err(failure) });
}

fn committed(number: u128) -> (InstanceId, StopVerdict) {
    let instance = stopping(number, InstanceState::Working, 1, Some(by_bob(StopMode::Drain, 0)));
    (id(number), StopVerdict::Committed { instance })
}

fn logged(console: &Console, text: &str) -> bool {
    console.state.log.entries.iter().any(|entry| entry.text.contains(text))
}
