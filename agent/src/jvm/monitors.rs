//! Who owns the monitors that threads wait for.
//!
//! HotSpot publishes where a thread has the monitor that it waits to enter
//! (`JavaThread::_current_pending_monitor`; it is set before JVMTI's event), and where a
//! monitor has its owner (`ObjectMonitor::_owner`). A monitor with a contender stays, and
//! the thread is the current one, so at the event these are two loads. At any other moment
//! they are read so that nothing can go wrong ([`peek`]).
//!
//! What the owner's word means differs (`objectMonitor.hpp`): up to JDK 21 it is the
//! address of the owner's `JavaThread`, or an address within its stack where the lock was
//! taken before the monitor was there; later the owner's id, `JavaThread::_monitor_owner_id`,
//! which is its `Thread.threadId()`, also that of a virtual thread. From JDK 21 on, 1 is a
//! thread that took the lock before there was a monitor.

use super::{
    Java, Object, peek,
    walk::{Exports, word},
};
use jvmti_bindings::sys::jni::jfieldID;

/// In the owner's word: a thread that took the lock before there was a monitor.
const ANONYMOUS: usize = 1;
/// In its place on JDK 24 and later, where owners are numbers: nobody, the monitor goes.
const DEFLATED: usize = 2;
/// The same where they are addresses.
const DEFLATED_ADDRESS: usize = usize::MAX;

/// Where HotSpot has what is needed. All offsets are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Monitors {
    /// From a `JNIEnv` back to its thread.
    env: usize,
    /// The monitor that a thread waits to enter.
    pending: usize,
    /// The one that it waits on, in `Object.wait`.
    waiting: usize,
    /// A monitor's owner.
    owner: usize,
    /// Whether the owner is a number.
    has_numbers: bool,
    /// Where a thread's stack ends, and its size.
    stack_base: usize,
    stack_size: usize,
    /// What a thread is doing, a `JavaThreadState`.
    state: Option<usize>,
    /// Where a thread that does not run Java code has left it: stack pointer and
    /// instruction.
    left_at: Option<(usize, usize)>,
    /// The object of a monitor, by a handle; where it is one.
    object: Option<usize>,
    /// Where a thread has the objects that it has locked without a monitor.
    lock_stack: Option<LockStack>,
    /// A handle of the virtual thread that a carrier runs, and of the thread itself.
    mounted: Option<usize>,
    own: Option<usize>,
    /// `Thread.tid` in an object, if it can be read there.
    tid: Option<usize>,
}

/// Where a thread has the objects that it has locked without a monitor (`lockStack.hpp`),
/// from the thread's begin.
#[derive(Clone, Copy, Debug)]
struct LockStack {
    /// Where the first entry is.
    base: usize,
    /// Where it says, in 32 bits, where the first free entry would be.
    top: usize,
}

/// What the id of an instance field ends in (`jfieldIDWorkaround`), if no class is in it.
const INSTANCE: usize = 0b10;
/// `_thread_in_native`, a `JavaThreadState`.
const IN_NATIVE: u32 = 4;
/// `_thread_blocked`.
const BLOCKED: u32 = 10;
/// The most entries that a lock stack has.
const MOST_LOCKED: usize = 8;
/// By so many bits ZGC shifts the addresses in its handles (`zAddress.hpp`).
const SHIFTS: std::ops::RangeInclusive<u32> = 13..=16;

/// What a monitor says of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnedBy {
    /// It has none at the moment.
    Nobody,
    /// It does not say by whom: nobody had to wait for it before.
    Somebody,
    /// By a thread of this `Thread.threadId()`.
    Thread(i64),
    /// By the thread whose `JavaThread` is here, or in whose stack this is.
    Address(usize),
}

/// A `JavaThread`, as the agent knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JavaThread {
    /// Where it is.
    pub address: usize,
    /// Where its stack ends, and its size in bytes.
    stack_base: usize,
    stack_size: usize,
}

/// Where a thread has left Java code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    stack: usize,
    instruction: usize,
}

#[cfg(test)]
impl Spot {
    /// Some place.
    pub fn at(number: usize) -> Spot {
        Spot { stack: number, instruction: number }
    }
}

/// `JavaThread::_anchor`, from the thread's begin.
fn left_at(exports: &Exports) -> Option<(usize, usize)> {
    let anchor = exports.offset("JavaThread", "_anchor")?;
    let of_anchor = |name| exports.offset("JavaFrameAnchor", name);
    Some((anchor + of_anchor("_last_Java_sp")?, anchor + of_anchor("_last_Java_pc")?))
}

impl JavaThread {
    /// Whether an owner's address is of this thread.
    pub fn is_at(&self, address: usize) -> bool {
        address == self.address
            || self.stack_base.checked_sub(address).is_some_and(|below| below < self.stack_size)
    }
}

impl LockStack {
    fn find(exports: &Exports) -> Option<LockStack> {
        let begin = exports.offset("JavaThread", "_lock_stack")?;
        let (top, base) =
            (exports.offset("LockStack", "_top")?, exports.offset("LockStack", "_base[0]")?);
        Some(LockStack { base: begin + base, top: begin + top })
    }

    /// The objects that a thread, which may be gone, has locked.
    fn entries(self, thread: usize) -> impl Iterator<Item = usize> {
        let top = thread.checked_add(self.top).and_then(peek::number).unwrap_or(0) as usize;
        let count = (top.saturating_sub(self.base) / size_of::<usize>()).min(MOST_LOCKED);
        let at = move |nth| thread.checked_add(self.base + nth * size_of::<usize>());
        (0..count).filter_map(move |nth| at(nth).and_then(peek::word))
    }
}

impl Monitors {
    /// Where this JVM has all that; `None` where it does not tell. `thread` is the current
    /// one, a platform thread, and `eetop` the field that has its address.
    pub fn find(
        java: Java,
        exports: &Exports,
        thread: Object<'_>,
        eetop: jfieldID,
    ) -> Option<Monitors> {
        if eetop.is_null() {
            return None;
        }
        let of_thread =
            |name| exports.offset("JavaThread", name).or_else(|| exports.offset("Thread", name));
        let address = java.long_field(thread, eetop) as usize;
        let env = (java.raw() as usize).checked_sub(address)?;
        Some(Monitors {
            env,
            pending: of_thread("_current_pending_monitor")?,
            waiting: of_thread("_current_waiting_monitor")?,
            owner: exports.offset("ObjectMonitor", "_owner")?,
            has_numbers: of_thread("_monitor_owner_id").or_else(|| of_thread("_lock_id")).is_some(),
            stack_base: of_thread("_stack_base")?,
            stack_size: of_thread("_stack_size")?,
            state: of_thread("_thread_state"),
            left_at: left_at(exports),
            object: exports.offset("ObjectMonitor", "_object"),
            lock_stack: LockStack::find(exports),
            mounted: of_thread("_vthread"),
            own: of_thread("_threadObj"),
            tid: None,
        })
    }

    /// The current thread.
    pub fn current(&self, java: Java) -> JavaThread {
        let address = (java.raw() as usize).wrapping_sub(self.env);
        // SAFETY: the current thread's own structure stays, and its stack is where it is.
        let (stack_base, stack_size) =
            unsafe { (word(address + self.stack_base), word(address + self.stack_size)) };
        JavaThread { address, stack_base, stack_size }
    }

    /// Another thread, by the address that its object has; `None` for one that has ended.
    pub fn thread_at(&self, address: usize) -> Option<JavaThread> {
        let stack_base = peek::word(address.checked_add(self.stack_base)?)?;
        let stack_size = peek::word(address.checked_add(self.stack_size)?)?;
        Some(JavaThread { address, stack_base, stack_size })
    }

    /// The monitor that the current thread is about to wait for; 0 for none. To be called
    /// in the event that says so.
    #[inline]
    pub fn pending(&self, java: Java) -> usize {
        let address = (java.raw() as usize).wrapping_sub(self.env);
        // SAFETY: the current thread's own structure stays.
        unsafe { word(address + self.pending) }
    }

    /// Who owns the monitor that the current thread is about to wait for.
    #[inline]
    pub fn owner_of_pending(&self, monitor: usize) -> OwnedBy {
        if monitor == 0 {
            return OwnedBy::Nobody;
        }
        // SAFETY: it has a contender, the current thread, and so it stays.
        self.owned(unsafe { word(monitor + self.owner) })
    }

    /// Who owns a monitor that may be gone; `None` where it is.
    pub fn owner_of(&self, monitor: usize) -> Option<OwnedBy> {
        peek::word(monitor.checked_add(self.owner)?).map(|owner| self.owned(owner))
    }

    /// The monitor that another thread waits to enter, and the one it waits on in
    /// `Object.wait`; 0 for none. `None` where the thread is gone.
    pub fn waited_for(&self, thread: usize) -> Option<(usize, usize)> {
        let pending = peek::word(thread.checked_add(self.pending)?)?;
        Some((pending, peek::word(thread.checked_add(self.waiting)?)?))
    }

    /// Whether a thread, which may be gone, runs native code.
    pub fn is_in_native_code(&self, thread: usize) -> bool {
        self.state_of(thread) == Some(IN_NATIVE)
    }

    /// Where in its code a thread, which may be gone, is that the JVM keeps from running;
    /// `None` for others, and where that is not known.
    pub fn blocked_at(&self, thread: usize) -> Option<Spot> {
        let is_blocked = self.state_of(thread) == Some(BLOCKED);
        let (stack, instruction) = self.left_at.filter(|_| is_blocked)?;
        let at = |offset: usize| peek::word(thread.checked_add(offset)?);
        let spot = Spot { stack: at(stack)?, instruction: at(instruction)? };
        (spot.stack != 0).then_some(spot)
    }

    fn state_of(&self, thread: usize) -> Option<u32> {
        peek::number(thread.checked_add(self.state?)?)
    }

    /// Whether a thread has locked the object of a monitor without the monitor, as far as
    /// that can be told.
    pub fn has_locked(&self, thread: usize, monitor: usize) -> bool {
        let object = || {
            let handle = peek::word(monitor.checked_add(self.object?)?)?;
            peek::word(handle)
        };
        let Some((before, stack)) = object().zip(self.lock_stack) else { return false };
        let is_it =
            |entry: usize| entry == before || SHIFTS.into_iter().any(|by| before >> by == entry);
        stack.entries(thread).any(is_it) && object() == Some(before)
    }

    #[inline]
    fn owned(&self, owner: usize) -> OwnedBy {
        match owner {
            0 | DEFLATED_ADDRESS => OwnedBy::Nobody,
            ANONYMOUS => OwnedBy::Somebody,
            DEFLATED if self.has_numbers => OwnedBy::Nobody,
            owner if self.has_numbers => OwnedBy::Thread(owner as i64),
            owner => OwnedBy::Address(owner),
        }
    }

    /// Lets [`Monitors::mounted_on`] answer, if the object of a thread is where this JVM's
    /// handles say, and has the thread's id where the JNI has it.
    pub fn with_mounted(mut self, thread: usize, tid_field: jfieldID, tid: i64) -> Monitors {
        // The offset of an instance field, as HotSpot makes ids of them (`jfieldIDWorkaround`).
        let offset = tid_field as usize >> 2;
        self.tid = Some(offset).filter(|_| tid_field as usize & 0b11 == INSTANCE);
        let told = self.own.and_then(|own| self.id_by_handle(thread, own));
        if told != Some(tid) {
            self.tid = None;
        }
        self
    }

    /// The id of the virtual thread that a carrier runs, or of the carrier itself where it
    /// runs none; `None` where that cannot be told.
    pub fn mounted_on(&self, carrier: usize) -> Option<i64> {
        self.id_by_handle(carrier, self.mounted?)
    }

    /// The id of a thread by a handle of its object. Objects move: the handle has to be the
    /// same afterwards.
    fn id_by_handle(&self, thread: usize, handle: usize) -> Option<i64> {
        let slot = peek::word(thread.checked_add(handle)?)?;
        let object = peek::word(slot)?;
        let id = peek::long(object.checked_add(self.tid?)?)?;
        let is_same =
            peek::word(thread.checked_add(handle)?)? == slot && peek::word(slot)? == object;
        (is_same && id > 0).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONITORS: Monitors = Monitors {
        env: 0,
        pending: 0,
        waiting: 0,
        owner: 0,
        has_numbers: false,
        stack_base: 0,
        stack_size: 0,
        state: None,
        left_at: None,
        object: None,
        lock_stack: None,
        mounted: None,
        own: None,
        tid: None,
    };

    #[test]
    fn owners_are_addresses_or_numbers() {
        let numbers = Monitors { has_numbers: true, ..MONITORS };
        for (owner, by_address, by_number) in [
            (0, OwnedBy::Nobody, OwnedBy::Nobody),
            (1, OwnedBy::Somebody, OwnedBy::Somebody),
            (2, OwnedBy::Address(2), OwnedBy::Nobody),
            (3, OwnedBy::Address(3), OwnedBy::Thread(3)),
            (usize::MAX, OwnedBy::Nobody, OwnedBy::Nobody),
            (0x7f00_0000, OwnedBy::Address(0x7f00_0000), OwnedBy::Thread(0x7f00_0000)),
        ] {
            assert_eq!((MONITORS.owned(owner), numbers.owned(owner)), (by_address, by_number));
        }
    }

    #[test]
    fn threads_own_by_their_address_and_by_their_stack() {
        let thread = JavaThread { address: 0x1000, stack_base: 0x9000, stack_size: 0x2000 };
        for (address, is_its) in [
            (0x1000, true),
            (0x9000, true),
            (0x7001, true),
            (0x7000, false),
            (0x9001, false),
            (0x1008, false),
        ] {
            assert_eq!(thread.is_at(address), is_its, "{address:#x}");
        }
    }
}
