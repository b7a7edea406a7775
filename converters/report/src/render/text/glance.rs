//! What the first screen of the page shows, in characters: how much of the threads' time
//! went into waiting for the locks that cost most, and into what else, a row each.

use super::{
    Ink, Page,
    lines::{Short, clip, clip_name, columns, pad},
    timeline::BARS,
};
use crate::{
    cells::{percent, plain},
    clock,
    glance::{Doing, Glance, GlanceLock, Most, short_label, sum},
    render::heat,
};
use std::collections::BTreeSet;
use tyrion_model::units;

/// Wider lines are not used.
const MAX_WIDTH: usize = 200;
/// Names are not longer than this, nor than a third of a line.
const NAME: usize = 48;
/// Nor are those who hold locks, who are left out
const HOLDER: usize = 32;
/// where they would leave less than this for the bars.
const BARS_BESIDE_HOLDERS: usize = 60;
/// Blanks between columns.
const GAP: usize = 2;

/// Something that threads did.
struct ChartRow<'g> {
    ink: Ink,
    name: String,
    is_lock: bool,
    /// How long in each box, in ns.
    ns: &'g [u64],
    /// What fills each box, in ns.
    full_ns: Vec<u64>,
    share: String,
    wait: String,
    holder: String,
}

/// Where the columns of the rows stand.
struct Columns {
    name: usize,
    /// How many boxes are one bar.
    joined: usize,
    bars: usize,
    share: usize,
    wait: usize,
    holder: usize,
}

impl Page {
    pub(super) fn glance(&mut self, glance: &Glance) {
        let width = self.width.min(MAX_WIDTH);
        let rows = rows(glance, (width / 3).min(NAME));
        let boxes = glance.lived_ns.len();
        if boxes == 0 || rows.is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.heading("Threads over time");
        let columns = Columns::of(&rows, boxes, width);
        let bar = units::duration(glance.box_ns.saturating_mul(columns.joined as u64));
        let scale = glance.scale();
        let more = if scale < 100 { " or more" } else { "" };
        let legend = format!(
            "Each bar is {bar}. A full one is {scale} % of the threads{more}, half of one a \
             quarter of that."
        );
        self.paragraph(Ink::Faint, "", &legend);
        let axis = axis(glance, columns.bars);
        let headings = columns.line("", [&axis, "share", "wait", "held by"]);
        self.line(Ink::Faint, &headings);
        for row in &rows {
            let bars = self.paint(row.ink, &pad(&row.bars(columns.joined), columns.bars, false));
            let cells = [&bars, &row.share, &row.wait, &row.holder].map(String::as_str);
            self.line(Ink::Plain, &columns.line(&row.name, cells));
        }
    }
}

impl Columns {
    fn of(rows: &[ChartRow<'_>], boxes: usize, width: usize) -> Columns {
        let widest = |of: fn(&ChartRow<'_>) -> usize, heading: &str| {
            rows.iter().map(of).max().unwrap_or(0).max(columns(heading))
        };
        let name = widest(|row| columns(&row.name), "");
        let share = widest(|row| columns(&row.share), "share");
        let wait = widest(|row| columns(&row.wait), "wait");
        let room = width.saturating_sub(name + share + wait + 3 * GAP).max(1);
        let has_holders = rows.iter().any(|row| !row.holder.is_empty());
        let holder = widest(|row| columns(&row.holder), "held by");
        let fits = has_holders && room >= holder + GAP + BARS_BESIDE_HOLDERS;
        let (room, holder) = if fits { (room - holder - GAP, holder) } else { (room, 0) };
        let joined = boxes.div_ceil(room).max(1);
        Columns { name, joined, bars: boxes.div_ceil(joined), share, wait, holder }
    }

    /// A line of bars, share, wait and holder, of which the first is as wide as it should be.
    fn line(&self, name: &str, [bars, share, wait, holder]: [&str; 4]) -> String {
        let gap = " ".repeat(GAP);
        let (name, share) = (pad(name, self.name, false), pad(share, self.share, true));
        let line = [name, bars.to_owned(), share, pad(wait, self.wait, true)].join(&gap);
        if self.holder == 0 { line } else { line + &gap + holder }
    }
}

impl ChartRow<'_> {
    /// The bars, each of so many boxes.
    fn bars(&self, joined: usize) -> String {
        let sums = self.ns.chunks(joined).zip(self.full_ns.chunks(joined));
        let bar = |(ns, full): (&[u64], &[u64])| {
            let full = sum(full).max(1);
            heat::level(sum(ns).min(full), full).map_or(' ', |level| BARS[level])
        };
        sums.map(bar).collect()
    }
}

/// What threads did, with the page's shares. The locks beyond the worst stand below all the
/// others together, of which they are parts.
fn rows(glance: &Glance, longest: usize) -> Vec<ChartRow<'_>> {
    let scale = u128::from(glance.scale());
    let full = |lived: &u64| (u128::from(*lived) * scale / 100) as u64;
    let full_ns: Vec<u64> = glance.lived_ns.iter().map(full).collect();
    let new = |name: &str, ns| ChartRow {
        ink: Ink::Plain,
        name: plain(name).into_owned(),
        is_lock: false,
        ns,
        full_ns: full_ns.clone(),
        share: percent(glance.share(ns)),
        wait: String::new(),
        holder: String::new(),
    };
    let names = ChartNames::of(glance);
    let mut rows = Vec::new();
    for band in glance.bands.iter().filter(|band| sum(&band.ns) != 0) {
        let (ink, name) = (ink(&band.what), glance.words(&band.what));
        let row = ChartRow { ink, ..new(name, &band.ns) };
        rows.push(match &band.what {
            Doing::Lock(place, label) => {
                let lock = glance.locks.iter().find(|lock| lock.place == Some(*place));
                names.row(label, lock, row)
            }
            _ => row,
        });
        if band.what == Doing::OtherLocks {
            let others = glance.locks.iter().filter(|lock| lock.place.is_none());
            let others = others.filter(|lock| sum(&lock.over_time_ns) != 0);
            rows.extend(others.map(|lock| {
                names.row(&lock.label, Some(lock), ChartRow { ink, ..new("", &lock.over_time_ns) })
            }));
        }
    }
    if !glance.stopped_ns.is_empty() {
        rows.push(ChartRow {
            full_ns: vec![glance.box_ns; glance.stopped_ns.len()],
            share: String::new(),
            wait: units::duration(sum(&glance.stopped_ns)),
            ..new("garbage collection", &glance.stopped_ns)
        });
    }
    shorten(&mut rows, longest);
    rows
}

/// As like the page's colours as all terminals have them.
fn ink(what: &Doing) -> Ink {
    match what {
        Doing::Lock(0, _) => Ink::Red,
        Doing::Lock(1, _) => Ink::Cyan,
        Doing::Lock(..) => Ink::Magenta,
        Doing::OtherLocks | Doing::Withheld => Ink::Warn,
        Doing::Ran => Ink::Green,
        Doing::Idle => Ink::Faint,
    }
}

/// What locks are called: short, if that tells them apart.
struct ChartNames {
    are_short: bool,
}

impl ChartNames {
    fn of(glance: &Glance) -> ChartNames {
        let labels = glance.locks.iter().map(|lock| lock.label.as_str());
        let of_bands = glance.bands.iter().filter_map(|band| match &band.what {
            Doing::Lock(_, label) => Some(label.as_str()),
            _ => None,
        });
        let labels: BTreeSet<&str> = labels.chain(of_bands).collect();
        let short: BTreeSet<&str> = labels.iter().map(|label| short_label(label)).collect();
        ChartNames { are_short: labels.len() == short.len() }
    }

    /// The row of a lock, with what the page's table says of it.
    fn row<'g>(&self, label: &str, lock: Option<&GlanceLock>, row: ChartRow<'g>) -> ChartRow<'g> {
        let label = if self.are_short { short_label(label) } else { label };
        let indent = if lock.is_some_and(|lock| lock.place.is_none()) { "  " } else { "" };
        ChartRow {
            name: format!("{indent}{}", plain(label)),
            is_lock: true,
            wait: lock.map(|lock| units::duration(lock.wait_ns)).unwrap_or_default(),
            holder: lock.map(|lock| words(&lock.holder)).unwrap_or_default(),
            ..row
        }
    }
}

fn words(most: &Most) -> String {
    let name = plain(&most.name);
    match most.percent {
        _ if name.is_empty() => String::new(),
        100 => clip_name(&name, HOLDER),
        percent => format!("{}, {percent} %", clip_name(&name, HOLDER)),
    }
}

/// Makes the names of locks fit, all in the same way.
fn shorten(rows: &mut [ChartRow<'_>], longest: usize) {
    let mut locks: Vec<&mut ChartRow<'_>> = rows.iter_mut().filter(|row| row.is_lock).collect();
    let names: Vec<String> = locks.iter().map(|row| row.name.clone()).collect();
    for (row, name) in locks.iter_mut().zip(Short::to_fit(&names, longest)) {
        row.name = name;
    }
    rows.iter_mut().for_each(|row| row.name = clip_name(&row.name, longest));
}

/// When it begins and when it ends, as wide as the bars.
fn axis(glance: &Glance, bars: usize) -> String {
    let length = glance.box_ns.saturating_mul(glance.lived_ns.len() as u64);
    let first = clock::time(glance.start_wall_ns);
    let last = format!("{} UTC", clock::time(glance.start_wall_ns.saturating_add(length)));
    match bars.checked_sub(columns(&first)) {
        Some(room) if room > columns(&last) => first + &pad(&last, room, true),
        _ => pad(&clip(&format!("{first} UTC"), bars), bars, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{glance::Band, render::text::Style};

    const SECOND: u64 = 1_000_000_000;

    fn lock(label: &str, place: Option<usize>, over_time_ns: Vec<u64>) -> GlanceLock {
        let wait_ns = sum(&over_time_ns);
        let holder = Most { name: "import-1".to_owned(), percent: 88 };
        GlanceLock {
            label: label.to_owned(),
            place,
            wait_ns,
            over_time_ns,
            holder,
            ..GlanceLock::default()
        }
    }

    /// Four threads for two minutes: one waits in the first of them, and what the others do
    /// does not change.
    fn glance(worst: &str, other: &str) -> Glance {
        let first: Vec<u64> = (0..120).map(|at| if at < 60 { SECOND } else { 0 }).collect();
        let few = vec![SECOND / 100; 120];
        let ran: Vec<u64> = first.iter().map(|ns| 2 * SECOND - SECOND / 100 - ns).collect();
        let band = |what, ns: &Vec<u64>| Band { what, ns: ns.clone() };
        Glance {
            start_wall_ns: 1_700_000_000 * SECOND,
            box_ns: SECOND,
            lived_ns: vec![4 * SECOND; 120],
            bands: vec![
                band(Doing::Lock(0, worst.to_owned()), &first),
                band(Doing::OtherLocks, &few),
                band(Doing::Withheld, &vec![0; 120]),
                band(Doing::Ran, &ran),
                band(Doing::Idle, &vec![2 * SECOND; 120]),
            ],
            stopped_ns: few.clone(),
            locks: vec![lock(worst, Some(0), first), lock(other, None, few)],
            ..Glance::default()
        }
    }

    fn drawn(glance: &Glance, style: &Style) -> Vec<String> {
        let mut page = Page::new(style);
        page.glance(glance);
        page.out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_has_a_row_over_time() {
        let glance = glance("com.acme.Cache.lru (java.lang.Object#7)", "Queue.lock");
        let narrow = drawn(&glance, &Style { width: 80, ..Style::default() });
        let expected = [
            "Threads over time",
            "─────────────────",
            "Each bar is 3 s. A full one is 50 % of the threads or more, half of one a",
            "quarter of that.",
        ];
        assert_eq!(narrow[..4], expected);
        let rows = &narrow[4..];
        assert!(rows[0].contains("22:13:20") && rows[0].contains("22:15:20 UTC"), "{rows:#?}");
        assert!(rows[0].ends_with("share   wait"), "{rows:#?}");
        let begins = [
            &format!("com.acme.Cache.lru      {}{}", "▆".repeat(20), " ".repeat(20)),
            &format!("waited for other locks  {}", "▁".repeat(40)),
            &format!("  Queue.lock            {}", "▁".repeat(40)),
            &format!("ran or did I/O          {}{}", "▆".repeat(20), "█".repeat(20)),
            &format!("idle                    {}", "█".repeat(40)),
            &format!("garbage collection      {}", "▁".repeat(40)),
        ];
        for (row, begin) in rows[1..].iter().zip(begins) {
            assert!(row.starts_with(begin.as_str()), "{begin:?}: {rows:#?}");
        }
        assert_eq!(rows.len(), 7, "{rows:#?}");
        assert!(rows[1].ends_with(" 12.5 %   60 s"), "{rows:#?}");
        assert!(!narrow.concat().contains("held by"), "{rows:#?}");
        let wide = drawn(&glance, &Style { width: 200, ..Style::default() });
        assert!(
            wide[4].contains(&"▆".repeat(60)) && wide[4].ends_with("import-1, 88 %"),
            "{wide:#?}"
        );
    }

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        for name in ["a.B", &"com.acme.very.long.Name$".repeat(9), &"漢字".repeat(99), ""] {
            let glance = glance(name, &format!("{name}2 (x)"));
            for width in [0, 80, 81, 99, 120, 137, 200, 201, 250] {
                let lines = drawn(&glance, &Style { width, ..Style::default() });
                let most = width.clamp(80, 200);
                assert!(lines.len() >= 9, "{lines:#?}");
                assert!(lines.iter().all(|line| columns(line) <= most), "{width}: {lines:#?}");
            }
        }
    }

    #[test]
    fn locks_of_one_name_are_told_apart() {
        let glance = glance("lock (a.B#1)", "lock (a.B#2)");
        let lines = drawn(&glance, &Style::default()).join("\n");
        assert!(
            lines.contains("\nlock (a.B#1) ") && lines.contains("\n  lock (a.B#2) "),
            "{lines}"
        );
    }

    #[test]
    fn colours_are_only_where_they_are_shown() {
        let glance = glance("a.B", "c.D");
        let plain = drawn(&glance, &Style::default()).concat();
        assert!(!plain.contains('\u{1b}'), "{plain}");
        let coloured = drawn(&glance, &Style { coloured: true, ..Style::default() });
        assert!(coloured[4].contains("\u{1b}[31m▆"), "{coloured:#?}");
    }
}
