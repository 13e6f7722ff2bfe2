//! Numbers in the form in which several views show them.

use std::time::Duration;

use crate::app::state::History;
use crate::domain::figure;
use crate::domain::observed::Tally;
use crate::ui::glyphs::Glyphs;
use crate::ui::paint::{Span, span};
use crate::ui::theme::Role;

/// An age or a remaining time.
pub(super) fn since(duration: Duration) -> String {
    figure::age(duration)
}

/// A count, with `~` where it is an estimate.
pub(super) fn tally(tally: Tally) -> String {
    format!("{}{}", if tally.estimated { "~" } else { "" }, figure::short(tally.count))
}

/// A time of milliseconds as `00:41:07`, or `2 d 03:10` beyond a day.
pub(super) fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    if days > 0 {
        format!("{days} d {hours:02}:{minutes:02}")
    } else {
        format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
    }
}

/// Milliseconds as the database gives them; nothing is negative but by a clock that was set back.
pub(super) fn ms(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

/// The latest figures of a history as heights, scaled to the highest of them; blank until there are two.
pub(super) fn spark(history: &History, glyphs: &Glyphs, places: usize) -> Vec<Span> {
    let figures = &history.0;
    let from = figures.len().saturating_sub(places);
    if figures.len() < 2 {
        return Vec::new();
    }
    let highest = figures.iter().skip(from).copied().fold(0.0_f64, f64::max);
    let mut drawn = " ".repeat(places - (figures.len() - from));
    for figure in figures.iter().skip(from) {
        drawn.push_str(glyphs.spark[height(*figure, highest, glyphs.spark.len())]);
    }
    vec![span(drawn, Role::Faint)]
}

/// Which of `heights` stands for `figure` where `highest` is the top; the lowest means none at all.
fn height(figure: f64, highest: f64, heights: usize) -> usize {
    let scale = figure / highest;
    (1..heights).rev().find(|step| figure > 0.0 && scale * heights as f64 >= *step as f64).unwrap_or(0)
}

/// A gauge of at most `places` cells.
pub(super) fn gauge(used: usize, of: usize, glyphs: &Glyphs, places: usize) -> String {
    let cells = of.min(places);
    let full = if of == 0 { 0 } else { (used * cells).div_ceil(of).min(cells) };
    format!("{}{}", glyphs.gauge[0].repeat(full), glyphs.gauge[1].repeat(cells - full))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::glyphs::Charset;

    #[test]
    fn gauges() {
        let glyphs = Charset::Ascii.glyphs();
        assert_eq!(gauge(3, 4, &glyphs, 4), "###.");
        assert_eq!(gauge(1, 64, &glyphs, 4), "#...");
        assert_eq!(gauge(0, 0, &glyphs, 4), "");
        assert_eq!(gauge(9, 4, &glyphs, 4), "####");
    }

    #[test]
    fn heights() {
        assert_eq!(height(0.0, 0.0, 8), 0);
        assert_eq!(height(10.0, 10.0, 8), 7);
        assert_eq!(height(5.0, 10.0, 8), 4);
        assert_eq!(height(0.1, 10.0, 8), 0);
    }

    #[test]
    fn clocks() {
        assert_eq!(clock(Duration::from_secs(2_467)), "00:41:07");
        assert_eq!(clock(Duration::from_secs(200_000)), "2 d 07:33");
    }
}
