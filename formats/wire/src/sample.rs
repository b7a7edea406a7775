//! What sampling records: what each thread was doing, again and again.
//!
//! A [`Sample`] is a record of events chunks; its thread is the one that the
//! chunk's other records are of there.

use crate::fields::record;

crate::named_enum! {
    /// What a thread was doing, as far as the JVM tells (JVMTI's
    /// `GetThreadState`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ThreadState {
        /// Runnable, in Java code.
        Running = 1 => "running",
        /// Runnable, in native code: it computes there, or waits for a file, a
        /// socket, a process, of which the JVM knows nothing.
        Native = 2 => "native",
        /// Blocked at a monitor.
        Blocked = 3 => "blocked",
        /// In `Object.wait`.
        Waiting = 4 => "waiting",
        /// In `LockSupport.park`.
        Parked = 5 => "parked",
        /// In `Thread.sleep`.
        Sleeping = 6 => "sleeping",
        /// Suspended, or in no state that is known.
        Other = 7 => "other",
    }
}

impl ThreadState {
    /// Its number in the log.
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The state with this number.
    pub fn from_code(code: u32) -> Option<ThreadState> {
        ThreadState::ALL.into_iter().find(|state| state.code() == code)
    }
}

/// A thread was seen doing the same in a number of snapshots, one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// From the chunk's previous record with a time to the last of the
    /// snapshots, in ns.
    pub delta_ns: u64,
    /// Real time between the thread's snapshot before these and the last of
    /// them, in ns.
    pub wall_ns: u64,
    /// CPU time that the thread used meanwhile, in ns.
    pub cpu_ns: u64,
    /// The number of snapshots.
    pub count: u64,
    /// Code of the [`ThreadState`].
    pub state: u32,
    /// Stack id.
    pub stack: u32,
    /// Code of the [`WaitKind`](crate::WaitKind) that the thread waited in, 0
    /// when none is known.
    pub kind: u32,
    /// Id of the lock that it waited for, 0 when unknown.
    pub lock: u32,
    /// Thread id of that lock's owner, 0 when unknown.
    pub owner: u32,
}

record!(Sample = 6 {
    delta_ns: u64, wall_ns: u64, cpu_ns: u64, count: u64, state: u32, stack: u32, kind: u32, lock: u32, owner: u32
});

/// The same in the few snapshots that the agent takes where nobody asked for samples: they
/// tell what threads do that wait for nothing. The thread is that of the record if the log
/// knows it otherwise, else 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// As in a [`Sample`], like all that follow.
    pub delta_ns: u64,
    /// In ns.
    pub wall_ns: u64,
    /// In ns.
    pub cpu_ns: u64,
    /// The number of snapshots.
    pub count: u64,
    /// Code of the [`ThreadState`].
    pub state: u32,
    /// Stack id.
    pub stack: u32,
    /// Code of the kind of wait.
    pub kind: u32,
    /// Id of the lock.
    pub lock: u32,
    /// Thread id of the lock's owner.
    pub owner: u32,
}

record!(Snapshot = 10 {
    delta_ns: u64, wall_ns: u64, cpu_ns: u64, count: u64, state: u32, stack: u32, kind: u32, lock: u32, owner: u32
});

impl From<Sample> for Snapshot {
    fn from(sample: Sample) -> Snapshot {
        let Sample { delta_ns, wall_ns, cpu_ns, count, state, stack, kind, lock, owner } = sample;
        Snapshot { delta_ns, wall_ns, cpu_ns, count, state, stack, kind, lock, owner }
    }
}

impl From<Snapshot> for Sample {
    fn from(snapshot: Snapshot) -> Sample {
        let Snapshot { delta_ns, wall_ns, cpu_ns, count, state, stack, kind, lock, owner } =
            snapshot;
        Sample { delta_ns, wall_ns, cpu_ns, count, state, stack, kind, lock, owner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Record, decode};
    use proptest::prelude::*;

    #[test]
    fn codes_and_names_are_unique() {
        for state in ThreadState::ALL {
            assert_eq!(ThreadState::from_code(state.code()), Some(state));
        }
        assert_eq!(ThreadState::from_code(0), None);
        let names: std::collections::HashSet<_> = ThreadState::ALL.map(ThreadState::name).into();
        assert_eq!(names.len(), ThreadState::ALL.len());
    }

    #[test]
    fn a_steady_sample_takes_eighteen_bytes() {
        let sample = Sample {
            delta_ns: 200,
            wall_ns: 50_000_000,
            cpu_ns: 1_000_000,
            count: 1,
            state: ThreadState::Running.code(),
            stack: 300,
            ..Sample::default()
        };
        let mut bytes = Vec::new();
        sample.encode(&mut bytes);
        assert_eq!(bytes.len(), 18);
    }

    proptest! {
        #[test]
        fn samples_round_trip(numbers: [u64; 4], ids: [u32; 5], tail in 0usize..20) {
            let [delta_ns, wall_ns, cpu_ns, count] = numbers;
            let [state, stack, kind, lock, owner] = ids;
            let sample =
                Sample { delta_ns, wall_ns, cpu_ns, count, state, stack, kind, lock, owner };
            let mut bytes = Vec::new();
            sample.encode(&mut bytes);
            let len = bytes.len();
            for cut in 0..len {
                prop_assert_eq!(decode(&bytes[..cut]), None);
            }
            bytes.resize(len + tail, 0xff);
            prop_assert_eq!(decode(&bytes), Some((Record::Note(sample.into()), len)));
            let snapshot = Snapshot::from(sample);
            prop_assert_eq!(Sample::from(snapshot), sample);
            bytes.clear();
            snapshot.encode(&mut bytes);
            let expected = (Record::Note(snapshot.into()), bytes.len());
            prop_assert_eq!(decode(&bytes), Some(expected));
        }
    }
}
