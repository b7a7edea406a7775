//! Which probes go where in a class; `tyrion-bytecode` inserts them.
//!
//! - [`waits`]: in the JDK's classes, where threads wait for locks of `java.util.concurrent`
//! - [`program`]: trace mode, around monitors and in front of the calls that take a lock
//! - [`taking`]: what is taken at a place
//! - [`locks`]: trace mode, in the locks of `java.util.concurrent`
//!
//! [`JdkClass`] names the JDK's classes that [`waits`] and [`locks`] are about, [`probe`] the
//! methods that probes call.

mod aim;
mod filters;
mod jdk;
pub mod locks;
mod place;
pub mod probe;
pub mod program;
pub mod taking;
pub mod waits;

pub use aim::{Aim, CodeName};
pub use filters::Filters;
pub use jdk::JdkClass;
pub use place::Place;
pub use program::{ClassPlan, Front, LeftMethod, PlanOptions, Why};
