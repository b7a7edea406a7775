//! Waits that had not ended.

use super::{
    fields::{self, Record, WaitedFor, Who},
    known,
    record::{JsonRecord, Long},
    seconds,
};
use crate::commands::{
    lock_names::{lock_name, shown_lock},
    rendered::StackList,
};
use tyrion_formats::Recording;
use tyrion_model::{describe::Names, harmless, units};
use tyrion_wire::{def::id, slot::Pending};

/// A wait as JSON.
pub fn record<'r>(
    stacks: &'r StackList<'r>,
    log: &Recording,
    pending: &Pending,
) -> JsonRecord<'r, 1> {
    let names = Names(log);
    let owner = (pending.owner != id::UNKNOWN).then(|| names.thread(pending.owner));
    let (thread, name) = (names.thread(pending.thread), lock_name(log, pending.lock));
    let (lock, class) = (names.lock(pending.lock), names.lock_class(pending.lock));
    let group = names.group(pending.stack);
    let record = Record::Pending(fields::Pending {
        start_ns: pending.start_ns.saturating_sub(log.start_ns()),
        waited_ns: log.end_ns().saturating_sub(pending.start_ns),
        who: Who { thread: &thread, thread_id: pending.thread },
        lock: WaitedFor {
            kind: pending.kind.name(),
            lock: &lock,
            lock_class: &class,
            lock_name: known(&name),
        },
        owner: owner.as_deref(),
        stack: (),
        group: group.as_deref(),
    });
    JsonRecord::new(&record, [("stack", Long::Stack(stacks, pending.stack))])
}

/// A wait as text, without its stack, which follows.
pub fn text(log: &Recording, pending: &Pending) -> String {
    let names = Names(log);
    let owner = (pending.owner != id::UNKNOWN).then(|| names.thread(pending.owner));
    let held_by =
        owner.map_or(String::new(), |owner| format!(" held by {:?}", harmless::name(&owner)));
    format!(
        "+{} {} {} {:?} waits for {}{held_by} ",
        seconds(pending.start_ns.saturating_sub(log.start_ns())),
        units::duration(log.end_ns().saturating_sub(pending.start_ns)),
        pending.kind.name(),
        harmless::name(&names.thread(pending.thread)),
        shown_lock(&lock_name(log, pending.lock), &names.lock(pending.lock)),
    )
}
