//! Where everything goes.

use super::probes::Probes;
use super::put_u2;
use crate::ClassError;
use crate::code::Code;
use crate::instruction::{Instruction, padding};
use crate::opcode;
use crate::plan::{Pc, Reason};
use crate::reader::Reader;

/// The length of the instruction that ends the catch-all handler.
const ATHROW_LENGTH: usize = 1;
/// The lengths of the `goto` behind a handler's probe, and of the `nop` behind that.
const GOTO_LENGTH: usize = 3;
const NOP_LENGTH: usize = 1;

/// A place in the new code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NewPc(pub(super) u16);

/// The three places that the pc of an instruction turns into; the crate's documentation has a
/// picture of them.
#[derive(Clone, Copy, Debug)]
struct Places {
    /// Right behind the previous instruction: where ranges start and end.
    range: NewPc,
    /// In front of the probes before the instruction: where jumps lead.
    label: NewPc,
    /// The instruction itself.
    instruction: NewPc,
}

/// Where the probe of a handler is.
///
/// ```text
/// start:  probe                  caught, it starts over at `caught`
/// end:    goto joined
/// caught: nop
/// joined: the handler itself
/// ```
///
/// `caught` has a `nop` of its own, because C1 does not compile a method in which a handler can
/// also be reached without an exception.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandlerProbe {
    /// The handler's pc in the old code.
    pub(super) pc: Pc,
    pub(super) start: NewPc,
    pub(super) end: NewPc,
    pub(super) caught: NewPc,
    pub(super) joined: NewPc,
}

/// The map from the old code to the new.
pub(super) struct Layout {
    /// By old pc; `None` where no instruction starts.
    places: Vec<Option<Places>>,
    old_end: Pc,
    /// The end of the last instruction, which is where the catch-all handler starts.
    pub(super) end: NewPc,
    /// What the catch-all handler covers.
    pub(super) guarded: Vec<(NewPc, NewPc)>,
    /// The probes of handlers, in the order of their places.
    pub(super) handler_probes: Vec<HandlerProbe>,
    /// Where the protected probes are, and the pc of the handler in the old code.
    pub(super) protected: Vec<(NewPc, NewPc, Pc)>,
}

impl Layout {
    pub(super) fn new(
        code: &Code<'_, '_>,
        instructions: &[Instruction<'_>],
        probes: &Probes,
    ) -> Result<Self, Reason> {
        let mut places = vec![None; code.bytes().len()];
        let mut guarded = Vec::new();
        let (mut handler_probes, mut protected) = (Vec::new(), Vec::new());
        let mut guard_start = place(probes.entry.len())?;
        // The end of the previous instruction, and of what follows it.
        let (mut end, mut here) = (probes.entry.len(), probes.entry.len());
        for instruction in instructions {
            let pc = instruction.pc();
            let range = place(end)?;
            let label = place(here)?;
            if let Some(probe) = probes.in_handler(pc) {
                let end = here + probe.len();
                let caught = end + GOTO_LENGTH;
                here = caught + NOP_LENGTH;
                handler_probes.push(HandlerProbe {
                    pc,
                    start: label,
                    end: place(end)?,
                    caught: place(caught)?,
                    joined: place(here)?,
                });
            }
            for (handler, probe) in probes.protected(pc) {
                let start = place(here)?;
                here += probe.len();
                protected.push((start, place(here)?, handler));
            }
            here += total(probes.before(pc));
            if instruction.is_return() && !probes.on_return.is_empty() {
                guarded.push((guard_start, place(here)?));
                here += probes.on_return.len();
            }
            let start = place(here)?;
            if let Some(slot) = places.get_mut(usize::from(pc.0)) {
                *slot = Some(Places { range, label, instruction: start });
            }
            end = here + new_length(instruction, start);
            here = end + total(probes.after(pc));
            if instruction.is_return() && !probes.on_return.is_empty() {
                guard_start = place(end)?;
            }
        }
        let end = place(here)?;
        guarded.push((guard_start, end));
        guarded.retain(|(start, end)| start < end);
        if probes.on_throw.is_empty() {
            guarded.clear();
        }
        if !guarded.is_empty() {
            let handler_end = here + probes.on_throw.len() + ATHROW_LENGTH;
            place(handler_end)?;
        }
        Ok(Self { places, old_end: code.end(), end, guarded, handler_probes, protected })
    }

    /// How far the instructions moved.
    pub(super) fn shifts(&self) -> Shifts {
        let mut shifts: Vec<(u16, u16)> = Vec::new();
        for (places, pc) in self.places.iter().zip(0u16..) {
            let Some(Places { instruction: NewPc(new), .. }) = *places else { continue };
            let by = new.saturating_sub(pc);
            if shifts.last().is_none_or(|&(_, last)| last != by) {
                shifts.push((new, by));
            }
        }
        Shifts(shifts)
    }

    fn at(&self, pc: i64, offset: usize) -> Result<Places, ClassError> {
        let index = usize::try_from(pc).ok();
        let places = index.and_then(|index| self.places.get(index).copied().flatten());
        places.ok_or(ClassError::BadPc { offset, pc })
    }

    /// The probe of the handler that starts at `pc` of the old code.
    pub(super) fn handler_probe(&self, pc: Pc) -> Option<&HandlerProbe> {
        let index = self.handler_probes.binary_search_by_key(&pc, |probe| probe.pc).ok()?;
        self.handler_probes.get(index)
    }

    /// Where to jump in order to get to the instruction at `pc`. `offset` says who asks.
    pub(super) fn label(&self, pc: i64, offset: usize) -> Result<NewPc, ClassError> {
        Ok(self.at(pc, offset)?.label)
    }

    /// The instruction at `pc` itself.
    pub(super) fn instruction(&self, pc: Pc, offset: usize) -> Result<NewPc, ClassError> {
        Ok(self.at(i64::from(pc.0), offset)?.instruction)
    }

    /// Where a range starts whose first instruction is the one at `pc`.
    pub(super) fn range_start(&self, pc: Pc, offset: usize) -> Result<NewPc, ClassError> {
        Ok(self.at(i64::from(pc.0), offset)?.range)
    }

    /// Where a range ends whose last instruction is the one in front of `pc`.
    pub(super) fn range_end(&self, pc: Pc, offset: usize) -> Result<NewPc, ClassError> {
        if pc == self.old_end { Ok(self.end) } else { self.range_start(pc, offset) }
    }

    /// Where something starts to hold that holds from the instruction at `pc` on, or from the
    /// start of the method and so for the entry probe, too.
    pub(super) fn scope_start(&self, pc: Pc, offset: usize) -> Result<NewPc, ClassError> {
        if pc == Pc(0) { Ok(NewPc(0)) } else { self.range_start(pc, offset) }
    }
}

/// How far the instructions of a method moved when it got its probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shifts(
    /// From which place in the new code on, and by how many bytes; ascending.
    Vec<(u16, u16)>,
);

impl Shifts {
    /// Where the instruction at `pc` of the new code was in the old one; `None` in front of
    /// all of them, and of no meaning within a probe.
    pub fn before(&self, pc: u16) -> Option<u16> {
        let after = self.0.partition_point(|&(from, _)| from <= pc);
        let (_, by) = self.0.get(after.checked_sub(1)?)?;
        pc.checked_sub(*by)
    }
}

/// Relocates the start and length of a variable's life.
pub(super) fn scope(
    contents: &mut Reader<'_>,
    out: &mut Vec<u8>,
    layout: &Layout,
) -> Result<(), ClassError> {
    let offset = contents.offset();
    let (start, length) = (contents.u2()?, contents.u2()?);
    let bad_pc = ClassError::BadPc { offset, pc: i64::from(start) + i64::from(length) };
    let end = layout.range_end(Pc(start.checked_add(length).ok_or(bad_pc)?), offset)?;
    let start = layout.scope_start(Pc(start), offset)?;
    put_u2(out, start.0);
    put_u2(out, end.0.saturating_sub(start.0));
    Ok(())
}

fn place(here: usize) -> Result<NewPc, Reason> {
    u16::try_from(here).map(NewPc).map_err(|_| Reason::CodeTooLong)
}

fn total<'p>(probes: impl Iterator<Item = &'p [u8]>) -> usize {
    probes.map(<[u8]>::len).sum()
}

/// The length of an instruction at its new place: the padding of switches depends on it.
fn new_length(instruction: &Instruction<'_>, start: NewPc) -> usize {
    let length = instruction.bytes().len();
    match instruction.opcode() {
        opcode::TABLESWITCH | opcode::LOOKUPSWITCH => {
            length - padding(instruction.pc().0) + padding(start.0)
        }
        _ => length,
    }
}
