//! Which classes get whose probes.

use super::hooks;
use crate::{
    contention::Contention,
    jvm::{Java, Ti, setup},
    message::say,
    options::{Parks, TraceOptions},
    trace,
};
use jvmti_bindings::sys::{jni::JNIEnv, jvmti};
use std::ffi::c_uchar;
use tyrion_bytecode::Method;
use tyrion_plan::{JdkClass, waits};

/// Gives the JDK's lock classes their probes. What cannot have them is said
/// and left out: monitors are recorded without any.
pub fn add_probes(
    contention: &'static Contention,
    parks: Parks,
    trace_options: Option<&TraceOptions>,
    env: *mut JNIEnv,
) {
    let recorder = contention.recorder();
    // SAFETY: `env` is the current thread's, and this is called in a native frame
    // that lasts longer.
    let java = unsafe { Java::new(env) };
    if parks == Parks::Natives {
        if let Err(reason) = hooks::record_parks(contention, java) {
            say(&format!("no waits of java.util.concurrent are recorded: {reason}"));
        }
        return;
    }
    let linked = setup::probe_class(java).and_then(|class| {
        recorder.leave_out(recorder.ti().methods_of(class.get()).unwrap_or_default());
        setup::link(env, class.get())
    });
    if let Err(reason) = linked {
        say(&format!("no waits of java.util.concurrent are recorded: {reason}"));
        return;
    }
    let ti = recorder.ti();
    let hook = jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
    let _ = ti.set_event(hook, true);
    if let Some(options) = trace_options {
        match trace::prepare(recorder, options.clone(), env) {
            // The hook stays on, for classes that are loaded later.
            Ok(trace) => {
                contention.observe_with(trace);
                return trace.add_probes(env);
            }
            Err(reason) => say(&format!("only waits are recorded, no acquisitions: {reason}")),
        }
    }
    for target in waits::CLASSES {
        let retransformed = setup::find_class(java, target.name()).and_then(|class| {
            let result = ti.retransform(class.get());
            java.drop_local(class);
            result.map_err(|error| format!("JVMTI: {error:?}"))
        });
        if let Err(reason) = retransformed {
            say(&format!("{} gets no probes: {reason}", target.name()));
        }
    }
    let _ = ti.set_event(hook, false);
}

/// The new bytes of a class that gets probes, in JVMTI's memory, and their
/// number; `None` for all others.
pub fn transform(ti: Ti, name: &str, bytes: &[u8]) -> Option<(*mut c_uchar, usize)> {
    let target = waits::CLASSES.into_iter().find(|class| class.name() == name);
    let bytes = if trace::active().is_some() {
        let of_waits =
            target.map(|target| move |method: &Method<'_, '_>| waits::plan(target, method));
        trace::transform(name, bytes, of_waits)?
    } else {
        add_contention_probes(target?, name, bytes)?
    };
    let memory = ti.allocate_copy(&bytes).ok()?;
    Some((memory, bytes.len()))
}

fn add_contention_probes(target: JdkClass, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    match waits::add_probes(target, bytes) {
        Ok(probed) => {
            for left in &probed.left {
                say(&format!("{name} lacks a probe: {left}"));
            }
            Some(probed.bytes)
        }
        Err(reason) => {
            say(&format!("{name} gets no probes: {reason}"));
            None
        }
    }
}
