//! A page arrives: rows are replaced, the cursor stays on its task and its task on its line.

use super::{Cursor, MOST, PAGE, Placed, ReadStamp};
use crate::app::message::ReadFailure;
use crate::app::state::State;
use crate::domain::TaskId;
use crate::domain::observed::{Filter, Page};

impl State {
    /// Shows a page that was asked for with this generation; an answer to an earlier question is dropped.
    pub(in crate::app) fn list_loaded(&mut self, generation: u64, page: Page) {
        if generation != self.list.generation {
            return;
        }
        self.refresh.list.answered(self.now);
        self.needs_draw |= self.list.failure.take().is_some();
        if self.reach_further(&page) {
            return;
        }
        let list = &mut self.list;
        self.needs_draw |=
            list.rows != page.rows || list.next_before != page.next_before || list.read.is_none();
        let was_empty = list.rows.is_empty();
        let line = list.cursor_position().map(|at| at.saturating_sub(list.offset));
        list.rows = page.rows;
        list.next_before = page.next_before;
        list.read = Some(ReadStamp { arrived: self.now, read_at: page.read_at });
        if was_empty && list.cursor == Cursor::None {
            if let Some(first) = list.rows.first() {
                list.cursor = Cursor::On { id: first.id() };
                list.placed = Placed::ByConsole;
                list.offset = 0;
            }
        } else {
            self.keep_cursor(line);
        }
        self.clamp_offset();
        self.follow_cursor();
        self.acts_seen();
        if self.list.mark_when_loaded.take() == Some(generation) {
            self.mark_all();
        }
    }

    /// Keeps the rows and says that they are old.
    pub(in crate::app) fn list_failed(&mut self, generation: u64, failure: ReadFailure) {
        if generation != self.list.generation {
            return;
        }
        self.refresh.list.failed(self.now);
        self.needs_draw |= self.list.failure.as_ref() != Some(&failure);
        self.list.failure = Some(failure);
    }

    /// Where the page ends above the cursor or a mark because newer rows came in, asks for a page that reaches
    /// down to it instead of taking it for gone.
    fn reach_further(&mut self, page: &Page) -> bool {
        let list = &mut self.list;
        let chosen = match (list.cursor, list.placed) {
            (Cursor::On { id }, Placed::ByOperator | Placed::AtTop) => Some(id),
            _ => None,
        };
        let marked = list.marks.keys().next().copied();
        let Some(lowest) = chosen.into_iter().chain(marked).min() else { return false };
        let Some(end) = page.rows.last().map(crate::domain::observed::Listed::id) else { return false };
        if end <= lowest || page.next_before.is_none() {
            return false;
        }
        if list.limit < MOST {
            list.limit = (list.limit + PAGE).min(MOST);
        } else {
            let highest =
                chosen.into_iter().chain(list.marks.keys().next_back().copied()).max().unwrap_or(lowest);
            let before = TaskId(highest.0.saturating_add(1));
            if list.before == Some(before) {
                // The marks lie further apart than what is loaded at once; the lower ones count as gone.
                return false;
            }
            list.before = Some(before);
        }
        list.generation += 1;
        self.refresh.list.now(self.now);
        true
    }

    fn keep_cursor(&mut self, line: Option<usize>) {
        let rows = self.viewport.list_rows;
        let list = &mut self.list;
        let (Cursor::On { id } | Cursor::Gone { id, .. }) = list.cursor else { return };
        match (list.position(id), list.placed) {
            (Some(at), Placed::ByOperator) => {
                list.cursor = Cursor::On { id };
                list.offset = at.saturating_sub(line.unwrap_or(0).min(rows.saturating_sub(1)));
            }
            // What does not fit any more is scrolled away at the top, never the row itself.
            (Some(_), Placed::AtTop) => {
                list.cursor = Cursor::On { id };
                list.offset = 0;
            }
            (Some(at), Placed::ByConsole) if at >= list.offset && at < list.offset + rows => {
                list.cursor = Cursor::On { id };
            }
            // Nobody chose it and it is pushed off the screen or left: no row, no act.
            (_, Placed::ByConsole) => {
                list.cursor = Cursor::None;
                list.offset = 0;
            }
            (None, Placed::ByOperator | Placed::AtTop) => {
                let was_on = matches!(list.cursor, Cursor::On { .. });
                let at = list.rows.partition_point(|row| row.id() > id);
                list.cursor = Cursor::Gone { id, at };
                if was_on {
                    self.hint(format!("{id} is not in this list any more; move to choose a row"));
                    self.needs_draw = true;
                }
            }
        }
    }

    pub(in crate::app) fn clamp_offset(&mut self) {
        let most = self.list.rows.len().saturating_sub(self.viewport.list_rows);
        self.list.offset = self.list.offset.min(most);
        if let Some(at) = self.list.cursor_position() {
            let lowest = at.saturating_sub(self.viewport.list_rows.saturating_sub(1));
            self.list.offset = self.list.offset.clamp(lowest, at.max(lowest));
        }
    }

    /// Asks for another filter: its rows are not known yet, so none are shown, and marks of the old list end.
    pub(in crate::app) fn set_filter(&mut self, filter: Filter) {
        if filter == self.list.filter {
            return;
        }
        let marks = self.list.marks.len();
        let list = &mut self.list;
        list.filter = filter;
        list.marks.clear();
        list.mark_when_loaded = None;
        let all = list.all.take();
        self.restart_list();
        if all.is_some() {
            self.hint("the mark on all that match is gone: it belonged to the filter before");
        } else if marks > 0 {
            self.hint(format!("{marks} marks cleared: they belonged to the list before"));
        }
    }

    /// Asks for the newest rows and puts the cursor on the first of them.
    pub(in crate::app) fn restart_list(&mut self) {
        let list = &mut self.list;
        list.rows.clear();
        list.read = None;
        list.failure = None;
        list.next_before = None;
        list.before = None;
        list.limit = PAGE;
        list.cursor = Cursor::None;
        list.offset = 0;
        list.generation += 1;
        self.refresh.list.now(self.now);
        self.follow_cursor();
    }
}
