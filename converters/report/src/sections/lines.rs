//! The lines of source code with the most samples: the Javamex sampler's report.

use super::{
    sampled::{self, ShownStacks, StateTimes},
    shared::share,
};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::names,
    section::schema_of,
    view::{Column, Detail, Part, Row, Table, TableCell, View},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::HashMap};
use tyrion_model::{
    profile::{Frame, Profile, SampleRow},
    units,
};

/// The section.
pub const SECTION: Section = Section {
    name: "lines",
    title: "Lines",
    means: "The lines of source code that threads were seen at most often: the innermost frame of \
            each sample that has a line.",
    advice: "Study running lines with a CPU profiler; blocked lines are in contended, too.",
    about: About::Samples,
    in_brief: InBrief::Always,
    schema: schema_of::<Lines>,
    answer,
};

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Lines {
    /// How many snapshots of threads are shown.
    pub samples: u64,
    /// The real time that they represent.
    pub wall_ns: u64,
    /// How many of the snapshots have no frame with a line.
    pub samples_without_line: u64,
    /// The lines, most snapshots first.
    pub lines: Vec<Line>,
    /// How many more lines there are.
    pub left_out: usize,
}

/// A line of source code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// Class, method and number, `com.acme.Foo.bar:12`.
    pub line: String,
    /// Its source file, `com/acme/Foo.java`; may be empty.
    pub source: String,
    /// How many snapshots found a thread there.
    pub samples: u64,
    /// The real time that they represent.
    pub wall_ns: u64,
    /// The CPU time that the threads used meanwhile.
    pub cpu_ns: u64,
    /// `wall_ns` by state.
    pub states: StateTimes,
    /// The share of `wall_ns` that belongs to `stack`.
    pub stack_share: f64,
    /// The stack with the most real time, innermost frame first.
    pub stack: Vec<String>,
}

/// The samples of a line, as far as they were added up.
#[derive(Default)]
struct LineSums {
    samples: u64,
    cpu_ns: u64,
    states: StateTimes,
    stacks: HashMap<u32, u64>,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let lines = Lines::of(findings, options);
    let json = serde_json::to_value(&lines).unwrap_or_default();
    let advises = !lines.lines.is_empty();
    Answer { json, view: view(&lines), lacking: sampled::lacking(findings), advises }
}

impl Lines {
    /// From what was found.
    pub fn of(findings: &Findings<'_>, options: &ReportOptions) -> Lines {
        let profile = findings.profile();
        let stacks = ShownStacks::new(profile, &options.packages);
        let mut gathered: HashMap<Frame, LineSums> = HashMap::new();
        let mut answer = Lines::default();
        for sample in &profile.samples {
            answer.samples = answer.samples.saturating_add(sample.count);
            answer.wall_ns = answer.wall_ns.saturating_add(sample.wall_ns);
            let kept = stacks.kept(sample.stack);
            match profile.frames_of(kept).find(|frame| frame.line != 0) {
                Some(frame) => gathered.entry(frame).or_default().add(sample),
                None => {
                    let without = &mut answer.samples_without_line;
                    *without = without.saturating_add(sample.count);
                }
            }
        }
        // Overloads on one line have one name.
        let mut named: HashMap<LineName, LineSums> = HashMap::new();
        for (frame, line) in gathered {
            named.entry(LineName::of(profile, frame)).or_default().merge(line);
        }
        let mut lines: Vec<(LineName, LineSums)> = named.into_iter().collect();
        let key = |line: &LineSums| (Reverse(line.samples), Reverse(line.states.sum_ns()));
        lines.sort_by(|(a, x), (b, y)| key(x).cmp(&key(y)).then_with(|| a.cmp(b)));
        let all = lines.len();
        if options.lines != 0 {
            lines.truncate(options.lines);
        }
        answer.left_out = all - lines.len();
        let lines = lines.into_iter().map(|(name, line)| line.finish(profile, name));
        answer.lines = lines.collect();
        answer
    }
}

/// What a line is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LineName {
    /// Class, method and number.
    line: String,
    source: String,
}

impl LineName {
    fn of(profile: &Profile, frame: Frame) -> LineName {
        let Some(function) = profile.functions.get(frame.function as usize) else {
            let line = format!("{}:{}", tyrion_formats::UNKNOWN, frame.line);
            return LineName { line, source: String::new() };
        };
        let line = format!("{}.{}:{}", function.class, function.method, frame.line);
        LineName { line, source: function.source.clone() }
    }
}

impl LineSums {
    fn add(&mut self, sample: &SampleRow) {
        self.samples = self.samples.saturating_add(sample.count);
        self.cpu_ns = self.cpu_ns.saturating_add(sample.cpu_ns);
        self.states.add(sample.state, sample.wall_ns);
        let of_stack = self.stacks.entry(sample.stack).or_default();
        *of_stack = of_stack.saturating_add(sample.wall_ns);
    }

    fn merge(&mut self, other: LineSums) {
        self.samples = self.samples.saturating_add(other.samples);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.states.add_all(&other.states);
        self.stacks.extend(other.stacks);
    }

    fn finish(self, profile: &Profile, name: LineName) -> Line {
        let hottest = self.stacks.iter().max_by_key(|(stack, ns)| (**ns, Reverse(**stack)));
        let (&stack, &stack_ns) = hottest.unwrap_or((&0, &0));
        let wall_ns = self.states.sum_ns();
        Line {
            line: name.line,
            source: name.source,
            samples: self.samples,
            wall_ns,
            cpu_ns: self.cpu_ns,
            states: self.states,
            stack_share: share(stack_ns, wall_ns),
            stack: names::stack(profile, stack),
        }
    }
}

fn view(lines: &Lines) -> View {
    if lines.samples == 0 && lines.wall_ns == 0 {
        return View::default();
    }
    let mut sum = format!(
        "{}, {} of real time.",
        units::counted(lines.samples, "sample"),
        units::duration(lines.wall_ns)
    );
    if lines.samples_without_line != 0 {
        let without = units::thousands(lines.samples_without_line);
        sum += &format!(" {without} of them have no frame with a line.");
    }
    View { parts: vec![Part::Text(sum), Part::Listing(table(lines))] }
}

fn table(lines: &Lines) -> Table {
    let row = |line: &Line| Row {
        cells: vec![
            TableCell::Count(line.samples),
            TableCell::name(&line.line),
            TableCell::Ns(line.wall_ns),
            TableCell::Ns(line.cpu_ns),
            TableCell::Text(line.states.in_words()),
        ],
        details: vec![Detail::of_names(
            format!("{:.0} % of its time in this stack", 100.0 * line.stack_share),
            &line.stack,
        )],
    };
    Table {
        title: String::new(),
        columns: vec![
            Column::new("samples", "how often a thread was seen there", 0),
            Column::new("line", "class, method and line of source code", 0),
            Column::new("real time", "how long those samples stand for", 0),
            Column::new("CPU", "the CPU time that the threads used meanwhile", 0),
            Column::new("states", "what the threads were doing, by real time", 0),
        ],
        rows: lines.lines.iter().map(row).collect(),
        left_out: lines.left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        render::text,
        testing::{Crafted, found},
    };
    use tyrion_model::filter::Filter;
    use tyrion_wire::sample::ThreadState::{Blocked, Running};

    #[test]
    fn lines_are_those_of_the_topmost_frame_with_a_line() {
        let mut log = Crafted::sampled(1_000_000_000);
        let native = ["com.acme.A.run:1", "com.acme.A.step:22", "sun.misc.Unsafe.park:0"];
        let mut sample = |frames: &[&str], state, count: u64| {
            let at_ns = 1_000_000 * count;
            log.sample(("main", frames), state, (at_ns, count), (count * 10_000_000, 5));
        };
        sample(&["x.Native.call:0"], Running, 1);
        sample(&native, Blocked, 2);
        sample(&native[..1], Running, 3);
        sample(&native[..2], Running, 4);
        let logs = [log.finish("a.log")];
        let filter = Filter::default();
        let found = found(&logs, &filter);
        let lines = Lines::of(&found, &ReportOptions::default());
        assert_eq!((lines.samples, lines.samples_without_line), (10, 1));
        assert_eq!(lines.wall_ns, 100_000_000);
        let first = &lines.lines[0];
        assert_eq!((first.line.as_str(), first.samples), ("com.acme.A.step:22", 6));
        assert_eq!(first.stack, ["com.acme.A.step(A.java:22)", "com.acme.A.run(A.java:1)"]);
        assert_eq!(first.cpu_ns, 10);
        let text = text::view(&view(&lines), &text::Style::default());
        let expected = "10 samples, 100 ms of real time. 1 of them have no frame with a line.\n\n\
                        samples  line                real time    CPU  states\n      \
                        6  com.acme.A.step:22      60 ms  10 ns  run 67% blk 33%\n      \
                        3  com.acme.A.run:1        30 ms   5 ns  run 100%\n";
        assert_eq!(text, expected);
        let cut = Lines::of(&found, &ReportOptions { lines: 1, ..ReportOptions::default() });
        assert_eq!((cut.lines.len(), cut.left_out), (1, 1));
    }
}
