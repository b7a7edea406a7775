//! Which handlers can have a probe of their own, and what it can read there.

use std::collections::HashMap;

use super::frames::{Change, Frames, VerificationType};
use super::locals::{self, Locals};
use crate::class::Method;
use crate::code::Code;
use crate::instruction::{Instruction, Operands};
use crate::plan::{MethodPlan, Op, Protected, Reason};
use crate::{Pc, opcode};

type Result<T> = core::result::Result<T, Reason>;

const THROWABLE: &str = "java/lang/Throwable";

/// Checks the plan's probes in handlers, and that nothing else uses what only they can.
pub(super) fn check(
    code: &Code<'_, '_>,
    instructions: &[Instruction<'_>],
    plan: &MethodPlan,
    has_stack_maps: bool,
) -> Result<()> {
    if let Some(&slot) = plan.outside_handlers().flatten().find_map(any_local) {
        return Err(Reason::LocalNotReadable { slot });
    }
    for (pc, ops) in &plan.in_handler {
        check_handler(code, *pc, has_stack_maps)?;
        let unread = |&&slot: &&u16| !is_about_to_load(instructions, *pc, slot);
        if let Some(&slot) = ops.iter().filter_map(any_local).find(unread) {
            return Err(Reason::LocalNotReadable { slot });
        }
    }
    Ok(())
}

/// Checks that the handlers of protected probes find their locals as they expect them. A probe
/// writes none, so what has to fit is what the locals are before the instruction.
pub(super) fn check_protected(
    method: &Method<'_, '_>,
    code: &Code<'_, '_>,
    instructions: &[Instruction<'_>],
    plan: &MethodPlan,
    has_stack_maps: bool,
) -> Result<()> {
    if plan.protected.is_empty() {
        return Ok(());
    }
    let frames = if has_stack_maps { locals::at_frames(method, code)? } else { HashMap::new() };
    for (pc, Protected { handler, .. }) in &plan.protected {
        check_handler(code, *handler, has_stack_maps)?;
        let fits = match (frames.get(handler), has_stack_maps) {
            (Some(expected), true) => {
                let covered = |at: Pc| {
                    let mut entries = code.exception_table();
                    entries.any(|entry| {
                        entry.handler == *handler && (entry.start..entry.end).contains(&at)
                    })
                };
                locals_fit(instructions, *pc, &frames, expected, covered)
            }
            (_, false) => only_releases(instructions, *pc, *handler),
            (None, true) => false,
        };
        if !fits {
            return Err(Reason::HandlerDoesNotFit { pc: *pc });
        }
    }
    Ok(())
}

/// Whether the locals before the instruction at `pc` are what a handler expects. That is so where
/// the handler covers the code; from there or from a stack map it is followed along a straight
/// line to `pc`.
fn locals_fit(
    instructions: &[Instruction<'_>],
    pc: Pc,
    frames: &HashMap<Pc, Locals<'_>>,
    expected: &Locals<'_>,
    covered: impl Fn(Pc) -> bool,
) -> bool {
    let line = instructions.partition_point(|instruction| instruction.pc() <= pc);
    let mut line = instructions.iter().take(line).rev().peekable();
    while let Some(instruction) = line.next() {
        if covered(instruction.pc()) {
            return true;
        }
        if let Some(found) = frames.get(&instruction.pc()) {
            return found.fits(expected);
        }
        let Some(previous) = line.peek() else { return false };
        let overwrites = match previous.written_locals() {
            Ok(written) => written.is_some_and(|(first, count)| expected.has_any(first, count)),
            Err(_) => true,
        };
        if overwrites || !previous.falls_through() {
            return false;
        }
    }
    false
}

/// Without stack maps, the verifier finds out itself what the locals of a handler are; one more
/// way to get there may leave less. A handler that only releases a monitor and throws on needs no
/// more than what the instructions at `pc` need: `aload n`, `monitorexit`.
fn only_releases(instructions: &[Instruction<'_>], pc: Pc, handler: Pc) -> bool {
    let at = |pc: Pc| instructions.partition_point(|instruction| instruction.pc() < pc);
    let load = at(pc).checked_sub(1).and_then(|index| instructions.get(index));
    let Some(lock) = load.and_then(Instruction::loaded_reference) else { return false };
    let mut caught = None;
    for instruction in instructions.iter().skip(at(handler)) {
        if let Some(slot) = instruction.stored_reference() {
            if slot == lock {
                return false;
            }
            caught = Some(slot);
        } else if let Some(slot) = instruction.loaded_reference() {
            if slot != lock && Some(slot) != caught {
                return false;
            }
        } else if instruction.opcode() != opcode::MONITOREXIT {
            return instruction.opcode() == opcode::ATHROW;
        }
    }
    false
}

fn any_local(op: &Op) -> Option<&u16> {
    match op {
        Op::AloadLocal(slot) => Some(slot),
        _ => None,
    }
}

/// Checks that a handler starts at `pc` and catches everything. A probe may throw anything, and the
/// handler has to make do with it.
fn check_handler(code: &Code<'_, '_>, pc: Pc, has_stack_maps: bool) -> Result<()> {
    let mut entries = code.exception_table().filter(|entry| entry.handler == pc).peekable();
    if entries.peek().is_none() || entries.any(|entry| entry.catch_type != 0) {
        return Err(Reason::NotAHandler { pc });
    }
    if !has_stack_maps {
        return Ok(());
    }
    let Some(table) = code.sole_attribute("StackMapTable")? else {
        return Err(Reason::NotAHandler { pc });
    };
    for frame in Frames::new(table)? {
        let frame = frame?;
        if frame.pc != pc {
            continue;
        }
        let stack = match frame.change {
            Change::Stack(types) | Change::Full { stack: types, .. } => types,
            _ => return Err(Reason::NotAHandler { pc }),
        };
        let stack: Vec<VerificationType> = stack.iter().collect::<core::result::Result<_, _>>()?;
        return match stack[..] {
            [VerificationType::Object(class)]
                if code.class_name(class, frame.offset)? == THROWABLE =>
            {
                Ok(())
            }
            _ => Err(Reason::NotAHandler { pc }),
        };
    }
    Err(Reason::NotAHandler { pc })
}

/// Whether the code from `pc` on gets to an `aload` of `slot` before it does anything else with
/// that slot, and before it can go anywhere else: then the slot holds a reference at `pc`, too.
fn is_about_to_load(instructions: &[Instruction<'_>], pc: Pc, slot: u16) -> bool {
    let start = instructions.partition_point(|instruction| instruction.pc() < pc);
    for instruction in instructions.iter().skip(start) {
        if instruction.loaded_reference() == Some(slot) {
            return true;
        }
        let written = match instruction.written_locals() {
            Ok(written) => written,
            Err(_) => return false,
        };
        let overwritten = written
            .is_some_and(|(first, count)| (first..first.saturating_add(count)).contains(&slot));
        let stays = matches!(instruction.operands(), Ok(Operands::Fixed));
        if overwritten || !stays || !instruction.falls_through() {
            return false;
        }
    }
    false
}
