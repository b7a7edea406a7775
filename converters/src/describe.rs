//! Names for the ids of one log, for people who read single records: as the log
//! has them, which is how JSON tells them. Shown otherwise, they have to be made
//! [`harmless`](crate::harmless) first.

pub use crate::names::{lock_called, readable_class};
use crate::{aggregate::java, profile::NO_PROBE};
use regex::Regex;
use tyrion_formats::{Log, Place, UNKNOWN};
use tyrion_wire::def::id::{self, CUT_STACK, EMPTY_STACK, NO_STRING};

/// Names for the ids of a log.
#[derive(Clone, Copy)]
pub struct Names<'a>(pub &'a Log);

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

    /// What a profile calls locks of a class that the program gives this name,
    /// a string: class and name. The name is empty if it says no more than the
    /// class.
    pub fn called(&self, class: u32, name: u32) -> (String, String) {
        let class = java::public_class(&self.class(class)).to_owned();
        (class, java::telling_name(&self.0.text(name)).to_owned())
    }

    /// The class of a lock as the program knows it, and what the program calls
    /// it; empty when that is not known or tells no more than the class.
    pub fn lock_parts(&self, id: u32) -> (String, String) {
        let name = self.0.definitions().lock_name(id);
        let class = java::public_class(&self.lock_class(id)).to_owned();
        (class, self.telling_name(name.unwrap_or(NO_STRING)))
    }

    /// As [`Names::lock_parts`], of the locks of a class that are called so: the
    /// ids of a class and of a name.
    pub fn class_parts(&self, class: u32, name: u32) -> (String, String) {
        (java::public_class(&self.class(class)).to_owned(), self.telling_name(name))
    }

    fn telling_name(&self, name: u32) -> String {
        java::telling_name(&self.0.text(name)).to_owned()
    }

    /// Whether a filter finds something in what a lock is called: its class, as
    /// the program or the JVM calls it, its name or its identity.
    pub fn lock_matches(&self, regex: &Regex, id: u32) -> bool {
        let name = self.0.definitions().lock_name(id).map_or("".into(), |name| self.0.text(name));
        java::lock_matches(regex, &self.lock_class(id), java::telling_name(&name), id)
    }

    /// As [`Names::lock_matches`], of locks of a class that the program gives
    /// this name, a string.
    pub fn called_matches(&self, regex: &Regex, class: u32, name: u32) -> bool {
        let name = self.0.text(name);
        java::lock_matches(regex, &self.class(class), java::telling_name(&name), 0)
    }

    /// Where a lock was taken: `com.acme.Foo.bar(Foo.java:12)`.
    pub fn place(&self, place: &Place) -> String {
        match place.method {
            id::UNKNOWN => NO_PROBE.to_owned(),
            method => self.frame(method, place.line),
        }
    }

    /// The frames of a stack, innermost first: `com.acme.Foo.bar(Foo.java:12)`.
    /// The outermost may stand for a group: `[group GET /orders]`.
    pub fn stack(&self, id: u32) -> Vec<String> {
        let mut frames = Vec::new();
        let mut at = id;
        while at > CUT_STACK {
            let Some(stack) = self.0.definitions().stacks().get(at) else {
                let group = self.0.definitions().stacks().group(at);
                frames.push(match group {
                    Some(name) => format!("[group {}]", self.0.text(name)),
                    None => UNKNOWN.to_owned(),
                });
                return frames;
            };
            frames.push(self.frame(stack.method, stack.line));
            // Parents come before their children in every log that the agent
            // writes; any other would not end.
            at = if stack.parent < at { stack.parent } else { EMPTY_STACK };
        }
        if at == CUT_STACK {
            frames.push(crate::profile::CUT.to_owned());
        }
        frames
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
        let class = self.class(method.class);
        let name = self.0.text(method.name);
        let source = match self.0.definitions().classes().get(method.class) {
            Some(class) => self.0.text(class.source),
            None => "".into(),
        };
        match (source.is_empty(), line) {
            (true, _) => format!("{class}.{name}"),
            (false, 0) => format!("{class}.{name}({source})"),
            (false, line) => format!("{class}.{name}({source}:{line})"),
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
