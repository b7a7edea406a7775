//! Waits by when they ended and how long they had taken; the script draws it, since it
//! follows the filters of the page.

use super::{begin_section, escape::escape, timeline};
use crate::glance::Glance;
use serde_json::json;
use std::fmt::{self, Write};
use tyrion_model::units;

pub(super) const ID: &str = "heat-map";
pub(super) const TITLE: &str = "Heat map of waits";
/// What the links call it, which have one line.
pub(super) const IN_SHORT: &str = "Heat map";

/// Marks on the axis of time.
const MARKS: u64 = 7;

pub(super) fn write(page: &mut String, glance: &Glance) -> fmt::Result {
    if glance.heat.is_empty() {
        return Ok(());
    }
    let means = "When waits ended, from left to right, and how long they had taken, by powers of \
                 two: the stronger, the more. A few long ones, which sums hide, stand at the bottom.";
    let advice = "Dragging, or Shift with the arrow keys, selects waits; Escape shows all again.";
    begin_section(page, ID, TITLE, means, advice)?;
    writeln!(
        page,
        "<p class=\"without\">It needs JavaScript, which is off or was not allowed here.</p>"
    )?;
    let boxes = glance.lived_ns.len();
    writeln!(page, "<div class=heat hidden>\n<div class=durations></div>\n<div class=field>")?;
    writeln!(
        page,
        "<svg role=img tabindex=0 preserveAspectRatio=none aria-label=\"{TITLE}\"></svg>"
    )?;
    timeline::axis(page, (glance.start_wall_ns, glance.box_ns), boxes, MARKS)?;
    writeln!(page, "</div></div>")?;
    writeln!(page, "<p class=\"reading heat-reading\" aria-live=polite></p>")?;
    writeln!(page, "<ul class=\"bands heat-locks\"></ul>")?;
    let locks: Vec<&str> = glance.heat.iter().map(|of| of.label.as_str()).collect();
    let cells: Vec<u64> = (0u64..)
        .zip(&glance.heat)
        .flat_map(|(lock, of)| {
            of.waits
                .iter()
                .flat_map(move |&(at, power, waits)| [lock, at as u64, u64::from(power), waits])
        })
        .collect();
    let data = json!({
        "boxes": boxes,
        "box_ns": glance.box_ns,
        "length": units::duration(glance.box_ns),
        "locks": locks,
        "cells": cells,
    });
    writeln!(page, "<div id=heat-data hidden>{}</div>\n</section>", escape(&data.to_string()))
}
