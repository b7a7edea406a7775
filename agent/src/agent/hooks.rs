//! The JDK's native methods that the agent stands in for, so that no class has to be
//! changed in a JVM that would throw compiled code away for that. What runs in their
//! place is given: it knows who records.

use super::error::AgentError;
use crate::{
    contention::Contention,
    jvm::{
        Java, JvmError, Ti,
        natives::{Replacement, replace},
        setup,
        virtual_threads::MountCallback,
    },
    message::say,
    options::{Locks, Parks},
    recorder::threads::ParkSeenBy,
    sync::lock,
};
use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jlong, jobject, jstring};
use std::{
    ffi::c_void,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// `Unsafe.park(isAbsolute, time)`.
pub type Park = unsafe extern "system" fn(*mut JNIEnv, jobject, jboolean, jlong);
/// `Unsafe.unpark(thread)`.
pub type Unpark = unsafe extern "system" fn(*mut JNIEnv, jobject, jobject);
/// `Thread.setNativeName(name)`.
pub type SetNativeName = unsafe extern "system" fn(*mut JNIEnv, jobject, jstring);

/// What runs in place of the JDK's methods, and when virtual threads move.
pub struct StandIns {
    /// For `Unsafe.park`; it calls [`park_now`].
    pub park: Park,
    /// For `Unsafe.unpark`; it calls [`unpark_now`].
    pub unpark: Unpark,
    /// For `Thread.setNativeName`; it calls [`set_native_name_now`].
    pub set_native_name: SetNativeName,
    /// A virtual thread is on a carrier.
    pub mounted: MountCallback,
    /// A virtual thread leaves its carrier.
    pub unmounted: MountCallback,
}

static STAND_INS: OnceLock<StandIns> = OnceLock::new();
static PARK: OnceLock<Park> = OnceLock::new();
static UNPARK: OnceLock<Unpark> = OnceLock::new();
static SET_NATIVE_NAME: OnceLock<SetNativeName> = OnceLock::new();
/// Whether parks are recorded here, and not by probes.
static RECORDS_PARKS: AtomicBool = AtomicBool::new(false);
/// Whether it is to be seen who unparks threads.
static WAKERS: AtomicBool = AtomicBool::new(false);
/// What went wrong with the replacement, if it has been tried.
static OUTCOME: Mutex<Option<Result<(), JvmError>>> = Mutex::new(None);

/// How long the JVM may take to see the agent's library.
const LINK_PATIENCE: Duration = Duration::from_secs(10);
/// Whether the first change of a class throws all compiled code away.
static IS_DEAR: AtomicBool = AtomicBool::new(false);

/// Whether no class may be changed at all.
static CLASSES_STAY: AtomicBool = AtomicBool::new(false);

/// Notes whether this JVM makes an AOT cache of what it does: it fails to, or crashes, if
/// classes of the JDK have been changed.
pub fn classes_stay(must_stay: bool) {
    CLASSES_STAY.store(must_stay, Relaxed);
}

/// Notes whether this JVM throws all compiled code away when the first class is
/// changed: those before JDK 25 do, unless an agent has announced at its start that it
/// may change some.
pub fn redefinition_is_dear(ti: Ti, is_unannounced: bool) {
    const CHEAP_SINCE: u32 = 25;
    let is_dear = is_unannounced && ti.java_release().is_some_and(|release| release < CHEAP_SINCE);
    IS_DEAR.store(is_dear, Relaxed);
}

/// Why no class may get probes unasked, if none may.
pub fn why_classes_stay() -> Option<&'static str> {
    if CLASSES_STAY.load(Relaxed) {
        return Some("this JVM makes an AOT cache, which fails once classes have probes");
    }
    IS_DEAR.load(Relaxed).then_some(
        "this JVM would discard all compiled code for the probes of single locks; before JDK 25, \
         that is so unless the agent is there from the start, as with tyrion record",
    )
}

/// How parks are to be seen, by what the user asked for: [`Parks::Auto`] stands for native
/// methods with those probes beside them that tell more.
pub fn chosen(asked: Parks, locks: Locks) -> Parks {
    let has_waits_alone = matches!(locks, Locks::Contention | Locks::Auto);
    let must_stay = has_waits_alone && CLASSES_STAY.load(Relaxed);
    match asked {
        Parks::Probes if must_stay => {
            say("this JVM makes an AOT cache, which fails once classes have probes: parks=natives");
            Parks::Natives
        }
        Parks::Auto if must_stay => Parks::Natives,
        // Trace mode has to change classes in any case.
        Parks::Auto if has_waits_alone && IS_DEAR.load(Relaxed) => Parks::Natives,
        // It has probes everywhere, these among them.
        Parks::Auto if locks == Locks::Trace => Parks::Probes,
        asked => asked,
    }
}

/// Notes what is to run in place of the JDK's methods.
pub fn provide(stand_ins: StandIns) {
    let _ = STAND_INS.set(stand_ins);
}

/// Has parks recorded by way of the JDK's native methods from now on; those of virtual
/// threads, which park by none, as `virtual_by` says.
///
/// # Errors
/// Why that cannot be.
pub fn record_parks(
    contention: &'static Contention,
    java: Java,
    virtual_by: ParkSeenBy,
) -> Result<(), AgentError> {
    let stand_ins = STAND_INS.get().ok_or(AgentError::NoStandIns)?;
    let class = setup::probe_class(java)?;
    contention.infer(java, virtual_by);
    WAKERS.store(contention.notes_wakers(), Relaxed);
    let deadline = Instant::now() + LINK_PATIENCE;
    loop {
        let called = setup::call_static(java.raw(), class.get(), "replaceNatives");
        match (lock(&OUTCOME).take(), called) {
            (Some(Ok(())), _) => break,
            (Some(Err(reason)), _) => return Err(reason.into()),
            (None, Err(reason)) if Instant::now() > deadline => return Err(reason.into()),
            // It was another one's.
            (None, Ok(())) if Instant::now() > deadline => return Err(AgentError::NoStandIns),
            // The JVM finds the method once the agent's library is loaded.
            (None, _) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    java.drop_local(class);
    let ti = contention.recorder().ti();
    let has_virtual = ti.capabilities().can_support_virtual_threads();
    if has_virtual && virtual_by == ParkSeenBy::Natives {
        ti.on_mounts(stand_ins.mounted, stand_ins.unmounted)?;
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

/// Puts the stand-ins in place: called by the native method that [`record_parks`] has
/// called.
pub fn replace_now(ti: Ti, java: Java) {
    let Some(stand_ins) = STAND_INS.get() else { return };
    let class = setup::unsafe_class(java);
    let outcome = replace(ti, java, &park_replacement(class, stand_ins.park));
    if outcome.is_ok() {
        if WAKERS.load(Relaxed) {
            // Without it, it is not known who ends waits.
            let _ = replace(ti, java, &unpark_replacement(class, stand_ins.unpark));
        }
        // Without it, threads keep the names that they had first.
        let _ = replace(ti, java, &name_replacement(stand_ins.set_native_name));
    }
    *lock(&OUTCOME) = Some(outcome);
}

fn park_replacement(class: &'static str, park: Park) -> Replacement {
    Replacement {
        class,
        name: c"park",
        descriptor: c"(ZJ)V",
        code: park as *mut c_void,
        keep: |code| {
            // SAFETY: this is the JVM's own code of a method with this signature.
            let _ = PARK.set(unsafe { std::mem::transmute::<*mut c_void, Park>(code) });
        },
    }
}

fn unpark_replacement(class: &'static str, unpark: Unpark) -> Replacement {
    Replacement {
        class,
        name: c"unpark",
        descriptor: c"(Ljava/lang/Object;)V",
        code: unpark as *mut c_void,
        keep: |code| {
            // SAFETY: this is the JVM's own code of a method with this signature.
            let _ = UNPARK.set(unsafe { std::mem::transmute::<*mut c_void, Unpark>(code) });
        },
    }
}

fn name_replacement(set_native_name: SetNativeName) -> Replacement {
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

/// What `Unsafe.park` does, with the arguments that the JVM has passed.
pub fn park_now(env: *mut JNIEnv, of: jobject, is_absolute: jboolean, time: jlong) {
    if let Some(park) = PARK.get() {
        // SAFETY: the JVM's own code, called as the JVM has called us.
        unsafe { park(env, of, is_absolute, time) };
    }
}

/// What `Unsafe.unpark` does, with the arguments that the JVM has passed.
pub fn unpark_now(env: *mut JNIEnv, of: jobject, thread: jobject) {
    if let Some(unpark) = UNPARK.get() {
        // SAFETY: the JVM's own code, called as the JVM has called us.
        unsafe { unpark(env, of, thread) };
    }
}

/// What `Thread.setNativeName` does, with the arguments that the JVM has passed.
pub fn set_native_name_now(env: *mut JNIEnv, thread: jobject, name: jstring) {
    if let Some(set) = SET_NATIVE_NAME.get() {
        // SAFETY: the JVM's own code, called as the JVM has called us.
        unsafe { set(env, thread, name) };
    }
}
