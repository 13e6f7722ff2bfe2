//! Numbers as people read them: fixed units, thousands apart, ages short.

use std::time::Duration;

/// An age or a remaining time in one unit: `12 s`, `4 m`, `3 h`, `2 d`.
pub fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// How old data is: tenths below ten seconds, then as [`age`].
pub fn data_age(duration: Duration) -> String {
    if duration.as_secs() < 10 { format!("{:.1} s", duration.as_secs_f64()) } else { age(duration) }
}

/// A count with its thousands apart: `1,204`.
pub fn thousands(count: i64) -> String {
    let digits = count.unsigned_abs().to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if count < 0 {
        shown.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A count in at most five columns: `9,999`, then `12k`, `9.8M`, `120M`.
pub fn short(count: i64) -> String {
    let value = count as f64;
    match count.unsigned_abs() {
        0..10_000 => thousands(count),
        10_000..1_000_000 => format!("{:.0}k", (value / 1e3).floor()),
        1_000_000..10_000_000 => format!("{:.1}M", (value / 1e5).floor() / 10.0),
        10_000_000..1_000_000_000 => format!("{:.0}M", (value / 1e6).floor()),
        _ => format!("{:.1}G", (value / 1e8).floor() / 10.0),
    }
}

/// A rate: one decimal below ten, none above.
pub fn rate(per_unit: f64) -> String {
    if per_unit < 0.05 {
        "0".to_owned()
    } else if per_unit < 9.95 {
        format!("{per_unit:.1}")
    } else {
        // A rate is never near what an i64 cannot hold.
        thousands(format!("{per_unit:.0}").parse().unwrap_or(i64::MAX))
    }
}

/// A size in bytes: `44 B`, `1.5 KiB`, `3.0 MiB`.
pub fn bytes(count: i64) -> String {
    let value = count as f64;
    match count {
        ..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{:.1} KiB", value / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", value / 1_048_576.0),
        _ => format!("{:.1} GiB", value / 1_073_741_824.0),
    }
}

/// A short wait: `0.9 ms`, `210 ms`, `3.2 s`.
pub fn wait(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 9.95 {
        format!("{ms:.1} ms")
    } else if ms < 1_000.0 {
        format!("{ms:.0} ms")
    } else if ms < 10_000.0 {
        format!("{:.1} s", ms / 1e3)
    } else {
        age(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!(age(Duration::from_secs(59)), "59 s");
        assert_eq!(age(Duration::from_mins(1)), "1 m");
        assert_eq!(age(Duration::from_hours(2)), "2 h");
        assert_eq!(age(Duration::from_secs(200_000)), "2 d");
        assert_eq!(data_age(Duration::from_millis(240)), "0.2 s");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(-999), "-999");
        assert_eq!(short(9_999), "9,999");
        assert_eq!(short(19_999), "19k");
        assert_eq!(short(9_850_000), "9.8M");
        assert_eq!(rate(0.0), "0");
        assert_eq!(rate(3.13), "3.1");
        assert_eq!(rate(1_204.4), "1,204");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(wait(Duration::from_micros(940)), "0.9 ms");
        assert_eq!(wait(Duration::from_millis(210)), "210 ms");
    }
}
