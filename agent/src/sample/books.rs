//! What is charged to whom: how long each thread was sampled, what it was
//! doing, and what of that is not in the log yet.

use super::{
    Statistics,
    run::{Charge, Run, Seen},
};
use crate::{
    clock,
    jvm::{Java, code::at_monitor_enter},
    lane::{Lane, Table},
    recorder::Recorder,
    threads::Thread,
    volume::Volume,
};
use jvmti_bindings::sys::jvmti::jvmtiFrameInfo;
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tyrion_wire::{WaitKind, def::id, sample::ThreadState};

/// So many places where monitors are entered are remembered.
const ENTERED_LIMIT: usize = 4096;

/// What of a thread's time is accounted for. For a thread that runs virtual
/// threads, whose samples are theirs, it is still its own.
struct Timeline {
    /// Its last sample, monotonic ns.
    last_ns: u64,
    /// The CPU time that it had used then, ns.
    cpu_ns: u64,
    /// What it was doing then: still does, if it has not run since. The stack
    /// is of the volume that is written to.
    doing: Option<Doing>,
    /// It is sampled with all others, and not by request only.
    of_all: bool,
}

#[derive(Clone)]
struct Doing {
    thread: Arc<Thread>,
    state: ThreadState,
    stack: u32,
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

/// The books.
pub struct Books {
    recorder: &'static Recorder,
    /// By Java ids.
    timelines: Table<i64, Timeline>,
    /// What is not written yet, by Java ids.
    runs: Table<i64, Run>,
    lane_id: u32,
    lane: Lane,
    /// The number of the volume that the lane is of.
    number: Option<u32>,
    /// That volume, while there may be something to write.
    volume: Option<Arc<Volume>>,
    /// Where a frame really is that waits for a monitor.
    entered: Table<(u64, u64), i64>,
    /// Kept from one flush to the next.
    scratch: Vec<Run>,
}

impl Books {
    /// Empty ones.
    pub fn new(recorder: &'static Recorder) -> Books {
        let lane_id = recorder.reserve_lane();
        Books {
            recorder,
            timelines: Table::default(),
            runs: Table::default(),
            lane_id,
            lane: Lane::lone(lane_id),
            number: None,
            volume: None,
            entered: Table::default(),
            scratch: Vec::new(),
        }
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

    /// Has a thread's time be accounted for, from a moment on if it is not yet;
    /// `of_all` says that it is sampled with all others.
    pub fn open(&mut self, java_id: i64, since: Moment, of_all: bool) {
        let cpu_ns = since.cpu_ns.unwrap_or(0);
        let new = || Timeline { last_ns: since.at_ns, cpu_ns, doing: None, of_all };
        self.timelines.entry(java_id).or_insert_with(new).of_all |= of_all;
    }

    /// A thread is looked at that has not run since its last sample: `false`
    /// when it may have, or when it is not known any more what it was doing.
    pub fn still(&mut self, statistics: &Statistics, java_id: i64, now: Moment) -> bool {
        if now.cpu_ns.is_none() || !self.enter(statistics) {
            return false;
        }
        let unmoved = |timeline: &&Timeline| Some(timeline.cpu_ns) == now.cpu_ns;
        let timeline = self.timelines.get(&java_id).filter(unmoved);
        let Some(doing) = timeline.and_then(|timeline| timeline.doing.clone()) else {
            return false;
        };
        self.charge(statistics, java_id, doing, now);
        true
    }

    /// A thread was seen: its time is charged to what `thread` does, which is
    /// the same thread unless that is virtual and has no timeline of its own.
    pub fn seen(
        &mut self,
        (statistics, java): (&Statistics, Java),
        java_id: i64,
        (thread, state): (&Arc<Thread>, ThreadState),
        frames: &mut [jvmtiFrameInfo],
        now: Moment,
    ) {
        if !self.enter(statistics) {
            return;
        }
        let state = match state {
            // The JVM says so only while it is not in the JVM's own code.
            ThreadState::Running if is_native(frames.first()) => ThreadState::Native,
            state => state,
        };
        if state == ThreadState::Blocked {
            self.step_back(frames);
        }
        let Some(volume) = &self.volume else { return };
        let stack = match frames.is_empty() {
            true => id::EMPTY_STACK,
            false => self.recorder.sampled_stack((volume, &mut self.lane), java, thread, frames),
        };
        let doing = Doing { thread: Arc::clone(thread), state, stack };
        if let Some(timeline) = self.timelines.get_mut(&java_id) {
            timeline.doing = Some(doing.clone());
        }
        self.charge(statistics, java_id, doing, now);
    }

    /// An interpreted frame that waits at a monitor is reported one bytecode
    /// too far.
    fn step_back(&mut self, frames: &mut [jvmtiFrameInfo]) {
        let Some(innermost) = frames.first_mut() else { return };
        let key = (innermost.method as u64, innermost.location as u64);
        if self.entered.len() >= ENTERED_LIMIT {
            self.entered.clear();
        }
        let ti = self.recorder.ti();
        innermost.location = *self.entered.entry(key).or_insert_with(|| {
            let code = ti.bytecodes(innermost.method).unwrap_or_default();
            at_monitor_enter(&code, innermost.location)
        });
    }

    /// Charges the time since a thread's last sample to what is done now.
    fn charge(&mut self, statistics: &Statistics, java_id: i64, doing: Doing, now: Moment) {
        let Some(timeline) = self.timelines.get_mut(&java_id) else { return };
        let cpu_ns = now.cpu_ns.unwrap_or(timeline.cpu_ns);
        let charge = Charge {
            at_ns: now.at_ns,
            wall_ns: now.at_ns.saturating_sub(timeline.last_ns),
            cpu_ns: cpu_ns.saturating_sub(timeline.cpu_ns),
        };
        timeline.last_ns = timeline.last_ns.max(now.at_ns);
        timeline.cpu_ns = timeline.cpu_ns.max(cpu_ns);
        let Some(seen) = self.describe(&doing) else { return };
        let of = doing.thread.java_id;
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
    fn describe(&self, doing: &Doing) -> Option<Seen> {
        let volume = self.volume.as_ref()?;
        let Doing { thread, state, stack } = doing;
        let wait = match state {
            // It may be at the beginning or the end of a wait, but does not wait.
            ThreadState::Running | ThreadState::Native | ThreadState::Sleeping => None,
            _ => self.recorder.wait_of(thread, volume).filter(|wait| fits(*state, wait.kind)),
        };
        Some(Seen {
            thread: thread.id(volume),
            state: state.code(),
            stack: *stack,
            kind: wait.map_or(0, |wait| wait.kind.code().into()),
            lock: wait.map_or(id::UNKNOWN, |wait| wait.lock),
            owner: wait.map_or(id::UNKNOWN, |wait| wait.owner.id),
        })
    }

    /// Passes over a thread's time: somebody else is charged for it.
    pub fn pass_over(&mut self, java_id: i64, now: Moment) {
        if let Some(timeline) = self.timelines.get_mut(&java_id) {
            timeline.last_ns = timeline.last_ns.max(now.at_ns);
            timeline.cpu_ns = now.cpu_ns.unwrap_or(timeline.cpu_ns);
            timeline.doing = None;
        }
    }

    /// A thread's time is not accounted for any more.
    pub fn close(&mut self, statistics: &Statistics, java_id: i64) {
        self.timelines.remove(&java_id);
        self.flush(statistics, java_id);
    }

    /// The same for all but some, and what is not written yet is.
    pub fn close_others(&mut self, statistics: &Statistics, keep: impl Fn(i64) -> bool) {
        self.timelines.retain(|&java_id, timeline| {
            timeline.of_all = false;
            keep(java_id)
        });
        self.leave(statistics);
    }

    /// Writes what is known of a thread.
    pub fn flush(&mut self, statistics: &Statistics, java_id: i64) {
        if let Some(run) = self.runs.remove(&java_id) {
            self.write(statistics, &run);
        }
    }

    fn write(&mut self, statistics: &Statistics, run: &Run) {
        let Some(volume) = &self.volume else { return };
        let encode = |delta_ns, out: &mut Vec<u8>| run.record(delta_ns).encode(out);
        let at_ns = Some(run.last_ns);
        let written = run.seen.thread != id::UNKNOWN
            && self.lane.append_misc(&volume.log, run.seen.thread, at_ns, encode);
        let count = if written { &statistics.records } else { &statistics.lost };
        count.fetch_add(1, Relaxed);
    }

    /// Goes over to the volume that is the current one: `false` when the log
    /// has ended.
    fn enter(&mut self, statistics: &Statistics) -> bool {
        let log = self.recorder.log();
        if log.is_closed() || log.is_dead() {
            return false;
        }
        let number = log.epoch();
        if self.volume.as_ref().is_none_or(|volume| volume.number != number) {
            self.leave(statistics);
            let volume = log.current();
            if self.number != Some(volume.number) {
                self.lane = Lane::lone(self.lane_id);
                self.number = Some(volume.number);
            }
            self.volume = Some(volume);
        }
        true
    }

    /// The number of the volume that is written to.
    pub fn volume(&self) -> Option<u32> {
        self.volume.as_ref().map(|volume| volume.number)
    }

    /// Writes all that is not written yet, and lets go of the volume.
    pub fn leave(&mut self, statistics: &Statistics) {
        for timeline in self.timelines.values_mut() {
            timeline.doing = None;
        }
        if self.volume.is_none() {
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
        if let Some(volume) = self.volume.take() {
            self.lane.retire_events(&volume.log);
        }
    }

    /// Says in the log what sampling did and took.
    pub fn write_statistics(&self, statistics: &Statistics) {
        let Some(volume) = &self.volume else { return };
        for (key, value) in statistics.values() {
            let _ = volume.dictionary.statistic(&volume.log, key, value);
        }
    }
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
