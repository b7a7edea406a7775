//! Holds that contention mode does not record, estimated from waits.
//!
//! While anybody waits for a lock, somebody has it, or it is being handed over. So a thread that
//! got it while others waited had it until the next one got it, without the time of the
//! handover, of which the agent's looks show how long it is: in some of them nobody has the
//! lock. Who had the lock when a wait began is known, too: a thread that took it without a
//! wait appears there.
//!
//! Holds for which nobody waited are not known. They look like anything else that a thread does.

use crate::{
    numbers::UNKNOWN,
    records::{Hold, Look, Object, Records, Wait, is_for_lock},
};
use std::collections::{BTreeMap, HashMap, HashSet};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;
use tyrion_wire::WaitKind;

/// Frames of these take locks on behalf of the one that called them.
const LIBRARIES: [&str; 3] = ["java.util.concurrent.", "jdk.internal.", "sun.misc."];

/// The object that stands for the lock with an id: no class has this number.
pub(crate) fn object(lock: u32) -> Object {
    (u32::MAX, lock)
}

/// Estimates the holds of all locks that one thread has at a time. Short waits of which only sums
/// are known are left out.
pub(crate) fn add_holds(logs: &[Recording], records: &mut Records) {
    records.folded.clear();
    let by_lock = exclusive(&mut records.waits);
    let interrupts = Interrupts::of(&records.waits);
    let mut places = Places { logs, ..Places::default() };
    let mut holds = Vec::new();
    for (lock, mut waits) in by_lock {
        waits.sort_unstable_by_key(|wait| (wait.end_ns, wait.thread));
        let from = records.looked.partition_point(|look| look.lock < lock);
        let to = records.looked.partition_point(|look| look.lock <= lock);
        let looked = &records.looked[from..to];
        let of = LockEvidence { lock, waits: &waits, looked, interrupts: &interrupts };
        holds.extend(of.spans().into_iter().map(|span| Hold {
            thread: span.thread,
            end_ns: span.end_ns,
            hold_ns: span.end_ns - span.start_ns,
            object: object(lock),
            place: places.number(span.stack),
        }));
    }
    holds.sort_unstable();
    (records.holds, records.places) = (holds, Some(places.names));
}

/// By lock that one thread has at a time: the waits that end with having it. Those that take it
/// again after a condition become ordinary ones.
fn exclusive(waits: &mut [Wait]) -> BTreeMap<u32, Vec<Wait>> {
    let shared = waits.iter().filter(|wait| is_shared(wait.kind));
    let shared: HashSet<u32> = shared.map(|wait| wait.lock).collect();
    let mut by_lock: BTreeMap<u32, Vec<Wait>> = BTreeMap::new();
    let is_exclusive = |wait: &&mut Wait| wait.lock != UNKNOWN && !shared.contains(&wait.lock);
    for wait in waits.iter_mut().filter(is_exclusive) {
        if wait.kind == WaitKind::LockReacquire {
            wait.kind = WaitKind::Lock;
        }
        if is_for_lock(wait.kind) || wait.kind == WaitKind::ObjectWait {
            by_lock.entry(wait.lock).or_default().push(*wait);
        }
    }
    by_lock.retain(|_, waits| waits.iter().any(|wait| is_for_lock(wait.kind)));
    by_lock
}

/// Whether several threads may have what is waited for, so that a grant does not tell that
/// another one has released it.
fn is_shared(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::LockRead | WaitKind::LockWrite | WaitKind::Semaphore)
}

/// When a thread began to wait for a lock, or for a condition of it: then it did not have it.
struct Interrupts(HashMap<(u32, u32), Vec<u64>>);

/// Stands for the lock of a condition, which the wait does not name.
const ANY: u32 = UNKNOWN;

impl Interrupts {
    fn of(waits: &[Wait]) -> Interrupts {
        let mut all: HashMap<(u32, u32), Vec<u64>> = HashMap::new();
        for wait in waits.iter().filter(|wait| wait.kind != WaitKind::Park) {
            let lock = if wait.kind == WaitKind::Condition { ANY } else { wait.lock };
            all.entry((wait.thread, lock)).or_default().push(wait.start_ns);
        }
        all.values_mut().for_each(|of| of.sort_unstable());
        Interrupts(all)
    }

    /// The first such moment that is not before another one.
    fn next_ns(&self, thread: u32, lock: u32, after_ns: u64) -> u64 {
        let next = |lock: u32| {
            let of = self.0.get(&(thread, lock))?;
            of.get(of.partition_point(|&at_ns| at_ns < after_ns)).copied()
        };
        let next = [next(lock), next(ANY)].into_iter().flatten().min();
        next.unwrap_or(u64::MAX)
    }
}

/// A thread has a lock, and has it until somebody else does, or until a known time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EstimatedHold {
    thread: u32,
    start_ns: u64,
    end_ns: u64,
    stack: (u32, u32),
}

/// A thread was seen to have a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sighting {
    /// The first and the last such moment before another thread had it.
    first_ns: u64,
    /// It had waited for it, since this moment and until the first.
    is_grant: bool,
    since_ns: u64,
    last_ns: u64,
    thread: u32,
    stack: (u32, u32),
}

impl Sighting {
    /// When the hold ended, if somebody waited for it all along: before the next thread got
    /// it, by the usual time in which nobody has it.
    fn end_ns(&self, next: &Sighting, waiting: &WaitStarts, free: f64) -> Option<u64> {
        let is_known = next.is_grant && waiting.is_any(self.last_ns, next.first_ns);
        let waited_ns = next.first_ns - self.last_ns;
        is_known.then(|| next.first_ns - (waited_ns as f64 * free) as u64)
    }

    /// When the hold began, at the end of the one before or later: at a grant, or some time
    /// before it was seen. Whoever meets a hold by chance meets it in its middle, on average.
    fn start_ns(&self, before_ns: u64, next: Option<&Sighting>) -> u64 {
        let left_ns = match self.is_grant {
            true => 0,
            false => next.map_or(0, |next| next.first_ns - self.last_ns),
        };
        self.first_ns.saturating_sub(left_ns).max(before_ns)
    }
}

/// What is known of one lock.
struct LockEvidence<'a> {
    lock: u32,
    /// In the order of their ends.
    waits: &'a [Wait],
    /// In the order of time.
    looked: &'a [Look],
    interrupts: &'a Interrupts,
}

impl LockEvidence<'_> {
    /// The holds, none of which overlaps another one.
    fn spans(&self) -> Vec<EstimatedHold> {
        let sightings = self.sightings();
        let waiting = WaitStarts::of(self.waits);
        let free = self.free_share();
        let pairs = || sightings.iter().zip(sightings.iter().skip(1).map(Some).chain([None]));
        let known = pairs().filter_map(|(seen, next)| {
            let end_ns = seen.end_ns(next.filter(|_| seen.is_grant)?, &waiting, free)?;
            Some(end_ns - seen.first_ns)
        });
        let usual_ns = median(known.collect());
        let mut spans: Vec<EstimatedHold> = Vec::with_capacity(sightings.len());
        for (seen, next) in pairs() {
            let before_ns = spans.last().map_or(0, |span| span.end_ns);
            let start_ns = seen.start_ns(before_ns, next);
            let until_ns = next.map_or(u64::MAX, |next| next.first_ns);
            let known_ns = next.and_then(|next| seen.end_ns(next, &waiting, free));
            let end_ns = match known_ns {
                Some(end_ns) => end_ns,
                // It was released some time between, and taken by one that did not wait.
                None if waiting.is_any(seen.last_ns, until_ns) => {
                    seen.last_ns + (until_ns - seen.last_ns) / 2
                }
                None => until_ns.min(start_ns.saturating_add(usual_ns)),
            };
            // Whoever waits for the lock does not have it.
            let after_ns = seen.last_ns.max(seen.first_ns + 1);
            let most_ns = self.interrupts.next_ns(seen.thread, self.lock, after_ns);
            let end_ns = end_ns.min(most_ns).max(seen.last_ns).max(start_ns);
            if end_ns > start_ns || seen.is_grant {
                spans.push(EstimatedHold {
                    thread: seen.thread,
                    start_ns,
                    end_ns,
                    stack: seen.stack,
                });
            }
        }
        spans
    }

    /// Grants, and owners that were seen, in the order of time; of successive ones of one
    /// thread the first.
    fn sightings(&self) -> Vec<Sighting> {
        let mut all: Vec<Sighting> = Vec::new();
        let owner = |at_ns: u64, thread: u32, stack: (u32, u32)| Sighting {
            first_ns: at_ns,
            is_grant: false,
            since_ns: at_ns,
            last_ns: at_ns,
            thread,
            stack,
        };
        for wait in self.waits {
            if (wait.granted || wait.kind == WaitKind::ObjectWait) && wait.end_ns > wait.start_ns {
                let (is_grant, since_ns) = (true, wait.start_ns);
                let seen = owner(wait.end_ns, wait.thread, wait.stack);
                all.push(Sighting { is_grant, since_ns, ..seen });
            }
            if wait.owner != UNKNOWN && wait.owner != wait.thread && is_for_lock(wait.kind) {
                all.push(owner(wait.start_ns, wait.owner, NOWHERE));
            }
        }
        let looked = self.looked.iter().filter(|look| look.owner != UNKNOWN);
        all.extend(looked.map(|look| owner(look.at_ns, look.owner, look.stack)));
        all.sort_unstable();
        let mut sightings: Vec<Sighting> = Vec::with_capacity(all.len());
        for seen in all {
            match sightings.last_mut().filter(|last| last.thread == seen.thread) {
                Some(last) if !seen.is_grant => {
                    last.last_ns = seen.last_ns;
                    if last.stack == NOWHERE {
                        last.stack = seen.stack;
                    }
                }
                // Others saw that it had got the lock before it did itself.
                Some(last) if last.first_ns >= seen.since_ns => *last = seen,
                _ => sightings.push(seen),
            }
        }
        sightings
    }

    /// In which part of the time that threads waited nobody had the lock.
    fn free_share(&self) -> f64 {
        let (mut free_ns, mut all_ns) = (0.0, 0.0);
        for look in self.looked.iter().filter(|look| look.is_free || look.owner != UNKNOWN) {
            all_ns += look.stands_for_ns as f64;
            free_ns += if look.is_free { look.stands_for_ns as f64 } else { 0.0 };
        }
        if all_ns > 0.0 { (free_ns / all_ns).min(MOST_FREE) } else { 0.0 }
    }
}

/// Looks that meet nobody may be wrong, as the lock changes hands.
const MOST_FREE: f64 = 0.9;
/// The stack of a thread that was not looked at.
const NOWHERE: (u32, u32) = (u32::MAX, 0);

/// Since when threads waited.
struct WaitStarts {
    ends: Vec<u64>,
    /// By wait: the earliest start of it and of those that end later.
    starts: Vec<u64>,
}

impl WaitStarts {
    /// Of waits in the order of their ends.
    fn of(waits: &[Wait]) -> WaitStarts {
        let waits = waits.iter().filter(|wait| is_for_lock(wait.kind));
        let (ends, mut starts): (Vec<u64>, Vec<u64>) =
            waits.map(|wait| (wait.end_ns, wait.start_ns)).unzip();
        let mut earliest = u64::MAX;
        for start_ns in starts.iter_mut().rev() {
            earliest = earliest.min(*start_ns);
            *start_ns = earliest;
        }
        WaitStarts { ends, starts }
    }

    /// The earliest start of the waits that end at this moment or later.
    fn since(&self, ns: u64) -> u64 {
        let from = self.ends.partition_point(|&end_ns| end_ns < ns);
        self.starts.get(from).copied().unwrap_or(u64::MAX)
    }

    /// Whether one waited all along between two moments.
    fn is_any(&self, from_ns: u64, to_ns: u64) -> bool {
        self.since(to_ns) <= from_ns
    }
}

fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

/// Numbers for the frames that take locks.
#[derive(Default)]
struct Places<'a> {
    logs: &'a [Recording],
    names: Vec<String>,
    by_name: HashMap<String, u32>,
    by_stack: HashMap<(u32, u32), u32>,
}

impl Places<'_> {
    fn number(&mut self, stack: (u32, u32)) -> u32 {
        if let Some(&number) = self.by_stack.get(&stack) {
            return number;
        }
        let name = self.name(stack);
        let next = self.names.len() as u32;
        let number = *self.by_name.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        self.by_stack.insert(stack, number);
        number
    }

    fn name(&self, (run, stack): (u32, u32)) -> String {
        let Some(log) = self.logs.get(run as usize) else { return String::new() };
        let names = Names(log);
        let mut frames = names.frames(stack).map(|frame| names.stack_frame(frame));
        let takes = |frame: &String| !LIBRARIES.iter().any(|library| frame.starts_with(library));
        frames.find(takes).unwrap_or_default()
    }
}
