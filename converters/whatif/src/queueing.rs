//! A closed network of queues: threads that compute and rest, and now and then want one
//! of some locks that are alike.

/// Threads that circulate: each computes or rests for a while, then takes one of the
/// locks, each equally often, and holds it for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Network {
    /// The average number of threads.
    pub(crate) threads: f64,
    /// The time that a thread spends without the locks in a round, in any unit.
    pub(crate) outside: f64,
    /// The time that it holds one in a round, in the same unit.
    pub(crate) held: f64,
    /// The number of locks.
    pub(crate) locks: f64,
}

/// With more threads than this, the bounds are as good as the mean values.
const MOST_THREADS: usize = 4_096;

/// What a network does in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    /// Rounds in a unit of time, by all threads.
    pub(crate) rounds: f64,
    /// The time that a thread waits in a round, in the same unit.
    pub(crate) wait: f64,
}

impl Network {
    /// By mean value analysis, exact if times are distributed exponentially; interpolated
    /// between two whole numbers of threads.
    pub(crate) fn flow(&self) -> Flow {
        let threads = self.threads.max(1.0);
        let locks = self.locks.max(1.0);
        let visit = self.held / locks;
        let (mut queued, mut rounds, mut before) = (0.0, 0.0, 0.0);
        let most = threads.ceil().min(MOST_THREADS as f64) as usize;
        for count in 1..=most {
            let residence = visit * (1.0 + queued);
            before = rounds;
            rounds = count as f64 / (self.outside + locks * residence).max(f64::MIN_POSITIVE);
            queued = rounds * residence;
        }
        if threads <= most as f64 {
            let part = 1.0 - (threads.ceil() - threads);
            rounds = before + (rounds - before) * part;
        }
        let most_rounds = if visit > 0.0 { 1.0 / visit } else { f64::INFINITY };
        let rounds = rounds.min(most_rounds);
        let wait = (threads / rounds - self.outside - self.held).max(0.0);
        Flow { rounds, wait }
    }

    /// The share of their time for which threads wait.
    pub(crate) fn wait_share(&self) -> f64 {
        let wait = self.flow().wait;
        let round = self.outside + self.held + wait;
        if round > 0.0 { wait / round } else { 0.0 }
    }

    /// Among networks that differ in how long locks are held, the one in which threads
    /// wait for this share of their time; outside and held add up to 1.
    pub(crate) fn of_wait_share(threads: f64, locks: f64, share: f64) -> Network {
        let network = |held: f64| Network { threads, outside: 1.0 - held, held, locks };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            match network(middle).wait_share() < share {
                true => low = middle,
                false => high = middle,
            }
        }
        network(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn network(threads: f64, outside: f64, held: f64) -> Network {
        Network { threads, outside, held, locks: 1.0 }
    }

    /// The machine repairman's utilisation, from the probabilities of its states.
    fn utilisation(threads: u32, outside: f64, held: f64) -> f64 {
        let mut weight = 1.0;
        let mut sum = 1.0;
        for waiting in 0..threads {
            weight *= f64::from(threads - waiting) * held / outside;
            sum += weight;
        }
        1.0 - 1.0 / sum
    }

    #[test]
    fn rounds_are_those_of_the_machine_repairman() {
        for (threads, outside, held) in
            [(1, 3.0, 1.0), (2, 1.0, 1.0), (8, 10.0, 2.0), (20, 5.0, 0.1)]
        {
            let flow = network(f64::from(threads), outside, held).flow();
            let expected = utilisation(threads, outside, held) / held;
            assert!((flow.rounds / expected - 1.0).abs() < 1e-9, "{threads}: {flow:?}");
        }
    }

    #[test]
    fn a_single_thread_waits_for_nobody() {
        let flow = network(1.0, 3.0, 1.0).flow();
        assert!((flow.rounds - 0.25).abs() < 1e-12 && flow.wait.abs() < 1e-12, "{flow:?}");
    }

    #[test]
    fn fractions_of_threads_lie_between() {
        let rounds = |threads| network(threads, 2.0, 1.0).flow().rounds;
        let (two, three) = (rounds(2.0), rounds(3.0));
        assert!((rounds(2.25) - (0.75 * two + 0.25 * three)).abs() < 1e-12);
        // A crowd: the lock is busy all along.
        assert!((rounds(1e6) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn holds_are_found_from_waits() {
        for held in [0.05, 0.3, 0.7, 1.0] {
            let truth = network(6.0, 1.0 - held, held);
            let found = Network::of_wait_share(6.0, 1.0, truth.wait_share());
            assert!((found.held - held).abs() < 1e-6, "{found:?}");
        }
    }

    proptest! {
        #[test]
        fn no_more_rounds_than_the_bounds(
            threads in 1u32..200, outside in 0.0f64..100.0, held in 0.001f64..10.0,
            locks in 1u32..50,
        ) {
            let (threads, locks) = (f64::from(threads), f64::from(locks));
            let network = Network { threads, outside, held, locks };
            let flow = network.flow();
            let bound = (threads / (outside + held)).min(locks / held);
            prop_assert!(flow.rounds <= bound * (1.0 + 1e-9), "{flow:?} {bound}");
            // More locks never make it slower, and neither do shorter holds.
            let split = Network { locks: 2.0 * locks, ..network }.flow();
            let shorter = Network { held: held / 2.0, ..network }.flow();
            prop_assert!(split.rounds >= flow.rounds * (1.0 - 1e-9));
            prop_assert!(shorter.rounds >= flow.rounds * (1.0 - 1e-9));
        }
    }
}
