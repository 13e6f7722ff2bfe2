//! Screen 2: every process with its lease and what it has in flight, and this one's slots; the queues, and the tenants
//! that have a limit.

use std::time::Duration;

use ratatui::layout::Rect;

use super::detail::read_ago;
use super::figures::{gauge, since};
use super::instance;
use super::limits;
use super::queues;
use super::table::{self, Cell};
use crate::app::message::Target;
use crate::app::state::{Read, State, WorkersPane};
use crate::domain::observed::LocalWorkers;
use crate::domain::{Instance, InstanceState, figure};
use crate::ui::columns::{Column, lay_out};
use crate::ui::paint::{Paint, Span, below, cells, inset, nth, plain, span};
use crate::ui::theme::Role;

const COLUMNS: [Column; 11] = [
    Column::words("INSTANCE", 10, 20, 0),
    Column::words("STATE", 9, 11, 0),
    Column::words("SLOTS", 8, 9, 2),
    Column::number("CLAIM/s", 7, 5),
    Column::number("DONE/s", 6, 4),
    Column::number("FAIL/m", 6, 6),
    Column::number("LEASE", 6, 1),
    Column::words("KIND", 8, 8, 9),
    Column::words("QUEUES", 7, 16, 8),
    Column::words("VERSION", 10, 12, 10),
    Column::words("IN FLIGHT", 22, 30, 3),
];

const SLOTS: [Column; 5] = [
    Column::number("SLOT", 4, 0),
    Column::number("TASK", 8, 0),
    Column::number("CLAIM", 5, 2),
    Column::number("FOR", 5, 1),
    Column::words("DOING", 10, 20, 0),
];

/// Below so many lines only the pane that has the keys is shown.
const LOW: u16 = 10;

/// Draws the panes: the one that has the keys first, and of the others what finds room.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let low = area.height < LOW;
    match state.workers_pane {
        WorkersPane::Queues if low => queues::draw(paint, state, area),
        WorkersPane::Limits if low => limits::draw(paint, state, area),
        WorkersPane::Instances if low => processes(paint, state, area),
        WorkersPane::Queues => {
            let height = (queues::wanted(state) + queues::told_lines(state, area)).min(area.height);
            queues::draw(paint, state, Rect { height, ..area });
            let rest = below(area, height);
            // All of them below the processes, or one line that sums them up.
            let wanted = limits::wanted(state);
            let limits_height =
                if rest.height > wanted + 4 { wanted } else { wanted.min(1).min(rest.height) };
            limits::draw(paint, state, below(rest, rest.height - limits_height));
            let rest = Rect { height: rest.height - limits_height, ..rest };
            if rest.height > 3 {
                instances(paint, state, rest);
            }
        }
        WorkersPane::Limits => {
            let height = (limits::wanted(state) + limits::told_lines(state, area)).min(area.height);
            limits::draw(paint, state, Rect { height, ..area });
            let rest = below(area, height);
            let queues_height = rest.height.min(1);
            if queues_height > 0 {
                queues::draw(paint, state, below(rest, rest.height - queues_height));
            }
            let rest = Rect { height: rest.height - queues_height, ..rest };
            if rest.height > 3 {
                instances(paint, state, rest);
            }
        }
        WorkersPane::Instances => {
            let least = 1 + limits::wanted(state).min(1);
            let used = needed(state, Rect { height: area.height - least, ..area });
            // All of both with a line before them, or one line each that sums it up.
            let room = area.height - used.min(area.height - least);
            let (queued, limited) = (queues::wanted(state), limits::wanted(state));
            let (blank, height, limits_height) =
                if room > queued + limited { (1, queued, limited) } else { (0, 1, limited.min(1)) };
            let both = height + limits_height;
            processes(paint, state, Rect { height: area.height - both - blank, ..area });
            queues::draw(paint, state, Rect { height, ..below(area, area.height - both) });
            limits::draw(paint, state, below(area, area.height - limits_height));
        }
    }
}

/// The lines that the processes take where they have `area`.
fn needed(state: &State, area: Rect) -> u16 {
    let heights = divide(state, area, &told(state, area));
    (heights.table + heights.detail + heights.slots).min(area.height)
}

/// What is told of the instance under the cursor.
fn told(state: &State, area: Rect) -> Vec<Vec<Span>> {
    let width = usize::from(area.width).saturating_sub(4);
    let one = state.instances.read.as_ref().zip(state.instance_under_cursor());
    one.map(|(read, one)| instance::lines(state, read, one, width)).unwrap_or_default()
}

fn processes(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let one = state.instances.read.as_ref().zip(state.instance_under_cursor());
    let detail = told(state, area);
    let heights = divide(state, area, &detail);
    let room = area.height - heights.detail - heights.slots;
    // The row's own lines stand right below the table, however high the screen is.
    let height = if heights.detail > 0 { room.min(heights.table) } else { room };
    let table = Rect { height, ..area };
    instances(paint, state, table);
    if let Some((read, _)) = one
        && heights.detail > 0
    {
        let place = below(Rect { y: table.bottom(), height: heights.detail, ..area }, 1);
        let ago = [span(read_ago(state, read.arrived), Role::Faint), plain(" ")];
        let title = paint.right(nth(place, 0), &ago);
        let (first, rest) = detail.split_at(1.min(detail.len()));
        instance::draw(paint, first, inset(title, 3));
        instance::draw(paint, rest, inset(below(place, 1), 3));
        if super::tasks::is_stale(state) || state.instances.failure.is_some() {
            paint.tint(place, Role::Faint);
        }
    }
    if let Some(local) = &state.local
        && heights.slots > 0
    {
        let place = Rect { y: area.bottom() - heights.slots, height: heights.slots, ..area };
        local_slots(paint, state, local, below(place, 1));
    }
}

/// Lines for what stands below the table, each with a line before it.
struct Heights {
    /// What the table needs.
    table: u16,
    /// The instance under the cursor.
    detail: u16,
    /// This process's slots.
    slots: u16,
}

/// The table keeps the half, or what it needs; of the rest the row under the cursor is told first, and where that is
/// this process its slots are.
fn divide(state: &State, area: Rect, detail: &[Vec<Span>]) -> Heights {
    let table = cells(state.instances.read.as_ref().map_or(1, |read| read.value.len().max(1)) + 1);
    if area.height < 10 {
        return Heights { table, detail: 0, slots: 0 };
    }
    let rest = area.height - table.min(area.height / 2);
    let slots = state.local.as_ref().map_or(0, |local| match local.value.slots {
        0 => 2,
        _ => cells(local.value.running.len().max(1) + 3),
    });
    let detail = if detail.is_empty() { 0 } else { cells(detail.len() + 1) };
    // Less than a line before it, a heading and two lines says nothing.
    let fits = |wanted: u16, room: u16| if wanted.min(room) < wanted.min(4) { 0 } else { wanted.min(room) };
    if state.instance.is_some_and(|id| state.is_here(id)) {
        let slots = fits(slots, rest);
        Heights { table, detail: fits(detail, rest - slots), slots }
    } else {
        let detail = fits(detail, rest);
        Heights { table, detail, slots: fits(slots, rest - detail) }
    }
}

fn instances(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let lead = 3;
    let inner = inset(area, lead);
    let places = lay_out(inner.width, &COLUMNS);
    table::headings(paint, nth(inner, 0), &COLUMNS, &places);
    let rows = below(area, 1);
    let has_keys = state.workers_pane == WorkersPane::Instances;
    if has_keys {
        paint.viewport.list_rows = usize::from(rows.height);
    }
    let Some(read) = &state.instances.read else {
        let text = match &state.instances.failure {
            Some(failure) => format!("The instances could not be read: {}", failure.message),
            None => "Reading the instances…".to_owned(),
        };
        paint.line(nth(inset(rows, lead), 1), &[plain(text)]);
        return;
    };
    if read.value.is_empty() {
        paint.line(
            nth(inset(rows, lead), 1),
            &[plain("No process works on this database: nothing that is queued will run.")],
        );
    }
    let offset = state.instances.offset;
    for (index, instance) in read.value.iter().enumerate().skip(offset).take(usize::from(rows.height)) {
        let line = nth(rows, cells(index - offset));
        let under_cursor = has_keys && state.instance == Some(instance.id);
        let sign = if under_cursor { paint.glyphs.cursor } else { " " };
        paint.line(line, &[plain(" "), span(sign, Role::Running)]);
        let content = row(paint, state, read, instance);
        let line_of_row = inset(line, lead);
        if instance.state.is_alive() {
            table::row(paint, line_of_row, &COLUMNS, &places, &content);
        } else {
            // What has ended has no figures: how it ended takes their place.
            let (words, figures) = places.split_at(2.min(places.len()));
            table::row(paint, line_of_row, &COLUMNS, words, &content);
            if let Some(place) = figures.first() {
                paint.line(inset(line_of_row, place.x), &[span(ended(state, instance), Role::Done)]);
            }
        }
        if state.instances.failure.is_some() || super::tasks::is_stale(state) {
            paint.tint(line, Role::Faint);
        }
        if under_cursor {
            paint.tint(line, Role::Selected);
        }
        paint.target(line, Target::Instance(index));
    }
}

fn row(paint: &Paint<'_>, state: &State, read: &Read<Vec<Instance>>, instance: &Instance) -> Vec<Cell> {
    let here = state.local.as_ref().filter(|local| local.value.instance == instance.id);
    let own = here.is_some();
    let alive = instance.state.is_alive();
    let left = instance.lease_left_s - state.since(read.arrived).as_secs_f64();
    let past = alive && left <= 0.0;
    let role = if alive { Role::Plain } else { Role::Done };
    let (word, word_role) = match instance.state {
        InstanceState::Lost => (format!("LOST {}", since(seconds(-left))), Role::Bad),
        _ if past => ("NO LEASE".to_owned(), Role::Trouble),
        InstanceState::Draining | InstanceState::Canceling => {
            (instance.state.as_str().to_owned(), Role::Running)
        }
        other => (other.as_str().to_owned(), role),
    };
    let name = if own { "here".to_owned() } else { instance.label() };
    let lease = if !alive {
        String::new()
    } else if past {
        format!("-{}", since(seconds(-left)))
    } else {
        since(seconds(left))
    };
    // This process knows its slots now; its row in the database is as old as its latest heartbeat.
    let (busy, slots) = match here {
        Some(local) => (local.value.running.len(), local.value.slots),
        None => (whole(instance.running), usize::try_from(instance.slots).unwrap_or(0)),
    };
    let slots_text = format!("{} {busy}/{slots}", gauge(busy, slots, paint.glyphs, 4));
    let mut flight = Cell::plain("");
    // What was asked of it comes before what it runs, which its slots count already.
    if let Some(beside) = state.beside_instance(instance.id) {
        flight.then(format!("{beside}  "), Role::Attention);
    } else if let Some(asked) = state.asked_briefly(instance) {
        flight.then(format!("{asked}  "), Role::Running);
    }
    flight.then(in_flight(instance), role);
    vec![
        Cell::new(name, if own { Role::Running } else { role }),
        Cell::new(word, word_role),
        Cell::new(if alive && slots > 0 { slots_text } else { String::new() }, role),
        Cell::new(rate(alive, instance.claims_per_s), role),
        Cell::new(rate(alive, instance.done_per_s), role),
        Cell::new(rate(alive, instance.failed_per_min), role),
        Cell::new(lease, if past { Role::Bad } else { role }),
        Cell::new(&instance.kind, role),
        Cell::new(instance.queues.join(","), role),
        Cell::new(&instance.version, role),
        flight,
    ]
}

/// How an instance ended: `recovered 2 tasks (48190 → queued, 48191 → canceled)`, `asked by bob 2 m ago`,
/// `last heartbeat 4 m ago`.
fn ended(state: &State, instance: &Instance) -> String {
    let mut parts: Vec<String> = Vec::new();
    if instance.running > 0 {
        // Declared lost, and not taken back yet.
        parts.push(format!("still RUNNING: {}", in_flight(instance)));
    }
    if instance.recovered > 0 {
        let tasks = if instance.recovered == 1 { "task" } else { "tasks" };
        let taken = instance::taken(instance).join(", ");
        let taken = if taken.is_empty() { String::new() } else { format!(" ({taken})") };
        parts.push(format!("recovered {} {tasks}{taken}", instance.recovered));
    }
    if instance.state == InstanceState::Stopped {
        parts.push(match &instance.stop {
            Some(request) => format!("asked by {} {}", request.by, state.ago(request.at)),
            None => format!("last heartbeat {}", state.ago(instance.heartbeat_at)),
        });
    }
    parts.join("  ")
}

fn rate(alive: bool, per: f64) -> String {
    if alive { figure::rate(per) } else { String::new() }
}

fn in_flight(instance: &Instance) -> String {
    let mut ids: Vec<String> =
        instance
            .in_flight
            .iter()
            .take(20)
            .map(|flight| {
                if flight.cancel_requested {
                    format!("{} canceling", flight.id)
                } else {
                    flight.id.to_string()
                }
            })
            .collect();
    let others = whole(instance.of_other_tenants);
    let more = whole(instance.running).saturating_sub(ids.len() + others);
    if more > 0 {
        ids.push(format!("and {more} more"));
    }
    if others > 0 {
        ids.push(format!("{others} of other tenants"));
    }
    ids.join(" ")
}

fn whole(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn local_slots(paint: &mut Paint<'_>, state: &State, local: &Read<LocalWorkers>, area: Rect) {
    let workers = &local.value;
    let title = nth(area, 0);
    let left = paint.right(title, &[span(read_ago(state, local.arrived), Role::Faint), plain(" ")]);
    let buffered =
        if workers.buffered > 0 { format!("  {} wait for a slot", workers.buffered) } else { String::new() };
    let busy = match workers.slots {
        0 => String::new(),
        slots => format!("  {}/{slots} busy", workers.running.len()),
    };
    let lease = if workers.lease_left.is_zero() {
        "lease PAST".to_owned()
    } else {
        format!("lease {}", since(workers.lease_left))
    };
    let lost = workers.lost.map_or_else(String::new, |lost| {
        let results =
            if lost.discarded == 1 { "1 result".to_owned() } else { format!("{} results", lost.discarded) };
        format!("  lease LOST {} ago, {results} discarded", since(lost.ago + state.since(local.arrived)))
    });
    paint.line(
        left,
        &[
            plain("   "),
            span("Here", Role::Title),
            plain(format!("  {}{busy}{buffered}  {lease}", workers.state.as_str())),
            span(lost, Role::Bad),
        ],
    );
    if workers.slots == 0 {
        return;
    }
    let inner = inset(area, 3);
    let places = lay_out(inner.width, &SLOTS);
    table::headings(paint, nth(inner, 1), &SLOTS, &places);
    let rows = below(inner, 2);
    if workers.running.is_empty() {
        paint.line(nth(rows, 0), &[span("nothing runs here", Role::Faint)]);
    }
    for (place, run) in workers.running.iter().take(usize::from(rows.height)).enumerate() {
        let time = run.for_ + state.since(local.arrived);
        let mut doing = Cell::plain(&run.doing);
        if run.finishing {
            doing = Cell::plain("writing the result");
        }
        if run.cancel_requested {
            doing.then(" ", Role::Plain);
            doing.then("asked to stop", Role::Attention);
        }
        let row = [
            Cell::plain(run.slot.to_string()),
            Cell::plain(run.id.to_string()),
            Cell::plain(run.claim_no.to_string()),
            Cell::plain(since(time)),
            doing,
        ];
        table::row(paint, nth(rows, cells(place)), &SLOTS, &places, &row);
    }
}
