//! For terminals and text files: no line is longer than it may be, and nothing
//! hangs on colours.

mod brief;
mod chains;
mod glance;
mod lines;
mod table;
mod timeline;
mod tree;

use crate::{
    About, Section, View,
    glance::Glance,
    view::{Part, TableCell},
};
use crate::{Report, Shown, cells, cells::plain};
use brief::Brevity;
use lines::{clip, columns, pad, wrap};

/// How wide lines may be where nobody says otherwise.
pub const WIDTH: usize = 100;
/// Wider lines are not used.
pub const MAX_WIDTH: usize = 250;
/// Sentences are not wider: they would be hard to read.
const SENTENCE: usize = 120;
/// Narrower lines are not tried.
pub const MIN_WIDTH: usize = 80;
/// The most frames shown of a stack; HTML and JSON have them all.
const FRAMES: usize = 3;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// No line has more columns of a terminal. Taken as [`MIN_WIDTH`] if it is
    /// less, and as [`MAX_WIDTH`] if it is more.
    pub width: usize,
    /// Whether a terminal will show it.
    pub coloured: bool,
    /// Whether a chart of what threads did over time stands below the verdict.
    pub chart: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: WIDTH, coloured: false, chart: false }
    }
}

/// The report. A brief one leaves out more and more until it is short enough.
pub fn write(report: &Report, style: &Style) -> String {
    if !report.options.brief {
        return written(report, style, None);
    }
    // The chart takes no room from the tables.
    let most_lines = brief::MOST_LINES + chart(report, style).map_or(0, |it| lines_of(it, style));
    let mut texts = brief::LEVELS.iter().map(|level| written(report, style, Some(level)));
    let mut text = texts.next().unwrap_or_default();
    while text.lines().count() > most_lines
        && let Some(shorter) = texts.next()
    {
        text = shorter;
    }
    text
}

/// What the chart is of, if there is to be one.
fn chart<'r>(report: &'r Report, style: &Style) -> Option<&'r Glance> {
    report.glance.as_ref().filter(|_| style.chart)
}

/// How many lines the chart takes, with the blank one above it.
fn lines_of(glance: &Glance, style: &Style) -> usize {
    let mut page = Page::new(style);
    page.glance(glance);
    page.out.lines().count() + 1
}

fn written(report: &Report, style: &Style, brevity: Option<&Brevity>) -> String {
    let mut page = Page::new(style);
    page.frames = brevity.map_or(FRAMES, |brevity| brevity.frames);
    let mut more = Vec::new();
    let mut chart = chart(report, style);
    for shown in report.drawn() {
        if shown.section.about != About::Verdict
            && let Some(glance) = chart.take()
        {
            page.glance(glance);
        }
        if brevity.is_some() && !brief::shows(shown) {
            more.push(shown.section);
            continue;
        }
        page.section(shown, report.lacking(shown), brevity);
    }
    if let Some(glance) = chart {
        page.glance(glance);
    }
    if !report.trace_adds.is_empty() {
        page.out.push('\n');
        page.paragraph(Ink::Warn, "! ", &report.trace_adds);
    }
    page.index(&more);
    page.out
}

/// One view, without a heading of its own.
pub fn view(view: &View, style: &Style) -> String {
    let mut page = Page::new(style);
    page.view(view);
    page.out
}

/// What a line, or a part of it, is drawn with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ink {
    Plain,
    Strong,
    Faint,
    Warn,
    Red,
    Green,
    Magenta,
    Cyan,
}

/// Lines under way.
struct Page {
    out: String,
    width: usize,
    coloured: bool,
    /// The most frames shown of a stack.
    frames: usize,
}

impl Page {
    fn new(style: &Style) -> Page {
        let width = style.width.clamp(MIN_WIDTH, MAX_WIDTH);
        Page { out: String::new(), width, coloured: style.coloured, frames: FRAMES }
    }

    /// The text in an ink, as far as there are inks.
    fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            _ if !self.coloured || text.is_empty() => return text.to_owned(),
            Ink::Plain => return text.to_owned(),
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Warn => "33",
            Ink::Red => "31",
            Ink::Green => "32",
            Ink::Magenta => "35",
            Ink::Cyan => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A line that is known to fit, without blanks at its end.
    fn line(&mut self, ink: Ink, text: &str) {
        let painted = self.paint(ink, text.trim_end());
        self.out += &painted;
        self.out.push('\n');
    }

    fn section(
        &mut self,
        Shown { section, answer }: &Shown,
        lacking: &str,
        brevity: Option<&Brevity>,
    ) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        // What needs no explanation needs no heading.
        if !section.means.is_empty() {
            self.heading(section.title);
        }
        if brevity.is_none() {
            self.paragraph(Ink::Faint, "", section.means);
            let advice = if answer.advises { section.advice } else { "" };
            self.paragraph(Ink::Faint, "→ ", advice);
        }
        self.paragraph(Ink::Warn, "! ", lacking);
        match brevity {
            Some(brevity) => {
                self.parts(&brevity.view(&answer.view, section), !lacking.is_empty());
            }
            None => self.view(&answer.view),
        }
    }

    fn heading(&mut self, title: &str) {
        let title = clip(&plain(title), self.width);
        let rule = "─".repeat(columns(&title));
        self.line(Ink::Strong, &title);
        self.line(Ink::Faint, &rule);
    }

    /// A sentence over as many lines as it needs, `mark` in front of the first.
    fn paragraph(&mut self, ink: Ink, mark: &str, text: &str) {
        let indent = columns(mark);
        for (at, line) in wrap(&plain(text), self.width.min(SENTENCE) - indent).iter().enumerate() {
            let mark = if at == 0 { mark.to_owned() } else { " ".repeat(indent) };
            self.line(ink, &format!("{mark}{line}"));
        }
    }

    fn view(&mut self, view: &View) {
        let begins_page = self.out.is_empty();
        self.parts(view, !begins_page);
    }

    /// A view, with a blank line between its parts, and above the first one if asked for.
    fn parts(&mut self, view: &View, is_apart: bool) {
        for (nth, part) in view.parts.iter().enumerate() {
            if nth > 0 || is_apart {
                self.out.push('\n');
            }
            match part {
                Part::Text(text) => self.paragraph(Ink::Plain, "", text),
                Part::Lines(lines) => self.sentences(lines),
                Part::Facts(facts) => self.facts(facts),
                Part::Table(table) => self.table(table),
                Part::Timeline(timeline) => self.timeline(timeline),
                Part::Heading(heading) => self.paragraph(Ink::Strong, "", heading),
                Part::Tree(tree) => self.tree(tree),
                Part::Listing(table) => self.listing(table),
                Part::Chains(tree) => self.chains(tree),
            }
        }
    }

    /// Sections that are not shown.
    fn index(&mut self, sections: &[&Section]) {
        if sections.is_empty() {
            return;
        }
        self.out.push('\n');
        self.line(Ink::Strong, "More, each with --section NAME, or all with --top 20");
        let title = |section: &Section| TableCell::Text(section.title.to_owned());
        let name = |section: &&Section| (section.name.to_owned(), title(section));
        let facts: Vec<(String, TableCell)> = sections.iter().map(name).collect();
        self.facts(&facts);
    }

    fn sentences(&mut self, lines: &[String]) {
        for (nth, line) in lines.iter().enumerate() {
            let ink = if nth == 0 { Ink::Strong } else { Ink::Plain };
            self.paragraph(ink, "", line);
        }
    }

    fn facts(&mut self, facts: &[(String, TableCell)]) {
        let names: Vec<String> = facts.iter().map(|(name, _)| plain(name).into_owned()).collect();
        let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
        let indent = widest.min(self.width / 2) + 2;
        for (name, (_, value)) in names.iter().zip(facts) {
            let value = wrap(&cells::shown(value), self.width - indent);
            for (at, line) in value.iter().enumerate() {
                let name = if at == 0 { clip(name, indent - 2) } else { String::new() };
                let name = self.paint(Ink::Faint, &pad(&name, indent, false));
                self.line(Ink::Plain, &format!("{name}{line}"));
            }
        }
    }
}
