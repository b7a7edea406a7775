//! Names for the ids of one log, for people who read single records: as the log
//! has them, which is how JSON tells them. Shown otherwise, they have to be made
//! [`harmless`](crate::harmless) first.

pub use crate::names::{lock_called, readable_class};
use crate::{
    identity::Locks,
    java,
    profile::{CUT, NO_PROBE},
};
use regex::Regex;
use tyrion_formats::{LockSite, Recording, UNKNOWN, WaitSite, limits::MAX_DEPTH};
use tyrion_wire::def::id::{self, CUT_STACK, EMPTY_STACK};

/// Names for the ids of a log.
#[derive(Clone, Copy)]
pub struct Names<'a>(pub &'a Recording);

impl Names<'_> {
    /// A thread's last name; never empty.
    pub fn thread(&self, id: u32) -> String {
        let Some(thread) = self.0.definitions().threads().get(id) else {
            return UNKNOWN.to_owned();
        };
        let name = self.0.text(thread.name);
        match (name.is_empty(), thread.is_virtual) {
            (false, _) => name.into_owned(),
            (true, true) => format!("virtual-{}", thread.java_id),
            (true, false) => format!("thread-{}", thread.java_id),
        }
    }

    /// The class of a lock, `java.lang.Object`.
    pub fn lock_class(&self, id: u32) -> String {
        match self.0.definitions().locks().get(id) {
            Some(&class) => self.class(class),
            None => UNKNOWN.to_owned(),
        }
    }

    /// The class and identity of a lock, `java.lang.Object#7`.
    pub fn lock(&self, id: u32) -> String {
        format!("{}#{id}", self.lock_class(id))
    }

    /// A class as the program knows it: locks of `java.util.concurrent` are of classes
    /// that are private.
    pub fn public_class(&self, class: u32) -> String {
        java::public_class(&self.class(class)).to_owned()
    }

    /// What the lock of a wait is called: its class as the program knows it, and its
    /// name; empty when that is not known or tells no more than the class.
    pub fn site_parts(&self, site: &WaitSite) -> (String, String) {
        let locks = Locks::of(self.0);
        locks.label(locks.at_site(site))
    }

    /// The same of a lock by its id, where it is not known where it was waited for.
    pub fn lock_parts(&self, id: u32) -> (String, String) {
        let locks = Locks::of(self.0);
        locks.label(locks.with_id(id))
    }

    /// The same of the locks of a class that are taken at a place: the ids of both.
    pub fn place_parts(&self, place: u32, class: u32) -> (String, String) {
        let locks = Locks::of(self.0);
        locks.label(locks.at_place(place, class))
    }

    /// Whether a filter finds something in what the lock of a wait is called: its class,
    /// as the program or the JVM calls it, one of its names or its identity.
    pub fn site_matches(&self, regex: &Regex, site: &WaitSite) -> bool {
        let locks = Locks::of(self.0);
        let (node, class) = (locks.at_site(site), self.lock_class(site.lock));
        locks.matches(regex, node, &class, site.lock)
    }

    /// The same of a lock by its id, where it is not known where it was waited for.
    pub fn lock_matches(&self, regex: &Regex, id: u32) -> bool {
        let locks = Locks::of(self.0);
        locks.matches(regex, locks.with_id(id), &self.lock_class(id), id)
    }

    /// The same of the locks of a class that are taken at a place: the ids of both.
    pub fn place_matches(&self, regex: &Regex, place: u32, class: u32) -> bool {
        let locks = Locks::of(self.0);
        locks.matches(regex, locks.at_place(place, class), &self.class(class), 0)
    }

    /// Where a lock was taken: `com.acme.Foo.bar(Foo.java:12)`.
    pub fn place(&self, place: &LockSite) -> String {
        match place.method {
            id::UNKNOWN => NO_PROBE.to_owned(),
            method => self.frame(method, place.line),
        }
    }

    /// The frames of a stack, innermost first: `com.acme.Foo.bar(Foo.java:12)`.
    /// The outermost may stand for a group: `[group GET /orders]`.
    ///
    /// At most [`MAX_STACK_TEXT`] bytes of them; [`Names::frames`] gives all, one
    /// after the other.
    pub fn stack(&self, id: u32) -> Vec<String> {
        in_bounds(self.frames(id).map(|frame| self.stack_frame(frame)))
    }

    /// What the frames of a stack are, innermost first, at most [`MAX_DEPTH`].
    pub fn frames(&self, stack: u32) -> Frames<'_> {
        Frames { log: self.0, at: stack, left: MAX_DEPTH }
    }

    /// One of [`Names::frames`], in words.
    pub fn stack_frame(&self, frame: StackFrame) -> String {
        match frame {
            StackFrame::Method { method, line } => self.frame(method, line),
            StackFrame::Group { name } => format!("[group {}]", self.0.text(name)),
            StackFrame::Unknown => UNKNOWN.to_owned(),
            StackFrame::Cut => CUT.to_owned(),
        }
    }

    /// What the program said that a thread was doing when it had this stack.
    pub fn group(&self, stack: u32) -> Option<String> {
        let stacks = self.0.definitions().stacks();
        let mut at = stack;
        while let Some(stack) = stacks.get(at).filter(|stack| stack.parent < at) {
            at = stack.parent;
        }
        stacks.group(at).map(|name| self.0.text(name).into_owned())
    }

    /// A frame: `com.acme.Foo.bar(Foo.java:12)`.
    pub fn frame(&self, method: u32, line: u32) -> String {
        let Some(method) = self.0.definitions().methods().get(method) else {
            return UNKNOWN.to_owned();
        };
        let name = self.0.text(method.name);
        let name = match self.class(method.class) {
            // Of functions that are no methods, and of places that are not known.
            class if class.is_empty() => name.into_owned(),
            class => format!("{class}.{name}"),
        };
        let source = match self.0.definitions().classes().get(method.class) {
            Some(class) => self.0.text(class.source),
            None => "".into(),
        };
        match (source.is_empty(), line) {
            (true, _) => name,
            (false, 0) => format!("{name}({source})"),
            (false, line) => format!("{name}({source}:{line})"),
        }
    }

    /// A class, `java.lang.Object`.
    pub fn class(&self, id: u32) -> String {
        match self.0.definitions().classes().get(id) {
            Some(class) => java::class_name(&self.0.text(class.name)),
            None => UNKNOWN.to_owned(),
        }
    }
}

/// How many bytes of text a stack has at most where all of it is kept in memory:
/// some 800 frames of the usual length.
pub const MAX_STACK_TEXT: usize = 1 << 16;

/// The frames of a stack, innermost first: one at least, and no more than
/// [`MAX_STACK_TEXT`] has room for. Then [`CUT`] stands for the others. Without a
/// bound, a log of 200 kB could ask for gigabytes.
pub fn in_bounds(frames: impl IntoIterator<Item = String>) -> Vec<String> {
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for frame in frames {
        bytes += frame.len();
        if bytes > MAX_STACK_TEXT && !kept.is_empty() {
            kept.push(CUT.to_owned());
            break;
        }
        kept.push(frame);
    }
    kept
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackFrame {
    /// A method, at a line, 0 when unknown.
    Method {
        /// Method id.
        method: u32,
        /// The line in it.
        line: u32,
    },
    /// What the program said that the thread was doing.
    Group {
        /// String id of the group's name.
        name: u32,
    },
    /// Whose definition is lost.
    Unknown,
    /// The frames that were left out.
    Cut,
}

/// The frames of a stack, innermost first.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    log: &'a Recording,
    at: u32,
    left: u32,
}

impl Iterator for Frames<'_> {
    type Item = StackFrame;

    fn next(&mut self) -> Option<StackFrame> {
        let at = std::mem::replace(&mut self.at, EMPTY_STACK);
        if at == EMPTY_STACK {
            return None;
        }
        if at == CUT_STACK || self.left == 0 {
            return Some(StackFrame::Cut);
        }
        self.left -= 1;
        let stacks = self.log.definitions().stacks();
        let Some(stack) = stacks.get(at) else {
            let group = stacks.group(at).map(|name| StackFrame::Group { name });
            return Some(group.unwrap_or(StackFrame::Unknown));
        };
        // Parents come before their children in every log that the agent
        // writes; any other would not end.
        self.at = if stack.parent < at { stack.parent } else { EMPTY_STACK };
        Some(StackFrame::Method { method: stack.method, line: stack.line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_bounded() {
        let frame = |len: usize| "x".repeat(len);
        assert_eq!(in_bounds([]), [""; 0]);
        assert_eq!(in_bounds([frame(MAX_STACK_TEXT + 1)]).len(), 1);
        let halves = in_bounds(vec![frame(MAX_STACK_TEXT / 2); 3]);
        assert_eq!((halves.len(), &*halves[2]), (3, CUT));
        assert_eq!(in_bounds(vec![frame(60); 500]).len(), 500);
    }
}
