//! The latest releases of a lock, and whom a wait is charged to by them.
//!
//! Probes note them in the bucket of the lock's hash, while somebody waits there. Most
//! waits are shorter than what is noted: then it is known who held the lock at each
//! moment of them. Of what is older, it is known for moments that are 12 µs apart, or more
//! where releases are looked at more rarely: the latest 16 of these are kept, too.
//!
//! To write a record for each of these holders would cost more than the wait itself, where
//! threads take turns. So the last one is charged its own time, and the time before it is
//! divided into equal parts: whoever held the lock at a moment of a part, chosen by
//! chance, is charged all of it.

use crate::trace::memory::{Bucket, NotedRelease};
use std::sync::atomic::Ordering::Relaxed;

/// Into how many parts the time before the last hold is divided.
const PARTS: u64 = 2;

/// When a lock was released, by which thread, and where that had taken it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Release {
    pub at_ns: u64,
    /// A Java id.
    pub owner: i64,
    pub place: u32,
}

/// The latest releases of a lock.
pub struct Released {
    noted: Noted,
    /// Those of holds at moments that are `every_ns` apart.
    kept: Noted,
    every_ns: u64,
}

/// Releases, the oldest first.
struct Noted {
    /// Behind `count` there is nothing.
    releases: [Release; Bucket::RELEASES],
    count: usize,
    /// When the oldest one of the bucket was, of whatever lock: those before it are
    /// not known any more.
    oldest_ns: u64,
    /// When the latest one of another lock was.
    others_ns: u64,
}

impl Noted {
    fn read(noted: &[NotedRelease; Bucket::RELEASES], hash: u32) -> Noted {
        let releases = [Release::default(); Bucket::RELEASES];
        let mut all = Noted { releases, count: 0, oldest_ns: u64::MAX, others_ns: 0 };
        for noted in noted {
            let (at_ns, lock_and_place) = (noted.at_ns.load(Relaxed), noted.place.load(Relaxed));
            all.oldest_ns = all.oldest_ns.min(at_ns);
            if lock_and_place >> 32 != u64::from(hash) {
                all.others_ns = all.others_ns.max(at_ns);
            } else if at_ns != 0 {
                let owner = noted.by.load(Relaxed).cast_signed();
                let place = lock_and_place as u32;
                all.releases[all.count] = Release { at_ns, owner, place };
                all.count += 1;
            }
        }
        all.releases[..all.count].sort_unstable_by_key(|release| release.at_ns);
        all
    }

    fn until(&self, end_ns: u64) -> &[Release] {
        let all = &self.releases[..self.count];
        &all[..all.partition_point(|release| release.at_ns <= end_ns)]
    }
}

/// The first of these releases that was not before a moment.
fn first_since(releases: &[Release], moment_ns: u64) -> Option<&Release> {
    releases.get(releases.partition_point(|release| release.at_ns < moment_ns))
}

impl Released {
    /// Those of the lock with this hash.
    pub fn read(bucket: &Bucket, hash: u32) -> Released {
        Released {
            noted: Noted::read(&bucket.releases, hash),
            kept: Noted::read(&bucket.kept_releases, hash),
            every_ns: bucket.kept_every_ns(),
        }
    }

    /// Charges the time from `from_ns` on, up to the last release before `end_ns`, to those
    /// who held the lock meanwhile. Returns up to when, in ns. `seed` is what chance begins with.
    pub fn divide(
        &self,
        from_ns: u64,
        end_ns: u64,
        seed: u64,
        mut charge: impl FnMut(&Release, u64),
    ) -> u64 {
        let is_whole = self.noted.oldest_ns <= from_ns;
        let mut known = self.noted.until(end_ns);
        if known.is_empty() && !is_whole {
            // Others have released it often since the wait's end.
            known = self.kept.until(end_ns);
        }
        let Some((last, earlier)) = known.split_last() else { return from_ns };
        let to_ns = last.at_ns.max(from_ns);
        // Where nothing is known of the release before, it was before all that is.
        let least_ns = if is_whole { from_ns } else { self.noted.oldest_ns };
        let begun_ns = earlier.last().map_or(least_ns, |release| release.at_ns);
        let begun_ns = begun_ns.clamp(from_ns, to_ns);
        if to_ns > begun_ns {
            charge(last, to_ns - begun_ns);
        }
        let known_since_ns = match earlier.first() {
            _ if is_whole => from_ns,
            Some(oldest) => oldest.at_ns,
            None => begun_ns,
        };
        let (mut start_ns, mut random) = (from_ns, seed);
        for left in (1..=PARTS).rev() {
            let part_ns = (begun_ns - start_ns) / left;
            if part_ns == 0 {
                continue;
            }
            random = mix(random);
            let moment_ns = start_ns + 1 + random % part_ns;
            random = mix(random);
            let holder = if moment_ns > known_since_ns {
                first_since(earlier, moment_ns)
            } else {
                self.older((from_ns, known_since_ns), moment_ns, random)
                    .or_else(|| any(earlier, random))
            };
            charge(holder.unwrap_or(last), part_ns);
            start_ns += part_ns;
        }
        to_ns
    }

    /// Who held the lock at a moment in a time of which only some moments are known: at the
    /// one that is nearest. `None` if it was none of them, or if another lock of the bucket
    /// was released in that time: then these moments are not all this lock's.
    fn older(
        &self,
        (from_ns, until_ns): (u64, u64),
        moment_ns: u64,
        random: u64,
    ) -> Option<&Release> {
        if self.kept.others_ns > from_ns {
            return None;
        }
        let kept = self.kept.until(until_ns);
        let is_whole = self.kept.oldest_ns <= from_ns;
        let since_ns = if is_whole { from_ns } else { kept.first()?.at_ns };
        // What is before all that was kept is like what was.
        let other_ns = since_ns + 1 + random % until_ns.checked_sub(since_ns)?.max(1);
        let moment_ns = if moment_ns > since_ns { moment_ns } else { other_ns };
        let before_ns = moment_ns - moment_ns % self.every_ns;
        let after_ns = before_ns.saturating_add(self.every_ns);
        let is_nearer = moment_ns - before_ns <= self.every_ns / 2;
        let moments = if is_nearer { [before_ns, after_ns] } else { [after_ns, before_ns] };
        let is_within = |moment: &u64| (since_ns + 1..=until_ns).contains(moment);
        first_since(kept, moments.into_iter().find(is_within)?)
    }
}

/// One of these releases but the first, by chance, as likely as its hold was long; or the
/// only one.
fn any(releases: &[Release], random: u64) -> Option<&Release> {
    let (oldest_ns, latest_ns) = (releases.first()?.at_ns, releases.last()?.at_ns);
    let moment_ns = oldest_ns + 1 + random % (latest_ns - oldest_ns).max(1);
    first_since(releases, moment_ns.min(latest_ns))
}

/// The next of a row of numbers that look as if chosen by chance: splitmix64.
pub fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests;
