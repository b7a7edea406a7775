//! Replays of which the outcome is known.

use super::*;
use crate::{
    costs::Shares, locks::Sharing, occupancy::Occupancy, queueing::Network, timeline::Gap,
};
use proptest::prelude::*;

const WORLD: World = World { processors: None, slice_ns: 3_000_000, handovers: 0.0, waits: 1.0 };

fn gap(lock: u32, ns: u64) -> Step {
    Step { what: What::Gap, is_shared: false, probes: 0, lock, amount: ns }
}

fn acquire(lock: u32) -> Step {
    Step { what: What::Acquire, is_shared: false, probes: 0, lock, amount: 7 }
}

fn release(lock: u32) -> Step {
    Step { what: What::Release, is_shared: false, probes: 0, lock, amount: 0 }
}

/// A round: outside, and with a lock.
fn round(lock: u32, outside_ns: u64, held_ns: u64) -> Vec<Step> {
    vec![gap(NONE, outside_ns), acquire(lock), gap(lock, held_ns), release(lock)]
}

/// So many threads that do the same.
fn alike(threads: u32, steps: &[Step]) -> Vec<Script> {
    (1..=threads).map(|thread| Script { steps: steps.to_vec(), threads: vec![thread] }).collect()
}

fn lock(sharing: Sharing) -> Lock {
    Lock { sharing, is_fair: false, group: Some(0), id: 1, handovers_ns: Vec::new() }
}

/// What is replayed: threads that compute for all of their gaps, or rest in them.
struct Case {
    scripts: Vec<Script>,
    locks: Vec<Lock>,
    computes: f64,
    world: World,
}

impl Case {
    fn new(scripts: Vec<Script>) -> Case {
        Case { scripts, locks: vec![lock(Sharing::Exclusive); 2], computes: 1.0, world: WORLD }
    }

    fn on(mut self, processors: u32) -> Case {
        self.world.processors = Some(processors);
        self
    }

    fn resting(self) -> Case {
        Case { computes: 0.0, ..self }
    }

    fn with(mut self, sharing: Sharing) -> Case {
        self.locks[0] = lock(sharing);
        self
    }

    fn replay(&self, change: Option<Change>, until: Until) -> ReplayResult {
        let shares = Shares::uniform(self.scripts.len(), self.locks.len(), self.computes, 1.0);
        let none: [Gap; 0] = [];
        let occupancy = Occupancy::new(none.iter());
        let costs = Costs::new(shares, &self.scripts, None, (&occupancy, None), 0.0);
        let material = Material { scripts: &self.scripts, locks: &self.locks, costs: &costs };
        let locks = [true, false];
        let reads = HashSet::from([7]);
        let changed = change.map(|change| LockChange { change, locks: &locks, reads: &reads });
        Engine::new(material, self.world, changed, until).run()
    }

    /// How often a second the first lock is taken.
    fn rate(&self, change: Option<Change>) -> f64 {
        let replayed = self.replay(change, Until::Time(1_000_000_000));
        replayed.taken[0] as f64 * 1e9 / replayed.ns as f64
    }
}

#[track_caller]
fn assert_rate(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{found}, expected {expected}");
}

const FREE: Option<Change> = Some(Change::Free);

#[test]
fn two_threads_and_one_lock() {
    // They meet once, and never again.
    assert_rate(Case::new(alike(2, &round(0, 300_000, 100_000))).rate(None), 5_000.0);
    // The lock is always held.
    let busy = Case::new(alike(2, &round(0, 100_000, 300_000)));
    assert_rate(busy.rate(None), 1e9 / 300_000.0);
    assert_rate(busy.rate(FREE), 5_000.0);
    assert_rate(busy.rate(Some(Change::Hold { divisor: 3.0 })), 10_000.0);
}

#[test]
fn locks_and_processors_are_the_limit_in_turn() {
    let round = round(0, 300_000, 100_000);
    for (threads, processors, expected) in [
        (1, 1, 2_500.0),
        (2, 1, 2_500.0),
        (8, 1, 2_500.0),
        (2, 2, 5_000.0),
        (8, 2, 5_000.0),
        (8, 16, 10_000.0),
    ] {
        let case = Case::new(alike(threads, &round)).on(processors);
        let found = case.rate(None);
        assert!((found / expected - 1.0).abs() < 0.03, "{threads} on {processors}: {found}");
    }
    // Two processors that are busy all along: free locks are of no use.
    let case = Case::new(alike(8, &round)).on(2);
    let gain = case.rate(FREE) / case.rate(None);
    assert!((0.99..1.03).contains(&gain), "{gain}");
}

#[test]
fn who_rests_with_a_lock_needs_no_processor() {
    let case = Case::new(alike(4, &round(0, 1_000, 1_000_000))).on(1).resting();
    assert_rate(case.rate(None), 1_000.0);
    assert_rate(case.rate(FREE), 4.0 * 1e9 / 1_001_000.0);
    let halves = case.rate(Some(Change::Stripes { count: 4096 }));
    assert!(halves > 3_900.0, "{halves}");
}

#[test]
fn readers_and_permits_share() {
    let reading = Case::new(alike(4, &round(0, 0, 100_000)));
    assert_rate(reading.rate(None), 10_000.0);
    assert_rate(reading.rate(Some(Change::ReadWrite)), 40_000.0);
    let two = Case::new(alike(4, &round(0, 0, 100_000))).with(Sharing::Permits(2));
    assert_rate(two.rate(None), 20_000.0);
    // One of the threads writes: readers come in together, in between.
    let mut scripts = alike(4, &round(0, 1_000, 100_000));
    scripts.iter_mut().skip(1).for_each(|script| script.steps[1].is_shared = true);
    let mixed = Case::new(scripts).with(Sharing::ReadWrite);
    let rate = mixed.rate(None);
    assert!((10_000.0..40_000.0).contains(&rate), "{rate}");
    let taken = mixed.replay(None, Until::Time(1_000_000_000)).taken[0];
    assert!(taken > 15_000, "{taken}");
}

#[test]
fn fair_locks_go_round() {
    let mut case = Case::new(alike(3, &round(0, 1_000, 100_000)));
    case.locks[0].is_fair = true;
    let replayed = case.replay(None, Until::Time(1_000_000_000));
    let done: Vec<f64> = replayed.done_ns.clone();
    let most = done.iter().copied().fold(0.0, f64::max);
    assert!(done.iter().all(|&done| done > 0.99 * most), "{done:?}");
}

#[test]
fn handovers_take_their_time() {
    let mut case = Case::new(alike(2, &round(0, 0, 100_000)));
    case.locks[0].is_fair = true;
    case.locks[0].handovers_ns = vec![10_000, 30_000];
    case.world.handovers = 1.0;
    assert_rate(case.rate(None), 1e9 / 120_000.0);
    case.world.handovers = 0.5;
    assert_rate(case.rate(None), 1e9 / 110_000.0);
}

#[test]
fn what_deadlocks_goes_on_and_says_so() {
    let nested = |outer: u32, inner: u32| {
        vec![
            acquire(outer),
            gap(outer, 100),
            acquire(inner),
            gap(inner, 100),
            release(inner),
            release(outer),
        ]
    };
    let scripts = vec![
        Script { steps: nested(0, 1), threads: vec![1] },
        Script { steps: nested(1, 0), threads: vec![2] },
    ];
    let replayed = Case::new(scripts).replay(None, Until::Time(1_000_000));
    assert!(replayed.forced > 0, "{replayed:?}");
    assert!(replayed.taken.iter().all(|&taken| taken > 1_000), "{replayed:?}");
}

#[test]
fn nothing_runs_for_ever() {
    // Steps that take no time, and locks that are never released.
    let scripts = vec![
        Script { steps: vec![acquire(0)], threads: vec![1] },
        Script { steps: vec![release(1), gap(NONE, 0)], threads: vec![2] },
    ];
    let replayed = Case::new(scripts).on(1).replay(None, Until::Time(u64::MAX));
    assert!(replayed.taken[0] > 0);
    let replayed = Case::new(Vec::new()).replay(FREE, Until::Taken(5, 1_000));
    assert_eq!(replayed.taken, [0, 0]);
}

/// A time of this mean, by chance.
fn exponential(seed: &mut u64, mean_ns: f64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let even = ((*seed >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    (-even.ln() * mean_ns) as u64
}

/// The machine repairman: what mean value analysis is exact for.
#[test]
fn times_by_chance_give_what_queueing_theory_says() {
    let mut seed = 4711;
    for (threads, outside_ns, held_ns) in [(2, 30_000.0, 30_000.0), (5, 80_000.0, 20_000.0)] {
        let script = |thread| {
            let mut steps = Vec::new();
            for _ in 0..20_000 {
                let outside_ns = exponential(&mut seed, outside_ns);
                steps.extend(round(0, outside_ns, exponential(&mut seed, held_ns)));
            }
            Script { steps, threads: vec![thread] }
        };
        let case = Case::new((1..=threads).map(script).collect());
        let threads = f64::from(threads);
        let network = Network { threads, outside: outside_ns, held: held_ns, locks: 1.0 };
        let (found, expected) = (case.rate(None), network.flow().rounds * 1e9);
        assert!((found / expected - 1.0).abs() < 0.03, "{found}, expected {expected}");
    }
}

/// Rounds with one of so many locks.
fn steps(locks: u32) -> impl Strategy<Value = Vec<Step>> {
    let one = (0..locks, 0u64..50_000, 100u64..50_000, proptest::bool::ANY);
    let rounds = proptest::collection::vec(one, 1..8);
    rounds.prop_map(move |rounds| {
        let nested = |(lock, outside_ns, held_ns, nests): (u32, u64, u64, bool)| {
            let mut steps = round(lock, outside_ns, held_ns);
            if nests && lock == 0 && locks > 1 {
                // In one order, so that nothing deadlocks.
                let inner = round(1, held_ns / 2, held_ns / 3);
                steps.splice(3..3, inner);
            }
            steps
        };
        let mut steps: Vec<Step> = rounds.into_iter().flat_map(nested).collect();
        steps.extend(round(0, 1_000, 1_000));
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Nor do shorter holds, stripes and readers that share.
    #[test]
    fn a_free_lock_makes_nothing_slower(
        (locks, steps) in (1u32..3).prop_flat_map(|locks| (Just(locks), steps(locks))),
        threads in 1u32..6,
        processors in 1u32..5,
    ) {
        let case = Case::new(alike(threads, &steps)).on(processors);
        // With another lock, it matters how threads happen to meet there: less to wait for can
        // make a schedule longer, as Graham's timing anomalies do. 0.85 is not kept (0.84999
        // was found), and no bound is proven: this one only finds gross faults.
        let least = if locks == 1 { 0.98 } else { 0.5 };
        let before = case.rate(None);
        for change in [
            Change::Free,
            Change::Hold { divisor: 2.0 },
            Change::Stripes { count: 4 },
            Change::ReadWrite,
        ] {
            let after = case.rate(Some(change));
            prop_assert!(after >= least * before, "{change}: {before} to {after}");
            let bound = f64::from(threads) * before.max(1.0) * 2.0;
            prop_assert!(after <= bound * 1.01, "{change}: {before} to {after}");
        }
        // Nobody else: nothing to wait for.
        if threads == 1 {
            prop_assert!((case.rate(FREE) / before - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn a_replay_is_the_same_each_time(steps in steps(2), threads in 1u32..6, stripes in 2u32..9) {
        let case = Case::new(alike(threads, &steps)).on(2);
        let replay = || {
            case.replay(Some(Change::Stripes { count: stripes }), Until::Taken(1_000, 1 << 40))
        };
        let first = replay();
        prop_assert_eq!(&first, &replay());
        prop_assert_eq!(first.taken[0], 1_000);
    }
}
