//! The constants of a chunk: what the keys in its events stand for.

use super::{
    chunk::{Chunk, EventRef, HEADER_LEN},
    metadata::{Plan, Shape, Type, Types, Values},
    scan::{Scan, Text},
};
use std::{collections::HashMap, ops::Range};

/// The type of the events that hold constants.
const CHECKPOINT: u64 = 1;
/// The type of the events that hold metadata.
pub(super) const METADATA: u64 = 0;

/// A thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thread<'a> {
    pub(super) java_id: u64,
    pub(super) os_id: u64,
    pub(super) java_name: Text<'a>,
    pub(super) os_name: Text<'a>,
    /// The key of its group.
    pub(super) group: u64,
    pub(super) is_virtual: bool,
}

/// A method, by keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Method {
    pub(super) class: u64,
    pub(super) name: u64,
    pub(super) descriptor: u64,
}

/// A frame: the key of its method, and the line in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) method: u64,
    pub(super) line: u32,
}

/// What a chunk's keys stand for.
#[derive(Debug, Default)]
pub(super) struct Constants<'a> {
    symbols: HashMap<u64, Text<'a>>,
    strings: HashMap<u64, Text<'a>>,
    /// The keys of their names.
    classes: HashMap<u64, u64>,
    methods: HashMap<u64, Method>,
    threads: HashMap<u64, Thread<'a>>,
    /// Names of groups of threads.
    groups: HashMap<u64, Text<'a>>,
    /// Names of states of threads.
    states: HashMap<u64, Text<'a>>,
    frames: Vec<Frame>,
    /// By the stack's key: where its frames are, and whether it lacks some.
    stacks: HashMap<u64, (Range<u32>, bool)>,
}

impl<'a> Constants<'a> {
    /// Reads all constants of a chunk, and says where some could not be read, in
    /// bytes from the chunk's start.
    pub(super) fn read(chunk: &Chunk<'a>, types: &Types) -> (Constants<'a>, Option<usize>) {
        let mut constants = Constants::default();
        let mut damaged = None;
        for event in checkpoints(chunk) {
            if constants.take_up(event.fields, types).is_none() {
                damaged = damaged.or(Some(event.at));
            }
        }
        (constants, damaged)
    }

    /// Takes up an event's constants.
    fn take_up(&mut self, mut scan: Scan<'a>, types: &Types) -> Option<()> {
        // When, how long, where the one before it is.
        for _ in 0..3 {
            scan.number()?;
        }
        // What it is for.
        scan.byte()?;
        for _ in 0..scan.count()? {
            let id = scan.number()?;
            let count = scan.count()?;
            let shape = types.shape_of(id)?;
            let name = types.by_id(id).map_or("", |of| of.name.as_str());
            let of = types.by_id(id);
            match (name, of) {
                ("java.lang.String", _) => {
                    for _ in 0..count {
                        let key = scan.number()?;
                        let text = scan.text()?;
                        self.strings.insert(key, text);
                    }
                }
                ("jdk.types.StackTrace", Some(of)) => {
                    self.take_stacks(&mut scan, count, of, types)?;
                }
                (_, Some(of)) if wanted(name).is_some() => {
                    self.take_rows(&mut scan, count, of, types)?;
                }
                _ => {
                    for _ in 0..count {
                        scan.number()?;
                        types.skip(&mut scan, shape, false)?;
                    }
                }
            }
        }
        Some(())
    }

    fn take_rows(
        &mut self,
        scan: &mut Scan<'a>,
        count: usize,
        of: &Type,
        types: &Types,
    ) -> Option<()> {
        let plan = Plan::new(of, wanted(&of.name)?);
        let mut values = Values::default();
        for _ in 0..count {
            let key = scan.number()?;
            plan.read(types, scan, &mut values)?;
            let (numbers, texts) = (&values.numbers, &values.texts);
            match of.name.as_str() {
                SYMBOL => drop(self.symbols.insert(key, texts[0])),
                CLASS => drop(self.classes.insert(key, numbers[0])),
                METHOD => {
                    let [class, name, descriptor, ..] = *numbers;
                    self.methods.insert(key, Method { class, name, descriptor });
                }
                THREAD => {
                    let thread = Thread {
                        java_id: numbers[0],
                        os_id: numbers[1],
                        java_name: texts[2],
                        os_name: texts[3],
                        group: numbers[4],
                        is_virtual: numbers[5] != 0,
                    };
                    self.threads.insert(key, thread);
                }
                GROUP => drop(self.groups.insert(key, texts[0])),
                _ => drop(self.states.insert(key, texts[0])),
            }
        }
        Some(())
    }

    fn take_stacks(
        &mut self,
        scan: &mut Scan<'a>,
        count: usize,
        of: &Type,
        types: &Types,
    ) -> Option<()> {
        let frame = of.fields.iter().find(|field| field.name == "frames")?;
        let frame = match frame.shape {
            Shape::Fields(at) => types.at(at)?,
            _ => return None,
        };
        let plan = Plan::new(frame, &["method", "lineNumber"]);
        let mut values = Values::default();
        for _ in 0..count {
            let key = scan.number()?;
            let start = self.frames.len() as u32;
            let mut is_cut = false;
            for field in &of.fields {
                match (field.name.as_str(), field.is_array) {
                    ("truncated", false) => is_cut = scan.number()? != 0,
                    ("frames", true) => {
                        for _ in 0..scan.count()? {
                            let at = scan.at();
                            plan.read(types, scan, &mut values)?;
                            if scan.at() == at {
                                // Any number of them would fit.
                                return None;
                            }
                            let [method, line, ..] = values.numbers;
                            // Negative ones are unknown.
                            let line = u32::try_from(line as u32 as i32).unwrap_or(0);
                            self.frames.push(Frame { method, line });
                        }
                    }
                    _ => types.skip(scan, field.shape, field.is_array)?,
                }
            }
            self.stacks.insert(key, (start..self.frames.len() as u32, is_cut));
        }
        Some(())
    }

    fn resolve(&self, text: Text<'a>) -> Option<String> {
        match text {
            Text::Key(key) => self.strings.get(&key)?.to_text(),
            text => text.to_text(),
        }
    }

    fn symbol(&self, key: u64) -> Option<String> {
        self.resolve(*self.symbols.get(&key)?)
    }

    /// A text of an event.
    pub(super) fn text(&self, text: Text<'a>) -> String {
        self.resolve(text).unwrap_or_default()
    }

    /// The name of a class, as in class files.
    pub(super) fn class(&self, key: u64) -> Option<String> {
        self.symbol(*self.classes.get(&key)?)
    }

    /// Class, name and descriptor of a method.
    pub(super) fn method(&self, key: u64) -> Option<(String, String, String)> {
        let method = self.methods.get(&key)?;
        let text = |key| self.symbol(key).unwrap_or_default();
        Some((
            self.class(method.class).unwrap_or_default(),
            text(method.name),
            text(method.descriptor),
        ))
    }

    /// The frames of a stack, the innermost one first, and whether it lacks some.
    pub(super) fn stack(&self, key: u64) -> (&[Frame], bool) {
        let found = self.stacks.get(&key);
        found.map_or((&[], false), |(range, is_cut)| {
            let frames = self.frames.get(range.start as usize..range.end as usize);
            (frames.unwrap_or_default(), *is_cut)
        })
    }

    pub(super) fn thread(&self, key: u64) -> Option<Thread<'a>> {
        self.threads.get(&key).copied()
    }

    /// The name of a group of threads.
    pub(super) fn group(&self, key: u64) -> String {
        self.groups.get(&key).and_then(|&name| self.resolve(name)).unwrap_or_default()
    }

    /// The name of a state of threads.
    pub(super) fn state(&self, key: u64) -> String {
        self.states.get(&key).and_then(|&name| self.resolve(name)).unwrap_or_default()
    }
}

const SYMBOL: &str = "jdk.types.Symbol";
const CLASS: &str = "java.lang.Class";
const METHOD: &str = "jdk.types.Method";
const THREAD: &str = "java.lang.Thread";
const GROUP: &str = "jdk.types.ThreadGroup";
const STATE: &str = "jdk.types.ThreadState";

/// The fields that are wanted of constants of a type.
fn wanted(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        SYMBOL => &["string"],
        CLASS => &["name"],
        METHOD => &["type", "name", "descriptor"],
        THREAD => &["javaThreadId", "osThreadId", "javaName", "osName", "group", "virtual"],
        GROUP | STATE => &["name"],
        _ => return None,
    })
}

/// The events with constants, the last one first: each says how far before it the
/// one before it is. Where that leads nowhere, they are looked for.
fn checkpoints<'a>(chunk: &Chunk<'a>) -> Vec<EventRef<'a>> {
    let (mut found, mut limit) = (Vec::new(), usize::MAX);
    let mut at = i64::try_from(chunk.header.constants_at).unwrap_or(0);
    while let Some(start) = usize::try_from(at).ok().filter(|&at| at >= HEADER_LEN) {
        let mut events = chunk.events(start);
        let event = events.next().filter(|event| event.kind == CHECKPOINT);
        // None is within another one, so that no byte is read twice.
        let Some(event) = event.filter(|_| events.at() <= limit) else { break };
        limit = start;
        let mut fields = event.fields;
        let delta = (0..3).map_while(|_| fields.number()).nth(2);
        found.push(event);
        match delta.map(|delta| delta as i64) {
            Some(0) => return found,
            Some(delta) => at = at.saturating_add(delta),
            None => break,
        }
    }
    let events = chunk.events(HEADER_LEN);
    events.filter(|event| event.kind == CHECKPOINT).collect()
}
