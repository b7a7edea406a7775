//! What has come since the last time: a profile of all that a log has, less what was sent.
//!
//! What was sent is known by row, so that neither the moment nor the order in which a log
//! grows matters, and nothing is lost or doubled whatever happens in between.

use std::collections::HashMap;
use tyrion_model::profile::{AcquisitionRow, LinkRow, NO_OWNER, Profile, SampleRow, WaitRow};

/// How many numbers a row has at most.
const NUMBERS: usize = 5;
/// The numbers of a row.
pub type RowNumbers = [u64; NUMBERS];

/// What tells rows apart, in this run of the program and the next. It has no names, which
/// a log may learn after the first waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowKey {
    /// Who, where, what for and in which way, as a hash.
    pub row: u64,
    /// The id of the owner's thread and 1; 0 if there is none. Who it was may be known
    /// later than that there was a wait, so rows that differ in it alone are one sum.
    /// [`LINK`] for a link, whose row is a hash of its own.
    pub owner: u64,
}

/// The owner of what stands for a link to a span: no thread's id goes so far. Older versions
/// of Tyrion, which sent no links, keep such rows in the state as they are.
const LINK: u64 = u64::MAX;

/// What was sent of a log so far.
pub type SentRows = HashMap<RowKey, RowNumbers>;

/// Rows that are to be sent, and what will have been sent with them.
pub struct Delta {
    /// The profile with nothing but what is new.
    pub profile: Profile,
    /// The numbers that each row adds to what was sent, and each link behind the rows of a part.
    pub adds: Vec<(RowKey, RowNumbers)>,
    /// Links that were sent and that the log has no more among its longest: to be forgotten, so
    /// that what is kept has a bound.
    pub ended_links: Vec<RowKey>,
    /// The key of each link, and the row of waits that it is a part of.
    links: Vec<(RowKey, usize)>,
}

/// FNV-1a of 64 bits (draft-eastlake-fnv): the same in every version of the program.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    fn new(sort: u8) -> Hash {
        Hash(0xcbf2_9ce4_8422_2325).bytes(&[sort])
    }

    fn bytes(self, bytes: &[u8]) -> Hash {
        let step =
            |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Hash(bytes.iter().fold(self.0, step))
    }

    fn number(self, number: u64) -> Hash {
        self.bytes(&number.to_le_bytes())
    }

    /// With its length, so that what follows cannot be taken for a part of it.
    fn text(self, text: &str) -> Hash {
        self.number(text.len() as u64).bytes(text.as_bytes())
    }
}

/// The parts of keys, by the numbers that a profile gives them.
struct Parts<'p> {
    profile: &'p Profile,
    stacks: Vec<u64>,
    locks: Vec<u64>,
}

impl<'p> Parts<'p> {
    fn new(profile: &'p Profile) -> Parts<'p> {
        let functions: Vec<u64> = profile
            .functions
            .iter()
            .map(|it| Hash::new(b'f').text(&it.class).text(&it.method).text(&it.descriptor).0)
            .collect();
        let frame = |frame: u32| {
            profile.frames.get(frame as usize).map_or(0, |it| {
                let function = functions.get(it.function as usize).copied().unwrap_or(0);
                Hash(function).number(u64::from(it.line)).0
            })
        };
        let mut stacks = vec![0; profile.stacks.len()];
        for (at, stack) in profile.stacks.iter().enumerate().skip(1) {
            let parent = stacks.get(stack.parent as usize).copied().unwrap_or(0);
            stacks[at] = Hash(parent).number(frame(stack.frame)).0;
        }
        let lock = Hash::new(b'l');
        let locks = profile.locks.iter();
        let locks = locks.map(|it| lock.number(u64::from(it.id)).text(&it.class).0).collect();
        Parts { profile, stacks, locks }
    }

    fn key(&self, sort: u8, thread: u32, stack: u32, lock: u32, way: u64) -> RowKey {
        let at = |table: &[u64], at: u32| table.get(at as usize).copied().unwrap_or(0);
        let thread = self.profile.threads.get(thread as usize).map_or(0, |it| it.java_id);
        let row = Hash::new(sort).number(thread).number(at(&self.stacks, stack));
        RowKey { row: row.number(at(&self.locks, lock)).number(way).0, owner: 0 }
    }
}

/// A row of a profile.
trait ProfileRow {
    fn key(&self, parts: &Parts<'_>) -> RowKey;
    fn numbers(&self) -> RowNumbers;
    fn set(&mut self, numbers: RowNumbers);
}

impl ProfileRow for WaitRow {
    fn key(&self, parts: &Parts<'_>) -> RowKey {
        let owners = &parts.profile.owners;
        let owner = match self.owner {
            NO_OWNER => 0,
            owner => owners.get(owner as usize).map_or(0, |it| it.java_id.saturating_add(1)),
        };
        let way = u64::from(self.kind.code());
        RowKey { owner, ..parts.key(b'w', self.thread, self.stack, self.lock, way) }
    }

    fn numbers(&self) -> RowNumbers {
        [self.count, self.wait_ns, 0, 0, 0]
    }

    fn set(&mut self, [count, wait_ns, ..]: RowNumbers) {
        (self.count, self.wait_ns) = (count, wait_ns);
    }
}

impl ProfileRow for AcquisitionRow {
    fn key(&self, parts: &Parts<'_>) -> RowKey {
        parts.key(b'a', self.thread, self.stack, self.lock, u64::from(self.kind.code()))
    }

    fn numbers(&self) -> RowNumbers {
        let errors = [self.acquisitions_error, self.reentrant_error];
        [self.acquisitions, self.reentrant, self.hold_ns, errors[0], errors[1]]
    }

    /// Errors are sent as what they have grown by, so that what is sent adds up to those of
    /// the whole.
    fn set(&mut self, [acquisitions, reentrant, hold_ns, error, reentrant_error]: RowNumbers) {
        (self.acquisitions, self.reentrant, self.hold_ns) = (acquisitions, reentrant, hold_ns);
        (self.acquisitions_error, self.reentrant_error) = (error, reentrant_error);
    }
}

impl ProfileRow for SampleRow {
    fn key(&self, parts: &Parts<'_>) -> RowKey {
        let way = self.state as u64 * 256 + self.kind.map_or(0, |kind| u64::from(kind.code()));
        parts.key(b's', self.thread, self.stack, self.lock, way)
    }

    fn numbers(&self) -> RowNumbers {
        [self.count, self.wall_ns, self.cpu_ns, 0, 0]
    }

    fn set(&mut self, [count, wall_ns, cpu_ns, ..]: RowNumbers) {
        (self.count, self.wall_ns, self.cpu_ns) = (count, wall_ns, cpu_ns);
    }
}

/// What of a profile was not sent yet. Blame and who ended waits are left out: they are
/// known for whole logs only.
pub fn since(mut profile: Profile, sent: &SentRows) -> Delta {
    let mut sent_of_rows: HashMap<u64, RowNumbers> = HashMap::new();
    for (key, numbers) in sent {
        add(sent_of_rows.entry(key.row).or_default(), *numbers);
    }
    let parts = Parts::new(&profile);
    let keys = Keys {
        waits: profile.waits.iter().map(|row| row.key(&parts)).collect(),
        acquisitions: profile.acquisitions.iter().map(|row| row.key(&parts)).collect(),
        samples: profile.samples.iter().map(|row| row.key(&parts)).collect(),
    };
    let known = DefinitionKeys { sent, sent_of_rows };
    let mut adds = Vec::new();
    let link_keys = profile.links.iter().map(|link| link_key(link, &parts)).collect();
    known.keep_new(&mut profile.waits, &keys.waits, &mut adds);
    known.keep_new(&mut profile.acquisitions, &keys.acquisitions, &mut adds);
    known.keep_new(&mut profile.samples, &keys.samples, &mut adds);
    (profile.has_blame, profile.has_wakers) = (false, false);
    profile.blames.clear();
    profile.wakes.clear();
    profile.operations.clear();
    profile.sections.clear();
    let (links, ended_links) = known.keep_new_links(&mut profile, link_keys);
    Delta { profile, adds, ended_links, links }
}

/// A link's key: two that have the same one are told apart by how many there are.
fn link_key(link: &LinkRow, parts: &Parts<'_>) -> RowKey {
    let way = u64::from(link.kind.code());
    let RowKey { row, .. } = parts.key(b'k', link.thread, link.stack, link.lock, way);
    let [high, low] = link.span.trace;
    let row = Hash(row).number(high).number(low).number(link.span.id).number(link.wait_ns).0;
    RowKey { row, owner: LINK }
}

/// The row of waits that a link is a part of, of rows in their order.
fn row_of(link: &LinkRow, waits: &[WaitRow], profile: &Profile) -> Option<usize> {
    let key = |row: &WaitRow| (row.thread, row.stack, row.lock, row.kind);
    let owner = |row: &WaitRow| match row.owner {
        NO_OWNER => 0,
        owner => profile.owners.get(owner as usize).map_or(0, |it| it.java_id),
    };
    let start = waits.partition_point(|row| key(row) < link.key());
    let rows = waits[start..].iter().take_while(|row| key(row) == link.key());
    let mut rows = rows.zip(start..);
    let found = rows.find(|(row, _)| profile.owners.is_empty() || owner(row) == link.owner);
    found.map(|(_, at)| at)
}

/// The keys of all rows, in their order.
struct Keys {
    waits: Vec<RowKey>,
    acquisitions: Vec<RowKey>,
    samples: Vec<RowKey>,
}

struct DefinitionKeys<'s> {
    sent: &'s SentRows,
    /// The same without owners.
    sent_of_rows: HashMap<u64, RowNumbers>,
}

impl DefinitionKeys<'_> {
    /// Leaves what is new of rows, each with what it adds to `adds`.
    ///
    /// If less is known now of one owner than was sent, and more of another, then only as
    /// much of the other is new as the sum over owners has grown.
    fn keep_new<R: ProfileRow>(
        &self,
        rows: &mut Vec<R>,
        keys: &[RowKey],
        adds: &mut Vec<(RowKey, RowNumbers)>,
    ) {
        let mut now: HashMap<RowKey, RowNumbers> = HashMap::new();
        let mut room: HashMap<u64, RowNumbers> = HashMap::new();
        for (row, key) in rows.iter().zip(keys) {
            add(now.entry(*key).or_default(), row.numbers());
            add(room.entry(key.row).or_default(), row.numbers());
        }
        for (row, room) in &mut room {
            *room = less(*room, self.sent_of_rows.get(row).copied().unwrap_or_default());
        }
        let mut keys = keys.iter();
        rows.retain_mut(|row| {
            let Some(key) = keys.next() else { return false };
            // Rows with equal keys are one: the first has the sum.
            let all = now.remove(key).unwrap_or_default();
            let new = less(all, self.sent.get(key).copied().unwrap_or_default());
            let room = room.entry(key.row).or_default();
            let new: RowNumbers = std::array::from_fn(|at| new[at].min(room[at]));
            *room = less(*room, new);
            row.set(new);
            let is_new = new != RowNumbers::default();
            if is_new {
                adds.push((*key, new));
            }
            is_new
        });
    }

    /// Leaves the links that are new and belong to rows that are: the key and the row of each.
    /// And the keys of those that were sent and are no more.
    fn keep_new_links(
        &self,
        profile: &mut Profile,
        keys: Vec<RowKey>,
    ) -> (Vec<(RowKey, usize)>, Vec<RowKey>) {
        let sent = self.sent.iter().filter(|(key, _)| key.owner == LINK);
        let mut left: HashMap<RowKey, (u64, bool)> =
            sent.map(|(key, numbers)| (*key, (numbers[0], true))).collect();
        let links = std::mem::take(&mut profile.links);
        let mut new = Vec::new();
        for (link, key) in links.into_iter().zip(keys) {
            let (sent, is_past) = left.entry(key).or_default();
            *is_past = false;
            if *sent > 0 {
                *sent -= 1;
            } else if let Some(row) = row_of(&link, &profile.waits, profile) {
                new.push((row, key, link));
            }
        }
        // By row, so that each part of the rows has a span of the links.
        new.sort_by_key(|(row, ..)| *row);
        profile.links = new.iter().map(|(.., link)| *link).collect();
        let ended = left.into_iter().filter(|(_, (_, is_past))| *is_past);
        (new.into_iter().map(|(row, key, _)| (key, row)).collect(), ended.map(|it| it.0).collect())
    }
}

/// Adds to sums.
pub fn add(sum: &mut RowNumbers, more: RowNumbers) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.saturating_add(more);
    }
}

fn less(all: RowNumbers, sent: RowNumbers) -> RowNumbers {
    std::array::from_fn(|at| all[at].saturating_sub(sent[at]))
}

impl Delta {
    /// Whether there is nothing new.
    pub fn is_empty(&self) -> bool {
        self.adds.is_empty()
    }

    /// Hands out parts with at most so many rows each, until one is not taken; only
    /// together do they have all. The tables, which all parts need, are there once.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn in_parts<T, E>(
        mut self,
        most: usize,
        mut take: impl FnMut(&Delta) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let adds = std::mem::take(&mut self.adds);
        let waits = std::mem::take(&mut self.profile.waits);
        let acquisitions = std::mem::take(&mut self.profile.acquisitions);
        let samples = std::mem::take(&mut self.profile.samples);
        let all_links = std::mem::take(&mut self.profile.links);
        let links = std::mem::take(&mut self.links);
        for start in (0..adds.len()).step_by(most) {
            let end = (start + most).min(adds.len());
            // Rows stand one sort behind the other, as in `adds`.
            let within = |before: usize, len: usize| {
                let at = |at: usize| at.saturating_sub(before).min(len);
                at(start)..at(end)
            };
            let before_samples = waits.len() + acquisitions.len();
            self.profile.waits = waits[within(0, waits.len())].to_vec();
            self.profile.acquisitions =
                acquisitions[within(waits.len(), acquisitions.len())].to_vec();
            self.profile.samples = samples[within(before_samples, samples.len())].to_vec();
            let of_row = |at: usize| links.partition_point(|(_, row)| *row < at);
            let of_part = of_row(start)..of_row(end);
            self.profile.links = all_links[of_part.clone()].to_vec();
            self.adds = adds[start..end].to_vec();
            let once = [1, 0, 0, 0, 0];
            self.adds.extend(links[of_part].iter().map(|(key, _)| (*key, once)));
            if let Some(left) = take(&self)? {
                return Ok(Some(left));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_model::profile::{Frame, Function, Lock, Run, Stack, Thread};
    use tyrion_wire::{WaitKind, span::Span};

    fn profile(waits: &[(u32, u64, u64)]) -> Profile {
        let thread = |id| Thread { java_id: id, ..Thread::default() };
        let wait = |&(owner, count, wait_ns): &(u32, u64, u64)| WaitRow {
            thread: 0,
            stack: 1,
            lock: 0,
            kind: WaitKind::Monitor,
            owner,
            count,
            wait_ns,
            max_ns: wait_ns,
        };
        Profile {
            runs: vec![Run::default()],
            threads: vec![thread(1)],
            functions: vec![Function::default()],
            frames: vec![Frame::default()],
            stacks: vec![Stack::default(), Stack { parent: 0, frame: 0 }],
            locks: vec![Lock { id: 3, class: "a.B".to_owned(), ..Lock::default() }],
            owners: vec![thread(7), thread(8)],
            waits: waits.iter().map(wait).collect(),
            ..Profile::default()
        }
    }

    fn sums(profile: &Profile) -> (u64, u64) {
        profile.totals()
    }

    fn apply(sent: &mut SentRows, delta: &Delta) {
        delta.adds.iter().for_each(|(key, numbers)| add(sent.entry(*key).or_default(), *numbers));
    }

    #[test]
    fn what_was_sent_is_not_sent_again() {
        let mut sent = SentRows::new();
        let mut all = (0, 0);
        for waits in [vec![(NO_OWNER, 2, 20)], vec![(0, 1, 5), (NO_OWNER, 3, 40)], vec![(0, 4, 50)]]
        {
            let now = profile(&waits);
            let expected = sums(&now);
            let delta = since(now.clone(), &sent);
            let new = sums(&delta.profile);
            apply(&mut sent, &delta);
            all = (all.0 + new.0, all.1 + new.1);
            // The last has less: nothing is taken back.
            assert!(all == expected || expected < all, "{all:?} {expected:?}");
            assert!(since(now, &sent).is_empty());
        }
        assert_eq!(all, (4, 50));
    }

    /// A wait of which it becomes known later who had the lock is not counted twice.
    #[test]
    fn owners_that_become_known_double_nothing() {
        let mut sent = SentRows::new();
        let delta = since(profile(&[(NO_OWNER, 5, 500)]), &sent);
        apply(&mut sent, &delta);
        let later = since(profile(&[(0, 4, 400), (NO_OWNER, 2, 250)]), &sent);
        assert_eq!(sums(&later.profile), (1, 150));
        apply(&mut sent, &later);
        // Nor if owners are given up, since there are too many.
        assert!(since(profile(&[(NO_OWNER, 6, 650)]), &sent).is_empty());
        let delta = since(profile(&[(NO_OWNER, 7, 700)]), &sent);
        assert_eq!(sums(&delta.profile), (1, 50));
    }

    #[test]
    fn parts_have_all_rows_once() {
        let whole = since(profile(&[(0, 1, 2), (1, 3, 4), (NO_OWNER, 5, 6)]), &SentRows::new());
        assert_eq!(whole.adds.len(), 3);
        let mut parts = Vec::new();
        let left: Result<Option<()>, ()> = whole.in_parts(2, |part| {
            assert_eq!(part.adds.len(), part.profile.waits.len());
            parts.push((part.profile.waits.len(), sums(&part.profile)));
            Ok(None)
        });
        assert_eq!(left, Ok(None));
        let rows: Vec<usize> = parts.iter().map(|part| part.0).collect();
        assert_eq!(rows, [2, 1]);
        let all = parts.iter().fold((0, 0), |a, (_, b)| (a.0 + b.0, a.1 + b.1));
        assert_eq!(all, (9, 12));
    }

    /// Three waits of one row, whose spans are known, of which the third comes later.
    #[test]
    fn links_are_sent_once_each_and_forgotten() {
        let of = |waits: u64, links: &[(u64, u64)]| {
            let mut profile = profile(&[(0, waits, waits * 10), (1, waits, waits * 10)]);
            let link = |&(id, wait_ns): &(u64, u64)| LinkRow {
                thread: 0,
                stack: 1,
                lock: 0,
                kind: WaitKind::Monitor,
                owner: 8,
                span: Span { trace: [1, 2], id },
                wait_ns,
            };
            profile.links = links.iter().map(link).collect();
            profile
        };
        let mut sent = SentRows::new();
        // The same span has waited twice, for as long.
        let rounds = [
            (2, vec![(5, 9), (5, 9)], vec![5, 5], 0),
            (3, vec![(5, 9), (5, 9), (6, 10)], vec![6], 0),
            (4, vec![(7, 10)], vec![7], 2),
        ];
        for (waits, links, expected, ended) in rounds {
            let delta = since(of(waits, &links), &sent);
            assert_eq!(delta.ended_links.len(), ended);
            sent.retain(|key, _| !delta.ended_links.contains(key));
            let mut ids = Vec::new();
            let left: Result<Option<()>, ()> = delta.in_parts(1, |part| {
                // Only that row's part has them whose owner had the lock.
                assert!(part.profile.links.is_empty() || part.profile.waits[0].owner == 1);
                ids.extend(part.profile.links.iter().map(|link| link.span.id));
                apply(&mut sent, part);
                Ok(None)
            });
            assert_eq!((left, ids), (Ok(None), expected));
            assert!(since(of(waits, &links), &sent).profile.links.is_empty());
        }
        assert_eq!(sent.keys().filter(|key| key.owner == LINK).count(), 1);
    }

    #[test]
    fn names_change_no_key() {
        let mut named = profile(&[(0, 1, 2)]);
        named.locks[0].name = "Cache.lock".to_owned();
        named.threads[0].name = "worker".to_owned();
        let mut sent = SentRows::new();
        let first = since(profile(&[(0, 1, 2)]), &sent);
        apply(&mut sent, &first);
        assert!(since(named, &sent).is_empty());
    }
}
