//! The pass over a log's events and cells.

use super::{
    fold::{FoldNotes, Folder},
    known::known_thread,
    linked::{LinkedWaits, Linker},
    owned::{self, OwnedSite, OwnedSums, OwnerTable},
    sampled::{SampleSums, Sampler, Samples},
    sums::{PieceSums, SiteSums, SparseSums, ThreadSums, WaitSums, lock},
    trace::{TraceSums, Tracer},
};
use crate::{
    filter::Window,
    pass::{Question, Visitor},
};
use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use tyrion_formats::{
    Damage, Entry, Event, Events, Note, Noted, Recording, TakeRecords, visit_two,
};
use tyrion_wire::{cell::Cell, trace::AcquisitionCell};

/// A worker hands sums by thread and site over when it has so many.
const MAX_SPARSE: usize = 1 << 16;

/// What the pass tells.
pub(super) struct LogSums {
    /// Waits with a record of their own.
    pub(super) recorded: Vec<ThreadSums>,
    /// Folded waits.
    pub(super) folded: Vec<ThreadSums>,
    /// Those of the recorded waits whose owner is known; `None` if they are too many, or
    /// nobody asked for them.
    pub(super) owned: Option<OwnedSums>,
    /// Waits whose site is not defined.
    pub(super) unknown: WaitSums,
    pub(super) events: u64,
    pub(super) folds: FoldNotes,
    pub(super) trace: TraceSums,
    pub(super) samples: SampleSums,
    /// The longest waits whose spans are known.
    pub(super) links: LinkedWaits,
    pub(super) damage: Vec<Damage>,
}

/// What is asked of a log.
pub(super) struct SumQuestion<'a> {
    log: &'a Recording,
    window: Window,
    samples: Samples<'a>,
    owned: owned::SumsByOwner,
    recorded: PieceSums,
    folded: PieceSums,
    events: AtomicU64,
    trace: Mutex<TraceSums>,
    sampled: Mutex<SampleSums>,
    links: Mutex<LinkedWaits>,
    rest: Mutex<(WaitSums, FoldNotes)>,
}

impl<'a> SumQuestion<'a> {
    /// Sums what a log holds, into `owned` by owner.
    pub(super) fn new(
        log: &'a Recording,
        window: Window,
        samples: Samples<'a>,
        owned: owned::SumsByOwner,
    ) -> SumQuestion<'a> {
        SumQuestion {
            log,
            window,
            samples,
            owned,
            recorded: PieceSums::default(),
            folded: PieceSums::default(),
            events: AtomicU64::new(0),
            trace: Mutex::default(),
            sampled: Mutex::default(),
            links: Mutex::default(),
            rest: Mutex::default(),
        }
    }

    /// What the pass has told, which has found this damage.
    pub(super) fn finish(self, damage: Vec<Damage>) -> LogSums {
        let mut damage: Vec<Damage> = self.log.damage().iter().cloned().chain(damage).collect();
        Damage::bound(&mut damage);
        let (unknown, folds) = inner(self.rest);
        LogSums {
            recorded: self.recorded.into_threads(),
            folded: self.folded.into_threads(),
            owned: self.owned.into_sums(),
            unknown,
            events: self.events.into_inner(),
            folds,
            trace: inner(self.trace),
            samples: inner(self.sampled),
            links: inner(self.links),
            damage,
        }
    }
}

fn inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Question for SumQuestion<'_> {
    type Visitor<'q>
        = SumVisitor<'q>
    where
        Self: 'q;

    fn visitor(&self) -> SumVisitor<'_> {
        SumVisitor::new(self)
    }

    fn take(&self, mut worker: SumVisitor<'_>) {
        lock(&self.trace).add(worker.tracer.finish());
        lock(&self.sampled).add(&mut worker.sampler.sums);
        lock(&self.links).take(&mut worker.linker.found);
        worker.owned.hand_over();
        self.recorded.add_sparse(&mut worker.others.sums);
        self.folded.add_sparse(&mut worker.folder.sums);
        self.events.fetch_add(worker.count + worker.others.count, Relaxed);
        let mut rest = lock(&self.rest);
        rest.0.add(&worker.others.unknown);
        rest.1.add(&worker.folder.notes);
    }
}

/// One worker's state.
pub(super) struct SumVisitor<'a> {
    log: &'a Recording,
    window: &'a Window,
    to: &'a SumQuestion<'a>,
    /// The current piece's thread, its sums by site, and whether there are to be any.
    thread: u32,
    dense: Vec<WaitSums>,
    is_dense: bool,
    others: Others<'a>,
    owned: OwnerTable<'a>,
    folder: Folder<'a>,
    tracer: Tracer<'a>,
    sampler: Sampler<'a>,
    linker: Linker,
    /// Whether all waits are added, and sums are all that is wanted of them: two chunks
    /// can be decoded together.
    adds_all: bool,
    count: u64,
}

/// The sums that do not go into the dense ones.
struct Others<'a> {
    log: &'a Recording,
    sums: SparseSums,
    unknown: WaitSums,
    count: u64,
}

impl Others<'_> {
    #[inline(never)]
    fn add(&mut self, thread: u32, site: u32, sums: &WaitSums) {
        self.count += sums.count;
        let definitions = self.log.definitions();
        if definitions.sites().get(site).is_none() {
            self.unknown.add(sums);
            return;
        }
        let key = (known_thread(self.log, thread), site);
        self.sums.entry(key).or_default().add(sums);
    }
}

/// Adds the waits of a piece. Its parts are variables of their own, so that the compiler
/// keeps them in registers.
struct Adder<'w, 'a> {
    /// The thread of the dense sums.
    thread: u32,
    /// Empty if there are to be none.
    dense: &'w mut [WaitSums],
    others: &'w mut Others<'a>,
}

impl<'w, 'a> Adder<'w, 'a> {
    fn new(
        thread: u32,
        is_dense: bool,
        dense: &'w mut [WaitSums],
        others: &'w mut Others<'a>,
    ) -> Adder<'w, 'a> {
        Adder { thread, dense: if is_dense { dense } else { &mut [] }, others }
    }

    #[inline(always)]
    fn add_wait<const BY_OWNER: bool>(
        &mut self,
        owned: &mut OwnerTable<'_>,
        thread: u32,
        site: u32,
        owner: u32,
        wait_ns: u64,
    ) {
        if BY_OWNER && owner != 0 && owned.is_on {
            if let Some((thread, site, sums)) =
                owned.add_wait(OwnedSite { thread, site, owner }, wait_ns)
            {
                self.add(thread, site, &sums);
            }
            return;
        }
        match self.dense.get_mut(site as usize) {
            Some(sums) if thread == self.thread => sums.add_wait(wait_ns),
            _ => self.others.add(thread, site, &WaitSums::of(wait_ns)),
        }
    }

    /// Not a call of its own, or else its parts would be in memory.
    #[inline(always)]
    fn add(&mut self, thread: u32, site: u32, sums: &WaitSums) {
        match self.dense.get_mut(site as usize) {
            Some(own) if thread == self.thread => own.add(sums),
            _ => self.others.add(thread, site, sums),
        }
    }
}

/// Takes the records of two chunks.
struct Both<'w, 'a, const BY_OWNER: bool> {
    adder: Adder<'w, 'a>,
    owned: &'w mut OwnerTable<'a>,
    tracer: &'w mut Tracer<'a>,
    sampler: &'w mut Sampler<'a>,
}

/// What a profile takes of a record that is no wait. Outputs show neither instances nor
/// nesting.
#[inline]
fn take_note(tracer: &mut Tracer<'_>, sampler: &mut Sampler<'_>, noted: &Noted<Note<'_>>) {
    match noted.record {
        Note::Hold(hold) => tracer.hold(&noted.with(hold)),
        Note::Blame(blame) => tracer.blame(&noted.with(blame)),
        Note::Sample(sample) => sampler.record(&noted.with(sample)),
        Note::Wake(wake) => tracer.wake(&noted.with(wake)),
        Note::Holder(holder) => tracer.holder(&noted.with(holder)),
        Note::Operation(operation) => tracer.operation(&noted.with(operation)),
        Note::Instance(_) | Note::Nest(_) | Note::Snapshot(_) | Note::Span(_) => {}
    }
}

impl<'r, const BY_OWNER: bool> TakeRecords<'r> for Both<'_, '_, BY_OWNER> {
    #[inline(always)]
    fn wait(&mut self, thread: u32, site: u32, owner: u32, wait_ns: u64) {
        self.adder.add_wait::<BY_OWNER>(self.owned, thread, site, owner, wait_ns);
    }

    #[inline(never)]
    fn entry(&mut self, entry: Entry<'r>) {
        match entry {
            Entry::Wait(event) => {
                self.wait(event.thread, event.site, event.owner, event.wait_ns());
            }
            Entry::Note(noted) => take_note(self.tracer, self.sampler, &noted),
        }
    }
}

/// Whether there may be records of spans. A span with a name is a group.
fn may_have_spans(log: &Recording) -> bool {
    log.definitions().stacks().groups().next().is_some()
}

impl<'a> SumVisitor<'a> {
    fn new(to: &'a SumQuestion<'a>) -> Self {
        let SumQuestion { log, window, samples, owned, .. } = to;
        let (sums, unknown) = (SparseSums::default(), WaitSums::default());
        SumVisitor {
            log,
            window,
            to,
            thread: 0,
            dense: vec![WaitSums::default(); log.definitions().sites().len()],
            is_dense: false,
            others: Others { log, sums, unknown, count: 0 },
            owned: OwnerTable::new(log, owned),
            folder: Folder::new(log, window),
            tracer: Tracer::new(log, window),
            sampler: Sampler::new(log, window, *samples),
            linker: Linker::new(),
            adds_all: window.is_open() && !log.is_trace() && !may_have_spans(log),
            count: 0,
        }
    }

    /// Two chunks that begin with the same thread.
    fn two<'e, const BY_OWNER: bool>(&mut self, first: &mut Events<'e>, second: &mut Events<'e>) {
        let adder = Adder::new(self.thread, self.is_dense, &mut self.dense, &mut self.others);
        let (owned, tracer, sampler) = (&mut self.owned, &mut self.tracer, &mut self.sampler);
        visit_two(first, second, &mut Both::<BY_OWNER> { adder, owned, tracer, sampler });
    }

    /// Hands over what has grown large.
    fn hand_over(&mut self) {
        if self.others.sums.len() > MAX_SPARSE {
            self.to.recorded.add_sparse(&mut self.others.sums);
        }
        if self.folder.sums.len() > MAX_SPARSE {
            self.to.folded.add_sparse(&mut self.folder.sums);
        }
        if self.tracer.sums.len() > MAX_SPARSE {
            lock(&self.to.trace).add(&mut self.tracer.sums);
        }
        if self.sampler.sums.len() > MAX_SPARSE {
            lock(&self.to.sampled).add(&mut self.sampler.sums);
        }
    }

    /// The dense sums by site in ascending order; all are zero afterwards.
    fn take_dense(&mut self) -> Vec<SiteSums> {
        let mut sites = Vec::new();
        for (site, sums) in self.dense.iter_mut().enumerate() {
            if sums.count != 0 {
                self.count += sums.count;
                sites.push(SiteSums { site: site as u32, sums: std::mem::take(sums) });
            }
        }
        sites
    }
}

impl Visitor for SumVisitor<'_> {
    fn begin_piece(&mut self, thread: u32, bytes: u64) {
        self.linker.other();
        self.thread = thread;
        // Going through all sites after a piece must not cost more than it.
        self.is_dense = bytes >= self.dense.len() as u64 / 2;
    }

    fn end_piece(&mut self) {
        let mut adder = Adder::new(self.thread, self.is_dense, &mut self.dense, &mut self.others);
        self.owned.finish(|thread, site, sums| adder.add(thread, site, sums));
        if self.is_dense {
            let sites = self.take_dense();
            self.to.recorded.add_dense(known_thread(self.log, self.thread), sites);
        }
        self.hand_over();
    }

    fn end_chunk(&mut self) {
        self.hand_over();
    }

    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Wait(event) if self.window.is_open() || self.window.takes(event) => {
                self.linker.wait(event);
                let mut adder =
                    Adder::new(self.thread, self.is_dense, &mut self.dense, &mut self.others);
                let Event { thread, site, owner, .. } = *event;
                adder.add_wait::<true>(&mut self.owned, thread, site, owner, event.wait_ns());
            }
            Entry::Wait(_) => {
                self.linker.other();
                self.count += 1;
            }
            Entry::Note(Noted { record: Note::Span(span), thread, .. }) => {
                self.linker.span(self.log, *thread, *span);
            }
            Entry::Note(noted) => take_note(&mut self.tracer, &mut self.sampler, noted),
        }
    }

    fn takes_two(&self) -> bool {
        self.adds_all
    }

    fn two_chunks<'e>(&mut self, first: &mut Events<'e>, second: &mut Events<'e>) {
        match self.owned.is_on {
            true => self.two::<true>(first, second),
            false => self.two::<false>(first, second),
        }
        self.hand_over();
    }

    fn cell(&mut self, cell: &Cell) {
        let taken = self.folder.add(cell);
        self.tracer.folded_operation(cell, &taken);
        if cell.owner != 0 && taken.count != 0 && self.owned.is_on {
            let of = OwnedSite { thread: cell.thread, site: cell.site, owner: cell.owner };
            self.owned.add_folded(of, &taken);
        }
        self.hand_over();
    }

    fn acquisitions(&mut self, cell: &AcquisitionCell) {
        self.tracer.cell(cell);
        self.hand_over();
    }
}
