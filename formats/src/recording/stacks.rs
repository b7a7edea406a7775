//! Stacks, and the groups that some of them begin with.

use super::table::DenseTable;

/// A stack: one frame on top of another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackDef {
    /// Stack id of the callers.
    pub parent: u32,
    /// Method id of the innermost frame.
    pub method: u32,
    /// The line in it, 0 when unknown.
    pub line: u32,
}

/// What the id of a stack stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StackNode {
    Frame(StackDef),
    /// String id of the group's name.
    Group(u32),
}

/// What the ids of stacks stand for: most for a frame on top of another stack,
/// some for a *group*, what the program said that a thread was doing. A group
/// has no frame and no parent; it is the outermost parent of the stacks that
/// the thread had meanwhile.
#[derive(Debug, Default)]
pub struct Stacks(DenseTable<StackNode>);

impl Stacks {
    /// The stack with this id; `None` for a group, too.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&StackDef> {
        match self.0.get(id)? {
            StackNode::Frame(stack) => Some(stack),
            StackNode::Group(_) => None,
        }
    }

    /// String id of the group's name, if this is the id of a group.
    #[inline]
    pub fn group(&self, id: u32) -> Option<u32> {
        match self.0.get(id)? {
            StackNode::Frame(_) => None,
            StackNode::Group(name) => Some(*name),
        }
    }

    /// One more than the greatest id, groups included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are neither stacks nor groups.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The stacks with their ids, in the order of the ids, without the groups.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &StackDef)> {
        self.0.iter().filter_map(|(id, node)| match node {
            StackNode::Frame(stack) => Some((id, stack)),
            StackNode::Group(_) => None,
        })
    }

    /// The stack ids of the groups and the string ids of their names, in the
    /// order of the ids.
    pub fn groups(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().filter_map(|(id, node)| match node {
            StackNode::Frame(_) => None,
            StackNode::Group(name) => Some((id, *name)),
        })
    }

    pub(crate) fn put(&mut self, id: u32, node: StackNode, missing: &mut usize) -> Option<()> {
        self.0.put(id, node, missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_take_no_more_room_than_stacks() {
        assert!(size_of::<Option<StackNode>>() <= 16);
    }

    #[test]
    fn an_id_is_a_frame_or_a_group_as_defined_last() {
        let (mut stacks, mut missing) = (Stacks::default(), 10);
        let frame = StackDef { parent: 2, method: 7, line: 0 };
        for (id, node) in [
            (2, StackNode::Group(5)),
            (3, StackNode::Frame(frame)),
            (4, StackNode::Group(6)),
            (4, StackNode::Frame(frame)),
        ] {
            assert_eq!(stacks.put(id, node, &mut missing), Some(()));
        }
        assert_eq!(missing, 8, "0 and 1 are never defined, the group is");
        assert_eq!((stacks.get(2), stacks.group(2)), (None, Some(5)));
        assert_eq!((stacks.get(3), stacks.group(3)), (Some(&frame), None));
        assert_eq!((stacks.get(4), stacks.group(4)), (Some(&frame), None));
        assert_eq!((stacks.get(9), stacks.group(9), stacks.len()), (None, None, 5));
        assert_eq!(stacks.iter().map(|(id, _)| id).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(stacks.groups().collect::<Vec<_>>(), [(2, 5)]);
    }
}
