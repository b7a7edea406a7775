//! The queues of threads that wait for a lock of `java.util.concurrent`.
//!
//! Each acquisition that has to wait puts a node of its own into the lock's
//! queue, so the node tells two acquisitions of one thread apart.

use super::{
    Java, Local, Object,
    setup::{field_if_any, global_class, with_env},
};
use jvmti_bindings::sys::jni::{JNIEnv, jfieldID};
use tyrion_plan::JdkClass;

/// How many nodes are looked at from the end of a queue.
const MOST_LOOKED_AT: usize = 256;

/// Where the classes of locks keep their queues.
pub struct Queues {
    of: Vec<Queue>,
    /// `Thread.interrupted`; null before JDK 14.
    interrupted: jfieldID,
}

// SAFETY: field ids and global references are valid on every thread.
unsafe impl Send for Queues {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Queues {}

/// Where a thread is in a lock's queue.
pub enum Found<'j> {
    /// Waiting by this node.
    Node(Local<'j>),
    /// Nowhere, or there is no queue.
    Nowhere,
    /// Perhaps further in front than was looked.
    TooMany,
}

/// Where one class of locks keeps its queue.
struct Queue {
    class: Object<'static>,
    head: jfieldID,
    tail: jfieldID,
    next: jfieldID,
    previous: jfieldID,
    waiter: jfieldID,
}

impl Queues {
    /// Looks everything up. What this JVM lacks is left out.
    pub fn find(env: *mut JNIEnv) -> Queues {
        const CLASSES: [JdkClass; 3] =
            [JdkClass::Synchronizer, JdkClass::LongSynchronizer, JdkClass::StampedLock];
        Queues {
            of: CLASSES.into_iter().filter_map(|class| Queue::find(env, class)).collect(),
            interrupted: field_if_any(env, "java/lang/Thread", "interrupted", "Z"),
        }
    }

    /// The node by which a thread waits for a lock, if it is near the end of the
    /// lock's queue, or the first in it, as after a park that did not get it the lock. The
    /// few local references that are usual are left to the end of the native frame.
    pub fn node<'j>(
        &self,
        java: Java<'j>,
        lock: Object<'_>,
        thread: Object<'_>,
        may_be_first: bool,
    ) -> Found<'j> {
        let of_lock = |queue: &&Queue| !lock.is_null() && java.is_instance(lock, queue.class);
        let Some(queue) = self.of.iter().find(of_lock) else { return Found::Nowhere };
        let mut node = java.object_field(lock, queue.tail);
        for looked_at in 0..MOST_LOOKED_AT {
            if node.is_null() {
                return Found::Nowhere;
            }
            if queue.is_of(java, node.get(), thread) {
                return Found::Node(node);
            }
            if looked_at == 0
                && may_be_first
                && let Some(first) = queue.first(java, lock)
            {
                if queue.is_of(java, first.get(), thread) {
                    return Found::Node(first);
                }
                java.drop_local(first);
            }
            let previous = java.object_field(node.get(), queue.previous);
            java.drop_local(node);
            node = previous;
        }
        java.drop_local(node);
        Found::TooMany
    }

    /// Whether a thread has been interrupted and has not noticed yet; `None`
    /// where its object does not tell.
    pub fn is_interrupted(&self, java: Java, thread: Object<'_>) -> Option<bool> {
        (!self.interrupted.is_null()).then(|| java.boolean_field(thread, self.interrupted))
    }
}

impl Queue {
    /// Whether a thread waits by a node: nodes forget their thread when it has the lock, or
    /// gives up.
    fn is_of(&self, java: Java, node: Object<'_>, thread: Object<'_>) -> bool {
        let waiter = java.object_field(node, self.waiter);
        let is_same = !waiter.is_null() && java.is_same(waiter.get(), thread);
        if !is_same {
            java.drop_local(waiter);
        }
        is_same
    }

    /// Who is next, if the queue says so by now.
    fn first<'j>(&self, java: Java<'j>, lock: Object<'_>) -> Option<Local<'j>> {
        let head = java.object_field(lock, self.head);
        if head.is_null() {
            return None;
        }
        let first = java.object_field(head.get(), self.next);
        java.drop_local(head);
        (!first.is_null()).then_some(first)
    }

    fn find(env: *mut JNIEnv, class: JdkClass) -> Option<Queue> {
        let name = class.name();
        // The long synchronizer of JDK 11 has the other one's nodes.
        let of_other = format!("{}$Node", JdkClass::Synchronizer.name());
        let nodes = [format!("{name}$Node"), format!("{name}$WNode"), of_other];
        let field = |class: &str, field: &str, of: &str| {
            let found = field_if_any(env, class, field, &format!("L{of};"));
            (!found.is_null()).then_some(found)
        };
        nodes.iter().find_map(|node| {
            let waiter = field(node, "waiter", "java/lang/Thread")
                .or_else(|| field(node, "thread", "java/lang/Thread"))?;
            // StampedLock of JDK 11 calls them so.
            let tail = field(name, "tail", node).or_else(|| field(name, "wtail", node))?;
            let head = field(name, "head", node).or_else(|| field(name, "whead", node))?;
            let (next, previous) = (field(node, "next", node)?, field(node, "prev", node)?);
            let global = |name| with_env(env, |env| global_class(env, name)).ok();
            Some(Queue { class: global(name)?, head, tail, next, previous, waiter })
        })
    }
}
