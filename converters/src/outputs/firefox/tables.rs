//! The tables that all threads share: strings, functions, frames and stacks.

use super::schema::{CONTENTION, OTHER, SUMMED, WAITING};
use crate::outputs::{
    json::{self, or_null},
    places::LockStacks,
};
use std::{
    collections::{BTreeSet, HashMap},
    io::{self, Write},
};
use tyrion_model::{
    describe::Names,
    harmless, names,
    profile::Profile,
    timeline::{Timeline, Untimed},
};
use tyrion_wire::{WaitKind, def::id::UNKNOWN};

/// The frame below which waits stand that have no times.
const SUMMED_FRAME: &str = "[summed: when they were is not known]";

/// Strings, by number in the order in which they were asked for.
#[derive(Default)]
pub(super) struct Strings {
    numbers: HashMap<String, u32>,
    strings: Vec<String>,
}

impl Strings {
    /// The number of a string.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.strings.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.strings.push(text.to_owned());
        number
    }
}

/// The shared tables. A stack is a node of the tree without the empty one; behind these
/// come those of waits without times, which have one frame more.
pub(super) struct Tables<'p> {
    places: &'p LockStacks<'p>,
    /// The nodes of waits without times, ascending.
    summed: Vec<u32>,
    /// What locks are called in markers, by lock of the profile.
    locks: HashMap<u32, u32>,
    /// What threads are called there, by log and id in the log.
    threads: HashMap<(u32, u32), u32>,
}

impl<'p> Tables<'p> {
    pub(super) fn new(places: &'p LockStacks<'p>, untimed: &[Untimed]) -> Tables<'p> {
        let nodes = untimed.iter().map(|it| places.node(it.stack, it.lock, it.kind));
        let summed: BTreeSet<u32> = nodes.collect();
        let (locks, threads) = Default::default();
        let summed = summed.into_iter().collect();
        Tables { places, summed, locks, threads }
    }

    /// The stack of a wait; `None` for the empty one.
    pub(super) fn stack(&self, stack: u32, lock: u32, kind: WaitKind) -> Option<u32> {
        self.places.node(stack, lock, kind).checked_sub(1)
    }

    /// The stack of waits without times.
    pub(super) fn summed_stack(&self, untimed: &Untimed) -> Option<u32> {
        let node = self.places.node(untimed.stack, untimed.lock, untimed.kind);
        let nth = self.summed.binary_search(&node).ok()?;
        Some(self.places.tree.len() as u32 - 1 + nth as u32)
    }

    /// The number of the string that a lock is called.
    pub(super) fn lock(&mut self, profile: &Profile, lock: u32, strings: &mut Strings) -> u32 {
        *self.locks.entry(lock).or_insert_with(|| strings.number(&names::lock(profile, lock)))
    }

    /// The number of the string that a thread is called, by its log and its id there;
    /// `None` for the unknown one.
    pub(super) fn thread(
        &mut self,
        timeline: &Timeline<'_>,
        run: u32,
        id: u32,
        strings: &mut Strings,
    ) -> Option<u32> {
        let log = timeline.logs().get(run as usize).filter(|_| id != UNKNOWN)?;
        let name = || strings.number(&harmless::name(&Names(log).thread(id)));
        Some(*self.threads.entry((run, id)).or_insert_with(name))
    }

    /// Writes all tables.
    pub(super) fn write(
        &self,
        profile: &Profile,
        strings: &mut Strings,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        out.write_all(b"{\"stackTable\":")?;
        self.write_stacks(out)?;
        out.write_all(b",\n\"frameTable\":")?;
        self.write_frames(profile, out)?;
        let sources = Sources::of(self.places, profile);
        out.write_all(b",\n\"funcTable\":")?;
        self.write_functions(profile, &sources, strings, out)?;
        out.write_all(
            b",\n\"resourceTable\":{\"length\":0,\"name\":[],\"host\":[],\"type\":[]},\n\
              \"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],\
              \"functionSize\":[]},\n\
              \"sourceLocationTable\":{\"length\":0,\"source\":[],\"line\":[],\"column\":[]},\n\
              \"sources\":",
        )?;
        sources.write(strings, out)?;
        out.write_all(b",\n\"stringArray\":[")?;
        let mut separator = "";
        for text in &strings.strings {
            out.write_all(separator.as_bytes())?;
            json::string(out, text)?;
            separator = ",\n";
        }
        out.write_all(b"]}")
    }

    /// Each stack has its frame and how far before it its caller stands, 0 for none.
    fn write_stacks(&self, out: &mut dyn Write) -> io::Result<()> {
        let tree = &self.places.tree;
        let steps = tree.steps.iter().skip(1).map(|&step| self.places.frame(step));
        let summed_frame = self.places.frames();
        let frames = steps.chain(self.summed.iter().map(|_| summed_frame));
        out.write_all(b"{\"frame\":")?;
        json::array(out, frames)?;
        out.write_all(b",\"prefixOffset\":")?;
        let offset = |(node, parent): (u32, u32)| if parent == 0 { 0 } else { node - parent };
        let own = (1u32..).zip(tree.parents.iter().skip(1).copied());
        let first = tree.len() as u32;
        let summed = (first..).zip(self.summed.iter().copied());
        json::array(out, own.chain(summed).map(offset))?;
        write!(out, ",\"length\":{}}}", tree.len() - 1 + self.summed.len())
    }

    fn write_frames(&self, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
        let (places, len) = (self.places, self.places.frames() as usize + 1);
        let lines = profile.frames.iter().map(|frame| Some(frame.line).filter(|&line| line != 0));
        let functions = profile.frames.iter().map(|frame| frame.function);
        let others = len - profile.frames.len();
        let first_other = profile.functions.len() as u32;
        // A frame without a category has that of its caller.
        let categories = std::iter::repeat_n(None, profile.frames.len())
            .chain([Some(OTHER)])
            .chain(places.tree.locks.iter().map(|lock| Some(category(lock.kind))))
            .chain([Some(SUMMED)]);
        let categories: Vec<Option<u32>> = categories.collect();
        out.write_all(b"{\"address\":")?;
        json::repeated(out, "-1", len)?;
        out.write_all(b",\"lib\":")?;
        json::repeated(out, "-1", len)?;
        out.write_all(b",\"inlineDepth\":")?;
        json::repeated(out, "0", len)?;
        out.write_all(b",\"category\":")?;
        json::array(out, categories.iter().map(|category| or_null(*category)))?;
        out.write_all(b",\"subcategory\":")?;
        json::array(out, categories.iter().map(|category| or_null(category.map(|_| 0))))?;
        out.write_all(b",\"func\":")?;
        json::array(out, functions.chain((first_other..).take(others)))?;
        out.write_all(b",\"line\":")?;
        let lines = lines.chain(std::iter::repeat_n(None, others));
        json::array(out, lines.map(or_null))?;
        for column in ["nativeSymbol", "innerWindowID", "column", "originalLocation"] {
            write!(out, ",\"{column}\":")?;
            json::repeated(out, "null", len)?;
        }
        write!(out, ",\"length\":{len}}}")
    }

    fn write_functions(
        &self,
        profile: &Profile,
        sources: &Sources,
        strings: &mut Strings,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let methods = profile.functions.iter().map(names::dotted);
        let first = profile.frames.len() as u32;
        let others = (first..self.places.frames()).map(|frame| self.places.shown(frame).name);
        let others: Vec<String> = others.chain([SUMMED_FRAME.to_owned()]).collect();
        let len = profile.functions.len() + others.len();
        let names = methods.chain(others.iter().cloned());
        let names: Vec<u32> = names.map(|name| strings.number(&name)).collect();
        let of_methods = profile.functions.iter();
        let lines = of_methods.map(|it| Some(it.first_line).filter(|&line| line != 0));
        let lines = lines.chain(std::iter::repeat_n(None, others.len()));
        out.write_all(b"{\"name\":")?;
        json::array(out, names)?;
        for column in ["isJS", "relevantForJS"] {
            write!(out, ",\"{column}\":")?;
            json::repeated(out, "false", len)?;
        }
        out.write_all(b",\"resource\":")?;
        json::repeated(out, "-1", len)?;
        out.write_all(b",\"source\":")?;
        json::array(out, sources.of_function.iter().map(|file| or_null(*file)))?;
        out.write_all(b",\"lineNumber\":")?;
        json::array(out, lines.map(or_null))?;
        for column in ["columnNumber", "originalLocation"] {
            write!(out, ",\"{column}\":")?;
            json::repeated(out, "null", len)?;
        }
        write!(out, ",\"length\":{len}}}")
    }
}

/// The category of a lock's frame.
pub(super) fn category(kind: WaitKind) -> u32 {
    if kind.is_contention() { CONTENTION } else { WAITING }
}

/// The source files of methods. The viewer shows them beside the names of functions, so
/// those of locks that have a name of their own are their classes.
struct Sources {
    files: Vec<String>,
    /// The file of each function, in the order of the table of functions.
    of_function: Vec<Option<u32>>,
}

impl Sources {
    fn of(places: &LockStacks<'_>, profile: &Profile) -> Sources {
        let methods = profile.functions.iter().map(|it| harmless::name(&it.source).into_owned());
        let first = profile.frames.len() as u32;
        let others = (first..places.frames()).map(|frame| places.shown(frame).file);
        let (mut numbers, mut files) = (HashMap::new(), Vec::new());
        let number = |file: String| {
            (!file.is_empty()).then(|| {
                *numbers.entry(file).or_insert_with_key(|file| {
                    files.push(file.clone());
                    files.len() as u32 - 1
                })
            })
        };
        // Sums have a frame of their own, which stands behind all others.
        let of_function = methods.chain(others).chain([String::new()]).map(number).collect();
        Sources { files, of_function }
    }

    fn write(&self, strings: &mut Strings, out: &mut dyn Write) -> io::Result<()> {
        let len = self.files.len();
        let names: Vec<u32> = self.files.iter().map(|file| strings.number(file)).collect();
        out.write_all(b"{\"filename\":")?;
        json::array(out, names)?;
        for (column, value) in [
            ("id", "null"),
            ("startLine", "1"),
            ("startColumn", "1"),
            ("sourceMapURL", "null"),
            ("content", "null"),
        ] {
            write!(out, ",\"{column}\":")?;
            json::repeated(out, value, len)?;
        }
        write!(out, ",\"length\":{len}}}")
    }
}
