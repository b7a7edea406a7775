//! How long locks are held.
//!
//! Java counts and says when a hold's turn to be measured has come: the first
//! ones of each cell, then one in each run of so many, at a place in the run
//! that chance chooses, so that nothing periodic in the program beats with it.

use super::{
    Trace,
    memory::{Block, Cell, Entry, Event, address_of},
    resync::ONE_MEASURED,
    ticks,
};
use crate::{
    clock,
    jvm::Java,
    log::LogFile,
    recorder::{EventContext, threads::VIRTUAL},
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tyrion_wire::{
    header,
    span::Span,
    trace::{self, HoldBatch, MAX_HOLD_LEN, hold_flag},
};

/// The number of a cell's first holds whose stacks are taken.
pub const FIRST: u64 = 2;
/// How many of a cell's first holds are measured, where of the later ones only some are.
/// A place with 10 000 is then known exactly, however rare and long some of them are.
pub const FIRST_MEASURED: u64 = 10_240;
/// One acquisition in this many has its stack taken; one in four times as many
/// once a thread has had [`MANY`], and one in 16 times as many after [`MOST`].
pub const STACK_EVERY: u64 = 4096;
const MANY: u64 = 1 << 20;
const MOST: u64 = 1 << 24;

/// Holds of this length have their span with them, ns.
const LONG_NS: u64 = 1_000_000;

fn add(word: &AtomicU64, value: u64) {
    // One writer, its own thread.
    word.store(word.load(Relaxed).wrapping_add(value), Relaxed);
}

/// The next random number of a block.
fn random(of: &Block) -> u64 {
    let word = &of.random;
    // xorshift64; the state is never 0, whatever the thread's id.
    let mut x = word.load(Relaxed).max(1);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    word.store(x, Relaxed);
    x
}

/// Where one acquisition in `every` is a sample: one sample in how many has its
/// stack taken, at most. Java computes the same.
fn stacks_every(every: u64) -> u64 {
    (STACK_EVERY / every).max(1)
}

impl Trace {
    /// The cell that an entry counts in.
    #[inline]
    fn cell_of(&self, at: &Entry) -> Option<&'static Cell> {
        self.cells.at(at.cell.load(Relaxed))
    }

    /// The acquisition that was just counted is to be measured. Java does most
    /// of these itself: those that are neither among a cell's first nor have
    /// their stack taken.
    pub fn sampled(&self, java: Java, of: &Block, at: &Entry) {
        let Some(cell) = self.cell_of(at) else { return };
        let nth = cell.acquisitions.load(Relaxed);
        // As it was asked for when the cell was made: its counts are of one kind.
        let one_in = cell.one_in();
        let (every, first, flag) = match one_in {
            0 => (STACK_EVERY, FIRST, 0),
            1 => (STACK_EVERY, FIRST, Cell::EVERY_HOLD),
            more => (u64::from(more), FIRST_MEASURED, 0),
        };
        cell.next.store(next(nth, every, first, random(of)) | flag, Relaxed);
        at.stack.store(0, Relaxed);
        at.first.store(if nth <= first { Entry::TIMEABLE } else { 0 }, Relaxed);
        let first = nth <= FIRST;
        let samples = &of.samples;
        // Each stands for so many acquisitions, but the first ones of a cell.
        add(samples, u64::from(!first));
        let samples = samples.load(Relaxed);
        let fewer = match samples.saturating_mul(every) {
            ..MANY => 0,
            MANY..MOST => 2,
            MOST.. => 4,
        };
        if first || samples.is_multiple_of(stacks_every(every) << fewer) {
            self.keep_stack(java, of, at);
        }
        if one_in == 0 {
            if at.stack.load(Relaxed) != 0 {
                self.write_hold(of, at, (0, clock::now_ns(), Span::NONE));
            }
        } else {
            add(&of.holds, ONE_MEASURED);
            // Last: what went before is the agent's time, not the program's.
            at.start.store(ticks::now(), Relaxed);
        }
    }

    fn keep_stack(&self, java: Java, of: &Block, at: &Entry) {
        self.recorder.in_context_of(of.owner(), |context| {
            let stack = self.stack(context, java, of.is_lock(at));
            at.stack.store(stack, Relaxed);
            at.generation.store(context.generation.number, Relaxed);
        });
    }

    /// The program's stack below the probe and, where it is `in_jdk`, below the
    /// lock method of the JDK that has the probe.
    pub fn stack(&self, context: &mut EventContext<'_>, java: Java, in_jdk: bool) -> u32 {
        let is_probe = |method| self.is_probe(method);
        self.recorder.stack_below(context, java, is_probe, usize::from(in_jdk))
    }

    /// A measured hold has taken so many ticks, until a moment in ticks.
    pub fn ended_after(&self, java: Java, of: &Block, at: &Entry, took: u64, end: u64) {
        if took > ticks::since_anchor() {
            // A pause of the hold whose end or beginning was not seen.
            at.clear_stack();
            return;
        }
        let held_ns = ticks::to_ns(took);
        let Some(cell) = self.cell_of(at) else { return };
        let first = at.first.load(Relaxed) != 0;
        let sum = if first { &cell.first } else { &cell.sampled };
        add(&sum.count, 1);
        add(&sum.ns, held_ns);
        if held_ns > cell.max_ns.load(Relaxed) {
            cell.max_ns.store(held_ns, Relaxed);
        }
        let bucket = &cell.histogram[tyrion_wire::cell::bucket(held_ns)];
        bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
        // In their order, if there are any.
        self.write_events(of);
        let every_event = self.has_every_event();
        // Of short ones there are too many.
        let span = match held_ns >= LONG_NS {
            true => self.recorder.span_of_current(java),
            false => Span::NONE,
        };
        let is_wanted = every_event || at.stack.load(Relaxed) != 0 || span.is_some();
        let ended = (held_ns, ticks::moment_ns(end), span);
        if is_wanted && !self.write_hold(of, at, ended) && every_event {
            self.statistics.lost_events.fetch_add(1, Relaxed);
        }
        at.first.store(0, Relaxed);
    }

    /// Writes a hold of so many ns, which has ended at a moment, in a span.
    fn write_hold(
        &self,
        of: &Block,
        at: &Entry,
        (hold_ns, end_ns, span): (u64, u64, Span),
    ) -> bool {
        let Some(cell) = self.cell_of(at) else { return false };
        let stack = at.stack.swap(0, Relaxed);
        let key = at.key.load(Relaxed);
        let of_first = if at.first.load(Relaxed) != 0 { hold_flag::FIRST } else { 0 };
        let is_chosen = stack != 0 || !span.is_some();
        let of_span = if is_chosen || self.has_every_event() { 0 } else { hold_flag::IN_SPAN };
        let written = self.recorder.in_context_of(of.owner(), |context| {
            // Ids of the file before mean something else in this one.
            let is_here = at.generation.load(Relaxed) == context.generation.number;
            if !context.generation.log.contains(address_of(cell)) || (stack != 0 && !is_here) {
                return false;
            }
            let record = trace::Hold {
                delta_ns: 0,
                hold_ns,
                place: cell.place.load(Relaxed),
                class: cell.class.load(Relaxed),
                stack,
                hash: hash_of(key),
                flags: of_first | of_span,
            };
            // It may have ended just before this file was begun.
            let began_ns = context.generation.log.header().u64_at(header::field::MONO_NS);
            let end_ns = end_ns.max(began_ns.load(Relaxed));
            let written = self.recorder.append(context, Some(end_ns), |delta_ns, out| {
                trace::Hold { delta_ns, ..record }.encode(out);
                if span.is_some() {
                    span.encode(out);
                }
            });
            if span.is_some() {
                context.lane.forget_trace();
            }
            written
        });
        written.unwrap_or(false)
    }

    /// Writes the events in a thread's ring; its thread is the current one, or
    /// records no more.
    pub fn write_events(&self, of: &Block) {
        let Some(ring) = of.ring.get() else { return };
        let events = ring.filled();
        if events.is_empty() {
            return;
        }
        let owner = of.owner();
        let (now_ticks, now_ns) = ticks::now_of_both();
        ring.empty();
        let end_of = |nth_ticks: u64| now_ns - ticks::to_ns(now_ticks.saturating_sub(nth_ticks));
        let lost = self.recorder.in_late_context_of(owner, |context| {
            // Those of virtual threads are one thread's, and out of order anyway.
            if let Some(first) = events.first()
                && owner != VIRTUAL
            {
                let first_ns = end_of(first.end.load(Relaxed));
                let thread = context.thread.id(context.generation);
                let room = events.len() * MAX_HOLD_LEN;
                context.lane.go_back_to(&context.generation.log, thread, first_ns, room);
            }
            let mut holds = std::mem::take(&mut context.lane.holds);
            let mut lost = self.collect(events, end_of, &context.generation.log, &mut holds);
            if !self.recorder.append_holds(context, &mut holds) {
                lost += holds.len() as u64;
            }
            context.lane.holds = holds;
            lost
        });
        // Without a context, of a thread that is not known any more.
        let lost = lost.unwrap_or(events.len() as u64);
        if lost != 0 {
            self.statistics.lost_events.fetch_add(lost, Relaxed);
        }
    }

    /// `Object.wait` is about to give a monitor up, or has it again: its hold
    /// pauses. `hash` is the object's. Returns its entry.
    pub fn pause<'a>(&self, of: &'a Block, hash: u32) -> Option<&'a Entry> {
        let (monitors, _) = of.held();
        let last = |is_it: &dyn Fn(u64) -> bool| {
            monitors.iter().rev().find(|at| is_it(at.key.load(Relaxed)))
        };
        let at = last(&|key| key == u64::from(hash))
            // One that had no hash when it was taken has one now.
            .or_else(|| last(&|key| hash_of(key) == 0 && key as i64 > 0))?;
        let was = at.start.load(Relaxed);
        if was != 0 {
            // The moment becomes a duration, and a moment again.
            at.start.store(ticks::now().wrapping_sub(was).max(1), Relaxed);
        }
        Some(at)
    }

    /// Makes a batch of events: how many are left out, since the log has gone on
    /// in another file. `end_of` tells the ns of a moment in ticks.
    fn collect(
        &self,
        events: &[Event],
        end_of: impl Fn(u64) -> u64,
        log: &LogFile,
        holds: &mut HoldBatch,
    ) -> u64 {
        holds.clear();
        let began_ns = log.header().u64_at(header::field::MONO_NS).load(Relaxed);
        let mut numbers = Numbers::default();
        let mut lost = 0;
        for event in events {
            let (address, key) = (event.cell.load(Relaxed), event.key.load(Relaxed));
            let end_ns = end_of(event.end.load(Relaxed));
            // A file before may have had this one's addresses.
            if end_ns < began_ns || !log.contains(address) {
                lost += 1;
                continue;
            }
            let new = || {
                let cell = self.cells.at(address)?;
                let (place, class) = (cell.place.load(Relaxed), cell.class.load(Relaxed));
                Some(holds.lock(trace::Held { place, class, hash: hash_of(key) }))
            };
            match numbers.get(address, key, new) {
                Some(lock) => holds.push(lock, end_ns, event.held_ns.load(Relaxed)),
                None => lost += 1,
            }
        }
        lost
    }
}

/// The numbers in a record of the locks that were met last, by cell and key. A
/// lock that another one has pushed out gets a further number: so it stands
/// twice in the record.
struct Numbers([(u64, u64, u32); Numbers::LEN]);

impl Default for Numbers {
    fn default() -> Numbers {
        // No cell is at address 0.
        Numbers([(0, 0, 0); Numbers::LEN])
    }
}

impl Numbers {
    const LEN: usize = 64;

    #[inline]
    fn get(&mut self, cell: u64, key: u64, new: impl FnOnce() -> Option<u32>) -> Option<u32> {
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = cell.wrapping_add(key.wrapping_mul(MIX)).wrapping_mul(MIX);
        // Two may have the same place: the later one stands in front.
        let at = (mixed >> 58) as usize % Numbers::LEN;
        for at in [at, at ^ 1] {
            let (found, known, number) = self.0[at];
            if (found, known) == (cell, key) {
                return Some(number);
            }
        }
        let number = new()?;
        self.0[at ^ 1] = self.0[at];
        self.0[at] = (cell, key, number);
        Some(number)
    }
}

/// The hash in a key, 0 when it has none.
pub fn hash_of(key: u64) -> u32 {
    // Keys of java.util.concurrent have the kind above the hash.
    let above = key >> 32;
    if above < 8 { key as u32 & 0x7fff_ffff } else { 0 }
}

/// The number of the acquisition to measure after the `nth`, of which so many are measured
/// `first`.
fn next(nth: u64, every: u64, first: u64, random: u64) -> u64 {
    if nth < first {
        return nth + 1;
    }
    // The run that `nth` is in ends at `end`.
    let end = nth.div_ceil(every) * every;
    let chosen = |first: u64, last: u64| first + random % (last - first + 1);
    // The rest of the first run has its sample, too.
    if nth == first && end > first { chosen(first + 1, end) } else { chosen(end + 1, end + every) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_one_sample() {
        const RUNS: u64 = if cfg!(miri) { 100 } else { 1000 };
        for (every, first) in [(2, 2), (3, 2), (64, 2), (3, 10), (64, 128)] {
            let (mut nth, mut samples) = (1, vec![]);
            for random in 0..RUNS {
                samples.push(nth);
                nth = next(nth, every, first, random * 7919);
                assert!(nth > samples[samples.len() - 1]);
            }
            let (all, some) = samples.split_at(first as usize);
            assert!(all.iter().copied().eq(1..=first));
            let runs: Vec<u64> = some.iter().map(|n| (n - 1) / every).collect();
            assert!(runs.windows(2).all(|w| w[1] == w[0] + 1), "{every}: {runs:?}");
        }
    }

    #[test]
    fn numbers_are_those_of_their_locks() {
        let mut numbers = Numbers::default();
        let mut known = Vec::new();
        // Far more locks than there is room for, and each again at once.
        const LOCKS: u64 = if cfg!(miri) { 500 } else { 10_000 };
        for nth in 0..LOCKS {
            let (cell, key) = (0x7f00_0000_1000 + nth % 7 * 256, nth * nth % 301);
            for _ in 0..2 {
                let number = numbers.get(cell, key, || {
                    known.push((cell, key));
                    Some(known.len() as u32 - 1)
                });
                assert_eq!(known[number.unwrap() as usize], (cell, key));
            }
        }
        // Few locks have one number each.
        let mut numbers = Numbers::default();
        let number = |nth: u64| numbers.get(256, nth % 3, || Some(nth as u32)).unwrap();
        let list: Vec<u32> = (0..9).map(number).collect();
        assert_eq!(list, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        // What cannot be told has no number, and is asked for again.
        assert_eq!(numbers.get(256, 7, || None), None);
        assert_eq!(numbers.get(256, 7, || Some(3)), Some(3));
    }

    #[test]
    fn keys_without_a_hash_are_told() {
        assert_eq!(hash_of(77), 77);
        assert_eq!(hash_of(5 << 32 | 77), 77);
        assert_eq!(hash_of(0x7f12_3456_7890), 0);
        assert_eq!(hash_of(-1024i64 as u64), 0);
    }
}
