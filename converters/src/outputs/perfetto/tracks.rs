//! The tracks of a trace: of processes, of threads, and of what overlaps in a thread.

use super::{
    packets::Packets,
    proto::{CounterDescriptor, ProcessDescriptor, ThreadDescriptor, TrackDescriptor, UNIT_COUNT},
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io,
};
use tyrion_model::{describe::Names, harmless, timeline::Timeline};

/// The name of the counter of each process.
const WAITING: &str = "threads waiting for locks";
/// Stands for threads whose definition is lost.
const UNKNOWN_ID: u64 = u64::MAX;
/// Stands before the ids in the log of threads that have none of Java.
const WITHOUT_ID: u64 = 1 << 63;

/// A thread: the number of its recording, and `Thread.getId()`. Ids in logs differ from
/// one file of a recording to the next; these do not.
pub(super) type TrackKey = (u32, u64);

/// The tracks that were described so far.
pub(super) struct Tracks {
    last_uuid: u64,
    /// The next id that is made up for what has none that Perfetto takes.
    made_up: i32,
    pids: HashSet<i32>,
    /// By recording.
    processes: HashMap<u32, Process>,
    threads: HashMap<TrackKey, ThreadTrack>,
    /// By log and id in the log.
    keys: HashMap<(u32, u32), TrackKey>,
}

struct Process {
    pid: i32,
    counter: u64,
    /// How many threads wait for locks.
    waiting: i64,
}

struct ThreadTrack {
    tid: i32,
    name: String,
    /// The thread's own track, and those for what overlaps.
    lanes: Vec<TrackLane>,
    /// Each of them by when its innermost slice ends, or the end of time if none has begun: many
    /// may overlap in threads whose definition is lost, so the one with room is not searched for.
    room: BTreeSet<(u64, usize)>,
}

impl ThreadTrack {
    /// A thread with a track of its own.
    fn new(tid: i32, name: String, uuid: u64) -> ThreadTrack {
        let mut thread = ThreadTrack { tid, name, lanes: Vec::new(), room: BTreeSet::new() };
        thread.add_lane(uuid);
        thread
    }

    fn add_lane(&mut self, uuid: u64) {
        self.room.insert((u64::MAX, self.lanes.len()));
        self.lanes.push(TrackLane { uuid, open: Vec::new() });
    }

    /// The number of the track on which a slice fits in that ends then.
    fn lane_with_room(&self, end_ns: u64) -> Option<usize> {
        Some(self.room.range((end_ns, 0)..).next()?.1)
    }

    /// Changes the slices of a track that have begun.
    fn change(&mut self, nth: usize, change: impl FnOnce(&mut Vec<u64>)) -> Option<u64> {
        let lane = self.lanes.get_mut(nth)?;
        let ends_at = |lane: &TrackLane| lane.open.last().copied().unwrap_or(u64::MAX);
        self.room.remove(&(ends_at(lane), nth));
        change(&mut lane.open);
        self.room.insert((ends_at(lane), nth));
        Some(lane.uuid)
    }
}

struct TrackLane {
    uuid: u64,
    /// When the slices end that have begun, the outermost first, in ns.
    open: Vec<u64>,
}

impl Tracks {
    pub(super) fn new() -> Tracks {
        let (pids, processes, threads, keys) = Default::default();
        Tracks { last_uuid: 0, made_up: i32::MAX, pids, processes, threads, keys }
    }

    fn next_uuid(&mut self) -> u64 {
        self.last_uuid += 1;
        self.last_uuid
    }

    fn make_up(&mut self) -> i32 {
        self.made_up -= 1;
        self.made_up
    }

    /// A thread by its log and its id there. Its track is described if that was not done
    /// yet.
    pub(super) fn thread(
        &mut self,
        timeline: &Timeline<'_>,
        (run, id): (u32, u32),
        packets: &mut Packets<'_, '_>,
    ) -> io::Result<TrackKey> {
        if let Some(&key) = self.keys.get(&(run, id)) {
            return Ok(key);
        }
        let recording = timeline.axis().recording(run);
        let log = timeline.logs().get(run as usize);
        let known = log.and_then(|log| log.definitions().threads().get(id));
        let key = match known.map(|thread| thread.java_id) {
            Some(0) => WITHOUT_ID | u64::from(id),
            Some(java_id) => java_id,
            None => UNKNOWN_ID,
        };
        let key = (recording, key);
        self.keys.insert((run, id), key);
        if self.threads.contains_key(&key) {
            return Ok(key);
        }
        let pid = self.process(timeline, recording, packets)?;
        let tid = i32::try_from(key.1).ok().filter(|&tid| tid > 0);
        let tid = tid.unwrap_or_else(|| self.make_up());
        let name = log.map_or_else(String::new, |log| Names(log).thread(id));
        let name = harmless::name(&name).into_owned();
        let uuid = self.next_uuid();
        packets.describe(TrackDescriptor {
            uuid: Some(uuid),
            thread: Some(ThreadDescriptor {
                pid: Some(pid),
                tid: Some(tid),
                thread_name: Some(name.clone()),
            }),
            ..TrackDescriptor::default()
        })?;
        self.threads.insert(key, ThreadTrack::new(tid, name, uuid));
        Ok(key)
    }

    /// The id of a recording's process, which is described if that was not done yet.
    /// Perfetto knows processes by their ids, so that of another recording, in a container
    /// or after the first one, is made up if it is the same.
    fn process(
        &mut self,
        timeline: &Timeline<'_>,
        recording: u32,
        packets: &mut Packets<'_, '_>,
    ) -> io::Result<i32> {
        if let Some(process) = self.processes.get(&recording) {
            return Ok(process.pid);
        }
        let run = timeline.profile().runs.get(recording as usize);
        let recorded = run.map_or(0, |run| run.pid);
        let own = i32::try_from(recorded).ok().filter(|pid| *pid > 0 && !self.pids.contains(pid));
        let pid = own.unwrap_or_else(|| self.make_up());
        self.pids.insert(pid);
        let program = run.map(|run| run.program.as_str()).filter(|name| !name.is_empty());
        let mut name = harmless::name(program.unwrap_or("Java")).into_owned();
        if own.is_none() && recorded != 0 {
            name = format!("{name} (pid {recorded})");
        }
        let (uuid, counter) = (self.next_uuid(), self.next_uuid());
        packets.describe(TrackDescriptor {
            uuid: Some(uuid),
            process: Some(ProcessDescriptor { pid: Some(pid), process_name: Some(name) }),
            ..TrackDescriptor::default()
        })?;
        packets.describe(TrackDescriptor {
            uuid: Some(counter),
            parent_uuid: Some(uuid),
            name: Some(WAITING.to_owned()),
            counter: Some(CounterDescriptor { unit: Some(UNIT_COUNT) }),
            ..TrackDescriptor::default()
        })?;
        self.processes.insert(recording, Process { pid, counter, waiting: 0 });
        Ok(pid)
    }

    /// A thread's id in the trace and its name.
    pub(super) fn told(&self, key: TrackKey) -> (i32, &str) {
        self.threads.get(&key).map_or((0, ""), |thread| (thread.tid, thread.name.as_str()))
    }

    /// The track of a thread.
    pub(super) fn uuid(&self, key: TrackKey) -> Option<u64> {
        Some(self.threads.get(&key)?.lanes.first()?.uuid)
    }

    /// The track on which a slice has room, and its number among those of the thread: it
    /// must end before all that surround it there do. Most threads have but one.
    pub(super) fn begin(
        &mut self,
        key: TrackKey,
        end_ns: u64,
        packets: &mut Packets<'_, '_>,
    ) -> io::Result<(usize, Option<u64>)> {
        let uuid = self.last_uuid + 1;
        let Some(thread) = self.threads.get_mut(&key) else { return Ok((0, None)) };
        let nth = thread.lane_with_room(end_ns).unwrap_or(thread.lanes.len());
        if nth == thread.lanes.len() {
            packets.describe(TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: thread.lanes.first().map(|lane| lane.uuid),
                name: Some(format!("{} ({})", thread.name, nth + 1)),
                ..TrackDescriptor::default()
            })?;
            thread.add_lane(uuid);
            self.last_uuid = uuid;
        }
        Ok((nth, thread.change(nth, |open| open.push(end_ns))))
    }

    /// Ends the slice that began last on a track of a thread.
    pub(super) fn end(&mut self, key: TrackKey, nth: usize) -> Option<u64> {
        self.threads.get_mut(&key)?.change(nth, |open| _ = open.pop())
    }

    /// Changes how many threads of a recording wait for locks: the counter's track and its
    /// value then.
    pub(super) fn count(&mut self, recording: u32, change: i64) -> Option<(u64, i64)> {
        let process = self.processes.get_mut(&recording)?;
        process.waiting += change;
        Some((process.counter, process.waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_put_where_they_end_before_what_surrounds_them() {
        let mut thread = ThreadTrack::new(1, String::new(), 1);
        let mut begin = |end_ns: u64| {
            let nth = thread.lane_with_room(end_ns).unwrap_or(thread.lanes.len());
            if nth == thread.lanes.len() {
                thread.add_lane(nth as u64 + 1);
            }
            thread.change(nth, |open| open.push(end_ns));
            nth
        };
        assert_eq!([100, 90, 95, 80, 100].map(&mut begin), [0, 0, 1, 0, 2]);
        thread.change(0, |open| _ = open.pop());
        assert_eq!(thread.lane_with_room(85), Some(0));
        assert_eq!(thread.lane_with_room(95), Some(1));
        assert_eq!(thread.lane_with_room(101), None);
        for _ in 0..2 {
            thread.change(0, |open| _ = open.pop());
        }
        assert_eq!(thread.lane_with_room(101), Some(0));
        assert_eq!(thread.room.len(), thread.lanes.len());
    }
}
