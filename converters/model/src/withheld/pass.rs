//! One pass over the waits of a log, for what tells idleness from withheld work.

use super::{lengths::Lengths, overlap::Spans};
use crate::{
    filter::Window,
    hash::Table,
    near::Near,
    pass::{Question, Visitor},
};
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};
use tyrion_formats::{Entry, Event, Note, Noted, Recording};
use tyrion_wire::{
    Outcome,
    cell::Cell,
    def::id::{EMPTY_STACK, UNKNOWN},
    wake::Wake,
};

/// What to look for in the waits of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// How many there are.
    Elsewhere,
    /// Also who waits: it is for a lock that threads wait for at a place.
    Touches,
    /// That a condition had been signalled: not counted as a wait of its own.
    Signalled,
    /// How long threads waited for work, in a loop of the JDK's: there is nothing to judge.
    TakesWork,
    /// All there is: these are to be judged, at the place of this number. The second one is
    /// whether each wait tells whether what it was for came.
    Judged(u32, bool),
}

/// Which waits the filter asks for.
#[derive(Debug)]
pub(super) struct WaitFilter {
    pub(super) window: Window,
    /// The threads by id; the first one is for those that are not defined, too.
    pub(super) threads: Vec<bool>,
    /// The sites by id, for their locks.
    pub(super) sites: Vec<bool>,
}

impl WaitFilter {
    /// Whether it asks for a wait that another thread has ended.
    fn takes(&self, thread: u32, woken: &Noted<Wake>) -> bool {
        let is_set = |list: &[bool], id: u32| list.get(id as usize).copied().unwrap_or(false);
        is_set(&self.threads, thread)
            && is_set(&self.sites, woken.record.site)
            && self.window.holds(woken.at_ns)
            && woken.record.wait_ns >= self.window.min_wait_ns
    }
}

/// The waits of a thread at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SiteWaits {
    pub(super) count: u64,
    pub(super) wait_ns: u64,
    /// Of how many it is told whether what they were for came, and of how many
    /// of those it did not.
    pub(super) told: u64,
    pub(super) timed_out: u64,
    /// Those that the filter asks for, and the longest of them.
    pub(super) asked: u64,
    pub(super) asked_ns: u64,
    pub(super) longest_ns: u64,
    /// When the last one ended, monotonic ns; 0 if that is not known.
    pub(super) last_ns: u64,
    /// How long of `wait_ns` was in the second half of the log.
    pub(super) late_ns: u64,
}

impl SiteWaits {
    fn add(&mut self, more: &SiteWaits) {
        self.count = self.count.saturating_add(more.count);
        self.wait_ns = self.wait_ns.saturating_add(more.wait_ns);
        self.told = self.told.saturating_add(more.told);
        self.timed_out = self.timed_out.saturating_add(more.timed_out);
        self.asked = self.asked.saturating_add(more.asked);
        self.asked_ns = self.asked_ns.saturating_add(more.asked_ns);
        self.longest_ns = self.longest_ns.max(more.longest_ns);
        self.last_ns = self.last_ns.max(more.last_ns);
        self.late_ns = self.late_ns.saturating_add(more.late_ns);
    }
}

/// The waits of a log, by its own ids.
#[derive(Debug, Default)]
pub(super) struct LogWaits {
    /// By thread and site.
    pub(super) sites: Table<(u32, u32), SiteWaits>,
    /// Threads that waited at sites which touch a lock, and these sites.
    pub(super) touched: HashSet<(u32, u32)>,
    /// How many waits each thread had, wherever: in shallow stacks, and in deep ones.
    pub(super) waits: Vec<[u64; 2]>,
    /// How many waits at a place took about how long.
    pub(super) lengths: Lengths,
    /// When threads waited, by thread and site.
    pub(super) spans: Spans<(u32, u32)>,
    /// Waits that another thread ended, by the place, the thread that did so and its stack.
    pub(super) wakes: Table<WakeKey, EndedWaits>,
}

/// Waits that a thread has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EndedWaits {
    /// Whether who ended them had only got the same before.
    pub(super) is_passed_on: bool,
    /// Their durations added up.
    pub(super) wait_ns: u64,
    /// How many of them the filter asks for.
    pub(super) asked: u64,
    /// How long these were.
    pub(super) asked_ns: u64,
}

impl EndedWaits {
    fn add(&mut self, more: &EndedWaits) {
        self.wait_ns = self.wait_ns.saturating_add(more.wait_ns);
        self.asked = self.asked.saturating_add(more.asked);
        self.asked_ns = self.asked_ns.saturating_add(more.asked_ns);
    }
}

/// A place, the thread that ended waits there, and its stack.
pub(super) type WakeKey = (u32, u32, u32);

/// What is asked of the waits of a log.
pub(crate) struct Gather<'a> {
    log: &'a Recording,
    asked: WaitFilter,
    roles: Vec<Role>,
    /// By site: whether its stack is deep.
    deep: Vec<bool>,
    /// When the second half of the log begins, monotonic ns.
    middle_ns: u64,
    seen: Mutex<LogWaits>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(
        log: &'a Recording,
        asked: WaitFilter,
        roles: Vec<Role>,
        deep: Vec<bool>,
    ) -> Gather<'a> {
        let middle_ns = log.start_ns() + log.end_ns().saturating_sub(log.start_ns()) / 2;
        Gather { log, asked, roles, deep, middle_ns, seen: Mutex::default() }
    }

    /// What was seen, once the pass is over.
    pub(super) fn into_seen(self) -> LogWaits {
        self.seen.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question for Gather<'_> {
    type Visitor<'q>
        = WaitVisitor<'q>
    where
        Self: 'q;

    fn visitor(&self) -> WaitVisitor<'_> {
        WaitVisitor::new(self)
    }

    fn take(&self, worker: WaitVisitor<'_>) {
        let seen = worker.into_seen();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).add(seen);
    }
}

impl LogWaits {
    fn add(&mut self, other: LogWaits) {
        for (key, more) in other.sites {
            self.add_waits(key, &more);
        }
        self.touched.extend(other.touched);
        if self.waits.len() < other.waits.len() {
            self.waits.resize(other.waits.len(), [0; 2]);
        }
        let sums = self.waits.iter_mut().flatten();
        for (sum, more) in sums.zip(other.waits.into_iter().flatten()) {
            *sum = sum.saturating_add(more);
        }
        self.lengths.merge(other.lengths);
        self.spans.add(other.spans, Some);
        for (key, more) in other.wakes {
            self.wakes.entry(key).or_default().add(&more);
        }
    }

    fn add_waits(&mut self, key: (u32, u32), waits: &SiteWaits) {
        if waits.count != 0 {
            self.sites.entry(key).or_default().add(waits);
        }
    }
}

/// One worker's waits.
pub(crate) struct WaitVisitor<'a> {
    log: &'a Recording,
    asked: &'a WaitFilter,
    window: Window,
    roles: &'a [Role],
    deep: &'a [bool],
    middle_ns: u64,
    seen: LogWaits,
    now: CurrentThread,
    /// Who touched a site last, so that most need not be looked up.
    last_touch: Vec<u32>,
    /// By site: who waited there last, and what is not in the sums yet, for the same reason.
    last: Vec<(u32, SiteWaits)>,
    /// By site, thread and stack, as they are in the log.
    wakes: Near<(u32, u32, u32), EndedWaits>,
}

/// The thread whose waits come.
#[derive(Clone, Copy)]
struct CurrentThread {
    /// As the records have it.
    id: u32,
    /// The same, or the unknown one if it is not defined.
    known: u32,
    /// How many waits are not in the sums yet: in shallow stacks, and in deep ones.
    waits: [u64; 2],
}

impl<'a> WaitVisitor<'a> {
    fn new(gather: &'a Gather<'a>) -> WaitVisitor<'a> {
        let Gather { log, asked, roles, deep, middle_ns, .. } = gather;
        let (threads, window) = (log.definitions().threads().len().max(1), asked.window);
        WaitVisitor {
            log,
            asked,
            window,
            roles,
            deep,
            middle_ns: *middle_ns,
            seen: LogWaits { waits: vec![[0; 2]; threads], ..LogWaits::default() },
            now: CurrentThread { id: UNKNOWN, known: UNKNOWN, waits: [0; 2] },
            last_touch: vec![u32::MAX; roles.len()],
            last: vec![Default::default(); roles.len()],
            wakes: Near::default(),
        }
    }

    /// The thread, or the unknown one if it is not defined: made-up ids shall
    /// not take memory.
    #[inline]
    fn known(&mut self, thread: u32) -> u32 {
        if thread != self.now.id {
            self.switch(thread);
        }
        self.now.known
    }

    #[inline(never)]
    fn switch(&mut self, thread: u32) {
        if let Some(sums) = self.seen.waits.get_mut(self.now.known as usize) {
            for (sum, more) in sums.iter_mut().zip(self.now.waits) {
                *sum = sum.saturating_add(more);
            }
        }
        self.now = CurrentThread { id: thread, known: defined(self.log, thread), waits: [0; 2] };
    }

    #[inline]
    fn count(&mut self, thread: u32, site: u32, waits: u64) {
        self.known(thread);
        let is_deep = self.deep.get(site as usize).copied().unwrap_or(false);
        let sum = &mut self.now.waits[usize::from(is_deep)];
        *sum = sum.saturating_add(waits);
    }

    #[inline]
    fn wait(&mut self, event: &Event) {
        match self.roles.get(event.site as usize) {
            Some(Role::Elsewhere) => self.count(event.thread, event.site, 1),
            Some(Role::Touches) => {
                self.touch(event.thread, event.site);
                self.count(event.thread, event.site, 1);
            }
            Some(Role::Signalled) => self.signalled(event.thread, event.site, 1),
            Some(Role::TakesWork) => self.takes(event),
            Some(&Role::Judged(place, is_told)) => self.judged(event, place, is_told),
            None => {}
        }
    }

    #[inline]
    fn touch(&mut self, thread: u32, site: u32) {
        if let Some(last) = self.last_touch.get_mut(site as usize)
            && *last != thread
        {
            *last = thread;
            let known = self.known(thread);
            self.seen.touched.insert((known, site));
        }
    }

    #[inline]
    fn signalled(&mut self, thread: u32, site: u32, count: u64) {
        let known = self.known(thread);
        self.add((known, site), &SiteWaits { count, ..SiteWaits::default() });
    }

    #[inline]
    fn takes(&mut self, event: &Event) {
        self.count(event.thread, event.site, 1);
        let (wait_ns, late_ns) = (event.wait_ns(), self.late_ns(event));
        let key = (self.now.known, event.site);
        self.add(key, &SiteWaits { count: 1, wait_ns, late_ns, ..SiteWaits::default() });
    }

    /// How long of a wait was in the second half of the log.
    #[inline]
    fn late_ns(&self, event: &Event) -> u64 {
        event.end_ns.saturating_sub(event.start_ns.max(self.middle_ns))
    }

    #[inline]
    fn judged(&mut self, event: &Event, place: u32, is_told: bool) {
        self.count(event.thread, event.site, 1);
        let key = (self.now.known, event.site);
        let is_told = is_told || event.outcome != Outcome::Granted;
        let is_asked = self.window.is_open() || self.window.takes(event);
        let asked_ns = if is_asked { event.wait_ns() } else { 0 };
        self.add(
            key,
            &SiteWaits {
                count: 1,
                wait_ns: event.wait_ns(),
                told: u64::from(is_told),
                timed_out: u64::from(event.outcome == Outcome::TimedOut),
                asked: u64::from(is_asked),
                asked_ns,
                longest_ns: asked_ns,
                last_ns: event.end_ns,
                late_ns: self.late_ns(event),
            },
        );
        self.seen.lengths.count(place, event.wait_ns());
        self.seen.spans.push(key, (event.start_ns, event.end_ns));
    }

    #[inline]
    fn add(&mut self, (thread, site): (u32, u32), waits: &SiteWaits) {
        let Some((last, sum)) = self.last.get_mut(site as usize) else { return };
        if *last != thread {
            let key = (std::mem::replace(last, thread), site);
            self.seen.add_waits(key, &std::mem::take(sum));
        }
        sum.add(waits);
    }

    /// What was seen, once nothing more comes.
    fn into_seen(mut self) -> LogWaits {
        self.switch(UNKNOWN);
        for (site, (thread, sum)) in (0..).zip(&self.last) {
            self.seen.add_waits((*thread, site), sum);
        }
        for (key, ended) in self.wakes.drain() {
            self.put_wakes(key, &ended);
        }
        self.seen
    }

    /// Who ended a wait. There are few beside waits: their code shall not take the place
    /// of that of waits.
    #[inline(never)]
    fn wake(&mut self, woken: &Noted<Wake>) {
        let Wake { site, waker, stack, wait_ns, .. } = woken.record;
        let Some(Role::Judged(..)) = self.roles.get(site as usize) else { return };
        let is_asked = self.asked.takes(self.known(woken.thread), woken);
        let gone = self.wakes.change((site, waker, stack), |sum| {
            sum.add(&EndedWaits {
                is_passed_on: false,
                wait_ns,
                asked: u64::from(is_asked),
                asked_ns: if is_asked { wait_ns } else { 0 },
            });
        });
        if let Some((key, ended)) = gone {
            self.put_wakes(key, &ended);
        }
    }

    #[inline(never)]
    fn put_wakes(&mut self, (site, waker, stack): (u32, u32, u32), ended: &EndedWaits) {
        let Some(&Role::Judged(place, _)) = self.roles.get(site as usize) else { return };
        let stack = match self.log.definitions().stacks().get(stack) {
            Some(_) => stack,
            None => EMPTY_STACK,
        };
        let key = (place, defined(self.log, waker), stack);
        self.seen.wakes.entry(key).or_default().add(ended);
    }
}

/// A thread, or the unknown one if it is not defined.
fn defined(log: &Recording, thread: u32) -> u32 {
    if log.definitions().threads().get(thread).is_some() { thread } else { UNKNOWN }
}

impl Visitor for WaitVisitor<'_> {
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Wait(event) => self.wait(event),
            Entry::Note(noted) => {
                if let Note::Wake(wake) = noted.record {
                    self.wake(&noted.with(wake));
                }
            }
        }
    }

    fn cell(&mut self, cell: &Cell) {
        let (thread, site) = (cell.thread, cell.site);
        match self.roles.get(site as usize) {
            Some(Role::Elsewhere) => self.count(thread, site, cell.count),
            Some(Role::Touches) => {
                self.touch(thread, site);
                self.count(thread, site, cell.count);
            }
            Some(Role::Signalled) => self.signalled(thread, site, cell.count),
            Some(Role::TakesWork | Role::Judged(..)) => {
                self.count(thread, site, cell.count);
                let part = self.window.part_of_cell(cell);
                let key = (self.now.known, site);
                self.seen.sites.entry(key).or_default().add(&SiteWaits {
                    count: cell.count,
                    wait_ns: cell.sum_ns,
                    asked: part.count,
                    asked_ns: part.wait_ns,
                    longest_ns: part.max_ns,
                    late_ns: match self.middle_ns {
                        middle_ns if middle_ns <= cell.first_ns => cell.sum_ns,
                        middle_ns if middle_ns < cell.last_ns => cell.sum_ns / 2,
                        _ => 0,
                    },
                    ..SiteWaits::default()
                });
            }
            None => {}
        }
    }
}
