//! Durations and moments, as people write them.

use super::error::FilterError;
use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_while_m_n},
    character::complete::{char, digit1, one_of},
    combinator::{all_consuming, map, map_opt, opt, value},
    multi::many1,
    sequence::preceded,
};
use tyrion_formats::Recording;

/// A moment, as a filter names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// This many ns after the start of the recording, all of whose files count.
    AfterStart(u64),
    /// This many ns before the end of the recording.
    BeforeEnd(u64),
    /// A Unix time in ns.
    Wall(u64),
}

impl Moment {
    /// The moment as monotonic time of a log, in ns. Moments before its clock
    /// began are 0.
    pub fn in_log(self, log: &Recording) -> u64 {
        match self {
            Moment::AfterStart(ns) => log.whole().start.saturating_add(ns),
            Moment::BeforeEnd(ns) => log.whole().end.saturating_sub(ns),
            Moment::Wall(ns) => {
                let facts = log.facts();
                let since_anchor = i128::from(ns) - i128::from(facts.start_wall_ns);
                let mono = i128::from(facts.start_ns) + since_anchor;
                u64::try_from(mono.max(0)).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Reads a duration such as `50us`, `1.5ms`, `5s` or `1h2m`, in ns.
///
/// # Errors
/// When the text is none.
pub fn duration_ns(text: &str) -> Result<u64, FilterError> {
    let parsed = all_consuming(duration).parse(text.trim());
    parsed.map(|(_, ns)| ns).map_err(|_| FilterError::Duration(text.to_owned()))
}

/// Reads a moment: a duration after the log's start, one with a minus before
/// its end, or an RFC 3339 time, of UTC if it names no offset.
///
/// # Errors
/// When the text is none of them.
pub fn moment(text: &str) -> Result<Moment, FilterError> {
    let parser = alt((
        map(wall, Moment::Wall),
        map(preceded(char('-'), duration), Moment::BeforeEnd),
        map(preceded(opt(char('+')), duration), Moment::AfterStart),
    ));
    let parsed = all_consuming(parser).parse(text.trim());
    parsed.map(|(_, moment)| moment).map_err(|_| FilterError::Moment(text.to_owned()))
}

fn duration(input: &str) -> IResult<&str, u64> {
    let sum = map_opt(many1(part), |parts| parts.into_iter().try_fold(0u64, u64::checked_add));
    // Zero needs no unit.
    alt((sum, value(0, all_consuming(tag("0"))))).parse(input)
}

/// A number with its unit.
fn part(input: &str) -> IResult<&str, u64> {
    let fraction = opt(preceded(char('.'), digit1));
    map_opt((digit1, fraction, unit), |(whole, fraction, unit): (&str, Option<&str>, u64)| {
        let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
        whole.checked_add(scaled(fraction.unwrap_or("0"), unit))
    })
    .parse(input)
}

fn unit(input: &str) -> IResult<&str, u64> {
    alt((
        value(1, tag("ns")),
        value(1_000, alt((tag("us"), tag("µs"), tag("μs")))),
        value(1_000_000, tag("ms")),
        value(1_000_000_000, tag("s")),
        value(60_000_000_000, tag("m")),
        value(3_600_000_000_000, tag("h")),
        value(86_400_000_000_000, tag("d")),
    ))
    .parse(input)
}

/// The digits after a point of a number of this unit, in ns; less than a ns is
/// cut.
fn scaled(digits: &str, unit: u64) -> u64 {
    let (mut sum, mut divisor) = (0u128, 1u128);
    // 18 digits are more than any unit has, and fit.
    for digit in digits.bytes().take(18) {
        sum = sum * 10 + u128::from(digit - b'0');
        divisor *= 10;
    }
    (sum * u128::from(unit) / divisor) as u64
}

/// `2026-11-21T10:49:00.5+01:00` as Unix time in ns.
fn wall(input: &str) -> IResult<&str, u64> {
    let date = (number(4), char('-'), number(2), char('-'), number(2));
    let seconds = opt((preceded(char(':'), number(2)), opt(preceded(char('.'), digit1))));
    let time = (number(2), char(':'), number(2), seconds);
    map_opt((date, one_of("Tt "), time, zone), |(date, _, time, zone_s)| {
        let (year, _, month, _, day) = date;
        let (hour, _, minute, seconds) = time;
        let (second, fraction) = seconds.unwrap_or((0, None));
        let possible = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        let s = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone_s;
        let ns = u64::try_from(s).ok()?.checked_mul(1_000_000_000)?;
        let whole = ns.checked_add(scaled(fraction.unwrap_or("0"), 1_000_000_000));
        whole.filter(|_| possible)
    })
    .parse(input)
}

fn number<'a>(
    digits: usize,
) -> impl Parser<&'a str, Output = i64, Error = nom::error::Error<&'a str>> {
    let taken = take_while_m_n(digits, digits, |c: char| c.is_ascii_digit());
    map_opt(taken, |text: &str| text.parse().ok())
}

/// The offset from UTC, in seconds.
fn zone(input: &str) -> IResult<&str, i64> {
    let offset = map((one_of("+-"), number(2), opt(char(':')), number(2)), |(sign, h, _, m)| {
        let s = h * 3600 + m * 60;
        if sign == '-' { -s } else { s }
    });
    let parsed = opt(alt((value(0, one_of("Zz")), offset)));
    map(parsed, |zone| zone.unwrap_or(0)).parse(input)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted
/// from March, so that the leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations() {
        for (text, ns) in [
            ("50us", 50_000),
            ("50µs", 50_000),
            ("1.5ms", 1_500_000),
            ("0.000000001s", 1),
            ("5s", 5_000_000_000),
            ("1h2m", 3_720_000_000_000),
            ("1m500ms", 60_500_000_000),
            ("7ns", 7),
            ("0", 0),
        ] {
            assert_eq!(duration_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "5", "s", "-5s", "1.ms", "5 s", "99999999999999999999s", "30000000000h"] {
            assert!(duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_moments() {
        let wall = |s: u64, ns: u64| Ok(Moment::Wall(s * 1_000_000_000 + ns));
        assert_eq!(moment("5s"), Ok(Moment::AfterStart(5_000_000_000)));
        assert_eq!(moment("+5s"), Ok(Moment::AfterStart(5_000_000_000)));
        assert_eq!(moment("-10s"), Ok(Moment::BeforeEnd(10_000_000_000)));
        assert_eq!(moment("1970-01-01T00:00:00Z"), wall(0, 0));
        // Checked with `date -u -d … +%s`.
        assert_eq!(moment("2026-11-21T10:49:00Z"), wall(1_795_258_140, 0));
        assert_eq!(moment("2026-11-21T10:49:00"), wall(1_795_258_140, 0));
        assert_eq!(moment("2026-11-21 10:49"), wall(1_795_258_140, 0));
        assert_eq!(moment("2026-11-21T11:49:00.25+01:00"), wall(1_795_258_140, 250_000_000));
        assert_eq!(moment("2024-02-29T23:59:59Z"), wall(1_709_251_199, 0));
        assert_eq!(moment("2000-03-01T00:00:00-00:30"), wall(951_870_600, 0));
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "1969-12-31T23:59:59Z", "10:49"] {
            let error = moment(text).unwrap_err();
            assert_eq!(error, FilterError::Moment(text.to_owned()));
        }
    }
}
