//! Lengths of time as people write them: `500ms`, `10s`, `2m`, `1m30s`, `12h`, `30d`.

use std::time::Duration;

/// What a length of time looks like, for messages.
pub const EXAMPLES: &str = "a time such as 500ms, 10s, 2m, 12h or 30d";

/// The longest time that is taken: ten years. Beyond it a slip of the finger is likelier than a plan.
const LONGEST: u128 = 10 * 366 * 86_400 * 1_000_000_000;

/// Reads a length of time: numbers each with a unit (`ms`, `s`, `m`, `h`, `d`), largest or smallest first; a
/// number alone is seconds.
///
/// # Errors
/// Says what is wrong: negative, no number, an unknown unit, too long.
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let shown = crate::domain::text::visible(text);
    if text.starts_with('-') {
        return Err(format!("`{shown}` is negative; give {EXAMPLES}"));
    }
    let wrong = || format!("`{shown}` is not a length of time; give {EXAMPLES}");
    let mut rest = text;
    let mut total: u128 = 0;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = &rest[..digits];
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "" if digits == text.len() => 1_000_000_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return Err(wrong()),
        };
        total = total.saturating_add(nanoseconds(number, unit).ok_or_else(wrong)?);
        rest = rest[letters..].trim_start();
        if rest.is_empty() {
            break;
        }
    }
    if total > LONGEST {
        return Err(format!("`{shown}` is longer than ten years"));
    }
    u64::try_from(total).map(Duration::from_nanos).map_err(|_| wrong())
}

/// `number` times `unit` nanoseconds, in whole numbers: ten years in milliseconds do not fit a float exactly.
fn nanoseconds(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 18 || fraction.len() > 9 {
        return None;
    }
    let read = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() };
    let parts = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some(read(whole)? * unit + read(fraction)? * unit / parts)
}

/// A length of time as [`parse`] reads it.
pub fn show(duration: Duration) -> String {
    let ms = duration.as_millis();
    let whole = |unit: u128| ms >= unit && ms.is_multiple_of(unit);
    if ms == 0 {
        "0s".to_owned()
    } else if whole(86_400_000) {
        format!("{}d", ms / 86_400_000)
    } else if whole(3_600_000) {
        format!("{}h", ms / 3_600_000)
    } else if whole(60_000) {
        format!("{}m", ms / 60_000)
    } else if whole(1_000) {
        format!("{}s", ms / 1_000)
    } else {
        format!("{ms}ms")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("2m", 120_000),
            ("1m30s", 90_000),
            ("1.5s", 1_500),
            ("0", 0),
            ("60", 60_000),
            ("12h", 43_200_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert!(parse("-5s").expect_err("negative").contains("negative"));
        for bad in ["", "s", "5x", "5s6", "1..2s", "ten", "5 s x", "99999d", ".", "\u{1b}[31m"] {
            let problem = parse(bad).expect_err(bad);
            assert!(!problem.contains('\u{1b}'), "{problem:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(ms in 0_u64..10_000_000_000) {
            let duration = Duration::from_millis(ms);
            prop_assert_eq!(parse(&show(duration)), Ok(duration));
        }

        #[test]
        fn nothing_panics(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
