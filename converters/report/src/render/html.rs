//! For browsers: one file that needs no other and no network.
//!
//! Nothing that a log says is part of the script, which makes no elements of text: it
//! works on the page alone, and everything that is put into the page goes through
//! [`mod@escape`].

mod blocking;
mod chains;
mod escape;
mod flames;
mod glance;
mod heatmap;
mod table;
mod timeline;
mod tree;

pub use flames::Flame;

use crate::{
    About, Report, Shown, cells::shown, findings::LogFacts, glance::BLOCKS_IN, view::Part,
};
use escape::breakable;
pub(super) use escape::escape;
use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io,
};
use tyrion_model::{harmless, units};

const STYLE: &str = include_str!("html/page.css");
/// The script: one function, in the order in which its parts need each other.
const SCRIPT: [&str; 8] = [
    "(function () {\n  'use strict';\n  document.documentElement.classList.add('js');\n  \
     const id = name => document.getElementById(name);\n  \
     const all = selector => [...document.querySelectorAll(selector)];\n",
    include_str!("html/page.js"),
    include_str!("html/graph.js"),
    include_str!("html/select.js"),
    include_str!("html/heat.js"),
    include_str!("html/span.js"),
    include_str!("html/filter.js"),
    "})();\n",
];

/// Nothing is loaded, wherever a name should want to lead.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A page that is so long gets no further trees, of which there may be thousands. The
/// flame graphs behind them take at most half a megabyte each.
const MOST_BYTES: usize = 2 << 20;

/// The page.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(report: &Report, flames: &[Flame], out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = String::new();
    // Writing into a string cannot fail.
    let _ = head(&mut page, report)
        .and_then(|()| navigation(&mut page, report, flames))
        .and_then(|()| main(&mut page, report, flames));
    out.write_all(page.as_bytes())
}

fn head(page: &mut String, report: &Report) -> fmt::Result {
    let title = escape(&programs(&report.logs));
    write!(
        page,
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Tyrion {version}">
<title>Locks of {title}</title>
<style>
{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header>
<p class="tool">Tyrion {version} · lock report</p>
<h1>{heading}</h1>
"##,
        version = escape(report.version),
        heading = breakable(&programs(&report.logs)),
    )?;
    for log in &report.logs {
        write!(page, "<ul class=\"log\">")?;
        for fact in facts(log) {
            write!(page, "<li>{}</li>", escape(&fact))?;
        }
        writeln!(page, "</ul>")?;
    }
    for (class, lines) in [("damage", &report.damage), ("note", &report.notes)] {
        for line in lines {
            writeln!(page, "<p class=\"{class}\">{}</p>", escape(line))?;
        }
    }
    writeln!(page, "</header>")
}

/// The programs' names, each once.
fn programs(logs: &[LogFacts]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for log in logs {
        let name = match (log.program.as_str(), log.dumps) {
            ("", 0) => "a program",
            ("", _) => "thread dumps",
            (program, _) => program,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names: Vec<Cow<'_, str>> = names.into_iter().map(harmless::name).collect();
    names.join(", ")
}

fn facts(log: &LogFacts) -> Vec<String> {
    let start = log.start.as_ref().map(|start| start.replace('T', " ").replace('Z', " UTC"));
    let recorded = match (log.duration_ns.map(units::duration), start) {
        (Some(duration), Some(start)) => format!("{duration} from {start}"),
        (Some(duration), None) => duration,
        (None, Some(start)) => format!("from {start}"),
        (None, None) => String::new(),
    };
    // What is not known is left out.
    let mut facts = vec![
        harmless::name(&log.log).into_owned(),
        log.pid.map(|pid| format!("pid {pid}")).unwrap_or_default(),
        harmless::name(&log.jvm).into_owned(),
        recorded,
        match (log.dumps, log.is_summed) {
            (0, true) => "sums of waits".to_owned(),
            (0, false) => format!("{} mode", log.mode),
            (dumps, _) => units::counted(dumps, "thread dump"),
        },
        log.threshold_ns.map(|ns| format!("threshold {}", units::duration(ns))).unwrap_or_default(),
    ];
    if !log.complete {
        facts.push("not complete".to_owned());
    }
    facts.retain(|fact| !fact.is_empty());
    facts
}

fn navigation(page: &mut String, report: &Report, flames: &[Flame]) -> fmt::Result {
    write!(page, "<nav aria-label=\"Sections\">\n<ul>")?;
    let sections = report.drawn().map(|shown| (shown.section.name, shown.section.title));
    let graphs = (!flames.is_empty()).then_some((flames::ID, flames::TITLE));
    let has_heat = report.glance.as_ref().is_some_and(|glance| !glance.heat.is_empty());
    let heat = has_heat.then_some((heatmap::ID, heatmap::IN_SHORT));
    for (id, title) in sections.chain(heat).chain(graphs) {
        let title = title.split_once(" at ").map_or(title, |(short, _)| short);
        write!(page, "<li><a href=\"#{}\">{}</a></li>", escape(id), escape(title))?;
    }
    write!(
        page,
        r#"</ul>
<div class="tools" role="search" aria-label="Filters">
<label hidden>Thread <select id="by-thread"><option value="">all</option></select></label>
<label hidden>Lock <select id="by-lock"><option value="">all</option></select></label>
<label>Text <input type="search" id="search" autocomplete="off" spellcheck="false"></label>
<button type="button" id="by-time" hidden></button>
<button type="button" id="by-took" hidden></button>
<button type="button" id="reset">Show all</button>
<output id="found" for="by-thread by-lock search by-time by-took"></output>
<button type="button" id="unfold" aria-pressed="false">Open all</button>
</div>
</nav>
"#
    )
}

fn main(page: &mut String, report: &Report, flames: &[Flame]) -> fmt::Result {
    writeln!(page, "<main id=\"main\" tabindex=\"-1\">")?;
    let mut drawn = report.drawn().peekable();
    // The verdict and the picture beside it are the first screen.
    if let Some(glance) = &report.glance {
        writeln!(page, "<div class=screen>")?;
        if let Some(verdict) = drawn.next_if(|shown| shown.section.about == About::Verdict) {
            section(page, verdict, report)?;
        }
        glance::write(page, glance)?;
        writeln!(page, "</div>")?;
    }
    for shown in drawn {
        section(page, shown, report)?;
    }
    if !report.trace_adds.is_empty() {
        writeln!(page, "<p class=\"lacking\">{}</p>", escape(&report.trace_adds))?;
    }
    if let Some(glance) = &report.glance {
        heatmap::write(page, glance)?;
    }
    flames::write(page, flames, &report.program)?;
    write!(page, "</main>\n<script>\n{}</script>\n</body>\n</html>\n", SCRIPT.concat())
}

fn section(page: &mut String, shown: &Shown, report: &Report) -> fmt::Result {
    let (Shown { section, answer }, lacking) = (shown, report.lacking(shown));
    let advice = if answer.advises { section.advice } else { "" };
    begin_section(page, section.name, section.title, section.means, advice)?;
    if !lacking.is_empty() {
        writeln!(page, "<p class=\"lacking\">{}</p>", escape(lacking))?;
    }
    if let Some(glance) = report.glance.as_ref().filter(|_| section.name == BLOCKS_IN) {
        blocking::write(page, glance)?;
    }
    let mut trees_left_out = 0;
    for part in &answer.view.parts {
        match part {
            Part::Text(text) => writeln!(page, "<p>{}</p>", breakable(text))?,
            Part::Lines(lines) => {
                for (nth, line) in lines.iter().enumerate() {
                    let class = if nth == 0 { "verdict first" } else { "verdict" };
                    writeln!(page, "<p class=\"{class}\">{}</p>", breakable(line))?;
                }
            }
            Part::Facts(facts) => {
                write!(page, "<dl>")?;
                for (name, value) in facts {
                    let value = breakable(&shown_text(value));
                    write!(page, "<div><dt>{}</dt><dd>{value}</dd></div>", escape(name))?;
                }
                writeln!(page, "</dl>")?;
            }
            Part::Table(table) | Part::Listing(table) => {
                table::write(page, table, section.title)?;
            }
            Part::Timeline(timeline) => timeline::write(page, timeline)?,
            Part::Chains(tree) => chains::write(page, tree)?,
            Part::Heading(heading) => writeln!(page, "<h3>{}</h3>", escape(heading))?,
            Part::Tree(tree) if page.len() < MOST_BYTES => tree::write(page, tree)?,
            Part::Tree(_) => trees_left_out += 1,
        }
    }
    if trees_left_out > 0 {
        writeln!(page, "<p class=\"none\">… and {trees_left_out} more, left out of the page.</p>")?;
    }
    writeln!(page, "</section>")
}

fn shown_text(value: &crate::view::TableCell) -> String {
    shown(value).into_owned()
}

fn begin_section(
    page: &mut String,
    id: &str,
    title: &str,
    means: &str,
    advice: &str,
) -> fmt::Result {
    let (id, title) = (escape(id), escape(title));
    writeln!(page, "<section id=\"{id}\" aria-labelledby=\"{id}-title\" tabindex=\"-1\">")?;
    writeln!(page, "<h2 id=\"{id}-title\">{title}</h2>")?;
    for (class, text) in [("means", means), ("advice", advice)] {
        if !text.is_empty() {
            writeln!(page, "<p class=\"{class}\">{}</p>", escape(text))?;
        }
    }
    Ok(())
}
