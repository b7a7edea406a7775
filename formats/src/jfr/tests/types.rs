//! The types of the recordings that tests make.

/// Ids of types.
pub(super) const STRING: u64 = 20;
pub(super) const SYMBOL: u64 = 21;
pub(super) const CLASS: u64 = 22;
pub(super) const METHOD: u64 = 23;
pub(super) const FRAME: u64 = 24;
pub(super) const STACK: u64 = 25;
pub(super) const THREAD: u64 = 26;
pub(super) const STATE: u64 = 27;
pub(super) const GROUP: u64 = 28;
pub(super) const ENTER: u64 = 101;
pub(super) const PARK: u64 = 102;
pub(super) const OTHER: u64 = 103;
pub(super) const WAIT: u64 = 104;
pub(super) const PINNED: u64 = 105;
pub(super) const SAMPLE: u64 = 106;
pub(super) const WALL: u64 = 107;
pub(super) const SETTING: u64 = 108;
pub(super) const PAUSE: u64 = 109;
pub(super) const NATIVE_LOCK: u64 = 5000;
pub(super) const JVM: u64 = 111;
pub(super) const CPU: u64 = 112;
pub(super) const LOAD: u64 = 113;

/// A type: its id, its name, and fields: name, type, `p` for keys of constants, `a`
/// for arrays.
pub(super) type TypeOf = (u64, &'static str, &'static [(&'static str, u64, &'static str)]);

pub(super) const LONG: u64 = 4;
pub(super) const BOOLEAN: u64 = 5;
pub(super) const INT: u64 = 6;
pub(super) const FLOAT: u64 = 7;

pub(super) const TYPES: &[TypeOf] = &[
    (LONG, "long", &[]),
    (BOOLEAN, "boolean", &[]),
    (INT, "int", &[]),
    (FLOAT, "float", &[]),
    (STRING, "java.lang.String", &[]),
    (SYMBOL, "jdk.types.Symbol", &[("string", STRING, "")]),
    (CLASS, "java.lang.Class", &[("name", SYMBOL, "p"), ("modifiers", INT, "")]),
    (METHOD, "jdk.types.Method", &[("type", CLASS, "p"), ("name", SYMBOL, "p")]),
    (FRAME, "jdk.types.StackFrame", &[("method", METHOD, "p"), ("lineNumber", INT, "")]),
    (STACK, "jdk.types.StackTrace", &[("truncated", BOOLEAN, ""), ("frames", FRAME, "a")]),
    (
        THREAD,
        "java.lang.Thread",
        &[("javaName", STRING, ""), ("javaThreadId", LONG, ""), ("group", GROUP, "p")],
    ),
    (STATE, "jdk.types.ThreadState", &[("name", STRING, "")]),
    (GROUP, "jdk.types.ThreadGroup", &[("name", STRING, "")]),
    (
        ENTER,
        "jdk.JavaMonitorEnter",
        &[
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("eventThread", THREAD, "p"),
            ("stackTrace", STACK, "p"),
            ("monitorClass", CLASS, "p"),
            ("previousOwner", THREAD, "p"),
            ("address", LONG, ""),
        ],
    ),
    (
        PARK,
        "jdk.ThreadPark",
        &[
            ("address", LONG, ""),
            // No JDK has it: fields are found by their names.
            ("weight", FLOAT, ""),
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("stackTrace", STACK, "p"),
            ("parkedClass", CLASS, "p"),
            ("eventThread", THREAD, "p"),
            ("timeout", LONG, ""),
        ],
    ),
    (OTHER, "com.acme.Order", &[("startTime", LONG, ""), ("what", STRING, "")]),
    (
        WAIT,
        "jdk.JavaMonitorWait",
        &[
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("eventThread", THREAD, "p"),
            ("monitorClass", CLASS, "p"),
            ("notifier", THREAD, "p"),
            ("timeout", LONG, ""),
            ("timedOut", BOOLEAN, ""),
        ],
    ),
    (
        PINNED,
        "jdk.VirtualThreadPinned",
        &[("startTime", LONG, ""), ("duration", LONG, ""), ("eventThread", THREAD, "p")],
    ),
    (
        SAMPLE,
        "jdk.ExecutionSample",
        &[("startTime", LONG, ""), ("sampledThread", THREAD, "p"), ("state", STATE, "p")],
    ),
    (
        WALL,
        "profiler.WallClockSample",
        &[
            ("startTime", LONG, ""),
            ("sampledThread", THREAD, "p"),
            ("stackTrace", STACK, "p"),
            ("state", STATE, "p"),
            ("samples", INT, ""),
        ],
    ),
    (
        SETTING,
        "jdk.ActiveSetting",
        &[("startTime", LONG, ""), ("id", LONG, ""), ("name", STRING, ""), ("value", STRING, "")],
    ),
    (PAUSE, "jdk.GCPhasePause", &[("startTime", LONG, ""), ("duration", LONG, "")]),
    (
        NATIVE_LOCK,
        "profiler.NativeLock",
        &[
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("eventThread", THREAD, "p"),
            ("address", LONG, ""),
        ],
    ),
    (
        JVM,
        "jdk.JVMInformation",
        &[("jvmName", STRING, ""), ("javaArguments", STRING, ""), ("pid", LONG, "")],
    ),
    (CPU, "jdk.CPUInformation", &[("startTime", LONG, ""), ("hwThreads", INT, "")]),
    (
        LOAD,
        "jdk.CPULoad",
        &[
            ("startTime", LONG, ""),
            ("jvmUser", FLOAT, ""),
            ("jvmSystem", FLOAT, ""),
            ("machineTotal", FLOAT, ""),
        ],
    ),
];
