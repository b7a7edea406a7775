//! Who has the locks that threads wait for: when the wait begins, and, where it lasts,
//! again and again.
//!
//! What was true when a wait began says nothing of later moments, so an owner has the time
//! at which it was looked for. A thread that has waited since before that moment has not
//! run since, and so still owns what it was seen to own.

use super::{Contention, locks::LockRef};
use crate::{
    clock, groups,
    jvm::{
        Java, Object, Vm,
        monitors::OwnedBy,
        threads::{is_alive, is_blocked},
        ti::ThreadInfo,
    },
    log::Generation,
    recorder::{
        EventContext,
        threads::{Owner, PendingWait, Seen, Thread},
    },
};
use std::{sync::Arc, time::Duration};
use tyrion_wire::{WaitKind, def::id};

/// Waits that are as old as this are looked at, ns.
const OLD_NS: u64 = 500_000_000;
/// An acquisition of a thread that has not parked again for so long is over, ns.
const OVER_NS: u64 = 300_000_000;
/// Between two looks.
const PERIOD: Duration = Duration::from_millis(500);
/// Threads in `Object.wait`, which may be idle for ever, are looked at once in so many
/// looks.
const IDLE_ONE_IN: u32 = 10;
/// Rings of more threads are found by the next look.
const LONGEST_RING: usize = 64;
/// At most so many waits are looked at at once, but for the last look; the others come
/// next time.
const MANY: usize = 1024;

/// What a thread waits for, if that is a lock that has an owner.
fn waits_for_owner(thread: &Arc<Thread>) -> Option<PendingWait> {
    let innermost = *thread.try_waits()?.innermost()?;
    let is_lock = !innermost.kind.is_idle();
    (is_lock && innermost.last_owner().is_known()).then_some(innermost)
}

/// A monitor that the current thread is about to wait for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Before its owner was read, monotonic ns.
    pub(super) start_ns: u64,
    /// The JVM's monitor; 0 where that is not known.
    pub(super) monitor: usize,
    /// What it says of its owner.
    owned: OwnedBy,
    /// The owner's Java id, if it has one that is known.
    owner_id: Option<i64>,
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted { start_ns: 0, monitor: 0, owned: OwnedBy::Nobody, owner_id: None }
    }
}

/// Locks that virtual threads park at, in one look.
const MANY_VIRTUAL: usize = 16;

/// A wait that is looked at.
pub(super) struct Look {
    pub(super) thread: Arc<Thread>,
    pub(super) wait: PendingWait,
}

impl Contention {
    /// What a thread of the agent's own does for ever: writes acquisitions that are
    /// over, looks after waits that were found, and looks who has the locks that are
    /// waited for long. The JVM knows it only while there is something to ask. While waits
    /// are recorded, `also` is run every half second, too, and told how often it was run
    /// before.
    pub fn watch_waits(&'static self, vm: Vm, also: impl Fn(u32)) {
        let mut nth = 0_u32;
        while !self.recorder.log().is_closed() {
            std::thread::sleep(PERIOD);
            if !self.recorder.is_enabled() {
                continue;
            }
            also(nth);
            nth = nth.wrapping_add(1);
            self.settle_older(clock::now_ns().saturating_sub(OVER_NS));
            let found = self.found_to_look_at();
            if !found.is_empty() {
                // SAFETY: the environment is this thread's, as long as it is attached.
                vm.with_thread(|env| self.look_at_found(unsafe { Java::new(env) }, &found));
            }
            if self.is_on() {
                self.look_for_initializations(vm);
            }
            let before_ns = clock::now_ns().saturating_sub(OLD_NS);
            let mut looks = self.to_look_at(before_ns, nth.is_multiple_of(IDLE_ONE_IN));
            if looks.len() > MANY {
                // Those that were looked at last come last.
                looks.sort_by_key(|look| look.wait.seen.map_or(0, |seen| seen.at_ns));
                looks.truncate(MANY);
            }
            if !looks.is_empty() {
                // SAFETY: the environment is this thread's, as long as it is attached.
                vm.with_thread(|env| self.look_at(unsafe { Java::new(env) }, &looks));
            }
        }
    }

    /// The current thread is about to wait for a lock, whose owner may wait itself: where
    /// that leads back to this thread, nobody in the ring has run since, and who owns what is
    /// looked at once more.
    #[inline]
    pub(super) fn look_for_ring(&self, java: Java, wait: &PendingWait, java_id: i64) {
        if wait.owner.is_known() {
            let first = self.recorder.threads().get(wait.owner.java_id);
            if let Some(pending) = first.as_ref().and_then(waits_for_owner) {
                self.follow_ring(java, (first, pending), java_id);
            }
        }
    }

    #[cold]
    fn follow_ring(
        &self,
        java: Java,
        (first, pending): (Option<Arc<Thread>>, PendingWait),
        java_id: i64,
    ) {
        let mut looks = Vec::new();
        let (mut thread, mut pending) = (first, Some(pending));
        while let (Some(of), Some(wait)) = (thread, pending) {
            let next = wait.last_owner().java_id;
            looks.push(Look { thread: of, wait });
            if next == java_id {
                let own = self.recorder.threads().get(java_id);
                let own = own.and_then(|of| Some((waits_for_owner(&of)?, of)));
                looks.extend(own.map(|(wait, thread)| Look { thread, wait }));
                return self.look_at(java, &looks);
            }
            if looks.len() > LONGEST_RING {
                return;
            }
            thread = self.recorder.threads().get(next);
            pending = thread.as_ref().and_then(waits_for_owner);
        }
    }

    /// Recording ends, or pauses: looks who has what is waited for now.
    pub fn look_for_owners(&self, java: Java) {
        if self.is_on() {
            self.look_for_initializations_now(java);
        }
        self.look_at(java, &self.to_look_at(u64::MAX, true));
    }

    fn to_look_at(&self, before_ns: u64, with_idle: bool) -> Vec<Look> {
        let has_owner = |wait: &PendingWait| match wait.kind {
            WaitKind::ObjectWait => with_idle || wait.seen.is_some_and(|seen| seen.reenters),
            kind => kind.has_owner(),
        };
        let pending = self.recorder.threads().pending_since(before_ns).into_iter();
        let looks = pending.filter(|(thread, wait)| !thread.excluded && has_owner(wait));
        looks.map(|(thread, wait)| Look { thread, wait }).collect()
    }

    fn look_at(&self, java: Java, looks: &[Look]) {
        for look in looks {
            if self.recorder.log().is_closed() {
                return;
            }
            match look.wait.kind {
                // That of a class has none, and is looked at with it.
                WaitKind::Monitor if look.wait.monitor == 0 => {}
                WaitKind::Monitor => self.look_at_monitor(java, look, look.wait.monitor, false),
                WaitKind::ObjectWait => self.look_at_object_wait(java, look),
                _ => {}
            }
        }
        self.look_at_locks(java, looks);
    }

    /// What a monitor, which may be gone, says of its owner.
    fn owner_word(&self, monitor: usize) -> Option<OwnedBy> {
        self.recorder.monitors()?.owner_of(monitor).filter(|_| monitor != 0)
    }

    /// Whether a monitor says that nobody has it.
    pub(super) fn has_no_owner(&self, monitor: usize) -> bool {
        self.owner_word(monitor) == Some(OwnedBy::Nobody)
    }

    /// The Java id of the thread that owns a monitor, which may be gone; `None` where nobody
    /// is known to.
    pub(super) fn owner_of_monitor_now(&self, monitor: usize) -> Option<i64> {
        match self.owner_word(monitor)? {
            OwnedBy::Somebody => self.recorder.owner_without_monitor(monitor),
            owned => self.recorder.owner_id_of(owned, || self.owner_word(monitor) == Some(owned)),
        }
    }

    fn look_at_monitor(&self, java: Java, look: &Look, monitor: usize, reenters: bool) {
        let at_ns = clock::now_ns();
        let seen = self.owner_of_monitor_now(monitor);
        // It may just have got the monitor, and not have said so.
        let owner_id = seen.filter(|&java_id| java_id != look.thread.java_id);
        let generation = self.recorder.log().current();
        let is_still = || self.owner_of_monitor_now(monitor) == seen;
        let known =
            owner_id.and_then(|java_id| self.thread_of_owner(&generation, java, java_id, is_still));
        let owner = known.map(|known| self.as_owner(&generation, &known)).unwrap_or_default();
        if is_still() {
            self.note_seen(java, look, &generation, Seen { owner, at_ns, reenters });
        }
    }

    /// Notes who was seen to own what a thread waits for, by its Java id, and when.
    pub(super) fn note_owner(
        &self,
        java: Java,
        thread: &Arc<Thread>,
        wait: &PendingWait,
        (owner_id, at_ns): (i64, u64),
        is_still: impl Fn() -> bool,
    ) {
        let generation = self.recorder.log().current();
        let Some(known) = self.thread_of_owner(&generation, java, owner_id, is_still) else {
            return;
        };
        let owner = self.as_owner(&generation, &known);
        let look = Look { thread: Arc::clone(thread), wait: *wait };
        self.note_seen(java, &look, &generation, Seen { owner, at_ns, reenters: false });
    }

    /// A thread in `Object.wait` that is to enter the monitor again waits for its owner.
    fn look_at_object_wait(&self, java: Java, look: &Look) {
        let Some(address) = self.recorder.address_of(look.thread.java_id) else { return };
        let object = self.recorder.thread_object(java, look.thread.java_id);
        let bits = (!object.is_null()).then(|| self.recorder.thread_status(java, object.get()));
        java.drop_local(object);
        if !bits.flatten().is_some_and(is_blocked) {
            return;
        }
        let waited_for = self.recorder.monitors().and_then(|it| it.waited_for(address));
        match waited_for {
            Some((_, monitor)) if monitor != 0 => self.look_at_monitor(java, look, monitor, true),
            _ => {}
        }
    }

    /// The locks of java.util.concurrent among them.
    fn look_at_locks(&self, java: Java, looks: &[Look]) {
        let is_lock = |kind| !matches!(kind, WaitKind::Monitor | WaitKind::ObjectWait);
        let mut of_virtual = Vec::new();
        for look in looks.iter().filter(|look| is_lock(look.wait.kind)) {
            let waiter = self.recorder.thread_object(java, look.thread.java_id);
            match waiter.is_null() {
                true if look.thread.is_virtual() => of_virtual.push(look),
                true => {}
                false => {
                    let lock = java.object_field(waiter.get(), self.recorder.fields().park_blocker);
                    self.look_at_lock(java, look, lock.get());
                    java.drop_local(lock);
                }
            }
            java.drop_local(waiter);
        }
        if of_virtual.is_empty() {
            return;
        }
        // Nobody keeps the objects of virtual threads: their locks are found by their tags,
        // each of which the JVM compares with all that there are.
        of_virtual.truncate(MANY_VIRTUAL);
        let mut tags: Vec<i64> =
            of_virtual.iter().flat_map(|look| self.possible_tags(look.wait.lock)).collect();
        tags.sort_unstable();
        tags.dedup();
        for (lock, tag) in self.recorder.ti().objects_with_tags(java, &tags) {
            let id = LockRef::from_tag(tag).map(|lock| lock.id);
            let waits = of_virtual.iter().filter(|look| Some(look.wait.lock) == id);
            waits.for_each(|look| self.look_at_lock(java, look, lock.get()));
            java.drop_local(lock);
        }
    }

    fn look_at_lock(&self, java: Java, look: &Look, lock: Object<'_>) {
        if lock.is_null() {
            return;
        }
        let of_lock = LockRef::from_tag(self.recorder.ti().tag(lock));
        let Some(known) = of_lock.filter(|it| it.id == look.wait.lock) else { return };
        if !known.flavor.has_owner() {
            return;
        }
        let (at_ns, generation) = (clock::now_ns(), self.recorder.log().current());
        let owner = self.owner_of(&generation, java, lock);
        let owner = Some(owner).filter(|owner| owner.java_id != look.thread.java_id);
        let owner = owner.unwrap_or_default();
        self.note_seen(java, look, &generation, Seen { owner, at_ns, reenters: false });
    }

    /// Notes the owner with a wait, if it is still that wait; the time is one before the
    /// owner was read. The owner's id is of a
    /// generation. Nothing is noted where the thread is in the middle of an event, or the
    /// log just goes on in another file: the next look may come in time.
    pub(super) fn note_seen(
        &self,
        java: Java,
        look: &Look,
        generation: &Arc<Generation>,
        seen: Seen,
    ) {
        let is_new = seen.owner.is_known() && !look.wait.owner.is_known();
        let group = match is_new {
            true => self.recorder.group_number_of(java, seen.owner.java_id),
            false => groups::NONE,
        };
        let Some(mut waits) = look.thread.try_waits() else { return };
        self.recorder.bring_waits(&look.thread, &mut waits, generation);
        if waits.generation() != generation.number {
            return;
        }
        let Some(pending) = waits.innermost_mut() else { return };
        if pending.start_ns != look.wait.start_ns || pending.kind != look.wait.kind {
            return;
        }
        pending.seen = Some(seen);
        if !pending.owner.is_known() && !seen.reenters {
            (pending.owner, pending.owner_group) = (seen.owner, group);
        }
        look.thread.publish(&mut waits, generation);
    }

    /// The monitor that the current thread is about to wait for, and its owner. To be
    /// called before anything else: it may be released at any moment.
    #[inline]
    pub fn wanted(&self, java: Java) -> Wanted {
        let start_ns = clock::now_ns();
        let none = Wanted { start_ns, ..Wanted::default() };
        let Some(monitors) = self.recorder.monitors() else { return none };
        let monitor = monitors.pending(java);
        let owned = monitors.owner_of_pending(monitor);
        let is_still = || monitors.owner_of_pending(monitor) == owned;
        let owner_id = self.recorder.owner_id_of(owned, is_still);
        Wanted { monitor, owned, owner_id, ..none }
    }

    /// Whether the monitor that the current thread is about to wait for has the same owner
    /// still.
    pub(super) fn is_owned_still(&self, wanted: &Wanted) -> bool {
        let monitors = self.recorder.monitors();
        let owned = monitors.map(|monitors| monitors.owner_of_pending(wanted.monitor));
        owned == Some(wanted.owned)
    }

    /// The owner as the log has it, of a monitor that the context's thread waits for.
    pub(super) fn owner_of_wanted(
        &self,
        context: &EventContext<'_>,
        java: Java,
        wanted: &Wanted,
    ) -> Owner {
        let owner_id = wanted.owner_id.filter(|&java_id| java_id != context.thread.java_id);
        let is_still = || self.is_owned_still(wanted);
        let owner = owner_id.and_then(|java_id| {
            let known = self.thread_of_owner(context.generation, java, java_id, is_still)?;
            Some(self.as_owner(context.generation, &known))
        });
        owner.unwrap_or_default()
    }

    /// The monitor that a thread waits to enter, or to enter again after `Object.wait`.
    pub(super) fn monitor_of_blocked(&self, java_id: i64) -> Option<usize> {
        let address = self.recorder.address_of(java_id)?;
        let (entered, waited_on) = self.recorder.monitors()?.waited_for(address)?;
        [entered, waited_on].into_iter().find(|&monitor| monitor != 0)
    }

    /// The same of a thread that was found to wait.
    pub(super) fn owner_of_blocked(
        &self,
        generation: &Generation,
        java: Java,
        waiter: &Thread,
    ) -> (Owner, usize) {
        let found = self
            .monitor_of_blocked(waiter.java_id)
            .and_then(|monitor| Some((self.owner_word(monitor)?, monitor)));
        let Some((owned, monitor)) = found else { return Default::default() };
        let is_still = || self.owner_word(monitor) == Some(owned);
        let owner_id = self.recorder.owner_id_of(owned, is_still);
        let owner_id = owner_id.filter(|&it| it != waiter.java_id);
        let known =
            owner_id.and_then(|java_id| self.thread_of_owner(generation, java, java_id, is_still));
        (known.map(|known| self.as_owner(generation, &known)).unwrap_or_default(), monitor)
    }

    /// The thread that owns a monitor, by its Java id, as long as that `is_still` so;
    /// `None` for one that has ended.
    #[inline]
    pub(super) fn thread_of_owner(
        &self,
        generation: &Generation,
        java: Java,
        java_id: i64,
        is_still: impl Fn() -> bool,
    ) -> Option<Arc<Thread>> {
        let known = self.recorder.threads().get(java_id);
        let is_told = |known: &Arc<Thread>| {
            known.is_known(generation) && (known.is_virtual() || !known.is_only_listed())
        };
        match known.filter(is_told) {
            Some(known) => Some(known),
            None => self.new_owner(generation, java, java_id, is_still),
        }
    }

    #[cold]
    fn new_owner(
        &self,
        generation: &Generation,
        java: Java,
        java_id: i64,
        is_still: impl Fn() -> bool,
    ) -> Option<Arc<Thread>> {
        let object = self.recorder.thread_object(java, java_id);
        if !object.is_null() {
            let owner = self.owner(generation, java, object.get());
            java.drop_local(object);
            return owner.is_known().then(|| self.recorder.threads().get(java_id)).flatten();
        }
        if let Some(known) = self.recorder.threads().get(java_id) {
            return Some(known);
        }
        // A virtual thread that has had no event yet, if it is not one that has ended.
        if self.recorder.has_ended(java_id) {
            return None;
        }
        // As long as it owns something it has not ended, and its end is told after this.
        if !is_still() {
            return None;
        }
        let known = self.recorder.threads().get_or_add(java_id, false, generation.number);
        known.describe(ThreadInfo { name: Vec::new(), group: Vec::new(), daemon: true }, true);
        known.started_at(generation, clock::now_ns());
        known.names_itself_later();
        Some(known)
    }

    pub(super) fn as_owner(&self, generation: &Generation, known: &Thread) -> Owner {
        Owner { id: known.id(generation), java_id: known.java_id }
    }

    /// The thread that holds a synchronizer exclusively, if known.
    pub(super) fn owner_of(
        &self,
        generation: &Generation,
        java: Java,
        synchronizer: Object<'_>,
    ) -> Owner {
        let owner = java.object_field(synchronizer, self.recorder.fields().exclusive_owner);
        if owner.is_null() {
            return Owner::default();
        }
        let known = self.owner(generation, java, owner.get());
        java.drop_local(owner);
        known
    }

    /// Whether a thread has not ended. JVMTI would wait until no virtual thread is just being
    /// mounted or unmounted, which may be one that waits for what the current thread has.
    fn is_alive(&self, java: Java, thread: Object<'_>) -> bool {
        let status = match self.recorder.is_virtual(java, thread) {
            true => None,
            false => self.recorder.thread_status(java, thread),
        };
        status.map_or_else(|| self.recorder.ti().is_alive(thread), is_alive)
    }

    /// A thread that holds a lock, as the log has it.
    pub(super) fn owner(&self, generation: &Generation, java: Java, owner: Object<'_>) -> Owner {
        let java_id = self.recorder.java_id(java, owner);
        let known = match self.recorder.threads().get(java_id) {
            Some(known) => Some(known),
            // One that has just ended would never be removed again.
            None if self.is_alive(java, owner) => {
                Some(self.recorder.add_thread(java, owner, java_id))
            }
            None => None,
        };
        let id = known.map_or(id::UNKNOWN, |known| {
            if !known.is_known(generation) {
                self.recorder.describe_thread(java, owner, &known);
                if known.is_virtual() {
                    // Nobody tells when those started.
                    known.started_at(generation, clock::now_ns());
                }
            }
            if known.was_only_listed() {
                self.recorder.refresh_name(java, owner, &known);
            }
            known.id(generation)
        });
        Owner { id, java_id }
    }
}
