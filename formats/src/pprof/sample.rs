//! Samples become sums of waits.

use super::{
    message::{FieldValue, MessageFields, numbers},
    tables::{FunctionEntry, Tables, fields_of},
    values::WaitValues,
};
use crate::{
    limits,
    summed::{
        SummedLog, WaitTotals, kinds,
        names::{self, FunctionName, LockName},
    },
};
use std::{borrow::Cow, collections::HashMap, io, rc::Rc};
use tyrion_wire::{WaitKind, def::id};

/// A frame of the log.
#[derive(Clone, Copy)]
struct SampleFrame {
    method: u32,
    line: u32,
    /// The function's name, a text of the profile.
    name: u64,
}

/// Reads samples.
pub(super) struct SampleReader<'t, 'a> {
    pub(super) summed: SummedLog,
    tables: &'t Tables<'a>,
    chosen: WaitValues,
    /// async-profiler and jfrconv end stacks with the class of the lock.
    is_async: bool,
    /// The frames of locations, the innermost one first.
    locations: HashMap<u64, Rc<[SampleFrame]>>,
    /// Methods, by function.
    methods: HashMap<u64, (u32, u64)>,
    /// The stack of the sample that is read.
    stack: Vec<SampleFrame>,
    /// How many frames stacks may still have, all added up.
    pub(super) frames_left: usize,
}

/// What labels say.
#[derive(Default)]
struct SampleLabels<'a> {
    thread: Option<Cow<'a, str>>,
    lock: Option<Cow<'a, str>>,
    class: Option<Cow<'a, str>>,
    kind: Option<WaitKind>,
}

impl<'a> SampleLabels<'a> {
    fn take(&mut self, label: &'a [u8], tables: &Tables<'a>) {
        let [key, value] = fields_of(label, [1, 2]);
        let text = tables.text(value);
        // Empty of a label that is a number.
        if text.is_empty() {
            return;
        }
        match &*tables.text(key) {
            "thread" | "thread_name" | "thread name" => self.thread = Some(text),
            "lock" => self.lock = Some(text),
            "lock_class" => self.class = Some(text),
            "kind" => self.kind = WaitKind::from_name(&text),
            _ => {}
        }
    }

    /// The name of a thread; jfrconv writes `[main tid=77]`.
    fn name(text: &str) -> &str {
        names::thread_frame(text, false).unwrap_or(text)
    }
}

impl<'t, 'a> SampleReader<'t, 'a> {
    /// For a profile of so many bytes.
    pub(super) fn new(
        summed: SummedLog,
        tables: &'t Tables<'a>,
        chosen: WaitValues,
        len: usize,
    ) -> Self {
        let frames_left = limits::stack_frames(len);
        let is_async = tables.comments().any(|comment| comment.contains("async-profiler"));
        let (locations, methods, stack) = Default::default();
        SampleReader { summed, tables, chosen, is_async, locations, methods, stack, frames_left }
    }

    /// Adds a sample; `false` if it is damaged.
    pub(super) fn sample(&mut self, sample: &'a [u8]) -> io::Result<bool> {
        let (mut values, mut ids) = (Vec::new(), Vec::new());
        let mut labels = SampleLabels::default();
        let mut fields = MessageFields::new(sample);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (1, value) => numbers(value, |id| ids.push(id)),
                (2, value) => numbers(value, |value| values.push(value as i64)),
                (3, FieldValue::Bytes(label)) => labels.take(label, self.tables),
                _ => {}
            }
        }
        let waits = self.chosen.waits(&values).filter(|_| fields.torn_at.is_none());
        let Some(waits) = waits else { return Ok(false) };
        if waits.count != 0 {
            let is_cut = self.take_stack(&ids)?;
            self.add(&labels, waits, is_cut)?;
        }
        Ok(true)
    }

    /// Takes up the frames of locations, the innermost first: whether there are too many.
    fn take_stack(&mut self, ids: &[u64]) -> io::Result<bool> {
        // There is room for the frame that says so.
        let most = (limits::MAX_DEPTH as usize - 2).min(self.frames_left);
        self.stack.clear();
        for &id in ids {
            let frames = self.location(id)?;
            let room = most - self.stack.len();
            self.stack.extend(frames.iter().take(room));
            if frames.len() > room {
                self.frames_left -= most;
                return Ok(true);
            }
        }
        self.frames_left -= self.stack.len();
        Ok(false)
    }

    fn location(&mut self, id: u64) -> io::Result<Rc<[SampleFrame]>> {
        if let Some(known) = self.locations.get(&id) {
            return Ok(known.clone());
        }
        let (lines, address) = self.tables.location(id);
        let mut frames = Vec::with_capacity(lines.len().max(1));
        for (function, line) in &lines {
            let (method, name) = self.method(*function)?;
            frames.push(SampleFrame { method, line: u32::try_from(*line).unwrap_or(0), name });
        }
        if frames.is_empty() {
            frames.push(SampleFrame { method: self.nameless(address)?, line: 0, name: 0 });
        }
        let frames: Rc<[SampleFrame]> = frames.into();
        self.locations.insert(id, frames.clone());
        Ok(frames)
    }

    /// The method of a location without functions.
    fn nameless(&mut self, address: u64) -> io::Result<u32> {
        if address == 0 {
            return Ok(id::UNKNOWN);
        }
        let log = &mut self.summed.importer.log;
        let class = log.class("", "")?;
        log.method(class, &format!("{address:#x}"), "", 0)
    }

    /// The method of a function, and the function's name.
    fn method(&mut self, id: u64) -> io::Result<(u32, u64)> {
        if let Some(&known) = self.methods.get(&id) {
            return Ok(known);
        }
        let known = match self.tables.function(id) {
            Some(function) => self.define(function)?,
            None => (id::UNKNOWN, 0),
        };
        self.methods.insert(id, known);
        Ok(known)
    }

    fn define(&mut self, function: FunctionEntry) -> io::Result<(u32, u64)> {
        let (shown, system) =
            (self.tables.text(function.name), self.tables.text(function.system_name));
        let is_shown = !shown.is_empty();
        let (text, number) =
            if is_shown { (&shown, function.name) } else { (&system, function.system_name) };
        if text.is_empty() {
            return Ok((id::UNKNOWN, 0));
        }
        let file = self.tables.text(function.file);
        let is_go = file.ends_with(".go") || file.ends_with(".s");
        let name = match is_go {
            true => FunctionName::plain(text),
            false => FunctionName::of(text),
        };
        // The name for machines may say more.
        let other = FunctionName::of(&system);
        let is_same = other.method == name.method && other.class == name.class;
        let descriptor = if is_same { other.descriptor } else { name.descriptor };
        let log = &mut self.summed.importer.log;
        let class = log.class(&name.class, source(&name.class, &file))?;
        let first_line = u32::try_from(function.start_line).unwrap_or(0);
        let method = log.method(class, name.method, descriptor, first_line)?;
        Ok((method, number))
    }

    fn add(
        &mut self,
        labels: &SampleLabels<'a>,
        waits: WaitTotals,
        is_cut: bool,
    ) -> io::Result<()> {
        let (lock, kind) = self.take_lock(labels);
        let thread = self.summed.thread(labels.thread.as_deref().map(SampleLabels::name))?;
        let lock = self.summed.lock(&lock)?;
        let mut stack = if is_cut { id::CUT_STACK } else { id::EMPTY_STACK };
        for frame in self.stack.iter().rev() {
            stack = self.summed.importer.log.stack(stack, frame.method, frame.line)?;
        }
        let site = self.summed.site(kind, stack, lock)?;
        self.summed.add(thread, site, waits)
    }

    /// What a sample's waits were for, as its labels or its innermost frame say, which
    /// is taken from the stack if it stands for the lock.
    fn take_lock(&mut self, labels: &SampleLabels<'a>) -> (LockName, WaitKind) {
        let told = match (&labels.lock, &labels.class) {
            (Some(lock), Some(class)) => Some(LockName::with_class(lock, class)),
            (Some(lock), None) => Some(LockName::of(lock)),
            (None, Some(class)) => Some(LockName::of_class(class)),
            (None, None) => None,
        };
        let tables = self.tables;
        let name = |frame: &SampleFrame| tables.text(frame.name);
        let leaf = self.stack.first().map(name).unwrap_or_default();
        let own = names::lock_frame(&leaf);
        let class = names::class_frame(&leaf).filter(|_| self.is_async && own.is_none());
        if own.is_some() || class.is_some() {
            self.stack.remove(0);
        }
        let (own_kind, own_lock) =
            own.map_or((None, None), |(kind, lock)| (Some(kind), Some(lock)));
        let of_class = class.map(|class| {
            let names: Vec<Cow<'_, str>> = self.stack.iter().take(64).map(name).collect();
            kinds::of_class(class, names.iter().map(|name| &**name))
        });
        let of_functions = || {
            let names: Vec<Cow<'_, str>> = self.stack.iter().take(64).map(name).collect();
            let of_go = kinds::of_go(names.iter().map(|name| &**name));
            of_go.or_else(|| kinds::of_java(names.iter().map(|name| &**name)))
        };
        let kind = labels.kind.or(own_kind).or(of_class).or_else(of_functions);
        let lock = told.or(own_lock).or_else(|| class.map(LockName::of_class));
        // What is not known to be contention is none.
        let other = if self.chosen.is_of_locks { WaitKind::Lock } else { WaitKind::Park };
        (lock.unwrap_or_default(), kind.unwrap_or(other))
    }
}

/// The source file of a class: in class files it has no folder if the class has one.
fn source<'f>(class: &str, file: &'f str) -> &'f str {
    match class.contains('/') {
        true => file.rsplit('/').next().unwrap_or(file),
        false => file,
    }
}
