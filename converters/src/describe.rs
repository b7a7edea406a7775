//! Names for the ids of one log, for people who read single records.

use crate::aggregate::java;
use regex::Regex;
use tyrion_formats::{Log, UNKNOWN};
use tyrion_wire::def::id::{CUT_STACK, EMPTY_STACK};

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

    /// Whether a filter finds something in what a lock is called: its class, as
    /// the program or the JVM calls it, its name or its identity.
    pub fn lock_matches(&self, regex: &Regex, id: u32) -> bool {
        let name = self.0.definitions().lock_name(id).map_or("".into(), |name| self.0.text(name));
        java::lock_matches(regex, &self.lock_class(id), java::telling_name(&name), id)
    }

    /// The frames of a stack, innermost first: `com.acme.Foo.bar(Foo.java:12)`.
    pub fn stack(&self, id: u32) -> Vec<String> {
        let mut frames = Vec::new();
        let mut at = id;
        while at > CUT_STACK {
            let Some(stack) = self.0.definitions().stacks().get(at) else {
                frames.push(UNKNOWN.to_owned());
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
