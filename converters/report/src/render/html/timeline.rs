//! Amounts over time: a table whose rows hold a strip of boxes, the darker the
//! more.

use super::{
    escape::{escape, names},
    table::{begin, class_of},
};
use crate::{clock, render::heat, view::Timeline};
use std::fmt::{self, Write};
use tyrion_model::units;

/// Marks on the axis: labels of twelve characters have room.
const MARKS: u64 = 7;

pub(super) fn write(page: &mut String, timeline: &Timeline) -> fmt::Result {
    writeln!(page, "<h3>{}</h3>", escape(&timeline.title))?;
    let boxes = timeline.rows.iter().map(|(_, boxes)| boxes.len()).max().unwrap_or(0);
    if boxes == 0 {
        return writeln!(page, "<p class=\"none\">None.</p>");
    }
    let most = timeline.rows.iter().flat_map(|(_, boxes)| boxes).copied().max().unwrap_or(0);
    // The filters of the page go by threads and locks.
    let (of, is_filtered) = match timeline.title.rsplit(' ').next() {
        Some("thread") => ("thread", " data-of=thread"),
        Some("chain") => ("chain", ""),
        _ => ("lock", " data-of=lock"),
    };
    begin(page, "sortable timeline", &timeline.title)?;
    write!(
        page,
        "<th scope=col{is_filtered}><button type=button>{of}</button></th>\
         <th scope=col class=time data-box={}>",
        timeline.box_ns
    )?;
    axis(page, (timeline.start_wall_ns, timeline.box_ns), boxes, MARKS)?;
    writeln!(
        page,
        "</th><th scope=col class=n><button type=button>sum</button></th></tr></thead>"
    )?;
    for (nth, (name, values)) in timeline.rows.iter().enumerate() {
        let class = class_of(nth, false);
        write!(page, "<tbody{class}><tr><th scope=row>{}</th><td class=time>", names(name))?;
        strip(page, timeline, values, boxes, most)?;
        // What the boxes add up to stands beside them, in words.
        let sum = values.iter().fold(0u64, |sum, value| sum.saturating_add(*value));
        let words = units::duration(sum);
        writeln!(page, "</td><td class=n data-v=\"{sum}\">{words}</td></tr></tbody>")?;
    }
    writeln!(page, "</table></div>")?;
    legend(page, timeline, most)
}

/// Times of day in UTC, each where it belongs.
pub(super) fn axis(
    page: &mut String,
    (start_wall_ns, box_ns): (u64, u64),
    boxes: usize,
    most: u64,
) -> fmt::Result {
    let length_ns = box_ns.saturating_mul(boxes as u64);
    write!(page, "<div class=axis>")?;
    for mark in clock::marks(start_wall_ns, length_ns, most) {
        let at = (mark - start_wall_ns) as f64 / length_ns.max(1) as f64 * 100.0;
        // A label at the end would stand outside; on a narrow screen, so would others.
        let class = match at {
            at if at > 88.0 => continue,
            at if at > 60.0 => " class=late",
            _ => "",
        };
        write!(page, "<span{class} style=\"left:{at:.2}%\">{}</span>", clock::time(mark))?;
    }
    write!(page, "</div>")
}

fn strip(
    page: &mut String,
    timeline: &Timeline,
    values: &[u64],
    boxes: usize,
    most: u64,
) -> fmt::Result {
    // The script adds up those of a span of time.
    let all: Vec<String> = values.iter().map(u64::to_string).collect();
    write!(
        page,
        "<svg viewBox=\"0 0 {boxes} 1\" preserveAspectRatio=none aria-hidden=true data-ns=\"{}\">",
        all.join(" ")
    )?;
    for (at, &ns) in values.iter().enumerate() {
        let Some(level) = heat::level(ns, most) else { continue };
        let offset = timeline.box_ns.saturating_mul(at as u64);
        write!(
            page,
            "<rect class=h{level} x={at} width=1 height=1><title>{} UTC, {} after the start: \
             {}</title></rect>",
            clock::time(timeline.start_wall_ns.saturating_add(offset)),
            units::duration(offset),
            units::duration(ns),
        )?;
    }
    write!(page, "</svg>")
}

fn legend(page: &mut String, timeline: &Timeline, most: u64) -> fmt::Result {
    let length = units::duration(timeline.box_ns);
    write!(page, "<p class=legend>Times in UTC; each box is {length}. In a box at most: ")?;
    for level in 0..heat::LEVELS {
        let bound = units::duration(heat::bound(level, most));
        write!(
            page,
            "<span><svg viewBox=\"0 0 1 1\"><rect class=h{level} width=1 height=1></rect></svg>{bound}</span> "
        )?;
    }
    writeln!(page, "</p>")
}
