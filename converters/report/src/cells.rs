//! Values as people read them.

use crate::view::TableCell;
use std::borrow::Cow;
pub use tyrion_model::harmless::text as plain;
use tyrion_model::units;

/// What stands for a value that is not known.
const UNKNOWN: &str = "–";

/// A value in words.
pub fn shown(cell: &TableCell) -> Cow<'_, str> {
    match cell {
        TableCell::Text(text) => plain(text),
        TableCell::Count(count) => units::thousands(*count).into(),
        TableCell::After(0) => "0 s".into(),
        TableCell::Ns(ns) | TableCell::After(ns) => units::duration(*ns).into(),
        TableCell::NsRate(ns) => ns_rate(*ns).into(),
        TableCell::Share(share) => percent(*share).into(),
        TableCell::NsChange(ns) => ns_change(*ns).into(),
        TableCell::Change(share) => change(*share).into(),
        TableCell::Number(number) if number.is_finite() => self::number(*number).into(),
        TableCell::Number(_) | TableCell::Unknown => UNKNOWN.into(),
    }
}

/// What a value is sorted by among others of its column: none for words and
/// for what is not known.
pub(crate) fn rank(cell: &TableCell) -> Option<f64> {
    match cell {
        TableCell::Count(number) | TableCell::Ns(number) | TableCell::After(number) => {
            Some(*number as f64)
        }
        TableCell::Share(number)
        | TableCell::Number(number)
        | TableCell::NsRate(number)
        | TableCell::NsChange(number) => number.is_finite().then_some(*number),
        // What is new has changed more than anything else.
        TableCell::Change(share) => (!share.is_nan()).then(|| share.min(f64::MAX)),
        TableCell::Text(_) | TableCell::Unknown => None,
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
            (TableCell::Text("a\u{1b}[31mb\nc\u{202e}d".to_owned()), "a_[31mb_c_d"),
            (TableCell::Count(1_234_567), "1,234,567"),
            (TableCell::Ns(12_345), "12.3 µs"),
            (TableCell::Share(0.0), "0.0 %"),
            (TableCell::Share(0.0001), "<0.1 %"),
            (TableCell::Share(0.0005), "0.1 %"),
            (TableCell::Share(0.123), "12.3 %"),
            (TableCell::Share(2.5), "250.0 %"),
            (TableCell::Share(f64::NAN), UNKNOWN),
            (TableCell::NsChange(-12_345.0), "−12.3 µs"),
            (TableCell::NsChange(12_345.0), "+12.3 µs"),
            (TableCell::NsChange(0.0), "0 ns"),
            (TableCell::NsChange(-0.0), "0 ns"),
            (TableCell::NsChange(-0.3125), "−0.31 ns"),
            (TableCell::NsChange(f64::NAN), UNKNOWN),
            (TableCell::NsRate(12_345.4), "12.3 µs"),
            (TableCell::NsRate(12.4), "12 ns"),
            (TableCell::NsRate(5.0), "5 ns"),
            (TableCell::NsRate(0.001_23), "0.0012 ns"),
            (TableCell::NsRate(f64::INFINITY), UNKNOWN),
            (TableCell::After(0), "0 s"),
            (TableCell::After(1_500_000_000), "1.5 s"),
            (TableCell::Change(0.123), "+12.3 %"),
            (TableCell::Change(-1.0), "−100.0 %"),
            (TableCell::Change(-0.9999), ">−100 %"),
            (TableCell::Change(0.0004), "0.0 %"),
            (TableCell::Change(41.0), "×42"),
            (TableCell::Change(f64::INFINITY), "new"),
            (TableCell::Number(1.005), "1.00"),
            (TableCell::Number(0.0), "0.00"),
            (TableCell::Number(0.1), "0.10"),
            (TableCell::Number(0.000_123), "0.00012"),
            (TableCell::Number(f64::INFINITY), UNKNOWN),
            (TableCell::Unknown, UNKNOWN),
        ] {
            assert_eq!(shown(&cell), text, "{cell:?}");
        }
    }

    #[test]
    fn words_and_the_unknown_have_no_rank() {
        assert_eq!(rank(&TableCell::Ns(7)), Some(7.0));
        assert_eq!(rank(&TableCell::Text("7".to_owned())), None);
        assert_eq!(rank(&TableCell::Unknown), None);
        assert_eq!(rank(&TableCell::Number(f64::NAN)), None);
    }
}
