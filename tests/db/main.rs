//! The db floor against a real server.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod support;

#[path = "../support/proxy.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod proxy;

#[path = "../support/company.rs"]
mod company;

mod bulk;
mod claims;
mod connections;
mod decisions;
mod deliveries;
mod dropping;
mod drops;
mod finishes;
mod fleet;
mod four_eyes;
mod gate;
mod hosts;
mod leases;
mod limit_approvals;
mod limit_claims;
mod limits;
mod lists;
mod lost;
mod outbox;
mod overview;
mod pooler;
mod queues;
mod read_only;
mod retries;
mod roles;
mod row_security;
mod scene;
mod statements;
mod submits;
mod unknown;
mod writes;
