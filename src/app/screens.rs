//! Keys on a screen with nothing over it.

use super::availability::{decision, input, refusal};
use super::detail::Follows;
use super::dialogs::step;
use super::effect::Effect;
use super::keys::{Action, entry};
use super::list::{Cursor, Placed, Step};
use super::log::Level;
use super::overlay::Overlay;
use super::shutdown::AskedBy;
use super::state::{Pane, Screen, State, WorkersPane};
use crate::domain::observed::Filter;

impl State {
    /// An act was called by its key.
    pub(super) fn screen_action(&mut self, action: Action, effects: &mut Vec<Effect>) {
        if let Some(why) = refusal(self, action) {
            self.hint(format!("{}: {why}", entry(action).short));
            return;
        }
        match decision(action) {
            Some(kind) if self.acts_on_all() => return self.ask_all(kind),
            Some(kind) => return self.ask(kind),
            None => {}
        }
        let page = match (self.screen, self.pane) {
            (Screen::Tasks, Pane::Detail) => self.viewport.detail_rows,
            _ => self.viewport.list_rows,
        };
        if let Some(step) = step(action, page) {
            self.scroll(step);
            return;
        }
        match action {
            Action::Open => self.open(),
            Action::Back => self.back(),
            Action::NextPane if self.screen == Screen::Workers => self.next_workers_pane(),
            Action::PreviousPane if self.screen == Screen::Workers => self.previous_workers_pane(),
            Action::NextPane | Action::PreviousPane => {
                self.pane = match self.pane {
                    Pane::List => Pane::Detail,
                    Pane::Detail => Pane::List,
                };
            }
            Action::Left if self.pane == Pane::List => self.hint("this is the leftmost pane"),
            Action::Right if self.pane == Pane::Detail => self.hint("this is the rightmost pane"),
            Action::Left => self.pane = Pane::List,
            Action::Right => self.pane = Pane::Detail,
            Action::Screen1 => self.show(Screen::Tasks),
            Action::Screen2 => self.show(Screen::Workers),
            Action::Screen3 => self.show(Screen::Database),
            Action::Screen5 => self.show(Screen::Log),
            Action::Search => self.open_search(),
            Action::FilterStates => {
                let chosen = self.list.filter.statuses.clone();
                self.overlays.push(Overlay::States { cursor: 0, chosen });
            }
            Action::FilterTenant => self.open_tenant(),
            Action::NewTask => self.open_editor(None),
            Action::Mark => self.toggle_mark(),
            Action::MarkAll => self.mark_all(),
            Action::Copy => {
                if let Ok((id, text)) = input(self) {
                    effects.push(Effect::Copy { text: text.to_owned() });
                    self.hint(format!("copying the input of {id}…"));
                }
            }
            Action::EditInput => {
                if let Ok((id, text)) = input(self) {
                    effects.push(Effect::EditInput { id, text: text.to_owned() });
                }
            }
            Action::DrainInstance => self.ask_stop(),
            Action::CommandLine => self.open_command(),
            Action::Help => self.overlays.push(Overlay::Help { scroll: 0 }),
            Action::Refresh => {
                // What a role may not do was asked at the start or learned from a refusal; it may be allowed by now.
                let denied = [
                    self.session.decide_denied.take(),
                    self.session.submit_denied.take(),
                    self.session.stop_denied.take(),
                    self.session.queues_denied.take(),
                ];
                if denied.iter().any(Option::is_some) {
                    self.say(Level::Info, "reading again; what was refused before may be asked again");
                }
                self.refresh_now();
            }
            Action::Quit => self.quit(AskedBy::Key, effects),
            _ => self.hint(format!("{} does nothing on this screen", entry(action).short)),
        }
    }

    /// Shows a screen; what it needs is read at once.
    pub(super) fn show(&mut self, screen: Screen) {
        self.screen = screen;
    }

    /// Moves by `step` in what has the keys.
    pub(super) fn scroll(&mut self, step: Step) {
        match (self.screen, self.pane) {
            (Screen::Tasks, Pane::List) => self.move_cursor(step),
            (Screen::Tasks, Pane::Detail) => {
                let most = self.viewport.detail_lines.saturating_sub(self.viewport.detail_rows);
                self.detail.scroll = step.from(self.detail.scroll, most.saturating_add(1));
            }
            (Screen::Workers, _) if self.workers_pane == WorkersPane::Queues => self.move_queue(step),
            (Screen::Workers, _) if self.workers_pane == WorkersPane::Limits => self.move_limit(step),
            (Screen::Workers, _) => {
                let Some(read) = &self.instances.read else { return };
                let at = self.instance.and_then(|id| read.value.iter().position(|one| one.id == id));
                let to = at.map_or(0, |at| step.from(at, read.value.len()));
                self.instance = read.value.get(to).map(|instance| instance.id);
                let rows = self.viewport.list_rows.max(1);
                self.instances.offset = self.instances.offset.clamp((to + 1).saturating_sub(rows), to);
            }
            (Screen::Database, _) => {
                let waits = self.health.read.as_ref().map_or(0, |read| read.value.waits.len());
                self.health.offset = step.from(self.health.offset, waits.max(1));
            }
            (Screen::Log, _) => {
                let len = self.log.shown().count().max(1);
                let at = len - 1 - self.log.back.min(len - 1);
                self.log.back = len - 1 - step.from(at, len);
            }
        }
    }

    fn open(&mut self) {
        match (self.screen, self.pane) {
            (Screen::Tasks, Pane::List) => match self.list.cursor {
                Cursor::On { .. } => {
                    self.list.placed = Placed::ByOperator;
                    self.pane = Pane::Detail;
                }
                Cursor::None | Cursor::Gone { .. } => {
                    let why = self.no_row();
                    self.hint(why);
                }
            },
            (Screen::Tasks, Pane::Detail) => match input(self) {
                Ok((id, text)) => {
                    let text = text.to_owned();
                    self.overlays.push(Overlay::Input { id, text, scroll: 0 });
                }
                Err(why) => self.hint(why),
            },
            (Screen::Workers, _) if self.workers_pane == WorkersPane::Queues => self.show_queue(),
            (Screen::Workers, _) if self.workers_pane == WorkersPane::Limits => self.show_tenant(),
            (Screen::Workers, _) => {
                match self
                    .instance_under_cursor()
                    .map(|instance| instance.in_flight.first().map(|run| run.id))
                {
                    Some(Some(id)) => self.go_to(id),
                    Some(None) => self.hint("this instance has no task in flight to open"),
                    None => self.hint("there is no row here"),
                }
            }
            (Screen::Database | Screen::Log, _) => self.hint("there is nothing to open on this screen"),
        }
    }

    /// The tasks of the queue under the cursor.
    fn show_queue(&mut self) {
        match self.queue.clone() {
            Some(queue) => {
                self.screen = Screen::Tasks;
                self.set_filter(Filter { queue: Some(queue), ..self.list.filter.clone() });
            }
            None => self.hint("there is no row here"),
        }
    }

    /// The tasks of the limited tenant under the cursor.
    fn show_tenant(&mut self) {
        match self.limit.clone() {
            Some(tenant) => {
                self.screen = Screen::Tasks;
                self.set_filter(Filter { tenant: Some(tenant), ..self.list.filter.clone() });
            }
            None => self.hint("there is no row here"),
        }
    }

    /// One step back: another pane of screen 2 than the first, the detail pane, then the filter, then the marks. Never quits.
    fn back(&mut self) {
        if self.screen == Screen::Log && self.log.search.take().is_some() {
            self.log.back = 0;
        } else if self.screen == Screen::Workers && self.workers_pane != WorkersPane::Instances {
            self.workers_pane = WorkersPane::Instances;
        } else if self.screen == Screen::Tasks && self.pane == Pane::Detail {
            self.pane = Pane::List;
            self.detail.follows = Follows::Cursor;
            self.follow_cursor();
        } else if self.screen == Screen::Tasks && self.list.is_filtered() {
            self.set_filter(self.list.home.clone());
        } else if self.screen == Screen::Tasks && (self.list.all.is_some() || !self.list.marks.is_empty()) {
            self.list.marks.clear();
            self.list.all = None;
            self.list.mark_when_loaded = None;
        } else {
            let quit = self.keymap.label(Action::Quit);
            self.hint(format!("nothing to step back from; {quit} ends the program"));
        }
    }
}
