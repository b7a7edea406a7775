//! What is at work: the recording and its modes, switched on and off together.

use super::instrument;
use crate::{
    contention::Contention,
    jvm::{Java, Vm},
    message::say,
    options::{Locks, Mode, Parks, TraceOptions},
    recorder::Recorder,
    sample,
    spawn::thread,
    sync::lock,
    trace,
};
use jvmti_bindings::sys::{jni::JNIEnv, jvmti};
use std::sync::{Mutex, OnceLock};
use tyrion_wire::header::RecordingState;

static RECORDER: OnceLock<Recorder> = OnceLock::new();
static CONTENTION: OnceLock<Contention> = OnceLock::new();
static VM: OnceLock<Vm> = OnceLock::new();
/// Held while the agent is started or switched; whether the JDK's lock classes
/// have their probes.
static PROBED: Mutex<bool> = Mutex::new(false);
/// What is recorded of locks, which does not change.
static LOCKS: OnceLock<Locks> = OnceLock::new();
/// How parks are seen.
static PARKS: OnceLock<Parks> = OnceLock::new();
/// What the user asked of trace mode, if anything.
static TRACE_OPTIONS: OnceLock<TraceOptions> = OnceLock::new();

/// There is a recorder from now on, one for each JVM: threads hold on to it
/// until the process ends. `trace` is what the user asked of trace mode.
pub fn install(
    new: impl FnOnce() -> Recorder,
    vm: Vm,
    (locks, parks): (Locks, Parks),
    trace: Option<TraceOptions>,
) -> &'static Contention {
    let recorder = RECORDER.get_or_init(new);
    recorder.on_give_up(end_trace);
    let _ = LOCKS.set(locks);
    let _ = PARKS.set(parks);
    if let Some(trace) = trace {
        let _ = TRACE_OPTIONS.set(trace);
    }
    let _ = VM.set(vm);
    CONTENTION.get_or_init(|| Contention::new(recorder))
}

/// The recorder, once the agent has started.
#[inline]
pub fn recorder() -> Option<&'static Recorder> {
    RECORDER.get()
}

/// What records waits, once the agent has started.
#[inline]
pub fn contention() -> Option<&'static Contention> {
    CONTENTION.get()
}

/// Recording stops for good; the application goes on.
pub fn give_up(reason: &str) {
    match recorder() {
        Some(recorder) => recorder.give_up(reason),
        None => say(&format!("{reason}; the program runs unprofiled")),
    }
}

/// Has the probes of trace mode return at once from now on. Whoever calls this
/// may be in the middle of one, or not known to the JVM.
fn end_trace() {
    let (Some(trace), Some(&vm)) = (trace::active(), VM.get()) else { return };
    let body = move || {
        vm.with_thread(|env| trace.switch(env, false));
    };
    // Without a thread the probes go on, and find no room.
    let _ = thread("tyrion-end", body);
}

/// Whether waits are recorded, while recording is on.
pub fn records_waits() -> bool {
    LOCKS.get().is_some_and(|&locks| locks != Locks::Nothing)
}

/// Whether so much is recorded of locks, or more.
pub fn is_recorded(wanted: Locks) -> bool {
    let recorded = LOCKS.get().copied().unwrap_or(Locks::Nothing);
    wanted == Locks::Nothing || wanted == recorded || recorded == Locks::Trace
}

/// Has waits shorter than this folded from now on.
pub fn set_threshold_ns(recorder: &Recorder, threshold_ns: u64) {
    recorder.set_threshold_ns(threshold_ns);
    if let Some(trace) = trace::active() {
        trace.set_threshold_ns(threshold_ns);
    }
    recorder.log().set_threshold_ns(threshold_ns);
}

/// What the agent is doing, in `key=value` lines.
pub fn status(recorder: &'static Recorder) -> String {
    let state = if recorder.log().is_dead() {
        RecordingState::Broken
    } else if recorder.is_enabled() {
        RecordingState::Recording
    } else {
        RecordingState::Paused
    };
    let locks = match LOCKS.get().copied().unwrap_or(Locks::Nothing) {
        // It may have failed to start.
        Locks::Trace if trace::active().is_none() => Locks::Contention,
        locks => locks,
    };
    let period_ns = sample::period_ns();
    // What has stopped for good is still what was wanted.
    let is_broken = state == RecordingState::Broken;
    let mode = Mode { locks, sample: period_ns.is_some() || is_broken && sample::is_wanted() };
    let reason = recorder.why_it_gave_up().filter(|_| is_broken);
    let reason = reason
        .map_or(String::new(), |reason| format!("reason={}\n", reason.replace(['\n', '\r'], " ")));
    let sampling = match period_ns {
        Some(period_ns) => format!("sampling=on\nperiod_ns={period_ns}\n"),
        None => "sampling=off\n".to_owned(),
    };
    format!(
        "state={}\n{reason}log={}\nmode={}\nthreshold_ns={}\n{sampling}",
        state.name(),
        recorder.log().path().display(),
        mode.name(),
        recorder.threshold_ns(),
    )
}

/// Switches recording on or off. The first time on, the JDK's lock classes get
/// their probes.
///
/// # Errors
/// In words, what the JVM did not want.
pub fn switch(recorder: &'static Recorder, env: *mut JNIEnv, on: bool) -> Result<(), String> {
    let mut probed = lock(&PROBED);
    if records_waits() {
        if on
            && !std::mem::replace(&mut *probed, true)
            && let Some(contention) = contention()
        {
            let parks = PARKS.get().copied().unwrap_or(Parks::Probes);
            instrument::add_probes(contention, parks, TRACE_OPTIONS.get(), env);
        }
        let ti = recorder.ti();
        for event in [jvmti::JVMTI_EVENT_MONITOR_CONTENDED_ENTER, jvmti::JVMTI_EVENT_MONITOR_WAIT] {
            ti.set_event(event, on).map_err(|error| format!("JVMTI: {error:?}"))?;
        }
    }
    if let Some(trace) = trace::active() {
        trace.switch(env, on)?;
        if !on {
            trace.write_statistics(&recorder.log().current());
        }
    }
    recorder.set_enabled(on);
    if !on {
        if let Some(contention) = contention() {
            contention.settle_older(u64::MAX);
        }
        recorder.pauses();
    } else {
        recorder.goes_on();
        if records_waits() {
            // SAFETY: the environment is the current thread's.
            let java = unsafe { Java::new(env) };
            recorder.list_threads(java, |thread| {
                if let Some(contention) = contention() {
                    contention.find_wait(java, thread);
                }
            });
        }
    }
    let state = if on { RecordingState::Recording } else { RecordingState::Paused };
    recorder.log().set_state(state);
    sample::recording(on);
    Ok(())
}
