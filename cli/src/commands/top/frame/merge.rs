//! Sums by name: ids of different files that mean the same are one.

use super::{
    FrameSource, LockKey, RowAcquisitions, RowWaits, ThreadName, ThreadRow, TopFrame, TopLock,
    ViewOptions,
};
use crate::{
    commands::top::{
        columns::known_down,
        model::{WaitSum, WindowSums},
    },
    live::FileNumber,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};
use tyrion_formats::WaitSite;
use tyrion_model::describe::Names;
use tyrion_wire::{WaitKind, slot::Pending};

/// Waits, while they are added up.
#[derive(Default)]
struct PartialWaits {
    sum: WaitSum,
    pending: u64,
    pending_ns: u64,
}

impl PartialWaits {
    fn add(&mut self, more: &WaitSum) {
        let sum = &mut self.sum;
        sum.count = sum.count.saturating_add(more.count);
        sum.wait_ns = sum.wait_ns.saturating_add(more.wait_ns);
        sum.max_ns = sum.max_ns.max(more.max_ns);
        sum.within_ns = sum.within_ns.saturating_add(more.within_ns);
    }

    fn add_pending(&mut self, pending: &Pending, sums: &WindowSums) {
        self.pending += 1;
        self.pending_ns = self.pending_ns.max(sums.to_ns.saturating_sub(pending.start_ns));
        let within_ns = sums.within_ns(pending.start_ns);
        self.sum.within_ns = self.sum.within_ns.saturating_add(within_ns);
    }

    fn waits(&self, span_ns: u64) -> RowWaits {
        let sum = &self.sum;
        RowWaits {
            waits: sum.count,
            waits_per_s: sum.count as f64 / span_ns as f64 * 1e9,
            waiting: sum.within_ns as f64 / span_ns as f64,
            mean_ns: sum.wait_ns.checked_div(sum.count).unwrap_or(0),
            max_ns: sum.max_ns,
            pending: self.pending,
            pending_ns: self.pending_ns,
        }
    }
}

/// Acquisitions, while they are added up.
#[derive(Clone, Copy, Debug, Default)]
struct TakenSum {
    count: u64,
    /// The standard error of that: whole, so that no order of adding up changes it.
    error: u64,
    held_ns: u64,
}

#[derive(Default)]
struct LockSums {
    waits: PartialWaits,
    ids: BTreeSet<u32>,
    waiters: BTreeSet<u32>,
    /// By thread: wait time that it caused.
    holders: HashMap<u32, u64>,
    taken: Option<TakenSum>,
}

#[derive(Default)]
struct ThreadSums {
    waits: PartialWaits,
    /// By lock and kind: wait time.
    locks: BTreeMap<(u32, u8), u64>,
    /// What it waits for now, and since when.
    now: Option<(u32, WaitKind, u64)>,
    taken: Option<TakenSum>,
}

/// Sums by name: ids of different files that mean the same are one.
struct FrameBuilder<'a> {
    seen: FrameSource<'a>,
    options: &'a ViewOptions,
    /// Locks by file and id, by that, place and kind of a site, and by file, class and
    /// place.
    lock_ids: HashMap<(FileNumber, u32), u32>,
    site_ids: HashMap<(FileNumber, u32, u32, u8), u32>,
    class_ids: HashMap<(FileNumber, u32, u32), u32>,
    locks: IdTable<LockKey>,
    thread_ids: HashMap<(FileNumber, u32), u32>,
    threads: IdTable<ThreadName>,
    by_lock: HashMap<(u32, u8), (WaitKind, LockSums)>,
    by_thread: HashMap<u32, ThreadSums>,
    total: PartialWaits,
}

struct IdTable<T> {
    ids: HashMap<T, u32>,
    list: Vec<T>,
}

impl<T: Clone + Eq + std::hash::Hash> IdTable<T> {
    fn new() -> IdTable<T> {
        IdTable { ids: HashMap::new(), list: Vec::new() }
    }

    fn id(&mut self, value: T) -> u32 {
        let list = &mut self.list;
        *self.ids.entry(value).or_insert_with_key(|value| {
            list.push(value.clone());
            list.len() as u32 - 1
        })
    }
}

/// Makes a frame.
pub fn frame(seen: FrameSource<'_>, options: &ViewOptions) -> TopFrame {
    let mut merging = FrameBuilder {
        seen,
        options,
        lock_ids: HashMap::new(),
        site_ids: HashMap::new(),
        class_ids: HashMap::new(),
        locks: IdTable::new(),
        thread_ids: HashMap::new(),
        threads: IdTable::new(),
        by_lock: HashMap::new(),
        by_thread: HashMap::new(),
        total: PartialWaits::default(),
    };
    merging.add_waits();
    merging.add_pending();
    merging.add_holders();
    merging.add_taken();
    merging.finish()
}

impl FrameBuilder<'_> {
    fn lock_of(&mut self, file: FileNumber, site: &WaitSite) -> u32 {
        let key = (file, site.lock, site.place, site.kind.code());
        if let Some(&known) = self.site_ids.get(&key) {
            return known;
        }
        let lock = self.locks.id(self.seen.lock_of(file, site, self.options));
        self.site_ids.insert(key, lock);
        lock
    }

    fn lock(&mut self, file: FileNumber, id: u32) -> u32 {
        if let Some(&known) = self.lock_ids.get(&(file, id)) {
            return known;
        }
        let lock = self.locks.id(self.seen.lock(file, id, self.options));
        self.lock_ids.insert((file, id), lock);
        lock
    }

    fn thread(&mut self, file: FileNumber, id: u32) -> u32 {
        if let Some(&known) = self.thread_ids.get(&(file, id)) {
            return known;
        }
        let thread = self.threads.id(self.seen.thread(file, id));
        self.thread_ids.insert((file, id), thread);
        thread
    }

    fn of_lock(&mut self, lock: u32, kind: WaitKind) -> &mut LockSums {
        &mut self.by_lock.entry((lock, kind.code())).or_insert((kind, LockSums::default())).1
    }

    fn add_waits(&mut self) {
        for (key, sum) in &self.seen.sums.waits {
            let Some(site) = self.seen.site(key.file, key.site) else { continue };
            if !self.options.kinds.contains(site.kind) {
                continue;
            }
            let (lock, thread) = (self.lock_of(key.file, &site), self.thread(key.file, key.thread));
            self.total.add(sum);
            let of_lock = self.of_lock(lock, site.kind);
            of_lock.waits.add(sum);
            of_lock.ids.insert(site.lock);
            of_lock.waiters.insert(thread);
            let of_thread = self.by_thread.entry(thread).or_default();
            of_thread.waits.add(sum);
            let of_both = of_thread.locks.entry((lock, site.kind.code())).or_default();
            *of_both = of_both.saturating_add(sum.within_ns);
        }
    }

    fn add_pending(&mut self) {
        let Some((file, _)) = self.seen.last() else { return };
        let sums = self.seen.sums;
        for pending in self.seen.pending {
            if !self.options.kinds.contains(pending.kind) {
                continue;
            }
            let (lock, thread) = (self.lock(file, pending.lock), self.thread(file, pending.thread));
            let owner = (pending.owner != 0).then(|| self.thread(file, pending.owner));
            self.total.add_pending(pending, sums);
            let of_lock = self.of_lock(lock, pending.kind);
            of_lock.waits.add_pending(pending, sums);
            of_lock.ids.insert(pending.lock);
            of_lock.waiters.insert(thread);
            if let Some(owner) = owner {
                let caused = of_lock.holders.entry(owner).or_default();
                *caused = caused.saturating_add(sums.within_ns(pending.start_ns));
            }
            let of_thread = self.by_thread.entry(thread).or_default();
            of_thread.waits.add_pending(pending, sums);
            of_thread.now = Some((lock, pending.kind, pending.start_ns));
        }
    }

    fn add_holders(&mut self) {
        let mut wanted = Vec::new();
        // Who was charged is told better by that than by who had the lock first.
        let mut charged: HashSet<(u32, u8)> = HashSet::new();
        for (key, sum) in &self.seen.sums.holders {
            let Some(site) = self.seen.site(key.file, key.site) else { continue };
            if self.options.kinds.contains(site.kind) {
                let lock = self.lock_of(key.file, &site);
                wanted.push((key, sum, lock, site.kind));
                if key.charged {
                    charged.insert((lock, site.kind.code()));
                }
            }
        }
        for (key, sum, lock, kind) in wanted {
            if key.holder == 0 || key.charged != charged.contains(&(lock, kind.code())) {
                continue;
            }
            let holder = self.thread(key.file, key.holder);
            let caused = self.of_lock(lock, kind).holders.entry(holder).or_default();
            *caused = caused.saturating_add(sum.wait_ns);
        }
    }

    fn add_taken(&mut self) {
        for (key, sum) in &self.seen.sums.taken {
            let Some(log) = self.seen.log(key.file) else { continue };
            let Some(place) = log.definitions().places().get(key.place) else { continue };
            if !self.options.kinds.contains(place.kind) || sum.count == 0 {
                continue;
            }
            let of_class = (key.file, key.class, key.place);
            let known = self.class_ids.get(&of_class).copied();
            let lock = known.unwrap_or_else(|| {
                let (class, name) = Names(log).place_parts(key.place, key.class);
                self.locks.id(self.seen.lock_key(class, name, 0, self.options))
            });
            self.class_ids.insert(of_class, lock);
            let thread = self.thread(key.file, key.thread);
            let add = |taken: &mut Option<TakenSum>| {
                let all = taken.get_or_insert_default();
                all.count = all.count.saturating_add(sum.count);
                let error = sum.error_squared.sqrt().round() as u64;
                all.error = all.error.saturating_add(error);
                all.held_ns = all.held_ns.saturating_add(sum.held_ns);
            };
            add(&mut self.of_lock(lock, place.kind).taken);
            add(&mut self.by_thread.entry(thread).or_default().taken);
        }
    }

    fn finish(self) -> TopFrame {
        let sums = self.seen.sums;
        let (span_ns, taken_span_ns) = (sums.span_ns(), sums.taken_span_ns());
        let trace = self.seen.logs.iter().any(|(_, log)| log.is_trace());
        let taken = |taken: Option<TakenSum>| {
            let span_ns = taken_span_ns as f64;
            let per_s = |number: f64| number / span_ns * 1e9;
            (trace || taken.is_some()).then(|| RowAcquisitions {
                acquisitions_per_s: taken.map(|it| per_s(it.count as f64)),
                acquisitions_per_s_error: taken.map(|it| per_s(it.error as f64)),
                held: taken.map(|it| it.held_ns as f64 / span_ns),
            })
        };
        let (lock_keys, thread_keys) = (&self.locks.list, &self.threads.list);
        let mut locks: Vec<TopLock> = Vec::with_capacity(self.by_lock.len());
        for ((lock, _), (kind, of_lock)) in self.by_lock {
            let mut lock = lock_keys[lock as usize].clone();
            if let (1, Some(&id)) = (of_lock.ids.len(), of_lock.ids.first()) {
                lock.id = id;
            }
            let holder = of_lock
                .holders
                .iter()
                .map(|(&thread, &caused)| (caused, Reverse(&thread_keys[thread as usize])));
            locks.push(TopLock {
                lock,
                kind,
                instances: of_lock.ids.len() as u64,
                waits: of_lock.waits.waits(span_ns),
                waiters: of_lock.waiters.len() as u64,
                holder: holder.max().map(|(_, Reverse(thread))| thread.name.clone()),
                taken: taken(of_lock.taken),
            });
        }
        let mut threads: Vec<ThreadRow> = Vec::with_capacity(self.by_thread.len());
        for (thread, of_thread) in self.by_thread {
            let longest = of_thread.locks.iter().max_by_key(|(_, within_ns)| **within_ns);
            let longest =
                longest.and_then(|(&(lock, kind), _)| Some((lock, WaitKind::from_code(kind)?)));
            let lock = of_thread.now.map(|(lock, kind, _)| (lock, kind)).or(longest);
            threads.push(ThreadRow {
                thread: thread_keys[thread as usize].clone(),
                waits: of_thread.waits.waits(span_ns),
                lock: lock.map(|(lock, _)| lock_keys[lock as usize].clone()),
                kind: lock.map(|(_, kind)| kind),
                // It counts whatever it takes, so that none is none.
                taken: taken(of_thread.taken.or(trace.then(TakenSum::default))),
            });
        }
        locks.sort_by(|a, b| {
            let by_name = || (&a.lock, a.kind.code()).cmp(&(&b.lock, b.kind.code()));
            hotter(&a.waits, &b.waits).then_with(|| busier(&a.taken, &b.taken)).then_with(by_name)
        });
        threads.sort_by(|a, b| {
            let by_name = || a.thread.cmp(&b.thread);
            hotter(&a.waits, &b.waits).then_with(|| busier(&a.taken, &b.taken)).then_with(by_name)
        });
        TopFrame { window_ns: span_ns, total: self.total.waits(span_ns), locks, threads }
    }
}

fn hotter(a: &RowWaits, b: &RowWaits) -> std::cmp::Ordering {
    b.waiting.total_cmp(&a.waiting).then(b.waits.cmp(&a.waits))
}

/// Where nobody waits, what is held longer, and then taken more often.
fn busier(a: &Option<RowAcquisitions>, b: &Option<RowAcquisitions>) -> std::cmp::Ordering {
    let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
    let held = known_down(a.held, b.held);
    held.then_with(|| known_down(a.acquisitions_per_s, b.acquisitions_per_s))
}
