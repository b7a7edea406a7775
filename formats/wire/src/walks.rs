//! Keys of the statistics in which the agent tells how it found the stacks of threads
//! that waited, released or took locks: from the start of the recording on.

/// How many it walked itself.
pub const OWN: &str = "walks.own";
/// How many it asked the JVM for, since a walk was not sure.
pub const JVMTI: &str = "walks.jvmti";
/// How many of its own it compared with what the JVM tells.
pub const COMPARED: &str = "walks.compared";
/// How many of these were different, and again at a second try.
pub const DIFFERENT: &str = "walks.different";
