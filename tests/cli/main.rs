//! The built program against a real server: every command's text, JSON and exit code.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;

#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;

mod bulk;
mod config;
mod decide;
mod doctor;
mod errors;
mod events;
mod help;
mod hostile;
mod interrupted;
mod limits;
mod list_show;
mod lost_answers;
mod many;
mod outbox;
mod private;
mod queues;
mod runner;
mod status;
mod stop;
mod submit;
mod workers;
