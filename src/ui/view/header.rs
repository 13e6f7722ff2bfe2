//! The lines that answer "is it well?": link, age of the data, oldest due task, rates, counts, own workers.
//! When something is wrong the line changes its shape (reverse video) and says so in words.

use ratatui::layout::Rect;

use super::facts::{Fact, Facts};
use super::figures::{since, spark, tally};
use crate::app::link::{Link, Wakes};
use crate::app::message::FailureCause;
use crate::app::state::{Access, Screen, State};
use crate::domain::InstanceState;
use crate::domain::Status;
use crate::domain::figure;
use crate::ui::glyphs::Glyphs;
use crate::ui::paint::{Paint, nth, plain, span};
use crate::ui::theme::Role;

/// From so many columns on, words instead of abbreviations.
const WIDE: u16 = 110;

/// How many lines the header takes: one more while there is trouble that a person should read.
pub(super) fn height(state: &State, area: Rect) -> u16 {
    match area.height {
        0..8 => 1,
        8..12 => 2,
        _ => 2 + u16::from(trouble(state).is_some()),
    }
}

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let wide = area.width >= WIDE;
    let first = nth(area, 0);
    let well = matches!(state.link, Link::Ok { .. });
    let link = if wide { link_wide(state) } else { link_narrow(state) };
    if well || matches!(state.link, Link::Connecting { attempts: 0 }) {
        link.draw(paint, first);
    } else {
        // Reversed whole, so that it shows from across the room; the words say what a colour could not.
        link.looking(Role::Trouble).draw(paint, first);
        paint.tint(first, Role::Trouble);
    }
    if area.height == 1 {
        return;
    }
    let stale = matches!(state.link, Link::NoAnswer { .. });
    let figures = figures(state, paint.glyphs, area.width);
    let figures = if stale { figures.looking(Role::Faint) } else { figures };
    figures.draw(paint, nth(area, 1));
    if area.height > 2
        && let Some(text) = trouble(state)
    {
        let line = nth(area, 2);
        paint.line(line, &[span(format!(" {text}"), Role::Trouble)]);
        paint.tint(line, Role::Trouble);
    }
}

/// What is wrong besides the link, if anything is; the gravest first.
fn trouble(state: &State) -> Option<String> {
    if let Some(local) = &state.local {
        if let Some(why) = &local.value.trouble {
            return Some(format!("workers here cannot work: {why}"));
        }
        if local.value.lease_left.is_zero() && local.value.state.is_alive() {
            return Some("the lease of the workers here has passed: what they run may be run again elsewhere".to_owned());
        }
    }
    if !matches!(state.link, Link::Ok { .. }) {
        return None;
    }
    let failures = [&state.list.failure, &state.overview_failure, &state.instances.failure];
    let refused = failures.into_iter().flatten().find(|failure| failure.cause == FailureCause::Refused);
    if let Some(failure) = refused {
        let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        return Some(format!("not readable: {}{hint}", failure.message));
    }
    let oldest = state.overview.as_ref()?.value.oldest_due.as_ref()?;
    (oldest.takers == 0).then(|| {
        let waiting = figure::age(std::time::Duration::from_millis(oldest.waiting_ms.unsigned_abs()));
        format!("task {} has been due for {waiting}: {}", oldest.id, oldest.why())
    })
}

/// When what this screen shows was read.
fn read_at(state: &State) -> Option<std::time::Duration> {
    let overview = state.overview.as_ref().map(|read| read.arrived);
    match state.screen {
        Screen::Tasks => state.list.read.map(|stamp| stamp.arrived),
        Screen::Workers => state.instances.read.as_ref().map(|read| read.arrived),
        Screen::Database => state.health.read.as_ref().map(|read| read.arrived),
        Screen::Log => overview,
    }
}

fn data_age(state: &State) -> Option<String> {
    read_at(state).map(|arrived| figure::data_age(state.since(arrived)))
}

fn access(state: &State) -> (&'static str, &'static str) {
    match state.session.access {
        Access::ReadWrite => ("read-write", "rw"),
        Access::ReadOnly { .. } => ("READ-ONLY", "RO"),
    }
}

fn link_wide(state: &State) -> Facts {
    let session = &state.session;
    let mut facts = Facts::new(vec![Fact::word(0, "taskdeck", Role::Running)]);
    let age = data_age(state);
    let data = match &state.link {
        Link::Ok { wakes } => {
            let link = if *wakes == Wakes::Told { "link ok" } else { "link ok (polling)" };
            facts.left.push(Fact::word(1, link, Role::Good));
            facts.left.push(Fact::word(2, &session.database, Role::Plain));
            facts.left.extend(session.server.as_ref().map(|server| Fact::word(6, server, Role::Faint)));
            age.map_or_else(|| "reading…".to_owned(), |age| format!("data {age:>5} old"))
        }
        Link::Connecting { attempts } => {
            facts.left.push(Fact::word(1, connecting(*attempts), Role::Plain));
            facts.left.push(Fact::word(2, &session.database, Role::Plain));
            "no data yet".to_owned()
        }
        Link::NoAnswer { .. } => {
            facts.left.push(Fact::word(1, no_answer(state), Role::Plain));
            age.map_or_else(|| "NO DATA".to_owned(), |age| format!("DATA {age} OLD"))
        }
    };
    facts.right = vec![
        Fact::word(4, &session.operator, Role::Plain),
        Fact::word(3, access(state).0, access_role(state)),
        Fact::word(1, data, Role::Plain),
    ];
    facts
}

fn link_narrow(state: &State) -> Facts {
    let session = &state.session;
    let mut facts = Facts::new(vec![Fact::word(8, "taskdeck", Role::Running)]);
    let age = data_age(state);
    let data = match &state.link {
        Link::Ok { wakes } => {
            facts.left.push(Fact::word(1, if *wakes == Wakes::Told { "ok" } else { "ok, polling" }, Role::Good));
            facts.left.push(Fact::word(4, &session.database_short, Role::Plain));
            age.map_or_else(|| "reading…".to_owned(), |age| format!("data {age:>5}"))
        }
        Link::Connecting { attempts } => {
            facts.left.push(Fact::word(1, connecting(*attempts), Role::Plain));
            facts.left.push(Fact::word(4, &session.database_short, Role::Plain));
            "no data yet".to_owned()
        }
        Link::NoAnswer { .. } => {
            facts.left.push(Fact::word(1, no_answer_short(state), Role::Plain));
            age.map_or_else(|| "NO DATA".to_owned(), |age| format!("DATA {age} OLD"))
        }
    };
    let who = format!("{} {}", session.operator, access(state).1);
    facts.right = vec![Fact::word(5, who, access_role(state)), Fact::word(2, data, Role::Plain)];
    facts
}

fn access_role(state: &State) -> Role {
    match state.session.access {
        Access::ReadWrite => Role::Plain,
        Access::ReadOnly { .. } => Role::Bad,
    }
}

fn connecting(attempts: u32) -> String {
    match attempts {
        0 => "connecting…".to_owned(),
        1 => "NO ANSWER yet, 1 try failed".to_owned(),
        tries => format!("NO ANSWER yet, {tries} tries failed"),
    }
}

fn ordinal(n: u32) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

fn next_try(state: &State, at: std::time::Duration) -> String {
    let left = at.saturating_sub(state.now);
    if left.is_zero() { "trying".to_owned() } else { format!("next try in {}", since(left)) }
}

fn no_answer(state: &State) -> String {
    let Link::NoAnswer { since: from, attempts, next_try: at, message } = &state.link else {
        return String::new();
    };
    format!(
        "NO ANSWER from {} for {}, {} ({}): {message}",
        state.session.database_short,
        since(state.since(*from)),
        next_try(state, *at),
        ordinal(attempts + 1),
    )
}

fn no_answer_short(state: &State) -> String {
    let Link::NoAnswer { since: from, attempts, next_try: at, .. } = &state.link else {
        return String::new();
    };
    format!("NO ANSWER for {}, {} ({})", since(state.since(*from)), next_try(state, *at), ordinal(attempts + 1))
}

/// The second line.
fn figures(state: &State, glyphs: &Glyphs, width: u16) -> Facts {
    let wide = width >= WIDE;
    let mut left = Vec::new();
    let Some(overview) = &state.overview else {
        let why = match &state.overview_failure {
            Some(failure) => format!("counts not known: {}", failure.message),
            None => "counts not read yet".to_owned(),
        };
        return Facts::new(vec![Fact::word(0, why, Role::Faint)]);
    };
    let read = &overview.value;
    // Between two reads the wait goes on.
    let waiting = read.oldest_due.as_ref().map(|due| {
        std::time::Duration::from_millis(due.waiting_ms.unsigned_abs()) + state.since(overview.arrived)
    });
    let due = waiting.map_or_else(|| "none".to_owned(), since);
    let due_role = match &read.oldest_due {
        Some(due) if due.takers == 0 => Role::Trouble,
        Some(due) if due.waiting_ms >= 60_000 => Role::Attention,
        _ => Role::Plain,
    };
    left.push(Fact::figure(0, if wide { "oldest due" } else { "due" }, &format!("{due:>4}"), "", due_role));
    let done = format!("{:>5}", figure::rate(read.done_per_s));
    let done = Fact::figure(2, if wide { "done" } else { "" }, &done, "/s", Role::Plain);
    left.push(done.then(7, spark(&state.done_history, glyphs, history_places(width))));
    let failing = if read.failed_per_min >= 0.05 { Role::Bad } else { Role::Plain };
    let failed = format!("{:>3}", figure::rate(read.failed_per_min));
    let unit = if wide { "/min" } else { "/m" };
    let failed = Fact::figure(1, if wide { "failed" } else { "fail" }, &failed, unit, failing);
    left.push(failed.then(7, spark(&state.failed_history, glyphs, history_places(width))));
    for (status, long, short, digits, rank) in [
        (Status::Queued, "queued", "q", 5, 3),
        (Status::Running, "running", "run", 3, 3),
        (Status::Submitted, "held", "held", 2, 4),
    ] {
        let tally = read.tallies.of(status);
        // What is held waits for a person, so it is the one count that may call.
        let calls = status == Status::Submitted && tally.count > 0;
        let role = if calls { Role::Attention } else { Role::Plain };
        let count = format!("{:>digits$}", self::tally(tally));
        left.push(Fact::figure(rank, if wide { long } else { short }, &count, "", role));
    }
    left.push(here(state));
    for (status, word, rank) in [
        (Status::Succeeded, "done", 5),
        (Status::Failed, "failed", 5),
        (Status::Canceled, "canceled", 8),
        (Status::Rejected, "rejected", 9),
    ] {
        let tally = self::tally(read.tallies.of(status));
        left.push(Fact::of(rank, vec![plain(tally), span(format!(" {word}"), Role::Faint)]));
    }
    Facts::new(left)
}

fn history_places(width: u16) -> usize {
    if width >= 160 { 12 } else { 5 }
}

/// This process's workers.
fn here(state: &State) -> Fact {
    let Some(local) = &state.local else {
        let word = if state.session.workers == 0 { "here: watching" } else { "here: starting" };
        return Fact::word(6, word, Role::Faint);
    };
    let (busy, slots) = (local.value.running.len(), local.value.slots);
    match local.value.state {
        InstanceState::Working => Fact::figure(4, "here", &format!("{busy}/{slots}"), " busy", Role::Plain),
        InstanceState::Watching => Fact::word(6, "here: watching", Role::Faint),
        InstanceState::Draining | InstanceState::Canceling => {
            Fact::word(4, format!("here {}, {busy} left", local.value.state.as_str()), Role::Attention)
        }
        InstanceState::Stopped => Fact::word(4, "here stopped", Role::Bad),
        InstanceState::Lost => Fact::word(4, "here LOST", Role::Trouble),
    }
}
