//! The functions that the JVM looks for in the library.

use super::{attach, callbacks, start};
use crate::{
    jvm::{Vm, agents::in_first_copy},
    message::say,
};
use jvmti_bindings::sys::jni::{JavaVM, jint};
use std::{
    ffi::{CStr, c_char, c_void},
    panic::catch_unwind,
};

const JNI_OK: jint = 0;
const JNI_ERR: jint = -1;

/// The JVM starts with the agent on its command line.
///
/// # Safety
/// Called by the JVM, as the JVMTI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    reserved: *mut c_void,
) -> jint {
    catch_unwind(|| {
        if let Some(entry) = in_first(c"Agent_OnLoad") {
            // SAFETY: what the JVM has passed.
            return unsafe { entry(vm, options, reserved) };
        }
        // SAFETY: the JVM passes its own pointer and a text or null.
        let (vm, options) = unsafe { (Vm::new(vm), text(options)) };
        let Some(ti) = vm.jvmti() else {
            say("this JVM is older than JDK 8; it runs unprofiled");
            return JNI_OK;
        };
        match start::load((ti, callbacks::table), &options) {
            Ok(()) => JNI_OK,
            Err((message, false)) => {
                say(&format!("{message}; the program runs unprofiled"));
                JNI_OK
            }
            Err((message, true)) => {
                say(&format!("{message}; strict, so the JVM does not start"));
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
    reserved: *mut c_void,
) -> jint {
    catch_unwind(|| {
        if let Some(entry) = in_first(c"Agent_OnAttach") {
            // SAFETY: what the JVM has passed.
            return unsafe { entry(vm, options, reserved) };
        }
        // SAFETY: the JVM passes its own pointer and a text or null.
        let (vm, options) = unsafe { (Vm::new(vm), text(options)) };
        match vm.jvmti() {
            Some(ti) => attach::attach(vm, (ti, callbacks::table), &options),
            None => say("this JVM is older than JDK 8; it runs unprofiled"),
        }
        // Never anything else: HotSpot would unload the library, with threads
        // and events still in it.
        JNI_OK
    })
    .unwrap_or(JNI_OK)
}

type Entry = unsafe extern "system" fn(*mut JavaVM, *mut c_char, *mut c_void) -> jint;

/// The same function of another copy of this agent, if that was loaded before.
fn in_first(name: &CStr) -> Option<Entry> {
    let code = in_first_copy(name)?;
    // SAFETY: agents of ours have functions of this type by these names.
    Some(unsafe {
        std::mem::transmute::<*const u8, Entry>(std::ptr::with_exposed_provenance(code))
    })
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
