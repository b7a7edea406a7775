//! What threads wait for at the moment.

use super::{
    EventContext, Recorder,
    threads::{PendingWait, Thread, Waits},
};
use crate::log::Generation;
use std::sync::Arc;
use tyrion_wire::{WaitKind, def::id};

impl Recorder {
    /// What another thread waits for, and its site, with ids of the context's
    /// generation. `None` when it does not wait, or is in the middle of an event.
    pub fn site_of_waiter(
        &self,
        context: &mut EventContext<'_>,
        waiter: &Thread,
    ) -> Option<(PendingWait, u32)> {
        let mut waits = waiter.try_waits()?;
        if waits.generation() < context.generation.number {
            self.move_waits(waiter, &mut waits, context.generation);
        }
        let is_same = waits.generation() == context.generation.number;
        let pending = *waits.innermost().filter(|_| is_same)?;
        Some((pending, self.site(context, &pending)?))
    }

    /// What a thread waits for, with ids of a generation. `None` when it does not
    /// wait, or is in the middle of an event.
    pub fn wait_of(&self, thread: &Thread, generation: &Arc<Generation>) -> Option<PendingWait> {
        let mut waits = thread.try_waits()?;
        if waits.generation() < generation.number {
            self.move_waits(thread, &mut waits, generation);
        }
        waits.innermost().copied().filter(|_| waits.generation() == generation.number)
    }

    /// Has pending waits have ids of this generation, if those are older.
    pub fn bring_waits(&self, thread: &Thread, waits: &mut Waits, to: &Arc<Generation>) {
        if waits.generation() < to.number {
            self.move_waits(thread, waits, to);
        }
    }

    /// Has pending waits have ids of a newer generation.
    #[cold]
    pub(super) fn move_waits(&self, thread: &Thread, waits: &mut Waits, to: &Arc<Generation>) {
        let id = |java_id| self.threads.id_in(to, java_id);
        thread.move_waits(waits, self.log.previous().as_deref(), to, id);
    }

    /// Has waits that no thread has any more have ids of a newer generation.
    #[cold]
    pub fn move_ended(&self, waits: &mut Waits, to: &Generation) {
        waits
            .move_to(self.log.previous().as_deref(), to, |java_id| self.threads.id_in(to, java_id));
    }

    /// The number of the place of a wait, for what is waited for there, defined.
    fn place_of(&self, generation: &Generation, pending: &PendingWait) -> u32 {
        if pending.place == id::UNKNOWN {
            return id::UNKNOWN;
        }
        let kind = match pending.kind {
            kind if kind.is_contention() => kind,
            // Places are those where locks are taken: these are waited on.
            WaitKind::ObjectWait => WaitKind::Monitor,
            _ => WaitKind::Lock,
        };
        let place = self.places.variant(pending.place, kind);
        self.define_place(generation, place);
        place
    }

    /// The id of the site of a wait of the context's thread.
    pub fn site(&self, context: &mut EventContext<'_>, pending: &PendingWait) -> Option<u32> {
        let kind = u64::from(pending.kind.code());
        let lock = u64::from(pending.place) << 32 | u64::from(pending.lock);
        let key = (kind << 32 | u64::from(pending.stack), lock);
        if let Some(&known) = context.lane.sites.get(&key) {
            return Some(known);
        }
        let Generation { log, dictionary, .. } = &**context.generation;
        let place = self.place_of(context.generation, pending);
        let site = dictionary.site(log, pending.kind, (pending.stack, place), pending.lock)?;
        context.lane.trim();
        context.lane.sites.insert(key, site);
        Some(site)
    }
}
