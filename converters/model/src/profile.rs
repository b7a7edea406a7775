//! The profile: waits summed by who waited, where, and for what; where trace
//! mode was on, acquisitions, holds and blame by the same; and where threads
//! were sampled, what they were doing.
//!
//! A plain model that knows nothing of logs or of outputs. Everything is kept
//! once in a table and named by its index there ("id" below). [`Profile::check`]
//! states the rules that every profile obeys.

mod row;
mod taken;

pub use crate::state::State;
pub(crate) use row::Row;
pub use taken::{AcquisitionCounts, InBursts};
use tyrion_formats::ShortWaits;
use tyrion_wire::{WaitKind, cell::BUCKETS, span::Span};

/// What threads did with locks, summed, and what its ids stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The recorded processes.
    pub runs: Vec<Run>,
    /// Threads that have sums below.
    pub threads: Vec<Thread>,
    /// Methods that stand in stacks.
    pub functions: Vec<Function>,
    /// Lines of methods that stand in stacks.
    pub frames: Vec<Frame>,
    /// Stacks, as a tree: the first is the empty one, and every other stands
    /// after its parent.
    pub stacks: Vec<Stack>,
    /// Locks, one for each object; and one for each class and name of those
    /// that are not told apart.
    pub locks: Vec<Lock>,
    /// Threads that had locks which others waited for, where waits are told apart by
    /// them; see [`WaitRow::owner`]. They need not be among [`Profile::threads`].
    pub owners: Vec<Thread>,
    /// The sums, in ascending order of (thread, stack, lock, kind, owner), each of
    /// those at most once.
    pub waits: Vec<WaitRow>,
    /// Whether acquisitions were counted in any run, and are here. If not, none
    /// means that nothing is known of them.
    pub has_acquisitions: bool,
    /// What threads did in each stack, in ascending order of (thread, stack,
    /// lock, kind), each of those at most once. Where no stack was sampled, it
    /// is one frame, the place.
    pub acquisitions: Vec<AcquisitionRow>,
    /// The same by place and in more detail, in ascending order of (thread,
    /// frame, lock, kind), each of those at most once.
    pub sections: Vec<SectionRow>,
    /// Whether waits were charged to holders in any run, and are here.
    pub has_blame: bool,
    /// Whether some of that was estimated from what waiters asked: not in trace mode.
    pub is_blame_sampled: bool,
    /// Waits charged to those who held what others waited for, in ascending
    /// order of (thread, stack, lock, kind, waiter's stack), each of those at
    /// most once.
    pub blames: Vec<BlameRow>,
    /// Whether it was recorded in any run who ends waits, and is here.
    pub has_wakers: bool,
    /// Waits by who ended them, in ascending order of (thread, stack, lock, kind,
    /// waiter's stack), each of those at most once: the thread is the one that ended
    /// the wait, and the stack where it did, empty where it was not taken.
    pub wakes: Vec<BlameRow>,
    /// Waits by what the locks' owners were doing when they began, in the same order: the
    /// thread is the one that waited, and the stack that of the owner's group, and no more.
    pub operations: Vec<BlameRow>,
    /// The longest waits of which it is known in which spans they were, in ascending order of
    /// (thread, stack, lock, kind): parts of the sums of waits.
    pub links: Vec<LinkRow>,
    /// Whether threads were sampled in any run. If not, no sample means that
    /// nothing is known of what they were doing.
    pub has_samples: bool,
    /// Whether all runs sampled and recorded nothing else, so that no wait means
    /// that nothing is known of them.
    pub lacks_waits: bool,
    /// Whether the samples of all runs are of thread dumps: each is one, and stands for no
    /// time.
    pub lacks_sample_times: bool,
    /// What threads were doing, in ascending order of (thread, stack, state,
    /// lock, kind), each of those at most once.
    pub samples: Vec<SampleRow>,
}

/// A recorded process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The log's name as the user gave it.
    pub log: String,
    /// The machine's name; may be empty.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Main class or jar; may be empty.
    pub program: String,
    /// The JVM's name and version; may be empty.
    pub jvm: String,
    /// Unix time of the first moment of the log, in ns.
    pub start_wall_ns: u64,
    /// From the first to the last moment of the log without its pauses, in ns.
    pub duration_ns: u64,
    /// Waits shorter than this, in ns, were not recorded one by one.
    pub threshold_ns: u64,
    /// What is known of those instead.
    pub short_waits: ShortWaits,
    /// Which holds were measured in trace mode: `1/64`, `all` or `none`; where that
    /// changed, one after another, as `1/64, then all`; empty without it.
    pub hold: String,
    /// The mean time between two snapshots of all threads, in ns; 0 if they were
    /// not sampled from the start.
    pub period_ns: u64,
}

/// A Java thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its run, an index into [`Profile::runs`].
    pub run: u32,
    /// `Thread.getId()`.
    pub java_id: u64,
    /// Its last name; may be empty (virtual threads have none by default).
    pub name: String,
    /// The name of its thread group.
    pub group: String,
    /// A daemon thread.
    pub daemon: bool,
    /// A virtual thread.
    pub is_virtual: bool,
}

/// A Java method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    /// Its class, `com.acme.Outer$Inner`; hidden classes without the number
    /// that differs from run to run. Empty for synthetic functions.
    pub class: String,
    /// Its name.
    pub method: String,
    /// Its descriptor, `(ILjava/lang/String;)V`. Empty for synthetic functions.
    pub descriptor: String,
    /// Its source file with the package as directories, `com/acme/Outer.java`;
    /// empty when unknown.
    pub source: String,
    /// Its first line, 0 when unknown.
    pub first_line: u32,
}

/// A line of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Index into [`Profile::functions`].
    pub function: u32,
    /// Line in the source file, 0 when unknown.
    pub line: u32,
}

/// A stack: one frame called by another stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack {
    /// The callers, a smaller index into [`Profile::stacks`]; 0 for none.
    pub parent: u32,
    /// The innermost frame, an index into [`Profile::frames`]. Without meaning
    /// in the empty stack.
    pub frame: u32,
}

/// A lock object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// Its run, an index into [`Profile::runs`].
    pub run: u32,
    /// Its identity within the run, 0 when it is not known.
    pub id: u32,
    /// Its class, `java.lang.Object`.
    pub class: String,
    /// What the program calls it, `Cache.lock`; empty when that is not known or
    /// says no more than the class.
    pub name: String,
}

/// The waits of one thread with one stack for one lock in one way, and for one owner
/// where waits are told apart by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// Index into [`Profile::threads`].
    pub thread: u32,
    /// Index into [`Profile::stacks`].
    pub stack: u32,
    /// Index into [`Profile::locks`].
    pub lock: u32,
    /// What kind of wait.
    pub kind: WaitKind,
    /// Who had the lock when the waits began, an index into [`Profile::owners`];
    /// [`NO_OWNER`] where that is not known, or waits are not told apart by it.
    pub owner: u32,
    /// How many waits.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The longest of them, in ns.
    pub max_ns: u64,
}

/// A wait, and the span that it was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// Index into [`Profile::threads`].
    pub thread: u32,
    /// Index into [`Profile::stacks`].
    pub stack: u32,
    /// Index into [`Profile::locks`].
    pub lock: u32,
    /// What kind of wait.
    pub kind: WaitKind,
    /// `Thread.getId()` of who had the lock, 0 when unknown.
    pub owner: u64,
    /// The span.
    pub span: Span,
    /// How long it took, in ns.
    pub wait_ns: u64,
}

impl LinkRow {
    /// What it has in common with the row of waits that it is a part of.
    pub fn key(&self) -> (u32, u32, u32, WaitKind) {
        (self.thread, self.stack, self.lock, self.kind)
    }
}

/// How often one thread took locks in one stack, and how long it held them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquisitionRow {
    /// Index into [`Profile::threads`].
    pub thread: u32,
    /// Index into [`Profile::stacks`].
    pub stack: u32,
    /// Index into [`Profile::locks`].
    pub lock: u32,
    /// What kind of lock.
    pub kind: WaitKind,
    /// How often, without reentrant acquisitions.
    pub acquisitions: u64,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: u64,
    /// How often the thread had it already.
    pub reentrant: u64,
    /// The standard error of that.
    pub reentrant_error: u64,
    /// How long it held them in all, in ns: measured or estimated.
    pub hold_ns: u64,
}

/// How one thread took locks at one place of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionRow {
    /// Index into [`Profile::threads`].
    pub thread: u32,
    /// The place, an index into [`Profile::frames`].
    pub frame: u32,
    /// Index into [`Profile::locks`].
    pub lock: u32,
    /// What kind of lock.
    pub kind: WaitKind,
    /// How often, without reentrant acquisitions.
    pub acquisitions: u64,
    /// How many of these were not counted, but estimated from bursts.
    pub uncounted: u64,
    /// The standard error of `acquisitions`; 0 where all were counted.
    pub acquisitions_error: u64,
    /// How often the thread had it already.
    pub reentrant: u64,
    /// The standard error of that.
    pub reentrant_error: u64,
    /// How often it tried in vain.
    pub failed: u64,
    /// How long it held them in all, in ns: measured or estimated.
    pub hold_ns: u64,
    /// By how much that may be too long, in ns, since holds in bursts contain more of the
    /// probes than others; 0 where all were counted.
    pub of_probes_ns: u64,
    /// How many holds were measured.
    pub measured: u64,
    /// Of how many of those is the average that the other holds count as.
    pub basis: u64,
    /// The longest of those, in ns.
    pub longest_ns: u64,
    /// How many of those had a duration of each
    /// [`bucket`](tyrion_wire::cell::bucket).
    pub histogram: [u64; BUCKETS],
}

/// Waits charged to one thread, which in one stack left a lock that others
/// waited for; or ended by one thread in one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameRow {
    /// Who held it, an index into [`Profile::threads`].
    pub thread: u32,
    /// Where the holder left it, an index into [`Profile::stacks`].
    pub stack: u32,
    /// Index into [`Profile::locks`].
    pub lock: u32,
    /// What kind of wait.
    pub kind: WaitKind,
    /// Where the other thread waited, an index into [`Profile::stacks`].
    pub waiter_stack: u32,
    /// How many waits, or parts of them.
    pub count: u64,
    /// Their durations added up, in ns.
    pub blamed_ns: u64,
    /// How many of the innermost frames of the stack were called by the one that has the
    /// lock, where that is known.
    pub above: u32,
    /// For how much of that, in ns, nobody held it: it had been released, and whoever was next
    /// did not run yet. Only where owners were looked at.
    pub free_ns: u64,
    /// How many answers of owners that was estimated from; 0 where it was not.
    pub answers: u64,
    /// The root of the sum of the squares of what each answer stands for, in ns.
    pub error_ns: u64,
}

/// How long one thread was in one stack, in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRow {
    /// Index into [`Profile::threads`].
    pub thread: u32,
    /// Index into [`Profile::stacks`].
    pub stack: u32,
    /// What it was doing there.
    pub state: State,
    /// The lock that it waited for, an index into [`Profile::locks`], or
    /// [`NO_LOCK`].
    pub lock: u32,
    /// How it waited, if that is known.
    pub kind: Option<WaitKind>,
    /// How many snapshots found it so.
    pub count: u64,
    /// The real time that they stand for, in ns.
    pub wall_ns: u64,
    /// The CPU time that it used meanwhile, in ns.
    pub cpu_ns: u64,
}

/// Stands for the lock of a [`SampleRow`] that waits for none, or for which one is
/// not known.
pub const NO_LOCK: u32 = u32::MAX;

/// Stands for the owner of a [`WaitRow`] that has none.
pub const NO_OWNER: u32 = u32::MAX;

/// The name of the function that stands for the frames beyond the depth limit.
pub const CUT: &str = "[cut]";
/// Where a lock was taken from code without probes: by reflection, by native
/// code, or in a class that gets none.
pub const NO_PROBE: &str = "[no probe]";

/// The descriptor of the functions that stand for what the program says a thread
/// is doing: outermost frames, named so, of no class.
pub const GROUP: &str = "[group]";

impl Thread {
    /// Its name as a person knows it: never empty.
    pub fn label(&self) -> String {
        match (self.name.is_empty(), self.is_virtual) {
            (false, _) => self.name.clone(),
            (true, true) => format!("virtual-{}", self.java_id),
            (true, false) => format!("thread-{}", self.java_id),
        }
    }
}

impl Function {
    /// Whether it stands for what the program says a thread is doing.
    pub fn is_group(&self) -> bool {
        self.class.is_empty() && self.descriptor == GROUP
    }
}

impl Profile {
    /// Number of waits and the sum of their durations in ns.
    pub fn totals(&self) -> (u64, u64) {
        self.waits.iter().fold((0, 0), |(count, ns), wait| {
            (count.saturating_add(wait.count), ns.saturating_add(wait.wait_ns))
        })
    }

    /// The snapshots of samples, and the sums of their real and CPU time in ns.
    pub fn sample_totals(&self) -> (u64, u64, u64) {
        self.samples.iter().fold((0, 0, 0), |(count, wall_ns, cpu_ns), sample| {
            (
                count.saturating_add(sample.count),
                wall_ns.saturating_add(sample.wall_ns),
                cpu_ns.saturating_add(sample.cpu_ns),
            )
        })
    }

    /// The frames of a stack, innermost first.
    pub fn frames_of(&self, stack: u32) -> impl Iterator<Item = Frame> + '_ {
        self.frame_ids_of(stack).map_while(|frame| self.frames.get(frame as usize).copied())
    }

    /// The same as indices into [`Profile::frames`].
    pub fn frame_ids_of(&self, stack: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = stack;
        std::iter::from_fn(move || {
            if at == 0 {
                return None;
            }
            let node = self.stacks.get(at as usize)?;
            at = node.parent;
            Some(node.frame)
        })
    }

    /// What the program said that a thread was doing in each stack: the function
    /// of its outermost frame, if that is a group.
    pub fn groups_of_stacks(&self) -> Vec<Option<u32>> {
        let mut groups: Vec<Option<u32>> = Vec::with_capacity(self.stacks.len());
        for (at, stack) in self.stacks.iter().enumerate() {
            let group = match stack.parent {
                _ if at == 0 => None,
                0 => self.group_at(stack.frame),
                parent => groups.get(parent as usize).copied().flatten(),
            };
            groups.push(group);
        }
        groups
    }

    fn group_at(&self, frame: u32) -> Option<u32> {
        let function = self.frames.get(frame as usize)?.function;
        let is_group = self.functions.get(function as usize).is_some_and(Function::is_group);
        is_group.then_some(function)
    }

    /// A thread's name as a person knows it: never empty.
    pub fn thread_name(&self, thread: u32) -> String {
        self.threads.get(thread as usize).map_or("unknown".to_owned(), Thread::label)
    }

    /// A lock's name, `Cache.lock (java.lang.Object#7)`: what the program calls
    /// it if that is known, its class, and its identity with the run where
    /// there are several.
    pub fn lock_name(&self, lock: u32) -> String {
        match self.locks.get(lock as usize) {
            Some(lock) if lock.name.is_empty() => lock.class.clone() + &self.identity(lock),
            Some(lock) => format!("{} ({}{})", lock.name, lock.class, self.identity(lock)),
            None => "unknown".to_owned(),
        }
    }

    /// What tells a lock from others of its class: `#7`, with the run where
    /// there are several, or nothing.
    pub fn lock_identity(&self, lock: u32) -> String {
        self.locks.get(lock as usize).map_or_else(String::new, |lock| self.identity(lock))
    }

    fn identity(&self, lock: &Lock) -> String {
        match lock.id {
            0 => String::new(),
            id if self.runs.len() > 1 => format!("#{}.{id}", lock.run + 1),
            id => format!("#{id}"),
        }
    }

    /// Whether all indices point into their tables and all orders hold.
    ///
    /// # Errors
    /// The first rule that is broken, for people.
    pub fn check(&self) -> Result<(), String> {
        let within = |index: u32, len: usize, what: &str| {
            if (index as usize) < len { Ok(()) } else { Err(format!("{what} {index} of {len}")) }
        };
        if self.stacks.first().is_none_or(|root| root.parent != 0) {
            return Err("the first stack is not the empty one".to_owned());
        }
        for thread in self.threads.iter().chain(&self.owners) {
            within(thread.run, self.runs.len(), "run of a thread")?;
        }
        for lock in &self.locks {
            within(lock.run, self.runs.len(), "run of a lock")?;
        }
        for frame in &self.frames {
            within(frame.function, self.functions.len(), "function")?;
        }
        for (at, stack) in self.stacks.iter().enumerate().skip(1) {
            within(stack.parent, at, "parent")?;
            within(stack.frame, self.frames.len(), "frame")?;
        }
        let row = |thread: u32, stack: u32, lock: u32| {
            within(thread, self.threads.len(), "thread")?;
            within(stack, self.stacks.len(), "stack")?;
            within(lock, self.locks.len(), "lock")
        };
        for wait in &self.waits {
            row(wait.thread, wait.stack, wait.lock)?;
            if wait.owner != NO_OWNER {
                within(wait.owner, self.owners.len(), "owner")?;
            }
        }
        for acquisition in &self.acquisitions {
            row(acquisition.thread, acquisition.stack, acquisition.lock)?;
        }
        for blame in self.blames.iter().chain(&self.wakes).chain(&self.operations) {
            row(blame.thread, blame.stack, blame.lock)?;
            within(blame.waiter_stack, self.stacks.len(), "stack")?;
        }
        for section in &self.sections {
            row(section.thread, 0, section.lock)?;
            within(section.frame, self.frames.len(), "frame")?;
        }
        for sample in &self.samples {
            let lock = if sample.lock == NO_LOCK { None } else { Some(sample.lock) };
            within(sample.thread, self.threads.len(), "thread")?;
            within(sample.stack, self.stacks.len(), "stack")?;
            lock.map_or(Ok(()), |lock| within(lock, self.locks.len(), "lock"))?;
        }
        self.check_order()
    }

    fn check_order(&self) -> Result<(), String> {
        fn is_sorted<R: Row>(rows: &[R]) -> bool {
            rows.is_sorted_by(|a, b| a.key() < b.key())
        }
        let sorted = [
            ("waits", is_sorted(&self.waits)),
            ("acquisitions", is_sorted(&self.acquisitions)),
            ("sections", is_sorted(&self.sections)),
            ("blames", is_sorted(&self.blames)),
            ("wakes", is_sorted(&self.wakes)),
            ("operations", is_sorted(&self.operations)),
            ("samples", is_sorted(&self.samples)),
        ];
        match sorted.into_iter().find(|(_, sorted)| !sorted) {
            Some((what, _)) => Err(format!("the {what} are not in order")),
            None => Ok(()),
        }
    }
}
