//! Flame graphs inside the page.

use super::{begin_section, escape::escape};
use std::{
    fmt::{self, Write},
    io,
};
use tyrion_converters::{
    outputs::{By, Metric, OutputOptions, flamegraph},
    profile::Profile,
};

pub(super) const ID: &str = "flame-graphs";
pub(super) const TITLE: &str = "Flame graphs";

/// What surrounds an SVG: it is alone in a document of its own, since its
/// script looks for elements by names that are the same in every flame graph.
/// That document has no address, so its state cannot be kept there.
const BEFORE: &str = "<!doctype html><meta charset=utf-8>\
    <meta name=color-scheme content=\"light dark\"><style>\
    body{margin:0;overflow:hidden}body>svg{display:block;width:100%}body>svg>rect{fill:#fff}\
    @media screen and (prefers-color-scheme:dark){\
    html{background:#16191d}body>svg>rect{fill:#16191d}body>svg>text{fill:#d9dee5}}</style>\
    <script>history.replaceState=function(){}</script>";
const AFTER: &str = "<script>addEventListener('load',function(){if(self.init)init()})</script>";

/// A flame graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flame {
    /// What it shows.
    pub title: &'static str,
    /// The picture, as [`flamegraph`] writes it.
    pub svg: String,
}

/// The flame graphs that a profile has something for.
///
/// # Errors
/// When one cannot be drawn.
pub fn flames(profile: &Profile) -> io::Result<Vec<Flame>> {
    let holds = profile.acquisitions.iter().any(|row| row.hold_ns > 0);
    let wait = OutputOptions::default();
    let by_holder = OutputOptions { by: Some(By::Holder), ..OutputOptions::default() };
    let hold = OutputOptions { metric: Some(Metric::Hold), ..OutputOptions::default() };
    let by_state = OutputOptions { by: Some(By::State), ..OutputOptions::default() };
    let cpu = OutputOptions { metric: Some(Metric::Cpu), ..OutputOptions::default() };
    let computes = profile.samples.iter().any(|sample| sample.cpu_ns > 0);
    let known = [
        ("Real time, by state", !profile.samples.is_empty(), by_state),
        ("CPU time", computes, cpu),
        ("Waits, by who waited", !profile.waits.is_empty(), wait),
        ("Waits, by who held the lock", !profile.blames.is_empty(), by_holder),
        ("Holds", holds, hold),
    ];
    let mut flames = Vec::new();
    for (title, _, options) in known.into_iter().filter(|(_, known, _)| *known) {
        let mut svg = Vec::new();
        (flamegraph::FORMAT.stream)(profile, &options, &mut svg)?;
        flames.push(Flame { title, svg: String::from_utf8_lossy(&svg).into_owned() });
    }
    Ok(flames)
}

pub(super) fn write(page: &mut String, flames: &[Flame]) -> fmt::Result {
    if flames.is_empty() {
        return Ok(());
    }
    let means = "Stacks of threads that waited, that held locks and that were sampled; they are as \
                 wide as the time that they stand for.";
    let advice = "A click on a frame widens it; the search above marks frames, too.";
    begin_section(page, ID, TITLE, means, advice)?;
    for flame in flames {
        let title = escape(flame.title);
        let Some(svg) = flame.svg.find("<svg").map(|at| &flame.svg[at..]) else { continue };
        let height = attribute(svg, "height").unwrap_or("400");
        let document = [BEFORE, &svg.replacen(" onload=\"init(evt)\"", "", 1), AFTER].concat();
        // Line breaks must stay in the script, so this is less than `escape`.
        let document = document.replace('&', "&amp;").replace('"', "&quot;");
        let document = document.replace('<', "&lt;").replace('>', "&gt;");
        writeln!(
            page,
            "<iframe title=\"{title}\" height=\"{height}\" srcdoc=\"{document}\"></iframe>"
        )?;
    }
    writeln!(page, "</section>")
}

/// The first attribute of this name, if it is a number.
fn attribute<'a>(svg: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = svg.split_once(&format!(" {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    value.bytes().all(|byte| byte.is_ascii_digit()).then_some(value)
}
