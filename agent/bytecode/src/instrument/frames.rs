//! `StackMapTable`.
//!
//! Every frame tells its place as a distance from the one before, so that all of them change when
//! code is inserted. The kinds of frames stay as they are, except that a distance that no longer
//! fits a one-byte tag takes the extended form of that tag.

use super::layout::{HandlerProbe, Layout, NewPc};
use super::put_u2;
use crate::ClassError;
use crate::descriptor::Type;
use crate::plan::{Pc, Reason};
use crate::pool_writer::PoolWriter;
use crate::reader::Reader;

type Result<T> = core::result::Result<T, ClassError>;

/// Slots that probes read, with their types; in order, each once.
pub(super) type Reads<'a> = Vec<(u16, Type<'a>)>;

/// The largest distance that a one-byte tag holds.
const SHORT: u8 = 63;
const STACK: u8 = 64;
const STACK_EXTENDED: u8 = 247;
const SAME_EXTENDED: u8 = 251;
const FULL: u8 = 255;

/// A stack map frame.
pub(super) struct Frame<'a> {
    pub(super) pc: Pc,
    /// Offset of the frame from the start of the class file.
    pub(super) offset: usize,
    tag: u8,
    pub(super) change: Change<'a>,
}

/// How a frame differs from the one before.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    /// The same locals, an empty stack.
    Same,
    /// The same locals, one value on the stack.
    Stack(Types<'a>),
    /// This many locals fewer, an empty stack.
    Chop(usize),
    /// More locals, an empty stack.
    Append(Types<'a>),
    /// Nothing in common.
    Full { locals: Types<'a>, stack: Types<'a> },
}

/// A list of verification types.
#[derive(Clone, Copy)]
pub(super) struct Types<'a> {
    count: u16,
    list: Reader<'a>,
}

/// The type of a local or of a value on the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum VerificationType {
    /// One that its tag says all about.
    Simple(u8),
    /// Of the class at this index of the constant pool.
    Object(u16),
    /// What the `new` instruction at this place made, before its constructor is called.
    Uninitialized(Pc),
}

impl VerificationType {
    pub(super) const TOP: Self = Self::Simple(0);
    pub(super) const INTEGER: Self = Self::Simple(1);
    pub(super) const FLOAT: Self = Self::Simple(2);
    pub(super) const DOUBLE: Self = Self::Simple(3);
    pub(super) const LONG: Self = Self::Simple(4);

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let offset = reader.offset();
        Ok(match reader.u1()? {
            tag @ 0..=6 => Self::Simple(tag),
            7 => Self::Object(reader.u2()?),
            8 => Self::Uninitialized(Pc(reader.u2()?)),
            tag => return Err(ClassError::BadFrame { offset, tag }),
        })
    }

    /// Appends the type; a place it names must be one of the new code.
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Simple(tag) => out.push(tag),
            Self::Object(class) => {
                out.push(7);
                put_u2(out, class);
            }
            Self::Uninitialized(pc) => {
                out.push(8);
                put_u2(out, pc.0);
            }
        }
    }
}

impl<'a> Types<'a> {
    fn read(reader: &mut Reader<'a>, count: u16) -> Result<Self> {
        let list = *reader;
        for _ in 0..count {
            VerificationType::read(reader)?;
        }
        Ok(Self { count, list })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Result<VerificationType>> + use<'a> {
        let mut list = self.list;
        (0..self.count).map(move |_| VerificationType::read(&mut list))
    }

    fn relocate(&self, out: &mut Vec<u8>, layout: &Layout) -> Result<()> {
        for found in self.iter() {
            match found? {
                VerificationType::Uninitialized(pc) => {
                    let NewPc(pc) = layout.instruction(pc, self.list.offset())?;
                    VerificationType::Uninitialized(Pc(pc)).write(out);
                }
                other => other.write(out),
            }
        }
        Ok(())
    }
}

/// Reads the frames of a `StackMapTable`. Ends after the first error.
pub(super) struct Frames<'a> {
    reader: Reader<'a>,
    left: u16,
    previous: Option<Pc>,
}

impl<'a> Frames<'a> {
    /// Reads the contents of the attribute.
    pub(super) fn new(mut reader: Reader<'a>) -> Result<Self> {
        let left = reader.u2()?;
        Ok(Self { reader, left, previous: None })
    }

    fn frame(&mut self) -> Result<Frame<'a>> {
        let reader = &mut self.reader;
        let offset = reader.offset();
        let tag = reader.u1()?;
        let distance = match tag {
            0..=127 => u16::from(tag % STACK),
            STACK_EXTENDED.. => reader.u2()?,
            _ => return Err(ClassError::BadFrame { offset, tag }),
        };
        let change = match tag {
            0..=63 | SAME_EXTENDED => Change::Same,
            64..=127 | STACK_EXTENDED => Change::Stack(Types::read(reader, 1)?),
            248..=250 => Change::Chop(usize::from(SAME_EXTENDED - tag)),
            252..=254 => Change::Append(Types::read(reader, u16::from(tag - SAME_EXTENDED))?),
            _ => {
                let count = reader.u2()?;
                let locals = Types::read(reader, count)?;
                let count = reader.u2()?;
                Change::Full { locals, stack: Types::read(reader, count)? }
            }
        };
        // Frames are at different places, so all distances but the first count from behind the
        // previous one.
        let start = self.previous.map_or(0, |Pc(previous)| u32::from(previous) + 1);
        let pc = start + u32::from(distance);
        let bad_pc = ClassError::BadPc { offset, pc: i64::from(pc) };
        let pc = Pc(u16::try_from(pc).map_err(|_| bad_pc)?);
        self.previous = Some(pc);
        Ok(Frame { pc, offset, tag, change })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return self.reader.finish().err().map(|error| {
                self.reader = Reader::new(&[], self.reader.offset());
                Err(error)
            });
        }
        let frame = self.frame();
        self.left = if frame.is_ok() { self.left - 1 } else { 0 };
        if frame.is_err() {
            self.reader = Reader::new(&[], self.reader.offset());
        }
        Some(frame)
    }
}

/// What the catch-all handler's frame says.
pub(super) struct HandlerFrame {
    locals: Vec<VerificationType>,
    throwable: VerificationType,
}

impl HandlerFrame {
    /// The frame of a handler that reads `reads`. All other locals are given up, so that the frame
    /// fits whatever they are where the exception is thrown.
    pub(super) fn new(
        reads: &Reads<'_>,
        pool: &mut PoolWriter<'_>,
    ) -> core::result::Result<Self, Reason> {
        let mut locals = Vec::new();
        let mut slots = 0;
        for &(slot, read) in reads {
            let skipped = core::iter::repeat_n(
                VerificationType::TOP,
                usize::from(slot).saturating_sub(slots),
            );
            locals.extend(skipped);
            slots = usize::from(slot) + usize::from(read.slots());
            locals.push(match read {
                Type::Int => VerificationType::INTEGER,
                Type::Float => VerificationType::FLOAT,
                Type::Long => VerificationType::LONG,
                Type::Double => VerificationType::DOUBLE,
                Type::Reference(class) => VerificationType::Object(pool.class_bytes(class)?),
            });
        }
        let throwable = VerificationType::Object(pool.class("java/lang/Throwable")?);
        Ok(Self { locals, throwable })
    }

    fn write(&self, out: &mut Vec<u8>, distance: u16) {
        out.push(FULL);
        put_u2(out, distance);
        // A method has at most 255 parameters.
        put_u2(out, u16::try_from(self.locals.len()).unwrap_or(u16::MAX));
        self.locals.iter().for_each(|local| local.write(out));
        put_u2(out, 1);
        self.throwable.write(out);
    }
}

/// The stack maps to add.
#[derive(Default)]
pub(super) struct NewFrames {
    /// The class `Throwable` in the constant pool, for the probes of handlers, if there are any and
    /// the class has stack maps.
    pub(super) throwable: Option<u16>,
    /// The catch-all handler's.
    pub(super) catch_all: Option<NewFrame>,
}

/// The catch-all handler's stack map, and the name of the attribute it goes into.
pub(super) struct NewFrame {
    pub(super) frame: HandlerFrame,
    pub(super) attribute_name: u16,
}

/// Appends the contents of a `StackMapTable`: those of `table`, relocated, and the new ones.
pub(super) fn write(
    out: &mut Vec<u8>,
    table: Option<Reader<'_>>,
    layout: &Layout,
    new: &NewFrames,
) -> core::result::Result<(), Reason> {
    let frames = table.map(Frames::new).transpose()?;
    let in_handlers = new.throwable.map_or(0, |_| 2 * layout.handler_probes.len());
    let added = in_handlers + usize::from(new.catch_all.is_some());
    let count = usize::from(frames.as_ref().map_or(0, |frames| frames.left)) + added;
    put_u2(out, u16::try_from(count).map_err(|_| Reason::TableFull)?);
    let mut previous = None;
    for frame in frames.into_iter().flatten() {
        let frame = frame?;
        let pc = layout.label(i64::from(frame.pc.0), frame.offset)?;
        frame.write(out, distance(previous, pc), layout)?;
        previous = Some(pc);
        if let (Some(throwable), Some(probe)) = (new.throwable, layout.handler_probe(frame.pc)) {
            let HandlerProbe { caught, joined, .. } = *probe;
            write_caught(out, distance(previous, caught), throwable);
            write_caught(out, distance(Some(caught), joined), throwable);
            previous = Some(joined);
        }
    }
    if let Some(handler) = &new.catch_all {
        handler.frame.write(out, distance(previous, layout.end));
    }
    Ok(())
}

/// Appends a frame with the locals of the one before and a `Throwable` on the stack.
fn write_caught(out: &mut Vec<u8>, distance: u16, throwable: u16) {
    match u8::try_from(distance) {
        Ok(distance) if distance <= SHORT => out.push(STACK + distance),
        _ => {
            out.push(STACK_EXTENDED);
            put_u2(out, distance);
        }
    }
    VerificationType::Object(throwable).write(out);
}

/// How a frame at `pc` tells its place.
fn distance(previous: Option<NewPc>, NewPc(pc): NewPc) -> u16 {
    // Labels are in the order of their pcs, so this does not saturate.
    previous.map_or(pc, |NewPc(previous)| pc.saturating_sub(previous).saturating_sub(1))
}

impl Frame<'_> {
    fn write(&self, out: &mut Vec<u8>, distance: u16, layout: &Layout) -> Result<()> {
        // The forms with the distance in the tag; `try_from` holds as both are small.
        let short =
            u8::try_from(distance).ok().filter(|_| self.tag < 128 && distance <= u16::from(SHORT));
        match (self.change, short) {
            (Change::Same, Some(distance)) => out.push(distance),
            (Change::Stack(_), Some(distance)) => out.push(STACK + distance),
            (change, _) => {
                out.push(match change {
                    Change::Same => SAME_EXTENDED,
                    Change::Stack(_) => STACK_EXTENDED,
                    _ => self.tag,
                });
                put_u2(out, distance);
            }
        }
        match self.change {
            Change::Same | Change::Chop(_) => Ok(()),
            Change::Stack(types) | Change::Append(types) => types.relocate(out, layout),
            Change::Full { locals, stack } => {
                put_u2(out, locals.count);
                locals.relocate(out, layout)?;
                put_u2(out, stack.count);
                stack.relocate(out, layout)
            }
        }
    }
}
