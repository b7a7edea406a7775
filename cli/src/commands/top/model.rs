//! What happened in the last seconds: sums of what logs tell, by the ids in
//! them, in slices of time that come and go. Knows neither names nor screens.

use crate::live::{FileNumber, feed::ChangeSink};
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, Hasher},
};
use tyrion_formats::{Changes, Entry, Event, Note, Recording};

/// How many slices the window is cut into, at most.
const SLICES: u64 = 60;
/// How many slices of the time before the first look it begins with.
const FIRST_SLICES: u64 = 10;

/// Who waited, and at which site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitKey {
    pub file: FileNumber,
    pub thread: u32,
    pub site: u32,
}

/// Who had a lock that others waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HoldKey {
    pub file: FileNumber,
    pub holder: u32,
    /// Of the release, and the place of the acquisition; 0 where only the owner
    /// at the wait's start is known.
    pub stack: u32,
    pub place: u32,
    /// The site of the wait.
    pub site: u32,
    /// The wait was charged to its holders, as in trace mode.
    pub charged: bool,
}

/// Who took locks of a class, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TakeKey {
    pub file: FileNumber,
    pub thread: u32,
    pub place: u32,
    pub class: u32,
}

/// Waits added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSum {
    /// How many ended.
    pub count: u64,
    /// How long those took, whole.
    pub wait_ns: u64,
    /// The longest of them.
    pub max_ns: u64,
    /// How long they were under way within the time that is summed.
    pub within_ns: u64,
}

/// Waits that a holder caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldSum {
    /// How many waits met the owner, or releases were charged.
    pub count: u64,
    /// Their durations, or what was charged.
    pub wait_ns: u64,
}

/// Acquisitions added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TakeSum {
    pub count: u64,
    /// The square of the standard error of that; 0 where all were counted.
    pub error_squared: f64,
    /// How long the locks were held, estimated from the holds measured
    /// meanwhile.
    pub held_ns: u64,
}

/// Sums over a stretch of time.
#[derive(Clone, Debug, Default)]
pub struct WindowSums {
    pub from_ns: u64,
    pub to_ns: u64,
    /// How long of that nothing was recorded.
    pub paused_ns: u64,
    /// Since when acquisitions are counted.
    pub taken_from_ns: u64,
    pub waits: QuickMap<WaitKey, WaitSum>,
    pub holders: QuickMap<HoldKey, HoldSum>,
    pub taken: QuickMap<TakeKey, TakeSum>,
}

/// What happened in the last seconds.
#[derive(Debug)]
pub struct Window {
    /// `None`: all of a recording.
    length_ns: Option<u64>,
    /// One after another without gaps; what comes goes to the last one.
    slices: VecDeque<WindowSums>,
    taken_from_ns: u64,
}

impl Window {
    /// The last `length_ns` before `now_ns`, which is the first look; but not
    /// before the log's start.
    pub fn last(length_ns: u64, start_ns: u64, now_ns: u64) -> Window {
        let from_ns = now_ns.saturating_sub(length_ns).max(start_ns).min(now_ns);
        let step_ns = (now_ns - from_ns).div_ceil(FIRST_SLICES).max(1);
        let mut slices = VecDeque::new();
        let mut at_ns = from_ns;
        while at_ns < now_ns {
            let to_ns = (at_ns + step_ns).min(now_ns);
            slices.push_back(WindowSums { from_ns: at_ns, to_ns, ..WindowSums::default() });
            at_ns = to_ns;
        }
        slices.push_back(WindowSums { from_ns: now_ns, to_ns: now_ns, ..WindowSums::default() });
        Window { length_ns: Some(length_ns), slices, taken_from_ns: now_ns }
    }

    /// All of a recording.
    pub fn whole(start_ns: u64, end_ns: u64) -> Window {
        let all = WindowSums { from_ns: start_ns, to_ns: end_ns, ..WindowSums::default() };
        Window { length_ns: None, slices: [all].into(), taken_from_ns: start_ns }
    }

    /// Another length from now on. A longer one fills up as time goes by.
    pub fn set_length(&mut self, length_ns: u64) {
        if let Some(length) = &mut self.length_ns {
            *length = length_ns;
        }
    }

    /// All of a recording ends at this time, as far as is known now.
    pub fn end(&mut self, end_ns: u64) {
        if let Some(last) = self.slices.back_mut() {
            last.to_ns = end_ns.max(last.to_ns);
        }
    }

    /// How long the window shall be; `None` if it is all of a recording.
    pub fn length_ns(&self) -> Option<u64> {
        self.length_ns
    }

    /// What was added up to now counts as having happened by `now_ns`; what
    /// comes goes to a new slice, and what is too old is forgotten.
    pub fn advance(&mut self, now_ns: u64) {
        let Some(length_ns) = self.length_ns else { return };
        let Some(last) = self.slices.back_mut() else { return };
        last.to_ns = now_ns.max(last.from_ns);
        if last.to_ns - last.from_ns >= length_ns / SLICES {
            let from_ns = last.to_ns;
            self.slices.push_back(WindowSums { from_ns, to_ns: from_ns, ..WindowSums::default() });
        }
        // Looks are not quite as far apart as they should be.
        let oldest_ns = now_ns.saturating_sub(length_ns) + length_ns / 20;
        while self.slices.get(1).is_some_and(|second| second.from_ns <= oldest_ns) {
            self.slices.pop_front();
        }
    }

    /// Takes up what was recorded.
    pub fn add(&mut self, file: FileNumber, entry: &Entry<'_>) {
        match entry {
            Entry::Wait(event) => self.add_wait(file, event),
            Entry::Note(traced) => {
                // What it shows are waits, which sampling tells less of.
                let Note::Blame(blame) = &traced.record else { return };
                let key = HoldKey {
                    file,
                    holder: traced.thread,
                    stack: blame.stack,
                    place: blame.place,
                    site: blame.site,
                    charged: true,
                };
                self.slice_at(traced.at_ns).hold(key, blame.charged_ns);
            }
        }
    }

    fn add_wait(&mut self, file: FileNumber, event: &Event) {
        let key = WaitKey { file, thread: event.thread, site: event.site };
        let wait_ns = event.wait_ns();
        let whole = self.length_ns.is_none();
        let slice = self.slice_at(event.end_ns);
        let sum = slice.waits.entry(key).or_default();
        sum.count += 1;
        sum.wait_ns = sum.wait_ns.saturating_add(wait_ns);
        sum.max_ns = sum.max_ns.max(wait_ns);
        let from_ns = slice.from_ns;
        let is_within = whole || event.start_ns >= from_ns;
        let within_ns = if is_within { wait_ns } else { event.end_ns.saturating_sub(from_ns) };
        sum.within_ns = sum.within_ns.saturating_add(within_ns);
        if event.owner != 0 {
            let (site, holder) = (event.site, event.owner);
            let key = HoldKey { file, holder, stack: 0, place: 0, site, charged: false };
            slice.hold(key, wait_ns);
        }
        if !is_within {
            self.spread(key, event.start_ns, from_ns);
        }
    }

    /// What a wait had of the slices before the one in which it ended.
    fn spread(&mut self, key: WaitKey, start_ns: u64, end_ns: u64) {
        for slice in self.slices.iter_mut().rev().skip_while(|slice| slice.from_ns >= end_ns) {
            let sum = slice.waits.entry(key).or_default();
            let within_ns = slice.to_ns.saturating_sub(start_ns.max(slice.from_ns));
            sum.within_ns = sum.within_ns.saturating_add(within_ns);
            if slice.from_ns <= start_ns {
                return;
            }
        }
    }

    /// Takes up what cells have counted since the last look.
    pub fn add_changes(&mut self, file: FileNumber, changes: &Changes) {
        for change in &changes.cells {
            let key = WaitKey { file, thread: change.cell.thread, site: change.cell.site };
            let sum = self.slice_at(change.cell.last_ns).waits.entry(key).or_default();
            sum.count = sum.count.saturating_add(change.count);
            sum.wait_ns = sum.wait_ns.saturating_add(change.sum_ns);
            sum.max_ns = sum.max_ns.max(change.max_ns);
            sum.within_ns = sum.within_ns.saturating_add(change.sum_ns);
        }
        let Some(last) = self.slices.back_mut() else { return };
        for change in &changes.acquisitions {
            let cell = &change.cell;
            let (thread, place, class) = (cell.thread, cell.place, cell.class);
            let sum = last.taken.entry(TakeKey { file, thread, place, class }).or_default();
            sum.count = sum.count.saturating_add(change.acquisitions);
            sum.error_squared += change.error_squared();
            sum.held_ns = sum.held_ns.saturating_add(change.held_meanwhile_ns());
        }
    }

    /// The slice of a moment. What is late belongs to the first one, what is
    /// early to the last.
    fn slice_at(&mut self, at_ns: u64) -> &mut WindowSums {
        let after = self.slices.iter().rposition(|slice| slice.from_ns < at_ns).unwrap_or(0);
        &mut self.slices[after]
    }

    /// All that is in the window, up to the last [`Window::advance`].
    pub fn sums(&self) -> WindowSums {
        let mut all = WindowSums {
            from_ns: self.slices.front().map_or(0, |slice| slice.from_ns),
            to_ns: self.slices.back().map_or(0, |slice| slice.to_ns),
            ..WindowSums::default()
        };
        all.taken_from_ns = self.taken_from_ns.max(all.from_ns);
        for slice in &self.slices {
            for (key, more) in &slice.waits {
                let sum = all.waits.entry(*key).or_default();
                sum.count = sum.count.saturating_add(more.count);
                sum.wait_ns = sum.wait_ns.saturating_add(more.wait_ns);
                sum.max_ns = sum.max_ns.max(more.max_ns);
                sum.within_ns = sum.within_ns.saturating_add(more.within_ns);
            }
            for (key, more) in &slice.holders {
                let sum = all.holders.entry(*key).or_default();
                sum.count = sum.count.saturating_add(more.count);
                sum.wait_ns = sum.wait_ns.saturating_add(more.wait_ns);
            }
            for (key, more) in &slice.taken {
                let sum = all.taken.entry(*key).or_default();
                sum.count = sum.count.saturating_add(more.count);
                sum.error_squared += more.error_squared;
                sum.held_ns = sum.held_ns.saturating_add(more.held_ns);
            }
        }
        all
    }
}

impl ChangeSink for Window {
    fn add(&mut self, file: FileNumber, entry: &Entry<'_>) {
        Window::add(self, file, entry);
    }

    fn add_changes(&mut self, file: FileNumber, _log: &Recording, changes: &Changes) {
        Window::add_changes(self, file, changes);
    }
}

impl WindowSums {
    /// How long it was recorded; never 0, so that one can divide by it.
    pub fn span_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns).saturating_sub(self.paused_ns).max(1)
    }

    /// For how long acquisitions were counted.
    pub fn taken_span_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.taken_from_ns).saturating_sub(self.paused_ns).max(1)
    }

    /// How long something that began then and goes on has been within.
    pub fn within_ns(&self, start_ns: u64) -> u64 {
        self.to_ns.saturating_sub(start_ns.max(self.from_ns))
    }

    fn hold(&mut self, key: HoldKey, wait_ns: u64) {
        let sum = self.holders.entry(key).or_default();
        sum.count += 1;
        sum.wait_ns = sum.wait_ns.saturating_add(wait_ns);
    }
}

/// A map with a quick hash: each event looks something up.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHash>>;

/// A quick hash for keys of a few ids. What a log could do with ids that
/// collide is slow down the one who looks at it.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuickHash(u64);

impl Hasher for QuickHash {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write_u32(&mut self, id: u32) {
        let wide = u128::from(self.0 ^ u64::from(id)) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (wide as u64 ^ (wide >> 64) as u64).rotate_left(25) ^ 0x51_7cc1_b727_220a;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u32(byte.into());
    }
}

#[cfg(test)]
mod tests;
