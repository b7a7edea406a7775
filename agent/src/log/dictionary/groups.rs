//! What a thread was doing, as the root of its stacks.

use super::{Dictionary, Inner};
use crate::{
    fingerprint::{Fingerprint, fold},
    groups::{self, Group},
    log::LogFile,
    sync::lock,
};
use tyrion_wire::def::{Definition, id};

/// The fingerprint of a stack in a group, by that of its frames.
#[inline]
pub fn within(group: u32, (a, b): Fingerprint) -> Fingerprint {
    if group == groups::NONE {
        return (a, b);
    }
    let group = u64::from(group);
    let first = fold(a ^ group, 0x4528_21e6_38d0_1377);
    (first, fold(b ^ group.rotate_left(32), 0xbe54_66cf_34e9_0c6c))
}

impl Dictionary {
    /// The id of the stack that stands for a group; `None` when it could not be defined for
    /// lack of room.
    pub fn group(&self, log: &LogFile, group: &Group) -> Option<u32> {
        lock(&self.inner).group(log, group)
    }
}

impl Inner {
    /// The id of the stack that all stacks in a group stand on.
    pub(super) fn group(&mut self, log: &LogFile, group: &Group) -> Option<u32> {
        if let Some(&known) = self.groups.get(&group.number) {
            return Some(known);
        }
        let name = self.string(log, &group.name)?;
        // Ids 0 and 1 are taken.
        let stack = self.last.node.max(id::CUT_STACK) + 1;
        self.define(log, &Definition::Group { stack, name })?;
        self.last.node = stack;
        self.groups.insert(group.number, stack);
        self.bound_content();
        if let Some(content) = &mut self.content {
            content.nodes.push([id::EMPTY_STACK, id::UNKNOWN, 0]);
            content.groups.insert(stack, group.clone());
        }
        Some(stack)
    }
}
