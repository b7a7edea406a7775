//! The columns of the two tables: what stands in them, and how they sort.

use super::frame::{RowAcquisitions, RowWaits, ThreadRow, TopLock};
use std::cmp::Ordering;
use tyrion_model::{harmless, units};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column of a table whose rows are `R`.
pub struct TableColumn<R: 'static> {
    /// Its heading.
    pub title: &'static str,
    /// How wide it is; 0: it takes what the others leave.
    pub width: usize,
    /// Screens that are less wide do without.
    pub least_screen: usize,
    /// Only in trace mode.
    pub of_trace: bool,
    /// Left out where nothing stands in it, and not sorted by.
    pub is_rare: bool,
    /// Numbers stand at the right.
    pub is_number: bool,
    /// What stands in it.
    pub text: fn(&R) -> String,
    /// Which of two rows comes first when this column sorts.
    pub order: fn(&R, &R) -> Ordering,
}

/// Greater numbers first.
fn down(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

/// Greater numbers first, and those that are not known last.
pub fn known_down(a: Option<f64>, b: Option<f64>) -> Ordering {
    let known = |figure: Option<f64>| figure.unwrap_or(-1.0);
    down(known(a), known(b))
}

const fn figure<R>(
    title: &'static str,
    width: usize,
    text: fn(&R) -> String,
    order: fn(&R, &R) -> Ordering,
) -> TableColumn<R> {
    TableColumn {
        title,
        width,
        least_screen: 0,
        of_trace: false,
        is_rare: false,
        is_number: true,
        text,
        order,
    }
}

/// A row that has what both tables show.
trait TopRow {
    fn waits(&self) -> &RowWaits;
    fn taken(&self) -> RowAcquisitions;
}

impl TopRow for TopLock {
    fn waits(&self) -> &RowWaits {
        &self.waits
    }

    fn taken(&self) -> RowAcquisitions {
        self.taken.unwrap_or_default()
    }
}

impl TopRow for ThreadRow {
    fn waits(&self) -> &RowWaits {
        &self.waits
    }

    fn taken(&self) -> RowAcquisitions {
        self.taken.unwrap_or_default()
    }
}

/// How long a wait of a row's took; nothing where there was none.
fn duration(row: &impl TopRow, ns: u64) -> String {
    if row.waits().waits == 0 { String::new() } else { units::duration(ns) }
}

const fn waiting<R: TopRow>() -> TableColumn<R> {
    figure(
        "WAITING",
        7,
        |r| number(r.waits().waiting),
        |a, b| down(a.waits().waiting, b.waits().waiting),
    )
}

const fn waits_per_s<R: TopRow>() -> TableColumn<R> {
    figure(
        "WAITS/S",
        8,
        |r| rate(r.waits().waits_per_s),
        |a, b| down(a.waits().waits_per_s, b.waits().waits_per_s),
    )
}

const fn mean<R: TopRow>() -> TableColumn<R> {
    figure(
        "MEAN",
        7,
        |r| duration(r, r.waits().mean_ns),
        |a, b| b.waits().mean_ns.cmp(&a.waits().mean_ns),
    )
}

const fn longest<R: TopRow>() -> TableColumn<R> {
    figure(
        "MAX",
        7,
        |r| duration(r, r.waits().max_ns),
        |a, b| b.waits().max_ns.cmp(&a.waits().max_ns),
    )
}

const fn acquisitions<R: TopRow>() -> TableColumn<R> {
    let column = figure::<R>(
        "ACQ/S",
        8,
        |r| r.taken().acquisitions_per_s.map_or_else(String::new, rate),
        |a, b| known_down(a.taken().acquisitions_per_s, b.taken().acquisitions_per_s),
    );
    TableColumn { of_trace: true, ..column }
}

/// How far that may be off where acquisitions were counted in bursts: two standard errors,
/// for 95 % of such estimates.
const fn acquisitions_error<R: TopRow>() -> TableColumn<R> {
    fn error(row: &impl TopRow) -> f64 {
        2.0 * row.taken().acquisitions_per_s_error.unwrap_or(0.0)
    }
    let column = figure::<R>(
        "ACQ/S ±",
        8,
        |r| Some(error(r)).filter(|it| *it > 0.0).map_or_else(String::new, rate),
        |a, b| down(error(a), error(b)),
    );
    TableColumn { of_trace: true, is_rare: true, ..column }
}

const fn held<R: TopRow>() -> TableColumn<R> {
    let column = figure::<R>(
        "HELD",
        5,
        |r| r.taken().held.map_or_else(String::new, number),
        |a, b| known_down(a.taken().held, b.taken().held),
    );
    TableColumn { of_trace: true, least_screen: 90, ..column }
}

/// By lock.
pub static LOCKS: [TableColumn<TopLock>; 11] = [
    waiting(),
    waits_per_s(),
    mean(),
    longest(),
    figure("NOW", 4, |r| count(r.waits.pending), |a, b| b.waits.pending.cmp(&a.waits.pending)),
    acquisitions(),
    acquisitions_error(),
    held(),
    TableColumn {
        is_number: false,
        ..figure("KIND", 10, |r| r.kind.name().to_owned(), |a, b| a.kind.code().cmp(&b.kind.code()))
    },
    TableColumn {
        is_number: false,
        ..figure("LOCK", 0, lock, |a, b| (&a.lock, a.kind.code()).cmp(&(&b.lock, b.kind.code())))
    },
    TableColumn {
        is_number: false,
        least_screen: 104,
        ..figure("HOLDER", 18, holder, |a, b| {
            // Unknown ones last.
            (a.holder.is_none(), &a.holder).cmp(&(b.holder.is_none(), &b.holder))
        })
    },
];

/// By thread.
pub static THREADS: [TableColumn<ThreadRow>; 10] = [
    waiting(),
    waits_per_s(),
    mean(),
    longest(),
    figure("NOW", 7, now, |a, b| {
        (b.waits.pending, b.waits.pending_ns).cmp(&(a.waits.pending, a.waits.pending_ns))
    }),
    acquisitions(),
    acquisitions_error(),
    held(),
    TableColumn {
        is_number: false,
        ..figure("THREAD", 18, |r| r.thread.shown(), |a, b| a.thread.cmp(&b.thread))
    },
    TableColumn {
        is_number: false,
        ..figure("WAITS FOR", 0, waits_for, |a, b| {
            (a.lock.is_none(), &a.lock).cmp(&(b.lock.is_none(), &b.lock))
        })
    },
];

/// For how long it waits now.
fn now(row: &ThreadRow) -> String {
    if row.waits.pending == 0 { String::new() } else { units::duration(row.waits.pending_ns) }
}

fn waits_for(row: &ThreadRow) -> String {
    row.lock.as_ref().map_or_else(String::new, |lock| lock.shown())
}

fn holder(row: &TopLock) -> String {
    row.holder.as_deref().map_or_else(String::new, |name| harmless::name(name).into_owned())
}

/// A lock, and how many there are of it.
fn lock(row: &TopLock) -> String {
    match row.instances {
        0 | 1 => row.lock.shown(),
        several => format!("{} ×{}", row.lock.shown(), units::thousands(several)),
    }
}

/// The columns of a screen of this width, with their widths: the names' columns
/// share the room that the others leave. `text` tells how wide the widest text
/// of a column is.
pub fn fit<R>(
    columns: &'static [TableColumn<R>],
    trace: bool,
    screen: usize,
    text: impl Fn(&TableColumn<R>) -> usize,
) -> Vec<(usize, usize)> {
    let wanted = |column: &TableColumn<R>| {
        let is_empty = || column.is_rare && text(column) == 0;
        screen >= column.least_screen && (trace || !column.of_trace) && !is_empty()
    };
    let shown: Vec<usize> = (0..columns.len()).filter(|&nth| wanted(&columns[nth])).collect();
    let fixed: usize = shown.iter().map(|&nth| columns[nth].width).sum();
    let gaps = shown.len().saturating_sub(1);
    let mut rest = screen.saturating_sub(fixed + gaps);
    let open = shown.iter().find(|&&nth| columns[nth].width == 0);
    let mut spare = open.map_or(0, |&nth| rest.saturating_sub(text(&columns[nth])));
    let mut fitted = Vec::new();
    for nth in shown {
        let column = &columns[nth];
        // What the open column does not need makes names whole.
        let more = match column.is_number || column.width == 0 {
            true => 0,
            false => text(column).saturating_sub(column.width).min(spare),
        };
        (spare, rest) = (spare - more, rest - more);
        fitted.push((nth, column.width + more));
    }
    for (nth, width) in &mut fitted {
        if columns[*nth].width == 0 {
            *width = rest;
        }
    }
    fitted
}

/// How often something happens in a second.
pub fn rate(per_s: f64) -> String {
    match per_s {
        none if none <= 0.0 => "0".to_owned(),
        few if few < 9.95 => format!("{few:.1}"),
        some if some < 999_999.5 => units::thousands(some.round() as u64),
        many => format!("{:.2} M", many / 1e6),
    }
}

/// An average number.
pub fn number(average: f64) -> String {
    if average < 99.995 { format!("{average:.2}") } else { format!("{average:.0}") }
}

fn count(count: u64) -> String {
    if count == 0 { String::new() } else { units::thousands(count) }
}

/// A text shortened to a number of columns of the screen: first names lose their
/// packages, then a lock that has a name its class, and at last any name its
/// beginning.
pub fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = without_packages(text);
    if short.width() <= width {
        return short;
    }
    if let Some((name, (class, more))) =
        short.split_once(" (").and_then(|(name, rest)| Some((name, rest.split_once(')')?)))
    {
        let identity = class.find('#').map_or("", |at| &class[at..]);
        short = format!("{name}{identity}{more}");
        if short.width() <= width {
            return short;
        }
    }
    let mut kept = 0;
    let mut from = short.len();
    for (at, char) in short.char_indices().rev() {
        kept += char.width().unwrap_or(0);
        if kept + 1 > width {
            break;
        }
        from = at;
    }
    if width == 0 { String::new() } else { format!("…{}", &short[from..]) }
}

/// `java.util.concurrent.locks.ReentrantLock` → `j.u.c.l.ReentrantLock`.
fn without_packages(text: &str) -> String {
    let words = text.split_inclusive([' ', '(']);
    let short = words.map(|word| {
        let parts: Vec<&str> = word.split('.').collect();
        let is_package = |part: &str| {
            let mut chars = part.chars();
            chars.next().is_some_and(char::is_lowercase)
                && chars.all(|c| c.is_alphanumeric() || c == '_')
        };
        let packages =
            parts.iter().take(parts.len() - 1).take_while(|part| is_package(part)).count();
        let initials = parts[..packages].iter().map(|part| part.chars().take(1).collect());
        let rest = parts[packages..].iter().map(|part| (*part).to_owned());
        initials.chain(rest).collect::<Vec<String>>().join(".")
    });
    short.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        for (per_s, text) in [
            (0.0, "0"),
            (0.31, "0.3"),
            (9.96, "10"),
            (1234.5, "1,235"),
            (999_999.4, "999,999"),
            (2_345_678.0, "2.35 M"),
        ] {
            assert_eq!(rate(per_s), text);
            assert!(text.len() <= 8);
        }
        assert_eq!([number(0.0), number(3.456), number(1234.5)], ["0.00", "3.46", "1234"]);
    }

    #[test]
    fn names_lose_packages_first() {
        let name = "Cache.map (com.acme.cache.Cache$Entry#7)";
        assert_eq!(shortened(name, 40), name);
        assert_eq!(shortened(name, 33), "Cache.map (c.a.c.Cache$Entry#7)");
        assert_eq!(shortened(name, 20), "Cache.map#7");
        assert_eq!(shortened(name, 10), "…che.map#7");
        assert_eq!(shortened("a.lock (b.C) ×3", 10), "a.lock ×3");
        assert_eq!(
            shortened("java.util.concurrent.locks.ReentrantLock", 22),
            "j.u.c.l.ReentrantLock"
        );
        assert_eq!(shortened("日本語", 4), "…語");
        assert_eq!([shortened("abc", 1), shortened("abc", 0)], ["…", ""]);
    }

    #[test]
    fn what_is_left_goes_to_names() {
        for screen in [20, 80, 104, 200] {
            for trace in [false, true] {
                for text in [0, 40, 400] {
                    let columns = fit(&LOCKS, trace, screen, |_| text);
                    let wide: usize = columns.iter().map(|(_, width)| width).sum();
                    assert!(screen == 20 || wide + columns.len() - 1 == screen);
                }
            }
        }
    }

    #[test]
    fn holders_take_what_locks_leave() {
        let width = |screen: usize, lock: usize, holder: usize| {
            let text = |column: &TableColumn<TopLock>| match column.title {
                "LOCK" => lock,
                "HOLDER" => holder,
                _ => 0,
            };
            let columns = fit(&LOCKS, false, screen, text);
            columns.iter().find(|&&(nth, _)| LOCKS[nth].title == "HOLDER").map(|&(_, width)| width)
        };
        assert_eq!(width(200, 30, 40), Some(40));
        assert_eq!(width(200, 30, 10), Some(18), "no less than it has");
        assert_eq!(width(200, 400, 40), Some(18), "locks come first");
        assert_eq!(width(80, 30, 40), None, "no room at all");
    }
}
