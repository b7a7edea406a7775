//! A plan that probes a method wherever it can: shared by tests and by the example.

use tyrion_bytecode::{Around, ClassError, Code, Exit, Member, Method, MethodPlan, Op, opcode};

/// Also visible from `java.base`, so that the JDK's own classes can call it.
pub const PROBE_CLASS: &str = "java/lang/TyrionTestProbe";

const fn probe(name: &'static str, descriptor: &'static str) -> Member {
    Member::new(PROBE_CLASS, name, descriptor)
}

const ENTRY: Member = probe("entry", "(Ljava/lang/Class;I)V");
const ENTRY_OF_OLD: Member = probe("entry", "(I)V");
const RETURN: Member = probe("returns", "(I)V");
const RETURN_INT: Member = probe("returns", "(II)V");
const RETURN_LONG: Member = probe("returns", "(JI)V");
const RETURN_FLOAT: Member = probe("returns", "(FI)V");
const RETURN_DOUBLE: Member = probe("returns", "(DI)V");
const RETURN_REFERENCE: Member = probe("returns", "(Ljava/lang/Object;I)V");
const THROW: Member = probe("thrown", "(Ljava/lang/Throwable;J)V");
const INT: Member = probe("parameter", "(I)V");
const LONG: Member = probe("parameter", "(J)V");
const REFERENCE: Member = probe("parameter", "(Ljava/lang/Object;)V");
const ENTERING: Member = probe("entering", "(Ljava/lang/Object;J)V");
const ENTERED: Member = probe("entered", "(I)V");
const EXITING: Member = probe("exiting", "(Ljava/lang/Object;I)V");
const EXITED: Member = probe("exited", "(Ljava/lang/Object;J)V");
const CONTENDED: Member = probe("contended", "I");

/// The methods of the probe class.
pub const PROBES: &[Member] = &[
    ENTRY,
    ENTRY_OF_OLD,
    RETURN,
    RETURN_INT,
    RETURN_LONG,
    RETURN_FLOAT,
    RETURN_DOUBLE,
    RETURN_REFERENCE,
    THROW,
    INT,
    LONG,
    REFERENCE,
    ENTERING,
    ENTERED,
    EXITING,
    EXITED,
];

/// Entry, exit, and both sides of every monitor instruction. With `parameters`, the exit probes
/// read all parameters that have a probe of their type.
pub fn plan(method: &Method<'_, '_>, parameters: bool) -> Option<MethodPlan> {
    let code = method.code().ok().flatten()?;
    // Different lengths of numbers take different instructions.
    let site = i32::try_from(code.bytes().len()).unwrap_or(0) * 37 - 1;
    let has_class_constants = method.class().major_version() >= 49;
    let entry = if has_class_constants {
        vec![Op::LdcClass, Op::Iconst(site), Op::InvokeStatic(ENTRY)]
    } else {
        vec![Op::Iconst(site), Op::InvokeStatic(ENTRY_OF_OLD)]
    };
    let monitors = at_monitors(&code, site).ok()?;
    let exit = (!method.is_constructor()).then(|| exit(method, site, parameters));
    Some(MethodPlan { entry, exit, ..monitors })
}

/// A probe on both sides of every single instruction. It does nothing, but it moves everything.
pub fn dense_plan(method: &Method<'_, '_>) -> Option<MethodPlan> {
    let code = method.code().ok().flatten()?;
    let mut plan = MethodPlan { entry: vec![Op::Iconst(-2), Op::Pop], ..MethodPlan::default() };
    for instruction in code.instructions() {
        let instruction = instruction.ok()?;
        let pc = instruction.pc();
        plan.before.push((pc, vec![Op::AconstNull, Op::Pop]));
        if instruction.falls_through() {
            plan.after.push((pc, vec![Op::Lconst(i64::from(pc.0 % 3)), Op::Pop2]));
        }
    }
    Some(plan)
}

fn at_monitors(code: &Code<'_, '_>, site: i32) -> Result<MethodPlan, ClassError> {
    let MethodPlan { mut before, mut after, mut around, .. } = MethodPlan::default();
    for instruction in code.instructions() {
        let instruction = instruction?;
        let pc = instruction.pc();
        let id = Op::Lconst(i64::from(site) * i64::from(pc.0));
        match instruction.opcode() {
            opcode::MONITORENTER => {
                before.push((pc, vec![Op::Dup, id, Op::InvokeStatic(ENTERING)]));
                if code.catches_all_at(instruction.next_pc()) {
                    after.push((pc, vec![Op::Iconst(site), Op::InvokeStatic(ENTERED)]));
                    let keep = vec![Op::Dup];
                    let use_it = vec![Op::Iconst(site), Op::InvokeStatic(EXITING)];
                    around.push((pc, Around { before: keep, after: use_it }));
                }
            }
            opcode::MONITOREXIT => {
                if code.catches_all_at(pc) {
                    let site = [Op::GetStatic(CONTENDED), Op::Pop, Op::Iconst(-1)];
                    let exiting = [&[Op::Dup][..], &site, &[Op::InvokeStatic(EXITING)]].concat();
                    before.push((pc, exiting));
                }
                after.push((pc, vec![Op::AconstNull, id, Op::InvokeStatic(EXITED)]));
            }
            _ => {}
        }
    }
    Ok(MethodPlan { before, after, around, ..MethodPlan::default() })
}

fn exit(method: &Method<'_, '_>, site: i32, parameters: bool) -> Exit {
    let descriptor = method.descriptor().to_string();
    let result = descriptor.bytes().rev().take_while(|&byte| byte != b')').last();
    let mut on_return = match result {
        Some(b'V') | None => vec![Op::Iconst(site), Op::InvokeStatic(RETURN)],
        Some(b'J') => vec![Op::Dup2, Op::Iconst(site), Op::InvokeStatic(RETURN_LONG)],
        Some(b'D') => vec![Op::Dup2, Op::Iconst(site), Op::InvokeStatic(RETURN_DOUBLE)],
        Some(b'F') => vec![Op::Dup, Op::Iconst(site), Op::InvokeStatic(RETURN_FLOAT)],
        Some(b'L' | b'[') => vec![Op::Dup, Op::Iconst(site), Op::InvokeStatic(RETURN_REFERENCE)],
        Some(_) => vec![Op::Dup, Op::Iconst(site), Op::InvokeStatic(RETURN_INT)],
    };
    let mut on_throw = vec![Op::Dup, Op::Lconst(i64::from(site)), Op::InvokeStatic(THROW)];
    if parameters {
        let reads = reads(&descriptor, method.is_static());
        on_return.extend_from_slice(&reads);
        on_throw.extend_from_slice(&reads);
    }
    Exit { on_return, on_throw }
}

/// Passes every parameter to a probe, except for floats and doubles.
fn reads(descriptor: &str, is_static: bool) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut slot = 0;
    if !is_static {
        ops.extend([Op::Aload(0), Op::InvokeStatic(REFERENCE)]);
        slot = 1;
    }
    let mut rest = descriptor.bytes().skip(1);
    while let Some(first) = rest.next() {
        let mut base = first;
        while base == b'[' {
            base = rest.next().unwrap_or(b'V');
        }
        if base == b'L' {
            rest.by_ref().find(|&byte| byte == b';');
        }
        match first {
            b')' => break,
            b'L' | b'[' => ops.extend([Op::Aload(slot), Op::InvokeStatic(REFERENCE)]),
            b'J' => ops.extend([Op::Lload(slot), Op::InvokeStatic(LONG)]),
            b'F' | b'D' => {}
            _ => ops.extend([Op::Iload(slot), Op::InvokeStatic(INT)]),
        }
        slot += if matches!(first, b'J' | b'D') { 2 } else { 1 };
    }
    ops
}
