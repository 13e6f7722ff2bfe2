//! Screen 3: both pools, the statements, the server, and who waits for whom.

use std::time::Duration;

use ratatui::layout::Rect;

use super::detail::read_ago;
use super::dialog::{Line, wrapped};
use super::figures::{clock, ms};
use super::table::{self, Cell};
use crate::app::state::State;
use crate::domain::figure;
use crate::domain::observed::{Health, LockWait, PoolFigures, StatementFigures};
use crate::ui::columns::{Column, lay_out};
use crate::ui::paint::{Paint, below, cells, inset, nth, plain, span};
use crate::ui::theme::Role;

const POOL: [Column; 7] = [
    Column::words("POOL", 9, 9, 0),
    Column::number("SIZE", 7, 3),
    Column::number("IN USE", 6, 0),
    Column::number("FREE", 4, 4),
    Column::number("WAITING", 7, 0),
    Column::number("WAIT p50/p99", 17, 2),
    Column::number("TIMED OUT", 9, 1),
];

const STATEMENT: [Column; 6] = [
    Column::words("STATEMENT", 12, 22, 0),
    Column::number("/s", 5, 2),
    Column::number("p50", 7, 1),
    Column::number("p99", 7, 0),
    Column::number("rows", 6, 4),
    Column::number("errors", 6, 3),
];

/// From here on an open transaction is worth a look.
const LONG: Duration = Duration::from_mins(5);

/// An error may be long: it must not push the pools off the screen.
const OUTBOX_LINES: usize = 2;

/// From so many columns on, pools and statements stand side by side.
const SIDE_BY_SIDE: u16 = 130;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let area = inset(area, 1);
    let pools = state.figures.as_ref().map_or(0, |read| read.value.pools.len());
    // A hundred sessions that wait for one must not push the pools off the screen.
    let room = usize::from(area.height).saturating_sub(pools + 9).max(2);
    let server = server_lines(paint, state, usize::from(area.width), room);
    let server_height = cells(server.len() + 1).min(area.height);
    let pools_height = cells(pools + 2).min(area.height.saturating_sub(server_height));
    // What is wrong stands first: who waits for whom decides whether the rest matters.
    draw_lines(paint, Rect { height: server_height, ..area }, &server);
    let rest = below(area, server_height);
    if area.width >= SIDE_BY_SIDE {
        pools_table(paint, state, Rect { width: area.width / 2 - 1, ..rest });
        statements(paint, state, inset(rest, area.width / 2 + 1));
    } else {
        pools_table(paint, state, Rect { height: pools_height, ..rest });
        statements(paint, state, below(rest, pools_height));
    }
    if super::tasks::is_stale(state) || state.health.failure.is_some() {
        paint.tint(Rect { height: server_height, ..area }, Role::Faint);
    }
}

fn draw_lines(paint: &mut Paint<'_>, area: Rect, lines: &[Line]) {
    for (place, line) in lines.iter().take(usize::from(area.height)).enumerate() {
        paint.line(nth(area, cells(place)), line);
    }
}

/// Room for the names at the left.
const LEAD: usize = 8;

fn server_lines(paint: &mut Paint<'_>, state: &State, width: usize, room: usize) -> Vec<Line> {
    let Some(read) = &state.health.read else {
        let text = match &state.health.failure {
            Some(failure) => format!("The server's state could not be read: {}", failure.message),
            None => "Reading the server's state…".to_owned(),
        };
        return vec![vec![plain(text)]];
    };
    let health = &read.value;
    let standing = if health.is_replica { "standby" } else { "primary" };
    let read_only = if health.is_read_only { ", read-only" } else { "" };
    let server = format!(
        "PostgreSQL {} {standing}{read_only}, database {} as {}, {}",
        health.server_version, health.database, health.role, health.isolation
    );
    let odd = health.is_replica || health.is_read_only;
    let mut lines = told("SERVER", &server, if odd { Role::Running } else { Role::Plain }, width);
    lines.extend(connections(health, width));
    lines.extend(oldest(state, health, width));
    if let Some(outbox) = state.overview.as_ref().and_then(|read| read.value.outbox.as_ref()) {
        let role = if outbox.failing > 0 { Role::Attention } else { Role::Plain };
        lines.extend(told("OUTBOX", &outbox.words(), role, width).into_iter().take(OUTBOX_LINES));
    }
    lines.push(Vec::new());
    if health.waits.is_empty() {
        lines.extend(told("WAITS", "nobody waits for a lock", Role::Plain, width));
    }
    let before = lines.len();
    let mut shown = 0;
    for (index, wait) in health.waits.iter().enumerate().skip(state.health.offset) {
        let label = if index == state.health.offset { "WAITS" } else { "" };
        let wait = told(label, &waits(wait), Role::Running, width);
        if shown > 0 && lines.len() - before + wait.len() > room {
            let more = format!("and {} more", health.waits.len() - index);
            lines.extend(told("", &more, Role::Running, width));
            break;
        }
        lines.extend(wait);
        shown += 1;
    }
    paint.viewport.list_rows = shown.max(1);
    lines.push(vec![span(format!("{:>width$}", read_ago(state, read.arrived)), Role::Faint)]);
    lines
}

/// A text after its name, wrapped: what stands at its end is often what is looked for.
fn told(name: &str, text: &str, role: Role, width: usize) -> Vec<Line> {
    wrapped(text, width.saturating_sub(LEAD), role)
        .into_iter()
        .enumerate()
        .map(|(place, piece)| {
            let mut line = vec![span(format!("{:<LEAD$}", if place == 0 { name } else { "" }), Role::Faint)];
            line.extend(piece);
            line
        })
        .collect()
}

fn connections(health: &Health, width: usize) -> Vec<Line> {
    let nearly_full = health.connections * 10 >= health.max_connections * 9;
    let text = format!(
        "connections {} of {} (ours {}) · about {} dead rows in tasks",
        figure::thousands(health.connections),
        figure::thousands(health.max_connections),
        health.ours,
        figure::short(health.dead_rows)
    );
    told("", &text, if nearly_full { Role::Attention } else { Role::Plain }, width)
}

/// A transaction that stays open holds back vacuum, and with it the speed of claims.
fn oldest(state: &State, health: &Health, width: usize) -> Vec<Line> {
    let Some(old) = &health.oldest_transaction else {
        return told("", "no other transaction is open", Role::Plain, width);
    };
    let since_read = state.health.read.as_ref().map_or(Duration::ZERO, |read| state.since(read.arrived));
    let open = ms(old.open_ms) + since_read;
    let long = open >= LONG;
    let text = format!(
        "oldest transaction {} pid {} ({} as {}, {}){}",
        clock(open),
        old.pid,
        name(&old.application),
        old.role,
        old.state,
        if long { ": holds back vacuum, claims slow down" } else { "" }
    );
    told("", &text, if long { Role::Attention } else { Role::Plain }, width)
}

fn name(application: &str) -> &str {
    if application.is_empty() { "no name" } else { application }
}

fn waits(wait: &LockWait) -> String {
    format!(
        "{} pid {} has waited {} for a {} lock held by pid {} ({})",
        name(&wait.application),
        wait.pid,
        clock(ms(wait.waiting_ms)),
        wait.lock,
        wait.blocked_by,
        name(&wait.blocker_application),
    )
}

fn pools_table(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let Some(read) = &state.figures else {
        paint.line(nth(area, 0), &[span("This process's pools are not read yet", Role::Faint)]);
        return;
    };
    let places = lay_out(area.width, &POOL);
    table::headings(paint, nth(area, 0), &POOL, &places);
    for (place, pool) in read.value.pools.iter().enumerate() {
        table::row(paint, nth(area, cells(place + 1)), &POOL, &places, &pool_row(pool));
    }
}

fn pool_row(pool: &PoolFigures) -> [Cell; 7] {
    let waiting = if pool.waiting > 0 { Role::Attention } else { Role::Plain };
    let timed_out = if pool.timed_out > 0 { Role::Bad } else { Role::Plain };
    [
        Cell::plain(pool.name),
        Cell::plain(format!("{}/{}", pool.size, pool.max)),
        Cell::plain(pool.in_use.to_string()),
        Cell::plain(pool.size.saturating_sub(pool.in_use).to_string()),
        Cell::new(pool.waiting.to_string(), waiting),
        Cell::plain(format!("{} / {}", figure::wait(pool.wait_p50), figure::wait(pool.wait_p99))),
        Cell::new(pool.timed_out.to_string(), timed_out),
    ]
}

fn statements(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let Some(read) = &state.figures else { return };
    let places = lay_out(area.width, &STATEMENT);
    table::headings(paint, nth(area, 0), &STATEMENT, &places);
    let rows = below(area, 1);
    for (place, statement) in read.value.statements.iter().take(usize::from(rows.height)).enumerate() {
        table::row(paint, nth(rows, cells(place)), &STATEMENT, &places, &statement_row(statement));
    }
}

fn statement_row(statement: &StatementFigures) -> [Cell; 6] {
    let count = |count: u64| figure::short(i64::try_from(count).unwrap_or(i64::MAX));
    let errors = if statement.errors > 0 { Role::Bad } else { Role::Plain };
    [
        Cell::plain(statement.name),
        Cell::plain(figure::rate(statement.per_s)),
        Cell::plain(figure::wait(statement.p50)),
        Cell::plain(figure::wait(statement.p99)),
        Cell::plain(count(statement.rows)),
        Cell::new(count(statement.errors), errors),
    ]
}
