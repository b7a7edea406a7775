//! The functions that the JVM looks for in the library.

use crate::{agent, jvm::Ti};
use jvmti_bindings::sys::{
    jni::{JNIEnv, JavaVM, jint},
    jvmti::{JVMTI_VERSION_11, jvmtiEnv},
};
use std::{
    ffi::{CStr, c_char, c_void},
    panic::catch_unwind,
    ptr,
    sync::OnceLock,
};

const JNI_OK: jint = 0;
const JNI_ERR: jint = -1;
const JNI_VERSION_10: jint = 0x000a_0000;

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
        let (ti, options) = unsafe { (jvmti(vm), text(options)) };
        let Some(ti) = ti else {
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
        let (ti, env, options) = unsafe { (jvmti(vm), jni(vm), text(options)) };
        let (Some(ti), Some(env)) = (ti, env) else { return JNI_ERR };
        match agent::attach(ti, env, &options) {
            Ok(_) => JNI_OK,
            Err(message) => {
                agent::say(&message);
                JNI_ERR
            }
        }
    })
    .unwrap_or(JNI_ERR)
}

/// # Safety
/// `vm` is the JVM's.
unsafe fn jvmti(vm: *mut JavaVM) -> Option<Ti> {
    if let Some(&ti) = TI.get() {
        return Some(ti);
    }
    // SAFETY: `vm` is the JVM's.
    let env = unsafe { environment(vm, JVMTI_VERSION_11) }?;
    // SAFETY: GetEnv gave this JVMTI environment, and nobody disposes of it.
    let ti = unsafe { Ti::new(env.cast::<jvmtiEnv>()) };
    Some(*TI.get_or_init(|| ti))
}

/// # Safety
/// `vm` is the JVM's.
unsafe fn jni(vm: *mut JavaVM) -> Option<*mut JNIEnv> {
    // SAFETY: `vm` is the JVM's.
    let env = unsafe { environment(vm, JNI_VERSION_10) }?;
    Some(env.cast())
}

/// # Safety
/// `vm` is the JVM's.
unsafe fn environment(vm: *mut JavaVM, version: jint) -> Option<*mut c_void> {
    let mut env = ptr::null_mut();
    // SAFETY: the JVM's pointer leads to its function table; `env` is a valid
    // place for the answer.
    let result = unsafe { ((**vm).GetEnv)(vm, &mut env, version) };
    (result == JNI_OK && !env.is_null()).then_some(env)
}

/// # Safety
/// `options` is null or a text that ends with a zero byte.
unsafe fn text(options: *const c_char) -> String {
    if options.is_null() {
        return String::new();
    }
    // SAFETY: not null, so by the contract a text.
    unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned()
}
