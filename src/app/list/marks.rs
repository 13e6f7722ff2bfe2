//! Marks: by task, with the version that was on screen.

use super::cursor::Step;
use super::{Cursor, MOST, SeenRow};
use crate::app::state::State;
use crate::domain::observed::Listed;

impl State {
    /// Marks the row under the cursor or takes its mark away, and moves down.
    pub(in crate::app) fn toggle_mark(&mut self) {
        if self.list.all.is_some() {
            return self.hint("all that match are marked, so no single row is; Esc takes that back");
        }
        let Some(task) = self.list.under_cursor().and_then(Listed::task) else {
            let why = self.no_row();
            self.hint(why);
            return;
        };
        let id = task.id;
        let Some(seen) = self.drawn.listed(id) else {
            self.hint(format!("{id} has not been on screen yet: look at it, then mark it"));
            return;
        };
        if self.list.marks.remove(&seen.id).is_none() {
            self.list.marks.insert(seen.id, seen);
        }
        self.move_cursor(Step::Down { by: 1 });
    }

    /// Marks every row that matches, each as it was drawn where it was, and says how many. Where more match than can be
    /// loaded at once, marks all that match instead, whichever they are.
    pub(in crate::app) fn mark_all(&mut self) {
        if self.list.read.is_none() {
            self.list.mark_when_loaded = Some(self.list.generation);
            return self.hint("what matches is marked as soon as it is loaded…");
        }
        let marks = self.list.rows.iter().filter_map(Listed::task).map(SeenRow::from);
        let marks: Vec<_> = marks.map(|row| self.drawn.listed(row.id).unwrap_or(row)).collect();
        let count = marks.len();
        let list = &mut self.list;
        let more = match (list.next_before, list.before) {
            (None, None) if count == 0 => return self.hint("there is no row here to mark"),
            (None, None) => "these are all that match",
            (Some(_), None) if list.limit < MOST && list.rows.len() >= list.limit => {
                list.limit = MOST;
                list.generation += 1;
                list.mark_when_loaded = Some(list.generation);
                self.refresh.list.now(self.now);
                "more match, loading them to mark them too…"
            }
            _ => return self.mark_all_matching(),
        };
        self.list.all = None;
        self.list.marks = marks.into_iter().map(|seen| (seen.id, seen)).collect();
        self.hint(format!("{count} marked; {more}"));
    }

    /// Why no act hits a row of the list now.
    pub(in crate::app) fn no_row(&self) -> String {
        match self.list.cursor {
            Cursor::Gone { id, .. } => format!("{id} is not in this list any more; move to choose a row"),
            Cursor::On { id } => format!("row {id} cannot be read, so nothing can be done to it from here"),
            Cursor::None if self.list.rows.is_empty() => "there is no row here".to_owned(),
            Cursor::None => "no row is chosen; move to choose one".to_owned(),
        }
    }
}
