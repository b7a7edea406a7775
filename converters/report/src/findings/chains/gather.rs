//! The waits that chains are made of.

use super::{
    charge::{Asked, AskedWait, NO_LOCK, NOBODY, Wait},
    longest::Longest,
    numbers::Plan,
    short::{Place, Shorts},
};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tyrion_converters::filter::Window;
use tyrion_formats::{Event, Recording};
use tyrion_wire::{def::id::UNKNOWN, slot::Pending};

/// So many waits whose owner is known are followed, and so many others are seen on
/// the way: the longest.
const MOST: usize = 1 << 18;

/// The waits of a recording. However many there are, so many are kept, and which
/// these are does not depend on who finds which of them first.
pub(super) struct Gathered {
    /// Whose owner is known.
    owned: Longest<AskedWait>,
    /// Whose owner is not known.
    others: Longest<AskedWait>,
    /// Those of known owners for which there is no room, added up.
    pub(super) shorts: Shorts,
}

impl Default for Gathered {
    fn default() -> Self {
        Gathered::with_room(MOST)
    }
}

impl Gathered {
    /// With room for so many of known owners, and for so many others.
    pub(super) fn with_room(most: usize) -> Gathered {
        let (owned, others) = (Longest::new(most), Longest::new(most));
        Gathered { owned, others, shorts: Shorts::default() }
    }

    /// Takes up those of a log, on all workers of the current rayon pool. `is_whole`
    /// says that its checksums are known to hold.
    pub(super) fn gather(
        &mut self,
        log: &Recording,
        (window, is_whole): (&Window, bool),
        plan: &Plan,
        place: Place<'_>,
    ) {
        let most = self.owned.most();
        let (next, all) = (AtomicUsize::new(0), Mutex::new(self));
        rayon::broadcast(|_| {
            let mut gathered = Gathered::with_room(most);
            while let Some(chunk) = log.event_chunks().get(next.fetch_add(1, Relaxed)) {
                // What is damaged was told in the first pass.
                let events = if is_whole { Ok(log.events_again(chunk)) } else { log.events(chunk) };
                if let Ok(mut events) = events {
                    events.visit(|event| gathered.put_ended(window, plan, event, place));
                }
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).add(gathered, place);
        });
        let gathered = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        for pending in log.pending() {
            gathered.put_pending(log, plan, pending, place);
        }
    }

    /// A wait that has ended. It is left out if its site's definition is lost.
    #[inline]
    fn put_ended(&mut self, window: &Window, plan: &Plan, event: &Event, place: Place<'_>) {
        let Some(site) = plan.site(event.site) else { return };
        let thread = plan.thread(event.thread);
        let wait = Wait {
            thread: thread.number,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
            owner: plan.owner(event.owner),
            lock: lock(site.lock),
            what: site.what,
        };
        let is_asked =
            thread.is_wanted && site.is_wanted && (window.is_open() || window.takes(event));
        self.put(wait, if is_asked { Asked::Charge } else { Asked::Nothing }, place);
    }

    /// One that had not ended: it is asked for whenever it began, as long as it took
    /// until then.
    fn put_pending(&mut self, log: &Recording, plan: &Plan, pending: &Pending, place: Place<'_>) {
        let thread = plan.thread(pending.thread);
        let Some(site) = plan.pending(pending.lock, pending.kind) else { return };
        let wait = Wait {
            thread: thread.number,
            start_ns: pending.start_ns,
            end_ns: log.end_ns().max(pending.start_ns),
            owner: plan.owner(pending.owner),
            lock: lock(pending.lock),
            what: site.what,
        };
        let is_asked = thread.is_wanted && site.is_wanted;
        self.put(wait, if is_asked { Asked::ChargePending } else { Asked::Nothing }, place);
    }

    #[inline]
    fn put(&mut self, wait: Wait, asked: Asked, place: Place<'_>) {
        let length_ns = wait.length_ns();
        if wait.owner == NOBODY {
            self.others.push(length_ns, (wait, Asked::Nothing), |_| ());
        } else {
            let Gathered { owned, shorts, .. } = self;
            owned.push(length_ns, (wait, asked), |short| shorts.put(short, place));
        }
    }

    fn add(&mut self, other: Gathered, place: Place<'_>) {
        let Gathered { owned, others, shorts } = self;
        owned.add(other.owned, |short| shorts.put(short, place));
        others.add(other.others, |_| ());
        shorts.add(other.shorts);
    }

    /// The waits that are kept and can stand in a chain, in no order, and the sums of
    /// those that are not kept. Of threads below `threads`, by number.
    pub(super) fn into_parts(self, threads: usize) -> (Vec<AskedWait>, Shorts) {
        let mut all: Vec<AskedWait> = self.owned.into_entries().collect();
        let mut is_owner = vec![false; threads];
        for (wait, _) in &all {
            if let Some(is_owner) = is_owner.get_mut(wait.owner as usize) {
                *is_owner = true;
            }
        }
        // Whom nobody waits for is in no chain but its own.
        let owns = |thread: u32| is_owner.get(thread as usize).copied().unwrap_or(false);
        all.extend(self.others.into_entries().filter(|(wait, _)| owns(wait.thread)));
        all.retain(|(wait, asked)| *asked != Asked::Nothing || owns(wait.thread));
        (all, self.shorts)
    }
}

fn lock(id: u32) -> u32 {
    if id == UNKNOWN { NO_LOCK } else { id }
}
