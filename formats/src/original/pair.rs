//! The events of each thread become acquisitions: `enter` and `exit` belong together as
//! they nest.

use super::line::{EventKind, LineBlock, LineEvent};
use crate::limits::original::{
    MAX_ACQUISITIONS, MAX_LOCKS, MAX_NAMES, MAX_NESTINGS, MAX_OPEN, MAX_OUTER, MAX_THREADS,
};
use std::collections::{HashMap, HashSet};

/// Stands for a time that is not known.
pub(super) const NEVER: u64 = u64::MAX;

/// A lock that was taken, and released unless the log ended before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acquisition {
    /// Numbers of [`Pairs::locks`] and [`Pairs::threads`].
    pub(super) lock: u32,
    pub(super) thread: u32,
    /// When the thread asked for it, or [`NEVER`] if that is not told. Unix time, as all.
    pub(super) entering_ns: u64,
    pub(super) enter_ns: u64,
    /// When it was released, or [`NEVER`].
    pub(super) exit_ns: u64,
}

/// A lock that a thread took while it held others, for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LockNest {
    pub(super) thread: u32,
    pub(super) at_ns: u64,
    pub(super) inner: u32,
    /// The outermost first.
    pub(super) outer: Vec<u32>,
}

/// A lock, known by hash and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LockId {
    pub(super) class: String,
    /// Its identity hash; 0 if it is not known.
    pub(super) hash: u32,
}

/// A thread.
#[derive(Debug, Default)]
pub(super) struct ThreadPairs {
    pub(super) java_id: u64,
    /// Its first name, and when it took others.
    pub(super) name: String,
    pub(super) renamed: Vec<(u64, String)>,
    held: Vec<ThreadHold>,
    /// The lock that it asks for, and since when.
    pub(super) asks: Option<(u32, u64)>,
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug)]
struct ThreadHold {
    lock: u32,
    entering_ns: u64,
    enter_ns: u64,
    is_reentrant: bool,
}

/// What events have told.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) acquisitions: Vec<Acquisition>,
    pub(super) nestings: Vec<LockNest>,
    pub(super) locks: Vec<LockId>,
    pub(super) threads: Vec<ThreadPairs>,
    /// Reentrant acquisitions, by thread and lock.
    pub(super) reentrant: HashMap<(u32, u32), u64>,
    /// The moments of the first and of the last event.
    pub(super) first_ns: Option<u64>,
    pub(super) last_ns: u64,
    /// Whether the log tells when threads asked for locks.
    pub(super) has_entering: bool,
    /// Events without those that they belong to, as where recording begins and ends.
    pub(super) unpaired: u64,
    /// Acquisitions beyond those that are read, events of further locks and threads, and
    /// the like.
    pub(super) left_out: u64,
    /// How many new names of threads are known.
    names: usize,
    by_id: HashMap<u64, u32>,
    by_hash: HashMap<(u32, String), u32>,
    known_nestings: HashSet<(u32, u32, Vec<u32>)>,
}

impl Pairs {
    /// Takes up a block, the next one of the file.
    pub(super) fn take(&mut self, block: &LineBlock) {
        // Of the block's class and hash: looked up once.
        let mut known: HashMap<(u32, u32), Option<u32>> = HashMap::new();
        let text = |number: u32| block.texts.get(number as usize).map_or("", String::as_str);
        for event in &block.events {
            let lock = *known
                .entry((event.class, event.hash))
                .or_insert_with(|| self.lock(text(event.class), event.hash));
            let thread = self.thread(event, text(event.thread_name));
            let (Some(lock), Some(thread)) = (lock, thread) else {
                self.left_out += 1;
                continue;
            };
            self.first_ns = Some(self.first_ns.map_or(event.at_ns, |ns| ns.min(event.at_ns)));
            self.last_ns = self.last_ns.max(event.at_ns);
            self.event(event, thread, lock);
        }
    }

    /// The number of a lock; `None` if there are too many.
    fn lock(&mut self, class: &str, hash: u32) -> Option<u32> {
        let key = (hash, class.to_owned());
        if let Some(&number) = self.by_hash.get(&key) {
            return Some(number);
        }
        let next = self.locks.len();
        (next < MAX_LOCKS).then(|| {
            self.by_hash.insert(key, next as u32);
            self.locks.push(LockId { class: class.to_owned(), hash });
            next as u32
        })
    }

    /// The number of an event's thread; `None` if there are too many.
    fn thread(&mut self, event: &LineEvent, name: &str) -> Option<u32> {
        let next = self.threads.len();
        let Some(&number) = self.by_id.get(&event.java_id) else {
            return (next < MAX_THREADS).then(|| {
                let (java_id, name) = (event.java_id, name.to_owned());
                self.by_id.insert(java_id, next as u32);
                self.threads.push(ThreadPairs { java_id, name, ..ThreadPairs::default() });
                next as u32
            });
        };
        if let Some(thread) = self.threads.get_mut(number as usize) {
            let last = thread.renamed.last().map_or(&thread.name, |(_, name)| name);
            if last != name && self.names < MAX_NAMES {
                thread.renamed.push((event.at_ns, name.to_owned()));
                self.names += 1;
            } else if last != name {
                self.left_out += 1;
            }
        }
        Some(number)
    }

    fn event(&mut self, event: &LineEvent, number: u32, lock: u32) {
        let Some(thread) = self.threads.get_mut(number as usize) else { return };
        let at_ns = event.at_ns;
        match event.kind {
            EventKind::Entering => {
                self.has_entering = true;
                // One that has asked before and not got it was left by an exception.
                self.unpaired += u64::from(thread.asks.replace((lock, at_ns)).is_some());
            }
            EventKind::Enter => {
                let asked = thread.asks.take_if(|(asked, _)| *asked == lock);
                let entering_ns = asked.map_or(NEVER, |(_, since_ns)| since_ns.min(at_ns));
                if thread.held.len() >= MAX_OPEN {
                    self.unpaired += 1;
                    return;
                }
                let is_reentrant = thread.held.iter().any(|held| held.lock == lock);
                if is_reentrant {
                    *self.reentrant.entry((number, lock)).or_default() += 1;
                } else if !thread.held.is_empty() {
                    self.nest(number, lock, at_ns);
                }
                if let Some(thread) = self.threads.get_mut(number as usize) {
                    thread.held.push(ThreadHold {
                        lock,
                        entering_ns,
                        enter_ns: at_ns,
                        is_reentrant,
                    });
                }
            }
            EventKind::Exit => {
                let Some(at) = thread.held.iter().rposition(|held| held.lock == lock) else {
                    self.unpaired += 1;
                    return;
                };
                // What was taken within it is released, too, whatever became of the lines.
                let within: Vec<ThreadHold> = thread.held.drain(at..).collect();
                self.unpaired += within.len() as u64 - 1;
                for held in within {
                    self.release(number, held, at_ns);
                }
            }
        }
    }

    fn nest(&mut self, thread: u32, inner: u32, at_ns: u64) {
        let Some(of) = self.threads.get(thread as usize) else { return };
        let outer = of.held.iter().filter(|held| !held.is_reentrant).map(|held| held.lock);
        let outer: Vec<u32> = outer.take(MAX_OUTER).collect();
        let key = (thread, inner, outer);
        if self.known_nestings.contains(&key) {
            return;
        }
        if self.nestings.len() >= MAX_NESTINGS {
            self.left_out += 1;
            return;
        }
        self.nestings.push(LockNest { thread, at_ns, inner, outer: key.2.clone() });
        self.known_nestings.insert(key);
    }

    fn release(&mut self, thread: u32, held: ThreadHold, exit_ns: u64) {
        if held.is_reentrant {
            return;
        }
        if self.acquisitions.len() >= MAX_ACQUISITIONS {
            self.left_out += 1;
            return;
        }
        let ThreadHold { lock, entering_ns, enter_ns, .. } = held;
        let exit_ns = exit_ns.max(enter_ns);
        self.acquisitions.push(Acquisition { lock, thread, entering_ns, enter_ns, exit_ns });
    }

    /// Ends what had not ended when the log did.
    pub(super) fn finish(&mut self) {
        for number in 0..self.threads.len() as u32 {
            let Some(thread) = self.threads.get_mut(number as usize) else { continue };
            for held in std::mem::take(&mut thread.held) {
                self.release(number, held, NEVER);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    /// Pairs events: kind (`?` asks, `+` gets, `-` releases), thread, lock; each is a
    /// ns after the one before it.
    fn pairs(events: &str) -> Pairs {
        let mut block =
            LineBlock { texts: vec!["t".to_owned(), "C".to_owned()], ..LineBlock::default() };
        for (at_ns, event) in (1..).zip(events.split(' ')) {
            let digit = |at: usize| u64::from(event.as_bytes()[at] - b'0');
            let kind = match event.as_bytes()[0] {
                b'?' => EventKind::Entering,
                b'+' => EventKind::Enter,
                _ => EventKind::Exit,
            };
            let (java_id, hash) = (digit(1), digit(2) as u32);
            block.events.push(LineEvent { kind, java_id, thread_name: 0, class: 1, hash, at_ns });
        }
        let mut pairs = Pairs::default();
        pairs.take(&block);
        pairs.finish();
        pairs
    }

    fn times(pairs: &Pairs) -> Vec<(u32, u32, u64, u64, u64)> {
        let all = pairs.acquisitions.iter();
        all.map(|a| (a.thread, a.lock, a.entering_ns, a.enter_ns, a.exit_ns)).collect()
    }

    #[test]
    fn events_belong_together_as_they_nest() {
        let found = pairs("?11 +11 ?12 ?21 +12 -12 -11 +21 -21");
        assert_eq!(times(&found), [(0, 1, 3, 5, 6), (0, 0, 1, 2, 7), (1, 0, 4, 8, 9)]);
        assert_eq!((found.unpaired, found.has_entering), (0, true));
        let [nesting] = &found.nestings[..] else { panic!("{found:?}") };
        assert_eq!((nesting.inner, &nesting.outer[..], nesting.at_ns), (1, &[0][..], 5));
    }

    #[test]
    fn reentrant_ones_are_counted() {
        let found = pairs("+11 +11 -11 -11");
        assert_eq!(times(&found), [(0, 0, NEVER, 1, 4)]);
        assert_eq!((found.reentrant[&(0, 0)], found.has_entering), (1, false));
        assert!(found.nestings.is_empty());
    }

    #[test]
    fn a_thread_that_never_releases_is_read_in_bounds() {
        let text = vec!["+11"; 300_000].join(" ");
        let found = pairs(&text);
        assert_eq!((found.acquisitions.len(), found.unpaired), (1, 300_000 - MAX_OPEN as u64));
    }

    #[test]
    fn events_without_others_are_left_out() {
        let found = pairs("-11 ?11 ?12 +12 +13 -12 +14");
        assert_eq!(found.unpaired, 3, "-11, ?11, +13");
        assert_eq!(times(&found), [(0, 1, 3, 4, 6), (0, 2, NEVER, 5, 6), (0, 3, NEVER, 7, NEVER)]);
    }
}
