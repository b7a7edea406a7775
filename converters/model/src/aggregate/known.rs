//! What ids of a log stand for. Made-up ones shall not take memory.

use crate::profile::Thread;
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

/// A thread as the profile has it.
pub(super) fn thread_of(log: &Recording, run: u32, id: u32) -> Thread {
    match log.definitions().threads().get(id) {
        Some(thread) => Thread {
            run,
            java_id: thread.java_id,
            name: log.text(thread.name).into_owned(),
            group: log.text(thread.group).into_owned(),
            daemon: thread.daemon,
            is_virtual: thread.is_virtual,
        },
        None => {
            let name = tyrion_formats::UNKNOWN.to_owned();
            Thread { run, name, ..Thread::default() }
        }
    }
}
