//! Plain data and pure functions: what a task is, which moves it may make, how an outcome is named.
//!
//! Invariant: nothing here reads a clock, does I/O or knows that a database or a terminal exists; every
//! other floor may use it and it uses none of them.

pub mod audit;
pub mod backoff;
pub mod bulk;
pub mod counts;
pub mod decision;
pub mod event;
pub mod figure;
pub mod handed;
pub mod input;
pub mod instance;
pub mod json;
pub mod lab;
pub mod limit;
pub mod observed;
pub mod outbox;
pub mod outcome;
pub mod process;
pub mod queue;
pub mod status;
pub mod task;
pub mod text;

pub use backoff::Backoff;
pub use counts::TextCounts;
pub use decision::{Approval, Decision, DecisionKind, Seen};
pub use event::{Event, LastChange};
pub use input::{Name, NewTask, Refusal};
pub use instance::{Instance, InstanceId, InstanceState, StopMode, StopRequest};
pub use process::Process;
pub use status::Status;
pub use task::{OperationId, Task, TaskId};
