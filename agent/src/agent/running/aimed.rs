//! Single locks are traced for a while: classes get probes, and lose them again.

use super::{ENDS, MODES, Modes, at_work, note_recorded};
use crate::{
    agent::{error::AgentError, instrument},
    options::{AutoOptions, Locks, Options},
    recorder::Recorder,
    sample,
    sync::lock,
    trace::{self, Chosen},
};
use jvmti_bindings::sys::jni::JNIEnv;
use std::sync::{Arc, atomic::Ordering::SeqCst};
use tyrion_plan::Aim;
use tyrion_wire::def::option;

/// Notes when single locks are to be traced, as far as the options say so.
pub fn choose_auto(options: &Options) {
    let mut modes = lock(&MODES);
    let before = modes.auto.clone().unwrap_or_default();
    modes.auto = Some(options.auto_after(&before));
}

/// When single locks are to be traced.
pub fn auto() -> AutoOptions {
    lock(&MODES).auto.clone().unwrap_or_default()
}

/// Whether single locks are traced at the moment.
pub fn is_aimed() -> bool {
    lock(&MODES).aim.is_some()
}

/// Whether they may be: it is wanted, and recording is on.
pub fn may_aim(recorder: &Recorder) -> bool {
    let modes = lock(&MODES);
    modes.locks == Locks::Auto && recorder.is_enabled() && !ENDS.load(SeqCst)
}

/// Traces these locks from now on, and no others. `names` are told to the log. Returns
/// whether it does.
///
/// # Errors
/// What the JVM refused. Then no class keeps probes.
pub fn aim(
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    aim: &Arc<Aim>,
    names: String,
) -> Result<bool, AgentError> {
    let mut modes = lock(&MODES);
    let is_possible = modes.locks == Locks::Auto && recorder.is_enabled();
    if !is_possible || modes.has_left || modes.aim.is_some() || ENDS.load(SeqCst) {
        return Ok(false);
    }
    modes.aim = Some(Arc::clone(aim));
    if let Some(trace) = trace::active() {
        let options = modes.trace.clone().unwrap_or_default();
        let chosen = Chosen { options: &options, aim: Some(aim) };
        instrument::choose_classes(&mut modes.probes, trace, env, chosen);
    }
    let begun = at_work(&mut modes, recorder, env, true);
    if ENDS.load(SeqCst) {
        // The JVM ends, and has switched off what was only switched on after that.
        let switched = trace::active().map_or(Ok(()), |trace| trace.switch(env, false));
        return Ok(switched.map(|()| false)?);
    }
    if begun.is_err() {
        let ended = end(&mut modes, recorder, env);
        return begun.and(ended).map(|()| false);
    }
    let has_begun = modes.aim.is_some();
    if has_begun {
        recorder.tell_options(&[(option::AIMED, names)]);
        note_recorded(&modes, recorder, sample::is_wanted());
    }
    Ok(has_begun)
}

/// Traces no single locks any more.
///
/// # Errors
/// What the JVM refused.
pub fn end_aim(recorder: &'static Recorder, env: *mut JNIEnv) -> Result<(), AgentError> {
    end(&mut lock(&MODES), recorder, env)
}

/// The same, while the modes are changed.
pub(super) fn end(
    modes: &mut Modes,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
) -> Result<(), AgentError> {
    // A JVM that ends switches the probes off, and is asked nothing any more.
    if ENDS.load(SeqCst) || modes.aim.take().is_none() {
        return Ok(());
    }
    // Whatever becomes of the rest: probes that are off do nothing.
    let switched = trace::active().map_or(Ok(()), |trace| {
        let switched = trace.switch(env, false);
        trace.write_statistics(&recorder.log().current());
        switched
    });
    note_recorded(modes, recorder, sample::is_wanted());
    recorder.tell_options(&[(option::AIMED, String::new())]);
    let taken = take_back(modes, recorder, env);
    switched.map_err(AgentError::from).and(taken)
}

/// Whether classes have kept probes that were to be taken back.
pub fn has_left() -> bool {
    are_left(&lock(&MODES))
}

fn are_left(modes: &Modes) -> bool {
    modes.has_left && modes.locks != Locks::Trace && !ENDS.load(SeqCst)
}

/// Takes those back.
///
/// # Errors
/// What the JVM refused.
pub fn take_back_what_is_left(
    recorder: &'static Recorder,
    env: *mut JNIEnv,
) -> Result<(), AgentError> {
    let mut modes = lock(&MODES);
    // Trace mode may have come, and wants them.
    if are_left(&modes) { take_back(&mut modes, recorder, env) } else { Ok(()) }
}

fn take_back(
    modes: &mut Modes,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
) -> Result<(), AgentError> {
    let Some(trace) = trace::active().filter(|_| modes.probes.trace) else { return Ok(()) };
    modes.has_left = !instrument::take_back(&mut modes.probes, trace, env);
    // Whoever wants trace mode next gets all that the user has asked for.
    let options = modes.trace.clone().unwrap_or_default();
    trace.choose_classes(Chosen { options: &options, aim: None });
    // The probes of waits are still needed.
    at_work(modes, recorder, env, recorder.is_enabled())
}
