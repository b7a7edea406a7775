//! Rewriting one method.

use core::ops::Range;

use super::frames::{HandlerFrame, NewFrame, NewFrames, Reads};
use super::layout::{Layout, Shifts};
use super::parameters;
use super::probes::Probes;
use super::tables;
use super::{body, handlers, put_sized, put_u2};
use crate::class::Method;
use crate::code::code_print;
use crate::instruction::Instruction;
use crate::plan::{MethodPlan, Reason};
use crate::pool_writer::PoolWriter;
use crate::{ClassError, Pc};

type Result<T> = core::result::Result<T, Reason>;

/// The first class file version with `StackMapTable`; older code is verified by inference.
const STACK_MAPS: u16 = 50;

/// A new `Code` attribute, from its length on.
pub(super) struct CodePatch {
    /// What it replaces in the class file.
    pub(super) replaces: Range<usize>,
    pub(super) contents: Vec<u8>,
    /// What tells the code from other code.
    pub(super) print: u64,
    /// How far the instructions moved.
    pub(super) shifts: Shifts,
}

/// Makes the new `Code` attribute of a method.
pub(super) fn rewrite<'a>(
    method: &Method<'_, 'a>,
    plan: &MethodPlan,
    pool: &mut PoolWriter<'_>,
) -> Result<CodePatch> {
    /// `attribute_length`, right in front of the contents.
    const LENGTH: usize = 4;
    let (Some(old), Some(code)) = (method.code_contents(), method.code()?) else {
        return Err(Reason::NoCode);
    };
    if method.is_constructor() && plan.exit.is_some() {
        return Err(Reason::Constructor);
    }
    let instructions = code.instructions().collect::<core::result::Result<Vec<_>, ClassError>>()?;
    check_flow(&instructions)?;
    if is_empty_finalizer(method, &instructions) {
        return Err(Reason::EmptyFinalizer);
    }
    // A class that the JVM did not verify, as those of the boot loader, has lost its maps when it
    // comes back from the JVM to be changed; it is not verified then, either.
    let has_stack_maps = method.class().major_version() >= STACK_MAPS
        && code.attributes().iter().any(|attribute| attribute.name == "StackMapTable");
    handlers::check(&code, &instructions, plan, has_stack_maps)?;
    handlers::check_protected(method, &code, &instructions, plan, has_stack_maps)?;
    let reads = parameters::check(method, &code, &instructions, plan)?;
    let probes = Probes::encode(method, &code, plan, pool)?;
    check_places(&instructions, &probes)?;
    let layout = Layout::new(&code, &instructions, &probes)?;
    let new_frames = NewFrames {
        throwable: (has_stack_maps && !layout.handler_probes.is_empty())
            .then(|| pool.class("java/lang/Throwable"))
            .transpose()?,
        catch_all: catch_all_frame(method, &layout, &reads, pool)?,
    };

    let mut print = 0;
    let mut contents = Vec::with_capacity(old.rest().len() * 2);
    put_sized(&mut contents, |out| {
        put_u2(out, probes.max_stack);
        put_u2(out, code.max_locals());
        put_sized(out, |out| {
            let start = out.len();
            body::write(out, &instructions, &probes, &layout)?;
            print = code_print(out.get(start..).unwrap_or_default());
            Ok::<_, Reason>(())
        })?;
        tables::write_handlers(out, &code, &layout)?;
        tables::write_attributes(out, &code, &layout, &new_frames)
    })?;
    let replaces = old.offset() - LENGTH..old.offset() + old.rest().len();
    Ok(CodePatch { replaces, contents, print, shifts: layout.shifts() })
}

/// Checks what the rest relies on about how control flows.
fn check_flow(instructions: &[Instruction<'_>]) -> Result<()> {
    if instructions.iter().any(Instruction::is_subroutine) {
        return Err(Reason::Subroutines);
    }
    // The JVM rejects such a method; ours, with a handler behind its end, it might not.
    match instructions.last() {
        Some(last) if last.falls_through() => {
            Err(Reason::Malformed(ClassError::FallsOffEnd { offset: last.offset() }))
        }
        _ => Ok(()),
    }
}

fn is_empty_finalizer(method: &Method<'_, '_>, instructions: &[Instruction<'_>]) -> bool {
    method.name() == "finalize"
        && method.descriptor() == "()V"
        && matches!(instructions, [only] if only.is_return())
}

/// Checks that probes are wanted only where there can be some.
fn check_places(instructions: &[Instruction<'_>], probes: &Probes) -> Result<()> {
    let find = |pc: Pc| {
        let index = instructions.binary_search_by_key(&pc, Instruction::pc);
        let found = index.ok().and_then(|index| instructions.get(index));
        found.ok_or(Reason::NoSuchInstruction { pc })
    };
    let (mut before, mut after) = probes.places();
    before.try_for_each(|pc| find(pc).map(drop))?;
    after.try_for_each(|pc| {
        if find(pc)?.falls_through() { Ok(()) } else { Err(Reason::NoFallThrough { pc }) }
    })
}

/// The stack map of the catch-all handler, if there is a handler and it needs one.
fn catch_all_frame(
    method: &Method<'_, '_>,
    layout: &Layout,
    reads: &Reads<'_>,
    pool: &mut PoolWriter<'_>,
) -> Result<Option<NewFrame>> {
    if layout.guarded.is_empty() || method.class().major_version() < STACK_MAPS {
        return Ok(None);
    }
    let frame = HandlerFrame::new(reads, pool)?;
    Ok(Some(NewFrame { frame, attribute_name: pool.utf8("StackMapTable")? }))
}
