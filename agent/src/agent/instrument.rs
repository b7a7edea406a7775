//! Which classes get whose probes.

use crate::{
    contention::{
        Contention,
        probes::{self, ProbedClass},
    },
    jvm::{Java, Ti, setup},
    message::say,
    options::TraceOptions,
    trace,
};
use jvmti_bindings::sys::{
    jni::{JNIEnv, jclass},
    jvmti,
};
use std::ffi::c_uchar;
use tyrion_bytecode::Method;

/// Defines the probe class among the JDK's own, where every class sees it: a
/// local reference.
fn define_probe_class(env: *mut JNIEnv) -> Result<jclass, String> {
    let bytes = probes::probe_class().ok_or("the probe class cannot be written")?;
    setup::define_class(env, probes::PROBE_CLASS, &bytes)
}

/// Gives the JDK's lock classes their probes. What cannot have them is said
/// and left out: monitors are recorded without any.
pub fn add_probes(
    contention: &'static Contention,
    trace_options: Option<&TraceOptions>,
    env: *mut JNIEnv,
) {
    let recorder = contention.recorder();
    let linked = define_probe_class(env).and_then(|class| {
        recorder.leave_out(recorder.ti().methods_of(class).unwrap_or_default());
        let natives: Vec<_> = probes::NATIVES.iter().map(|of| (of.name, of.descriptor)).collect();
        setup::link(env, class, &natives)
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
    for target in ProbedClass::ALL {
        let retransformed = setup::find_class(env, target.class()).and_then(|class| {
            let result = ti.retransform(class);
            // SAFETY: `env` is the current thread's, `class` a local reference.
            unsafe { Java::new(env) }.drop_local(class);
            result.map_err(|error| format!("JVMTI: {error:?}"))
        });
        if let Err(reason) = retransformed {
            say(&format!("{} gets no probes: {reason}", target.class()));
        }
    }
    let _ = ti.set_event(hook, false);
}

/// The new bytes of a class that gets probes, in JVMTI's memory, and their
/// number; `None` for all others.
pub fn transform(ti: Ti, name: &str, bytes: &[u8]) -> Option<(*mut c_uchar, usize)> {
    let target = ProbedClass::by_class(name);
    let bytes = if trace::active().is_some() {
        let of_waits =
            target.map(|target| move |method: &Method<'_, '_>| probes::plan(target, method));
        trace::transform(name, bytes, of_waits)?
    } else {
        add_contention_probes(target?, name, bytes)?
    };
    let memory = ti.allocate_copy(&bytes).ok()?;
    Some((memory, bytes.len()))
}

fn add_contention_probes(target: ProbedClass, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    match probes::add_probes(target, bytes) {
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
