//! What is charged to whom: how long each thread was sampled, what it was
//! doing, and what of that is not in the log yet.

use super::{
    run::{Charge, Run, Seen},
    statistics::{OWN_TIME, SampleStatistics},
};
use crate::{
    clock,
    jvm::{Java, threads::lasting},
    log::{Generation, lane::Lane},
    recorder::{Recorder, threads::Thread},
    table::Table,
};
use jvmti_bindings::sys::{jni::jint, jvmti::jvmtiFrameInfo};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tyrion_wire::{
    WaitKind,
    def::id,
    sample::{Snapshot, ThreadState},
};

/// What of a thread's time is accounted for. For a thread that runs virtual
/// threads, whose samples are theirs, it is still its own.
struct Timeline {
    /// Its last sample, monotonic ns.
    last_ns: u64,
    /// The CPU time that it had used then, ns, if it is known.
    cpu_ns: Option<u64>,
    /// CPU time from before then that the next sample is charged, ns.
    owed_cpu_ns: u64,
    /// See [`AccountStart`].
    stands_for_ns: u64,
    /// What it was doing then: still does, if it has not run since. The stack
    /// is of the generation that is written to.
    activity: Option<Activity>,
    /// It is sampled with all others, and not by request only.
    of_all: bool,
}

impl Timeline {
    /// Whether the thread has used no CPU time since, as far as that is known.
    fn is_unmoved(&self, now: Moment) -> bool {
        now.cpu_ns.is_some() && self.cpu_ns == now.cpu_ns && self.activity.is_some()
    }

    /// What the time since is to be charged with, which it is from now on.
    fn charge(&mut self, now: Moment) -> Charge {
        let used_ns = match (self.cpu_ns, now.cpu_ns) {
            (Some(before_ns), Some(cpu_ns)) => cpu_ns.saturating_sub(before_ns),
            _ => 0,
        };
        let charge = Charge {
            at_ns: now.at_ns,
            wall_ns: now.at_ns.saturating_sub(self.last_ns),
            cpu_ns: used_ns.saturating_add(std::mem::take(&mut self.owed_cpu_ns)),
        };
        self.last_ns = self.last_ns.max(now.at_ns);
        // Nothing known is less than anything.
        self.cpu_ns = self.cpu_ns.max(now.cpu_ns);
        charge
    }

    /// The CPU time that is still to be charged of a thread that has ended, with
    /// all that it used. Where it lived for less than its first sample stands
    /// for, so many like it were not seen that the sample has their CPU time,
    /// too: then all of it adds up to what all of them used.
    fn left_ns(&self, life_ns: Option<u64>, cpu_ns: u64) -> u64 {
        let all_ns = match life_ns {
            Some(life_ns) if life_ns < self.stands_for_ns => {
                part(cpu_ns, self.stands_for_ns, life_ns).min(self.stands_for_ns.max(cpu_ns))
            }
            _ => cpu_ns,
        };
        self.cpu_ns.map_or(0, |charged_ns| all_ns.saturating_sub(charged_ns))
    }
}

#[derive(Clone)]
struct Activity {
    thread: Arc<Thread>,
    state: ThreadState,
    /// As the JVM noted it.
    status: jint,
    stack: u32,
}

/// What a thread was seen doing.
pub struct Observation<'a> {
    /// The thread.
    pub thread: &'a Arc<Thread>,
    /// Its state.
    pub state: ThreadState,
    /// Its state as the JVM said it.
    pub bits: jint,
    /// Its stack, innermost frame first.
    pub frames: &'a mut [jvmtiFrameInfo],
}

/// When a thread is looked at, and the CPU time that it had used just before,
/// if it is known.
#[derive(Clone, Copy)]
pub struct Moment {
    /// Monotonic ns.
    pub at_ns: u64,
    /// In ns.
    pub cpu_ns: Option<u64>,
}

/// From when on a thread's time is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountStart {
    /// Monotonic ns.
    since_ns: u64,
    /// The CPU time of which no more is charged, ns, if it is known.
    cpu_ns: Option<u64>,
    /// CPU time that the first sample is charged all the same, ns.
    owed_cpu_ns: u64,
    /// The time that the first sample stands for of a thread that has come
    /// within that, ns, else 0.
    stands_for_ns: u64,
}

impl From<Moment> for AccountStart {
    /// Nothing before the moment is charged.
    fn from(moment: Moment) -> AccountStart {
        let Moment { at_ns: since_ns, cpu_ns } = moment;
        AccountStart { since_ns, cpu_ns, owed_cpu_ns: 0, stands_for_ns: 0 }
    }
}

impl AccountStart {
    /// A snapshot finds a thread that the one before, at `previous_ns`, has not
    /// seen: one that has come since, unless `age_ns` says for how long it has
    /// been there.
    ///
    /// All the time between is charged, even if it has not been there for so
    /// long: as many as are seen late in their lives were there and gone between
    /// snapshots. So its sample stands for them. What CPU time they used is known
    /// at its end, see [`Timeline::left_ns`]; an old one is charged what it would
    /// have used at the rate that it has used it so far.
    pub fn when_first_seen(previous_ns: u64, age_ns: Option<u64>, now: Moment) -> AccountStart {
        let wall_ns = now.at_ns.saturating_sub(previous_ns);
        let used_ns = now.cpu_ns.unwrap_or(0);
        let owed_cpu_ns = match age_ns {
            None => used_ns.min(wall_ns),
            Some(age_ns) => part(used_ns, wall_ns, age_ns).min(wall_ns),
        };
        let stands_for_ns = if age_ns.is_none() { wall_ns } else { 0 };
        AccountStart { since_ns: previous_ns, cpu_ns: now.cpu_ns, owed_cpu_ns, stands_for_ns }
    }

    fn timeline(self, of_all: bool) -> Timeline {
        let AccountStart { since_ns: last_ns, cpu_ns, owed_cpu_ns, stands_for_ns } = self;
        Timeline { last_ns, cpu_ns, owed_cpu_ns, stands_for_ns, activity: None, of_all }
    }
}

/// The share of `all` that `part` is of `whole`.
fn part(all: u64, part: u64, whole: u64) -> u64 {
    let part = u128::from(all) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// What each thread was charged, and is still to be charged.
pub struct Accounting {
    recorder: &'static Recorder,
    /// By Java ids.
    timelines: Table<i64, Timeline>,
    /// What is not written yet, by Java ids.
    runs: Table<i64, Run>,
    lane_id: u32,
    lane: Lane,
    /// The number of the generation that the lane is of.
    number: Option<u32>,
    /// That generation, while there may be something to write.
    generation: Option<Arc<Generation>>,
    /// Kept from one flush to the next.
    scratch: Vec<Run>,
    /// Nobody asked for what is seen.
    unasked: bool,
}

impl Accounting {
    /// Of no thread yet.
    pub fn new(recorder: &'static Recorder) -> Accounting {
        let lane_id = recorder.reserve_lane();
        Accounting {
            recorder,
            timelines: Table::default(),
            runs: Table::default(),
            lane_id,
            lane: Lane::lone(lane_id),
            number: None,
            generation: None,
            scratch: Vec::new(),
            unasked: false,
        }
    }

    /// Whether nobody asked for what is seen.
    pub fn is_unasked(&self) -> bool {
        self.unasked
    }

    /// Says whether somebody asked for what is seen from now on; nothing may be left to be
    /// written.
    pub fn set_unasked(&mut self, unasked: bool) {
        self.unasked = unasked;
    }

    /// Whether a thread's time is being accounted for.
    pub fn knows(&self, java_id: i64) -> bool {
        self.timelines.contains_key(&java_id)
    }

    /// Whether a thread is sampled with all others.
    pub fn is_of_all(&self, java_id: i64) -> bool {
        self.timelines.get(&java_id).is_some_and(|timeline| timeline.of_all)
    }

    /// Says whether a thread is sampled with all others, or by request only.
    pub fn set_of_all(&mut self, java_id: i64, of_all: bool) {
        if let Some(timeline) = self.timelines.get_mut(&java_id) {
            timeline.of_all = of_all;
        }
    }

    /// Has a thread's time be accounted for, from then on if it is not yet;
    /// `of_all` says that it is sampled with all others.
    pub fn open(&mut self, java_id: i64, start: AccountStart, of_all: bool) {
        let new = || start.timeline(of_all);
        self.timelines.entry(java_id).or_insert_with(new).of_all |= of_all;
    }

    /// Whether a thread has not run since its last sample: then its stack is
    /// what it was. Its state need not be: who is notified waits for the monitor
    /// from then on, and sleeps on.
    pub fn is_unmoved(&self, java_id: i64, now: Moment) -> bool {
        self.timelines.get(&java_id).is_some_and(|timeline| timeline.is_unmoved(now))
    }

    /// A thread is looked at that has not run since its last sample, and whose
    /// state the JVM has noted as `status`: `false` when it has run, when its state
    /// is another one, or when it is not known any more what it was doing.
    pub fn still(
        &mut self,
        statistics: &SampleStatistics,
        java_id: i64,
        (now, status): (Moment, jint),
    ) -> bool {
        if !self.enter(statistics) {
            return false;
        }
        let unmoved = |timeline: &&Timeline| timeline.is_unmoved(now);
        let timeline = self.timelines.get(&java_id).filter(unmoved);
        let activity = timeline.and_then(|timeline| timeline.activity.clone());
        let Some(activity) = activity.filter(|activity| activity.status == status) else {
            return false;
        };
        self.charge(statistics, java_id, activity, now);
        true
    }

    /// A thread was seen: its time is charged to what the observed thread does,
    /// which is the same one unless that is virtual and has no timeline of its own.
    pub fn seen(
        &mut self,
        (statistics, java): (&SampleStatistics, Java),
        java_id: i64,
        observation: Observation<'_>,
        now: Moment,
    ) {
        if !self.enter(statistics) {
            return;
        }
        let Observation { thread, state, bits, frames } = observation;
        let state = match state {
            // The JVM says so only while it is not in the JVM's own code.
            ThreadState::Running if is_native(frames.first()) => ThreadState::Native,
            state => state,
        };
        let Some(generation) = &self.generation else { return };
        let stack = match frames.is_empty() {
            true => id::EMPTY_STACK,
            false => {
                self.recorder.stack_of_thread((generation, &mut self.lane), java, thread, frames)
            }
        };
        let activity = Activity { thread: Arc::clone(thread), state, status: lasting(bits), stack };
        if let Some(timeline) = self.timelines.get_mut(&java_id) {
            timeline.activity = Some(activity.clone());
        }
        self.charge(statistics, java_id, activity, now);
    }

    /// Charges the time since a thread's last sample to what is done now.
    fn charge(
        &mut self,
        statistics: &SampleStatistics,
        java_id: i64,
        activity: Activity,
        now: Moment,
    ) {
        let Some(timeline) = self.timelines.get_mut(&java_id) else { return };
        let charge = timeline.charge(now);
        let Some(seen) = self.describe(&activity) else { return };
        let of = activity.thread.java_id;
        if self.runs.get_mut(&of).is_some_and(|run| run.join(&seen, charge)) {
            return;
        }
        let run = Run::new(seen, charge);
        let before = match run.is_long() {
            true => self.runs.remove(&of),
            false => self.runs.insert(of, run),
        };
        if let Some(before) = before {
            self.write(statistics, &before);
        }
        if run.is_long() {
            self.write(statistics, &run);
        }
    }

    /// What is seen, in the ids of the log.
    fn describe(&self, activity: &Activity) -> Option<Seen> {
        let generation = self.generation.as_ref()?;
        let Activity { thread, state, stack, .. } = activity;
        let wait = match state {
            // It may be at the beginning or the end of a wait, but does not wait.
            ThreadState::Running | ThreadState::Native | ThreadState::Sleeping => None,
            _ => self.recorder.wait_of(thread, generation).filter(|wait| fits(*state, wait.kind)),
        };
        Some(Seen {
            thread: match self.unasked && !tells(thread, *state, generation) {
                true => id::UNKNOWN,
                false => thread.id(generation),
            },
            state: state.code(),
            stack: *stack,
            kind: wait.map_or(0, |wait| wait.kind.code().into()),
            lock: wait.map_or(id::UNKNOWN, |wait| wait.lock),
            owner: wait.map_or(id::UNKNOWN, |wait| wait.last_owner().id),
        })
    }

    /// Passes over a thread's time: somebody else is charged for it.
    pub fn pass_over(&mut self, java_id: i64, now: Moment) {
        if let Some(timeline) = self.timelines.get_mut(&java_id) {
            let _ = timeline.charge(now);
            timeline.activity = None;
        }
    }

    /// A thread has ended, when it had used so much CPU time in all.
    pub fn finish(&mut self, java_id: i64, life_ns: Option<u64>, cpu_ns: u64) {
        let timeline = self.timelines.get(&java_id).filter(|timeline| timeline.activity.is_some());
        let left_ns = timeline.map_or(0, |timeline| timeline.left_ns(life_ns, cpu_ns));
        if let Some(run) = self.runs.get_mut(&java_id) {
            run.add_cpu(left_ns);
        }
    }

    /// A thread's time is not accounted for any more.
    pub fn close(&mut self, statistics: &SampleStatistics, java_id: i64) {
        self.timelines.remove(&java_id);
        self.flush(statistics, java_id);
    }

    /// The same for all but some, and what is not written yet is.
    pub fn close_others(&mut self, statistics: &SampleStatistics, keep: impl Fn(i64) -> bool) {
        self.timelines.retain(|&java_id, timeline| {
            timeline.of_all = false;
            keep(java_id)
        });
        self.leave(statistics);
    }

    /// Writes what is known of a thread.
    pub fn flush(&mut self, statistics: &SampleStatistics, java_id: i64) {
        if let Some(run) = self.runs.remove(&java_id) {
            self.write(statistics, &run);
        }
    }

    fn write(&mut self, statistics: &SampleStatistics, run: &Run) {
        let Some(generation) = &self.generation else { return };
        let (thread, at_ns) = (run.seen.thread, Some(run.last_ns));
        if self.unasked {
            let encode = |delta_ns, out: &mut Vec<u8>| {
                Snapshot::from(run.record(delta_ns)).encode(out);
            };
            // Nobody misses what the log has no room for.
            let _ = self.lane.append_misc(&generation.log, thread, at_ns, encode);
            return;
        }
        let encode = |delta_ns, out: &mut Vec<u8>| run.record(delta_ns).encode(out);
        let written =
            thread != id::UNKNOWN && self.lane.append_misc(&generation.log, thread, at_ns, encode);
        let count = if written { &statistics.records } else { &statistics.lost };
        count.fetch_add(1, Relaxed);
    }

    /// Goes over to the generation that is the current one: `false` when the log
    /// has ended.
    fn enter(&mut self, statistics: &SampleStatistics) -> bool {
        let log = self.recorder.log();
        if log.is_closed() || log.is_dead() {
            return false;
        }
        let number = log.generation_number();
        if self.generation.as_ref().is_none_or(|generation| generation.number != number) {
            self.leave(statistics);
            let generation = log.current();
            if self.number != Some(generation.number) {
                self.lane = Lane::lone(self.lane_id);
                self.number = Some(generation.number);
            }
            self.generation = Some(generation);
        }
        true
    }

    /// The number of the generation that is written to.
    pub fn generation(&self) -> Option<u32> {
        self.generation.as_ref().map(|generation| generation.number)
    }

    /// Writes all that is not written yet, and lets go of the generation.
    pub fn leave(&mut self, statistics: &SampleStatistics) {
        for timeline in self.timelines.values_mut() {
            timeline.activity = None;
        }
        if self.generation.is_none() {
            return;
        }
        // Times do not go back.
        let mut runs = std::mem::take(&mut self.scratch);
        runs.extend(self.runs.drain().map(|(_, run)| run));
        runs.sort_unstable_by_key(|run| run.last_ns);
        for run in runs.drain(..) {
            self.write(statistics, &run);
        }
        self.scratch = runs;
        self.write_statistics(statistics);
        if let Some(generation) = self.generation.take() {
            self.lane.retire_events(&generation.log);
        }
    }

    /// Says in the log what sampling did and took.
    pub fn write_statistics(&self, statistics: &SampleStatistics) {
        let Some(generation) = &self.generation else { return };
        let told = |key: &str| !self.unasked || key == OWN_TIME;
        for (key, value) in statistics.values().into_iter().filter(|(key, _)| told(key)) {
            let _ = generation.dictionary.statistic(&generation.log, key, value);
        }
    }
}

/// Whether the log names a thread that nobody asked for: one that it knows otherwise, or a
/// virtual one that waits and yet has its carrier.
fn tells(thread: &Thread, state: ThreadState, generation: &Generation) -> bool {
    let waits = matches!(state, ThreadState::Waiting | ThreadState::Parked | ThreadState::Sleeping);
    thread.is_known(generation) || waits && thread.is_virtual()
}

/// Whether a frame is that of a native method; threads without frames never
/// leave native code.
fn is_native(innermost: Option<&jvmtiFrameInfo>) -> bool {
    innermost.is_none_or(|frame| frame.location < 0)
}

/// Whether a thread in this state can be waiting like that: it may have gone on
/// since its state was asked for.
fn fits(state: ThreadState, kind: WaitKind) -> bool {
    match kind {
        WaitKind::Monitor => matches!(state, ThreadState::Blocked | ThreadState::Other),
        // At its end, too, it has to get the monitor.
        WaitKind::ObjectWait => state != ThreadState::Parked,
        _ => matches!(state, ThreadState::Parked | ThreadState::Other),
    }
}

/// Now, for a thread that has used so much CPU time.
pub fn now(cpu_ns: Option<u64>) -> Moment {
    Moment { at_ns: clock::now_ns(), cpu_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(at_ns: u64, cpu_ns: Option<u64>) -> Moment {
        Moment { at_ns, cpu_ns }
    }

    fn first_charge(age_ns: Option<u64>, now: Moment) -> (u64, u64) {
        let mut timeline = AccountStart::when_first_seen(100 * MS, age_ns, now).timeline(true);
        let charge = timeline.charge(now);
        let next = at(now.at_ns + 7, now.cpu_ns.map(|ns| ns + 3));
        let cpu_ns = next.cpu_ns.map_or(0, |_| 3);
        let expected = Charge { at_ns: next.at_ns, wall_ns: 7, cpu_ns };
        assert_eq!(timeline.charge(next), expected, "owed once");
        (charge.wall_ns, charge.cpu_ns)
    }

    #[test]
    fn a_first_sample_stands_for_all_the_time_between() {
        let now = at(150 * MS, Some(4 * MS));
        assert_eq!(first_charge(None, now), (50 * MS, 4 * MS), "a new one");
        assert_eq!(first_charge(Some(1000 * MS), now), (50 * MS, MS / 5), "an old one");
        assert_eq!(first_charge(Some(2 * MS), now), (50 * MS, 50 * MS), "not more than there was");
        assert_eq!(first_charge(Some(0), now), (50 * MS, 50 * MS));
        assert_eq!(first_charge(Some(10 * MS), at(150 * MS, None)), (50 * MS, 0));
    }

    #[test]
    fn the_end_tells_what_those_used_that_nobody_saw() {
        let now = at(150 * MS, Some(4 * MS));
        let mut timeline = AccountStart::when_first_seen(100 * MS, None, now).timeline(true);
        timeline.charge(now);
        // Each thread of 10 ms that is seen stands for five.
        assert_eq!(timeline.left_ns(Some(10 * MS), 6 * MS), 30 * MS - 4 * MS);
        assert_eq!(timeline.left_ns(Some(70 * MS), 6 * MS), 2 * MS, "all such are seen");
        assert_eq!(timeline.left_ns(None, 6 * MS), 2 * MS);
        assert_eq!(timeline.left_ns(Some(0), 6 * MS), 46 * MS, "not more than there was");
        let mut old = AccountStart::from(now).timeline(true);
        old.charge(now);
        assert_eq!(old.left_ns(Some(10 * MS), 6 * MS), 2 * MS);
    }

    #[test]
    fn cpu_time_that_is_not_known_is_not_charged() {
        let mut timeline = AccountStart::from(at(MS, None)).timeline(true);
        assert_eq!(timeline.charge(at(2 * MS, Some(MS))).cpu_ns, 0);
        assert_eq!(timeline.charge(at(3 * MS, None)).cpu_ns, 0);
        assert_eq!(timeline.charge(at(4 * MS, Some(3 * MS))).cpu_ns, 2 * MS);
        assert_eq!(timeline.charge(at(5 * MS, Some(MS))).cpu_ns, 0, "clocks do not go back");
        assert_eq!(timeline.charge(at(6 * MS, Some(4 * MS))).cpu_ns, MS);
    }
}
