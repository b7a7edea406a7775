//! Which parameters a probe can read, anywhere in the method.
//!
//! A slot that held a parameter when the method was called may hold anything else later on. Probes
//! read only slots that never do: nothing is stored to them, and no stack map gives them up (some
//! compilers end a parameter's life at its last use). What remains has the type that the
//! descriptor says, at every instruction and so in the catch-all handler, too.

use super::frames::{Change, Frames, Reads, VerificationType};
use crate::class::Method;
use crate::code::Code;
use crate::descriptor::{MethodDescriptor, Type};
use crate::instruction::Instruction;
use crate::plan::{MethodPlan, Op, Reason};
use crate::reader::Reader;

type Result<T> = core::result::Result<T, Reason>;

/// Local variables as a stack map lists them: `None` is whatever is no parameter's type.
type Locals<'a> = Vec<Option<Type<'a>>>;

/// Checks every local that the plan reads. The result are those that the catch-all handler reads.
pub(super) fn check<'a>(
    method: &Method<'_, 'a>,
    code: &Code<'_, 'a>,
    instructions: &[Instruction<'_>],
    plan: &MethodPlan,
) -> Result<Reads<'a>> {
    let at_pcs = plan.at_pcs().flatten();
    let on_return = plan.exit.iter().flat_map(|exit| &exit.on_return);
    let on_throw = plan.exit.iter().flat_map(|exit| &exit.on_throw);
    let elsewhere: Vec<&Op> = plan.entry.iter().chain(at_pcs).chain(on_return).collect();
    if elsewhere.iter().copied().chain(on_throw.clone()).all(|op| load(op).is_none()) {
        return Ok(Reads::new());
    }
    let parameters = parameters(method)?;
    let on_throw = reads(on_throw, &parameters)?;
    let mut all = reads(elsewhere.into_iter(), &parameters)?;
    all.extend_from_slice(&on_throw);
    check_stores(instructions, &all)?;
    if let Some(table) = code.sole_attribute("StackMapTable")? {
        check_frames(code, table, parameters, &all)?;
    }
    Ok(on_throw)
}

/// The locals of a method when it is called.
fn parameters<'a>(method: &Method<'_, 'a>) -> Result<Locals<'a>> {
    let descriptor = MethodDescriptor::parse(method.descriptor().as_bytes());
    let descriptor = descriptor.ok_or(method.bad_descriptor())?;
    let this = Type::Reference(method.class().name().as_bytes());
    // In a constructor `this` is another type before the superclass's constructor is called.
    let this = (!method.is_static()).then_some((!method.is_constructor()).then_some(this));
    Ok(this.into_iter().chain(descriptor.parameters.into_iter().map(Some)).collect())
}

/// The slot that an operation loads, and a type of the kind it loads.
fn load(op: &Op) -> Option<(u16, Type<'static>)> {
    match op {
        Op::Aload(slot) => Some((*slot, Type::Reference(&[]))),
        Op::Iload(slot) => Some((*slot, Type::Int)),
        Op::Lload(slot) => Some((*slot, Type::Long)),
        _ => None,
    }
}

fn reads<'o, 'a>(ops: impl Iterator<Item = &'o Op>, locals: &Locals<'a>) -> Result<Reads<'a>> {
    let mut reads = Reads::new();
    for (slot, wanted) in ops.filter_map(load) {
        match type_at(locals, slot) {
            Some(found) if core::mem::discriminant(&found) == core::mem::discriminant(&wanted) => {
                reads.push((slot, found));
            }
            _ => return Err(Reason::LocalNotReadable { slot }),
        }
    }
    reads.sort_by_key(|(slot, _)| *slot);
    reads.dedup();
    Ok(reads)
}

/// The type of the local that starts at `slot`.
fn type_at<'a>(locals: &Locals<'a>, slot: u16) -> Option<Type<'a>> {
    let mut start = 0;
    for &local in locals {
        if start >= u32::from(slot) {
            return local.filter(|_| start == u32::from(slot));
        }
        start += u32::from(local.map_or(1, Type::slots));
    }
    None
}

fn check_stores(instructions: &[Instruction<'_>], reads: &Reads<'_>) -> Result<()> {
    for instruction in instructions {
        let Some((first, count)) = instruction.written_locals()? else { continue };
        let overlaps = |&&(slot, read): &&(u16, Type<'_>)| {
            let (first, slot) = (u32::from(first), u32::from(slot));
            first < slot + u32::from(read.slots()) && slot < first + u32::from(count)
        };
        if let Some(&(slot, _)) = reads.iter().find(overlaps) {
            return Err(Reason::LocalNotReadable { slot });
        }
    }
    Ok(())
}

fn check_frames<'a>(
    code: &Code<'_, 'a>,
    table: Reader<'a>,
    mut locals: Locals<'a>,
    reads: &Reads<'a>,
) -> Result<()> {
    for frame in Frames::new(table)? {
        let frame = frame?;
        let resolve = |found| resolve(code, found, frame.offset);
        match frame.change {
            Change::Same | Change::Stack(_) => continue,
            Change::Chop(count) => locals.truncate(locals.len().saturating_sub(count)),
            Change::Append(types) => {
                for found in types.iter() {
                    locals.push(resolve(found?)?);
                }
            }
            Change::Full { locals: types, .. } => {
                locals = types.iter().map(|found| resolve(found?)).collect::<Result<_>>()?;
            }
        }
        let kept = |&&(slot, read): &&(u16, Type<'_>)| type_at(&locals, slot) != Some(read);
        if let Some(&(slot, _)) = reads.iter().find(kept) {
            return Err(Reason::LocalNotReadable { slot });
        }
    }
    Ok(())
}

fn resolve<'a>(
    code: &Code<'_, 'a>,
    found: VerificationType,
    at: usize,
) -> Result<Option<Type<'a>>> {
    Ok(match found {
        VerificationType::INTEGER => Some(Type::Int),
        VerificationType::FLOAT => Some(Type::Float),
        VerificationType::LONG => Some(Type::Long),
        VerificationType::DOUBLE => Some(Type::Double),
        VerificationType::Object(class) => {
            Some(Type::Reference(code.class_name(class, at)?.as_bytes()))
        }
        VerificationType::Simple(_) | VerificationType::Uninitialized(_) => None,
    })
}
