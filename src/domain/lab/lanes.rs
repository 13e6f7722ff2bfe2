//! One round drawn as lanes on one time line, the client's: asked, waited for a lock, answered.

use std::fmt::Write as _;

use super::{Call, Round, Wait};

/// The fewest columns that the time line has.
const LEAST: usize = 20;

/// Draws `round` in `columns`, a line a call, in ASCII: `-` under way, `.` seen waiting for a lock, `|` answered. A wait
/// is drawn from the first look that saw it to the last: it began before and ended after.
pub fn lanes(round: &Round, columns: usize) -> Vec<String> {
    let Some(end) = round.calls.iter().map(|call| call.answered_us).max() else { return Vec::new() };
    let label = round.calls.iter().map(|call| label(call).len()).max().unwrap_or(0);
    // Behind the line stands what was answered.
    let line = columns.saturating_sub(label + 2).saturating_mul(3) / 5;
    let scale = Scale { end: end.max(1), columns: line.max(LEAST) };
    let mut drawn = vec![scale.head(round, label)];
    drawn.extend(round.calls.iter().map(|call| {
        let waits: Vec<&Wait> = round.waits.iter().filter(|wait| wait.who == call.who).collect();
        format!("{:<label$}  {} {}", self::label(call), scale.lane(call, &waits), answer(call, &waits))
    }));
    drawn
}

fn label(call: &Call) -> String {
    format!("{} {}", call.who, call.act)
}

/// What was answered, and for whom was waited.
fn answer(call: &Call, waits: &[&Wait]) -> String {
    let mut words = String::new();
    if let Some(rows) = call.rows {
        // Writing to a String cannot fail.
        let _ = write!(words, "{rows} row{}  ", if rows == 1 { "" } else { "s" });
    }
    words.push_str(call.answer.as_str());
    if let Some(code) = &call.sqlstate {
        let _ = write!(words, " {code}");
    }
    if let [told] = call.told.as_slice() {
        let _ = write!(words, "  ({})", told.words());
    }
    if call.retries > 0 {
        let _ = write!(words, "  decided again {}x", call.retries);
    }
    if call.resolved_from_unknown {
        words.push_str("  found out after a lost answer");
    }
    let mut blockers: Vec<&str> =
        waits.iter().flat_map(|wait| &wait.blocked_by).map(String::as_str).collect();
    blockers.dedup();
    if !blockers.is_empty() {
        let _ = write!(words, "  waited for {}", blockers.join(", then "));
    }
    words
}

struct Scale {
    end: u64,
    columns: usize,
}

impl Scale {
    fn at(&self, us: u64) -> usize {
        let last = self.columns - 1;
        let place = u128::from(us.min(self.end)) * last as u128 / u128::from(self.end);
        usize::try_from(place).unwrap_or(last).min(last)
    }

    /// The time line's beginning, the gate, and behind it how long the line is.
    fn head(&self, round: &Round, label: usize) -> String {
        let mut line = vec![' '; self.columns];
        line[0] = '0';
        let mut words = format!("{:.1} ms", self.end as f64 / 1e3);
        if let Some(opened) = round.gate.opened_us {
            line[self.at(opened)] = 'v';
            words.push_str("  v: the holder lets go");
        }
        let line: String = line.into_iter().collect();
        format!("{:label$}  {line} {words}", "")
    }

    fn lane(&self, call: &Call, waits: &[&Wait]) -> String {
        let (from, to) = (self.at(call.asked_us), self.at(call.answered_us));
        let mut line: Vec<char> =
            (0..self.columns).map(|at| if at >= from && at < to { '-' } else { ' ' }).collect();
        for wait in waits {
            for place in &mut line[self.at(wait.first_us)..=self.at(wait.last_us)] {
                *place = '.';
            }
        }
        line[from] = '>';
        line[to] = '|';
        line.into_iter().collect()
    }
}
