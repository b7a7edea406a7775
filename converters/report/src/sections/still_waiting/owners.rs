//! Who has what others wait for.
//!
//! A slot names the owner as it was when the wait began, or when the agent looked for it
//! later. That is true at the end, too, if the owner has waited since before that moment:
//! it has not run, and so has not released anything. In trace mode there is another witness: a thread that waits for a
//! lock while it holds others leaves a record of nesting, which says what it
//! holds; as long as it waits, it holds that.

use super::is_blocked;
use crate::findings::trace::{Nesting, TraceFindings, recordings};
use std::collections::{BTreeMap, HashMap};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;
use tyrion_wire::{WaitKind, def::id::UNKNOWN, slot::Pending};

/// A thread that waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockedThread {
    /// The log.
    pub(super) run: u32,
    pub(super) pending: Pending,
    /// Who has the lock, if that is known.
    pub(super) owner: Option<Owner>,
    /// Its place in the list of those who wait, if the owner waits for a lock
    /// itself.
    pub(super) waits_for: Option<usize>,
    /// The owner has the lock at the end: it has not run since it was seen to have it.
    pub(super) is_sure: bool,
    /// It never gives up.
    pub(super) is_for_ever: bool,
}

/// Who has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The thread, by its log and its id there.
    pub(super) run: u32,
    pub(super) thread: u32,
    pub(super) source: OwnerSource,
}

/// How an owner is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerSource {
    /// The slot says so, of the moment when the wait began.
    Wait,
    /// The slot says so, of a later moment.
    Seen,
    /// So says the record of the acquisition at which the owner waits now.
    Nesting,
    /// So says a record of an acquisition like that one, from earlier: each
    /// nesting is recorded once.
    EarlierNesting,
}

/// All waits that had not ended. Those of a recording's files are told once: at
/// a switch, a wait may stand in two of them, and the later one holds.
pub(in crate::sections) fn pending(logs: &[Recording]) -> Vec<(u32, Pending)> {
    let mut latest: BTreeMap<(u32, u64, u64), (u64, u32, Pending)> = BTreeMap::new();
    for ((run, log), recording) in (0u32..).zip(logs).zip(recordings(logs)) {
        let file = log.facts().metadata("file-number").and_then(|number| number.parse().ok());
        for pending in log.pending() {
            // Threads that are not defined cannot be told apart, but by their
            // ids; those are above all of Java's.
            let lost = u64::MAX - u64::from(pending.thread);
            let java_id =
                log.definitions().threads().get(pending.thread).map_or(lost, |it| it.java_id);
            let found = (file.unwrap_or(0), run, *pending);
            let known = latest.entry((recording, java_id, pending.start_ns)).or_insert(found);
            if found.0 > known.0 {
                *known = found;
            }
        }
    }
    let mut all: Vec<(u32, Pending)> =
        latest.into_values().map(|(_, run, pending)| (run, pending)).collect();
    all.sort_by_key(|(run, pending)| (*run, pending.start_ns, pending.thread));
    all
}

/// A thread of a recording, in whichever of its files: the recording and
/// `Thread.getId()`.
type ThreadKey = (u32, u64);

/// The threads that wait for locks, and who has those.
pub(super) fn blocked(logs: &[Recording], recorded: &TraceFindings) -> Vec<BlockedThread> {
    let mut list: Vec<BlockedThread> = pending(logs)
        .into_iter()
        .filter(|(_, pending)| is_blocked(pending))
        .map(|(run, pending)| BlockedThread::new(logs, run, pending))
        .collect();
    let recordings = recordings(logs);
    let thread_key = |run: u32, thread: u32| -> Option<ThreadKey> {
        let log = logs.get(run as usize)?;
        let java_id = log.definitions().threads().get(thread)?.java_id;
        Some((*recordings.get(run as usize)?, java_id))
    };
    let thread_keys = list.iter().enumerate();
    let place: HashMap<ThreadKey, usize> = thread_keys
        .filter_map(|(at, it)| Some((thread_key(it.run, it.pending.thread)?, at)))
        .collect();
    let asleep = |run, thread| thread_key(run, thread).and_then(|it| place.get(&it)).copied();
    let holders = Holders::new(logs, &recordings, recorded, &list, &asleep);
    for (at, blocked) in list.iter_mut().enumerate() {
        let (run, pending) = (blocked.run, &blocked.pending);
        let is_other = |owner: &Owner| asleep(owner.run, owner.thread) != Some(at);
        blocked.owner = match pending.owner {
            UNKNOWN => holders.of(logs, run, pending.lock).filter(is_other),
            thread if pending.seen_ns == 0 => {
                Some(Owner { run, thread, source: OwnerSource::Wait })
            }
            thread => Some(Owner { run, thread, source: OwnerSource::Seen }),
        };
        blocked.waits_for = blocked.owner.and_then(|owner| asleep(owner.run, owner.thread));
    }
    for at in 0..list.len() {
        let next = list[at].waits_for.map(|next| list[next].pending.start_ns);
        list[at].is_sure = list[at].is_sure_of(next);
    }
    list
}

impl BlockedThread {
    fn new(logs: &[Recording], run: u32, pending: Pending) -> BlockedThread {
        let may_end = pending.kind.is_contention() && pending.kind != WaitKind::Monitor;
        let is_timed = |log: &Recording| may_end && is_timed(log, pending.stack);
        let is_for_ever = !logs.get(run as usize).is_some_and(is_timed);
        BlockedThread { run, pending, owner: None, waits_for: None, is_sure: false, is_for_ever }
    }

    /// Whether the owner has the lock still. `since_ns`: since when it waits itself.
    fn is_sure_of(&self, since_ns: Option<u64>) -> bool {
        let looked_ns = self.pending.start_ns.max(self.pending.seen_ns);
        match self.owner.map(|owner| owner.source) {
            Some(OwnerSource::Wait | OwnerSource::Seen) => {
                since_ns.is_some_and(|it| it <= looked_ns)
            }
            Some(OwnerSource::Nesting) => true,
            Some(OwnerSource::EarlierNesting) | None => false,
        }
    }
}

/// Whether a thread with this stack waits for a limited time: it calls a lock's `tryLock`,
/// or what that calls. Only what the lock itself does tells that.
fn is_timed(log: &Recording, stack: u32) -> bool {
    let names = Names(log);
    let frames = names.frames(stack).map(|frame| names.stack_frame(frame));
    let mut of_lock = frames
        .skip_while(|frame| !frame.starts_with(LOCKS))
        .take_while(|frame| frame.starts_with(LOCKS));
    of_lock.any(|frame| is_timed_method(&frame))
}

/// What the classes of locks begin with.
const LOCKS: &str = "java.util.concurrent.";

fn is_timed_method(frame: &str) -> bool {
    let Some(of_locks) = frame.strip_prefix(LOCKS) else { return false };
    let method =
        of_locks.split('(').next().and_then(|it| it.rsplit('.').next()).unwrap_or_default();
    match method {
        // What locks of the program's own are asked.
        "tryAcquire" | "tryAcquireShared" => false,
        method => method.starts_with("try") || method.ends_with("Nanos"),
    }
}

/// What those who wait hold, by recording and hash.
struct Holders<'a> {
    recordings: &'a [u32],
    /// With the class, where that is known.
    by_hash: HashMap<(u32, u32), Vec<(String, Owner)>>,
}

impl<'a> Holders<'a> {
    /// `asleep` tells the place in the list of a thread that waits.
    fn new(
        logs: &[Recording],
        recordings: &'a [u32],
        recorded: &TraceFindings,
        blocked: &[BlockedThread],
        asleep: &impl Fn(u32, u32) -> Option<usize>,
    ) -> Self {
        let mut latest: BTreeMap<usize, &Nesting> = BTreeMap::new();
        for nesting in &recorded.nestings {
            let Some(at) = asleep(nesting.run, nesting.nested.thread) else { continue };
            let BlockedThread { run, pending, .. } = &blocked[at];
            let (Some(log), Some(own)) = (logs.get(*run as usize), logs.get(nesting.run as usize))
            else {
                continue;
            };
            let hash = log.definitions().lock_instance(pending.lock);
            // Whether it is of the acquisition at which the thread waits: ids of
            // stacks and methods tell only within one log.
            let here = nesting.run != *run
                || nesting.nested.stack == pending.stack
                || is_in(own, nesting.nested.inner.place, pending.stack);
            let is_later = latest.get(&at).is_none_or(|known| nesting.is_as_late_as(known));
            if hash == Some(nesting.nested.inner.hash) && here && is_later {
                latest.insert(at, nesting);
            }
        }
        let mut by_hash: HashMap<(u32, u32), Vec<(String, Owner)>> = HashMap::new();
        for (at, nesting) in latest {
            let BlockedThread { run, pending, .. } = &blocked[at];
            let is_now = nesting.last_ns >= pending.start_ns;
            let source = if is_now { OwnerSource::Nesting } else { OwnerSource::EarlierNesting };
            let owner = Owner { run: *run, thread: pending.thread, source };
            let log = &logs[nesting.run as usize];
            for held in nesting.nested.outer.iter().filter(|held| held.hash != 0) {
                let class = log.definitions().classes().get(held.class);
                let class = class.map_or_else(String::new, |_| Names(log).class(held.class));
                let key = (recordings[nesting.run as usize], held.hash);
                by_hash.entry(key).or_default().push((class, owner));
            }
        }
        Holders { recordings, by_hash }
    }

    /// Who has a lock of a log.
    fn of(&self, logs: &[Recording], run: u32, lock: u32) -> Option<Owner> {
        let log = logs.get(run as usize)?;
        let hash = log.definitions().lock_instance(lock)?;
        let class = Names(log).lock_class(lock);
        let held = self.by_hash.get(&(self.recordings[run as usize], hash))?;
        let same_class = held.iter().filter(|(own, _)| own.is_empty() || *own == class);
        believed(same_class.map(|(_, owner)| *owner).collect())
    }
}

/// Whether the method of a place stands in a stack.
fn is_in(log: &Recording, place: u32, stack: u32) -> bool {
    let definitions = log.definitions();
    let Some(place) = definitions.places().get(place) else { return false };
    let mut at = stack;
    while let Some(own) = definitions.stacks().get(at) {
        if own.method == place.method {
            return true;
        }
        if own.parent >= at {
            return false;
        }
        at = own.parent;
    }
    false
}

/// The one owner of a lock; none if there are two that are as likely.
fn believed(owners: Vec<Owner>) -> Option<Owner> {
    for source in [OwnerSource::Nesting, OwnerSource::EarlierNesting] {
        let mut of_source = owners.iter().filter(|it| it.source == source);
        match (of_source.next(), of_source.next()) {
            (None, _) => {}
            (Some(&owner), None) => return Some(owner),
            // Readers, most likely.
            (Some(_), Some(_)) => return None,
        }
    }
    None
}

/// Ranks of those who wait.
pub(super) const DEADLOCKED: u8 = 0;
pub(super) const BEHIND: u8 = 1;
/// In a ring of which it is not sure that it is there.
pub(super) const MAY_BE: u8 = 2;
const OTHER: u8 = 3;

/// What becomes of those who wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitOutlook {
    /// The rings, each from its member with the smallest place in the list on.
    pub(super) deadlocks: Vec<Vec<usize>>,
    /// Rings that may be none: somebody in it may run.
    pub(super) possible: Vec<Vec<usize>>,
    /// For each of those who wait.
    pub(super) rank: Vec<u8>,
}

/// Each thread waits for one other at most, so following them from any leads to
/// an end or into a ring.
pub(super) fn states(blocked: &[BlockedThread]) -> WaitOutlook {
    let mut states = WaitOutlook { rank: vec![OTHER; blocked.len()], ..WaitOutlook::default() };
    let mut seen_from = vec![usize::MAX; blocked.len()];
    for start in 0..blocked.len() {
        let mut at = Some(start);
        while let Some(own) = at
            && seen_from[own] == usize::MAX
        {
            seen_from[own] = start;
            at = blocked[own].waits_for;
        }
        // It was this walk that has been here: a new ring.
        if let Some(first) = at.filter(|&own| seen_from[own] == start) {
            let next = |own: &usize| blocked[*own].waits_for.filter(|&next| next != first);
            let ring: Vec<usize> = std::iter::successors(Some(first), next).collect();
            // Somebody gives up, and the others go on.
            if ring.iter().any(|&own| !blocked[own].is_for_ever) {
                continue;
            }
            let is_one = ring.iter().all(|&own| blocked[own].is_sure);
            let rank = if is_one { DEADLOCKED } else { MAY_BE };
            ring.iter().for_each(|&own| states.rank[own] = rank);
            let rings = if is_one { &mut states.deadlocks } else { &mut states.possible };
            rings.push(from_smallest(ring));
        }
    }
    for start in 0..blocked.len() {
        let way = std::iter::successors(Some(start), |own| blocked[*own].waits_for);
        // A ring would not end; but whoever leads into one meets it.
        let mut way = way.take(blocked.len() + 1);
        if states.rank[start] == OTHER && way.any(|own| states.rank[own] == DEADLOCKED) {
            states.rank[start] = BEHIND;
        }
    }
    states.deadlocks.sort();
    states.possible.sort();
    states
}

fn from_smallest(mut ring: Vec<usize>) -> Vec<usize> {
    let smallest = ring.iter().enumerate().min_by_key(|(_, own)| **own).map_or(0, |(at, _)| at);
    ring.rotate_left(smallest);
    ring
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that wait for each other, by their places.
    fn waiting(for_whom: &[Option<usize>]) -> Vec<BlockedThread> {
        let pending = |at: usize| Pending {
            thread: at as u32 + 1,
            kind: WaitKind::Lock,
            stack: 0,
            lock: 1,
            owner: 0,
            start_ns: 0,
            seen_ns: 0,
            flags: 0,
        };
        let blocked = |(at, &waits_for): (usize, &Option<usize>)| BlockedThread {
            run: 0,
            pending: pending(at),
            owner: None,
            waits_for,
            is_sure: at != 10,
            is_for_ever: at != 12,
        };
        for_whom.iter().enumerate().map(blocked).collect()
    }

    #[test]
    fn rings_and_what_leads_into_them() {
        let states = states(&waiting(&[
            Some(1), // behind 1 and 2
            Some(2),
            Some(1),
            None,
            Some(3), // waits, but for one who goes on
            Some(7),
            Some(5),
            Some(6),
            Some(0),  // behind one who is behind
            Some(9),  // itself
            Some(11), // of these, the first is not sure
            Some(10),
            Some(13), // of these, the first gives up
            Some(12),
        ]));
        assert_eq!(states.deadlocks, [vec![1, 2], vec![5, 7, 6], vec![9]]);
        assert_eq!(states.possible, [[10, 11]]);
        assert_eq!(states.rank, [1, 0, 0, 3, 3, 0, 0, 0, 1, 0, 2, 2, 3, 3]);
    }

    #[test]
    fn who_tries_gives_up() {
        for (frame, is_timed) in [
            ("java.util.concurrent.locks.ReentrantLock.tryLock(ReentrantLock.java:442)", true),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer.tryAcquireNanos(X.java)", true),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer.doAcquireNanos", true),
            ("java.util.concurrent.locks.ReentrantLock.lock(ReentrantLock.java:322)", false),
            ("java.util.concurrent.locks.ReentrantLock$Sync.tryAcquire(X.java)", false),
            ("com.acme.Cache.tryLock(Cache.java:3)", false),
        ] {
            assert_eq!(is_timed_method(frame), is_timed, "{frame}");
        }
    }

    #[test]
    fn of_two_witnesses_the_present_one_is_believed() {
        let owner = |thread, source| Owner { run: 0, thread, source };
        let (now, earlier) = (OwnerSource::Nesting, OwnerSource::EarlierNesting);
        for (owners, expected) in [
            (vec![owner(1, now), owner(2, earlier)], Some(owner(1, now))),
            (vec![owner(2, earlier)], Some(owner(2, earlier))),
            (vec![owner(1, now), owner(2, now)], None),
            (vec![owner(1, earlier), owner(2, earlier)], None),
            (vec![], None),
        ] {
            assert_eq!(believed(owners), expected);
        }
    }
}
