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

/// Where one class of locks keeps its queue.
struct Queue {
    class: Object<'static>,
    node: Object<'static>,
    tail: jfieldID,
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
    /// lock's queue.
    pub fn node<'j>(
        &self,
        java: Java<'j>,
        lock: Object<'_>,
        thread: Object<'_>,
    ) -> Option<Local<'j>> {
        let queue = self.of.iter().find(|queue| java.is_instance(lock, queue.class))?;
        let mut node = java.object_field(lock, queue.tail);
        for _ in 0..MOST_LOOKED_AT {
            if node.is_null() {
                return None;
            }
            let waiter = java.object_field(node.get(), queue.waiter);
            let is_found = !waiter.is_null() && java.is_same(waiter.get(), thread);
            java.drop_local(waiter);
            if is_found {
                return Some(node);
            }
            let previous = java.object_field(node.get(), queue.previous);
            java.drop_local(node);
            node = previous;
        }
        java.drop_local(node);
        None
    }

    /// Whether a thread still waits by a node that it has waited by: nodes forget their
    /// thread when it has the lock, or gives up.
    pub fn waits_by(
        &self,
        java: Java,
        lock: Object<'_>,
        node: Object<'_>,
        thread: Object<'_>,
    ) -> bool {
        let of_lock = |queue: &&Queue| java.is_instance(lock, queue.class);
        let Some(queue) = self.of.iter().find(of_lock) else { return false };
        if !java.is_instance(node, queue.node) {
            return false;
        }
        let waiter = java.object_field(node, queue.waiter);
        let is_same = !waiter.is_null() && java.is_same(waiter.get(), thread);
        java.drop_local(waiter);
        is_same
    }

    /// Whether a thread has been interrupted and has not noticed yet; `None`
    /// where its object does not tell.
    pub fn is_interrupted(&self, java: Java, thread: Object<'_>) -> Option<bool> {
        (!self.interrupted.is_null()).then(|| java.boolean_field(thread, self.interrupted))
    }
}

impl Queue {
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
            let previous = field(node, "prev", node)?;
            let global = |name| with_env(env, |env| global_class(env, name)).ok();
            let (class, node) = (global(name)?, global(node)?);
            Some(Queue { class, node, tail, previous, waiter })
        })
    }
}
