//! The lines that answer "is it well?": link, age of the data, oldest due task, rates, counts, own workers.
//! When something is wrong a line changes its shape (reverse video) and says so in words.

use ratatui::layout::Rect;

use super::facts::{Fact, Facts};
use super::figures::{spark, tally};
use crate::app::header::{Header, Well};
use crate::app::link::Link;
use crate::app::message::FailureCause;
use crate::app::state::{Access, State};
use crate::domain::Status;
use crate::domain::figure;
use crate::domain::observed::OldestDue;
use crate::ui::glyphs::Glyphs;
use crate::ui::paint::{Paint, nth, plain, span};
use crate::ui::theme::Role;

/// From so many columns on, words instead of abbreviations.
const WIDE: u16 = 110;

/// From so many columns on, a link that is lost says when it is tried again.
const FULL_LINK: u16 = 64;

/// How many lines the header takes: one more while there is trouble that a person should read.
pub(super) fn height(state: &State, header: &Header, area: Rect) -> u16 {
    match area.height {
        0..8 => 1,
        8..12 => 2,
        _ => 2 + u16::from(trouble(state, header).or_else(|| kept(state, header, area.width)).is_some()),
    }
}

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, header: &Header, area: Rect) {
    let wide = area.width >= WIDE;
    let first = nth(area, 0);
    if area.height == 1
        && matches!(state.link, Link::Ok)
        && let Some(text) = trouble(state, header)
    {
        paint.line(first, &[span(format!(" {text}"), Role::Trouble)]);
        return paint.tint(first, Role::Trouble);
    }
    let lost = header.health == Well::No;
    let facts = if wide { link_wide(state, header) } else { link_narrow(state, header, area.width) };
    if lost {
        // Reversed whole, so that it shows from across the room; the words say what a colour could not.
        facts.looking(Role::Trouble).draw(paint, first);
        paint.tint(first, Role::Trouble);
    } else {
        facts.draw(paint, first);
    }
    if area.height == 1 {
        return;
    }
    let facts = figures(state, header, paint.glyphs, area.width);
    let facts = if lost { facts.looking(Role::Faint) } else { facts };
    facts.draw(paint, nth(area, 1));
    if area.height > 2
        && let Some(text) = trouble(state, header)
    {
        let line = nth(area, 2);
        paint.line(line, &[span(format!(" {text}"), Role::Trouble)]);
        paint.tint(line, Role::Trouble);
    } else if area.height > 2
        && let Some(text) = kept(state, header, area.width)
    {
        paint.line(nth(area, 2), &[span(format!(" {text}"), Role::Attention)]);
    }
}

/// That what has waited longest waits for a person, or for its tenant's limit, where the line of figures has no room to
/// say so.
fn kept(state: &State, header: &Header, width: u16) -> Option<String> {
    let overview = &state.overview.as_ref()?.value;
    let is_kept = |oldest: &OldestDue| oldest.paused_by.is_some() || oldest.at_limit.is_some();
    let waits = overview.oldest_due.as_ref().is_some_and(is_kept) && header.oldest_health == Well::Doubtful;
    (waits && width < WIDE && matches!(state.link, Link::Ok)).then(|| header.oldest.clone())
}

/// What is wrong besides the link, in full words; the gravest first.
fn trouble(state: &State, header: &Header) -> Option<String> {
    if header.workers_health == Well::No {
        let why = state.local.as_ref().and_then(|local| local.value.trouble.as_deref());
        return Some(match why {
            Some(why) => format!("workers here cannot work: {why}"),
            None => format!("{}: what they run may be run again elsewhere", header.workers),
        });
    }
    if !matches!(state.link, Link::Ok) {
        return None;
    }
    let failures = [("", &state.list.failure), ("the counts ", &state.overview_failure)];
    let refused = failures
        .into_iter()
        .filter_map(|(what, failure)| Some((what, failure.as_ref()?)))
        .find(|(_, failure)| failure.cause == FailureCause::Refused);
    if let Some((what, failure)) = refused {
        let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        return Some(format!("{what}cannot be read: {}{hint}", failure.message));
    }
    (header.oldest_health == Well::No).then(|| header.oldest.clone())
}

fn access_role(state: &State) -> Role {
    match state.session.access {
        Access::ReadWrite => Role::Plain,
        Access::ReadOnly { .. } => Role::Bad,
    }
}

fn link_role(state: &State) -> Role {
    if matches!(state.link, Link::Ok) { Role::Good } else { Role::Plain }
}

fn link_wide(state: &State, header: &Header) -> Facts {
    let mut facts = Facts::new(vec![
        Fact::word(5, "taskdeck", Role::Running),
        Fact::word(0, &header.link, link_role(state)),
        Fact::word(4, &header.database, Role::Plain),
    ]);
    match &state.link {
        Link::NoAnswer { message, .. } => facts.left.push(Fact::word(7, message, Role::Plain)),
        _ => facts.left.extend(header.server.as_ref().map(|server| Fact::word(6, server, Role::Faint))),
    }
    facts.right = vec![
        Fact::word(3, &header.operator, Role::Plain),
        Fact::word(2, header.access, access_role(state)),
        Fact::word(1, format!("{:>14}", header.data), Role::Plain),
    ];
    facts
}

fn link_narrow(state: &State, header: &Header, width: u16) -> Facts {
    let whole = header.health == Well::No && width >= FULL_LINK;
    let link = if whole { &header.link } else { &header.link_short };
    let mut facts = Facts::new(vec![
        Fact::word(6, "taskdeck", Role::Running),
        Fact::word(0, link, link_role(state)),
        Fact::word(4, &header.database_short, Role::Plain),
    ]);
    let who = format!("{} {}", header.operator, header.access_short);
    let data = header.data.strip_suffix(" old").unwrap_or(&header.data);
    facts.right = vec![
        workers(header, 3, 6),
        Fact::word(5, who, access_role(state)),
        Fact::word(1, format!("{data:>10}"), Role::Plain),
    ];
    facts
}

/// This process's workers, and who asked them to stop where there is room.
fn workers(header: &Header, rank: u8, rank_of_asked: u8) -> Fact {
    let asked = header.workers_asked.iter().map(|text| span(text, Role::Attention)).collect();
    Fact::word(rank, &header.workers, role_of(header.workers_health)).then(rank_of_asked, asked)
}

/// The second line: numbers with what they are, each in a place of fixed width.
fn figures(state: &State, header: &Header, glyphs: &Glyphs, width: u16) -> Facts {
    let wide = width >= WIDE;
    let history = if width >= 160 { 12 } else { 5 };
    let Some(tallies) = &header.tallies else {
        let why = match &state.overview_failure {
            Some(failure) => format!("counts could not be read: {}", failure.message),
            None => "counts not read yet".to_owned(),
        };
        return Facts::new(vec![Fact::word(0, why, Role::Faint)]);
    };
    // Why it waits is said where it does not go away by itself: as long as it is short here, else in a line
    // of its own. The places are as wide as the longest usual wait, so that nothing behind them moves.
    let oldest = match header.oldest_health {
        Well::Doubtful if wide => header.oldest.clone(),
        _ if wide => format!("{:<15}", header.oldest.split(':').next().unwrap_or_default()),
        _ => format!("{:<8}", header.oldest_short),
    };
    let mut left = vec![Fact::word(0, oldest, role_of(header.oldest_health))];
    let failing = header.failed_per_min.unwrap_or(0.0);
    let failed = format!("{:>3}{}", figure::rate(failing), if wide { "/min" } else { "/m" });
    let failed_role = if failing >= 0.05 { Role::Bad } else { Role::Plain };
    let failed = Fact::figure(1, if wide { "failed" } else { "fail" }, &failed, failed_role);
    let done = format!("{:>3}/s", figure::rate(header.done_per_s.unwrap_or(0.0)));
    let done = Fact::figure(2, if wide { "done" } else { "" }, &done, Role::Plain);
    left.push(done.then(7, spark(&state.done_history, glyphs, history)));
    left.push(failed.then(7, spark(&state.failed_history, glyphs, history)));
    for (status, long, short, digits, rank) in [
        (Status::Queued, "queued", "q", 5, 3),
        (Status::Running, "running", "run", 3, 3),
        (Status::Submitted, "held", "held", 2, 4),
    ] {
        let held = tallies.of(status);
        // What is held waits for a person, so it is the one count that may call.
        let calls = status == Status::Submitted && held.count > 0;
        let role = if calls { Role::Attention } else { Role::Plain };
        let count = format!("{:>digits$}", tally(held));
        left.push(Fact::figure(rank, if wide { long } else { short }, &count, role));
    }
    if wide {
        left.push(workers(header, 4, 5));
    }
    for (status, word, rank) in [
        (Status::Succeeded, "done", 5),
        (Status::Failed, "failed", 5),
        (Status::Canceled, "canceled", 8),
        (Status::Rejected, "rejected", 9),
    ] {
        let count = tally(tallies.of(status));
        left.push(Fact::of(rank, vec![plain(count), span(format!(" {word}"), Role::Faint)]));
    }
    Facts::new(left)
}

const fn role_of(well: Well) -> Role {
    match well {
        Well::Yes => Role::Plain,
        Well::Doubtful => Role::Attention,
        Well::No => Role::Trouble,
    }
}
