//! Calls that take a lock of `java.util.concurrent`.

use super::kind;
use tyrion_bytecode::{Code, Instruction, MemberRef, Pc, opcode};

/// An acquisition in the code.
pub(super) struct Acquisition {
    pub(super) pc: Pc,
    pub(super) kind: u8,
}

/// Where j.u.c. locks are implemented. They call each other's `lock()`, which would be taken for
/// the place where the application takes the lock.
pub(super) fn implements_locks(class: &[u8]) -> bool {
    class.starts_with(b"java/util/concurrent/locks/")
        || class.starts_with(b"java/util/concurrent/Semaphore")
}

/// The acquisition that an instruction is, if it is one.
pub(super) fn call_site(code: &Code<'_, '_>, instruction: &Instruction<'_>) -> Option<Acquisition> {
    let calls = matches!(
        instruction.opcode(),
        opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL | opcode::INVOKEINTERFACE
    );
    let called = if calls { code.member(instruction).ok()?? } else { return None };
    Some(Acquisition { pc: instruction.pc(), kind: acquisition(&called)? })
}

/// What a call of this method takes, if anything.
pub(super) fn acquisition(called: &MemberRef<'_>) -> Option<u8> {
    const TIMED: &[u8] = b"(JLjava/util/concurrent/TimeUnit;)Z";
    let (owner, name) = (called.owner.as_bytes(), called.name.as_bytes());
    let descriptor = called.descriptor.as_bytes();
    match (name, descriptor) {
        // Of any class: whoever extends `ReentrantLock` or implements `Lock` has these.
        (b"lock" | b"lockInterruptibly", b"()V") | (b"tryLock", b"()Z") => Some(lock_kind(owner)),
        (b"tryLock", timed) if timed == TIMED => Some(lock_kind(owner)),
        (b"acquire" | b"acquireUninterruptibly" | b"tryAcquire", _)
            if owner == b"java/util/concurrent/Semaphore" =>
        {
            Some(kind::SEMAPHORE)
        }
        (b"readLock" | b"readLockInterruptibly" | b"tryReadLock", _)
            if owner == STAMPED_LOCK && descriptor.ends_with(b")J") =>
        {
            Some(kind::READ)
        }
        (b"writeLock" | b"writeLockInterruptibly" | b"tryWriteLock", _)
            if owner == STAMPED_LOCK && descriptor.ends_with(b")J") =>
        {
            Some(kind::WRITE)
        }
        _ => None,
    }
}

const STAMPED_LOCK: &[u8] = b"java/util/concurrent/locks/StampedLock";

fn lock_kind(owner: &[u8]) -> u8 {
    match owner {
        b"java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock" => kind::READ,
        b"java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock" => kind::WRITE,
        _ => kind::LOCK,
    }
}
