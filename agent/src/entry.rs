//! The functions that the JVM looks for in the library.

use crate::{
    agent,
    jvm::{Ti, Vm},
};
use jvmti_bindings::sys::{
    jni::{JavaVM, jint},
    jvmti::{JVMTI_VERSION_11, jvmtiEnv},
};
use std::{
    ffi::{CStr, c_char, c_void},
    panic::catch_unwind,
    sync::OnceLock,
};

const JNI_OK: jint = 0;
const JNI_ERR: jint = -1;

/// The one JVMTI environment, whichever way and however often the library is
/// loaded.
static TI: OnceLock<Ti> = OnceLock::new();

/// The JVM starts with the agent on its command line.
///
/// # Safety
/// Called by the JVM, as the JVMTI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _: *mut c_void,
) -> jint {
    catch_unwind(|| {
        // SAFETY: the JVM passes its own pointer and a text or null.
        let (vm, options) = unsafe { (Vm::new(vm), text(options)) };
        let Some(ti) = jvmti(vm) else {
            agent::say("this JVM has no JVMTI 11; it runs on unprofiled");
            return JNI_OK;
        };
        match agent::load(ti, &options) {
            Ok(()) => JNI_OK,
            Err((message, false)) => {
                agent::say(&format!("{message}; the program runs on unprofiled"));
                JNI_OK
            }
            Err((message, true)) => {
                agent::say(&format!("{message}; strict, so the JVM does not start"));
                JNI_ERR
            }
        }
    })
    .unwrap_or(JNI_OK)
}

/// The agent is loaded into a running JVM, perhaps again.
///
/// # Safety
/// Called by the JVM, as the JVMTI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *mut c_char,
    _: *mut c_void,
) -> jint {
    catch_unwind(|| {
        // SAFETY: the JVM passes its own pointer and a text or null.
        let (vm, options) = unsafe { (Vm::new(vm), text(options)) };
        match jvmti(vm) {
            Some(ti) => agent::attach(vm, ti, &options),
            None => agent::say("this JVM has no JVMTI 11; it runs on unprofiled"),
        }
        // Never anything else: HotSpot would unload the library, with threads
        // and events still in it.
        JNI_OK
    })
    .unwrap_or(JNI_OK)
}

/// The JVMTI environment, once there is one.
pub fn ti() -> Option<Ti> {
    TI.get().copied()
}

fn jvmti(vm: Vm) -> Option<Ti> {
    if let Some(&ti) = TI.get() {
        return Some(ti);
    }
    let env = vm.environment(JVMTI_VERSION_11)?;
    // SAFETY: GetEnv gave this JVMTI environment, and nobody disposes of it.
    let ti = unsafe { Ti::new(env.cast::<jvmtiEnv>()) };
    Some(*TI.get_or_init(|| ti))
}

/// # Safety
/// `options` is null or a text that ends with a zero byte.
unsafe fn text(options: *const c_char) -> Vec<u8> {
    if options.is_null() {
        return Vec::new();
    }
    // SAFETY: not null, so by the contract a text.
    unsafe { CStr::from_ptr(options) }.to_bytes().to_vec()
}
