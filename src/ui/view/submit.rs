//! The editor in which a task is written.

use ratatui::layout::Rect;

use super::dialog::{Dialog, inner_width, key, keys, wrapped};
use super::editor::{Focus, lines, one_line};
use crate::app::keys::Action;
use crate::app::state::State;
use crate::app::submit::{Sending, SubmitField, SubmitForm};
use crate::domain::figure;
use crate::domain::input::Admission;
use crate::ui::paint::{Paint, below, inset, nth, plain, span};
use crate::ui::theme::Role;

/// Columns of the switch with its name.
const HOLD: u16 = 22;

/// Draws it.
pub(super) fn draw(paint: &mut Paint<'_>, state: &State, area: Rect) {
    let form = &state.submit;
    let wanted = area.width.saturating_sub(4).min(100);
    let width = inner_width(area, wanted);
    let mut foot = Vec::new();
    if let Some((text, role)) = problem(form) {
        foot.extend(wrapped(&text, width, role));
    }
    foot.extend(keys(
        vec![
            key(state, Action::Submit, "submit"),
            key(state, Action::Hold, form.turns_to()),
            key(state, Action::NextPane, "next field"),
            key(state, Action::Back, "close, the text is kept"),
        ],
        width,
    ));
    let high = area.height.saturating_sub(4).clamp(1, 20);
    let title = "New task".to_owned();
    let inner = Dialog { title, role: Role::Running, body: Vec::new(), focus: 0, foot }
        .draw_high(paint, area, wanted, high)
        .body;
    let fields = fields_height(inner);
    for (place, field) in
        [SubmitField::Tenant, SubmitField::Queue, SubmitField::Priority].into_iter().enumerate()
    {
        draw_field(paint, form, field, place_of(inner, fields, place));
    }
    hold(paint, form, place_of(inner, fields, 3));
    let body = below(inner, fields);
    if body.height > 1 {
        let used = form.text.bytes();
        let over = used > state.session.max_input_bytes;
        let limit = figure::bytes(i64::try_from(state.session.max_input_bytes).unwrap_or(i64::MAX));
        let size = format!("{} of {limit}", figure::bytes(i64::try_from(used).unwrap_or(i64::MAX)));
        let left = paint.right(nth(body, 0), &[span(size, if over { Role::Bad } else { Role::Faint })]);
        let role = if form.field == SubmitField::Text { Role::Title } else { Role::Faint };
        paint.line(left, &[span("text", role)]);
    }
    let text = if body.height > 1 { below(body, 1) } else { body };
    let focus = if form.field == SubmitField::Text { Focus::Here } else { Focus::Elsewhere };
    lines(paint, text, &form.text, focus);
}

/// Lines that the fields take: one where they fit side by side, none where the text needs all there is.
fn fields_height(inner: Rect) -> u16 {
    match (inner.height, inner.width) {
        (0..4, _) => 0,
        (_, 70..) => 2,
        (_, 36..) => 3,
        (8.., _) => 5,
        _ => 0,
    }
}

fn place_of(inner: Rect, fields: u16, place: usize) -> Rect {
    let place = u16::try_from(place).unwrap_or(0);
    match fields {
        2 => {
            let width = inner.width.saturating_sub(HOLD) / 3;
            let room = if place == 3 { HOLD } else { width.saturating_sub(1) };
            Rect { width: room, ..inset(nth(inner, 0), place * width) }
        }
        3 => {
            let width = inner.width / 2;
            Rect { width: width.saturating_sub(1), ..inset(nth(inner, place / 2), place % 2 * width) }
        }
        5 => nth(inner, place),
        _ => Rect { width: 0, height: 0, ..inner },
    }
}

fn draw_field(paint: &mut Paint<'_>, form: &SubmitForm, field: SubmitField, area: Rect) {
    let editor = match field {
        SubmitField::Tenant => &form.tenant,
        SubmitField::Queue => &form.queue,
        _ => &form.priority,
    };
    if form.field == field {
        let label = [span(field.title(), Role::Title), plain(" ")];
        return one_line(paint, area, &label, editor, None);
    }
    paint.line(area, &[span(field.title(), Role::Faint), plain(" "), plain(editor.text())]);
}

fn hold(paint: &mut Paint<'_>, form: &SubmitForm, area: Rect) {
    let mark = if form.admission == Admission::Hold { "[x]" } else { "[ ]" };
    let role = if form.field == SubmitField::Hold { Role::Selected } else { Role::Plain };
    paint.line(area, &[span(mark, role), plain(" "), span(SubmitField::Hold.title(), Role::Faint)]);
}

fn problem(form: &SubmitForm) -> Option<(String, Role)> {
    match &form.sending {
        Sending::Asking { .. } => Some(("submitting: asking…".to_owned(), Role::Attention)),
        Sending::Unknown { .. } => {
            Some(("The answer was lost; finding out whether it is in the table…".to_owned(), Role::Attention))
        }
        Sending::Failed { message, .. } => Some((message.clone(), Role::Bad)),
        Sending::No => form.problem.as_ref().map(|problem| (problem.to_string(), Role::Bad)),
    }
}
