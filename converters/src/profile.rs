//! The profile: waits summed by who waited, where, and for what.
//!
//! A plain model that knows nothing of logs or of outputs. Everything is kept
//! once in a table and named by its index there ("id" below). [`Profile::check`]
//! states the rules that every profile obeys.

use tyrion_wire::WaitKind;

/// Waits summed, and what their ids stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The recorded processes.
    pub runs: Vec<Run>,
    /// Threads that waited, or owned what others waited for.
    pub threads: Vec<Thread>,
    /// Methods that stand in stacks.
    pub functions: Vec<Function>,
    /// Lines of methods that stand in stacks.
    pub frames: Vec<Frame>,
    /// Stacks, as a tree: the first is the empty one, and every other stands
    /// after its parent.
    pub stacks: Vec<Stack>,
    /// Locks, one for each object.
    pub locks: Vec<Lock>,
    /// The sums, in ascending order of (thread, stack, lock, kind), each of
    /// those at most once.
    pub waits: Vec<Wait>,
}

/// A recorded process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The log's name as the user gave it.
    pub log: String,
    /// Process id.
    pub pid: u32,
    /// Main class or jar; may be empty.
    pub program: String,
    /// The JVM's name and version; may be empty.
    pub jvm: String,
    /// Unix time of the first moment of the log, in ns.
    pub start_wall_ns: u64,
    /// From the first to the last moment of the log, in ns.
    pub duration_ns: u64,
    /// Waits shorter than this, in ns, were folded when recorded.
    pub threshold_ns: u64,
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
}

/// The waits of one thread with one stack for one lock in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Index into [`Profile::threads`].
    pub thread: u32,
    /// Index into [`Profile::stacks`].
    pub stack: u32,
    /// Index into [`Profile::locks`].
    pub lock: u32,
    /// What kind of wait.
    pub kind: WaitKind,
    /// How many waits.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The longest of them, in ns.
    pub max_ns: u64,
}

/// The name of the function that stands for the frames beyond the depth limit.
pub const CUT: &str = "[cut]";

impl Profile {
    /// Number of waits and the sum of their durations in ns.
    pub fn totals(&self) -> (u64, u64) {
        self.waits.iter().fold((0, 0), |(count, ns), wait| {
            (count.saturating_add(wait.count), ns.saturating_add(wait.wait_ns))
        })
    }

    /// The frames of a stack, innermost first.
    pub fn frames_of(&self, stack: u32) -> impl Iterator<Item = Frame> + '_ {
        let mut at = stack;
        std::iter::from_fn(move || {
            if at == 0 {
                return None;
            }
            let node = self.stacks.get(at as usize)?;
            at = node.parent;
            self.frames.get(node.frame as usize).copied()
        })
    }

    /// A thread's name as a person knows it: never empty.
    pub fn thread_name(&self, thread: u32) -> String {
        match self.threads.get(thread as usize) {
            Some(thread) if !thread.name.is_empty() => thread.name.clone(),
            Some(thread) if thread.is_virtual => format!("virtual-{}", thread.java_id),
            Some(thread) => format!("thread-{}", thread.java_id),
            None => "unknown".to_owned(),
        }
    }

    /// A lock's name: its class and identity, and the run where there are
    /// several.
    pub fn lock_name(&self, lock: u32) -> String {
        match self.locks.get(lock as usize) {
            Some(lock) if lock.id == 0 => lock.class.clone(),
            Some(lock) if self.runs.len() > 1 => {
                format!("{}#{}.{}", lock.class, lock.run + 1, lock.id)
            }
            Some(lock) => format!("{}#{}", lock.class, lock.id),
            None => "unknown".to_owned(),
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
        for thread in &self.threads {
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
        for wait in &self.waits {
            within(wait.thread, self.threads.len(), "thread")?;
            within(wait.stack, self.stacks.len(), "stack")?;
            within(wait.lock, self.locks.len(), "lock")?;
        }
        let key = |wait: &Wait| (wait.thread, wait.stack, wait.lock, wait.kind);
        if !self.waits.is_sorted_by(|a, b| key(a) < key(b)) {
            return Err("the waits are not in order".to_owned());
        }
        Ok(())
    }
}
