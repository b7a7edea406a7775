//! Writing the instructions.

use super::layout::{Layout, NewPc};
use super::probes::Probes;
use crate::instruction::{Instruction, Operands, Switch, padding};
use crate::opcode;
use crate::plan::Reason;

type Result<T> = core::result::Result<T, Reason>;

/// A jump over one byte, and the `nop` in it: what [`super::layout::HandlerProbe`] wants.
const OVER_THE_NOP: [u8; 4] = [opcode::GOTO, 0, 4, opcode::NOP];

/// Appends the instructions, the probes among them and the catch-all handler behind them.
pub(super) fn write(
    out: &mut Vec<u8>,
    instructions: &[Instruction<'_>],
    probes: &Probes,
    layout: &Layout,
) -> Result<()> {
    out.extend_from_slice(&probes.entry);
    for instruction in instructions {
        let pc = instruction.pc();
        if let Some(probe) = probes.in_handler(pc) {
            out.extend_from_slice(probe);
            out.extend(OVER_THE_NOP);
        }
        probes.protected(pc).for_each(|(_, probe)| out.extend_from_slice(probe));
        probes.before(pc).for_each(|probe| out.extend_from_slice(probe));
        if instruction.is_return() {
            out.extend_from_slice(&probes.on_return);
        }
        write_instruction(out, instruction, layout)?;
        probes.after(pc).for_each(|probe| out.extend_from_slice(probe));
    }
    if !layout.guarded.is_empty() {
        out.extend_from_slice(&probes.on_throw);
        out.push(opcode::ATHROW);
    }
    Ok(())
}

fn write_instruction(
    out: &mut Vec<u8>,
    instruction: &Instruction<'_>,
    layout: &Layout,
) -> Result<()> {
    let offset = instruction.offset();
    let from = layout.instruction(instruction.pc(), offset)?;
    let distance = |target| -> Result<i32> { Ok(span(from, layout.label(target, offset)?)) };
    match instruction.operands()? {
        Operands::Fixed => out.extend_from_slice(instruction.bytes()),
        Operands::Near(target) => {
            let too_far = |_| Reason::BranchTooFar { pc: instruction.pc() };
            let distance = i16::try_from(distance(target)?).map_err(too_far)?;
            out.push(instruction.opcode());
            out.extend(distance.to_be_bytes());
        }
        Operands::Far(target) => {
            out.push(instruction.opcode());
            out.extend(distance(target)?.to_be_bytes());
        }
        Operands::Switch(switch) => {
            out.push(instruction.opcode());
            write_switch(out, &switch, from, distance)?;
        }
    }
    Ok(())
}

fn write_switch(
    out: &mut Vec<u8>,
    switch: &Switch<'_>,
    from: NewPc,
    distance: impl Fn(i64) -> Result<i32>,
) -> Result<()> {
    out.extend(core::iter::repeat_n(0, padding(from.0)));
    out.extend(distance(switch.default)?.to_be_bytes());
    out.extend_from_slice(switch.header);
    for (key, target) in switch.cases() {
        out.extend_from_slice(key);
        out.extend(distance(target)?.to_be_bytes());
    }
    Ok(())
}

fn span(from: NewPc, to: NewPc) -> i32 {
    i32::from(to.0) - i32::from(from.0)
}
