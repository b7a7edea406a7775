//! Acquisitions of virtual threads that are written later than what followed them.
//!
//! Records in a chunk of the log go forward in time. A platform thread writes to a lane of
//! its own, where nothing has followed its last acquisition when it is written. A virtual
//! thread may be on another carrier by then, to whose lane others have written since: each
//! such acquisition would need a chunk of its own. So they are kept here, for half a second
//! at most, and are written in the order of their ends.

use crate::{
    recorder::threads::{EndOfInferred, Inferred, Thread, Waits, Wake},
    sync::lock,
};
use std::sync::{Arc, Mutex};

/// As many are kept. What comes then is written at once, however much room it takes.
const MOST: usize = 1 << 14;

/// All of them.
#[derive(Default)]
pub struct Late {
    kept: Mutex<Vec<LateAcquisition>>,
}

/// One of them.
pub struct LateAcquisition {
    /// When it was over, monotonic ns.
    pub ended_ns: u64,
    /// Whose it was.
    pub thread: Arc<Thread>,
    /// It alone, with the ids of the generation in which it was over, and who ended it if that
    /// is known; `None` where the thread still has it.
    pub kept: Option<(Waits, Option<Wake>)>,
}

impl LateAcquisition {
    /// One that its thread still has.
    pub fn with_thread((ended_ns, thread): (u64, Arc<Thread>)) -> LateAcquisition {
        LateAcquisition { ended_ns, thread, kept: None }
    }
}

impl Late {
    /// Keeps an acquisition of a thread, the ids of which are of the generation of `waits`;
    /// `false` where there is no room.
    pub fn keep(
        &self,
        thread: &Arc<Thread>,
        waits: &Waits,
        ended: &EndOfInferred,
        wake: Option<Wake>,
    ) -> bool {
        let mut all = lock(&self.kept);
        let has_room = all.len() < MOST;
        if has_room {
            let waits = Waits::with_ended(Inferred::over(ended), waits.generation());
            let (ended_ns, thread) = (ended.ended_ns, Arc::clone(thread));
            all.push(LateAcquisition { ended_ns, thread, kept: Some((waits, wake)) });
        }
        has_room
    }

    /// Takes those that were over before a moment, in monotonic ns.
    pub fn take_older(&self, before_ns: u64) -> Vec<LateAcquisition> {
        let mut all = lock(&self.kept);
        let (older, others) = all.drain(..).partition(|it| it.ended_ns < before_ns);
        *all = others;
        older
    }
}
