//! A request to stop that waits for the operator's `y`: what will become of which instance.

use super::super::acts::Phase;
use super::super::editor::{Edited, Editor};
use super::super::effect::Effect;
use super::super::fleet::{to, why};
use super::super::keys::{Action, Key};
use super::super::log::{Level, Source};
use super::super::overlay::Overlay;
use super::super::question::QuestionFocus;
use super::super::state::State;
use super::{Asked, StopAct, named};
use crate::domain::instance::SeenInstance;
use crate::domain::{Instance, InstanceId, StopMode, input};

/// The question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopQuestion {
    /// What is to be asked for; keys change it while the question stands, and `y` asks for what it names.
    pub mode: StopMode,
    /// Of which instances, in the order of the screen. Each is asked by itself.
    pub rows: Vec<StopRow>,
    /// Why, as far as it is written.
    pub reason: Editor,
    /// Where the keys go.
    pub focus: QuestionFocus,
    /// The first visible row.
    pub scroll: usize,
}

/// An instance of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopRow {
    /// As it was on screen.
    pub seen: SeenInstance,
    /// What it is called: `web2:991`, `this process`.
    pub name: String,
    /// Whether it can still be asked as it was seen.
    pub standing: StopStanding,
}

/// Whether an instance can be asked as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopStanding {
    /// It can.
    Ready,
    /// It cannot.
    NotPossible {
        /// Why.
        reason: String,
    },
    /// Somebody asked it since it was seen.
    Moved {
        /// Who, for what, when.
        by: String,
    },
    /// It is not listed any more.
    Gone,
    /// Another request of this console is not answered yet.
    Busy,
}

impl StopRow {
    const fn is_ready(&self) -> bool {
        matches!(self.standing, StopStanding::Ready)
    }

    /// Why it will not be asked, if so.
    pub fn refusal(&self) -> Option<String> {
        match &self.standing {
            StopStanding::Ready => None,
            StopStanding::NotPossible { reason } => Some(reason.clone()),
            StopStanding::Moved { by } => Some(format!("{by}, after you looked: look again")),
            StopStanding::Gone => Some("it is not listed any more: look again".to_owned()),
            StopStanding::Busy => Some("already asking: the answer is not there yet".to_owned()),
        }
    }
}

impl StopQuestion {
    fn ready(&self) -> impl Iterator<Item = &StopRow> {
        self.rows.iter().filter(|row| row.is_ready())
    }

    /// `Drain web2:991?`, `Drain 3 instances?`.
    pub fn title(&self) -> String {
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        let text = named(self.mode, &names);
        let mut chars = text.chars();
        chars.next().map_or_else(String::new, |first| format!("{}{}?", first.to_uppercase(), chars.as_str()))
    }

    /// Why `y` does nothing now, if so.
    pub fn blocked(&self) -> Option<String> {
        if self.ready().next().is_some() {
            return None;
        }
        Some(match self.rows.as_slice() {
            [row] => format!("not possible: {}", row.refusal().unwrap_or_default()),
            rows => format!("not possible: none of the {} can be asked", rows.len()),
        })
    }

    /// What `y` is labelled: `drain it`, `drain 3 of 4`.
    pub fn yes(&self) -> String {
        let ready = self.ready().count();
        match (self.mode, self.rows.len()) {
            (_, _) if ready == 0 => format!("{} (not possible)", self.mode.as_str()),
            (StopMode::Drain, 1) => "drain it".to_owned(),
            (StopMode::Cancel, 1) => "cancel what it runs".to_owned(),
            (mode, all) if all == ready => format!("{} all {all}", mode.as_str()),
            (mode, all) => format!("{} {ready} of {all}", mode.as_str()),
        }
    }

    /// What the other key makes of the question: its act and its label.
    pub const fn other(&self) -> (Action, &'static str) {
        match self.mode {
            StopMode::Drain => (Action::Cancel, "cancel what runs instead"),
            StopMode::Cancel => (Action::DrainInstance, "drain instead"),
        }
    }

    /// What will happen, in sentences.
    pub fn says(&self, state: &State) -> Vec<String> {
        let [row] = self.rows.as_slice() else { return vec![becomes(self.mode, Who::Several)] };
        let instance = state.instance_of(row.seen.id);
        let mut said = Vec::new();
        if let Some(why) = row.refusal() {
            said.push(format!("Not possible: {why}."));
        } else {
            let console = instance.is_some_and(|instance| instance.kind == "console");
            said.push(becomes(self.mode, if console { Who::Console } else { Who::Headless }));
            if instance.is_some_and(|instance| lease_is_past(state, instance)) {
                said.push("Its lease has passed: it may be dead, and then it obeys nobody.".to_owned());
            }
        }
        said.extend(instance.map(|instance| about(state, instance)));
        said
    }

    /// What will become of one instance of several, in few words.
    ///
    /// # Errors
    /// Says why it is not asked.
    pub fn says_of(&self, state: &State, row: &StopRow) -> Result<String, String> {
        if let Some(why) = row.refusal() {
            // The rest of a sentence is for where it stands alone.
            let why = why.split(';').next().unwrap_or_default();
            return Err(format!("not asked: {why}"));
        }
        let runs = state.instance_of(row.seen.id).map_or(0, |instance| instance.running);
        Ok(match (self.mode, runs) {
            (_, 0) => "runs nothing; will end".to_owned(),
            (StopMode::Drain, runs) => format!("runs {runs}; waits for them, then ends"),
            (StopMode::Cancel, runs) => format!("runs {runs}; asks them to stop, then ends"),
        })
    }
}

#[derive(Clone, Copy)]
enum Who {
    Console,
    Headless,
    Several,
}

fn becomes(mode: StopMode, who: Who) -> String {
    let (it, claims, waits, ends, runs) = match who {
        Who::Headless => ("It", "claims", "waits", "it ends", "it runs"),
        Who::Several => ("Each", "claims", "waits", "it ends (a console stays and only watches)", "it runs"),
        Who::Console => {
            ("Its workers", "claim", "wait", "they end; the console stays and only watches", "they run")
        }
    };
    match mode {
        StopMode::Drain => format!(
            "{it} {claims} nothing more and {waits} for what {runs}; then {ends}. What still runs when the grace \
             time is over (its own --grace) is asked to stop."
        ),
        StopMode::Cancel => format!(
            "{it} {claims} nothing more; what {runs} is asked to stop, and once it has, {ends}. What stops ends \
             CANCELED; requeue brings it back."
        ),
    }
}

/// `Headless, started by alice, queues default; working, runs 2 tasks now: 48213 48214.`
fn about(state: &State, instance: &Instance) -> String {
    let label = if state.is_here(instance.id) { format!("{}: ", instance.label()) } else { String::new() };
    let ids: Vec<String> = instance.in_flight.iter().take(8).map(|run| run.id.to_string()).collect();
    let more = usize::try_from(instance.running).unwrap_or(0).saturating_sub(ids.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let runs = match instance.running {
        0 => "runs nothing now".to_owned(),
        1 => format!("runs 1 task now: {}{more}", ids.join(" ")),
        runs => format!("runs {runs} tasks now: {}{more}", ids.join(" ")),
    };
    format!(
        "{label}{}, started by {}, queues {}; {}, {runs}.",
        instance.kind,
        instance.operator,
        instance.queues.join(" "),
        instance.state.as_str()
    )
}

fn lease_is_past(state: &State, instance: &Instance) -> bool {
    let passed = state.instances.read.as_ref().map_or(0.0, |read| state.since(read.arrived).as_secs_f64());
    instance.lease_left_s - passed <= 0.0
}

impl State {
    /// Asks whether the instance under the cursor is to drain.
    pub(in crate::app) fn ask_stop(&mut self) {
        let Some(instance) = self.instance_under_cursor() else {
            self.hint("there is no row here");
            return;
        };
        let (id, label) = (instance.id, instance.label());
        match self.drawn.instance(id) {
            Some(version) => self.ask_stop_of(StopMode::Drain, vec![(id, label, version)]),
            None => self.hint(format!("{label} has not been on screen yet: look at it, then act")),
        }
    }

    /// Asks whether these instances are to stop, each with the version of its row that was drawn.
    pub(super) fn ask_stop_of(&mut self, mode: StopMode, instances: Vec<(InstanceId, String, i64)>) {
        let rows = instances
            .into_iter()
            .map(|(id, label, stop_version)| {
                let seen = SeenInstance { id, stop_version };
                StopRow { seen, name: self.called(id, &label), standing: standing(self, mode, seen) }
            })
            .collect();
        self.overlays.push(Overlay::Stop(StopQuestion {
            mode,
            rows,
            reason: Editor::line(""),
            focus: QuestionFocus::Answer,
            scroll: 0,
        }));
    }

    /// Looks at the instances of an open question again after something arrived.
    pub(in crate::app) fn watch_stop(&mut self) {
        let mut overlays = std::mem::take(&mut self.overlays);
        for overlay in &mut overlays {
            let Overlay::Stop(question) = overlay else { continue };
            for row in &mut question.rows {
                let now = standing(self, question.mode, row.seen);
                self.needs_draw |= now != row.standing;
                row.standing = now;
            }
        }
        self.overlays = overlays;
    }

    /// A key while the question is on top.
    pub(in crate::app) fn stop_key(&mut self, action: Option<Action>, key: Key, effects: &mut Vec<Effect>) {
        let Some(Overlay::Stop(question)) = self.overlays.last_mut() else { return };
        match (question.focus, action) {
            (QuestionFocus::Reason, Some(Action::Back | Action::Open | Action::NextPane)) => {
                question.focus = QuestionFocus::Answer;
            }
            (QuestionFocus::Reason, _) => {
                if question.reason.key(key) == Edited::Nothing {
                    self.hint("letters go into the reason; Enter or Esc leads back to y and n");
                }
            }
            (QuestionFocus::Answer, Some(Action::Yes)) => self.confirm_stop(key, effects),
            (QuestionFocus::Answer, Some(Action::No | Action::Back)) => self.close(key),
            (QuestionFocus::Answer, Some(Action::Reason)) => question.focus = QuestionFocus::Reason,
            // What is asked for changes; nothing is sent before `y`.
            (QuestionFocus::Answer, Some(Action::Cancel)) => question.mode = StopMode::Cancel,
            (QuestionFocus::Answer, Some(Action::DrainInstance)) => question.mode = StopMode::Drain,
            (QuestionFocus::Answer, Some(Action::Up)) => question.scroll = question.scroll.saturating_sub(1),
            (QuestionFocus::Answer, Some(Action::Down)) => {
                question.scroll = (question.scroll + 1).min(question.rows.len().saturating_sub(1));
            }
            _ => {
                let label = |action| self.keymap.label(action);
                let (yes, no) = (label(Action::Yes), label(Action::No));
                let (other, does) = question.other();
                let hint = format!("{yes} does it, {no} or Esc does not, {}: {does}", label(other));
                self.hint(hint);
            }
        }
    }

    fn confirm_stop(&mut self, key: Key, effects: &mut Vec<Effect>) {
        self.watch_stop();
        let Some(Overlay::Stop(question)) = self.overlays.last() else { return };
        if let Some(denied) = self.stop_denied() {
            self.hint(denied);
            return;
        }
        if let Some(blocked) = question.blocked() {
            self.hint(format!("{blocked}; nothing was sent"));
            return;
        }
        let question = question.clone();
        self.close(key);
        let instances: Vec<Asked> =
            question.ready().map(|row| Asked { seen: row.seen, name: row.name.clone() }).collect();
        let seen: Vec<SeenInstance> = instances.iter().map(|asked| asked.seen).collect();
        let reason = question.reason.text();
        let reason = reason.trim();
        let reason = (!reason.is_empty()).then(|| input::storable(reason));
        // An earlier request that could not be resolved is now made anew, with the version that is on screen.
        self.acts
            .stops
            .retain(|act| act.phase != Phase::Unresolved || !seen.iter().any(|seen| act.is_on(seen.id)));
        let request = self.request();
        let act = StopAct { request, mode: question.mode, instances, phase: Phase::Asking };
        let text = format!("asked to {}{}", act.named(), why(reason.as_deref()));
        self.log.push(self.now, Level::Info, Source::Operator, text);
        self.acts.stops.push(act);
        effects.push(Effect::Stop { request, mode: question.mode, instances: seen, reason });
    }
}

/// Whether an instance can be asked as it was seen, by everything that was read of it since.
fn standing(state: &State, mode: StopMode, seen: SeenInstance) -> StopStanding {
    let Some(instance) = state.instance_of(seen.id) else { return StopStanding::Gone };
    if instance.stop_version > seen.stop_version {
        let by = instance.stop.as_ref().map_or_else(
            || "somebody asked it to stop".to_owned(),
            |request| format!("{} asked it {} {}", request.by, to(request.mode), state.ago(request.at)),
        );
        return StopStanding::Moved { by };
    }
    if state.stop_on(seen.id).is_some_and(|act| act.phase != Phase::Unresolved) {
        return StopStanding::Busy;
    }
    match state.can_be_asked(instance, mode) {
        Ok(()) => StopStanding::Ready,
        Err(reason) => StopStanding::NotPossible { reason },
    }
}
