//! How virtual threads park: they leave their carrier, of which no native method of
//! the JDK knows, but HotSpot has events for it.

use super::{
    Java, JvmError, Object, Ti,
    setup::{field_if_any, find_class, static_int},
    ti::call,
};
use jvmti_bindings::sys::{
    jni::{JNIEnv, jfieldID, jint, jmethodID, jthread},
    jvmti::{
        JVMTI_EVENT_VIRTUAL_THREAD_END, JVMTI_EVENT_VIRTUAL_THREAD_START, jvmtiCapabilities,
        jvmtiEnv, jvmtiError, jvmtiEvent, jvmtiExtensionEvent, jvmtiExtensionEventInfo,
    },
};
use std::{
    ffi::CStr,
    ptr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// What HotSpot calls when a virtual thread comes to a carrier, and leaves it.
pub type MountCallback = unsafe extern "C" fn(*mut jvmtiEnv, *mut JNIEnv, jthread);

const MOUNT: &CStr = c"com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNT: &CStr = c"com.sun.hotspot.events.VirtualThreadUnmount";
const CLASS: &str = "java/lang/VirtualThread";
/// Classes by whose methods a virtual thread comes from `LockSupport` to where it
/// leaves its carrier.
const MACHINERY: [&str; 7] = [
    CLASS,
    "jdk/internal/misc/VirtualThreads",
    // Which of them has the method differs: on JDK 21 it is the second one, on 25 the first.
    "java/lang/System$1",
    "java/lang/System$2",
    "java/lang/System$3",
    "jdk/internal/misc/Unsafe",
    "jdk/internal/vm/Continuation",
];
/// Names of the states in which a virtual thread is about to park. The second is
/// there from JDK 22 on.
const PARKING: [&str; 2] = ["PARKING", "TIMED_PARKING"];

/// What is known of the class of virtual threads.
pub struct VirtualThreads {
    state: jfieldID,
    parking: Vec<i32>,
    machinery: Vec<usize>,
}

// SAFETY: field ids are valid on every thread.
unsafe impl Send for VirtualThreads {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for VirtualThreads {}

/// Has the JVM tell of virtual threads, which makes each of them cost more: where it has
/// none, before JDK 21, nothing. To be called once something is recorded.
pub fn be_told(ti: Ti) {
    static ARE_TOLD: AtomicBool = AtomicBool::new(false);
    if ARE_TOLD.swap(true, Relaxed) {
        return;
    }
    let can = |c: &mut jvmtiCapabilities| c.set_can_support_virtual_threads(true);
    if ti.add_capabilities(&[can]).is_ok() {
        let _ = ti.set_event(JVMTI_EVENT_VIRTUAL_THREAD_END, true);
    }
}

/// Has the JVM tell when virtual threads start, too.
pub fn be_told_of_starts(ti: Ti) {
    be_told(ti);
    // Before JDK 21 there are none.
    let _ = ti.set_event(JVMTI_EVENT_VIRTUAL_THREAD_START, true);
}

impl VirtualThreads {
    /// Looks everything up; `None` where there are no virtual threads, or they are
    /// unlike those known.
    pub fn find(ti: Ti, java: Java) -> Option<VirtualThreads> {
        let class = find_class(java, CLASS).ok()?;
        let constant = |name| static_int(java.raw(), class.get(), name).ok();
        let parking: Vec<i32> = PARKING.into_iter().filter_map(constant).collect();
        java.drop_local(class);
        let state = field_if_any(java.raw(), CLASS, "state", "I");
        let mut machinery: Vec<usize> = Vec::new();
        for name in MACHINERY {
            let Ok(class) = find_class(java, name) else { continue };
            let methods = ti.methods_of(class.get()).unwrap_or_default();
            machinery.extend(methods.into_iter().map(|method| method as usize));
            java.drop_local(class);
        }
        machinery.sort_unstable();
        let is_known = !state.is_null() && !parking.is_empty();
        is_known.then_some(VirtualThreads { state, parking, machinery })
    }

    /// Whether a virtual thread is about to park, or has tried to, but could not leave
    /// its carrier.
    pub fn is_parking(&self, java: Java, thread: Object<'_>) -> bool {
        self.parking.contains(&java.int_field(thread, self.state))
    }

    /// Whether a method leads from `LockSupport` to where the carrier is left.
    pub fn is_machinery(&self, method: jmethodID) -> bool {
        self.machinery.binary_search(&(method as usize)).is_ok()
    }
}

impl Ti {
    /// Has HotSpot tell when virtual threads come to a carrier, and leave it.
    ///
    /// # Errors
    /// When it has no such events.
    pub fn on_mounts(&self, mount: MountCallback, unmount: MountCallback) -> Result<(), JvmError> {
        let mut count: jint = 0;
        let mut infos: *mut jvmtiExtensionEventInfo = ptr::null_mut();
        call!(self, GetExtensionEvents, &mut count, &mut infos)?;
        let mut set = 0;
        for info in self.take_array(infos, count) {
            if !info.id.is_null() {
                // SAFETY: JVMTI's texts end with a zero byte.
                let id = unsafe { CStr::from_ptr(info.id) };
                let wanted = [(MOUNT, mount), (UNMOUNT, unmount)];
                if let Some((_, callback)) = wanted.into_iter().find(|(name, _)| *name == id)
                    && self.set_extension_event(info.extension_event_index, callback).is_ok()
                {
                    set += 1;
                }
            }
            for parameter in self.take_array(info.params, info.param_count) {
                self.free(parameter.name.cast());
            }
            self.free(info.id.cast());
            self.free(info.short_description.cast());
        }
        if set == 2 { Ok(()) } else { Err(JvmError::NoMounts) }
    }

    fn set_extension_event(&self, index: jint, callback: MountCallback) -> Result<(), jvmtiError> {
        // SAFETY: HotSpot calls it with these arguments, after the environment; by the
        // C calling convention, a function of fixed arguments takes them as well.
        let callback =
            unsafe { std::mem::transmute::<MountCallback, jvmtiExtensionEvent>(callback) };
        call!(self, SetExtensionEventCallback, index, Some(callback))?;
        // HotSpot numbers these events on from those of JVMTI.
        self.set_event(index as jvmtiEvent, true)
    }
}
