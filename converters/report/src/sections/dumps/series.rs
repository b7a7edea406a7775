//! The dumps of all logs in the order of time, and what each thread does in each of them.

use crate::{
    Findings,
    findings::{names::is_machinery, program::ProgramCode, thread_group},
};
use std::collections::HashMap;
use tyrion_formats::{DumpedThread, HolderSource, Noted, Recording, ThreadDump};
use tyrion_model::{
    describe::Names,
    names::is_jdk,
    states::{State, StateReader},
};
use tyrion_wire::{
    WaitKind,
    sample::{Sample, ThreadState},
};

/// Threads whose waits end and begin anew use no more of a processor from one dump to another.
const WAITS_AGAIN_NS: u64 = 1_000_000;
/// Numbers of threads from here on are not Java's own.
const UNNUMBERED: u64 = 1 << 40;
/// Who waits has called so few methods of its own where it does nothing else.
const OWN_LOOP: usize = 2;
/// So many of the program's innermost frames tell what a thread waits for.
const TELLING: usize = 6;
/// How methods begin in which threads wait for work.
const WAITS_FOR_WORK: [&str; 14] = [
    "waitForMore",
    "waitForWork",
    "waitForNext",
    "waitForTask",
    "awaitTask",
    "awaitWork",
    "getTask",
    "takeTask",
    "nextTask",
    "getNextEvent",
    "dequeue",
    "mainLoop",
    "idle",
    "waitWhileIdle",
];
/// How methods begin in which threads wait for one of few objects, such as a connection.
const BORROWS: [&str; 9] = [
    "borrow",
    "getConnection",
    "checkout",
    "checkOut",
    "leaseConnection",
    "getPoolEntryBlocking",
    "getResource",
    "takeConnection",
    "acquireConnection",
];
/// Parts of the names of classes of what pools of connections give out.
const POOLED: [&str; 5] = ["Connection", "Statement", "ResultSet", "Delegating", "Proxy"];
/// How a holder is known that is in the code of what it took from a pool.
const USES_IT: &str = "uses-it";
/// Parts of the names of classes by which threads wait for what they have asked for.
const RESULTS: [&str; 5] = ["Future", "CountDownLatch", "ForkJoinTask", "Promise", "Coroutine"];
/// How methods begin that take from a queue of the program's own.
const TAKES: [&str; 5] = ["take", "poll", "dequeue", "pop", "receive"];
/// How methods begin that wait for room in a queue.
const PUTS: [&str; 2] = ["put", "transfer"];
/// How methods begin that wait for room, whatever it is in.
const WAITS_FOR_ROOM: [&str; 5] =
    ["waitForRoom", "waitForSpace", "awaitSpace", "awaitRoom", "awaitNotFull"];
/// Where threads wait until others come to the same point.
const MEETS: [&str; 3] = ["Phaser", "CyclicBarrier", "Exchanger"];
/// Parts of the names of such queues.
const QUEUES: [&str; 4] = ["Queue", "Mailbox", "Inbox", "Consumer"];
/// Parts of the names of classes whose threads read whatever comes.
const READERS: [&str; 4] = ["Reader", "Receiver", "Listener", "Receiv"];
/// Beginnings of the names of the JDK's classes whose native methods wait for what is outside.
const OUTSIDE: [&str; 9] = [
    "sun.nio.",
    "java.net.",
    "java.io.",
    "sun.net.",
    "java.lang.Process",
    "java.lang.UNIXProcess",
    "jdk.net.",
    "com.sun.",
    "sun.security.",
];
/// Threads of the JDK that are there once a program has begun a virtual one.
const OF_VIRTUAL: [&str; 2] = ["VirtualThread-unparker", "VirtualThread-unblocker"];
/// Where pools run their tasks.
const RUNS_TASKS: [&str; 2] = ["runWorker", "doExec"];
/// What starts programs in development environments has threads of its own there.
const TOOLS: &str = "com.intellij.rt.";
/// Who takes a dump in its own JVM runs meanwhile.
const TAKES_DUMPS: [&str; 3] = ["dumpThread", "dumpAllThreads", "getAllStackTraces"];

/// A thread in a dump.
#[derive(Clone, Debug)]
pub(super) struct SeenThread<'a> {
    /// The same in all dumps for one thread.
    pub(super) thread: usize,
    pub(super) log: &'a Recording,
    pub(super) dumped: &'a DumpedThread,
    pub(super) state: State,
    pub(super) stack: &'a StackFacts,
}

/// What a stack says.
#[derive(Clone, Debug, Default)]
pub(super) struct StackFacts {
    /// Its frames, innermost first.
    pub(super) frames: Vec<String>,
    /// The innermost frame outside of what locks are made of.
    pub(super) place: String,
    /// Where it asks a pool for an object, and who called that.
    pub(super) borrows: Option<(String, String)>,
    waits_for_work: bool,
    /// It waits for a result that it has asked for.
    pub(super) asks: bool,
    /// It waits until others come to the same point.
    pub(super) meets: bool,
    /// It waits for room in a queue.
    pub(super) puts: bool,
    /// Of the JDK's native methods, what the innermost one does.
    native: NativeCall,
    /// It reads whatever comes, in a loop.
    reads: bool,
    /// A pool runs a task in it.
    pub(super) is_task: bool,
    /// The pool is one of the JDK's kind, whose tasks wait for each other's threads.
    pub(super) is_of_executor: bool,
    /// It runs nothing of the program's own code: a library waits here for work.
    is_of_library: bool,
    /// Hardly any method of the program's lies between the thread's start and its wait.
    loops: bool,
    takes_dumps: bool,
    /// All its frames are the JDK's, such as those of pollers of virtual threads.
    is_of_jdk: bool,
    /// It is a thread of the development environment that started the program.
    is_of_tools: bool,
}

/// What a native method of the JDK does, which the JVM calls runnable whatever it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NativeCall {
    /// Waits for what is outside, or is not the JDK's.
    #[default]
    Outside,
    /// It is about to wait, or no longer does.
    Parks,
    Sleeps,
    Waits,
    /// Waits for a packet of anybody.
    Receives,
    /// Anything else, such as waking another thread.
    Runs,
}

impl NativeCall {
    fn of(frame: &str) -> NativeCall {
        match (class(frame), method(frame)) {
            ("java.lang.Thread", method) if method.starts_with("sleep") => NativeCall::Sleeps,
            ("java.lang.Object", method) if method.starts_with("wait") => NativeCall::Waits,
            (class, "park") if class.ends_with("misc.Unsafe") => NativeCall::Parks,
            (class, method) if class.contains(".Datagram") && method.starts_with("receive") => {
                NativeCall::Receives
            }
            (class, _) if !is_jdk(class) => NativeCall::Outside,
            (class, _) if OUTSIDE.iter().any(|begin| class.starts_with(begin)) => {
                NativeCall::Outside
            }
            _ => NativeCall::Runs,
        }
    }
}

impl StackFacts {
    fn of(frames: Vec<String>, program: &ProgramCode) -> StackFacts {
        let outside = frames.iter().find(|frame| !is_machinery(frame)).or(frames.first());
        let place = outside.cloned().unwrap_or_default();
        let own: Vec<&String> =
            frames.iter().filter(|frame| !is_machinery(frame) && !is_jdk(class(frame))).collect();
        let inner = own.get(..TELLING.min(own.len())).unwrap_or_default();
        // What was called by the program's innermost method, and that one.
        let called: Vec<&String> = match own.first() {
            Some(first) => {
                let until = frames.iter().take_while(|it| it != first);
                until.chain(own.first().copied()).collect()
            }
            None => frames.iter().collect(),
        };
        let borrows = borrows(&own, inner);
        let is_named = inner.iter().any(|frame| begins(frame, &WAITS_FOR_WORK))
            || inner.iter().take(2).any(|it| begins(it, &TAKES) && has(it, &QUEUES));
        // What the JDK's own streams wait for is no signal of the program's.
        let is_direct = outside.is_some_and(|frame| !is_jdk(class(frame)));
        // What a thread's own loop waits for is its work, or its end.
        let is_run = own.first().is_some_and(|it| method(it) == "run");
        let asks = !is_run && called.iter().chain(inner.get(1)).any(|frame| is_for_result(frame));
        let is_program = program.frame(&frames).is_some();
        // A pool of a library's own calls the program from its threads.
        let is_outermost = |it: &&String| program.frame(std::slice::from_ref(*it)).is_none();
        let is_given = program.is_known() && is_program && own.last().is_some_and(is_outermost);
        let is_of_executor = frames.iter().any(|frame| RUNS_TASKS.contains(&method(frame)));
        let loops_reading = own.len() <= OWN_LOOP + 1 && own.iter().any(|it| has(it, &READERS));
        StackFacts {
            place,
            waits_for_work: borrows.is_none() && is_named,
            borrows,
            asks,
            meets: called.iter().any(|frame| has(frame, &MEETS)),
            puts: called.iter().any(|frame| is_for_room(frame)),
            native: frames.first().map_or(NativeCall::Outside, |frame| NativeCall::of(frame)),
            reads: loops_reading && frames.first().is_some_and(|it| is_of_sockets(it)),
            is_task: is_given || is_of_executor,
            is_of_executor,
            is_of_library: program.is_known() && !own.is_empty() && !asks && !is_program,
            loops: own.len() <= OWN_LOOP && is_direct,
            takes_dumps: frames.iter().any(|frame| begins(frame, &TAKES_DUMPS)),
            is_of_jdk: frames.iter().all(|frame| is_jdk(class(frame))),
            is_of_tools: !own.is_empty() && own.iter().all(|it| class(it).starts_with(TOOLS)),
            frames,
        }
    }
}

/// Whether a method's name begins with one of these.
fn begins(frame: &str, with: &[&str]) -> bool {
    with.iter().any(|begin| method(frame).starts_with(begin))
}

/// Whether one of these is a part of its class's name.
fn has(frame: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| class(frame).contains(part))
}

fn is_for_result(frame: &str) -> bool {
    has(frame, &RESULTS) || class(frame) == "java.lang.Thread" && method(frame) == "join"
}

fn is_for_room(frame: &str) -> bool {
    let is_queue = || has(frame, &QUEUES) || has(frame, &["Buffer", "Channel"]);
    begins(frame, &PUTS) && is_queue() || begins(frame, &WAITS_FOR_ROOM)
}

fn is_of_sockets(frame: &str) -> bool {
    ["sun.nio.ch.", "java.net."].iter().any(|begin| frame.starts_with(begin))
}

/// Where a thread with these frames of the program's asks a pool for an object, and who called
/// that.
fn borrows(own: &[&String], inner: &[&String]) -> Option<(String, String)> {
    // Others, too, have methods of these names.
    let is_pool = |frame: &&String| {
        let is_telling = method(frame).starts_with("borrow");
        begins(frame, &BORROWS) && (is_telling || has(frame, &["Pool", "DataSource"]))
    };
    let at = inner.iter().position(is_pool)?;
    let pool = *inner.get(at)?;
    // A pool of connections is made of a pool of objects, and both of several classes.
    let is_of_pool = |it: &str| vendor(it) == vendor(pool) || begins(it, &BORROWS);
    let caller = own.iter().skip(at + 1).find(|it| !is_of_pool(it));
    Some((pool.clone(), caller.map_or_else(String::new, |it| (*it).clone())))
}

impl StackFacts {
    /// Whether it waits for packets, connections, or what a selector tells of.
    pub(super) fn takes_input(&self) -> bool {
        let selects = |frame: &String| class(frame) == "sun.nio.ch.SelectorImpl";
        self.native == NativeCall::Receives || self.frames.iter().take(TELLING).any(selects)
    }

    /// Whether who does this seems to have an object of a pool that others wait for in `pool`,
    /// called by `caller`, and how that is known.
    pub(super) fn has_of_pool(&self, pool: &str, caller: &str) -> Option<&'static str> {
        if self.borrows.is_some() || self.waits_for_work {
            return None;
        }
        let is_beyond = |frame: &String| {
            class(frame) == class(caller)
                && method(frame) == method(caller)
                && line(caller) != 0
                && line(frame) > line(caller)
        };
        if !caller.is_empty() && self.frames.iter().any(is_beyond) {
            return Some(HolderSource::BeyondTheCall.name());
        }
        let is_object = |frame: &&String| {
            let class = class(frame).rsplit('.').next().unwrap_or_default();
            vendor(frame) == vendor(pool) && POOLED.iter().any(|part| class.contains(part))
        };
        let object = self.frames.iter().rposition(|frame| is_object(&frame))?;
        // What the pool does for itself is called by nobody else.
        let mut callers = self.frames.iter().skip(object + 1);
        let is_called = |it: &String| !is_jdk(class(it)) && vendor(it) != vendor(pool);
        callers.any(is_called).then_some(USES_IT)
    }
}

impl SeenThread<'_> {
    /// Waits for a lock that another thread has.
    pub(super) fn is_blocked(&self) -> bool {
        let kind = self.dumped.kind;
        // A permit may be a place to take, or work that is to come.
        if kind == Some(WaitKind::Semaphore) {
            return false;
        }
        // After a notification it enters again as others do who never waited, and nobody has
        // to have the monitor: only who is named as its holder blocks it.
        let again = self.dumped.reenters || kind == Some(WaitKind::LockReacquire);
        kind.is_some_and(WaitKind::is_contention) || again && !self.dumped.owners.is_empty()
    }

    /// Waits for something else than work, for as long as it takes.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.state, State::Waiting | State::Parked) && self.waits_for_ever()
    }

    /// Waits for something else than work, for a limited time.
    pub(super) fn is_asking_for_a_time(&self) -> bool {
        matches!(self.state, State::Waiting | State::Parked)
            && self.dumped.is_timed
            && self.dumped.kind.is_some()
            && !self.is_blocked()
            && !self.dumped.reenters
    }

    /// The same, whether or not it seems to wait for work: of one who has a lock that others
    /// wait for.
    pub(super) fn waits_for_ever(&self) -> bool {
        let waits = matches!(self.state, State::Waiting | State::Parked | State::Idle);
        let is_wait = self.dumped.kind.is_some();
        waits && is_wait && !self.is_blocked() && !self.dumped.reenters && !self.dumped.is_timed
    }

    /// Whether it used a processor since an earlier dump, for more than a limited wait takes that
    /// begins anew; not if the dumps do not tell.
    pub(super) fn has_run_since(&self, before: &SeenThread<'_>) -> bool {
        let used = self.dumped.cpu_ns.zip(before.dumped.cpu_ns);
        let most_ns = if self.dumped.is_timed { WAITS_AGAIN_NS } else { 0 };
        used.is_some_and(|(now, before)| now.saturating_sub(before) > most_ns)
    }

    /// Does something, or sleeps where it may do so for a task.
    pub(super) fn is_at_work(&self) -> bool {
        matches!(self.state, State::Running | State::Native | State::Sleeping | State::Blocked)
    }

    /// It has called much before it waited, and waits for no permit.
    pub(super) fn is_deep(&self) -> bool {
        !self.stack.loops && !self.stack.meets && self.dumped.kind != Some(WaitKind::Semaphore)
    }

    pub(super) fn name(&self) -> String {
        Names(self.log).thread(self.dumped.thread)
    }

    pub(super) fn is_virtual(&self) -> bool {
        let known = self.log.definitions().threads().get(self.dumped.thread);
        known.is_some_and(|it| it.is_virtual)
    }

    /// Whether the JDK has begun it for virtual threads, which this dump may not show.
    pub(super) fn is_of_virtual(&self) -> bool {
        OF_VIRTUAL.contains(&self.name().as_str())
    }

    pub(super) fn group(&self) -> String {
        thread_group(&self.name())
    }

    /// Class and name of what it waits for.
    pub(super) fn lock(&self) -> (String, String) {
        match self.dumped.lock {
            0 => Default::default(),
            lock => Names(self.log).lock_parts(lock),
        }
    }
}

/// A dump.
#[derive(Debug)]
pub(super) struct SeenDump<'a> {
    pub(super) dump: &'a ThreadDump,
    pub(super) threads: Vec<SeenThread<'a>>,
    /// The place of a thread in the list, by its id in the log.
    by_id: HashMap<u32, usize>,
}

impl SeenDump<'_> {
    /// The place of a thread in the list.
    pub(super) fn place_of(&self, id: u32) -> Option<usize> {
        self.by_id.get(&id).copied()
    }
}

/// What stacks say, so that each is read once.
#[derive(Debug, Default)]
pub(super) struct StackBook(HashMap<(usize, u32), StackFacts>);

impl StackBook {
    /// Of all stacks in the dumps of these logs.
    pub(super) fn of(logs: &[Recording], program: &ProgramCode) -> StackBook {
        let mut book = HashMap::new();
        for (run, log) in logs.iter().enumerate() {
            for thread in log.dumps().iter().flat_map(|dump| &dump.threads) {
                let facts = || StackFacts::of(Names(log).stack(thread.stack), program);
                book.entry((run, thread.stack)).or_insert_with(facts);
            }
        }
        StackBook(book)
    }
}

/// The dumps of logs, in the order of time as far as that is known, else as given.
pub(super) fn series<'a>(findings: &Findings<'a>, book: &'a StackBook) -> Vec<SeenDump<'a>> {
    let mut keys: HashMap<(String, u64, usize), usize> = HashMap::new();
    let mut dumps: Vec<SeenDump<'a>> = Vec::new();
    for (run, log) in findings.logs.iter().enumerate() {
        let reader = StateReader::new(log);
        for dump in log.dumps() {
            let mut counts: HashMap<(String, u64), usize> = HashMap::new();
            let mut threads = Vec::new();
            for dumped in &dump.threads {
                let name = Names(log).thread(dumped.thread);
                let id = log.definitions().threads().get(dumped.thread).map(|it| it.java_id);
                let key = (name, id.filter(|&id| id < UNNUMBERED).unwrap_or(0));
                let nth = counts.entry(key.clone()).or_default();
                *nth += 1;
                let next = keys.len();
                let thread = *keys.entry((key.0, key.1, *nth)).or_insert(next);
                let Some(stack) = book.0.get(&(run, dumped.stack)) else { continue };
                let state = state(&reader, dump.at_ns, dumped, stack);
                threads.push(SeenThread { thread, log, dumped, state, stack });
            }
            let ids = threads.iter().enumerate().map(|(at, it)| (it.dumped.thread, at));
            dumps.push(SeenDump { dump, by_id: ids.collect(), threads });
        }
    }
    if dumps.iter().all(|dump| dump.dump.wall_ns.is_some()) {
        dumps.sort_by_key(|dump| dump.dump.wall_ns);
    }
    dumps
}

fn state(reader: &StateReader<'_>, at_ns: u64, dumped: &DumpedThread, stack: &StackFacts) -> State {
    let told = match (dumped.state, stack.native) {
        (ThreadState::Running | ThreadState::Native, NativeCall::Parks) => ThreadState::Parked,
        (ThreadState::Running | ThreadState::Native, NativeCall::Sleeps) => ThreadState::Sleeping,
        (ThreadState::Running | ThreadState::Native, NativeCall::Waits) => ThreadState::Waiting,
        (state, _) => state,
    };
    let sample = Sample {
        wall_ns: 1,
        count: 1,
        state: told.code(),
        stack: dumped.stack,
        kind: dumped.kind.map_or(0, |kind| u32::from(kind.code())),
        lock: dumped.lock,
        ..Sample::default()
    };
    let state = reader.state(&Noted { thread: dumped.thread, at_ns, record: sample });
    match state {
        State::Blocked if dumped.kind == Some(WaitKind::Semaphore) => match stack.waits_for_work {
            true => State::Idle,
            false => State::Parked,
        },
        State::Waiting | State::Parked
            if stack.waits_for_work || stack.is_of_jdk || stack.is_of_library =>
        {
            State::Idle
        }
        // A packet of anybody.
        State::Native if stack.reads || stack.native == NativeCall::Receives => State::Idle,
        _ if stack.is_of_tools => State::Idle,
        // Who waits for a signal as soon as it has begun does what it is told.
        State::Waiting | State::Parked
            if stack.loops
                && stack.borrows.is_none()
                && matches!(dumped.kind, Some(WaitKind::ObjectWait | WaitKind::Condition)) =>
        {
            State::Idle
        }
        // It took a connection from a queue's head, which is no work.
        State::Idle if stack.borrows.is_some() => State::Parked,
        State::Running | State::Native | State::Other if stack.takes_dumps => State::Idle,
        State::Native if stack.native == NativeCall::Runs => State::Running,
        state => state,
    }
}

/// The class of a frame, `com.acme.Foo.bar(Foo.java:12)`.
pub(super) fn class(frame: &str) -> &str {
    let name = frame.split('(').next().unwrap_or(frame);
    name.rsplit_once('.').map_or("", |(class, _)| class)
}

pub(super) fn method(frame: &str) -> &str {
    let name = frame.split('(').next().unwrap_or(frame);
    name.rsplit_once('.').map_or(name, |(_, method)| method)
}

/// The first three parts of a package: those who make a library have all that begins so.
fn vendor(frame: &str) -> &str {
    let package = class(frame).rsplit_once('.').map_or("", |(package, _)| package);
    package
        .match_indices('.')
        .nth(2)
        .map_or(package, |(at, _)| package.get(..at).unwrap_or(package))
}

fn line(frame: &str) -> u32 {
    let line = frame.rsplit_once(':').map(|(_, line)| line.trim_end_matches(')'));
    line.and_then(|line| line.parse().ok()).unwrap_or(0)
}

/// `Foo.bar:12`, for a line of words.
pub(crate) fn brief(frame: &str) -> String {
    let simple = class(frame).rsplit('.').next().unwrap_or_default();
    let line = frame.rsplit_once(':').map(|(_, line)| line.trim_end_matches(')'));
    let line = line.filter(|line| line.bytes().all(|byte| byte.is_ascii_digit()));
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    match simple {
        "" => format!("{}{line}", method(frame)),
        simple => format!("{simple}.{}{line}", method(frame)),
    }
}
