//! A line of facts that drops what matters least until the rest fits: nothing is wrapped and no fact is cut
//! in half while a lesser one is still there.

use ratatui::layout::Rect;

use crate::ui::paint::{Paint, Span, columns, plain, span};
use crate::ui::theme::Role;

/// One fact, with how soon it goes: the highest rank first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    rank: u8,
    spans: Vec<Span>,
    /// What may follow it while there is room.
    more: Option<(u8, Vec<Span>)>,
}

impl Fact {
    /// A fact of several pieces.
    pub(super) fn of(rank: u8, spans: Vec<Span>) -> Self {
        Self { rank, spans, more: None }
    }

    /// A fact of one piece.
    pub(super) fn word(rank: u8, text: impl AsRef<str>, role: Role) -> Self {
        Self::of(rank, vec![span(text, role)])
    }

    /// A number (with its unit) with what it is before it.
    pub(super) fn figure(rank: u8, what: &str, number: &str, role: Role) -> Self {
        let mut spans = Vec::with_capacity(3);
        if !what.is_empty() {
            spans.push(span(what, Role::Faint));
            spans.push(plain(" "));
        }
        spans.push(span(number, role));
        Self::of(rank, spans)
    }

    /// What may follow it while there is room, with a rank of its own.
    pub(super) fn then(self, rank: u8, spans: Vec<Span>) -> Self {
        Self { more: (!spans.is_empty()).then_some((rank, spans)), ..self }
    }

    fn width(&self) -> usize {
        let more = self.more.as_ref().map_or(0, |(_, spans)| columns(spans) + 1);
        columns(&self.spans) + more + 2
    }
}

/// Facts from the left, facts from the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// From the left.
    pub(super) left: Vec<Fact>,
    /// Up to the right.
    pub(super) right: Vec<Fact>,
}

impl Facts {
    /// Facts from the left.
    pub(super) fn new(left: Vec<Fact>) -> Self {
        Self { left, right: Vec::new() }
    }

    /// All of them in one role.
    pub(super) fn looking(mut self, role: Role) -> Self {
        for fact in self.left.iter_mut().chain(&mut self.right) {
            let more = fact.more.iter_mut().map(|(_, spans)| spans);
            for spans in std::iter::once(&mut fact.spans).chain(more) {
                for piece in spans.iter_mut() {
                    *piece = piece.clone().looking(role);
                }
            }
        }
        self
    }

    fn width(&self) -> usize {
        self.left.iter().chain(&self.right).map(Fact::width).sum()
    }

    /// Drops facts until the rest takes at most `available` columns, or until only one is left.
    fn fit(&mut self, available: usize) {
        while self.width() > available {
            let ranks = self.left.iter().chain(&self.right);
            let Some(worst) = ranks.map(|fact| fact.more.as_ref().map_or(fact.rank, |(rank, _)| *rank)).max()
            else {
                return;
            };
            if self.left.len() + self.right.len() == 1 && self.left.iter().all(|fact| fact.more.is_none()) {
                return;
            }
            let drop_last = |facts: &mut Vec<Fact>| -> bool {
                let Some(place) = facts
                    .iter()
                    .rposition(|fact| fact.more.as_ref().map_or(fact.rank, |(rank, _)| *rank) == worst)
                else {
                    return false;
                };
                if facts[place].more.take().is_none() {
                    facts.remove(place);
                }
                true
            };
            let _ = drop_last(&mut self.left) || drop_last(&mut self.right);
        }
    }

    /// Draws them on the first line of `area`.
    pub(super) fn draw(mut self, paint: &mut Paint<'_>, area: Rect) {
        self.fit(usize::from(area.width));
        let mut right = Vec::new();
        for fact in self.right {
            right.push(plain("  "));
            right.extend(fact.spans);
            if let Some((_, more)) = fact.more {
                right.push(plain(" "));
                right.extend(more);
            }
        }
        let area = if right.is_empty() {
            area
        } else {
            // The last column stays free on both sides.
            right.push(plain(" "));
            right.remove(0);
            paint.right(area, &right)
        };
        let mut left = vec![plain(" ")];
        for (place, fact) in self.left.into_iter().enumerate() {
            if place > 0 {
                left.push(plain("  "));
            }
            left.extend(fact.spans);
            if let Some((_, more)) = fact.more {
                left.push(plain(" "));
                left.extend(more);
            }
        }
        paint.line(area, &left);
    }
}
