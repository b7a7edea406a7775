//! What runs in place of the JDK's native methods that the agent stands in for, and
//! when virtual threads move: see [`super::hooks`].

use super::{
    hooks::{StandIns, park_now, records_parks, replace_now, set_native_name_now, unpark_now},
    running::{contention, guarded, recorder},
};
use crate::{
    contention::{Contention, ParkLimit},
    jvm::{Java, Object},
    own_cpu::callback,
    recorder::threads::ParkSeenBy::Natives,
};
use jvmti_bindings::sys::{
    jni::{JNIEnv, jboolean, jclass, jlong, jobject, jstring, jthread},
    jvmti::jvmtiEnv,
};

/// All of it.
pub fn stand_ins() -> StandIns {
    StandIns { park, unpark, set_native_name, mounted, unmounted }
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_replaceNativesNow")]
extern "system" fn replace_natives_now(env: *mut JNIEnv, _: jclass) {
    let Some(recorder) = recorder() else { return };
    // SAFETY: the JVM passes the current thread's environment, whose native frame
    // lasts as long as the call.
    guarded(|| replace_now(recorder.ti(), unsafe { Java::new(env) }));
}

unsafe extern "system" fn park(env: *mut JNIEnv, of: jobject, is_absolute: jboolean, time: jlong) {
    let recorded = records_parks().then(contention).flatten();
    let Some(contention) = recorded.filter(|contention| contention.recorder().is_enabled()) else {
        return park_now(env, of, is_absolute, time);
    };
    // SAFETY: the JVM passes the current thread's environment, whose native frame
    // lasts as long as the call.
    let java = unsafe { Java::new(env) };
    let thread = contention.recorder().ti().current_thread(java);
    let limit = match (is_absolute, time) {
        (0, 1..) => ParkLimit::Ns(time as u64),
        _ => ParkLimit::None,
    };
    callback(|| guarded(|| contention.hooked_park_begins(java, thread.get(), limit, Natives)));
    park_now(env, of, is_absolute, time);
    callback(|| guarded(|| contention.hooked_park_ends(java, thread.get(), Natives)));
    java.drop_local(thread);
}

/// Before the thread goes on, which may be over with its wait then.
unsafe extern "system" fn unpark(env: *mut JNIEnv, of: jobject, thread: jobject) {
    if let Some(contention) = records_parks().then(contention).flatten() {
        let body = || {
            // SAFETY: the JVM passes the current thread's environment, whose native frame
            // lasts as long as the call, and a reference that is valid during it.
            let (java, target) = unsafe { (Java::new(env), Object::new(thread)) };
            contention.hooked_unpark(java, target);
        };
        callback(|| guarded(body));
    }
    unpark_now(env, of, thread);
}

/// A virtual thread is on a carrier. It may have left one before parks were left to
/// probes, none of which will tell when it goes on.
unsafe extern "C" fn mounted(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    with_virtual(env, thread, Contention::has_carrier);
}

/// A virtual thread leaves its carrier.
unsafe extern "C" fn unmounted(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    if records_parks() {
        with_virtual(env, thread, Contention::leaves_carrier);
    }
}

fn with_virtual(
    env: *mut JNIEnv,
    thread: jthread,
    body: fn(&'static Contention, Java<'_>, Object<'_>),
) {
    let Some(contention) = contention() else { return };
    let body = || {
        // SAFETY: HotSpot passes the current thread's environment, whose native frame
        // lasts as long as the call, and a reference that is valid during it.
        let (java, thread) = unsafe { (Java::new(env), Object::new(thread)) };
        body(contention, java, thread);
    };
    callback(|| guarded(body));
}

unsafe extern "system" fn set_native_name(env: *mut JNIEnv, thread: jobject, name: jstring) {
    set_native_name_now(env, thread, name);
    let Some(contention) = contention() else { return };
    guarded(|| {
        // SAFETY: the JVM passes the current thread's environment and a valid reference.
        let (java, thread) = unsafe { (Java::new(env), Object::new(thread)) };
        contention.recorder().renamed(java, thread);
    });
}
