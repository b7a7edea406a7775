//! The types of events and constants, as the JDK has them, and those that no JDK has.
//!
//! Names, fields and labels of types whose name begins with `jdk.` or `java.` are the JDK's
//! (`src/hotspot/share/jfr/metadata/metadata.xml` and `src/jdk.jfr/share/classes/jdk/jfr` of the
//! repository openjdk/jdk). Viewers find fields by their names: those behind the JDK's are more
//! than it has.

pub(super) mod id;

/// A type.
pub(super) struct TypeOf {
    pub(super) id: u64,
    pub(super) name: &'static str,
    pub(super) sort: Sort,
    pub(super) label: &'static str,
    /// What it is, in a sentence; may be empty.
    pub(super) about: &'static str,
    pub(super) fields: &'static [FieldOf],
}

/// What a type is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// A number, a text, or something with fields.
    Plain,
    /// Something with one field, which viewers show in its place.
    Simple,
    /// An annotation.
    Annotation,
    /// An annotation that tells what kind of content a field has.
    ContentType,
    /// An event of a category.
    Event(&'static [&'static str]),
}

/// A field of a type.
pub(super) struct FieldOf {
    pub(super) name: &'static str,
    pub(super) of: u64,
    pub(super) how: How,
    pub(super) label: &'static str,
    /// An annotation that tells what its content is, and its value if it has one.
    pub(super) content: Option<(u64, &'static str)>,
}

/// How the value of a field is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// As it is.
    Value,
    /// As the key of a constant.
    Key,
    /// As a number of values.
    Array,
}

const fn value(name: &'static str, of: u64, label: &'static str) -> FieldOf {
    FieldOf { name, of, how: How::Value, label, content: None }
}

const fn key(name: &'static str, of: u64, label: &'static str) -> FieldOf {
    FieldOf { name, of, how: How::Key, label, content: None }
}

const fn array(name: &'static str, of: u64, label: &'static str) -> FieldOf {
    FieldOf { name, of, how: How::Array, label, content: None }
}

const fn long(name: &'static str, label: &'static str, content: (u64, &'static str)) -> FieldOf {
    FieldOf { name, of: id::LONG, how: How::Value, label, content: Some(content) }
}

const TICKS: &str = "TICKS";
const NS: &str = "NANOSECONDS";
const MS_OF_DAY_ONE: &str = "MILLISECONDS_SINCE_EPOCH";

const START: FieldOf = long("startTime", "Start Time", (id::TIMESTAMP, TICKS));
const DURATION: FieldOf = long("duration", "Duration", (id::TIMESPAN, TICKS));
const EVENT_THREAD: FieldOf = key("eventThread", id::THREAD, "Event Thread");
const STACK_TRACE: FieldOf = key("stackTrace", id::STACK, "Stack Trace");
const LOCK_CLASS: FieldOf = key("lockClass", id::CLASS, "Lock Class");
const LOCK: FieldOf = long("address", "Lock", (id::ADDRESS, ""));
const WAIT_KIND: FieldOf = key("kind", id::KIND, "Kind of Wait");
const LOCK_KIND: FieldOf = key("kind", id::KIND, "Kind of Lock");
const TIMED_OUT: FieldOf = value("timedOut", id::BOOLEAN, "Timed Out");
const INTERRUPTED: FieldOf = value("interrupted", id::BOOLEAN, "Interrupted");
const FAILED: FieldOf = value("failed", id::BOOLEAN, "Failed");
const ENDED_BY: FieldOf = key("waker", id::THREAD, "Ended by");
const SAMPLED_THREAD: FieldOf = key("sampledThread", id::THREAD, "Thread");
const SAMPLED_STATE: FieldOf = key("state", id::STATE, "Thread State");
const SAMPLES: FieldOf = value("samples", id::LONG, "Samples");
const WALL_TIME: FieldOf = long("wallTime", "Wall-Clock Time", (id::TIMESPAN, NS));
const CPU_TIME: FieldOf = long("cpuTime", "CPU Time", (id::TIMESPAN, NS));

/// In front of what the JDK's types do not have. Readers that know the JDK's fields by their places,
/// as async-profiler's does, take what follows for an event of its own, of a type that they skip.
const OWN_LEN: FieldOf = value("ownLength", id::LONG, "Length of Tyrion's Fields");
const OWN_TYPE: FieldOf = value("ownType", id::LONG, "Type of Tyrion's Fields");

/// The fields of all samples.
const SAMPLED: &[FieldOf] = &[
    START,
    SAMPLED_THREAD,
    STACK_TRACE,
    SAMPLED_STATE,
    OWN_LEN,
    OWN_TYPE,
    SAMPLES,
    WALL_TIME,
    CPU_TIME,
    LOCK_CLASS,
    LOCK,
    WAIT_KIND,
];

const APPLICATION: Sort = Sort::Event(&["Java Application"]);
const PROFILING: Sort = Sort::Event(&["Java Virtual Machine", "Profiling"]);
const OURS: Sort = Sort::Event(&["Tyrion"]);

const fn plain(id: u64, name: &'static str) -> TypeOf {
    TypeOf { id, name, sort: Sort::Plain, label: "", about: "", fields: &[] }
}

/// A type of constants.
const fn constant(
    id: u64,
    name: &'static str,
    label: &'static str,
    fields: &'static [FieldOf],
) -> TypeOf {
    let sort = if fields.len() == 1 { Sort::Simple } else { Sort::Plain };
    TypeOf { id, name, sort, label, about: "", fields }
}

/// A type of annotations whose value is a text.
const fn annotation(id: u64, name: &'static str, sort: Sort) -> TypeOf {
    const VALUE: &[FieldOf] = &[value("value", id::STRING, "")];
    TypeOf { id, name, sort, label: "", about: "", fields: VALUE }
}

/// The same of those without a value.
const fn marker(id: u64, name: &'static str, sort: Sort, label: &'static str) -> TypeOf {
    TypeOf { id, name, sort, label, about: "", fields: &[] }
}

/// All types.
pub(super) const TYPES: &[TypeOf] = &[
    plain(id::BOOLEAN, "boolean"),
    plain(id::INT, "int"),
    plain(id::LONG, "long"),
    plain(id::STRING, "java.lang.String"),
    constant(
        id::CLASS,
        "java.lang.Class",
        "Java Class",
        &[
            key("classLoader", id::LOADER, "Class Loader"),
            key("name", id::SYMBOL, "Name"),
            key("package", id::PACKAGE, "Package"),
            value("modifiers", id::INT, "Access Modifiers"),
            value("hidden", id::BOOLEAN, "Hidden"),
        ],
    ),
    constant(
        id::THREAD,
        "java.lang.Thread",
        "Thread",
        &[
            value("osName", id::STRING, "OS Thread Name"),
            value("osThreadId", id::LONG, "OS Thread Id"),
            value("javaName", id::STRING, "Java Thread Name"),
            value("javaThreadId", id::LONG, "Java Thread Id"),
            key("group", id::GROUP, "Java Thread Group"),
            value("virtual", id::BOOLEAN, "Virtual Thread"),
        ],
    ),
    constant(
        id::STACK,
        "jdk.types.StackTrace",
        "Stacktrace",
        &[value("truncated", id::BOOLEAN, "Truncated"), array("frames", id::FRAME, "Stack Frames")],
    ),
    constant(
        id::LOADER,
        "jdk.types.ClassLoader",
        "Java Class Loader",
        &[key("type", id::CLASS, "Type"), key("name", id::SYMBOL, "Name")],
    ),
    constant(
        id::METHOD,
        "jdk.types.Method",
        "Java Method",
        &[
            key("type", id::CLASS, "Type"),
            key("name", id::SYMBOL, "Name"),
            key("descriptor", id::SYMBOL, "Descriptor"),
            value("modifiers", id::INT, "Access Modifiers"),
            value("hidden", id::BOOLEAN, "Hidden"),
        ],
    ),
    constant(id::SYMBOL, "jdk.types.Symbol", "Symbol", &[value("string", id::STRING, "String")]),
    constant(
        id::STATE,
        "jdk.types.ThreadState",
        "Java Thread State",
        &[value("name", id::STRING, "Name")],
    ),
    constant(
        id::GROUP,
        "jdk.types.ThreadGroup",
        "Thread Group",
        &[key("parent", id::GROUP, "Parent"), value("name", id::STRING, "Name")],
    ),
    constant(
        id::FRAME,
        "jdk.types.StackFrame",
        "Stack Frame",
        &[
            key("method", id::METHOD, "Java Method"),
            value("lineNumber", id::INT, "Line Number"),
            value("bytecodeIndex", id::INT, "Bytecode Index"),
            key("type", id::FRAME_TYPE, "Frame Type"),
        ],
    ),
    constant(
        id::FRAME_TYPE,
        "jdk.types.FrameType",
        "Frame type",
        &[value("description", id::STRING, "Description")],
    ),
    constant(
        id::PACKAGE,
        "jdk.types.Package",
        "Package",
        &[
            key("name", id::SYMBOL, "Name"),
            key("module", id::MODULE, "Module"),
            value("exported", id::BOOLEAN, "Exported"),
        ],
    ),
    constant(
        id::MODULE,
        "jdk.types.Module",
        "Module",
        &[key("name", id::SYMBOL, "Name"), key("version", id::SYMBOL, "Version")],
    ),
    constant(
        id::KIND,
        "tyrion.types.WaitKind",
        "Kind of Wait",
        &[value("name", id::STRING, "Name")],
    ),
    annotation(id::LABEL, "jdk.jfr.Label", Sort::Annotation),
    TypeOf {
        id: id::CATEGORY,
        name: "jdk.jfr.Category",
        sort: Sort::Annotation,
        label: "",
        about: "",
        fields: &[array("value", id::STRING, "")],
    },
    annotation(id::DESCRIPTION, "jdk.jfr.Description", Sort::Annotation),
    annotation(id::TIMESTAMP, "jdk.jfr.Timestamp", Sort::ContentType),
    annotation(id::TIMESPAN, "jdk.jfr.Timespan", Sort::ContentType),
    marker(id::ADDRESS, "jdk.jfr.MemoryAddress", Sort::ContentType, "Memory Address"),
    marker(id::UNSIGNED, "jdk.jfr.Unsigned", Sort::ContentType, "Unsigned Value"),
    marker(id::CONTENT_TYPE, "jdk.jfr.ContentType", Sort::Annotation, "Content Type"),
    TypeOf {
        id: id::ENTER,
        name: "jdk.JavaMonitorEnter",
        sort: APPLICATION,
        label: "Java Monitor Blocked",
        about: "",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK_TRACE,
            key("monitorClass", id::CLASS, "Monitor Class"),
            key("previousOwner", id::THREAD, "Previous Monitor Owner"),
            long("address", "Monitor Address", (id::ADDRESS, "")),
            OWN_LEN,
            OWN_TYPE,
            TIMED_OUT,
            INTERRUPTED,
            FAILED,
            ENDED_BY,
            WAIT_KIND,
        ],
    },
    TypeOf {
        id: id::WAIT,
        name: "jdk.JavaMonitorWait",
        sort: APPLICATION,
        label: "Java Monitor Wait",
        about: "Waiting on a Java monitor",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK_TRACE,
            key("monitorClass", id::CLASS, "Monitor Class"),
            key("notifier", id::THREAD, "Notifier Thread"),
            long("timeout", "Timeout", (id::TIMESPAN, "MILLISECONDS")),
            TIMED_OUT,
            long("address", "Monitor Address", (id::ADDRESS, "")),
            INTERRUPTED,
            FAILED,
            WAIT_KIND,
        ],
    },
    TypeOf {
        id: id::PARK,
        name: "jdk.ThreadPark",
        sort: APPLICATION,
        label: "Java Thread Park",
        about: "",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK_TRACE,
            key("parkedClass", id::CLASS, "Class Parked On"),
            long("timeout", "Park Timeout", (id::TIMESPAN, NS)),
            long("until", "Park Until", (id::TIMESTAMP, MS_OF_DAY_ONE)),
            long("address", "Address of Object Parked", (id::ADDRESS, "")),
            OWN_LEN,
            OWN_TYPE,
            TIMED_OUT,
            INTERRUPTED,
            FAILED,
            key("owner", id::THREAD, "Owner"),
            ENDED_BY,
            WAIT_KIND,
        ],
    },
    TypeOf {
        id: id::SAMPLE,
        name: "jdk.ExecutionSample",
        sort: PROFILING,
        label: "Method Profiling Sample",
        about: "Snapshot of a threads state",
        fields: SAMPLED,
    },
    TypeOf {
        id: id::NATIVE_SAMPLE,
        name: "jdk.NativeMethodSample",
        sort: PROFILING,
        label: "Method Profiling Sample Native",
        about: "Snapshot of a threads state when in native",
        fields: SAMPLED,
    },
    TypeOf {
        id: id::THREAD_START,
        name: "jdk.ThreadStart",
        sort: APPLICATION,
        label: "Java Thread Start",
        about: "",
        fields: &[
            START,
            EVENT_THREAD,
            STACK_TRACE,
            key("thread", id::THREAD, "New Java Thread"),
            key("parentThread", id::THREAD, "Parent Java Thread"),
        ],
    },
    TypeOf {
        id: id::THREAD_END,
        name: "jdk.ThreadEnd",
        sort: APPLICATION,
        label: "Java Thread End",
        about: "",
        fields: &[START, EVENT_THREAD, key("thread", id::THREAD, "Java Thread")],
    },
    TypeOf {
        id: id::GC,
        name: "jdk.GarbageCollection",
        sort: Sort::Event(&["Java Virtual Machine", "GC", "Collector"]),
        label: "Garbage Collection",
        about: "Garbage collection performed by the JVM",
        fields: &[
            START,
            DURATION,
            value("gcId", id::INT, "GC Identifier"),
            value("name", id::STRING, "Name"),
            value("cause", id::STRING, "Cause"),
            long("sumOfPauses", "Sum of Pauses", (id::TIMESPAN, TICKS)),
            long("longestPause", "Longest Pause", (id::TIMESPAN, TICKS)),
        ],
    },
    TypeOf {
        id: id::GC_PAUSE,
        name: "jdk.GCPhasePause",
        sort: Sort::Event(&["Java Virtual Machine", "GC", "Phases"]),
        label: "GC Phase Pause",
        about: "",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            value("gcId", id::INT, "GC Identifier"),
            value("name", id::STRING, "Name"),
        ],
    },
    TypeOf {
        id: id::SETTING,
        name: "jdk.ActiveSetting",
        sort: Sort::Event(&["Flight Recorder"]),
        label: "Recording Setting",
        about: "",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK_TRACE,
            value("id", id::LONG, "Event Id"),
            value("name", id::STRING, "Setting Name"),
            value("value", id::STRING, "Setting Value"),
        ],
    },
    TypeOf {
        id: id::JVM,
        name: "jdk.JVMInformation",
        sort: Sort::Event(&["Java Virtual Machine"]),
        label: "JVM Information",
        about: "Description of JVM and the Java application",
        fields: &[
            START,
            value("jvmName", id::STRING, "JVM Name"),
            value("jvmVersion", id::STRING, "JVM Version"),
            value("jvmArguments", id::STRING, "JVM Command Line Arguments"),
            value("jvmFlags", id::STRING, "JVM Settings File Arguments"),
            value("javaArguments", id::STRING, "Java Application Arguments"),
            long("jvmStartTime", "JVM Start Time", (id::TIMESTAMP, MS_OF_DAY_ONE)),
            value("pid", id::LONG, "Process Identifier"),
        ],
    },
    TypeOf {
        id: id::CPU,
        name: "jdk.CPUInformation",
        sort: Sort::Event(&["Operating System", "Processor"]),
        label: "CPU Information",
        about: "",
        fields: &[START, value("hwThreads", id::INT, "Hardware Threads")],
    },
    TypeOf {
        id: id::FOLDED,
        name: "tyrion.FoldedWaits",
        sort: OURS,
        label: "Folded Waits",
        about: "Waits below the threshold of a thread with a stack for a lock: only their number \
                and their sum are known",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK_TRACE,
            LOCK_CLASS,
            LOCK,
            WAIT_KIND,
            value("count", id::LONG, "Waits"),
            long("totalTime", "Total Wait Time", (id::TIMESPAN, NS)),
            long("longest", "Longest Wait", (id::TIMESPAN, NS)),
        ],
    },
    TypeOf {
        id: id::HOLD,
        name: "tyrion.Hold",
        sort: OURS,
        label: "Hold",
        about: "A thread held a lock, from when it was acquired to when it was released",
        fields: &[START, DURATION, EVENT_THREAD, STACK_TRACE, LOCK_CLASS, LOCK, LOCK_KIND],
    },
    TypeOf {
        id: id::ACQUISITIONS,
        name: "tyrion.Acquisitions",
        sort: OURS,
        label: "Acquisitions",
        about: "How often a thread acquired a lock with a stack, and how long it held it in all",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK_TRACE,
            LOCK_CLASS,
            LOCK,
            LOCK_KIND,
            value("acquisitions", id::LONG, "Acquisitions"),
            value("standardError", id::LONG, "Standard Error of Acquisitions"),
            value("reentrant", id::LONG, "Reentrant Acquisitions"),
            long("holdTime", "Hold Time", (id::TIMESPAN, NS)),
        ],
    },
    TypeOf {
        id: id::HELD,
        name: "tyrion.HeldWhileOthersWaited",
        sort: OURS,
        label: "Held While Others Waited",
        about: "How long others waited for what a thread held, by the stack of who held it",
        fields: &[
            START,
            DURATION,
            EVENT_THREAD,
            STACK_TRACE,
            LOCK_CLASS,
            LOCK,
            WAIT_KIND,
            value("count", id::LONG, "Waits"),
            long("waitTime", "Wait Time of Others", (id::TIMESPAN, NS)),
            key("waiterStackTrace", id::STACK, "Stack Trace of the Waiter"),
        ],
    },
    TypeOf {
        id: id::LOCK_NAME,
        name: "tyrion.LockName",
        sort: OURS,
        label: "Lock Name",
        about: "What the program calls a lock, such as the field that has it",
        fields: &[START, LOCK_CLASS, LOCK, value("name", id::STRING, "Name")],
    },
    TypeOf {
        id: id::THREAD_SAMPLE,
        name: "tyrion.ThreadSample",
        sort: OURS,
        label: "Sample of a Waiting Thread",
        about: "Snapshot of a thread that neither ran nor was in native code",
        fields: SAMPLED,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_types_are_there_once() {
        let ids: BTreeSet<u64> = TYPES.iter().map(|of| of.id).collect();
        let names: BTreeSet<&str> = TYPES.iter().map(|of| of.name).collect();
        assert_eq!((ids.len(), names.len()), (TYPES.len(), TYPES.len()));
        for of in TYPES {
            let fields: BTreeSet<&str> = of.fields.iter().map(|field| field.name).collect();
            assert_eq!(fields.len(), of.fields.len(), "{}", of.name);
            for field in of.fields {
                assert!(ids.contains(&field.of), "{}.{}", of.name, field.name);
                assert!(field.content.is_none_or(|(content, _)| ids.contains(&content)));
            }
            if let Sort::Event(category) = of.sort {
                assert!(!category.is_empty() && !of.label.is_empty(), "{}", of.name);
                assert_eq!(of.fields.first().map(|field| field.name), Some("startTime"));
            }
        }
    }
}
