//! Which columns of a table fit, and how wide they are. Numbers stand still: a width never depends on the data.

/// Between two columns.
const GAP: u16 = 2;

/// On which side a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// Its heading.
    pub(super) title: &'static str,
    /// The least that is of use; what it has when the table is narrow.
    pub(super) least: u16,
    /// What it takes where there is room.
    pub(super) best: u16,
    /// On which side its text stands.
    pub(super) side: Side,
    /// Goes when the table is narrow, the highest first; zero never goes.
    pub(super) goes: u8,
}

impl Column {
    /// A column of words.
    pub(super) const fn words(title: &'static str, least: u16, best: u16, goes: u8) -> Self {
        Self { title, least, best, side: Side::Left, goes }
    }

    /// A column of numbers, always as wide.
    pub(super) const fn number(title: &'static str, width: u16, goes: u8) -> Self {
        Self { title, least: width, best: width, side: Side::Right, goes }
    }
}

/// Where a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Which of the columns.
    pub(super) index: usize,
    /// Columns of the terminal from the left edge of the table.
    pub(super) x: u16,
    /// Its width.
    pub(super) width: u16,
}

/// Places `columns` within `available`: first the least of each, dropping by [`Column::goes`] until it fits;
/// then what is left goes to those that want more, from left to right, and the rest to the last.
pub(super) fn lay_out(available: u16, columns: &[Column]) -> Vec<Place> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let least = |kept: &[usize]| -> u16 {
        kept.iter().map(|index| columns[*index].least + GAP).sum::<u16>().saturating_sub(GAP)
    };
    while least(&kept) > available {
        let Some(place) = kept
            .iter()
            .enumerate()
            .filter(|(_, index)| columns[**index].goes > 0)
            .max_by_key(|(_, index)| columns[**index].goes)
            .map(|(place, _)| place)
        else {
            break;
        };
        kept.remove(place);
    }
    let mut room = available.saturating_sub(least(&kept));
    let mut x = 0;
    let mut places = Vec::with_capacity(kept.len());
    for (place, index) in kept.iter().enumerate() {
        let column = &columns[*index];
        let more = if place + 1 == kept.len() && column.side == Side::Left {
            room
        } else {
            room.min(column.best.saturating_sub(column.least))
        };
        room -= more;
        let width = (column.least + more).min(available.saturating_sub(x));
        if width == 0 {
            break;
        }
        places.push(Place { index: *index, x, width });
        x += width + GAP;
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [Column; 5] = [
        Column::number("ID", 7, 0),
        Column::words("STATE", 9, 19, 0),
        Column::words("TENANT", 8, 12, 3),
        Column::words("WORKER", 8, 12, 1),
        Column::words("INPUT", 20, 40, 2),
    ];

    fn titles(available: u16) -> Vec<(&'static str, u16)> {
        lay_out(available, &COLUMNS).iter().map(|place| (COLUMNS[place.index].title, place.width)).collect()
    }

    #[test]
    fn columns_shrink_and_go_in_their_order() {
        assert_eq!(titles(100).last(), Some(&("INPUT", 42)));
        assert_eq!(titles(60), [("ID", 7), ("STATE", 9), ("TENANT", 8), ("WORKER", 8), ("INPUT", 20)]);
        assert_eq!(titles(59), [("ID", 7), ("STATE", 18), ("WORKER", 8), ("INPUT", 20)]);
        assert_eq!(titles(40), [("ID", 7), ("STATE", 19), ("WORKER", 10)]);
        assert_eq!(titles(20), [("ID", 7), ("STATE", 11)]);
        assert_eq!(titles(12), [("ID", 7), ("STATE", 3)]);
        assert_eq!(titles(0), []);
    }

    proptest! {
        #[test]
        fn columns_never_overlap_nor_leave_the_table(available in 0_u16..400) {
            let places = lay_out(available, &COLUMNS);
            for pair in places.windows(2) {
                prop_assert!(pair[0].x + pair[0].width < pair[1].x);
            }
            for place in &places {
                prop_assert!(place.x + place.width <= available);
            }
        }
    }
}
