//! Marks: by task, with the version that was on screen.

use super::cursor::Step;
use super::{Cursor, MOST, SeenRow};
use crate::app::state::State;
use crate::domain::observed::Listed;

impl State {
    /// Marks the row under the cursor or takes its mark away, and moves down.
    pub(in crate::app) fn toggle_mark(&mut self) {
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

    /// Marks every row that matches, as far as they can be loaded at once, and says how many and whether there
    /// are more. What was drawn is marked as it was drawn.
    pub(in crate::app) fn mark_all(&mut self) {
        let marks = self.list.rows.iter().filter_map(Listed::task).map(SeenRow::from);
        let marks: Vec<_> = marks.map(|row| self.drawn.listed(row.id).unwrap_or(row)).collect();
        if marks.is_empty() {
            self.hint("there is no row here to mark");
            return;
        }
        let count = marks.len();
        self.list.marks = marks.into_iter().map(|seen| (seen.id, seen)).collect();
        let list = &mut self.list;
        let more = match (list.next_before, list.before) {
            (None, None) => "these are all that match".to_owned(),
            (Some(_), None) if list.limit < MOST && list.rows.len() >= list.limit => {
                list.limit = MOST;
                list.generation += 1;
                list.mark_when_loaded = Some(list.generation);
                self.refresh.list.now(self.now);
                "more match, loading them to mark them too…".to_owned()
            }
            _ => format!("more match and are not marked: {MOST} at a time, the rest after these are done"),
        };
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
