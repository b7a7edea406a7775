//! The constants of a chunk: what the keys in its events stand for.

use super::{
    chunk::{Chunk, EventRef, HEADER_LEN},
    metadata::{Plan, STACK, Shape, Type, Types, Values},
    scan::{Scan, Text},
};
use std::collections::HashMap;

/// The type of the events that hold constants.
const CHECKPOINT: u64 = 1;
/// The type of the events that hold metadata.
pub(super) const METADATA: u64 = 0;
/// So many constants of a chunk are kept. A usual chunk has some ten thousand; a
/// crafted one could have one for each three of its bytes.
const MOST: usize = 1 << 22;

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
struct Method {
    class: u64,
    name: u64,
    descriptor: u64,
}

/// A frame: the key of its method, and the line in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) method: u64,
    pub(super) line: u32,
}

/// What a chunk's keys stand for.
#[derive(Debug)]
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
    /// Where each stack stands: most frames are never asked for.
    stacks: HashMap<u64, Scan<'a>>,
    /// How many more are kept.
    room: usize,
}

impl<'a> Constants<'a> {
    /// Reads all constants of a chunk, and says where some could not be read, in
    /// bytes from the chunk's start.
    pub(super) fn read(chunk: &Chunk<'a>, types: &Types) -> (Constants<'a>, Option<usize>) {
        let (symbols, strings, classes, methods) = Default::default();
        let (threads, groups, states, stacks) = Default::default();
        let mut constants = Constants {
            symbols,
            strings,
            classes,
            methods,
            threads,
            groups,
            states,
            stacks,
            room: MOST,
        };
        let mut damaged = None;
        for event in checkpoints(chunk) {
            if constants.take_up(event.fields, types).is_none() {
                damaged = damaged.or(Some(event.at));
            }
        }
        (constants, damaged)
    }

    /// Takes up an event's constants. Of a key that has several the last one counts.
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
            if count == 0 {
                continue;
            }
            let (of, shape) = (types.by_id(id)?, types.shape_of(id)?);
            let is_wanted =
                matches!(of.name.as_str(), STRING | STACK) || wanted(&of.name).is_some();
            if is_wanted {
                self.room = self.room.checked_sub(count)?;
            }
            match of.name.as_str() {
                STRING => {
                    for _ in 0..count {
                        let key = scan.number()?;
                        let text = scan.text()?;
                        self.strings.insert(key, text);
                    }
                }
                STACK => {
                    for _ in 0..count {
                        let key = scan.number()?;
                        self.stacks.insert(key, scan);
                        types.skip(&mut scan, shape, false)?;
                    }
                }
                _ if is_wanted => self.take_rows(&mut scan, count, of, types)?,
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

    /// The frames of a stack, the innermost first and no more than `most`, and whether
    /// it lacks some.
    pub(super) fn stack(&self, key: u64, types: &Types, most: usize) -> (Vec<Frame>, bool) {
        let mut frames = Vec::new();
        let stack = self.stacks.get(&key);
        let is_cut = stack.and_then(|stack| read_stack(*stack, types, most, &mut frames));
        (frames, is_cut.unwrap_or(stack.is_some()))
    }

    /// A thread.
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

/// Reads a stack's frames: whether it lacks some. `None` where they cannot be read.
fn read_stack(
    mut scan: Scan<'_>,
    types: &Types,
    most: usize,
    frames: &mut Vec<Frame>,
) -> Option<bool> {
    let mut is_cut = false;
    for field in &types.stack()?.fields {
        match (field.name.as_str(), field.shape) {
            ("truncated", Shape::Number) if !field.is_array => is_cut |= scan.number()? != 0,
            ("frames", Shape::Fields(at)) if field.is_array => {
                let count = scan.count()?;
                if count == 0 {
                    continue;
                }
                let plan = Plan::new(types.at(at)?, &["method", "lineNumber"]);
                let mut values = Values::default();
                for _ in 0..count {
                    if frames.len() >= most {
                        // What may come behind the frames says nothing more.
                        return Some(true);
                    }
                    plan.read(types, &mut scan, &mut values)?;
                    let [method, line, ..] = values.numbers;
                    // Negative ones are unknown.
                    let line = u32::try_from(line as u32 as i32).unwrap_or(0);
                    frames.push(Frame { method, line });
                }
            }
            _ => types.skip(&mut scan, field.shape, field.is_array)?,
        }
    }
    Some(is_cut)
}

const STRING: &str = "java.lang.String";
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

/// The events with constants, the first one first. Each says how far before it the one
/// before it is; where that leads nowhere, they are looked for.
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
            Some(0) => {
                found.reverse();
                return found;
            }
            Some(delta) => at = at.saturating_add(delta),
            None => break,
        }
    }
    let events = chunk.events(HEADER_LEN);
    events.filter(|event| event.kind == CHECKPOINT).collect()
}
