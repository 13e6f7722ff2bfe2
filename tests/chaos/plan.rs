//! What a run is told, and the numbers that follow from its seed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970, by the clock that the server, the workers' commands and this process share.
pub(crate) type Micros = i64;

/// What a run is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Decides what is submitted, decided and broken, and in which order. How the processes meet is up to the machine.
    pub(crate) seed: u64,
    /// How long things are broken.
    pub(crate) faults: Duration,
}

impl Plan {
    /// As `TASKDECK_CHAOS_SEED` and `TASKDECK_CHAOS_SECONDS` say, else a short run that is the same each time.
    pub(crate) fn from_environment() -> Self {
        let number = |name: &str, standard| {
            std::env::var(name).map_or(standard, |text| {
                text.trim().parse().unwrap_or_else(|_| panic!("{name}: `{text}` is no whole number"))
            })
        };
        Self {
            seed: number("TASKDECK_CHAOS_SEED", 7),
            faults: Duration::from_secs(number("TASKDECK_CHAOS_SECONDS", 20)),
        }
    }

    /// The dice of one who acts: what one does moves nobody else's.
    pub(crate) fn dice(self, actor: &str) -> fastrand::Rng {
        let mixed = actor.bytes().fold(self.seed ^ 0xcbf2_9ce4_8422_2325, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        fastrand::Rng::with_seed(mixed)
    }
}

/// A wait between `low` and `high` milliseconds.
pub(crate) fn millis(dice: &mut fastrand::Rng, low: u64, high: u64) -> Duration {
    Duration::from_millis(dice.u64(low..=high))
}

/// Cards that are all dealt before any is dealt again, so that a short run has some of each.
#[derive(Debug)]
pub(crate) struct Deck<T> {
    cards: Vec<T>,
    left: Vec<T>,
}

impl<T: Copy> Deck<T> {
    pub(crate) fn new(cards: &[T]) -> Self {
        Self { cards: cards.to_vec(), left: Vec::new() }
    }

    pub(crate) fn deal(&mut self, dice: &mut fastrand::Rng) -> T {
        if self.left.is_empty() {
            self.left.clone_from(&self.cards);
            dice.shuffle(&mut self.left);
        }
        self.left.pop().expect("a deck has cards")
    }
}

/// What the clock says.
pub(crate) fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Micros::try_from(since.as_micros()).expect("a clock before 294000")
}

/// Microseconds as seconds.
pub(crate) fn seconds(micros: Micros) -> f64 {
    micros as f64 / 1e6
}
