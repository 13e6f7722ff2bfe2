//! The end of this process: the choice, then what is still waited for, one line a task.

use std::time::Duration;

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use super::figures::since;
use crate::app::keys::Action;
use crate::app::shutdown::{Shutdown, ShutdownPhase};
use crate::app::state::State;
use crate::domain::observed::SlotRun;
use crate::ui::paint::{Paint, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 66;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let Some(shutdown) = state.shutdown else { return };
    let width = inner_width(area, WIDTH);
    let running: &[SlotRun] = state.local.as_ref().map_or(&[], |local| &local.value.running);
    let count = match running.len() {
        0 => "Nothing is running here".to_owned(),
        1 => "1 task is running here".to_owned(),
        count => format!("{count} tasks are running here"),
    };
    let mut body: Vec<Line> = Vec::new();
    let foot = match shutdown.phase {
        ShutdownPhase::Asked => {
            body.push(key(state, Action::ShutdownDrain, "drain: claim nothing more, wait for these"));
            body.push(key(state, Action::ShutdownCancel, "cancel: ask them to stop, wait until they have"));
            body.push(key(state, Action::Back, "stay"));
            body.push(Vec::new());
            Vec::new()
        }
        ShutdownPhase::Draining => {
            body.push(progress(state, shutdown, "draining", running.len()));
            escalate(state, width, "cancel them", "leave at once")
        }
        ShutdownPhase::Canceling => {
            body.push(progress(state, shutdown, "asked to stop", running.len()));
            escalate(state, width, "leave at once", "")
        }
    };
    for run in running {
        body.push(task_line(state, run));
    }
    let waiting = state.acts.waiting();
    if waiting > 0 {
        let text = format!("{waiting} of your acts wait for the database's answer.");
        body.extend(wrapped(&text, width, Role::Bad));
    }
    Dialog { title: count, role: Role::Running, body, focus: 0, foot }.draw(paint, area, WIDTH);
}

fn progress(state: &State, shutdown: Shutdown, word: &str, left: usize) -> Line {
    let waited = minutes(state.since(shutdown.since));
    let time = match shutdown.phase {
        ShutdownPhase::Draining if !state.session.grace.is_zero() => {
            format!("waiting {waited} of {}", minutes(state.session.grace))
        }
        _ => format!("waiting {waited}"),
    };
    vec![span(word, Role::Running), plain(format!("   {left} left   {time}"))]
}

fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{:02}:{:02}", seconds / 60, seconds % 60)
}

fn task_line(state: &State, run: &SlotRun) -> Line {
    let arrived = state.local.as_ref().map_or(state.now, |local| local.arrived);
    let time = since(run.for_ + state.since(arrived));
    let mut line = vec![
        plain(format!("{:>8}  ", run.id)),
        span("RUNNING", Role::Running),
        plain(format!(" {time:>4}  here/{}  ", run.slot)),
        plain(if run.finishing { "writing the result" } else { &run.doing }),
    ];
    if run.cancel_requested {
        line.extend([plain("  "), span("asked to stop", Role::Attention)]);
    }
    line
}

/// What Ctrl-C does next, and what that leaves behind: nothing may be said to have ended before it did.
fn escalate(state: &State, width: usize, next: &str, then: &str) -> Vec<Line> {
    let lease =
        state.local.as_ref().map(|local| local.value.lease_left.saturating_sub(state.since(local.arrived)));
    let lease = match lease {
        Some(left) if !left.is_zero() => format!("the lease ends in {}", since(left)),
        _ => "the lease is recovered".to_owned(),
    };
    let mut acts = vec![key(state, Action::Interrupt, next)];
    if !then.is_empty() {
        acts.push(vec![span("again", Role::Key), plain(format!(" {then}"))]);
    }
    let mut foot = keys(acts, width);
    let left = format!("Tasks left behind stay RUNNING until {lease}, then run again.");
    foot.extend(wrapped(&left, width, Role::Faint));
    foot
}
