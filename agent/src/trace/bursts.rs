//! Places that are counted in bursts (`count=adaptive`).
//!
//! Where a lock is taken very often, counting it costs more than anything else that
//! trace mode does. Such a place is counted during a burst of some milliseconds, at
//! random about eight times a second, all such places at the same time. In between its
//! probes add one to a number and return.
//!
//! Outside of bursts a place only counts how often it is passed, by thread. Bursts tell
//! what that was made of ([`outside`]). This is no estimate by time, which would be far
//! too small: while all is counted, the program is slower than otherwise. Which places
//! are counted in bursts is decided between them ([`choice`]). Waits are charged to
//! holders as ever: a probe that does not count still looks whether anybody waits.
//!
//! What is entered in a burst has to be left as something that was counted, also when
//! the burst is over. So a burst ends in two steps: first nothing more is entered, and
//! only when no thread holds anything of it do the probes of releases rest, too. A
//! thread that was just entering, and then did not run for a while, may miss that. Its
//! entry is found when the thread enters something in a later burst
//! (`TyrionTrace.enter`).

mod choice;
mod outside;
mod series;

pub use series::Watched;

use super::{
    Trace,
    memory::{IN_BURSTS, NO_ENTRIES, NO_EXITS},
};
use crate::{
    clock,
    spawn::{self, NoThread},
    sync::lock,
};
use choice::Choice;
use outside::Division;
use std::{
    collections::BTreeSet,
    sync::{
        Mutex, OnceLock,
        atomic::{
            AtomicU8, AtomicU64,
            Ordering::{Relaxed, SeqCst},
            fence,
        },
    },
    thread::Thread,
    time::Duration,
};

/// How long a burst is.
const BURST: Duration = Duration::from_millis(4);
/// The mean time between two of them.
const GAP: Duration = Duration::from_millis(124);
/// All cells are looked at for at most one part in so many of the time.
const SHARE: u64 = 50;
/// How long to wait between two looks whether anything of a burst is still held, and
/// how often.
const SETTLE: Duration = Duration::from_millis(1);
const SETTLE_LOOKS: usize = 20;
/// While trace mode is off.
const REST: Duration = Duration::from_secs(1);

/// The low bits of a place's number, by which the probes know what to do there.
pub type Slot = u16;

/// The slot of a place.
pub fn slot_of(place: u32) -> Slot {
    place as u16
}

/// What others know of bursts.
#[derive(Default)]
pub struct Bursts {
    thread: OnceLock<Thread>,
    division: Mutex<Division>,
    /// Counted in bursts, now or before.
    slots: Mutex<BTreeSet<Slot>>,
    outside: AtomicU64,
    places: AtomicU64,
    count: AtomicU64,
}

/// What only the thread knows that makes bursts.
struct Maker {
    trace: &'static Trace,
    choice: Choice,
    /// Counted in bursts now.
    slots: BTreeSet<Slot>,
    random: u64,
}

impl Trace {
    /// Starts the thread that makes bursts, if they are wanted.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn begin_bursts(&'static self) -> Result<(), NoThread> {
        if self.shared.bursts.is_none() {
            return Ok(());
        }
        spawn::thread("tyrion-bursts", move || {
            let _ = self.bursts.thread.set(std::thread::current());
            let random = clock::now_ns() | 1;
            let (choice, slots) = (Choice::default(), BTreeSet::new());
            Maker { trace: self, choice, slots, random }.run();
        })
    }

    /// Trace mode has been switched on or off.
    pub fn bursts_switched(&self, on: bool) {
        let Some(thread) = self.bursts.thread.get() else { return };
        if !on {
            self.end_cells();
        }
        thread.unpark();
    }

    /// No more is counted in the cells that there are.
    pub fn end_cells(&self) {
        self.divide(&BTreeSet::new(), true);
    }

    /// How often locks were taken outside of bursts, as far as cells were told.
    pub fn taken_outside_bursts(&self) -> u64 {
        self.bursts.outside.load(Relaxed)
    }

    /// Gives cells what was taken outside of bursts, after a burst at these places; or if
    /// it `is_last`, at any moment.
    fn divide(&self, of_burst: &BTreeSet<Slot>, is_last: bool) {
        let Some(outside) = self.shared.outside else { return };
        let slots = lock(&self.bursts.slots).clone();
        let living = self.living();
        let mut division = lock(&self.bursts.division);
        self.cells.watch(|cells| {
            for cell in cells.iter_mut() {
                cell.look(self);
                if !is_last {
                    cell.end_burst(of_burst.contains(&cell.slot));
                }
            }
            division.divide(cells, &slots, outside, living, is_last);
        });
        self.bursts.outside.store(division.total, Relaxed);
    }

    /// What the log says of bursts.
    pub fn bursts_statistics(&self) -> Vec<(String, u64)> {
        if self.shared.bursts.is_none() {
            return Vec::new();
        }
        let Bursts { places, count, .. } = &self.bursts;
        vec![
            ("bursts".to_owned(), count.load(Relaxed)),
            ("bursts.places".to_owned(), places.load(Relaxed)),
        ]
    }
}

impl Maker {
    fn run(mut self) {
        let log = self.trace.recorder.log();
        let mut pause = GAP;
        while !log.is_closed() && !log.is_dead() {
            std::thread::park_timeout(pause);
            if !self.trace.is_on() {
                pause = REST;
                continue;
            }
            let took_ns = self.cycle();
            pause = self.some_time().max(Duration::from_nanos(took_ns.saturating_mul(SHARE)));
        }
    }

    /// One burst, and what follows from it. Returns how long that took beside the burst.
    fn cycle(&mut self) -> u64 {
        if !self.slots.is_empty() {
            self.open();
            std::thread::sleep(BURST);
            self.close();
            self.settle();
            self.trace.bursts.count.fetch_add(1, Relaxed);
        }
        let begun_ns = clock::now_ns();
        self.trace.divide(&self.slots, false);
        let chosen = self.choose();
        let took_ns = clock::now_ns() - begun_ns;
        if !chosen.is_empty() {
            self.slots.extend(&chosen);
            // Before anything is taken there that is not counted.
            self.trace.forget_instances_of(&chosen);
            lock(&self.trace.bursts.slots).extend(&chosen);
            self.close();
            // What was noted in between.
            self.trace.forget_instances_of(&chosen);
            self.settle();
        }
        self.trace.bursts.places.store(self.slots.len() as u64, Relaxed);
        took_ns
    }

    /// Which slots are counted in bursts from now on, and were not so far; those that
    /// must not be any more are taken out.
    fn choose(&mut self) -> Vec<Slot> {
        let Maker { trace, choice, slots, .. } = self;
        trace.cells.watch(|cells| {
            for cell in cells.iter_mut() {
                choice.add(cell);
            }
        });
        if let Some(shared) = trace.shared.bursts {
            for pair in shared.again_at.iter().map(|pair| pair.load(Relaxed)) {
                if pair != 0 {
                    choice.pair(trace, (pair >> 32) as u32, pair as u32);
                }
            }
        }
        let (chosen, barred) = choice.decide(slots);
        for slot in barred {
            slots.remove(&slot);
            // That it once was stays: something may be left there that was not counted.
            let bits = &trace.shared.closed[usize::from(slot)];
            bits.fetch_and(!(NO_ENTRIES | NO_EXITS), SeqCst);
        }
        chosen
    }

    fn each(&self, change: impl Fn(&AtomicU8)) {
        for &slot in &self.slots {
            change(&self.trace.shared.closed[usize::from(slot)]);
        }
    }

    fn open(&self) {
        if let Some(shared) = self.trace.shared.bursts {
            shared.number.fetch_add(1, Relaxed);
        }
        self.each(|bits| _ = bits.fetch_and(!NO_EXITS, SeqCst));
        fence(SeqCst);
        self.each(|bits| _ = bits.fetch_and(!NO_ENTRIES, SeqCst));
    }

    fn close(&self) {
        self.each(|bits| _ = bits.fetch_or(IN_BURSTS | NO_ENTRIES, SeqCst));
    }

    /// Waits until nothing is held any more that was counted, but not for long: where
    /// something still is, releases go on looking for it.
    fn settle(&self) {
        let mut held = BTreeSet::new();
        for _ in 0..SETTLE_LOOKS {
            std::thread::sleep(SETTLE);
            held = self.trace.held_places().into_iter().map(slot_of).collect();
            if held.is_disjoint(&self.slots) {
                break;
            }
        }
        for slot in self.slots.difference(&held) {
            self.trace.shared.closed[usize::from(*slot)].fetch_or(NO_EXITS, SeqCst);
        }
    }

    /// The time to the next burst: any from half to one and a half of the mean, so that
    /// a program's own rhythm does not matter.
    fn some_time(&mut self) -> Duration {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let share = (self.random >> 11) as f64 / (1u64 << 53) as f64;
        GAP.mul_f64(0.5 + share)
    }
}
