//! What a dictionary knows of its definitions beyond their ids, so that the
//! one of the next file can have the same.

use super::{Dictionary, Inner, LockRow};
use crate::{groups::Group, log::LogFile, sync::lock};
use std::{collections::HashMap, sync::Arc};
use tyrion_wire::def::id;

/// What ids stand for, so that the next file can have the same definitions.
/// It takes about as much memory as the definitions take in the file.
#[derive(Default)]
pub(super) struct Content {
    /// From id 1 on; empty for those that are not kept.
    pub(super) strings: Vec<Arc<[u8]>>,
    /// Name and source, from id 1 on.
    pub(super) classes: Vec<(u32, u32)>,
    /// Class, name, descriptor and first line, from id 1 on.
    pub(super) methods: Vec<[u32; 4]>,
    /// Parent, method and line, from id 2 on; of no use for those in `groups`.
    pub(super) nodes: Vec<[u32; 3]>,
    /// The roots of stacks that are of a group.
    pub(super) groups: HashMap<u32, Group>,
    pub(super) locks: HashMap<u32, LockRow>,
}

/// A class as another dictionary knows it.
struct ClassCopy {
    name: Arc<[u8]>,
    source: Arc<[u8]>,
}

/// A method as another dictionary knows it.
struct MethodCopy {
    class: ClassCopy,
    name: Arc<[u8]>,
    descriptor: Arc<[u8]>,
    first_line: u32,
}

/// A frame as another dictionary knows it; no method for an unknown one.
struct FrameCopy {
    method: Option<MethodCopy>,
    line: u32,
}

/// What a stack stands on.
enum Root {
    /// Nothing, or frames that were cut off.
    Id(u32),
    Group(Group),
}

impl Content {
    fn string(&self, id: u32) -> Arc<[u8]> {
        let at = (id as usize).checked_sub(1);
        at.and_then(|at| self.strings.get(at)).cloned().unwrap_or_default()
    }

    fn class(&self, id: u32) -> Option<ClassCopy> {
        let &(name, source) = self.classes.get((id as usize).checked_sub(1)?)?;
        Some(ClassCopy { name: self.string(name), source: self.string(source) })
    }

    fn method(&self, id: u32) -> Option<MethodCopy> {
        let &[class, name, descriptor, first_line] =
            self.methods.get((id as usize).checked_sub(1)?)?;
        Some(MethodCopy {
            class: self.class(class)?,
            name: self.string(name),
            descriptor: self.string(descriptor),
            first_line,
        })
    }
}

impl Dictionary {
    /// Defines a stack of another file in this one: its id here.
    pub fn copy_stack(&self, log: &LogFile, from: &Dictionary, stack: u32) -> Option<u32> {
        // Never both locks at a time.
        let (root, frames) = lock(&from.inner).frames(stack)?;
        let mut inner = lock(&self.inner);
        let mut node = match root {
            Root::Id(id) => id,
            Root::Group(group) => inner.group(log, &group)?,
        };
        for FrameCopy { method, line } in frames {
            let method = match method {
                Some(method) => {
                    let class = inner.class_named(log, &method.class.name, &method.class.source)?;
                    let name = inner.string(log, &method.name)?;
                    let descriptor = inner.string(log, &method.descriptor)?;
                    inner.named_method(log, (class, name, descriptor), method.first_line)?
                }
                None => id::UNKNOWN,
            };
            node = inner.node(log, (node, method, line))?;
        }
        Some(node)
    }

    /// Defines a lock of another file in this one, under the same id.
    pub fn copy_lock(&self, log: &LogFile, from: &Dictionary, lock_id: u32) -> Option<()> {
        let (class, name, hash) = lock(&from.inner).lock_copy(lock_id)?;
        let class = match class {
            Some(class) => lock(&self.inner).class_named(log, &class.name, &class.source)?,
            None => id::UNKNOWN,
        };
        self.lock_object(log, lock_id, class)?;
        if !name.is_empty() {
            self.lock_name(log, lock_id, &name)?;
        }
        if hash != 0 {
            self.lock_instance(log, lock_id, hash)?;
        }
        Some(())
    }
}

impl Inner {
    /// The frames of a stack, outermost first, and what they stand on.
    fn frames(&self, stack: u32) -> Option<(Root, Vec<FrameCopy>)> {
        let content = self.content.as_ref()?;
        let mut frames = Vec::new();
        let mut at = stack;
        let mut root = None;
        while at > id::CUT_STACK {
            root = content.groups.get(&at).cloned().map(Root::Group);
            if root.is_some() {
                break;
            }
            let &[parent, method, line] = content.nodes.get(at as usize - 2)?;
            frames.push(FrameCopy { method: content.method(method), line });
            at = parent;
        }
        frames.reverse();
        Some((root.unwrap_or(Root::Id(at)), frames))
    }

    /// A lock's class, if known, its name and its instance.
    fn lock_copy(&self, lock_id: u32) -> Option<(Option<ClassCopy>, Arc<[u8]>, u32)> {
        let content = self.content.as_ref()?;
        let row = content.locks.get(&lock_id)?;
        Some((content.class(row.class), content.string(row.name), row.hash))
    }
}
