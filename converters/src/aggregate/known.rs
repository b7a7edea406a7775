//! Ids that are defined: made-up ones shall not take memory.

use tyrion_formats::Recording;
use tyrion_wire::def::id::UNKNOWN;

/// The thread, or the unknown one if it is not defined: made-up ids shall not
/// take memory.
pub(crate) fn known_thread(log: &Recording, thread: u32) -> u32 {
    let known = log.definitions().threads().get(thread).is_some();
    if known { thread } else { UNKNOWN }
}

/// The same of a class.
pub(super) fn known_class(log: &Recording, class: u32) -> u32 {
    let known = log.definitions().classes().get(class).is_some();
    if known { class } else { UNKNOWN }
}
