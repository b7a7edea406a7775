//! Places where threads wait: what of a stack tells one from another.

use super::evidence::{LOOP_FRAMES, WakerPlace};
use crate::{describe::Names, java, names::is_jdk};
use std::collections::HashMap;
use tyrion_formats::Recording;
use tyrion_wire::def::id::{CUT_STACK, EMPTY_STACK};

/// A place where threads wait. It is a matter of code alone: the same in all
/// logs of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitPlace {
    /// The innermost frame of the program, `com.acme.Pool.borrow(Pool.java:42)`;
    /// empty if it has none on the stack.
    pub at: String,
    /// The method of the JDK that is called there, `java.lang.Object.wait`.
    pub calls: String,
    /// The outermost method of the program, `com.acme.Worker.run`: what the
    /// thread runs. Empty where the stack was cut below it.
    pub root: String,
}

impl WaitPlace {
    /// Whether the other one is in the same method and calls the same.
    pub(super) fn is_in_method_of(&self, other: &WaitPlace) -> bool {
        let method = |place: &WaitPlace| place.at.split('(').next().unwrap_or_default().to_owned();
        self.calls == other.calls && method(self) == method(other) && !self.at.is_empty()
    }
}

/// Places by number.
#[derive(Debug, Default)]
pub(super) struct PlaceNumbers {
    pub(super) list: Vec<WaitPlace>,
    numbers: HashMap<WaitPlace, u32>,
}

impl PlaceNumbers {
    pub(super) fn number(&mut self, place: WaitPlace) -> u32 {
        let list = &mut self.list;
        *self.numbers.entry(place).or_insert_with_key(|place| {
            list.push(place.clone());
            list.len() as u32 - 1
        })
    }

    pub(super) fn find(&self, place: &WaitPlace) -> Option<u32> {
        self.numbers.get(place).copied()
    }
}

/// What the frames of a stack tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StackShape {
    /// The innermost frame of the program: method and line.
    at: Option<(u32, u32)>,
    /// The method that it called.
    calls: Option<u32>,
    /// The outermost method of the program.
    root: Option<u32>,
    /// Whether outer frames were cut off.
    is_cut: bool,
    /// How many frames of the program there are.
    pub(super) frames: u32,
    /// What tells the program's methods, in their order, from others.
    pub(super) methods: u64,
}

impl StackShape {
    /// Whether the program's innermost method is its outermost one, too.
    pub(super) fn is_outermost(&self) -> bool {
        self.frames == 1 && !self.is_cut
    }

    /// Whether there are so few frames of the program as in a thread's loop.
    pub(super) fn is_of_loop(&self) -> bool {
        (1..=LOOP_FRAMES).contains(&self.frames) && !self.is_cut
    }
}

/// Fewer frames of the program may be those of a loop of some framework.
const DEEP_FRAMES: u32 = 12;

/// Stacks are read so far, which is farther than most are recorded; a log that is
/// made up may have any.
const MAX_FRAMES: usize = 512;

/// Reads the stacks of a log.
#[derive(Debug)]
pub(super) struct Shapes {
    /// For each method the hash of its name if it is the program's.
    methods: Vec<Option<u64>>,
}

impl Shapes {
    pub(super) fn of(log: &Recording) -> Shapes {
        let definitions = log.definitions();
        let mut methods = vec![None; definitions.methods().len()];
        for (id, method) in definitions.methods().iter() {
            let Some(class) = definitions.classes().get(method.class) else { continue };
            let class = java::class_name(&log.text(class.name));
            // A lambda's class has but one method, which only calls what is written.
            let is_written = !is_jdk(&class) && !class.contains("$$Lambda");
            if let Some(known) = methods.get_mut(id as usize).filter(|_| is_written) {
                let name = log.text(method.name);
                *known = Some(hash(hash(HASH_OF_NOTHING, class.as_bytes()), name.as_bytes()));
            }
        }
        Shapes { methods }
    }

    /// What a stack tells.
    pub(super) fn shape(&self, log: &Recording, stack: u32) -> StackShape {
        let stacks = log.definitions().stacks();
        let mut shape = StackShape { methods: HASH_OF_NOTHING, ..StackShape::default() };
        let (mut at, mut inner) = (stack, None);
        let mut left = MAX_FRAMES;
        while let Some(frame) = stacks.get(at).filter(|_| left != 0) {
            left -= 1;
            match self.methods.get(frame.method as usize).copied().flatten() {
                Some(name) => {
                    if shape.at.is_none() {
                        shape.at = Some((frame.method, frame.line));
                        shape.calls = inner;
                    }
                    shape.root = Some(frame.method);
                    shape.frames += 1;
                    shape.methods = hash(shape.methods, &name.to_le_bytes());
                }
                None => inner = Some(frame.method),
            }
            // Parents come before their children; anything else would not end.
            at = if frame.parent < at { frame.parent } else { EMPTY_STACK };
        }
        shape.is_cut = at == CUT_STACK || left == 0;
        shape
    }

    /// Where a thread with a stack was, seen from where threads with this shape wait.
    pub(super) fn waker_place(
        &self,
        (log, stack): (&Recording, u32),
        waiting: Option<&StackShape>,
    ) -> WakerPlace {
        let shape = self.shape(log, stack);
        let method = |shape: &StackShape| Some((shape.at?.0, shape.calls?));
        let is_here = |it: &&StackShape| method(it).is_some() && method(it) == method(&shape);
        match waiting {
            Some(waiting) if is_here(&waiting) => WakerPlace::Here,
            Some(waiting) if self.is_below(log, stack, waiting) => WakerPlace::Work,
            _ => WakerPlace::Elsewhere(shape.frames),
        }
    }

    /// Whether a thread with this stack ended waits with an error, by how methods are called.
    pub(super) fn has_failed(&self, log: &Recording, stack: u32) -> bool {
        let (stacks, methods) = (log.definitions().stacks(), log.definitions().methods());
        let mut at = stack;
        while let Some(frame) = stacks.get(at) {
            let name = methods.get(frame.method).map(|it| log.text(it.name)).unwrap_or_default();
            if FAILS.iter().any(|word| name.contains(word)) {
                return true;
            }
            at = if frame.parent < at { frame.parent } else { EMPTY_STACK };
        }
        false
    }

    /// Whether the method in which threads with this shape wait is on a stack, and has called
    /// another method of the program there.
    fn is_below(&self, log: &Recording, stack: u32, waiting: &StackShape) -> bool {
        let (stacks, Some((method, _))) = (log.definitions().stacks(), waiting.at) else {
            return false;
        };
        let (mut at, mut has_called) = (stack, false);
        while let Some(frame) = stacks.get(at) {
            if frame.method == method {
                return has_called;
            }
            has_called |= self.methods.get(frame.method as usize).is_some_and(Option::is_some);
            at = if frame.parent < at { frame.parent } else { EMPTY_STACK };
        }
        false
    }

    /// For each site whether so many frames of the program lead to it as to where work is
    /// done, and not as to where a thread's loop waits for some.
    pub(super) fn deep(&self, log: &Recording) -> Vec<bool> {
        let mut deep = vec![false; log.definitions().sites().len()];
        let mut stacks: HashMap<u32, bool> = HashMap::new();
        for (id, site) in log.definitions().sites().iter() {
            let is_deep = stacks
                .entry(site.stack)
                .or_insert_with(|| self.shape(log, site.stack).frames >= DEEP_FRAMES);
            if let Some(known) = deep.get_mut(id as usize) {
                *known = *is_deep;
            }
        }
        deep
    }

    /// Whether the innermost method of the program is in other packages than the outermost
    /// one, as far as their first two names tell: code of others, that the thread's own calls.
    pub(super) fn crosses(&self, log: &Recording, shape: &StackShape) -> bool {
        let (Some((at, _)), Some(root), false) = (shape.at, shape.root, shape.is_cut) else {
            return false;
        };
        let class = |method| {
            let class = log.definitions().methods().get(method).map(|it| it.class);
            class.map_or_else(String::new, |it| Names(log).class(it))
        };
        !is_of_one_maker(&class(at), &class(root))
    }

    /// How many stretches of code a stack has that are of one maker each: more than two where
    /// a library's thread calls the program, and that calls the library.
    pub(super) fn makers(&self, log: &Recording, stack: u32) -> usize {
        let stacks = log.definitions().stacks();
        let (mut at, mut count, mut last) = (stack, 0, String::new());
        while let Some(frame) = stacks.get(at) {
            let is_programs = self.methods.get(frame.method as usize).is_some_and(Option::is_some);
            let class = log.definitions().methods().get(frame.method).map(|it| it.class);
            let class = class.filter(|_| is_programs).map(|class| Names(log).class(class));
            if let Some(class) = class.filter(|it| count == 0 || !is_of_one_maker(it, &last)) {
                (count, last) = (count + 1, class);
            }
            at = if frame.parent < at { frame.parent } else { EMPTY_STACK };
        }
        count
    }

    /// The place in words.
    pub(super) fn place(&self, log: &Recording, shape: &StackShape) -> WaitPlace {
        let (names, Some((method, line))) = (Names(log), shape.at) else {
            return WaitPlace::default();
        };
        let root = shape.root.filter(|_| !shape.is_cut);
        WaitPlace {
            at: names.frame(method, line),
            calls: shape.calls.map_or_else(String::new, |method| method_name(log, method)),
            root: root.map_or_else(String::new, |method| method_name(log, method)),
        }
    }

    /// The method of the place, without the line, and what it calls.
    pub(super) fn method(&self, log: &Recording, shape: &StackShape) -> (String, String) {
        let name = |method| method_name(log, method);
        let at = shape.at.map_or_else(String::new, |(method, _)| name(method));
        (at, shape.calls.map_or_else(String::new, name))
    }
}

/// `com.acme.Pool.borrow`.
fn method_name(log: &Recording, method: u32) -> String {
    let Some(method) = log.definitions().methods().get(method) else {
        return tyrion_formats::UNKNOWN.to_owned();
    };
    format!("{}.{}", Names(log).class(method.class), log.text(method.name))
}

const HASH_OF_NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: the same in every run.
fn hash(of: u64, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(of, mix)
}

/// Whether a method of the JDK, `java.util.concurrent.ArrayBlockingQueue.put`,
/// puts something into a queue.
pub(super) fn puts(calls: &str) -> bool {
    let method = calls.strip_prefix("java.util.concurrent.").and_then(|it| it.rsplit_once('.'));
    method.is_some_and(|(_, method)| PUTS.contains(&method))
}

/// Whether a method of the program, `com.acme.JobQueue.put`, puts something into a queue of its
/// own, by how it is called, and waits there for room.
pub(super) fn puts_own(at: &str, calls: &str) -> bool {
    let waits = calls == "java.lang.Object.wait"
        || calls.starts_with("java.util.concurrent.locks.") && calls.contains(".await");
    let method = at.split('(').next().unwrap_or_default().rsplit('.').next().unwrap_or_default();
    waits && OWN_PUTS.contains(&method)
}

/// What programs call it to put something into a queue.
const OWN_PUTS: [&str; 4] = ["put", "offer", "enqueue", "push"];

/// Whether the packages of two classes begin with the same two names, or are short and equal.
pub fn is_of_one_maker(one: &str, other: &str) -> bool {
    let maker = |class: &str| -> Vec<String> {
        let package = class.rsplit_once('.').map_or("", |(package, _)| package);
        package.split('.').take(2).map(str::to_owned).collect()
    };
    maker(one) == maker(other)
}

/// Whether a method of the JDK, `java.util.concurrent.FutureTask.get`, waits for what
/// another thread is to do for the caller.
pub(super) fn asks(calls: &str) -> bool {
    let Some((class, method)) = calls.rsplit_once('.') else { return false };
    ASKS.iter().any(|(of, methods)| *of == class && methods.iter().any(|it| method.starts_with(it)))
}

/// Whether such a method, `java.util.concurrent.Phaser.arriveAndAwaitAdvance`, waits for all
/// others to come.
pub(super) fn meets(calls: &str) -> bool {
    let class = calls.rsplit_once('.').map_or("", |(class, _)| class);
    ["CyclicBarrier", "Phaser"].iter().any(|it| class.strip_prefix(JUC) == Some(it))
}

const JUC: &str = "java.util.concurrent.";

/// The same, or whether it waits for room for what the caller has.
pub(super) fn is_asking(calls: &str) -> bool {
    asks(calls) || puts(calls)
}

/// The classes and how their methods begin that wait for what others do.
const ASKS: [(&str, &[&str]); 13] = [
    ("java.util.concurrent.FutureTask", &["get"]),
    ("java.util.concurrent.CompletableFuture", &["get", "join"]),
    ("java.util.concurrent.ForkJoinTask", &["get", "join", "invoke", "quietly"]),
    ("java.util.concurrent.ForkJoinPool", &["invoke"]),
    ("java.util.concurrent.AbstractExecutorService", &["invoke"]),
    ("java.util.concurrent.ThreadPoolExecutor", &["awaitTermination"]),
    ("java.util.concurrent.CountDownLatch", &["await"]),
    ("java.util.concurrent.CyclicBarrier", &["await"]),
    ("java.util.concurrent.Phaser", &["await", "arriveAndAwait"]),
    ("java.util.concurrent.Exchanger", &["exchange"]),
    ("java.lang.Thread", &["join"]),
    ("java.lang.Process", &["waitFor"]),
    ("java.lang.ProcessImpl", &["waitFor"]),
];

/// What is in the names of methods that end waits since nobody has answered.
const FAILS: [&str; 6] = ["Exceptionally", "Exception", "Failure", "imeout", "cancel", "expire"];

/// How methods begin that lend something.
const LENDS: [&str; 7] =
    ["borrow", "acquire", "tryAcquire", "checkout", "checkOut", "lease", "getConnection"];

/// Whether a frame, `org.lib.Pool.borrow(Pool.java:42)`, is of a method that lends something, by
/// how it is called.
pub fn lends(frame: &str) -> bool {
    let method = frame.split('(').next().unwrap_or_default();
    let name = method.rsplit('.').next().unwrap_or_default();
    !is_jdk(frame) && LENDS.iter().any(|lends| name.starts_with(lends))
}

/// What queues call it to put something in, and wait for room or for who takes it.
const PUTS: [&str; 9] = [
    "put",
    "offer",
    "transfer",
    "tryTransfer",
    "putFirst",
    "putLast",
    "offerFirst",
    "offerLast",
    "submit",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_made_classes_is_told_by_their_packages() {
        for (one, other, expected) in [
            ("org.apache.tomcat.util.threads.TaskQueue", "org.apache.catalina.Loop", true),
            ("com.zaxxer.hikari.Bag", "com.acme.Client", false),
            ("com.zaxxer.hikari.Bag", "Client", false),
            ("Client$Pool", "Client", true),
            ("acme.Pool", "acme.Client", true),
        ] {
            assert_eq!(is_of_one_maker(one, other), expected, "{one}, {other}");
        }
    }

    #[test]
    fn results_are_asked_for() {
        for (calls, expected) in [
            ("java.util.concurrent.FutureTask.get", true),
            ("java.util.concurrent.ForkJoinTask.quietlyJoin", true),
            ("java.util.concurrent.CountDownLatch.await", true),
            ("java.lang.Thread.join", true),
            ("java.util.concurrent.ArrayBlockingQueue.take", false),
            ("java.util.concurrent.locks.LockSupport.park", false),
            ("com.acme.FutureTask.get", false),
            ("", false),
        ] {
            assert_eq!(asks(calls), expected, "{calls}");
        }
        assert!(is_asking("java.util.concurrent.ArrayBlockingQueue.put"), "asks for room");
    }

    #[test]
    fn what_is_lent_is_told_by_how_methods_are_called() {
        assert!(lends("org.lib.Pool.borrowObject(Pool.java:42)"));
        assert!(lends("org.lib.Source.getConnection"));
        assert!(!lends("org.lib.Inbox.receive(Inbox.java:3)"));
        assert!(!lends("java.util.concurrent.Semaphore.acquire(Semaphore.java:318)"));
    }

    #[test]
    fn queues_are_put_into() {
        for (calls, expected) in [
            ("java.util.concurrent.ArrayBlockingQueue.put", true),
            ("java.util.concurrent.LinkedBlockingDeque.offerFirst", true),
            ("java.util.concurrent.LinkedTransferQueue.transfer", true),
            ("java.util.concurrent.ArrayBlockingQueue.take", false),
            ("java.util.concurrent.locks.LockSupport.park", false),
            ("com.acme.Queue.put", false),
            ("java.lang.Object.wait", false),
            ("", false),
        ] {
            assert_eq!(puts(calls), expected, "{calls}");
        }
    }
}
