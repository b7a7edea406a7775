//! The waits that chains are made of.

use super::{
    charge::{Demand, FilteredWait, For, NO_LOCK, NOBODY, Wait},
    longest::Longest,
    numbers::{Plan, SitePlan},
    short::{GroupAxis, Shorts},
};
use crate::findings::axis::{Clock, Grid};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tyrion_formats::{Entry, Event, Note, Noted, Recording};
use tyrion_model::{
    filter::Window,
    pass::{Question, Visitor},
};
use tyrion_wire::{def::id::UNKNOWN, slot::Pending, wake::Wake};

/// So many waits for locks of which it is known whom they are for are followed, so many
/// that withhold work, and so many others are seen on the way: the longest.
pub(in crate::findings) const MOST: usize = 1 << 18;

/// The waits of a recording. However many there are, so many are kept, and which
/// these are does not depend on who finds which of them first.
pub(super) struct ChainWaits {
    /// For locks, of which it is known whom they are for.
    owned: Longest<FilteredWait>,
    /// Those that withhold work and are charged.
    withheld: Longest<FilteredWait>,
    /// All others.
    others: Longest<FilteredWait>,
    /// Those for locks for which there is no room, added up.
    shorts: Shorts,
    /// The same of those that withhold work.
    withheld_shorts: Shorts,
}

impl ChainWaits {
    /// With room for so many of each.
    pub(super) fn with_room(most: usize) -> ChainWaits {
        ChainWaits {
            owned: Longest::new(most),
            withheld: Longest::new(most),
            others: Longest::new(most),
            shorts: Shorts::default(),
            withheld_shorts: Shorts::default(),
        }
    }

    /// One that had not ended: it is asked for whenever it began, as long as it took
    /// until then.
    fn put_pending(
        &mut self,
        log: &Recording,
        plan: &Plan,
        pending: &Pending,
        place: GroupAxis<'_>,
    ) {
        let thread = plan.thread(pending.thread);
        let Some(site) = plan.pending(pending.lock, pending.kind) else { return };
        let end_ns = log.end_ns().max(pending.start_ns);
        let wait = Wait {
            thread: thread.number,
            start_ns: pending.start_ns,
            end_ns,
            owner: plan.owner(pending.owner),
            until_ns: end_ns,
            lock: lock(pending.lock),
            is_for: site.is_for,
            is_woken: false,
            what: site.what,
        };
        // Chains of locks are those of waits for locks, whatever kinds are asked for.
        let is_asked = thread.is_wanted && site.is_wanted && site.is_for == For::Lock;
        self.put(wait, if is_asked { Demand::ChargePending } else { Demand::Nothing }, place);
    }

    #[inline]
    fn put(&mut self, wait: Wait, asked: Demand, place: GroupAxis<'_>) {
        let length_ns = wait.length_ns();
        let ChainWaits { owned, withheld, others, shorts, withheld_shorts } = self;
        match asked {
            _ if wait.owner == NOBODY => others.push(length_ns, (wait, Demand::Nothing), |_| ()),
            Demand::ChargeWithheld => {
                withheld.push(length_ns, (wait, asked), |short| withheld_shorts.put(short, place));
            }
            Demand::Nothing if wait.is_for != For::Lock => {
                others.push(length_ns, (wait, asked), |_| ());
            }
            _ => owned.push(length_ns, (wait, asked), |short| shorts.put(short, place)),
        }
    }

    fn add(&mut self, other: ChainWaits, place: GroupAxis<'_>) {
        let ChainWaits { owned, withheld, others, shorts, withheld_shorts } = self;
        owned.add(other.owned, |short| shorts.put(short, place));
        withheld.add(other.withheld, |short| withheld_shorts.put(short, place));
        others.add(other.others, |_| ());
        shorts.add(other.shorts);
        withheld_shorts.add(other.withheld_shorts);
    }

    /// The waits that are kept and can stand in a chain, in no order, and the sums of
    /// those that are not kept: of those for locks, and of those that withhold work. Of
    /// threads below `threads`, by number.
    pub(super) fn into_parts(self, threads: usize) -> (Vec<FilteredWait>, [Shorts; 2]) {
        let ChainWaits { owned, withheld, others, shorts, withheld_shorts } = self;
        let lists = [owned, withheld, others].into_iter();
        let mut all: Vec<FilteredWait> = lists.flat_map(Longest::into_entries).collect();
        let mut is_owner = vec![false; threads];
        for (wait, _) in &all {
            if let Some(is_owner) = is_owner.get_mut(wait.owner as usize) {
                *is_owner = true;
            }
        }
        // Whom nobody waits for is in no chain but its own.
        let owns = |thread: u32| is_owner.get(thread as usize).copied().unwrap_or(false);
        all.retain(|(wait, asked)| *asked != Demand::Nothing || owns(wait.thread));
        (all, [shorts, withheld_shorts])
    }
}

/// What is asked of a log.
pub(in crate::findings) struct ChainQuestion<'g> {
    pub(super) window: Window,
    pub(super) plan: Plan,
    pub(super) clock: Clock,
    pub(super) grid: Grid,
    /// The groups of the threads of its recording so far.
    pub(super) groups: Vec<u32>,
    pub(super) all: Mutex<&'g mut ChainWaits>,
}

impl<'g> ChainQuestion<'g> {
    pub(super) fn place(&self) -> GroupAxis<'_> {
        GroupAxis { groups: &self.groups, clock: self.clock, grid: self.grid }
    }

    /// The pass over the log is over.
    pub(in crate::findings) fn finish(self, log: &Recording) {
        let ChainQuestion { plan, clock, grid, groups, all, .. } = self;
        let gathered = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        for pending in log.pending() {
            gathered.put_pending(log, &plan, pending, GroupAxis { groups: &groups, clock, grid });
        }
    }

    fn lock(&self) -> MutexGuard<'_, &'g mut ChainWaits> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question for ChainQuestion<'_> {
    type Visitor<'q>
        = ChainVisitor<'q>
    where
        Self: 'q;

    fn visitor(&self) -> ChainVisitor<'_> {
        let gathered = ChainWaits::with_room(self.lock().owned.most());
        let (window, plan, place) = (&self.window, &self.plan, self.place());
        ChainVisitor { gathered, window, plan, place, held: None, is_begun: false }
    }

    fn take(&self, worker: ChainVisitor<'_>) {
        self.lock().add(worker.gathered, self.place());
    }
}

/// Goes over chunks.
pub(in crate::findings) struct ChainVisitor<'g> {
    gathered: ChainWaits,
    window: &'g Window,
    plan: &'g Plan,
    place: GroupAxis<'g>,
    /// A wait of whose owner nothing is known. Behind it may stand who ended it.
    held: Option<Event>,
    /// Whether a wait of the chunk was seen.
    is_begun: bool,
}

impl Visitor for ChainVisitor<'_> {
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Wait(event) => {
                self.put_held();
                self.is_begun = true;
                match self.plan.owner(event.owner) {
                    NOBODY => self.held = Some(*event),
                    owner => self.put(event, (owner, event.end_ns), false),
                }
            }
            Entry::Note(noted) => {
                if let Note::Wake(wake) = noted.record {
                    self.wake(&noted.with(wake));
                }
            }
        }
    }

    fn end_chunk(&mut self) {
        self.put_held();
        self.is_begun = false;
    }
}

impl ChainVisitor<'_> {
    #[inline]
    fn put_held(&mut self) {
        if let Some(event) = self.held.take() {
            self.put(&event, (NOBODY, event.end_ns), false);
        }
    }

    /// Who ended the wait before. The chunk may begin with it, with the wait in the chunk
    /// before: it is not known then whether that has an owner, as waits for locks may.
    #[inline(never)]
    fn wake(&mut self, woken: &Noted<Wake>) {
        let wake = &woken.record;
        let by = (self.plan.owner(wake.waker), woken.woken_ns());
        let is_its = |event: &mut Event| {
            (event.thread, event.site, event.wait_ns()) == (woken.thread, wake.site, wake.wait_ns)
        };
        if let Some(event) = self.held.take_if(is_its) {
            return self.put(&event, by, true);
        }
        let Some(site) = self.plan.site(wake.site) else { return };
        if !self.is_begun && site.is_for != For::Lock {
            let span = (woken.at_ns.saturating_sub(wake.wait_ns), woken.at_ns);
            let is_asked =
                self.window.holds(woken.at_ns) && wake.wait_ns >= self.window.min_wait_ns;
            self.put_wait((woken.thread, site), span, by, (true, is_asked));
        }
    }

    /// A wait that has ended. It is left out if its site's definition is lost.
    #[inline]
    fn put(&mut self, event: &Event, by: (u32, u64), is_woken: bool) {
        let Some(site) = self.plan.site(event.site) else { return };
        let is_asked = self.window.is_open() || self.window.takes(event);
        let span = (event.start_ns, event.end_ns);
        self.put_wait((event.thread, site), span, by, (is_woken, is_asked));
    }

    /// A wait that was for somebody until a moment; whether that one ended it, and whether
    /// the filter asks for waits at its time.
    #[inline]
    fn put_wait(
        &mut self,
        (thread, site): (u32, SitePlan),
        (start_ns, end_ns): (u64, u64),
        (owner, until_ns): (u32, u64),
        (is_woken, is_asked): (bool, bool),
    ) {
        // Most waits are neither charged nor among the longest.
        let is_other = owner == NOBODY || site.is_for == For::Other;
        if is_other && !self.gathered.others.takes(end_ns.saturating_sub(start_ns)) {
            return;
        }
        let thread = self.plan.thread(thread);
        let asked = match site.is_for {
            _ if !is_asked || !thread.is_wanted => Demand::Nothing,
            For::Withheld if is_woken && site.is_wanted_lock => Demand::ChargeWithheld,
            For::Withheld | For::Other => Demand::Nothing,
            _ if site.is_wanted => Demand::Charge,
            _ => Demand::Nothing,
        };
        let wait = Wait {
            thread: thread.number,
            start_ns,
            end_ns,
            owner,
            until_ns,
            lock: lock(site.lock),
            is_for: site.is_for,
            is_woken,
            what: site.what,
        };
        self.gathered.put(wait, asked, self.place);
    }
}

fn lock(id: u32) -> u32 {
    if id == UNKNOWN { NO_LOCK } else { id }
}
