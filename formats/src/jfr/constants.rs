//! The constants of a chunk: what the keys in its events stand for.

use super::{
    chunk::{EventRef, HEADER_LEN, JfrChunk},
    metadata::{FieldPlan, FieldValues, STACK, TypeTable, ValueShape},
    scan::{ByteScan, RawText},
};
use crate::limits::jfr::{asked_for, constants};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The type of the events that hold constants.
const CHECKPOINT: u64 = 1;
/// The type of the events that hold metadata.
pub(super) const METADATA: u64 = 0;

/// A thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JfrThread<'a> {
    pub(super) java_id: u64,
    pub(super) os_id: u64,
    pub(super) java_name: RawText<'a>,
    pub(super) os_name: RawText<'a>,
    /// The key of its group.
    pub(super) group: u64,
    pub(super) is_virtual: bool,
}

/// A frame: the key of its method, and the line in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct JfrFrame {
    pub(super) method: u64,
    pub(super) line: u32,
}

/// The types whose constants are asked for, each with the fields that are wanted.
const WANTED: [(&str, &[&str]); 9] = [
    ("java.lang.String", &[]),
    ("jdk.types.Symbol", &["string"]),
    ("java.lang.Class", &["name"]),
    ("jdk.types.Method", &["type", "name", "descriptor"]),
    ("java.lang.Thread", &["javaThreadId", "osThreadId", "javaName", "osName", "group", "virtual"]),
    ("jdk.types.ThreadGroup", &["name"]),
    ("jdk.types.ThreadState", &["name"]),
    (STACK, &[]),
    ("tyrion.types.WaitKind", &["name"]),
];

/// Places of types in [`WANTED`].
mod of {
    pub(super) const STRING: usize = 0;
    pub(super) const SYMBOL: usize = 1;
    pub(super) const CLASS: usize = 2;
    pub(super) const METHOD: usize = 3;
    pub(super) const THREAD: usize = 4;
    pub(super) const GROUP: usize = 5;
    pub(super) const STATE: usize = 6;
    pub(super) const STACK: usize = 7;
    pub(super) const KIND: usize = 8;
}

/// The constants of a type.
#[derive(Debug, Default)]
struct ConstantTable {
    /// Keys in their order, and where in the chunk what they stand for stands.
    rows: Vec<(u64, u64)>,
    plan: FieldPlan,
}

impl ConstantTable {
    /// Of a key that has several constants the last one counts.
    fn find(&self, key: u64) -> Option<usize> {
        let end = self.rows.partition_point(|&(of, _)| of <= key);
        let &(of, at) = self.rows.get(end.checked_sub(1)?)?;
        usize::try_from(at).ok().filter(|_| of == key)
    }
}

/// What a chunk's keys stand for. Most are never asked for, so only where they stand is
/// kept.
#[derive(Debug)]
pub(super) struct Constants<'a> {
    bytes: &'a [u8],
    types: Arc<TypeTable>,
    /// In the order of [`WANTED`].
    tables: [ConstantTable; WANTED.len()],
    /// The place of the frames among the fields of a stack, and how one is read.
    frames: Option<(usize, FieldPlan)>,
    /// How many more are kept.
    room: usize,
    /// How many bytes may still be read of those that are asked for: many may be made of
    /// the same long one.
    left: AtomicUsize,
}

impl<'a> Constants<'a> {
    /// Finds all constants of a chunk, and says where some could not be read, in
    /// bytes from the chunk's start.
    pub(super) fn read(
        chunk: &JfrChunk<'a>,
        types: &Arc<TypeTable>,
    ) -> (Constants<'a>, Option<usize>) {
        let len = chunk.bytes.len();
        let (frames, tables) = (frames(types), Default::default());
        let (types, left) = (types.clone(), AtomicUsize::new(asked_for(len)));
        let room = constants(len);
        let mut constants = Constants { bytes: chunk.bytes, types, tables, frames, room, left };
        let mut damaged = None;
        for event in checkpoints(chunk) {
            if constants.take_up(event).is_none() {
                damaged = damaged.or(Some(event.at));
            }
        }
        for table in &mut constants.tables {
            // Where several have a key, the last one is behind the others.
            table.rows.sort_unstable();
            table.rows.shrink_to_fit();
        }
        (constants, damaged)
    }

    /// How many bytes are taken by where constants stand.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.tables.iter().map(|table| size_of_val(&*table.rows)).sum()
    }

    /// Takes up an event's constants.
    fn take_up(&mut self, event: EventRef<'a>) -> Option<()> {
        let types = &*self.types;
        let mut scan = event.fields;
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
            let wanted = WANTED.iter().position(|(name, _)| *name == &*of.name);
            let Some(wanted) = wanted else {
                for _ in 0..count {
                    scan.number()?;
                    types.skip(&mut scan, shape, false)?;
                }
                continue;
            };
            self.room = self.room.checked_sub(count)?;
            let table = self.tables.get_mut(wanted)?;
            if table.rows.is_empty() {
                table.plan = FieldPlan::new(of, WANTED.get(wanted)?.1);
            }
            for _ in 0..count {
                let key = scan.number()?;
                let at = event.offset(&scan) as u64;
                types.skip(&mut scan, shape, false)?;
                table.rows.push((key, at));
            }
        }
        Some(())
    }

    /// Whether more was asked for than is read.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.load(Relaxed) == 0
    }

    /// Reads what a key stands for, unless too much was read already.
    fn find<T>(
        &self,
        of: usize,
        key: u64,
        read: impl FnOnce(&mut ByteScan<'a>) -> Option<T>,
    ) -> Option<T> {
        let at = self.tables.get(of)?.find(key)?;
        let left = self.left.load(Relaxed);
        if left == 0 {
            return None;
        }
        let mut scan = ByteScan::within(self.bytes, at, self.bytes.len());
        let found = read(&mut scan);
        self.left.store(left.saturating_sub(scan.at() - at), Relaxed);
        found
    }

    /// The fields of what a key stands for that are wanted.
    fn row(&self, of: usize, key: u64) -> Option<FieldValues<'a>> {
        let plan = &self.tables.get(of)?.plan;
        self.find(of, key, |scan| {
            let mut values = FieldValues::default();
            plan.read(&self.types, scan, &mut values)?;
            Some(values)
        })
    }

    fn resolve(&self, text: RawText<'a>) -> Option<String> {
        match text {
            RawText::Key(key) => self.find(of::STRING, key, ByteScan::text)?.to_text(),
            text => text.to_text(),
        }
    }

    /// The text that is all of a constant.
    fn name(&self, of: usize, key: u64) -> Option<String> {
        self.resolve(self.row(of, key)?.texts[0])
    }

    /// A text of an event.
    pub(super) fn text(&self, text: RawText<'a>) -> String {
        self.resolve(text).unwrap_or_default()
    }

    /// The name of a class, as in class files.
    pub(super) fn class(&self, key: u64) -> Option<String> {
        self.name(of::SYMBOL, self.row(of::CLASS, key)?.numbers[0])
    }

    /// Class, name and descriptor of a method.
    pub(super) fn method(&self, key: u64) -> Option<(String, String, String)> {
        let [class, name, descriptor, ..] = self.row(of::METHOD, key)?.numbers;
        let text = |key| self.name(of::SYMBOL, key).unwrap_or_default();
        Some((self.class(class).unwrap_or_default(), text(name), text(descriptor)))
    }

    /// The frames of a stack, the innermost first and no more than `most`, and whether
    /// it lacks some.
    pub(super) fn stack(&self, key: u64, most: usize) -> (Vec<JfrFrame>, bool) {
        let mut frames = Vec::new();
        let is_cut = self.find(of::STACK, key, |stack| {
            // One that cannot be read lacks frames.
            Some(self.read_stack(stack, most, &mut frames).unwrap_or(true))
        });
        (frames, is_cut.unwrap_or(false))
    }

    /// Reads a stack's frames: whether it lacks some. `None` where they cannot be read.
    fn read_stack(
        &self,
        scan: &mut ByteScan<'_>,
        most: usize,
        frames: &mut Vec<JfrFrame>,
    ) -> Option<bool> {
        let types = &*self.types;
        let mut is_cut = false;
        for (at, field) in types.stack()?.fields.iter().enumerate() {
            match (&*field.name, field.shape) {
                ("truncated", ValueShape::Number) if !field.is_array => {
                    is_cut |= scan.number()? != 0
                }
                _ => match self.frames.as_ref().filter(|(frames, _)| *frames == at) {
                    Some((_, plan)) => {
                        for _ in 0..scan.count()? {
                            if frames.len() >= most {
                                // What may come behind the frames says nothing more.
                                return Some(true);
                            }
                            frames.push(read_frame(plan, types, scan)?);
                        }
                    }
                    None => types.skip(scan, field.shape, field.is_array)?,
                },
            }
        }
        Some(is_cut)
    }

    /// A thread.
    pub(super) fn thread(&self, key: u64) -> Option<JfrThread<'a>> {
        let FieldValues { numbers, texts } = self.row(of::THREAD, key)?;
        Some(JfrThread {
            java_id: numbers[0],
            os_id: numbers[1],
            java_name: texts[2],
            os_name: texts[3],
            group: numbers[4],
            is_virtual: numbers[5] != 0,
        })
    }

    /// The name of a group of threads.
    pub(super) fn group(&self, key: u64) -> String {
        self.name(of::GROUP, key).unwrap_or_default()
    }

    /// The name of a kind of wait; empty for none.
    pub(super) fn kind(&self, key: u64) -> String {
        if key == 0 { String::new() } else { self.name(of::KIND, key).unwrap_or_default() }
    }

    /// The name of a state of threads.
    pub(super) fn state(&self, key: u64) -> String {
        self.name(of::STATE, key).unwrap_or_default()
    }
}

/// The place of the frames among the fields of a stack, and how one is read.
fn frames(types: &TypeTable) -> Option<(usize, FieldPlan)> {
    let fields = &types.stack()?.fields;
    fields.iter().enumerate().find_map(|(at, field)| match (&*field.name, field.shape) {
        ("frames", ValueShape::Fields(of)) if field.is_array => {
            Some((at, FieldPlan::new(types.at(of)?, &["method", "lineNumber"])))
        }
        _ => None,
    })
}

fn read_frame(plan: &FieldPlan, types: &TypeTable, scan: &mut ByteScan<'_>) -> Option<JfrFrame> {
    let mut values = FieldValues::default();
    plan.read(types, scan, &mut values)?;
    let [method, line, ..] = values.numbers;
    // Negative ones are unknown.
    let line = u32::try_from(line as u32 as i32).unwrap_or(0);
    Some(JfrFrame { method, line })
}

/// The events with constants, the first one first. Each says how far before it the one
/// before it is; where that leads nowhere, they are looked for.
fn checkpoints<'a>(chunk: &JfrChunk<'a>) -> Vec<EventRef<'a>> {
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
