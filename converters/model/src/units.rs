//! Times and numbers for people.

use std::fmt::Write;

/// A duration with three digits in the unit that suits it: `345 ns`, `12.3 ms`.
/// The same bytes everywhere, since no floating point is involved.
pub fn duration(duration_ns: u64) -> String {
    for (unit, unit_ns) in [("ns", 1), ("µs", 1_000), ("ms", 1_000_000)] {
        let most_decimals = if unit_ns == 1 { 0 } else { 2 };
        for decimals in (0..=most_decimals).rev() {
            let digits = rounded(duration_ns, unit_ns, decimals);
            if digits < 1_000 {
                return format!("{} {unit}", point(digits, decimals));
            }
        }
    }
    for decimals in [2, 1] {
        let digits = rounded(duration_ns, 1_000_000_000, decimals);
        if digits < 1_000 {
            return format!("{} s", point(digits, decimals));
        }
    }
    format!("{} s", thousands(rounded(duration_ns, 1_000_000_000, 0) as u64))
}

/// The duration in units of `unit_ns` / 10^`decimals`, halves up.
fn rounded(duration_ns: u64, unit_ns: u64, decimals: u32) -> u128 {
    let unit_ns = u128::from(unit_ns);
    (u128::from(duration_ns) * 10u128.pow(decimals) + unit_ns / 2) / unit_ns
}

/// `digits` / 10^`decimals`, without zeros at the end of a fraction.
fn point(digits: u128, decimals: u32) -> String {
    let scale = 10u128.pow(decimals);
    let mut text = (digits / scale).to_string();
    if !digits.is_multiple_of(scale) {
        let fraction = format!("{:0width$}", digits % scale, width = decimals as usize);
        let _ = write!(text, ".{}", fraction.trim_end_matches('0'));
    }
    text
}

/// `12345` → `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 lock`, `2,345 locks`.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// A part of something, as a share to one decimal: `1.2 %`. The same bytes everywhere.
pub fn share(part: u64, of: u64) -> String {
    let permille = match of {
        0 => u128::from(part != 0) * 1_000,
        of => (u128::from(part) * 1_000 + u128::from(of) / 2) / u128::from(of),
    };
    match permille {
        0 if part != 0 => "<0.1 %".to_owned(),
        permille => format!("{}.{} %", permille / 10, permille % 10),
    }
}

/// A moment in ns of Unix time as `2026-10-01T12:34:56Z`.
pub fn utc(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// When a recording began, in ns of Unix time, for people; 0 if that is not known.
pub fn start(unix_ns: u64) -> String {
    if unix_ns == 0 { "not known".to_owned() } else { utc(unix_ns) }
}

/// Year, month and day of a day since 1970. Years are counted from March, so
/// that the leap day is the last one; 400 years have 146 097 days.
fn date(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468; // from 0000-03-01
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        for (duration_ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (1_234, "1.23 µs"),
            (9_994, "9.99 µs"),
            (9_996, "10 µs"),
            (12_345, "12.3 µs"),
            (99_960, "100 µs"),
            (999_499, "999 µs"),
            (999_500, "1 ms"),
            (10_000_000, "10 ms"),
            (999_600_000, "1 s"),
            (1_500_000_000, "1.5 s"),
            (123_456_000_000, "123 s"),
            (12_345_600_000_000, "12,346 s"),
            (u64::MAX, "18,446,744,074 s"),
        ] {
            assert_eq!(duration(duration_ns), text, "{duration_ns}");
        }
    }

    #[test]
    fn shares_have_one_decimal() {
        for (part, of, text) in [
            (0, 0, "0.0 %"),
            (0, 7, "0.0 %"),
            (1, 0, "100.0 %"),
            (1, 8, "12.5 %"),
            (1, 2_001, "<0.1 %"),
            (1, 2_000, "0.1 %"),
            (u64::MAX, u64::MAX, "100.0 %"),
            (u64::MAX, 1, "1844674407370955161500.0 %"),
        ] {
            assert_eq!(share(part, of), text);
        }
    }

    #[test]
    fn moments() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(start(0), "not known");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_700_000_000_999_999_999), "2023-11-14T22:13:20Z");
        assert_eq!(utc(4_107_542_399_000_000_000), "2100-02-28T23:59:59Z");
        assert_eq!(utc(4_107_542_400_000_000_000), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn thousands_are_told_apart() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
    }
}
