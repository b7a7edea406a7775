//! What the library `tyrion-junit.jar` calls, by which tests are told apart
//! (`java/junit`). HotSpot finds the functions by their names.
//!
//! A test is a group. Threads that it starts are to be in it, too: only they know, by what
//! Java's threads inherit, whose they are. So the agent has each thread ask at its start.

use super::running::{guarded, recorder};
use crate::{
    clock,
    jvm::{Java, Object, java::Global, setup::static_int_of_class, virtual_threads},
    own_cpu, spawn,
    sync::lock,
    trace,
};
use jvmti_bindings::sys::jni::{JNIEnv, jclass, jlong, jmethodID};
use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// The method that threads call.
const STARTED: &str = "started";
/// The library may be there several times, by class loaders of their own.
const MOST: usize = 16;

/// Whether there is one to be called.
static ANY: AtomicBool = AtomicBool::new(false);
static FOLLOWERS: Mutex<Vec<&'static Follower>> = Mutex::new(Vec::new());

/// A class whose method each thread calls.
struct Follower {
    class: Global,
    started: jmethodID,
}

// SAFETY: the id of a method is valid on every thread as long as its class is there, which
// the global reference keeps.
unsafe impl Send for Follower {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Follower {}

/// The current thread starts, which may be a virtual one.
pub fn thread_starts(env: *mut JNIEnv) {
    if !ANY.load(Relaxed) || spawn::is_agents() {
        return;
    }
    own_cpu::rare_callback(|| {
        guarded(|| {
            // The Java code may start threads itself.
            let all = lock(&FOLLOWERS).clone();
            // SAFETY: the JVM passes the current thread's environment, in whose frame this is.
            let java = unsafe { Java::new(env) };
            for follower in all {
                let class = follower.class.get();
                // SAFETY: the method is one of this class, and takes a class alone.
                unsafe { java.static_int_of(class, follower.started, class) };
            }
        });
    });
}

/// Has each thread that starts from now on call the class.
#[unsafe(export_name = "Java_tyrion_junit_Family_follow0")]
extern "system" fn follow(env: *mut JNIEnv, class: jclass) {
    guarded(|| {
        // SAFETY: the JVM passes the current thread's environment and the class that
        // the method is of.
        let (java, class) = unsafe { (Java::new(env), Object::new(class)) };
        // A thread may be stopped by a debugger while it calls the JVM, and others that start
        // must not wait for it: so nobody has the list meanwhile.
        let known = lock(&FOLLOWERS).clone();
        let is_known = |it: &&Follower| java.is_same(it.class.get(), class);
        if known.len() >= MOST || known.iter().any(is_known) {
            return;
        }
        let Ok(started) = static_int_of_class(env, class, STARTED) else { return };
        let Some(class) = java.global(class) else { return };
        lock(&FOLLOWERS).push(Box::leak(Box::new(Follower { class, started })));
        ANY.store(true, Relaxed);
        if let Some(recorder) = recorder() {
            virtual_threads::be_told_of_starts(recorder.ti());
        }
    });
}

/// Has what locks are taken within others be told anew: what one test does, others may have
/// done before it. The moment, as the log has it: Unix time in ns, 0 without a recording.
#[unsafe(export_name = "Java_tyrion_junit_Family_mark0")]
extern "system" fn mark(_: *mut JNIEnv, _: jclass) -> jlong {
    let mut wall_ns = 0;
    let body = || {
        let Some(recorder) = recorder() else { return };
        let now_ns = clock::now_ns();
        wall_ns = recorder.log().wall_ns(now_ns);
        if let Some(trace) = trace::active() {
            trace.tell_nestings_anew();
        }
    };
    own_cpu::rare_callback(|| guarded(body));
    jlong::try_from(wall_ns).unwrap_or(0)
}
