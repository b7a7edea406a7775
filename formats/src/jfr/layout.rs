//! Which events are read, and which of their fields.

use super::metadata::{Plan, Type, Types};
use std::collections::HashMap;

/// What an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Tells {
    /// A thread waited for a monitor.
    MonitorEnter,
    /// It was in `Object.wait`.
    MonitorWait,
    /// It was parked.
    Park,
    /// It waited for a lock of native code.
    NativeLock,
    /// A thread was seen doing something.
    Sample,
    /// A thread was seen in native code.
    NativeSample,
    /// The collector had all threads stopped.
    Collection,
    /// A setting of the recording.
    Setting,
    /// What JVM it is.
    Jvm,
    /// How many processors there are.
    Cpu,
}

/// Where the values of fields go: the slots of [`Values`](super::metadata::Values).
pub(super) mod slot {
    /// `startTime`.
    pub(in super::super) const START: usize = 0;
    /// `duration`.
    pub(in super::super) const DURATION: usize = 1;
    /// `eventThread` or `sampledThread`.
    pub(in super::super) const THREAD: usize = 2;
    /// `stackTrace`.
    pub(in super::super) const STACK: usize = 3;
    /// The class of the lock, or the state of a sample.
    pub(in super::super) const CLASS: usize = 4;
    /// The address of the lock.
    pub(in super::super) const ADDRESS: usize = 5;
    /// Who had the lock.
    pub(in super::super) const OWNER: usize = 6;
    /// A limit of time.
    pub(in super::super) const TIMEOUT: usize = 7;
    /// Whether it passed; of a sample, how often it was seen.
    pub(in super::super) const EXTRA: usize = 8;
}

/// Names of fields in the order of the slots; one that no event has is `-`.
const MONITOR: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "monitorClass",
    "address",
    "previousOwner",
    "timeout",
    "timedOut",
];
const PARK: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "parkedClass",
    "address",
    "-",
    "timeout",
];
const NATIVE_LOCK: &[&str] =
    &["startTime", "duration", "eventThread", "stackTrace", "-", "address"];
const SAMPLE: &[&str] =
    &["startTime", "duration", "sampledThread", "stackTrace", "state", "-", "-", "-", "samples"];
const COLLECTION: &[&str] = &["startTime", "duration"];
const SETTING: &[&str] = &["id", "name", "value"];
const JVM: &[&str] =
    &["jvmName", "jvmVersion", "javaArguments", "jvmArguments", "pid", "jvmStartTime"];
const CPU: &[&str] = &["hwThreads"];

/// The events that are read.
const EVENTS: &[(&str, Tells, &[&str])] = &[
    ("jdk.JavaMonitorEnter", Tells::MonitorEnter, MONITOR),
    ("jdk.JavaMonitorWait", Tells::MonitorWait, MONITOR),
    ("jdk.ThreadPark", Tells::Park, PARK),
    ("profiler.NativeLock", Tells::NativeLock, NATIVE_LOCK),
    ("jdk.ExecutionSample", Tells::Sample, SAMPLE),
    ("jdk.NativeMethodSample", Tells::NativeSample, SAMPLE),
    ("profiler.WallClockSample", Tells::Sample, SAMPLE),
    ("jdk.GCPhasePause", Tells::Collection, COLLECTION),
    ("jdk.ActiveSetting", Tells::Setting, SETTING),
    ("jdk.JVMInformation", Tells::Jvm, JVM),
    ("jdk.CPUInformation", Tells::Cpu, CPU),
];

/// How an event is read.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) tells: Tells,
    pub(super) plan: Plan,
}

/// How the events of a chunk are read, by their types' ids.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    dense: Vec<Option<Layout>>,
    others: HashMap<u64, Layout>,
}

/// Ids are a few hundred.
const DENSE: u64 = 4096;

impl Layouts {
    pub(super) fn of(types: &Types) -> Layouts {
        let mut layouts = Layouts::default();
        for of in types.iter() {
            let Some(layout) = layout(of) else { continue };
            if of.id >= DENSE {
                layouts.others.insert(of.id, layout);
                continue;
            }
            let at = of.id as usize;
            if layouts.dense.len() <= at {
                layouts.dense.resize(at + 1, None);
            }
            if let Some(place) = layouts.dense.get_mut(at) {
                *place = Some(layout);
            }
        }
        layouts
    }

    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<&Layout> {
        match self.dense.get(id as usize) {
            Some(found) => found.as_ref(),
            None => self.others.get(&id),
        }
    }
}

fn layout(of: &Type) -> Option<Layout> {
    let (_, tells, wanted) = *EVENTS.iter().find(|(name, ..)| *name == of.name)?;
    let plan = Plan::new(of, wanted);
    Some(Layout { tells, plan })
}
