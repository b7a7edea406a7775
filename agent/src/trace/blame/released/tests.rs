use super::*;
use std::{collections::BTreeMap, mem::MaybeUninit, sync::atomic::AtomicU64};
use tyrion_wire::trace::LOOK_NS;

const LOCK: u32 = 7;
const SIMULATED_NS: u64 = 2_000_000_000;

fn bucket() -> Box<Bucket> {
    // SAFETY: a bucket consists of atomic numbers, for which zeros are valid.
    unsafe { Box::new(MaybeUninit::<Bucket>::zeroed().assume_init()) }
}

/// As the probes do it; the place is ten times the owner.
fn note(bucket: &Bucket, lock: u32, at_ns: u64, owner: u64) {
    put(&bucket.releases, &bucket.noted, lock, at_ns, owner);
    if at_ns.wrapping_sub(bucket.keep_from.load(Relaxed)).cast_signed() >= 0 {
        let every_ns = bucket.kept_every_ns();
        bucket.keep_from.store((at_ns - at_ns % every_ns).wrapping_add(every_ns), Relaxed);
        put(&bucket.kept_releases, &bucket.kept, lock, at_ns, owner);
    }
}

fn put(
    releases: &[NotedRelease; Bucket::RELEASES],
    counted: &AtomicU64,
    lock: u32,
    at_ns: u64,
    owner: u64,
) {
    let nth = counted.fetch_add(1, Relaxed) as usize;
    let release = &releases[nth % Bucket::RELEASES];
    release.at_ns.store(at_ns, Relaxed);
    release.by.store(owner, Relaxed);
    release.place.store((u64::from(lock) << 32) | (owner * 10), Relaxed);
}

/// What each owner is charged, and up to when.
fn divided(bucket: &Bucket, from_ns: u64, end_ns: u64, seed: u64) -> (BTreeMap<i64, u64>, u64) {
    let mut charged = BTreeMap::new();
    let to_ns = Released::read(bucket, LOCK).divide(from_ns, end_ns, seed, |release, ns| {
        assert_eq!(i64::from(release.place), release.owner * 10);
        *charged.entry(release.owner).or_default() += ns;
    });
    (charged, to_ns)
}

#[test]
fn nothing_released_is_nobodys() {
    let bucket = bucket();
    assert_eq!(divided(&bucket, 100, 200, 1), (BTreeMap::new(), 100));
    note(&bucket, LOCK + 1, 150, 3);
    assert_eq!(divided(&bucket, 100, 200, 1), (BTreeMap::new(), 100));
    // Before the wait, and after it.
    note(&bucket, LOCK, 90, 3);
    note(&bucket, LOCK, 250, 4);
    assert_eq!(divided(&bucket, 100, 200, 1), (BTreeMap::new(), 100));
}

#[test]
fn one_holder_is_charged_all() {
    let bucket = bucket();
    note(&bucket, LOCK, 180, 3);
    assert_eq!(divided(&bucket, 100, 200, 1), (BTreeMap::from([(3, 80)]), 180));
    note(&bucket, LOCK, 195, 3);
    assert_eq!(divided(&bucket, 100, 200, 1), (BTreeMap::from([(3, 95)]), 195));
}

#[test]
fn the_last_hold_is_exact_and_all_is_charged() {
    let bucket = bucket();
    for (at_ns, owner) in [(50, 1), (120, 2), (130, 3), (190, 4)] {
        note(&bucket, LOCK, at_ns, owner);
    }
    for seed in 0..100 {
        let (charged, to_ns) = divided(&bucket, 100, 200, seed);
        assert_eq!((charged[&4], to_ns), (60, 190));
        assert_eq!(charged.values().sum::<u64>(), 90);
        assert!(!charged.contains_key(&1), "{charged:?}");
    }
}

/// Another lock of the bucket has overwritten what was noted.
#[test]
fn what_is_no_longer_noted_is_charged_like_what_is() {
    let bucket = bucket();
    note(&bucket, LOCK, 110, 1);
    for nth in 0..13 {
        note(&bucket, LOCK + 1, 120 + nth, 9);
    }
    for (at_ns, owner) in [(1_000, 2), (1_010, 3), (1_020, 4)] {
        note(&bucket, LOCK, at_ns, owner);
    }
    let (charged, to_ns) = divided(&bucket, 100, 2_000, 5);
    // Of the holds that are known, owner 3's is not the last one.
    assert_eq!((charged, to_ns), (BTreeMap::from([(3, 910), (4, 10)]), 1_020));
}

/// Since the wait's end, which is noticed late.
#[test]
fn what_was_released_often_since_is_charged_by_what_is_kept() {
    let bucket = bucket();
    for nth in 1..=30 {
        note(&bucket, LOCK, nth * 10_000, 1);
    }
    for nth in 1..=20 {
        note(&bucket, LOCK, 300_000 + nth, 2);
    }
    let (charged, to_ns) = divided(&bucket, 150_000, 290_000, 5);
    assert_eq!(charged.keys().collect::<Vec<_>>(), [&1]);
    assert!((270_000..=290_000).contains(&to_ns), "{to_ns}");
    assert_eq!(charged[&1], to_ns - 150_000);
}

#[test]
fn any_moments_and_orders_are_survived() {
    let random = &mut 1_u64;
    let mut older = 0;
    for _ in 0..20_000 {
        let bucket = bucket();
        let mut next = |below: u64| {
            *random = mix(*random);
            *random % below
        };
        let most_ns = [1_000, 100_000, 1_000_000, 1 << 62][next(4) as usize];
        if next(2) == 0 {
            bucket.look_after(next(most_ns), next(most_ns));
        }
        let count = next(80);
        let mut now = 0;
        for _ in 0..count {
            let at_ns = match next(30) {
                0 => next(most_ns),
                1 => u64::MAX,
                _ => now + next(1 + 2 * most_ns / count),
            };
            now = if at_ns == u64::MAX { now } else { at_ns };
            note(&bucket, LOCK + u32::from(next(8) == 0), at_ns, next(4));
        }
        let (from_ns, end_ns) = (next(most_ns), next(most_ns + most_ns / 2));
        let (charged, to_ns) = divided(&bucket, from_ns, end_ns, next(u64::MAX));
        assert_eq!(charged.values().sum::<u64>(), to_ns - from_ns);
        assert!(to_ns <= end_ns.max(from_ns));
        let released = Released::read(&bucket, LOCK);
        let is_older = released.noted.oldest_ns > from_ns && released.kept.oldest_ns <= from_ns;
        older += u32::from(is_older && to_ns != from_ns);
    }
    assert!(older > 500, "{older}");
}

/// Where locks share a bucket, only the holds of one lock are charged for it.
#[test]
fn a_lock_beside_it_is_charged_nothing() {
    let (random, bucket) = (&mut 1_u64, bucket());
    let mut now = 1_000_000;
    bucket.look_after(now, 50_000);
    for nth in 0..10_000 {
        now += 1 + (uniform(random) * 2_000.0) as u64;
        let lock = LOCK + u32::from(uniform(random) < 0.9);
        note(&bucket, lock, now, if lock == LOCK { 1 } else { 2 });
        let from_ns = now - (uniform(random) * 100_000.0) as u64;
        let (charged, to_ns) = divided(&bucket, from_ns, now, nth);
        assert_eq!(charged.get(&1).copied().unwrap_or_default(), to_ns - from_ns);
        assert!(!charged.contains_key(&2));
    }
}

/// xorshift64, as a number from 0 to 1.
fn uniform(random: &mut u64) -> f64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (*random >> 11) as f64 / (1u64 << 53) as f64
}

/// Several threads wait for a lock that is held all the time, so long each time and by
/// those that `hold` says, and with each release one of them may get it. What each owner
/// is charged, and what it held while they waited, in ns. As `blame.rs` does it.
fn simulated(
    waiters: usize,
    wait_ns: f64,
    look_ns: f64,
    mut hold: impl FnMut(u64, f64) -> (u64, u64),
) -> BTreeMap<u64, (u64, u64)> {
    let (random, bucket) = (&mut 1_u64, bucket());
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let after = |random: &mut u64, mean_ns: f64| (-(1.0 - uniform(random)).ln() * mean_ns) as u64;
    let mut now = 1_000_000;
    bucket.look_after(now, after(random, look_ns));
    // When each wait began or was charged last, and when it may end.
    let mut waits: Vec<(u64, u64)> = (0..waiters)
        .map(|_| {
            let start_ns = now + after(random, wait_ns);
            (start_ns, start_ns + after(random, wait_ns))
        })
        .collect();
    let mut nth = 0;
    while now < SIMULATED_NS {
        nth += 1;
        let (hold_ns, owner) = hold(nth, uniform(random));
        let begun = now;
        now += hold_ns;
        note(&bucket, LOCK, now, owner);
        let is_looked_at = now >= bucket.due.load(Relaxed);
        for (who, (charged_ns, end_ns)) in waits.iter_mut().enumerate() {
            if *charged_ns >= now {
                continue;
            }
            sums.entry(owner).or_default().1 += now - begun.max(*charged_ns);
            if !is_looked_at && *end_ns > now {
                continue;
            }
            let seed = mix(now) ^ who as u64;
            *charged_ns =
                Released::read(&bucket, LOCK).divide(*charged_ns, now, seed, |release, ns| {
                    sums.entry(release.owner.cast_unsigned()).or_default().0 += ns;
                });
            assert_eq!(*charged_ns, now);
            if *end_ns <= now {
                *charged_ns = now + after(random, 5_000.0);
                *end_ns = *charged_ns + after(random, wait_ns);
            }
        }
        if is_looked_at {
            bucket.look_after(now, after(random, look_ns));
        }
    }
    sums
}

/// Whatever the order of long and short holds, and how long waits are: each holder is
/// charged what it held.
#[test]
fn each_holder_is_charged_its_own_time() {
    type Holds = fn(u64, f64) -> (u64, u64);
    let in_turn: Holds = |nth, _| if nth % 2 == 0 { (17_000, 1) } else { (140, 2) };
    let by_chance: Holds = |_, random| if random < 0.5 { (2_000, 1) } else { (20_000, 2) };
    let short: Holds = |_, random| if random < 0.5 { (200, 1) } else { (1_000, 2) };
    let seldom: Holds = |nth, _| if nth % 26 == 25 { (50_000, 1) } else { (2_000, 2) };
    let longer: Holds = |nth, _| if nth % 200 == 199 { (1_000_000, 1) } else { (1_000, 2) };
    let medium: Holds = |nth, _| if nth % 2000 == 1999 { (200_000, 1) } else { (1_000, 2) };
    let in_rows: Holds = |nth, _| match nth % 26 {
        0 => (50_000, 1),
        1..=6 => (2_000, 2),
        _ => (2_000, 3),
    };
    let cases = [
        ("turn", in_turn),
        ("chance", by_chance),
        ("short", short),
        ("seldom", seldom),
        ("longer", longer),
        ("medium", medium),
        ("rows", in_rows),
    ];
    for (which, holds) in cases {
        let cases = [(1, 1e6, 1.0), (3, 10e3, 1.0), (8, 60e3, 1.0), (8, 1e6, 1.0)];
        let rarer = [(1, 1e6, 4.0), (3, 10e3, 4.0), (8, 60e3, 4.0), (8, 1e6, 4.0), (1, 1e6, 16.0)];
        for (waiters, wait_ns, looks) in cases.into_iter().chain(rarer) {
            let sums = simulated(waiters, wait_ns, looks * LOOK_NS as f64, holds);
            let all_ns: u64 = sums.values().map(|(_, held)| held).sum();
            for (owner, (charged, held)) in sums {
                let [charged, held] = [charged, held].map(|ns| ns as f64 / all_ns as f64);
                assert!(
                    (charged - held).abs() < f64::min(0.02, 0.4 * held),
                    "{which}, {waiters} wait {wait_ns} ns, {looks}: {owner} is charged {charged} \
                     of {held}"
                );
            }
        }
    }
}
