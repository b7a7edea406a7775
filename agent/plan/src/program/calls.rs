//! Calls that take a lock of `java.util.concurrent`.

use crate::{JdkClass, locks};
use tyrion_bytecode::{Code, Instruction, MemberRef, Pc, opcode};
use tyrion_wire::WaitKind;

/// An acquisition in the code.
pub(super) struct Acquisition<'a> {
    pub(super) pc: Pc,
    /// The method that is called, and the kind of lock that it takes; `None` for a
    /// `monitorenter`.
    pub(super) called: Option<(WaitKind, MemberRef<'a>)>,
}

/// The acquisition that an instruction is, if it is one.
pub(super) fn call_site<'a>(
    code: &Code<'_, 'a>,
    instruction: &Instruction<'_>,
) -> Option<Acquisition<'a>> {
    let calls = matches!(
        instruction.opcode(),
        opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL | opcode::INVOKEINTERFACE
    );
    let called = if calls { code.member(instruction).ok()?? } else { return None };
    let kind = acquisition(&called)?;
    Some(Acquisition { pc: instruction.pc(), called: Some((kind, called)) })
}

/// What a call of this method takes, if anything.
pub fn acquisition(called: &MemberRef<'_>) -> Option<WaitKind> {
    let class = JdkClass::by_name(called.owner.as_bytes()).filter(|&class| locks::concerns(class));
    // Of any other class: whoever extends `ReentrantLock` or implements `Lock` has its methods.
    let class = class.unwrap_or(JdkClass::ReentrantLock);
    locks::taken(class, called.name.as_bytes(), called.descriptor.as_bytes())
}

/// Whether an instruction notifies all who wait for an object, or one; `None` if it is
/// something else.
pub(super) fn notifies(code: &Code<'_, '_>, instruction: &Instruction<'_>) -> Option<bool> {
    match instruction.opcode() {
        opcode::INVOKEVIRTUAL => notification(&code.member(instruction).ok()??),
        _ => None,
    }
}

/// The same of a call of this method. Compilers name `Object` as its class, whatever the
/// object is of.
pub(super) fn notification(called: &MemberRef<'_>) -> Option<bool> {
    let is_it = called.owner == "java/lang/Object" && called.descriptor == "()V";
    match called.name.as_bytes() {
        b"notify" if is_it => Some(false),
        b"notifyAll" if is_it => Some(true),
        _ => None,
    }
}
