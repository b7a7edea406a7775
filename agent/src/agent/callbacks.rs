//! What the JVM calls: JVMTI's events and the probes' native methods.
//!
//! Every function here catches panics, since none may cross into the JVM: the
//! first one switches recording off and says so.

use super::{
    hooked, hooks, instrument, junit,
    running::{contention, guarded, recorder, records_waits},
    start,
};
use crate::{
    contention::{Contention, ParkLimit, Wanted},
    jvm::{Java, Object},
    own_cpu,
    recorder::threads::ParkSeenBy,
    sample, trace,
};
use jvmti_bindings::sys::{
    jni::{JNIEnv, jboolean, jclass, jint, jlong, jobject, jthread},
    jvmti::{jvmtiEnv, jvmtiEventCallbacks},
};
use std::ffi::{c_char, c_uchar};
use tyrion_wire::Outcome;

/// Runs `body` with what records waits, if there is something.
#[inline]
fn with_contention(env: *mut JNIEnv, body: impl FnOnce(&'static Contention, Java)) {
    let Some(contention) = contention() else { return };
    let body = || {
        // SAFETY: the JVM passes the current thread's environment, whose native
        // frame lasts as long as the call.
        body(contention, unsafe { Java::new(env) });
    };
    own_cpu::callback(|| guarded(body));
}

/// The table of the events.
pub fn table() -> jvmtiEventCallbacks {
    hooks::provide(hooked::stand_ins());
    let mut table = jvmtiEventCallbacks::default();
    table.VMInit = Some(vm_init);
    table.VMDeath = Some(vm_death);
    table.ThreadStart = Some(thread_start);
    table.ThreadEnd = Some(thread_end);
    table.VirtualThreadStart = Some(virtual_thread_start);
    table.VirtualThreadEnd = Some(virtual_thread_end);
    table.MonitorContendedEnter = Some(monitor_contended_enter);
    table.MonitorContendedEntered = Some(monitor_contended_entered);
    table.MonitorWait = Some(monitor_wait);
    table.MonitorWaited = Some(monitor_waited);
    table.ClassFileLoadHook = Some(class_file_load_hook);
    table.ClassPrepare = Some(class_prepare);
    table.GarbageCollectionStart = Some(garbage_collection_start);
    table.GarbageCollectionFinish = Some(garbage_collection_finish);
    table
}

unsafe extern "system" fn vm_init(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    guarded(|| start::vm_init(env));
}

unsafe extern "system" fn vm_death(_: *mut jvmtiEnv, env: *mut JNIEnv) {
    guarded(|| start::vm_death(env));
}

unsafe extern "system" fn thread_start(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    with_contention(env, |contention, java| {
        // SAFETY: JVMTI passes references that are valid during the call.
        let thread = unsafe { Object::new(thread) };
        contention.recorder().thread_starts(java, thread, records_waits());
        sample::thread_starts(java, thread);
    });
    junit::thread_starts(env);
}

unsafe extern "system" fn thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    with_contention(env, |contention, java| {
        // SAFETY: JVMTI passes references that are valid during the call.
        let thread = unsafe { Object::new(thread) };
        ends(contention, java, thread, false);
        sample::thread_ends(java, thread);
    });
}

/// Only asked for where tests follow their threads.
unsafe extern "system" fn virtual_thread_start(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    junit::thread_starts(env);
}

/// Virtual threads are not among those that the JVM lists, so the list that
/// sampling has stays as it is.
unsafe extern "system" fn virtual_thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    with_contention(env, |contention, java| {
        // SAFETY: JVMTI passes references that are valid during the call.
        let thread = unsafe { Object::new(thread) };
        ends(contention, java, thread, true);
    });
}

fn ends(contention: &Contention, java: Java, thread: Object<'_>, is_virtual: bool) {
    let recorder = contention.recorder();
    contention.settle_last(java, thread);
    contention.joined(java, thread);
    recorder.thread_ends(java, thread, is_virtual);
    if let Some(trace) = trace::active() {
        trace.thread_ends(recorder.java_id(java, thread));
    }
}

unsafe extern "system" fn monitor_contended_enter(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
) {
    // First of all: the owner may release it at any moment.
    let mut wanted = Wanted::default();
    if let Some(contention) = contention() {
        // SAFETY: the JVM passes the current thread's environment, and this is the event.
        guarded(|| wanted = contention.wanted(unsafe { Java::new(env) }));
    }
    with_contention(env, |contention, java| {
        // SAFETY: JVMTI passes references that are valid during the call.
        let (thread, object) = unsafe { (Object::new(thread), Object::new(object)) };
        contention.monitor_begins(java, thread, object, wanted);
    });
}

unsafe extern "system" fn monitor_contended_entered(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    _: jobject,
) {
    with_contention(env, |contention, java| {
        // SAFETY: JVMTI passes references that are valid during the call.
        let thread = unsafe { Object::new(thread) };
        contention.monitor_ends(java, thread);
    });
}

unsafe extern "system" fn monitor_wait(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    _: jlong,
) {
    with_contention(env, |contention, java| {
        // SAFETY: JVMTI passes references that are valid during the call.
        let (thread, object) = unsafe { (Object::new(thread), Object::new(object)) };
        contention.object_wait_begins(java, thread, object);
    });
}

unsafe extern "system" fn monitor_waited(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    timed_out: jboolean,
) {
    with_contention(env, |contention, java| {
        // SAFETY: JVMTI passes references that are valid during the call.
        let (thread, object) = unsafe { (Object::new(thread), Object::new(object)) };
        contention.object_wait_ends(java, thread, object, timed_out != 0)
    });
}

// The next two come while all threads are stopped, on one of the JVM's own that must
// call neither JNI nor JVMTI.

unsafe extern "system" fn garbage_collection_start(_: *mut jvmtiEnv) {
    if let Some(recorder) = recorder() {
        guarded(|| recorder.collection_starts());
    }
}

unsafe extern "system" fn garbage_collection_finish(_: *mut jvmtiEnv) {
    if let Some(recorder) = recorder() {
        guarded(|| recorder.collection_ends());
    }
}

#[allow(clippy::too_many_arguments, reason = "the signature is JVMTI's")]
unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _: jobject,
    len: jint,
    data: *const c_uchar,
    new_len: *mut jint,
    new_data: *mut *mut c_uchar,
) {
    // Whoever has it redefined: its methods become others.
    if !redefined.is_null()
        && let Some(recorder) = recorder()
    {
        recorder.note_redefinition();
    }
    // Without trace mode only classes that we have asked for again matter.
    let wanted = !redefined.is_null() || trace::active().is_some();
    if !wanted || name.is_null() || data.is_null() {
        return;
    }
    let transform = || {
        // SAFETY: JVMTI passes a name that ends with a zero byte, and `len`
        // bytes of class file.
        let (name, bytes) = unsafe {
            let name = std::ffi::CStr::from_ptr(name).to_string_lossy();
            (name, std::slice::from_raw_parts(data, len.max(0) as usize))
        };
        let Some(recorder) = recorder() else { return };
        // SAFETY: the JVM passes the current thread's environment, whose native
        // frame lasts as long as the call, and references that are valid during it.
        let (java, class, loader) =
            unsafe { (Java::new(env), Object::new(redefined), Object::new(loader)) };
        if let Some(trace) = trace::active().filter(|_| class.is_null()) {
            trace.note_loading(&name);
            trace.forget_unloaded(java);
        }
        let finds_probes =
            || trace::active().is_none_or(|trace| trace.is_found_by(java, class, loader));
        let new = instrument::transform(recorder.ti(), &name, bytes, finds_probes);
        if let Some((memory, len)) = new {
            // SAFETY: JVMTI passes places for the answer; the memory comes
            // from JVMTI's allocator, as it must.
            unsafe {
                *new_len = len as jint;
                *new_data = memory;
            }
        }
    };
    own_cpu::rare_callback(|| guarded(transform));
}

/// Told only while acquisitions are counted.
unsafe extern "system" fn class_prepare(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _: jthread,
    class: jclass,
) {
    let Some(trace) = trace::active() else { return };
    let body = || {
        // SAFETY: the JVM passes the current thread's environment, whose native frame
        // lasts as long as the call, and a reference that is valid during it.
        let (java, class) = unsafe { (Java::new(env), Object::new(class)) };
        trace.class_prepared(java, class);
    };
    own_cpu::rare_callback(|| guarded(body));
}

// The native methods of the probe class, see `tyrion_plan::probe::wait`. HotSpot finds
// them in the agent's library by their names, whichever way it was loaded;
// registering them would make JDK 17 and later print warnings.

/// Runs `body` unless a reference is null: then it is not a probe that calls,
/// but the agent, to have the method linked.
fn from_probe(env: *mut JNIEnv, of: Object<'_>, body: impl FnOnce(&'static Contention, Java)) {
    if !of.is_null() {
        with_contention(env, body);
    }
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_parkBegins")]
extern "system" fn park_begins(env: *mut JNIEnv, _: jclass, thread: Object<'_>) {
    park_begins_until(env, thread, ParkLimit::None);
}

/// Where the JDK's native methods see parks, the probe is one of virtual threads.
fn park_begins_until(env: *mut JNIEnv, thread: Object<'_>, limit: ParkLimit) {
    from_probe(env, thread, |contention, java| match hooks::records_parks() {
        true => contention.hooked_park_begins(java, thread, limit, ParkSeenBy::Probes),
        false => contention.park_begins(java, thread, limit),
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_parkBeginsFor")]
extern "system" fn park_begins_for(env: *mut JNIEnv, _: jclass, nanos: jlong, thread: Object<'_>) {
    let limit = match u64::try_from(nanos) {
        Ok(0) | Err(_) => ParkLimit::None,
        Ok(nanos) => ParkLimit::Ns(nanos),
    };
    park_begins_until(env, thread, limit);
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_parkEnds")]
extern "system" fn park_ends(env: *mut JNIEnv, _: jclass, thread: Object<'_>) {
    from_probe(env, thread, |contention, java| {
        if hooks::records_parks() {
            return contention.hooked_park_ends(java, thread, ParkSeenBy::Probes);
        }
        let had_natives = contention.virtual_parks_seen_by() == Some(ParkSeenBy::Probes);
        // It may have begun before all parks were left to probes.
        if had_natives && contention.recorder().is_virtual(java, thread) {
            contention.hooked_park_ends(java, thread, ParkSeenBy::Probes);
        }
        contention.park_ends(java, thread);
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_acquireBegins")]
extern "system" fn acquire_begins(
    env: *mut JNIEnv,
    _: jclass,
    shared: jboolean,
    thread: Object<'_>,
) {
    from_probe(env, thread, |contention, java| {
        contention.acquire_begins(java, thread, shared != 0)
    });
}

fn acquire_ends(env: *mut JNIEnv, thread: Object<'_>, outcome: Outcome) {
    from_probe(env, thread, |contention, java| contention.acquire_ends(java, thread, outcome));
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_acquired")]
extern "system" fn acquired(env: *mut JNIEnv, _: jclass, thread: Object<'_>) {
    acquire_ends(env, thread, Outcome::Granted);
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_acquireReturnedInt")]
extern "system" fn acquire_returned_int(env: *mut JNIEnv, _: jclass, n: jint, thread: Object<'_>) {
    let outcome = match n {
        1.. => Outcome::Granted,
        0 => Outcome::TimedOut,
        _ => Outcome::Interrupted,
    };
    acquire_ends(env, thread, outcome);
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_acquireReturnedBoolean")]
extern "system" fn acquire_returned_boolean(
    env: *mut JNIEnv,
    _: jclass,
    granted: jboolean,
    thread: Object<'_>,
) {
    acquire_ends(env, thread, if granted != 0 { Outcome::Granted } else { Outcome::TimedOut });
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_acquireReturnedStamp")]
extern "system" fn acquire_returned_stamp(
    env: *mut JNIEnv,
    _: jclass,
    stamp: jlong,
    thread: Object<'_>,
) {
    let outcome = match stamp {
        0 => Outcome::TimedOut,
        1 => Outcome::Interrupted,
        _ => Outcome::Granted,
    };
    acquire_ends(env, thread, outcome);
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_acquireThrew")]
extern "system" fn acquire_threw(
    env: *mut JNIEnv,
    _: jclass,
    exception: Object<'_>,
    thread: Object<'_>,
) {
    from_probe(env, thread, |contention, java| {
        let outcome = contention.outcome_of(java, exception);
        contention.acquire_ends(java, thread, outcome);
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_renamed")]
extern "system" fn renamed(env: *mut JNIEnv, _: jclass, thread: Object<'_>) {
    from_probe(env, thread, |contention, java| contention.recorder().renamed(java, thread));
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_signalled")]
extern "system" fn signalled(env: *mut JNIEnv, _: jclass, node: Object<'_>, signaller: Object<'_>) {
    from_probe(env, node, |contention, java| contention.signalled(java, node, signaller));
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_unparks")]
extern "system" fn unparks(env: *mut JNIEnv, _: jclass, target: Object<'_>, waker: Object<'_>) {
    from_probe(env, target, |contention, java| contention.unparks(java, target, waker));
}

/// The program is about to notify an object.
#[unsafe(export_name = "Java_java_lang_TyrionTrace_notifying")]
extern "system" fn notifying(
    env: *mut JNIEnv,
    _: jclass,
    object: Object<'_>,
    all: jboolean,
    waker: Object<'_>,
) {
    trace::with_trace(env, |_, java| {
        if let Some(contention) = contention() {
            contention.notifies(java, object, all != 0, waker, trace::NOTIFY_PROBES);
        }
    });
}

/// A block of the program says that its monitor took long.
#[unsafe(export_name = "Java_java_lang_TyrionTrace_delayed")]
extern "system" fn delayed(
    env: *mut JNIEnv,
    _: jclass,
    thread: Object<'_>,
    lock: Object<'_>,
    place: jint,
    asked_ns: jlong,
    now_ns: jlong,
) {
    let span_ns = (asked_ns.max(0) as u64, now_ns.max(0) as u64);
    let at = (place as u32, trace::DELAY_PROBES);
    trace::with_trace(env, |_, java| {
        if let Some(contention) = contention() {
            contention.monitor_was_delayed(java, thread, lock, span_ns, at);
        }
    });
}
