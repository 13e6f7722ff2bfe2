//! What the operator can have seen: each row (of a task or an instance) as the last frame that reached the terminal showed it.
//!
//! Invariant: only [`State::frame_drawn`] writes here, and it is called after a frame was drawn and from nowhere
//! else. What has arrived and is not drawn yet (the line has stalled) is in the state, not here, and no decision is
//! made on it.

use std::collections::BTreeMap;

use super::list::SeenRow;
use super::message::Target;
use super::overlay::Overlay;
use super::question::AskedFrom;
use super::state::{Screen, State};
use crate::domain::observed::Listed;
use crate::domain::{InstanceId, TaskId};

/// The rows as they were drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DrawnRows {
    /// Rows of the list that are still loaded, each as it was drawn last, also if it is scrolled away by now.
    list: BTreeMap<TaskId, SeenRow>,
    /// The task of the detail pane.
    detail: Option<SeenRow>,
    /// The rows of the conflict that is shown.
    conflict: Vec<SeenRow>,
    /// Instances that are still listed, each with how often it had been asked to stop when it was drawn last.
    instances: BTreeMap<InstanceId, i64>,
    /// Queues that are still listed, each with its version when it was drawn last.
    queues: BTreeMap<String, i64>,
}

impl DrawnRows {
    /// The row of the list as it was drawn; none: it never was.
    pub fn listed(&self, id: TaskId) -> Option<SeenRow> {
        self.list.get(&id).copied()
    }

    /// The task of the detail pane as it was drawn, if it was this one.
    pub fn detailed(&self, id: TaskId) -> Option<SeenRow> {
        self.detail.filter(|row| row.id == id)
    }

    /// How often the instance had been asked to stop when its row was drawn; none: it never was drawn.
    pub fn instance(&self, id: InstanceId) -> Option<i64> {
        self.instances.get(&id).copied()
    }

    /// The version of the queue when its row was drawn; none: it never was drawn.
    pub fn queue(&self, name: &str) -> Option<i64> {
        self.queues.get(name).copied()
    }

    /// The row as it was drawn there; none: it never was.
    pub fn row(&self, id: TaskId, on: AskedFrom) -> Option<SeenRow> {
        match on {
            AskedFrom::List => self.listed(id),
            AskedFrom::Detail => self.detailed(id),
            AskedFrom::Conflict => self.conflict.iter().copied().find(|row| row.id == id),
        }
    }
}

impl State {
    /// The row as it was drawn, in the list or in the detail pane, while it is still there.
    pub(super) fn drawn_now(&self, id: TaskId) -> Option<SeenRow> {
        let listed = self.drawn.listed(id).filter(|_| self.list.task(id).is_some());
        listed.or_else(|| {
            self.drawn.detailed(id).filter(|_| self.detail.task().is_some_and(|task| task.id == id))
        })
    }

    /// A frame of this very state has been drawn, with these things on it.
    pub(super) fn frame_drawn(&mut self, targets: &[Target]) {
        self.drawn.conflict = match (self.overlay(), self.conflicts.front()) {
            (Some(Overlay::Conflict), Some(conflict)) => {
                let rows = conflict.rows.iter();
                rows.filter_map(|row| row.answer.task()).map(SeenRow::from).collect()
            }
            _ => Vec::new(),
        };
        self.bulk_question_drawn();
        // What lies over the rows hides them: they were seen as they were before.
        if self.overlays.iter().any(Overlay::hides_rows) {
            return;
        }
        if self.screen == Screen::Workers {
            self.instances_drawn(targets);
            self.queues_drawn(targets);
            return;
        }
        let before = std::mem::take(&mut self.drawn.list);
        let drawn: std::collections::BTreeSet<TaskId> = targets
            .iter()
            .filter_map(|target| match target {
                Target::Task(id) => Some(*id),
                _ => None,
            })
            .collect();
        self.drawn.list = self
            .list
            .rows
            .iter()
            .filter_map(Listed::task)
            .filter_map(|task| {
                let now = drawn.contains(&task.id).then(|| SeenRow::from(task));
                now.or_else(|| before.get(&task.id).copied()).map(|row| (row.id, row))
            })
            .collect();
        if targets.contains(&Target::Detail) {
            self.drawn.detail = self.detail.task().map(SeenRow::from);
        }
    }

    fn queues_drawn(&mut self, targets: &[Target]) {
        let before = std::mem::take(&mut self.drawn.queues);
        let rows = self.queues.read.iter().flat_map(|read| read.value.iter().enumerate());
        self.drawn.queues = rows
            .filter_map(|(at, queue)| {
                let now = targets.contains(&Target::Queue(at)).then_some(queue.state.version);
                now.or_else(|| before.get(&queue.name).copied()).map(|version| (queue.name.clone(), version))
            })
            .collect();
    }

    fn instances_drawn(&mut self, targets: &[Target]) {
        let before = std::mem::take(&mut self.drawn.instances);
        let rows = self.instances.read.iter().flat_map(|read| read.value.iter().enumerate());
        self.drawn.instances = rows
            .filter_map(|(at, instance)| {
                let now = targets.contains(&Target::Instance(at)).then_some(instance.stop_version);
                now.or_else(|| before.get(&instance.id).copied()).map(|version| (instance.id, version))
            })
            .collect();
    }
}
