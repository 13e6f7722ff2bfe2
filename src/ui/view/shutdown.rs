//! The end of this process: the choice, then what is still waited for, one line a task.

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use crate::app::keys::Action;
use crate::app::shutdown::{RunLine, said};
use crate::app::state::State;
use crate::ui::paint::{Paint, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 66;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let Some(said) = said(state) else { return };
    let width = inner_width(area, WIDTH);
    let mut body: Vec<Line> = Vec::new();
    if let Some(text) = &said.asked {
        body.extend(wrapped(text, width, Role::Running));
    }
    match &said.progress {
        None if said.nothing_left => {
            body.push(key(state, Action::Quit, "or Enter: end now"));
            body.push(key(state, Action::Back, "stay"));
            body.push(Vec::new());
        }
        None => {
            body.push(key(state, Action::ShutdownDrain, "drain: claim nothing more, wait for these"));
            body.push(key(state, Action::ShutdownCancel, "cancel: ask them to stop, wait until they have"));
            let becomes = "they end CANCELED; requeue brings them back";
            body.extend(wrapped(becomes, width.saturating_sub(2), Role::Faint).into_iter().map(indented));
            body.push(key(state, Action::Back, "stay"));
            body.push(Vec::new());
        }
        Some((word, rest)) => body.push(vec![span(*word, Role::Running), plain(format!("   {rest}"))]),
    }
    body.extend(said.running.iter().map(task_line));
    if let Some(text) = &said.bulk {
        body.extend(wrapped(text, width, Role::Running));
    }
    if let Some(text) = &said.unanswered {
        body.extend(wrapped(text, width, Role::Bad));
    }
    let mut foot = Vec::new();
    if let Some((next, then)) = said.next {
        let mut acts = vec![key(state, Action::Interrupt, next)];
        acts.extend(then.map(|then| vec![span("again", Role::Key), plain(format!(" {then}"))]));
        foot = keys(acts, width);
    }
    if let Some(text) = &said.left_behind {
        foot.extend(wrapped(text, width, Role::Faint));
    }
    Dialog { title: said.title, role: Role::Running, body, focus: 0, foot }.draw(paint, area, WIDTH);
}

fn indented(line: Line) -> Line {
    std::iter::once(plain("  ")).chain(line).collect()
}

fn task_line(run: &RunLine) -> Line {
    let mut line = vec![
        plain(format!("{:>8}  ", run.id)),
        span("RUNNING", Role::Running),
        plain(format!(" {:>4}  {}", run.age, run.doing)),
    ];
    if run.asked_to_stop {
        line.extend([plain("  "), span("asked to stop", Role::Attention)]);
    }
    line
}
