//! Records of another thread than the current one: one that has ended, or the
//! one that stands for all virtual threads.

use super::{
    EventContext, Recorder,
    context::{LOCAL, Local},
    threads::Thread,
};
use std::{cell::RefCell, sync::Arc};
use tyrion_wire::trace::HoldBatch;

impl Recorder {
    /// Runs `body` in a context whose records are of another thread, which may
    /// have ended, on the current OS thread. `None` in the middle of an event.
    pub fn in_context_of_thread<R>(
        &'static self,
        thread: &Arc<Thread>,
        body: impl FnOnce(&mut EventContext<'_>) -> R,
    ) -> Option<R> {
        self.context(false, |_| Some(Arc::clone(thread)), body)
    }

    /// Runs `body` in a context whose records are of the thread with this Java
    /// id, or of all virtual threads, on the current OS thread. `None` in the
    /// middle of an event, and when the thread is not known any more.
    pub fn in_context_of<R>(
        &'static self,
        owner: i64,
        body: impl FnOnce(&mut EventContext<'_>) -> R,
    ) -> Option<R> {
        self.in_context_of_owner(owner, false, body)
    }

    /// The same for events that are written late, some time after others.
    pub fn in_late_context_of<R>(
        &'static self,
        owner: i64,
        body: impl FnOnce(&mut EventContext<'_>) -> R,
    ) -> Option<R> {
        self.in_context_of_owner(owner, true, body)
    }

    fn in_context_of_owner<R>(
        &'static self,
        owner: i64,
        is_late: bool,
        body: impl FnOnce(&mut EventContext<'_>) -> R,
    ) -> Option<R> {
        let whose = |local: &mut Local| {
            if local.last_owner.as_ref().is_none_or(|known| known.java_id != owner) {
                local.last_owner = Some(self.owner_of_records(owner)?);
            }
            local.last_owner.clone()
        };
        self.context(is_late, whose, body)
    }

    fn context<R>(
        &'static self,
        is_late: bool,
        whose: impl FnOnce(&mut Local) -> Option<Arc<Thread>>,
        body: impl FnOnce(&mut EventContext<'_>) -> R,
    ) -> Option<R> {
        let run = |cell: &RefCell<Option<Local>>| {
            let mut slot = cell.try_borrow_mut().ok()?;
            let local = slot.get_or_insert_with(|| self.local());
            let thread = &whose(local)?;
            let Local { lane, late, .. } = local;
            let lane = if is_late { late.get_or_insert_with(|| self.lanes.take()) } else { lane };
            let mut lane_slot = lane.lock_slot();
            let (generation, lane) = lane_slot.enter(&self.log)?;
            let (frames, parks_unseen) = (&mut local.frames[..], &mut local.parks_unseen);
            Some(body(&mut EventContext { generation, lane, thread, frames, parks_unseen }))
        };
        LOCAL.try_with(run).ok().flatten()
    }

    /// Appends a record that is no wait. `encode` gets the time since the record
    /// before.
    pub fn append(
        &self,
        context: &mut EventContext<'_>,
        at_ns: Option<u64>,
        encode: impl Fn(u64, &mut Vec<u8>),
    ) -> bool {
        let thread = context.thread.id(context.generation);
        context.lane.append_misc(&context.generation.log, thread, at_ns, encode)
    }

    /// Appends holds as one record.
    pub fn append_holds(&self, context: &mut EventContext<'_>, holds: &mut HoldBatch) -> bool {
        let thread = context.thread.id(context.generation);
        context.lane.append_holds(&context.generation.log, thread, holds)
    }
}
