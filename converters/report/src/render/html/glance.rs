//! The first screen: what the threads' time went into as a picture, and the locks that
//! cost most in a short table.
//!
//! The picture is for eyes alone: its legend says in words what it adds up to.

use super::{
    begin_section,
    escape::{escape, names},
    table, timeline,
};
use crate::{
    cells::percent,
    glance::{Band, Doing, Glance, GlanceLock, Most, Still, short_label, sum},
};
use serde_json::json;
use std::fmt::{self, Write};
use tyrion_model::units;

/// Marks on its axis: it is half as wide as the timelines.
const MARKS: u64 = 4;
/// The heading of those who had not come back when the recording ended.
const STILL: &str = "still waiting";
/// That of the strips, a picture, which has no order.
const OVER_TIME: &str = "waiting threads over time";
/// The picture's height, in its own units.
const HEIGHT: u64 = 1_000;
/// Both sections.
pub(super) fn write(page: &mut String, glance: &Glance) -> fmt::Result {
    begin_section(page, "over-time", "Threads over time", "", "")?;
    picture(page, glance)?;
    legend(page, glance)?;
    writeln!(page, "</section>")?;
    if glance.locks.is_empty() {
        return Ok(());
    }
    begin_section(page, "worst-locks", "Locks that cost most", "", "")?;
    locks(page, glance)?;
    writeln!(page, "</section>")
}

/// The class of a lock's colour.
pub(super) fn class_of(place: Option<usize>) -> String {
    place.map_or_else(|| "c-other".to_owned(), |place| format!("c{place}"))
}

fn class(what: &Doing) -> String {
    match what {
        Doing::Lock(place, _) => class_of(Some(*place)),
        Doing::OtherLocks => class_of(None),
        Doing::Withheld => "c-withheld".to_owned(),
        Doing::Ran => "c-ran".to_owned(),
        Doing::Idle => "c-idle".to_owned(),
    }
}

fn picture(page: &mut String, glance: &Glance) -> fmt::Result {
    let boxes = glance.lived_ns.len();
    let scale = glance.scale();
    let rest = if scale < 100 { "; what is above is cut off" } else { "" };
    writeln!(
        page,
        "<div class=\"picture shares\"><p class=scale>{scale} % of the threads{rest}</p>\
         <svg viewBox=\"0 0 {boxes} {HEIGHT}\" preserveAspectRatio=none aria-hidden=true>"
    )?;
    let mut below = vec![0u64; boxes];
    for band in &glance.bands {
        let mut above = below.clone();
        for (sum, ns) in above.iter_mut().zip(&band.ns) {
            *sum = sum.saturating_add(*ns);
        }
        let y = |sums: &[u64]| heights(sums, &glance.lived_ns, scale);
        let lock = match &band.what {
            Doing::Lock(_, label) => format!(" data-lock=\"{}\"", escape(label)),
            _ => String::new(),
        };
        let (area, class) = (area(&y(&below), &y(&above)), class(&band.what));
        if !area.is_empty() {
            writeln!(page, "<path class={class}{lock} d=\"{area}\"></path>")?;
        }
        below = above;
    }
    writeln!(page, "</svg>")?;
    if !glance.stopped_ns.is_empty() {
        stopped(page, glance)?;
    }
    timeline::axis(page, (glance.start_wall_ns, glance.box_ns), boxes, MARKS)?;
    // The script shows a span of time.
    let data = json!({
        "box_ns": glance.box_ns,
        "phase_ns": glance.phase_ns,
        "lived": glance.lived_ns,
        "bands": glance.bands.iter().map(|band| &band.ns).collect::<Vec<_>>(),
        "stopped": glance.stopped_ns,
        "locks": glance.locks.iter().map(|lock| &lock.over_time_ns).collect::<Vec<_>>(),
    });
    writeln!(page, "</div>\n<p class=\"reading span-reading\"></p>")?;
    writeln!(page, "<div id=span-data hidden>{}</div>", escape(&data.to_string()))
}

/// How far from the top each box's sum reaches; what has no room is cut off.
fn heights(sums: &[u64], lived_ns: &[u64], scale: u64) -> Vec<u64> {
    let height = |(sum, lived): (&u64, &u64)| {
        let whole = u128::from(*lived) * u128::from(scale);
        let height = (u128::from(*sum) * 100 * u128::from(HEIGHT)).checked_div(whole).unwrap_or(0);
        HEIGHT - height.min(u128::from(HEIGHT)) as u64
    };
    sums.iter().zip(lived_ns).map(height).collect()
}

/// The area between two lines of steps; empty if there is none.
fn area(lower: &[u64], upper: &[u64]) -> String {
    if lower == upper {
        return String::new();
    }
    let mut path = format!("M0 {}", upper.first().copied().unwrap_or(HEIGHT));
    steps(&mut path, upper.iter().enumerate().map(|(at, y)| (at + 1, *y)));
    path += &format!("V{}", lower.last().copied().unwrap_or(HEIGHT));
    steps(&mut path, lower.iter().copied().enumerate().rev());
    path + "Z"
}

/// Lines to these places, one through all neighbours of the same height.
fn steps(path: &mut String, places: impl Iterator<Item = (usize, u64)>) {
    let mut last: Option<(usize, u64)> = None;
    for (x, y) in places {
        if let Some((last_x, _)) = last.filter(|(_, last_y)| *last_y != y) {
            *path += &format!("H{last_x}V{y}");
        }
        last = Some((x, y));
    }
    if let Some((x, _)) = last {
        *path += &format!("H{x}");
    }
}

/// A strip below the picture, the darker the longer threads were stopped.
fn stopped(page: &mut String, glance: &Glance) -> fmt::Result {
    let boxes = glance.stopped_ns.len();
    write!(
        page,
        "<svg class=stopped viewBox=\"0 0 {boxes} 1\" preserveAspectRatio=none aria-hidden=true>"
    )?;
    for (at, ns) in glance.stopped_ns.iter().enumerate().filter(|(_, ns)| **ns != 0) {
        // What is short can be seen, too.
        let part = 0.25 + 0.75 * (*ns as f64 / glance.box_ns.max(1) as f64).min(1.0);
        write!(page, "<rect x={at} width=1 height=1 fill-opacity=\"{part:.2}\"></rect>")?;
    }
    writeln!(page, "</svg>")
}

/// The colours with their names, and what each adds up to.
fn legend(page: &mut String, glance: &Glance) -> fmt::Result {
    write!(page, "<ul class=bands>")?;
    for (nth, Band { what, ns }) in glance.bands.iter().enumerate() {
        let share = glance.share(ns);
        if share == 0.0 {
            continue;
        }
        let name = match what {
            Doing::Lock(_, label) => format!("waited for {}", link(label)),
            _ => glance.words(what).to_owned(),
        };
        let class = class(what);
        write!(
            page,
            "<li><span class=\"key {class}\"></span>{name} \
             <span class=part data-band={nth}>{}</span></li>",
            percent(share)
        )?;
    }
    if !glance.stopped_ns.is_empty() {
        let stopped = units::duration(sum(&glance.stopped_ns));
        write!(
            page,
            "<li><span class=\"key c-stopped\"></span>ticks below: stops for garbage collection, darker \
             if longer, in all \
             <span class=stops>{stopped}</span></li>"
        )?;
    }
    writeln!(page, "</ul>")
}

/// Where it leads to what is of this lock alone.
pub(super) fn address(label: &str) -> String {
    let mut address = "#lock=".to_owned();
    for byte in label.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                address.push(char::from(byte));
            }
            _ => address += &format!("%{byte:02X}"),
        }
    }
    address
}

/// A lock's name that leads there.
fn link(label: &str) -> String {
    let address = address(label);
    // The rest of the page has the class.
    let (label, short) = (escape(label), names(short_label(label)));
    format!(
        "<a class=of-lock href=\"{address}\" data-lock=\"{label}\" title=\"{label}\">{short}</a>"
    )
}

fn locks(page: &mut String, glance: &Glance) -> fmt::Result {
    let held = glance.locks.iter().any(|lock| lock.hold_ns.is_some());
    let has_holders = glance.locks.iter().any(|lock| !lock.holder.name.is_empty());
    table::begin(page, "sortable worst", "Locks that cost most")?;
    let is_stuck = glance.locks.iter().any(|lock| lock.still.threads != 0);
    let mut columns = vec![("lock", " data-of=lock")];
    columns.extend(is_stuck.then_some((STILL, " class=n")));
    columns.push((if is_stuck { "ended waits" } else { "wait" }, " class=n"));
    columns.extend(held.then_some(("hold", " class=n")));
    columns.extend([(OVER_TIME, " class=time"), ("who waited", "")]);
    columns.extend(has_holders.then_some(("who held it", "")));
    for (name, attributes) in columns {
        match name {
            OVER_TIME => write!(page, "<th scope=col{attributes}>{name}</th>")?,
            _ => {
                write!(page, "<th scope=col{attributes}><button type=button>{name}</button></th>")?
            }
        }
    }
    writeln!(page, "</tr></thead>")?;
    let most = |of: fn(&GlanceLock) -> u64| glance.locks.iter().map(of).max().unwrap_or(0);
    let (most_wait, most_hold) = (most(|it| it.wait_ns), most(|it| it.hold_ns.unwrap_or(0)));
    for lock in &glance.locks {
        let class = class_of(lock.place);
        write!(
            page,
            "<tbody><tr><th scope=row data-lock=\"{}\"><span class=\"key {class}\"></span>{}</th>",
            escape(&lock.label),
            link(&lock.label)
        )?;
        if is_stuck {
            still(page, lock.still)?;
        }
        bar(page, Some(lock.wait_ns), most_wait)?;
        if held {
            bar(page, lock.hold_ns, most_hold)?;
        }
        write!(page, "<td class=time>")?;
        sparkline(page, glance.over_time(lock), glance.box_ns, &class)?;
        write!(page, "</td><td>{}</td>", words(&lock.waiter))?;
        if has_holders {
            write!(page, "<td>{}</td>", words(&lock.holder))?;
        }
        writeln!(page, "</tr></tbody>")?;
    }
    writeln!(page, "</table></div>")
}

/// A duration as a number and as a bar beside the longest one.
fn bar(page: &mut String, ns: Option<u64>, most_ns: u64) -> fmt::Result {
    let Some(ns) = ns else { return write!(page, "<td class=n>–</td>") };
    let part = ns as f64 / most_ns.max(1) as f64;
    let text = units::duration(ns);
    write!(page, "<td class=\"n bar\" style=\"--part:{part:.3}\" data-v=\"{ns}\">{text}</td>")
}

/// Those who never came back.
fn still(page: &mut String, Still { threads, longest_ns, .. }: Still) -> fmt::Result {
    match threads {
        0 => write!(page, "<td class=n>–</td>"),
        _ => write!(
            page,
            "<td class=n data-v=\"{longest_ns}\">{}, for {}</td>",
            units::counted(threads, "thread"),
            units::duration(longest_ns)
        ),
    }
}

/// How many threads waited on average in each box; its height is that of the most, which
/// stands beside it.
fn sparkline(page: &mut String, ns: &[u64], box_ns: u64, class: &str) -> fmt::Result {
    let most = ns.iter().copied().max().unwrap_or(0);
    let threads = most as f64 / box_ns.max(1) as f64;
    let peak = match threads {
        0.0 => String::new(),
        few if few < 0.1 => "< 0.1".to_owned(),
        few if few < 9.95 => format!("≤ {few:.1}"),
        many => format!("≤ {}", units::thousands(many.round() as u64)),
    };
    let top = |ns: &u64| {
        let height = (u128::from(*ns) * 100).div_ceil(u128::from(most.max(1)));
        100 - height.min(100) as u64
    };
    let upper: Vec<u64> = ns.iter().map(top).collect();
    let area = area(&vec![100; ns.len()], &upper);
    write!(
        page,
        "<svg viewBox=\"0 0 {} 100\" preserveAspectRatio=none aria-hidden=true>\
         <path class={class} d=\"{area}\"></path></svg><span class=peak>{peak}</span>",
        ns.len()
    )
}

fn words(most: &Most) -> String {
    match (most.name.as_str(), most.percent) {
        ("", _) => "–".to_owned(),
        (name, 100) => names(name),
        (name, percent) => format!("{}, {percent} %", names(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_lines_of_steps() {
        assert_eq!(area(&[9, 9, 9], &[5, 5, 9]), "M0 5H2V9H3V9H0Z");
        assert_eq!(area(&[9, 9], &[9, 9]), "");
        assert_eq!(area(&[9, 7], &[9, 1]), "M0 9H1V1H2V7H1V9H0Z");
    }

    #[test]
    fn shares_are_of_those_who_lived() {
        assert_eq!(heights(&[5, 0, 40, 7], &[10, 10, 10, 0], 50), [0, 1_000, 0, 1_000]);
        let band = |what, ns: [u64; 2]| Band { what, ns: ns.to_vec() };
        let bands = vec![band(Doing::Ran, [3, 1]), band(Doing::Idle, [97, 99])];
        let glance = Glance { lived_ns: vec![100, 100], bands, ..Glance::default() };
        assert_eq!(glance.scale(), 5);
    }

    #[test]
    fn names_in_addresses_are_harmless() {
        let link = link("a.B \"<x>\"#7&lock=");
        assert!(
            link.starts_with("<a class=of-lock href=\"#lock=a.B%20%22%3Cx%3E%22%237%26lock%3D\" ")
        );
    }
}
