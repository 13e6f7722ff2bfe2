//! Decisions about all that match: the body of the question, the progress, the sum. The words are the console's own
//! ([`crate::app::bulk`]); here they get their places.

use ratatui::layout::Rect;

use super::dialog::{Dialog, Line, inner_width, key, keys, wrapped};
use super::question::Room;
use crate::app::bulk::{BulkEnd, BulkQuestion, BulkRun, Phase, Stopping};
use crate::app::keys::Action;
use crate::app::question::Ask as _;
use crate::app::state::State;
use crate::domain::figure::thousands;
use crate::ui::paint::{Paint, columns, plain, span};
use crate::ui::theme::Role;

const WIDTH: u16 = 74;

/// Columns of a state's name.
const STATE: usize = 9;

/// Draws the question.
pub(super) fn question(paint: &mut Paint<'_>, state: &State, question: &BulkQuestion, area: Rect) {
    super::question::draw(paint, state, question, area, |Room { width, .. }| {
        let lines = question.lines();
        let count = |rows: &str| format!("{rows:>width$}", width = counted(question));
        let mut body: Vec<Line> = Vec::new();
        if question.is_everything() {
            body.extend(wrapped("Nothing narrows this: every task of every tenant.", width, Role::Bad));
        } else {
            body.extend(wrapped(&question.which(), width, Role::Plain));
        }
        for line in lines {
            let (number, word) =
                if line.left_out { (Role::Faint, Role::Faint) } else { (Role::Running, Role::Plain) };
            let head = format!("{}  {:<STATE$}  ", count(&line.count.to_string()), line.status.as_str());
            let indent = columns(&[plain(&head)]);
            if width < indent + 20 {
                body.push(vec![span(head.trim(), number)]);
                body.extend(wrapped(&line.says, width, word));
                continue;
            }
            for (place, piece) in wrapped(&line.says, width - indent, word).into_iter().enumerate() {
                let lead = if place == 0 { head.clone() } else { " ".repeat(indent) };
                let mut whole = vec![span(lead, number)];
                whole.extend(piece);
                body.push(whole);
            }
        }
        let blocked = question.blocked().is_some();
        for text in question.says(state) {
            body.extend(wrapped(&text, width, if blocked { Role::Bad } else { Role::Faint }));
        }
        body
    });
}

/// Columns of the widest count.
fn counted(question: &BulkQuestion) -> usize {
    question.lines().iter().map(|line| line.count.to_string().len()).max().unwrap_or(0)
}

/// Draws the progress, or the sum once it has ended.
pub(super) fn run(paint: &mut Paint<'_>, state: &State, run: &BulkRun, area: Rect) {
    let width = inner_width(area, WIDTH);
    let mut body: Vec<Line> = Vec::new();
    let mut role = Role::Running;
    let foot = match &run.phase {
        Phase::Ended { end, .. } => {
            if matches!(end, BulkEnd::Failed { .. } | BulkEnd::Unknown { .. }) {
                role = Role::Trouble;
            }
            body.extend(sum(state, run, width));
            keys(vec![key(state, Action::Open, "close")], width)
        }
        Phase::Asking | Phase::Unknown => {
            body.extend(progress(paint, state, run, width));
            under_way(state, run, width)
        }
    };
    Dialog { title: run.title(), role, body, focus: 0, foot }.draw(paint, area, WIDTH);
}

fn under_way(state: &State, run: &BulkRun, width: usize) -> Vec<Line> {
    match run.stopping {
        Stopping::Yes => vec![vec![span("stopping after this chunk", Role::Attention)]],
        Stopping::No => keys(vec![key(state, Action::Back, "stop after this chunk")], width),
    }
}

fn progress(paint: &Paint<'_>, state: &State, run: &BulkRun, width: usize) -> Vec<Line> {
    let mut body = wrapped(&run.progress(), width, Role::Running);
    let gauge = width.saturating_sub(6).min(60);
    if let Some(permille) = run.permille().filter(|_| gauge >= 10) {
        let permille = usize::try_from(permille).unwrap_or(0);
        let full = gauge * permille / 1_000;
        let [on, off] = paint.glyphs.gauge;
        body.push(vec![
            span(on.repeat(full), Role::Running),
            span(off.repeat(gauge - full), Role::Faint),
            plain(format!(" {:>3} %", permille / 10)),
        ]);
    }
    body.extend(wrapped(&run.pace(state.now), width, Role::Plain));
    if run.phase == Phase::Unknown {
        body.extend(wrapped(
            "The answer to this chunk was lost; finding out what became of it…",
            width,
            Role::Bad,
        ));
    }
    body.extend(run.left().iter().flat_map(|left| wrapped(&format!("{left}."), width, Role::Bad)));
    body.extend(trouble(run, width));
    body.extend(wrapped(&format!("{} rows looked at", thousands(run.sum.looked_at)), width, Role::Faint));
    body
}

fn trouble(run: &BulkRun, width: usize) -> Vec<Line> {
    let told = run.trouble().map(|trouble| format!("On the way: {trouble}."));
    told.iter().flat_map(|told| wrapped(told, width, Role::Faint)).collect()
}

fn sum(state: &State, run: &BulkRun, width: usize) -> Vec<Line> {
    let mut body: Vec<Line> = Vec::new();
    body.extend(run.why_ended().iter().flat_map(|why| wrapped(why, width, Role::Bad)));
    body.extend(wrapped(&run.done(state.now), width, Role::Plain));
    let left = run.left();
    match &left {
        Some(left) => body.extend(wrapped(&format!("{left}."), width, Role::Bad)),
        None => body.extend(wrapped("None that was read as matching was left out.", width, Role::Plain)),
    }
    body.extend(trouble(run, width));
    let examples = run.examples(&state.session.operator, state.now);
    if !examples.is_empty() {
        let more = usize::try_from(run.sum.left()).unwrap_or(0) > examples.len();
        body.push(vec![plain(if more { "The first of them:" } else { "They are:" })]);
        for example in &examples {
            for (place, piece) in
                wrapped(example, width.saturating_sub(2), Role::Plain).into_iter().enumerate()
            {
                let mut line = vec![plain(if place == 0 { "  " } else { "    " })];
                line.extend(piece);
                body.push(line);
            }
        }
    }
    body
}
