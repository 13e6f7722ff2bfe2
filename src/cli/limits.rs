//! `taskdeck limits` and `limit`: how much of each tenant may run at once and be approved in a day, its use, and deciding
//! that.

use serde::Serialize;
use uuid::Uuid;

use super::args::TenantLimitArgs;
use super::exit::{Exit, Failure};
use super::open::{SchemaCheck, Session, open};
use super::outcome::{self, Answer, may_be_applied};
use super::run::Call;
use super::submit::{tell_unknown, value};
use super::table::Table;
use crate::config::whole;
use crate::domain::figure::thousands;
use crate::domain::limit::{
    LimitChange, LimitDecided, LimitDecision, LimitOutcome, LimitState, TenantLimits,
};
use crate::domain::{Name, OperationId};

/// How a limit that is none is written.
const NONE: &str = "none";

#[derive(Debug, Serialize)]
struct List {
    limits: Vec<TenantLimits>,
}

/// What a decision was about.
#[derive(Debug, Serialize)]
struct About<'a> {
    limit: Option<Named<'a>>,
}

#[derive(Debug, Serialize)]
struct Named<'a> {
    tenant: &'a str,
    #[serde(flatten)]
    state: &'a LimitState,
}

/// What is to be set; what was not named stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    max_running: Option<Limit>,
    max_approved_per_day: Option<Limit>,
}

/// One limit as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    None,
    AtMost(i64),
}

impl Limit {
    fn parse(text: &str) -> Result<Self, String> {
        if text == NONE {
            return Ok(Self::None);
        }
        whole(text, 0, i64::MAX).map(Self::AtMost).map_err(|problem| format!("{problem}, or {NONE}"))
    }

    const fn most(self) -> Option<i64> {
        match self {
            Self::None => None,
            Self::AtMost(most) => Some(most),
        }
    }
}

/// Prints every tenant for whom somebody has set a limit, with its use.
///
/// # Errors
/// What the database says.
pub(super) async fn list(call: &Call) -> Result<Exit, Failure> {
    let session = open(&call.settings, "limits", SchemaCheck::First).await?;
    let limits = session.db.tenant_limits(call.settings.tenant.as_ref().map(Name::as_str)).await;
    session.close().await;
    let list = List { limits: limits? };
    call.output.print(&list, || text(call, &list.limits))?;
    Ok(Exit::Done)
}

fn text(call: &Call, limits: &[TenantLimits]) -> String {
    if limits.is_empty() {
        return "no tenant has a limit\n".to_owned();
    }
    let heads = ["TENANT", "V", "RUNNING", "OF", "APPROVED TODAY", "OF", "BY"];
    let mut table = Table::new(&heads, &[1, 2, 3, 4, 5]);
    let most = |limit: Option<i64>| limit.map_or_else(|| NONE.to_owned(), thousands);
    for limit in limits {
        let LimitState { max_running, max_approved_per_day, version, changed: who } = &limit.state;
        let fields = vec![
            limit.tenant.clone(),
            version.to_string(),
            thousands(limit.running),
            most(*max_running),
            thousands(limit.approved_today),
            most(*max_approved_per_day),
            who.as_ref().map_or_else(|| "-".to_owned(), changed),
        ];
        match (limit.runs_all(), limit.approved_all()) {
            (true, _) => table.push_coloured(fields, 2, "33"),
            (false, true) => table.push_coloured(fields, 4, "33"),
            (false, false) => table.push(fields),
        }
    }
    table.render(call.output)
}

/// Who changed it last, when and why.
fn changed(change: &LimitChange) -> String {
    let why = change.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!("{} at {}{why}", change.by, change.at.strftime("%Y-%m-%d %H:%M:%SZ"))
}

/// Sets a tenant's limits, and says what became of it.
///
/// # Errors
/// A tenant or a limit that is named wrongly. What the database says is printed as the decision's outcome.
pub(super) async fn decide(call: &Call, args: &TenantLimitArgs) -> Result<Exit, Failure> {
    let (tenant, version) = named(&args.whose)?;
    let wanted = Wanted {
        max_running: value("--max-running", args.max_running.as_deref(), Limit::parse)?,
        max_approved_per_day: value(
            "--max-approved-per-day",
            args.max_approved_per_day.as_deref(),
            Limit::parse,
        )?,
    };
    if wanted.max_running.is_none() && wanted.max_approved_per_day.is_none() {
        return Err(Failure::usage("limit: say which: --max-running or --max-approved-per-day"));
    }
    if let Some(own) = call.settings.tenant.as_ref().filter(|own| **own != tenant) {
        return Err(Failure::new(
            Exit::Usage,
            "usage",
            format!("limit: --tenant is {own}, and this would be a limit of {tenant}"),
        )
        .hint("leave out --tenant (TASKDECK_TENANT, tenant in the configuration file)"));
    }
    outcome::write(
        call,
        "limit",
        |_| About { limit: None },
        async |session| {
            let decided = send(call, &tenant, version, wanted, args.reason.as_deref(), session).await?;
            print(call, &tenant, &decided)
        },
    )
    .await
}

/// Reads `TENANT` or `TENANT@VERSION`.
fn named(text: &str) -> Result<(Name, Option<i64>), Failure> {
    let (name, version) = text.split_once('@').map_or((text, None), |(name, v)| (name, Some(v)));
    let name = Name::new("tenant", name)?;
    let version = version
        .map(|version| whole(version, 0, i64::MAX))
        .transpose()
        .map_err(|problem| Failure::usage(format!("version of the limits of {name}: {problem}")))?;
    Ok((name, version))
}

async fn send(
    call: &Call,
    tenant: &Name,
    version: Option<i64>,
    wanted: Wanted,
    reason: Option<&str>,
    session: &Session,
) -> Result<LimitDecided, Failure> {
    // What was not named stays as it was read here: a change in between has another version, and is a conflict.
    let now = session.db.limit_state(tenant).await?;
    let decision = LimitDecision {
        tenant: tenant.clone(),
        max_running: wanted.max_running.map_or(now.max_running, Limit::most),
        max_approved_per_day: wanted.max_approved_per_day.map_or(now.max_approved_per_day, Limit::most),
        version: version.unwrap_or(now.version),
        operator: call.settings.operator.clone(),
        reason: reason.map(str::to_owned),
        operation: OperationId(Uuid::now_v7()),
    };
    session.db.decide_limit(&decision, &tell_unknown).await.map_err(|error| {
        may_be_applied(error, &format!("the limit of tenant {tenant}"), || {
            "`taskdeck limits` tells what it is, and who set it".to_owned()
        })
    })
}

fn print(call: &Call, tenant: &Name, decided: &LimitDecided) -> Result<Exit, Failure> {
    let state = &decided.state;
    let (words, version) = (state.words(), state.version);
    let (outcome, exit, message) = match decided.outcome {
        LimitOutcome::Committed => {
            ("committed", Exit::Done, format!("tenant {tenant}: {words} (v{version})"))
        }
        LimitOutcome::Conflict => {
            let who =
                state.changed.as_ref().map_or_else(String::new, |change| format!(" by {}", changed(change)));
            let message = format!("tenant {tenant}: it has {words} (v{version}){who}. Nothing was changed.");
            ("conflict", Exit::Conflict, message)
        }
    };
    let (resolved_from_unknown, retries) = (decided.resolved_from_unknown, decided.retries);
    let about = About { limit: Some(Named { tenant: tenant.as_str(), state }) };
    let answer = Answer { outcome, about, resolved_from_unknown, retries, message, error: None };
    outcome::print(call, &answer, std::slice::from_ref(&answer.message))?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_none() {
        assert_eq!(Limit::parse("none").map(Limit::most), Ok(None));
        assert_eq!(Limit::parse("0").map(Limit::most), Ok(Some(0)));
        for bad in ["", "-1", "None", "1.5", "9223372036854775808"] {
            assert!(Limit::parse(bad).expect_err(bad).contains("none"), "{bad}");
        }
    }
}
