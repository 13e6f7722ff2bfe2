//! Everything that speaks to `PostgreSQL`. May use `domain`.
//!
//! Invariants: every write is one conditional statement in `sql/`, and the number of rows it changed decides;
//! every step has a deadline; what comes back is a typed outcome ([`crate::domain::outcome`]) or a
//! [`DbError`] that says whether anything was applied.

pub mod conninfo;

mod audit;
mod bulk;
mod checkup;
mod claim;
mod connect;
mod decide;
mod error;
mod finish;
mod gate;
mod health;
mod instances;
pub mod lab;
mod limits;
mod listen;
mod measure;
mod migrate;
mod outbox;
mod overview;
mod pool;
pub mod private;
mod queues;
mod resolve;
mod row;
mod session;
pub mod sql;
mod stop;
mod submit;
mod tasks;
mod wakes;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub use bulk::Interrupted;
pub use checkup::{NeededTo, Privilege, ServerFacts};
pub use claim::{ClaimRequest, Claimed, Claims, KeptBack};
pub use connect::Access;
pub use error::{DbError, Retry, Trouble};
pub use finish::{Finish, FinishEnd, Release};
pub use instances::{Heartbeat, NewInstance, Recovered, Renewal, SignedOff};
pub use listen::{Listener, Wake};
pub use migrate::Migrated;
pub use outbox::{Confirmed, HeldDelivery};
pub use pool::{Limits, Param, Pool};
pub use resolve::OnUnknown;
pub use session::Session;
pub use sql::Schema;
pub use tasks::{ListQuery, Preview};

use connect::{Connector, Plans};
use conninfo::ConnInfo;
use measure::StatementTallies;
use sql::{Statement, Texts};

use crate::domain::observed::{PoolFigures, StatementFigures};
use crate::domain::process;

/// How to open a database.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the tables are.
    pub schema: Schema,
    /// Deadlines and sizes.
    pub limits: Limits,
    /// Whether the sessions are read-only.
    pub access: Access,
    /// What connections call themselves: `taskdeck ` is put before it, the pool's name behind it.
    pub application: String,
}

/// A database: its pools, and every statement as a method.
#[derive(Debug, Clone)]
pub struct Db {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    schema: Schema,
    operator: Pool,
    workers: Pool,
    listener: Connector,
    limits: Limits,
    statements: Arc<StatementTallies>,
    wakes: wakes::Wakes,
    fleet_wakes: wakes::Wakes,
    /// Whether tenants had limits of what runs when a claim was answered last.
    has_limits: AtomicBool,
    /// When a claim last waited in vain for the row of a limit.
    limit_held: Mutex<Option<Instant>>,
    /// Rung when this process may have written a notification.
    written: tokio::sync::Notify,
}

impl Db {
    /// Opens the pools and makes the first connection, so that a wrong address is an error now and not at the
    /// first call.
    ///
    /// # Errors
    /// `Unavailable` with what to do, if no connection can be made.
    pub async fn open(info: ConnInfo, options: Options) -> Result<Self, DbError> {
        let tls = conninfo::connector(&info)
            .map_err(|error| DbError::Unavailable(Trouble::new(error.to_string()).hint(error.hint())))?;
        let info = Arc::new(info);
        let Options { schema, limits, access, application } = options;
        let texts = Texts::new(&schema);
        let statements = Arc::<StatementTallies>::default();
        let theirs = info.config().get_application_name();
        let named = |pool: &str| process::session(&application, pool, theirs);
        let first = Connector::new(&info, tls, &named("operator"), &limits, Plans::Default, access);
        let pool = |name, size, connector| {
            Pool::new(name, size, connector, &limits, texts.clone(), Arc::clone(&statements))
        };
        let workers = first.sibling(&named("workers"), &limits, Plans::ByIndex);
        let listener = first.sibling(&named("listen"), &limits, Plans::Default);
        let db = Self {
            inner: Arc::new(Inner {
                operator: pool("operator", limits.operator_pool, first),
                workers: pool("workers", limits.workers_pool, workers),
                listener,
                schema,
                statements: Arc::clone(&statements),
                wakes: wakes::Wakes::default(),
                fleet_wakes: wakes::Wakes::default(),
                has_limits: AtomicBool::new(false),
                limit_held: Mutex::default(),
                written: tokio::sync::Notify::new(),
                limits: limits.clone(),
            }),
        };
        db.look_for_pooler().await?;
        Ok(db)
    }

    /// Some poolers refuse this program's session parameters, which making a connection notices; others swallow
    /// them, which only asking tells.
    async fn look_for_pooler(&self) -> Result<(), DbError> {
        let rows = self.inner.operator.query(sql::SESSION_DEADLINE, &[]).await?;
        let asked = i64::try_from(self.inner.limits.statement.as_millis()).unwrap_or(i64::MAX);
        let in_force = rows
            .first()
            .map(|row| row::get::<i64>(row, "statement_timeout_ms", "the session"))
            .transpose()?;
        if in_force == Some(asked) && !self.behind_pooler() {
            return Ok(());
        }
        self.inner.listener.mark_behind_pooler();
        if self.inner.listener.expects_writable() {
            return Ok(());
        }
        // Nobody may be told that the server enforces what it was never told.
        Err(DbError::Unavailable(
            Trouble::new(
                "a pooler in transaction mode takes no session settings, so nothing would enforce read-only",
            )
            .hint("connect directly, or leave out --read-only and use a role that may only read"),
        ))
    }

    /// The schema that the tables are in.
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    /// The deadlines in force.
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// The pool of the operator's reads and decisions.
    pub fn operator_pool(&self) -> &Pool {
        &self.inner.operator
    }

    /// The workers' pool.
    pub fn workers_pool(&self) -> &Pool {
        &self.inner.workers
    }

    /// Whether a pooler in transaction mode was found in between: then LISTEN delivers nothing and workers poll.
    pub fn behind_pooler(&self) -> bool {
        self.inner.listener.behind_pooler()
    }

    /// How both pools do.
    pub fn pool_figures(&self) -> Vec<PoolFigures> {
        vec![self.inner.operator.figures(), self.inner.workers.figures()]
    }

    /// How the statements do, most called first.
    pub fn statement_figures(&self) -> Vec<StatementFigures> {
        self.inner.statements.figures()
    }

    /// Asks the server to parse and plan `statement` without running it.
    ///
    /// # Errors
    /// What the server finds wrong with it.
    pub async fn prepare_check(&self, statement: Statement) -> Result<(), DbError> {
        let mut session = self.inner.operator.acquire().await?;
        let text = sql::render(statement.text, &self.inner.schema);
        let answer = session.client().prepare(&text).await.map(drop);
        session.settled();
        answer.map_err(|error| error::classify(&error, sql::Effect::Read))
    }

    /// Closes both pools; calls that are under way still end.
    pub fn close(&self) {
        self.inner.operator.close();
        self.inner.workers.close();
    }
}
