//! A request to stop that waits for the operator's `y`: what will become of which instance.

use super::super::acts::Phase;
use super::super::effect::Effect;
use super::super::fleet::{to, why};
use super::super::keys::{Action, Gravity, Keymap};
use super::super::log::{Level, Source};
use super::super::overlay::Overlay;
use super::super::question::{Ask, Reason, Rows, answers, capital, renew};
use super::super::state::State;
use super::{Asked, StopAct, named};
use crate::domain::instance::SeenInstance;
use crate::domain::{Instance, InstanceId, StopMode};

/// The question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopQuestion {
    /// What is to be asked for; keys change it while the question stands, and `y` asks for what it names.
    pub mode: StopMode,
    /// Of which instances, in the order of the screen. Each is asked by itself.
    pub rows: Vec<StopRow>,
    /// Why, as far as it is written.
    pub reason: Reason,
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

impl Ask for StopQuestion {
    fn reason(&self) -> &Reason {
        &self.reason
    }

    fn reason_mut(&mut self) -> &mut Reason {
        &mut self.reason
    }

    /// `Drain web2:991?`, `Drain 3 instances?`.
    fn title(&self) -> String {
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        format!("{}?", capital(&named(self.mode, &names)))
    }

    fn gravity(&self) -> Gravity {
        if self.mode == StopMode::Cancel { Gravity::Grave } else { Gravity::Changes }
    }

    fn blocked(&self) -> Option<String> {
        if self.ready().next().is_some() {
            return None;
        }
        Some(match self.rows.as_slice() {
            [row] => format!("not possible: {}", row.refusal().unwrap_or_default()),
            rows => format!("not possible: none of the {} can be asked", rows.len()),
        })
    }

    /// `drain it`, `drain 3 of 4`.
    fn yes(&self) -> String {
        let ready = self.ready().count();
        match (self.mode, self.rows.len()) {
            (_, _) if ready == 0 => format!("{} (not possible)", self.mode.as_str()),
            (StopMode::Drain, 1) => "drain it".to_owned(),
            (StopMode::Cancel, 1) => "cancel what it runs".to_owned(),
            (mode, all) if all == ready => format!("{} all {all}", mode.as_str()),
            (mode, all) => format!("{} {ready} of {all}", mode.as_str()),
        }
    }

    fn no(&self) -> &'static str {
        "keep"
    }

    fn other(&self) -> Option<(Action, &'static str)> {
        Some(match self.mode {
            StopMode::Drain => (Action::Cancel, "cancel what runs instead"),
            StopMode::Cancel => (Action::DrainInstance, "drain instead"),
        })
    }

    fn turn(&mut self, action: Action) -> bool {
        self.mode = match action {
            Action::Cancel => StopMode::Cancel,
            Action::DrainInstance => StopMode::Drain,
            _ => return false,
        };
        true
    }

    fn hint(&self, keymap: &Keymap) -> String {
        let other = self.other().map(|(other, does)| format!(", {}: {does}", keymap.label(other)));
        format!("{}{}", answers(keymap), other.unwrap_or_default())
    }

    fn rows(&mut self) -> Option<Rows<'_>> {
        Some(Rows { scroll: &mut self.scroll, count: self.rows.len() })
    }

    fn denied(&self, state: &State) -> Option<String> {
        state.stop_denied()
    }

    fn look(&mut self, state: &State) -> bool {
        let mode = self.mode;
        let looked = self.rows.iter_mut().map(|row| {
            let now = standing(state, mode, row.seen);
            renew(&mut row.standing, now)
        });
        looked.fold(false, |any, other| any | other)
    }

    fn send(&self, state: &mut State, reason: Option<String>, effects: &mut Vec<Effect>) {
        let mode = self.mode;
        let instances: Vec<Asked> =
            self.ready().map(|row| Asked { seen: row.seen, name: row.name.clone() }).collect();
        let seen: Vec<SeenInstance> = instances.iter().map(|asked| asked.seen).collect();
        // An earlier request that could not be resolved is now made anew, with the version that is on screen.
        state
            .acts
            .stops
            .retain(|act| act.phase != Phase::Unresolved || !seen.iter().any(|seen| act.is_on(seen.id)));
        let request = state.request();
        let act = StopAct { request, mode, instances, phase: Phase::Asking };
        let text = format!("asked to {}{}", act.named(), why(reason.as_deref()));
        state.log.push(state.now, Level::Info, Source::Operator, text);
        state.acts.stops.push(act);
        effects.push(Effect::Stop { request, mode, instances: seen, reason });
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
        let reason = Reason::of("");
        self.overlays.push(Overlay::Stop(StopQuestion { mode, rows, reason, scroll: 0 }));
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
