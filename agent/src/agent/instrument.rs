//! Which classes get whose probes.

use super::hooks;
use crate::{
    contention::Contention,
    jvm::{Java, Ti, setup},
    message::say,
    options::{Parks, TraceOptions},
    recorder::Recorder,
    trace::{self, Trace},
};
use jvmti_bindings::sys::{jni::JNIEnv, jvmti};
use std::ffi::c_uchar;
use tyrion_bytecode::Method;
use tyrion_plan::{JdkClass, waits};

/// What sees waits and acquisitions, once it is in place: it stays.
#[derive(Default)]
pub struct Probes {
    /// Of waits, in the JDK's lock classes or in place of its native methods.
    pub waits: bool,
    /// Of trace mode.
    pub trace: bool,
    /// Trace mode looks at classes that are loaded.
    pub loading: bool,
}

/// Has waits seen, and acquisitions where `trace_options` are given. What cannot be
/// is said and left out: monitors are recorded without any probes.
pub fn add_probes(
    contention: &'static Contention,
    probes: &mut Probes,
    parks: Parks,
    trace_options: Option<&TraceOptions>,
    env: *mut JNIEnv,
) {
    // SAFETY: `env` is the current thread's, and this is called in a native frame
    // that lasts longer.
    let java = unsafe { Java::new(env) };
    let wants_trace = trace_options.filter(|_| !probes.trace);
    if wants_trace.is_none() && probes.waits {
        return;
    }
    let first = !std::mem::replace(&mut probes.waits, true);
    if wants_trace.is_none() && parks == Parks::Natives {
        if let Err(reason) = hooks::record_parks(contention, java) {
            say(&format!("no waits of java.util.concurrent are recorded: {reason}"));
        }
        return;
    }
    let recorder = contention.recorder();
    if first || hooks::records_parks() {
        let linked = setup::probe_class(java).and_then(|class| {
            recorder.leave_out(recorder.ti().methods_of(class.get()).unwrap_or_default());
            setup::link(env, class.get())
        });
        if let Err(reason) = linked {
            say(&format!("no waits of java.util.concurrent are recorded: {reason}"));
            return;
        }
    }
    let hook = jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
    let _ = recorder.ti().set_event(hook, true);
    if let Some(options) = wants_trace {
        match trace::prepare(recorder, options.clone(), env) {
            // The hook stays on, for classes that are loaded later.
            Ok(trace) => {
                (probes.trace, probes.loading) = (true, true);
                contention.observe_with(trace);
                // The probes see parks from the moment they are there.
                hooks::leave_parks();
                return trace.add_probes(env);
            }
            Err(reason) => say(&format!("only waits are recorded, no acquisitions: {reason}")),
        }
    }
    if first {
        retransform_waits(recorder, java);
    }
    let _ = recorder.ti().set_event(hook, false);
}

/// Has trace mode look at the classes that are loaded from now on, or not. What it
/// has missed meanwhile, it looks at then.
pub fn follow_loading(probes: &mut Probes, trace: &Trace, env: *mut JNIEnv, on: bool) {
    if std::mem::replace(&mut probes.loading, on) == on {
        return;
    }
    let hook = jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
    // First, so that no class gets by.
    let switched = trace.recorder().ti().set_event(hook, on);
    if on && switched.is_ok() {
        trace.add_missing_probes(env);
    }
}

/// Gives the JDK's lock classes their probes of waits.
fn retransform_waits(recorder: &Recorder, java: Java) {
    for target in waits::CLASSES {
        let retransformed = setup::find_class(java, target.name()).and_then(|class| {
            let result = recorder.ti().retransform(class.get());
            java.drop_local(class);
            result.map_err(|error| format!("JVMTI: {error:?}"))
        });
        if let Err(reason) = retransformed {
            say(&format!("{} gets no probes: {reason}", target.name()));
        }
    }
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
