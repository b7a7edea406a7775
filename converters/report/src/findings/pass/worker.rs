//! One worker's share of the pass.

use super::{
    super::{
        axis::Clock,
        busy::SpentTime,
        delay::Delay,
        histogram,
        owners::Owners,
        ranks::{BANDS, NONE},
        spans::within_parts,
    },
    Count, Job, SitePlan, Sums, ThreadPlan, ThreadTally,
    time_use::Use,
};
use std::ops::Range;
use tyrion_formats::{ChunkRef, Entry, Event, Note};
use tyrion_model::{filter::Window, pass::Visitor};
use tyrion_wire::cell::Cell;

/// The number of waits that are summed at a time.
const BATCH: usize = 64;

/// A wait, as far as the sums need it.
#[derive(Clone, Copy, Default)]
struct Short {
    end_ns: u64,
    wait_ns: u64,
    site: u32,
    owner: u32,
}

/// What a worker is at: the stretch of time in which neither phase nor box
/// changes, and what one thread did in it.
struct Stretch {
    /// Monotonic times.
    from_ns: u64,
    to_ns: u64,
    phase: usize,
    in_box: usize,
    /// The thread, and what is to be done with its waits.
    thread: u32,
    wanted: ThreadPlan,
    /// Waits within the stretch, by what they count as.
    sums_ns: [u64; Count::LEN],
    /// The same of waits for locks, by their band; those that do not count come last.
    bands_ns: [u64; BANDS + 1],
    /// Waits over the threshold since it was put down last.
    delay: Delay,
    /// What waits took since then that were not within the stretch.
    spent: SpentTime,
    /// When the first wait since then began, and when the last one ended.
    first_ns: u64,
    last_ns: u64,
}

pub(in crate::findings) struct DelayVisitor<'j, 'a> {
    pub(super) job: &'j Job<'a>,
    pub(super) window: Window,
    /// Whether it leaves no wait out.
    is_open: bool,
    threshold_ns: u64,
    pub(super) clock: Clock,
    /// When recording was on; `None` for a log without pauses.
    parts: Option<Vec<Range<u64>>>,
    pub(super) sites: &'j [SitePlan],
    /// For sites whose definition is lost.
    nothing: SitePlan,
    /// Waits over the threshold, by site.
    pub(super) delays: Vec<Delay>,
    /// How much of the shown waits fell into pauses of the garbage collector, by site, in
    /// ns; empty where there were none.
    pub(super) collected_ns: Vec<u64>,
    /// Where to look for them next.
    pub(super) next_pause: usize,
    boxes: usize,
    pub(super) wanted: &'j [ThreadPlan],
    pub(super) threads: &'j [ThreadTally],
    pub(super) sums: Sums,
    now: Stretch,
    /// Waits of one thread that are not summed yet: the first `waiting` ones.
    batch: [Short; BATCH],
    waiting: usize,
    pub(super) owners: Owners,
}

impl Short {
    #[inline(always)]
    fn of(event: &Event) -> Short {
        let &Event { end_ns, site, owner, .. } = event;
        Short { end_ns, wait_ns: event.wait_ns(), site, owner }
    }

    #[inline(always)]
    fn start_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.wait_ns)
    }
}

impl<'j, 'a> DelayVisitor<'j, 'a> {
    pub(super) fn new(
        job: &'j Job<'a>,
        sites: &'j [SitePlan],
        wanted: &'j [ThreadPlan],
        threads: &'j [ThreadTally],
    ) -> DelayVisitor<'j, 'a> {
        let window = job.filter.window(job.log);
        DelayVisitor {
            is_open: window.is_open(),
            window,
            threshold_ns: job.log.facts().threshold_ns,
            clock: Clock::new(job.log, job.axis),
            parts: (!job.log.definitions().pauses().is_empty()).then(|| job.log.recorded()),
            sites,
            nothing: job.nothing(),
            delays: vec![Delay::default(); sites.len()],
            collected_ns: job.pauses.map_or_else(Vec::new, |_| vec![0; sites.len()]),
            next_pause: 0,
            boxes: job.axis.boxes().len(),
            wanted,
            threads,
            sums: Sums::new(job.axis, job.ranks),
            now: Stretch {
                from_ns: 0,
                to_ns: 0,
                phase: 0,
                in_box: 0,
                thread: NONE,
                wanted: ThreadPlan { wanted: false, lives: false, row: NONE, group: NONE },
                sums_ns: [0; Count::LEN],
                bands_ns: [0; BANDS + 1],
                delay: Delay::default(),
                spent: SpentTime::default(),
                first_ns: u64::MAX,
                last_ns: 0,
            },
            batch: [Short::default(); BATCH],
            waiting: 0,
            owners: Owners::default(),
            job,
        }
    }

    #[inline(always)]
    fn take(&mut self, event: &Event) {
        self.in_pauses(event);
        if self.is_open { self.put(event) } else { self.wait(&Short::of(event), event.thread) }
    }

    /// Puts a wait into the batch. Summing many together is twice as fast as
    /// one after the other: what decoding does not foresee would keep memory
    /// waiting.
    #[inline(always)]
    fn put(&mut self, event: &Event) {
        if event.thread != self.now.thread || self.waiting == BATCH {
            self.sum_batch();
            if event.thread != self.now.thread {
                self.switch(event.thread);
            }
        }
        if let Some(place) = self.batch.get_mut(self.waiting) {
            *place = Short::of(event);
            self.waiting += 1;
        }
    }

    fn sum_batch(&mut self) {
        // A copy, which nothing below can change: so it need not be read again.
        let batch = self.batch;
        let waits = batch.get(..std::mem::take(&mut self.waiting)).unwrap_or_default();
        let Some((first, last)) = waits.first().zip(waits.last()) else { return };
        // Steps of their own, none of which waits for memory that the one before
        // has to find first, and none with a branch that is hard to foresee.
        let mut sites = [self.nothing; BATCH];
        let mut first_ns = first.start_ns();
        for (site, wait) in sites.iter_mut().zip(waits) {
            first_ns = first_ns.min(wait.start_ns());
            *site = self.sites.get(wait.site as usize).copied().unwrap_or(self.nothing);
        }
        let now = &mut self.now;
        if first_ns < now.from_ns || last.end_ns >= now.to_ns {
            let thread = now.thread;
            return waits.iter().for_each(|wait| self.wait(wait, thread));
        }
        (now.first_ns, now.last_ns) = (now.first_ns.min(first_ns), last.end_ns);
        now.delay += sum_delays(waits, &sites, self.threshold_ns, &mut self.delays);
        let at = (self.boxes, now.in_box);
        sum_rows(waits, &sites, at, &mut self.sums, &mut now.sums_ns);
        for (wait, site) in waits.iter().zip(&sites) {
            let sum = &mut now.bands_ns[usize::from(site.band).min(BANDS)];
            *sum = sum.saturating_add(wait.wait_ns);
        }
        let group = now.wanted.group;
        let (mut owned, mut len) = ([0u8; BATCH], 0);
        for (nth, (wait, site)) in (0u8..).zip(waits.iter().zip(&sites)) {
            owned[len % BATCH] = nth;
            len += usize::from(wait.owner != 0) & usize::from(site.shown);
        }
        for &nth in &owned[..len.min(BATCH)] {
            let Some(wait) = waits.get(usize::from(nth)) else { continue };
            if let Some(owner) = self.wanted.get(wait.owner as usize) {
                self.owners.add_wait((group, owner.group, wait.site), wait.wait_ns);
            }
        }
    }

    /// Any wait.
    fn wait(&mut self, wait: &Short, thread: u32) {
        if thread != self.now.thread {
            self.switch(thread);
        }
        let Some(site) = self.sites.get(wait.site as usize) else { return };
        let (now, wait_ns) = (&mut self.now, wait.wait_ns);
        let taken = wait_ns >= self.window.min_wait_ns && self.window.holds(wait.end_ns);
        let shown = site.count.is_shown() && taken;
        if !now.wanted.wanted || !(shown || site.count.is_idle()) {
            return;
        }
        if shown {
            self.sums.count(site.distribution, wait_ns);
            let in_box = self.sums.boxes.step(self.clock.at(wait.end_ns));
            self.sums.heat.count(in_box, site.row, wait_ns, 1);
            if wait_ns >= self.threshold_ns {
                let delay = Delay { count: 1, wait_ns };
                now.delay += delay;
                if let Some(sum) = self.delays.get_mut(wait.site as usize) {
                    *sum += delay;
                }
            }
            let owner = self.wanted.get(wait.owner as usize).filter(|_| wait.owner != 0);
            if let Some(owner) = owner {
                self.owners.add_wait((now.wanted.group, owner.group, wait.site), wait_ns);
            }
        }
        let start_ns = wait.start_ns();
        (now.first_ns, now.last_ns) = (now.first_ns.min(start_ns), wait.end_ns);
        let (from_ns, to_ns) = (self.clock.at(start_ns), self.clock.at(wait.end_ns));
        let sums = &mut self.sums;
        let boxes = sums.boxes;
        let mut spent = SpentTime::default();
        let mut add = |from_ns: u64, to_ns: u64| {
            let ns = to_ns.saturating_sub(from_ns);
            if shown && site.count == Count::Contention {
                sums.used.add_span(Use::Contended(site.band), from_ns, to_ns);
                spent += SpentTime { idle_ns: 0, contended_ns: ns };
            }
            if site.count.is_idle() {
                sums.used.add_span(Use::Idle, from_ns, to_ns);
                spent += SpentTime { idle_ns: ns, contended_ns: 0 };
            }
            if site.count.is_withheld() && taken {
                sums.used.add_span(Use::Withheld, from_ns, to_ns);
            }
        };
        match &self.parts {
            _ if !now.wanted.lives => {}
            None => add(from_ns, to_ns),
            Some(parts) => within_parts(parts, (start_ns, wait.end_ns))
                .for_each(|(from_ns, to_ns)| add(self.clock.at(from_ns), self.clock.at(to_ns))),
        }
        now.spent += spent;
        if shown {
            let rows = [
                Some(&mut sums.all),
                sums.locks.get_mut(usize::from(site.row)),
                sums.threads.get_mut(self.now.wanted.row as usize),
            ];
            rows.into_iter().flatten().for_each(|row| row.add_span(&boxes, from_ns, to_ns));
        }
        if wait.end_ns >= self.now.to_ns || start_ns < self.now.from_ns {
            self.go_to(to_ns);
        }
    }

    /// The next stretch is that of a time of the axis.
    fn go_to(&mut self, at_ns: u64) {
        self.flush();
        let (phases, boxes) = (self.sums.phases, self.sums.boxes);
        let now = &mut self.now;
        (now.phase, now.in_box) = (phases.step(at_ns), boxes.step(at_ns));
        let (phase, in_box) = (phases.bounds(now.phase), boxes.bounds(now.in_box));
        now.from_ns = self.clock.mono(phase.0.max(in_box.0));
        now.to_ns = match now.wanted.wanted {
            true => self.clock.mono(phase.1.min(in_box.1)),
            // None of its waits is usual.
            false => now.from_ns,
        };
        if let Some(parts) = &self.parts {
            // Nor those that reach into a pause.
            let at_ns = self.clock.mono(at_ns);
            let part = parts.iter().find(|part| part.contains(&at_ns));
            now.from_ns = part.map_or(now.from_ns, |part| now.from_ns.max(part.start));
            now.to_ns = part.map_or(now.from_ns, |part| now.to_ns.min(part.end));
        }
    }

    fn switch(&mut self, thread: u32) {
        self.flush();
        let known = self.wanted.get(thread as usize).or(self.wanted.first());
        self.now.thread = thread;
        if let Some(wanted) = known {
            self.now.wanted = *wanted;
        }
        if !self.now.wanted.wanted {
            self.now.to_ns = self.now.from_ns;
        }
    }

    /// Puts down what the thread did since this was done last.
    pub(super) fn flush(&mut self) {
        let (sums, now) = (&mut self.sums, &mut self.now);
        let mut spent = std::mem::take(&mut now.spent);
        let at = (now.phase, now.in_box);
        for (band, sum_ns) in (0u8..).zip(&mut now.bands_ns) {
            let sum_ns = std::mem::take(sum_ns);
            if usize::from(band) < BANDS && now.wanted.lives {
                sums.used.add_to(Use::Contended(band), at, sum_ns);
            }
        }
        for (&count, sum_ns) in Count::ALL.iter().zip(&mut now.sums_ns) {
            let sum_ns = std::mem::take(sum_ns);
            if count == Count::Contention && now.wanted.lives {
                spent += SpentTime { idle_ns: 0, contended_ns: sum_ns };
            }
            if count.is_idle() && now.wanted.lives {
                sums.used.add_to(Use::Idle, at, sum_ns);
                spent += SpentTime { idle_ns: sum_ns, contended_ns: 0 };
            }
            if count.is_withheld() && now.wanted.lives {
                sums.used.add_to(Use::Withheld, at, sum_ns);
            }
            if count.is_shown() {
                sums.all.add_to(now.in_box, sum_ns);
                if let Some(row) = sums.threads.get_mut(now.wanted.row as usize) {
                    row.add_to(now.in_box, sum_ns);
                }
            }
        }
        if let Some(tally) = self.threads.get(now.thread as usize) {
            tally.add(std::mem::take(&mut now.delay), now.first_ns, now.last_ns);
            tally.spend(spent);
        }
        (now.delay, now.first_ns, now.last_ns) = (Delay::default(), u64::MAX, 0);
    }
}

impl Visitor for DelayVisitor<'_, '_> {
    fn begin_chunk(&mut self, chunk: &ChunkRef) {
        self.next_pause = self.job.pauses.map_or(0, |pauses| pauses.first_from(chunk.first_ns));
    }

    fn end_chunk(&mut self) {
        self.sum_batch();
        self.flush();
    }

    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Wait(event) => self.take(event),
            Entry::Note(noted) => match noted.record {
                Note::Blame(blame) => self.blame(&noted.with(blame)),
                Note::Holder(holder) => self.asked(&noted.with(holder)),
                _ => {}
            },
        }
    }

    fn cell(&mut self, cell: &Cell) {
        self.folded(cell);
    }
}

/// Adds waits over the threshold to those of their sites; their sum.
fn sum_delays(
    waits: &[Short],
    sites: &[SitePlan; BATCH],
    threshold_ns: u64,
    delays: &mut [Delay],
) -> Delay {
    let mut sum = Delay::default();
    for (wait, site) in waits.iter().zip(sites) {
        let count = u64::from(wait.wait_ns >= threshold_ns) & u64::from(site.shown);
        let delay = Delay { count, wait_ns: wait.wait_ns & count.wrapping_neg() };
        if let Some(of_site) = delays.get_mut(wait.site as usize) {
            *of_site += delay;
        }
        sum += delay;
    }
    sum
}

/// Adds waits to their distributions, to the rows of their locks, and to what
/// they count as. `at` is how many boxes a row has, and which of them it is.
fn sum_rows(
    waits: &[Short],
    sites: &[SitePlan; BATCH],
    at: (usize, usize),
    sums: &mut Sums,
    sums_ns: &mut [u64; Count::LEN],
) {
    let (boxes, in_box) = at;
    for (wait, site) in waits.iter().zip(sites) {
        let count =
            usize::from(site.distribution) * histogram::LEN + histogram::index(wait.wait_ns);
        if let Some(count) = sums.counts.get_mut(count) {
            *count += 1;
        }
        if let Some(sum) = sums.rows.get_mut(usize::from(site.row) * boxes + in_box) {
            *sum = sum.saturating_add(wait.wait_ns);
        }
        sums.heat.count(in_box, site.row, wait.wait_ns, 1);
        let sum = &mut sums_ns[site.count as usize];
        *sum = sum.saturating_add(wait.wait_ns);
    }
}
