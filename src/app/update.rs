//! One message in, effects out: each goes to the part of the state that it is for, then what follows from the
//! whole is done.

use std::time::Duration;

use super::effect::Effect;
use super::log::{Level, Source};
use super::message::{Message, Viewport};
use super::refresh;
use super::state::{Size, State};

/// Takes one message that arrived `at` (time since the program's start) and says what is to be done.
/// `state.needs_draw` is set where something visible changed; the root clears it when it draws.
pub fn update(state: &mut State, at: Duration, message: Message) -> Vec<Effect> {
    let mut effects = Vec::new();
    if state.ended {
        return effects;
    }
    let before = state.now;
    state.now = before.max(at);
    if state.now.as_secs() != before.as_secs() {
        // The ages on screen are a second older.
        state.needs_draw = true;
    }
    let (hinted_at, notice) = (state.hinted_at(), state.notice.clone());
    dispatch(state, message, &mut effects);
    if state.hinted_at() != hinted_at {
        state.end_hint(notice.as_ref());
    }
    state.expire_notice();
    state.watch_questions();
    state.settle_shutdown(&mut effects);
    state.show_conflict();
    if !state.ended {
        refresh::ask(state, &mut effects);
    }
    effects
}

fn dispatch(state: &mut State, message: Message, effects: &mut Vec<Effect>) {
    match message {
        Message::Tick => {}
        Message::Wake => state.wake(),
        Message::ListLoaded { generation, page } => state.list_loaded(generation, page),
        Message::ListFailed { generation, failure } => state.list_failed(generation, failure),
        Message::Looked { look, result } => {
            state.needs_draw = true;
            state.looked(look, result);
        }
        Message::OverviewLoaded(overview) => state.overview_loaded(overview),
        Message::OverviewFailed(failure) => state.overview_failed(failure),
        Message::DetailLoaded { id, read_at, found } => state.detail_loaded(id, read_at, found),
        Message::DetailFailed { id, failure } => state.detail_failed(id, failure),
        Message::InstancesLoaded(instances) => state.instances_loaded(instances),
        Message::InstancesFailed(failure) => state.instances_failed(failure),
        Message::QueuesLoaded(queues) => state.queues_loaded(queues),
        Message::QueuesFailed(failure) => state.queues_failed(failure),
        Message::LimitsLoaded(limits) => state.limits_loaded(limits),
        Message::LimitsFailed(failure) => state.limits_failed(failure),
        Message::HealthLoaded(health) => state.health_loaded(*health),
        Message::HealthFailed(failure) => state.health_failed(failure),
        Message::FiguresLoaded { pools, statements } => state.figures_loaded(pools, statements),
        Message::Local(local) => state.local_loaded(local),
        Message::Workers { events, missed } => state.worker_events(events, missed),
        Message::Link(report) => state.link_report(report),
        Message::Viewport(viewport) => state.set_viewport(viewport),
        Message::Drawn(targets) => state.frame_drawn(&targets),
        other => {
            state.needs_draw = true;
            visible(state, other, effects);
        }
    }
}

/// Messages after which the screen is drawn in any case.
fn visible(state: &mut State, message: Message, effects: &mut Vec<Effect>) {
    match message {
        Message::Key(key) => state.key(key, effects),
        Message::Paste(text) => state.paste(&text),
        Message::Clicked(target) => state.clicked(target),
        Message::Resize { width, height } => {
            state.size = Size { width, height };
            state.viewport = super::frame::assumed(state.size);
            state.clamp_offset();
        }
        Message::Decided { request, result } => state.decided(request, result),
        Message::ChunkDecided { request, result } => state.chunk_decided(request, result, effects),
        Message::StopAnswered { request, result } => state.stop_answered(request, result),
        Message::QueueDecided { request, result } => state.queue_decided(request, result),
        Message::WorkersEnded(ended) => state.workers_ended(ended),
        Message::Submitted { request, result } => state.submitted(request, result),
        Message::LinesSubmitted { request, result } => state.lines_submitted(request, result),
        Message::Notice { level, text } => state.say(level, text),
        Message::LogLine { level, text } => state.log.push(state.now, level, Source::Program, text),
        Message::Signal(signal) => state.signal(signal, effects),
        Message::Continued => {
            effects.push(Effect::Redraw);
            state.refresh_now();
        }
        Message::ClipboardDone(Ok(bytes)) => {
            state.hint(format!("copied {bytes} bytes; whether the terminal took them it does not say"));
        }
        Message::ClipboardDone(Err(why)) => state.say(Level::Warn, format!("not copied: {why}")),
        Message::EditorDone(Ok(())) => effects.push(Effect::Redraw),
        Message::EditorDone(Err(why)) => {
            effects.push(Effect::Redraw);
            state.say(Level::Warn, format!("the editor could not show the input: {why}"));
        }
        _ => {}
    }
}

impl State {
    /// Takes the room that the drawn frame had. What was not drawn (no rows) keeps what it had: its place is
    /// still there when it is drawn again. The same frame told twice is not drawn again, else it would tell for
    /// ever.
    fn set_viewport(&mut self, drawn: Viewport) {
        let before = self.viewport;
        let kept = &mut self.viewport;
        if drawn.list_rows > 0 {
            kept.list_rows = drawn.list_rows;
        }
        if drawn.detail_rows > 0 {
            (kept.detail_rows, kept.detail_lines) = (drawn.detail_rows, drawn.detail_lines);
        }
        if drawn.overlay_rows > 0 {
            (kept.overlay_rows, kept.overlay_lines) = (drawn.overlay_rows, drawn.overlay_lines);
        }
        if *kept != before {
            self.needs_draw = true;
            self.clamp_offset();
            self.clamp_scrolls();
        }
    }

    /// Keeps what scrolls within what was drawn.
    fn clamp_scrolls(&mut self) {
        let viewport = self.viewport;
        self.detail.scroll =
            self.detail.scroll.min(viewport.detail_lines.saturating_sub(viewport.detail_rows));
        let most = viewport.overlay_lines.saturating_sub(viewport.overlay_rows);
        if let Some(
            super::overlay::Overlay::Help { scroll } | super::overlay::Overlay::Input { scroll, .. },
        ) = self.overlays.last_mut()
        {
            *scroll = (*scroll).min(most);
        }
    }
}
