//! Values as people read them.

use crate::view::Cell;
use std::borrow::Cow;
pub use tyrion_converters::harmless::text as plain;
use tyrion_converters::outputs::units;

/// What stands for a value that is not known.
const UNKNOWN: &str = "–";

/// A value in words.
pub fn shown(cell: &Cell) -> Cow<'_, str> {
    match cell {
        Cell::Text(text) => plain(text),
        Cell::Count(count) => units::thousands(*count).into(),
        Cell::After(0) => "0 s".into(),
        Cell::Ns(ns) | Cell::After(ns) => units::duration(*ns).into(),
        Cell::NsRate(ns) => ns_rate(*ns).into(),
        Cell::Share(share) => percent(*share).into(),
        Cell::NsChange(ns) => ns_change(*ns).into(),
        Cell::Change(share) => change(*share).into(),
        Cell::Number(number) if number.is_finite() => self::number(*number).into(),
        Cell::Number(_) | Cell::Unknown => UNKNOWN.into(),
    }
}

/// What a value is sorted by among others of its column: none for words and
/// for what is not known.
pub(super) fn rank(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Count(number) | Cell::Ns(number) | Cell::After(number) => Some(*number as f64),
        Cell::Share(number)
        | Cell::Number(number)
        | Cell::NsRate(number)
        | Cell::NsChange(number) => number.is_finite().then_some(*number),
        // What is new has changed more than anything else.
        Cell::Change(share) => (!share.is_nan()).then(|| share.min(f64::MAX)),
        Cell::Text(_) | Cell::Unknown => None,
    }
}

/// A number with two digits behind the point, or as many as it takes to show
/// two that are not 0.
fn number(number: f64) -> String {
    let digits = match number.abs() {
        small if (1e-9..0.095).contains(&small) => (1.0 - small.log10().floor()) as usize,
        _ => 2,
    };
    format!("{number:.digits$}")
}

/// A duration that was divided: below 1 µs with the digits behind the point that
/// [`units::duration`] has above.
pub fn ns_rate(ns: f64) -> String {
    if !ns.is_finite() {
        return UNKNOWN.to_owned();
    }
    let ns = ns.max(0.0);
    let text = match ns {
        10.0.. => return units::duration(ns.round() as u64),
        _ => number(ns),
    };
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{} ns", if text.is_empty() { "0" } else { text })
}

/// A change of a duration with its sign, `+12.3 ms`.
pub fn ns_change(ns: f64) -> String {
    let sign = match ns {
        ns if ns > 0.0 => "+",
        ns if ns < 0.0 => "−",
        _ => "",
    };
    format!("{sign}{}", ns_rate(ns.abs()))
}

/// A change in percent with its sign, `−12.3 %`.
pub fn change(share: f64) -> String {
    match 100.0 * share {
        percent if percent.is_nan() => UNKNOWN.to_owned(),
        percent if percent.is_infinite() => "new".to_owned(),
        // What is all but gone is not gone.
        percent if percent > -100.0 && percent <= -99.95 => ">−100 %".to_owned(),
        percent if percent >= 1_000.0 => format!("×{:.0}", 1.0 + share),
        percent if percent.abs() < 0.05 => "0.0 %".to_owned(),
        percent => format!("{percent:+.1} %").replace('-', "−"),
    }
}

/// A share with one digit behind the point; one that is not nothing is never
/// shown as such.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        UNKNOWN.to_owned()
    } else if percent > 0.0 && percent < 0.05 {
        "<0.1 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_words() {
        for (cell, text) in [
            (Cell::Text("a\u{1b}[31mb\nc\u{202e}d".to_owned()), "a_[31mb_c_d"),
            (Cell::Count(1_234_567), "1,234,567"),
            (Cell::Ns(12_345), "12.3 µs"),
            (Cell::Share(0.0), "0.0 %"),
            (Cell::Share(0.0001), "<0.1 %"),
            (Cell::Share(0.0005), "0.1 %"),
            (Cell::Share(0.123), "12.3 %"),
            (Cell::Share(2.5), "250.0 %"),
            (Cell::Share(f64::NAN), UNKNOWN),
            (Cell::NsChange(-12_345.0), "−12.3 µs"),
            (Cell::NsChange(12_345.0), "+12.3 µs"),
            (Cell::NsChange(0.0), "0 ns"),
            (Cell::NsChange(-0.0), "0 ns"),
            (Cell::NsChange(-0.3125), "−0.31 ns"),
            (Cell::NsChange(f64::NAN), UNKNOWN),
            (Cell::NsRate(12_345.4), "12.3 µs"),
            (Cell::NsRate(12.4), "12 ns"),
            (Cell::NsRate(5.0), "5 ns"),
            (Cell::NsRate(0.001_23), "0.0012 ns"),
            (Cell::NsRate(f64::INFINITY), UNKNOWN),
            (Cell::After(0), "0 s"),
            (Cell::After(1_500_000_000), "1.5 s"),
            (Cell::Change(0.123), "+12.3 %"),
            (Cell::Change(-1.0), "−100.0 %"),
            (Cell::Change(-0.9999), ">−100 %"),
            (Cell::Change(0.0004), "0.0 %"),
            (Cell::Change(41.0), "×42"),
            (Cell::Change(f64::INFINITY), "new"),
            (Cell::Number(1.005), "1.00"),
            (Cell::Number(0.0), "0.00"),
            (Cell::Number(0.1), "0.10"),
            (Cell::Number(0.000_123), "0.00012"),
            (Cell::Number(f64::INFINITY), UNKNOWN),
            (Cell::Unknown, UNKNOWN),
        ] {
            assert_eq!(shown(&cell), text, "{cell:?}");
        }
    }

    #[test]
    fn words_and_the_unknown_have_no_rank() {
        assert_eq!(rank(&Cell::Ns(7)), Some(7.0));
        assert_eq!(rank(&Cell::Text("7".to_owned())), None);
        assert_eq!(rank(&Cell::Unknown), None);
        assert_eq!(rank(&Cell::Number(f64::NAN)), None);
    }
}
