//! Names in the folder by which a command and the agent in a running JVM
//! exchange what is too much for the JVM's own protocol.

/// What the folder's name begins with; random hexadecimal digits follow.
pub const PREFIX: &str = ".tyrion-";
/// The agent's answer, `key=value` lines.
pub const REPLY: &str = "reply";
/// The answer until it is whole.
pub const DRAFT: &str = "reply.draft";
/// What the agent is doing meanwhile, `key=value` lines.
pub const WORK: &str = "work";
/// The same until it is whole.
pub const WORK_DRAFT: &str = "work.draft";
/// There when nobody wants the answer any more: the agent is to take back what it has begun.
pub const GIVE_UP: &str = "give-up";
/// A copy of the agent, for a JVM that does not see where Tyrion is installed.
pub const AGENT: &str = "libtyrion_agent.so";
/// A log that nobody has named.
pub const LOG: &str = "samples.log";
