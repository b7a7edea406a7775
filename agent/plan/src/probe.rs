//! The methods that probes call, in the two classes that the agent defines among the JDK's own.
//!
//! Their sources lie in `agent/probe`; the tests compare the names and the descriptors here with
//! those of the compiled classes.

use tyrion_bytecode::Member;

/// Contention mode: a class of native methods only.
pub mod wait {
    use super::Member;

    /// Its internal name.
    pub const CLASS: &str = "java/lang/TyrionProbe";

    macro_rules! probes {
        ($($(#[$doc:meta])* $constant:ident = $name:literal $descriptor:literal;)*) => {
            $($(#[$doc])* pub const $constant: Member =
                Member::new(CLASS, $name, $descriptor);)*
            /// All of them.
            pub const ALL: &[Member] = &[$($constant),*];
        };
    }

    probes! {
        /// About to park.
        PARK_BEGINS = "parkBegins" "(Ljava/lang/Thread;)V";
        /// About to park for so many ns, 0 for as long as it takes.
        PARK_BEGINS_FOR = "parkBeginsFor" "(JLjava/lang/Thread;)V";
        /// Returned from a park.
        PARK_ENDS = "parkEnds" "(Ljava/lang/Thread;)V";
        /// Entered a slow path; true for shared mode.
        ACQUIRE_BEGINS = "acquireBegins" "(ZLjava/lang/Thread;)V";
        /// Left a slow path that returns only with the lock.
        ACQUIRED = "acquired" "(Ljava/lang/Thread;)V";
        /// Left a slow path that returns a positive number with the lock, 0 after
        /// the time limit, a negative number when interrupted.
        ACQUIRE_RETURNED_INT = "acquireReturnedInt" "(ILjava/lang/Thread;)V";
        /// Left a slow path that returns false after the time limit.
        ACQUIRE_RETURNED_BOOLEAN = "acquireReturnedBoolean" "(ZLjava/lang/Thread;)V";
        /// Left a slow path of `StampedLock`: 0 after the time limit, 1 when
        /// interrupted, else a stamp.
        ACQUIRE_RETURNED_STAMP = "acquireReturnedStamp" "(JLjava/lang/Thread;)V";
        /// Left a slow path by an exception.
        ACQUIRE_THREW = "acquireThrew" "(Ljava/lang/Throwable;Ljava/lang/Thread;)V";
        /// `Condition.signal`, called by this thread, moves a waiter, given by its node, to
        /// the lock's queue.
        SIGNALLED = "signalled" "(Ljava/lang/Object;Ljava/lang/Thread;)V";
        /// About to unpark the first thread; the second one is the current one.
        UNPARKS = "unparks" "(Ljava/lang/Thread;Ljava/lang/Thread;)V";
        /// A thread has another name.
        RENAMED = "renamed" "(Ljava/lang/Thread;)V";
    }
}

/// Trace mode: static methods, written in Java.
pub mod trace {
    use super::Member;

    /// Its internal name.
    pub const CLASS: &str = "java/lang/TyrionTrace";

    /// Beside the kind of a lock: the method that took it would not have waited for it.
    pub const ONLY_TRIED: i32 = 16;

    macro_rules! probes {
        ($($(#[$doc:meta])* $constant:ident = $name:literal $descriptor:literal;)*) => {
            $($(#[$doc])* pub const $constant: Member =
                Member::new(CLASS, $name, $descriptor);)*
            /// All of them.
            pub const ALL: &[Member] = &[$($constant),*];
        };
    }

    probes! {
        /// In front of a monitor: the object, the place.
        BEFORE = "before" "(Ljava/lang/Object;I)V";
        /// The same, where it matters when the monitor is wanted.
        ASKING = "asking" "(Ljava/lang/Object;I)V";
        /// In a monitor: the object, the place.
        ENTERED = "entered" "(Ljava/lang/Object;I)V";
        /// About to leave a monitor: the object, the place where it was entered.
        EXITING = "exiting" "(Ljava/lang/Object;I)V";
        /// About to notify an object: the object, and whether all of its waiters.
        NOTIFIES = "notifies" "(Ljava/lang/Object;Z)V";
        /// An exception leaves a monitor: the exception.
        THREW = "threw" "(Ljava/lang/Throwable;)V";
        /// About to call what takes a j.u.c. lock: the place.
        AT = "at" "(I)V";
        /// Has the lock: the lock, the kind.
        ACQUIRED = "acquired" "(Ljava/lang/Object;I)V";
        /// Has the lock, if true: the result, the lock, the kind and, if the method does not
        /// wait, [`ONLY_TRIED`].
        TRIED = "tried" "(ZLjava/lang/Object;I)V";
        /// Has the lock, unless 0: the stamp, the lock, the kind as above.
        STAMPED = "stamped" "(JLjava/lang/Object;I)V";
        /// Has the lock in another mode, unless the stamp is 0 or the same as before: the
        /// stamp, that of before, the lock, the kind, 0 for no lock at all.
        CONVERTED = "converted" "(JJLjava/lang/Object;I)V";
        /// About to release the lock, if it holds it: the lock, the kind.
        RELEASED = "released" "(Ljava/lang/Object;I)V";
        /// About to wait, which gives the lock up: the lock.
        AWAITS = "awaits" "(Ljava/lang/Object;)V";
        /// Has waited, and has the lock again: the lock.
        AWAITED = "awaited" "(Ljava/lang/Object;)V";
        /// Whether [`STAMPED`] is to do nothing in this thread, because the lock calls
        /// one of its own methods and will tell the outcome itself.
        QUIET = "quiet" "(Z)V";
    }
}
