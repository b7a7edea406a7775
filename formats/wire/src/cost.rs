//! Keys of the statistics in which the agent tells what it costs itself: CPU times
//! in ns, added up over the time in which recording was on.

/// All CPU time of the process.
pub const PROCESS: &str = "cpu.process_ns";
/// What the agent's code took on threads of the program: JVMTI's callbacks and
/// native methods; estimated.
pub const CALLBACKS: &str = "cpu.callbacks_ns";
/// What the agent's own threads took.
pub const THREADS: &str = "cpu.threads_ns";
/// How long the processors of the machine were in use, by any process.
pub const MACHINE_BUSY: &str = "machine.busy_ns";
/// The same, and how long they were idle: the time of all processors.
pub const MACHINE_ALL: &str = "machine.all_ns";
/// What the Java half of trace mode's probes took; estimated. Only where there were
/// such probes.
pub const PROBES: &str = "cpu.probes_ns";
