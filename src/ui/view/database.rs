//! Screen 3: both pools, the statements, the server, and who waits for whom.

use ratatui::layout::Rect;

use super::detail::read_ago;
use super::figures::{clock, ms};
use super::table::{self, Cell};
use crate::app::state::State;
use crate::domain::figure;
use crate::domain::observed::{Health, LockWait, PoolFigures, StatementFigures};
use crate::ui::columns::{Column, lay_out};
use crate::ui::paint::{Paint, Span, below, cells, inset, nth, plain, span};
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

/// From so many columns on, pools and statements stand side by side.
const SIDE_BY_SIDE: u16 = 130;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let area = inset(area, 1);
    let server = server_lines(state);
    let server_height = cells(server.len() + 1).min(area.height);
    let pools = state.figures.as_ref().map_or(0, |read| read.value.pools.len());
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

fn draw_lines(paint: &mut Paint<'_>, area: Rect, lines: &[Vec<Span>]) {
    for (place, line) in lines.iter().take(usize::from(area.height)).enumerate() {
        paint.line(nth(area, cells(place)), line);
    }
}

fn server_lines(state: &State) -> Vec<Vec<Span>> {
    let mut lines = Vec::new();
    let Some(read) = &state.health.read else {
        let text = match &state.health.failure {
            Some(failure) => format!("The server's state could not be read: {}", failure.message),
            None => "Reading the server's state…".to_owned(),
        };
        return vec![vec![plain(text)]];
    };
    let health = &read.value;
    let standing = if health.is_replica { "standby" } else { "primary" };
    let mut first = vec![
        span("SERVER", Role::Faint),
        plain(format!("  PostgreSQL {} ", health.server_version)),
        span(standing, if health.is_replica { Role::Attention } else { Role::Plain }),
        plain(format!(", database {} as {}, {}", health.database, health.role, health.isolation)),
    ];
    if health.is_read_only {
        first.extend([plain(", "), span("read-only", Role::Bad)]);
    }
    first.push(span(format!("  {}", read_ago(state, read.arrived)), Role::Faint));
    lines.push(first);
    lines.push(connections(health));
    lines.push(oldest(state, health));
    lines.push(Vec::new());
    if health.waits.is_empty() {
        lines.push(vec![span("WAITS", Role::Faint), plain("   nobody waits for a lock")]);
    }
    for (index, wait) in health.waits.iter().enumerate().skip(state.health.offset) {
        let label = if index == state.health.offset { "WAITS " } else { "      " };
        let under_cursor = state.health.cursor == Some(index);
        lines.push(wait_line(wait, label, under_cursor));
    }
    lines
}

fn connections(health: &Health) -> Vec<Span> {
    let nearly_full = health.connections * 10 >= health.max_connections * 9;
    vec![
        plain("        connections "),
        span(
            format!(
                "{} of {}",
                figure::thousands(health.connections),
                figure::thousands(health.max_connections)
            ),
            if nearly_full { Role::Attention } else { Role::Plain },
        ),
        plain(format!(
            " (ours {}) · about {} dead rows in tasks",
            health.ours,
            figure::short(health.dead_rows)
        )),
    ]
}

/// A transaction that stays open holds back vacuum, and with it the speed of claims.
fn oldest(state: &State, health: &Health) -> Vec<Span> {
    let Some(old) = &health.oldest_transaction else {
        return vec![plain("        no other transaction is open")];
    };
    let since_read =
        state.health.read.as_ref().map_or(std::time::Duration::ZERO, |read| state.since(read.arrived));
    let open = ms(old.open_ms) + since_read;
    let role = if open.as_secs() >= 300 { Role::Attention } else { Role::Plain };
    vec![
        plain("        oldest transaction "),
        span(clock(open), role),
        plain(format!(" pid {} ({} as {}, {})", old.pid, name(&old.application), old.role, old.state)),
        span(if open.as_secs() >= 300 { "  holds back vacuum" } else { "" }, Role::Bad),
    ]
}

fn name(application: &str) -> &str {
    if application.is_empty() { "no name" } else { application }
}

fn wait_line(wait: &LockWait, label: &str, under_cursor: bool) -> Vec<Span> {
    let role = if under_cursor { Role::Selected } else { Role::Plain };
    vec![
        span(label, Role::Faint),
        span(if under_cursor { "> " } else { "  " }, Role::Running),
        span(
            format!(
                "{} pid {} has waited {} for a {} lock held by pid {} ({})",
                name(&wait.application),
                wait.pid,
                clock(ms(wait.waiting_ms)),
                wait.lock,
                wait.blocked_by,
                name(&wait.blocker_application),
            ),
            role,
        ),
    ]
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
    paint.viewport.list_rows = usize::from(rows.height);
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
