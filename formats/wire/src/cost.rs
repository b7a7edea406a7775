//! Keys of the statistics in which the agent tells what it costs itself: CPU times
//! in ns, added up over the time in which recording was on.

/// All CPU time of the process.
pub const PROCESS: &str = "cpu.process_ns";
/// What the agent's code took on threads of the program: JVMTI's callbacks and
/// native methods; estimated.
pub const CALLBACKS: &str = "cpu.callbacks_ns";
/// How often the JVM has called the agent on threads of the program; estimated.
pub const CALLBACK_COUNT: &str = "callbacks.count";
/// How often the agent has called the JVM meanwhile, by JNI and JVMTI; estimated.
pub const JVM_CALLS: &str = "callbacks.jvm_calls";
/// What the agent's own threads took.
pub const THREADS: &str = "cpu.threads_ns";
/// How long the processors of the machine were in use, by any process.
pub const MACHINE_BUSY: &str = "machine.busy_ns";
/// The same, and how long they were idle: the time of all processors.
pub const MACHINE_ALL: &str = "machine.all_ns";
/// What the Java half of trace mode's probes took; estimated. Only where there were
/// such probes.
pub const PROBES: &str = "cpu.probes_ns";
