//! The cursor moves only when the operator moves it.

use super::{Cursor, MOST, PAGE, Placed};
use crate::app::state::State;
use crate::domain::TaskId;

/// A movement by lines or to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// So many lines up.
    Up {
        /// Lines.
        by: usize,
    },
    /// So many lines down.
    Down {
        /// Lines.
        by: usize,
    },
    /// To the first.
    First,
    /// To the last.
    Last,
}

impl Step {
    /// Where the step leads from line `at` of `len` lines.
    pub fn from(self, at: usize, len: usize) -> usize {
        let last = len.saturating_sub(1);
        match self {
            Self::Up { by } => at.saturating_sub(by).min(last),
            Self::Down { by } => at.saturating_add(by).min(last),
            Self::First => 0,
            Self::Last => last,
        }
    }
}

impl State {
    /// Moves the cursor of the list of tasks.
    pub(in crate::app) fn move_cursor(&mut self, step: Step) {
        if step == Step::First && self.list.before.is_some() {
            self.restart_list();
            return;
        }
        let len = self.list.rows.len();
        if len == 0 {
            if !self.search_further() {
                self.hint("there is no row here to move to");
            }
            return;
        }
        let (to, edge) = match self.list.cursor {
            Cursor::On { id } => {
                let at = self.list.position(id).unwrap_or(0);
                (step.from(at, len), step.from(at, len) == at)
            }
            Cursor::None => {
                let at = self.list.offset;
                (if matches!(step, Step::Down { by: 1 }) { at } else { step.from(at, len) }, false)
            }
            // The cursor stands between two rows.
            Cursor::Gone { at, .. } => match step {
                Step::Down { by } => ((at + by - by.min(1)).min(len - 1), false),
                _ => (step.from(at, len), false),
            },
        };
        if edge && matches!(step, Step::Down { .. } | Step::Last) && self.search_further() {
            return;
        }
        if edge && matches!(step, Step::Up { .. }) && self.list.before.is_some() {
            let key = self.keymap.label(crate::app::keys::Action::Top);
            self.hint(format!("newer rows are not loaded; {key} goes to the newest"));
        }
        if let Some(row) = self.list.rows.get(to) {
            let id = row.id();
            self.put_cursor(id);
            if step == Step::First {
                self.list.placed = Placed::AtTop;
            }
        }
        self.load_more();
    }

    /// Puts the cursor on a row that is loaded.
    pub(in crate::app) fn put_cursor(&mut self, id: TaskId) {
        self.list.cursor = Cursor::On { id };
        self.list.placed = Placed::ByOperator;
        self.detail.follows = crate::app::detail::Follows::Cursor;
        self.clamp_offset();
        self.follow_cursor();
    }

    /// A search looks through so many rows at a time and may stop before the page is full; goes on below them.
    fn search_further(&mut self) -> bool {
        let list = &mut self.list;
        let short = list.read.is_some() && list.rows.len() < list.limit;
        let Some(before) = list.next_before.filter(|_| short) else { return false };
        self.restart_list();
        self.list.before = Some(before);
        self.hint(format!("looking further, below {before}"));
        true
    }

    /// Near the end of what is loaded, asks for more; beyond the most that is loaded at once, moves along.
    fn load_more(&mut self) {
        let list = &mut self.list;
        let Some(at) = list.cursor_position() else { return };
        let full = list.rows.len() >= list.limit;
        if list.next_before.is_none() || !full || at + self.viewport.list_rows < list.rows.len() {
            return;
        }
        if list.limit < MOST {
            list.limit = (list.limit + PAGE).min(MOST);
        } else {
            let keep = at.saturating_sub(self.viewport.list_rows.max(PAGE));
            let before = list.rows.get(keep).map(|row| TaskId(row.id().0.saturating_add(1)));
            if before == list.before || keep == 0 {
                return;
            }
            list.before = before;
        }
        list.generation += 1;
        self.refresh.list.now(self.now);
    }
}
