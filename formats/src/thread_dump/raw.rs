//! A dump as a file has it, whatever the file's format.

use tyrion_wire::sample::ThreadState;

/// A dump as the file has it.
#[derive(Debug, Default)]
pub(super) struct RawDump {
    /// Where it begins, in bytes from the file's start.
    pub(super) offset: u64,
    pub(super) wall_ns: Option<u64>,
    /// The JVM, as it calls itself.
    pub(super) jvm: String,
    pub(super) pid: Option<u32>,
    pub(super) threads: Vec<RawThread>,
    /// What the JVM's section on deadlocks says: a thread, what it waits for, and who has that.
    pub(super) told: Vec<ToldWait>,
}

/// A line of the JVM's section on deadlocks.
#[derive(Debug, Default)]
pub(super) struct ToldWait {
    pub(super) thread: String,
    pub(super) address: String,
    pub(super) owner: String,
}

/// A thread as the file has it.
#[derive(Debug, Default)]
pub(super) struct RawThread {
    pub(super) offset: u64,
    pub(super) name: String,
    /// `Thread.getId()`.
    pub(super) id: Option<u64>,
    /// What else tells it from threads of the same name: an address of the JVM's.
    pub(super) tid: String,
    pub(super) is_daemon: bool,
    pub(super) is_virtual: bool,
    pub(super) cpu_ns: Option<u64>,
    pub(super) elapsed_ns: Option<u64>,
    pub(super) state: RawState,
    /// Whether there was anything but a header: the JVM's own threads have no more.
    pub(super) is_java: bool,
    /// Numbers of frames, the innermost one first.
    pub(super) frames: Vec<u32>,
    pub(super) wait: Option<RawWait>,
    /// What it locked, and below how many frames.
    pub(super) locked: Vec<(usize, RawLock)>,
    /// Synchronizers that it owns.
    pub(super) owned: Vec<RawLock>,
    pub(super) owner: Option<RawOwner>,
}

/// Who has what a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawOwner {
    Name(String),
    Id(u64),
    /// [`RawThread::tid`].
    Tid(String),
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RawState {
    pub(super) state: Option<ThreadState>,
    /// In a wait of which the file does not say whether it is a park.
    pub(super) waits: bool,
    pub(super) is_timed: bool,
}

impl RawState {
    /// By the name of Java's enumeration and what HotSpot adds to it.
    pub(super) fn of(text: &str) -> RawState {
        let known = |state| RawState { state: Some(state), ..RawState::default() };
        let name = text.trim_start();
        if name.starts_with("RUNNABLE") {
            return known(ThreadState::Running);
        }
        if name.starts_with("BLOCKED") {
            return known(ThreadState::Blocked);
        }
        let is_timed = name.starts_with("TIMED_WAITING");
        if !is_timed && !name.starts_with("WAITING") {
            return known(ThreadState::Other);
        }
        let state = if name.contains("parking") {
            Some(ThreadState::Parked)
        } else if name.contains("sleeping") {
            Some(ThreadState::Sleeping)
        } else if name.contains("object monitor") {
            Some(ThreadState::Waiting)
        } else {
            None
        };
        RawState { state, waits: true, is_timed }
    }

    /// By what HotSpot says in a thread's header, as JDK 5 has no other.
    pub(super) fn of_condition(text: &str) -> RawState {
        let known = |state| RawState { state: Some(state), ..RawState::default() };
        if text.contains("waiting for monitor entry") {
            known(ThreadState::Blocked)
        } else if text.contains("in Object.wait") {
            RawState { waits: true, ..known(ThreadState::Waiting) }
        } else if text.contains("waiting on condition") || text.contains("sleeping") {
            RawState { waits: true, ..RawState::default() }
        } else if text.contains("runnable") {
            known(ThreadState::Running)
        } else {
            RawState::default()
        }
    }
}

/// What a thread says that it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawWait {
    pub(super) how: WaitPhrase,
    pub(super) lock: RawLock,
}

/// How a thread says that it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitPhrase {
    /// `waiting to lock`, `blocked on`.
    Enter,
    /// `waiting on`.
    Wait,
    /// `waiting to re-lock in wait()`.
    Again,
    /// `parking to wait for`.
    Park,
    /// For the initialization of a class, which the lock names.
    Initialization,
    /// For something: the state says how.
    Something,
}

/// A lock: its class as people write it, and what tells it from others of its class.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RawLock {
    pub(super) class: String,
    pub(super) address: String,
}

impl RawLock {
    /// `java.lang.Object@1b2c`, as `Object.toString` and the management beans write it.
    pub(super) fn at_sign(text: &str) -> RawLock {
        let text = text.trim();
        let (class, address) = text.rsplit_once('@').unwrap_or((text, ""));
        let class = class.strip_prefix("a ").unwrap_or(class).replace('/', ".");
        RawLock { class, address: address.to_ascii_lowercase() }
    }
}

/// A frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RawFrame {
    /// The class as in class files.
    pub(super) class: String,
    pub(super) method: String,
    /// The file of its source; empty if that is not known.
    pub(super) source: String,
    /// 0 if that is not known.
    pub(super) line: u32,
    pub(super) is_native: bool,
}
