//! One message in, effects out.

use std::time::Duration;

use super::effect::Effect;
use super::message::Message;
use super::state::State;

/// Takes one message that arrived `at` (time since the program's start, never falling) and says what is to be
/// done. `state.needs_draw` is set where something visible changed.
pub fn update(state: &mut State, at: Duration, _message: Message) -> Vec<Effect> {
    state.now = state.now.max(at);
    Vec::new()
}
