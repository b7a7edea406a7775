//! Which events are read, and which of their fields.

use super::{
    metadata::{FieldPlan, JfrType, TypeTable},
    quick::Quick,
};
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
    /// A virtual thread waited without leaving its carrier. Nearly always another
    /// event tells of the same wait, and what for.
    Pinned,
    /// A thread was seen running.
    Sample,
    /// A thread was seen in native code.
    NativeSample,
    /// A thread was seen, running or not.
    WallSample,
    /// A thread had used as much time of a processor as the event says.
    CpuTimeSample,
    /// The Datadog profiler saw a thread on a processor.
    DatadogCpuSample,
    /// It saw a thread, running or not.
    DatadogWallSample,
    /// The collector had all threads stopped.
    Collection,
    /// Waits of which `tyrion convert` knows only the sum.
    Folded,
    /// A setting of the recording.
    Setting,
    /// What JVM it is.
    Jvm,
    /// How many processors there are.
    Cpu,
    /// How much of them was in use.
    CpuLoad,
}

impl Tells {
    /// Whether it is a wait, and another event may tell of the same one as being
    /// pinned.
    pub(super) fn is_java_wait(self) -> bool {
        matches!(self, Tells::MonitorEnter | Tells::MonitorWait | Tells::Park)
    }

    /// Whether it tells what a thread was seen doing.
    pub(super) fn is_sample(self) -> bool {
        matches!(
            self,
            Tells::Sample
                | Tells::NativeSample
                | Tells::WallSample
                | Tells::CpuTimeSample
                | Tells::DatadogCpuSample
                | Tells::DatadogWallSample
        )
    }
}

/// Where the values of fields go: the slots of [`FieldValues`](super::metadata::FieldValues).
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
    /// Who had the lock; of `Object.wait` who ended it.
    pub(in super::super) const OTHER: usize = 6;
    /// A limit of time, in ns.
    pub(in super::super) const TIMEOUT: usize = 7;
    /// Of `Object.wait` whether its limit passed, of a park until when it should last
    /// (ms of Unix time), of a sample how often the thread was seen so.
    pub(in super::super) const EXTRA: usize = 8;
    /// Of what `tyrion convert` adds: how long folded waits took or samples stand for, in ns, or
    /// whether a wait was interrupted.
    pub(in super::super) const SUM: usize = 9;
    /// The longest of these waits, or how much of a processor samples stand for, in ns; or whether
    /// a wait failed.
    pub(in super::super) const OTHER_SUM: usize = 10;
    /// The kind of wait.
    pub(in super::super) const KIND: usize = 11;
    /// The class of the lock that a sampled thread waits for.
    pub(in super::super) const LOCK_CLASS: usize = 12;
}

/// Each slot up to that of another thread has a word.
const _: () = assert!(super::quick::WORDS == slot::OTHER + 1);

/// Names of fields in the order of the slots; one that no event has is `-`.
const ENTER: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "monitorClass",
    "address",
    "previousOwner",
];
const WAIT: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "monitorClass",
    "address",
    "notifier",
    "-",
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
    "until",
];
const NATIVE_LOCK: &[&str] =
    &["startTime", "duration", "eventThread", "stackTrace", "-", "address"];
const PINNED: &[&str] = &["startTime", "duration", "eventThread", "stackTrace"];
const SAMPLE: &[&str] =
    &["startTime", "duration", "sampledThread", "stackTrace", "state", "-", "-", "-", "samples"];
/// Each stands for a time of its own, which is told as a duration is.
const CPU_TIME_SAMPLE: &[&str] = &["startTime", "samplingPeriod", "eventThread", "stackTrace"];
const DATADOG_SAMPLE: &[&str] =
    &["startTime", "-", "eventThread", "stackTrace", "state", "-", "-", "-", "weight"];
/// The same of what `tyrion convert` writes.
const OWN_ENTER: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "monitorClass",
    "address",
    "previousOwner",
    "-",
    "timedOut",
    "interrupted",
    "failed",
    "kind",
];
const OWN_WAIT: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "monitorClass",
    "address",
    "notifier",
    "-",
    "timedOut",
    "interrupted",
    "failed",
    "kind",
];
const OWN_PARK: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "parkedClass",
    "address",
    "owner",
    "-",
    "timedOut",
    "interrupted",
    "failed",
    "kind",
];
const OWN_SAMPLE: &[&str] = &[
    "startTime",
    "-",
    "sampledThread",
    "stackTrace",
    "state",
    "address",
    "-",
    "-",
    "samples",
    "wallTime",
    "cpuTime",
    "kind",
    "lockClass",
];
const OWN_FOLDED: &[&str] = &[
    "startTime",
    "duration",
    "eventThread",
    "stackTrace",
    "lockClass",
    "address",
    "-",
    "-",
    "count",
    "totalTime",
    "longest",
    "kind",
];
const COLLECTION: &[&str] = &["startTime", "duration"];
const SETTING: &[&str] = &["id", "name", "value"];
const JVM: &[&str] = &["jvmName", "jvmVersion", "javaArguments", "pid"];
const CPU: &[&str] = &["hwThreads"];
const CPU_LOAD: &[&str] = &["startTime", "jvmUser", "jvmSystem", "machineTotal"];

/// The events that are read.
const EVENTS: &[(&str, Tells, &[&str])] = &[
    (event::ENTER, Tells::MonitorEnter, ENTER),
    (event::WAIT, Tells::MonitorWait, WAIT),
    (event::PARK, Tells::Park, PARK),
    (event::NATIVE_LOCK, Tells::NativeLock, NATIVE_LOCK),
    ("jdk.VirtualThreadPinned", Tells::Pinned, PINNED),
    (event::SAMPLE, Tells::Sample, SAMPLE),
    (event::NATIVE_SAMPLE, Tells::NativeSample, SAMPLE),
    ("profiler.WallClockSample", Tells::WallSample, SAMPLE),
    (event::CPU_TIME_SAMPLE, Tells::CpuTimeSample, CPU_TIME_SAMPLE),
    ("datadog.ExecutionSample", Tells::DatadogCpuSample, DATADOG_SAMPLE),
    ("datadog.MethodSample", Tells::DatadogWallSample, DATADOG_SAMPLE),
    (event::COLLECTION, Tells::Collection, COLLECTION),
    ("jdk.ActiveSetting", Tells::Setting, SETTING),
    ("jdk.JVMInformation", Tells::Jvm, JVM),
    ("jdk.CPUInformation", Tells::Cpu, CPU),
    ("jdk.CPULoad", Tells::CpuLoad, CPU_LOAD),
];

/// The same of events that `tyrion convert` writes, which are told by their kind of wait.
const OWN_EVENTS: &[(&str, Tells, &[&str])] = &[
    (event::ENTER, Tells::MonitorEnter, OWN_ENTER),
    (event::WAIT, Tells::MonitorWait, OWN_WAIT),
    (event::PARK, Tells::Park, OWN_PARK),
    (event::SAMPLE, Tells::Sample, OWN_SAMPLE),
    (event::NATIVE_SAMPLE, Tells::NativeSample, OWN_SAMPLE),
    ("tyrion.ThreadSample", Tells::WallSample, OWN_SAMPLE),
    (event::FOLDED, Tells::Folded, OWN_FOLDED),
];

/// Names of events whose settings matter.
pub(super) mod event {
    /// A wait for a monitor.
    pub(in super::super) const ENTER: &str = "jdk.JavaMonitorEnter";
    /// `Object.wait`.
    pub(in super::super) const WAIT: &str = "jdk.JavaMonitorWait";
    /// A park.
    pub(in super::super) const PARK: &str = "jdk.ThreadPark";
    /// A wait for a lock of native code.
    pub(in super::super) const NATIVE_LOCK: &str = "profiler.NativeLock";
    /// A sample of a thread that runs.
    pub(in super::super) const SAMPLE: &str = "jdk.ExecutionSample";
    /// A sample of a thread in native code.
    pub(in super::super) const NATIVE_SAMPLE: &str = "jdk.NativeMethodSample";
    /// A sample of a thread by the time that it used of a processor.
    pub(in super::super) const CPU_TIME_SAMPLE: &str = "jdk.CPUTimeSample";
    /// A pause of the collector.
    pub(in super::super) const COLLECTION: &str = "jdk.GCPhasePause";
    /// async-profiler's settings of all events together.
    pub(in super::super) const RECORDING: &str = "jdk.ActiveRecording";
    /// What `tyrion convert` folds waits into.
    pub(in super::super) const FOLDED: &str = "tyrion.FoldedWaits";
    /// All of them.
    pub(in super::super) const ALL: [&str; 10] = [
        ENTER,
        WAIT,
        PARK,
        NATIVE_LOCK,
        SAMPLE,
        NATIVE_SAMPLE,
        CPU_TIME_SAMPLE,
        COLLECTION,
        RECORDING,
        FOLDED,
    ];
}

/// How an event is read.
#[derive(Clone, Debug)]
pub(super) struct EventLayout {
    pub(super) tells: Tells,
    pub(super) plan: FieldPlan,
    /// A quicker way, of waits and samples of nothing but numbers.
    pub(super) quick: Option<Quick>,
    /// Whether `tyrion convert` wrote it.
    pub(super) is_own: bool,
}

/// How the events of a chunk are read, by their types' ids.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    dense: Vec<Option<EventLayout>>,
    others: HashMap<u64, EventLayout>,
}

/// Ids are a few hundred.
const DENSE: u64 = 4096;

impl Layouts {
    pub(super) fn of(types: &TypeTable) -> Layouts {
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

    /// All events are read field by field.
    #[cfg(test)]
    pub(super) fn without_quick(mut self) -> Layouts {
        let dense = self.dense.iter_mut().flatten();
        dense.chain(self.others.values_mut()).for_each(|layout| layout.quick = None);
        self
    }

    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<&EventLayout> {
        match usize::try_from(id).ok().and_then(|at| self.dense.get(at)) {
            Some(found) => found.as_ref(),
            None => self.others.get(&id),
        }
    }
}

fn layout(of: &JfrType) -> Option<EventLayout> {
    let is_own = of.fields.iter().any(|field| &*field.name == "kind");
    let known = if is_own { OWN_EVENTS } else { EVENTS };
    let (_, tells, wanted) = *known.iter().find(|(name, ..)| *name == &*of.name)?;
    let plan = FieldPlan::new(of, wanted);
    let quick = tells.is_java_wait() || tells == Tells::NativeLock || tells.is_sample();
    let quick = quick.then(|| Quick::new(of, wanted)).flatten();
    Some(EventLayout { tells, plan, quick, is_own })
}
