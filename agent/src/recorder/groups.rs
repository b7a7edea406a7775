//! What the program says that its threads are doing.

use super::{EventContext, Recorder, Totals, threads::VIRTUAL};
use crate::{
    groups::{self, Group},
    jvm::{Java, Object},
};
use tyrion_wire::def::id;

/// The bits of a token that say which of its thread's entries it is; above
/// them is the thread's Java id.
const ENTRY_BITS: u32 = u16::BITS;

impl Recorder {
    /// A thread, the current one, enters a group: a token to leave it by, 0
    /// when that cannot be.
    pub fn enter_group(&self, java: Java, thread: Object<'_>, name: &[u8]) -> i64 {
        let java_id = java.long_field(thread, self.fields.thread_id);
        // Ids count threads: no program has had so many.
        if java_id <= 0 || java_id >> (i64::BITS - 1 - ENTRY_BITS) != 0 {
            return 0;
        }
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        let entry = known.groups.enter(self.groups.number(name));
        java_id << ENTRY_BITS | i64::from(entry)
    }

    /// A thread leaves a group that it may have left, or that may be another
    /// thread's.
    pub fn leave_group(&self, token: i64) {
        if let Some(known) = self.threads.get(token >> ENTRY_BITS) {
            known.groups.leave(token as u16);
        }
    }

    /// The id of the stack that stands for the group of a number, 0 for none.
    pub fn group_stack(&self, context: &mut EventContext<'_>, number: u32) -> u32 {
        if number == groups::NONE {
            return id::EMPTY_STACK;
        }
        let EventContext { generation, lane, .. } = context;
        if let Some(&known) = lane.groups.get(&number) {
            return known;
        }
        let group = self.group(number);
        let stack = group.and_then(|it| generation.dictionary.group(&generation.log, &it));
        let Some(stack) = stack else { return id::EMPTY_STACK };
        lane.trim();
        lane.groups.insert(number, stack);
        stack
    }

    /// The group of a number that a thread has, if any.
    pub fn group(&self, number: u32) -> Option<Group> {
        self.groups.get(number)
    }

    /// The number of the current thread's group. The context's thread may be the
    /// one that all virtual threads' records are of.
    pub(super) fn group_of_current(&self, context: &EventContext<'_>, java: Java) -> u32 {
        if context.thread.java_id != VIRTUAL {
            return self.group_number(java, context.thread);
        }
        if !self.groups.any() && !self.has_spans() {
            return groups::NONE;
        }
        let current = self.ti.current_thread(java);
        if current.is_null() {
            return groups::NONE;
        }
        let java_id = java.long_field(current.get(), self.fields.thread_id);
        java.drop_local(current);
        self.group_number_of(java, java_id)
    }

    /// What was recorded so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}
