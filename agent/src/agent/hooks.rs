//! The JDK's native methods that the agent stands in for, so that no class has to be
//! changed in a JVM that would throw compiled code away for that.

use super::{
    callbacks::guarded,
    running::{contention, recorder},
};
use crate::{
    contention::{Contention, ParkLimit},
    jvm::{
        Java, Object, Ti,
        natives::{Replacement, replace},
        setup,
    },
    options::{Locks, Parks},
    sync::lock,
};
use jvmti_bindings::sys::{
    jni::{JNIEnv, jboolean, jclass, jlong, jobject, jstring, jthread},
    jvmti::jvmtiEnv,
};
use std::{
    ffi::c_void,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// `Unsafe.park(isAbsolute, time)`.
type Park = unsafe extern "system" fn(*mut JNIEnv, jobject, jboolean, jlong);
/// `Thread.setNativeName(name)`.
type SetNativeName = unsafe extern "system" fn(*mut JNIEnv, jobject, jstring);

static PARK: OnceLock<Park> = OnceLock::new();
static SET_NATIVE_NAME: OnceLock<SetNativeName> = OnceLock::new();
/// Whether parks are recorded here, and not by probes.
static RECORDS_PARKS: AtomicBool = AtomicBool::new(false);
/// What went wrong with the replacement, if it has been tried.
static OUTCOME: Mutex<Option<Result<(), String>>> = Mutex::new(None);

/// How long the JVM may take to see the agent's library.
const LINK_PATIENCE: Duration = Duration::from_secs(10);
/// Whether the first change of a class throws all compiled code away.
static IS_DEAR: AtomicBool = AtomicBool::new(false);

/// Notes whether this JVM throws all compiled code away when the first class is
/// changed: those before JDK 25 do, unless an agent has announced at its start that it
/// may change some.
pub fn redefinition_is_dear(ti: Ti, is_unannounced: bool) {
    const CHEAP_SINCE: u32 = 25;
    let version = ti.property("java.vm.specification.version").parse::<u32>();
    let is_dear = is_unannounced && version.is_ok_and(|version| version < CHEAP_SINCE);
    IS_DEAR.store(is_dear, Relaxed);
}

/// How parks are to be seen, by what the user asked for.
pub fn chosen(asked: Parks, locks: Locks) -> Parks {
    match asked {
        // Trace mode has to change classes in any case.
        Parks::Auto if locks == Locks::Contention && IS_DEAR.load(Relaxed) => Parks::Natives,
        Parks::Auto => Parks::Probes,
        asked => asked,
    }
}

/// Has parks recorded by way of the JDK's native methods from now on.
///
/// # Errors
/// Why that cannot be, in words.
pub fn record_parks(contention: &'static Contention, java: Java) -> Result<(), String> {
    let class = setup::probe_class(java)?;
    contention.infer(java);
    let deadline = Instant::now() + LINK_PATIENCE;
    loop {
        let called = setup::call_static(java.raw(), class.get(), "replaceNatives");
        match (lock(&OUTCOME).take(), called) {
            (Some(Ok(())), _) => break,
            (Some(Err(reason)), _) => return Err(reason),
            (None, Err(reason)) if Instant::now() > deadline => return Err(reason),
            // The JVM finds the method once the agent's library is loaded.
            (None, _) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    java.drop_local(class);
    let ti = contention.recorder().ti();
    if ti.capabilities().can_support_virtual_threads() {
        ti.on_mounts(mounted, unmounted)?;
    }
    RECORDS_PARKS.store(true, Relaxed);
    Ok(())
}

/// Leaves parks to probes.
pub fn leave_parks() {
    RECORDS_PARKS.store(false, Relaxed);
}

/// Whether parks are recorded here.
pub fn records_parks() -> bool {
    RECORDS_PARKS.load(Relaxed)
}

#[unsafe(export_name = "Java_java_lang_TyrionProbe_replaceNativesNow")]
extern "system" fn replace_natives_now(env: *mut JNIEnv, _: jclass) {
    let Some(recorder) = recorder() else { return };
    guarded(|| {
        // SAFETY: the JVM passes the current thread's environment, whose native
        // frame lasts as long as the call.
        let java = unsafe { Java::new(env) };
        let outcome = replace(recorder.ti(), java, &park_replacement());
        if outcome.is_ok() {
            // Without it, threads keep the names that they had first.
            let _ = replace(recorder.ti(), java, &name_replacement());
        }
        *lock(&OUTCOME) = Some(outcome);
    });
}

fn park_replacement() -> Replacement {
    Replacement {
        class: "jdk/internal/misc/Unsafe",
        name: c"park",
        descriptor: c"(ZJ)V",
        code: park as *mut c_void,
        keep: |code| {
            // SAFETY: this is the JVM's own code of a method with this signature.
            let _ = PARK.set(unsafe { std::mem::transmute::<*mut c_void, Park>(code) });
        },
    }
}

fn name_replacement() -> Replacement {
    Replacement {
        class: "java/lang/Thread",
        name: c"setNativeName",
        descriptor: c"(Ljava/lang/String;)V",
        code: set_native_name as *mut c_void,
        keep: |code| {
            // SAFETY: this is the JVM's own code of a method with this signature.
            let code = unsafe { std::mem::transmute::<*mut c_void, SetNativeName>(code) };
            let _ = SET_NATIVE_NAME.set(code);
        },
    }
}

unsafe extern "system" fn park(env: *mut JNIEnv, of: jobject, is_absolute: jboolean, time: jlong) {
    let recorded = RECORDS_PARKS.load(Relaxed).then(contention).flatten();
    let Some(contention) = recorded.filter(|contention| contention.recorder().is_enabled()) else {
        return park_now(env, of, is_absolute, time);
    };
    // SAFETY: the JVM passes the current thread's environment, whose native frame
    // lasts as long as the call.
    let java = unsafe { Java::new(env) };
    let thread = contention.recorder().ti().current_thread(java);
    guarded(|| {
        let limit = match (is_absolute, time) {
            (0, 1..) => ParkLimit::Ns(time as u64),
            _ => ParkLimit::None,
        };
        contention.hooked_park_begins(java, thread.get(), limit);
    });
    park_now(env, of, is_absolute, time);
    guarded(|| contention.hooked_park_ends(java, thread.get()));
    java.drop_local(thread);
}

/// A virtual thread is on a carrier.
unsafe extern "C" fn mounted(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    with_virtual(env, thread, Contention::has_carrier);
}

/// A virtual thread leaves its carrier.
unsafe extern "C" fn unmounted(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    with_virtual(env, thread, Contention::leaves_carrier);
}

fn with_virtual(
    env: *mut JNIEnv,
    thread: jthread,
    body: fn(&'static Contention, Java<'_>, Object<'_>),
) {
    let Some(contention) = contention().filter(|_| RECORDS_PARKS.load(Relaxed)) else { return };
    guarded(|| {
        // SAFETY: HotSpot passes the current thread's environment, whose native frame
        // lasts as long as the call, and a reference that is valid during it.
        let (java, thread) = unsafe { (Java::new(env), Object::new(thread)) };
        body(contention, java, thread);
    });
}

fn park_now(env: *mut JNIEnv, of: jobject, is_absolute: jboolean, time: jlong) {
    if let Some(park) = PARK.get() {
        // SAFETY: the JVM's own code, called as the JVM has called us.
        unsafe { park(env, of, is_absolute, time) };
    }
}

unsafe extern "system" fn set_native_name(env: *mut JNIEnv, thread: jobject, name: jstring) {
    if let Some(set) = SET_NATIVE_NAME.get() {
        // SAFETY: the JVM's own code, called as the JVM has called us.
        unsafe { set(env, thread, name) };
    }
    let Some(contention) = contention() else { return };
    guarded(|| {
        // SAFETY: the JVM passes the current thread's environment and a valid reference.
        let (java, thread) = unsafe { (Java::new(env), Object::new(thread)) };
        contention.recorder().renamed(java, thread);
    });
}
