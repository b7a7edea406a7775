//! The running recording and its modes, which are switched on and off together.

mod aimed;
mod room;

pub use aimed::{
    aim, auto, choose_auto, end_aim, has_left, is_aimed, may_aim, take_back_what_is_left,
};
pub use room::follow as follow_room;

use super::{
    error::AgentError,
    instrument::{self, Probes},
};
use crate::{
    contention::Contention,
    jvm::{Java, Vm, virtual_threads},
    message::{PANICKED, say},
    options::{AutoOptions, Locks, Mode, Options, Parks, TraceOptions},
    recorder::Recorder,
    sample,
    spawn::thread,
    sync::{lock, try_lock_for},
    trace::{self, Chosen},
};
use jvmti_bindings::sys::{jni::JNIEnv, jvmti};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{
        AtomicBool,
        Ordering::{Relaxed, SeqCst},
    },
};
use std::time::Duration;
use tyrion_plan::Aim;
use tyrion_wire::{def::mode as bits, header::RecordingState};

static RECORDER: OnceLock<Recorder> = OnceLock::new();
static CONTENTION: OnceLock<Contention> = OnceLock::new();
static VM: OnceLock<Vm> = OnceLock::new();
/// Held while the agent is started, switched on or off, or given another mode.
static MODES: Mutex<Modes> = Mutex::new(Modes {
    locks: Locks::Nothing,
    parks: Parks::Probes,
    probes: Probes::NONE,
    trace: None,
    auto: None,
    aim: None,
    has_left: false,
    lack: None,
});
/// Whether the user or the program wants recording to be on.
static WANTED: AtomicBool = AtomicBool::new(false);
/// Whether the JVM is ending.
static ENDS: AtomicBool = AtomicBool::new(false);
/// Whether waits are recorded, while recording is on.
static RECORDS_WAITS: AtomicBool = AtomicBool::new(false);

/// What is recorded, and what has been set up for it so far.
struct Modes {
    /// What is recorded about locks.
    locks: Locks,
    /// How parks are observed, unless trace mode is on.
    parks: Parks,
    probes: Probes,
    /// What the user has asked of trace mode so far, if anything.
    trace: Option<TraceOptions>,
    /// When single locks are traced, if the user has said so.
    auto: Option<AutoOptions>,
    /// The locks that are traced at the moment, alone.
    aim: Option<Arc<Aim>>,
    /// Classes have kept probes that were taken back: the JVM had no memory for that.
    has_left: bool,
    /// Why nothing is recorded even if it is wanted: the log has no room.
    lack: Option<String>,
}

impl Modes {
    /// What trace mode does now, if it is on.
    fn chosen(&self) -> Option<(TraceOptions, Option<Arc<Aim>>)> {
        let options = || self.trace.clone().unwrap_or_default();
        match self.locks {
            Locks::Trace => Some((options(), None)),
            Locks::Auto => self.aim.clone().map(|aim| (options(), Some(aim))),
            Locks::Contention | Locks::Nothing => None,
        }
    }
}

/// Installs the recorder, one for each JVM: threads keep references to it until
/// the process ends. `trace` has the user's options for trace mode.
pub fn install(
    new: impl FnOnce() -> Recorder,
    vm: Vm,
    (locks, parks): (Locks, Parks),
    trace: Option<TraceOptions>,
) -> &'static Contention {
    let recorder = RECORDER.get_or_init(new);
    recorder.on_give_up(end_trace);
    let mut modes = lock(&MODES);
    (modes.locks, modes.parks, modes.trace) = (locks, parks, trace);
    drop(modes);
    RECORDS_WAITS.store(locks != Locks::Nothing, Relaxed);
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

/// Stops recording permanently; the application continues.
pub fn give_up(reason: &str) {
    match recorder() {
        Some(recorder) => recorder.give_up(reason),
        None => say(&format!("{reason}; the program runs unprofiled")),
    }
}

/// Runs `body`; a panic in it ends recording, not the JVM.
pub fn guarded(body: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        give_up(PANICKED);
    }
}

/// Makes the probes of trace mode return at once from now on. The calling thread
/// may be inside a probe, or unknown to the JVM.
fn end_trace() {
    let (Some(trace), Some(&vm)) = (trace::active(), VM.get()) else { return };
    let body = move || {
        vm.with_thread(|env| trace.switch(env, false));
    };
    // If the thread cannot be started, the probes continue, and find no room.
    let _ = thread("tyrion-end", body);
}

/// Whether waits are recorded, while recording is on.
pub fn records_waits() -> bool {
    RECORDS_WAITS.load(Relaxed)
}

/// What is recorded about locks, while recording is on.
pub fn locks() -> Locks {
    lock(&MODES).locks
}

/// What trace mode does, or would do if it were on.
pub fn trace_options() -> TraceOptions {
    lock(&MODES).trace.clone().unwrap_or_default()
}

/// Gives trace mode these options from now on, or as soon as it is on; an option that is
/// not given keeps its value.
///
/// # Errors
/// Why it cannot; then nothing has changed.
pub fn choose_trace(
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    options: &Options,
) -> Result<(), AgentError> {
    let mut modes = lock(&MODES);
    let before = modes.trace.clone().unwrap_or_default();
    let asked = options.trace_after(&before);
    if asked == before {
        return Ok(());
    }
    asked.check().map_err(|wrong| AgentError::Options(wrong.into()))?;
    if let Some(trace) = trace::active() {
        // The log says that each hold is a record only as long as that is so.
        if trace.is_on() && !asked.every_event {
            let events = asked.logged().into_iter().find(|(key, _)| *key == "events");
            recorder.tell_options(events.as_slice());
        }
        trace.choose_holds(&asked)?;
        let aim = modes.aim.clone();
        let chosen = Chosen { options: &asked, aim: aim.as_ref() };
        instrument::choose_classes(&mut modes.probes, trace, env, chosen);
        if trace.is_on() {
            recorder.tell_options(&asked.logged());
        }
    }
    modes.trace = Some(asked);
    Ok(())
}

/// Changes what is recorded about locks. `parks` says how parks are observed if
/// nothing observes them yet.
///
/// # Errors
/// What the JVM refused.
pub fn change_locks(
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    locks: Locks,
    parks: Parks,
) -> Result<(), AgentError> {
    let mut modes = lock(&MODES);
    let ended = aimed::end(&mut modes, recorder, env);
    modes.locks = locks;
    if !modes.probes.waits {
        modes.parks = parks;
    }
    RECORDS_WAITS.store(locks != Locks::Nothing, Relaxed);
    let is_enabled = recorder.is_enabled();
    at_work(&mut modes, recorder, env, is_enabled)?;
    if modes.locks != locks {
        return Err(AgentError::WaitsAlone);
    }
    ended
}

/// What is recorded about locks, and which probes there are.
pub struct Set {
    locks: Locks,
    trace: Option<TraceOptions>,
    auto: Option<AutoOptions>,
    had_waits: bool,
    had_trace: bool,
}

/// What there is now.
pub fn set() -> Set {
    let modes = lock(&MODES);
    Set {
        locks: modes.locks,
        trace: modes.trace.clone(),
        auto: modes.auto.clone(),
        had_waits: modes.probes.waits,
        had_trace: modes.probes.trace,
    }
}

/// Makes it so again: takes back the probes that were not there.
///
/// # Errors
/// What the JVM refused.
pub fn set_again(
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    before: Set,
) -> Result<(), AgentError> {
    let mut modes = lock(&MODES);
    let is_other = modes.locks != before.locks;
    (modes.locks, modes.trace, modes.auto) = (before.locks, before.trace, before.auto);
    RECORDS_WAITS.store(modes.locks != Locks::Nothing, Relaxed);
    if is_other {
        let is_enabled = recorder.is_enabled();
        at_work(&mut modes, recorder, env, is_enabled)?;
    }
    if let Some(trace) = trace::active().filter(|_| modes.probes.trace && !before.had_trace) {
        instrument::take_back(&mut modes.probes, trace, env);
        if recorder.is_enabled() {
            // Those of waits are still needed.
            at_work(&mut modes, recorder, env, true)?;
        }
    } else {
        let records = recorder.is_enabled() && modes.locks != Locks::Nothing;
        if !(before.had_waits || records) {
            instrument::take_back_waits(&mut modes.probes, recorder, env);
        }
    }
    drop(modes);
    if is_other && locks() != Locks::Nothing {
        note_mode(recorder, Mode { locks: locks(), sample: sample::is_wanted() });
    }
    Ok(())
}

/// Switches JVMTI's events, the probes and the Java half of trace mode on or off, as
/// the mode requires.
fn at_work(
    modes: &mut Modes,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    on: bool,
) -> Result<(), AgentError> {
    let Some(contention) = contention() else { return Ok(()) };
    let waits = on && modes.locks != Locks::Nothing;
    if waits {
        let chosen = modes.chosen();
        let chosen = chosen.as_ref().map(|(options, aim)| Chosen { options, aim: aim.as_ref() });
        instrument::add_probes(contention, &mut modes.probes, modes.parks, chosen, env);
        if chosen.is_some() && !modes.probes.trace {
            modes.aim = None;
            if modes.locks == Locks::Trace {
                modes.locks = Locks::Contention;
            }
        }
    }
    contention.set_on(waits);
    contention.look_at_holders(waits && modes.locks != Locks::Trace);
    if !waits {
        contention.end_all_found();
    }
    let ti = recorder.ti();
    // Events that end waits stay enabled, once they are.
    for event in [jvmti::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, jvmti::JVMTI_EVENT_MONITOR_WAITED] {
        if waits {
            ti.set_event(event, true)?;
        }
    }
    for event in [jvmti::JVMTI_EVENT_MONITOR_CONTENDED_ENTER, jvmti::JVMTI_EVENT_MONITOR_WAIT] {
        if waits || records_waits() {
            ti.set_event(event, waits)?;
        } else {
            // The event may never have been permitted.
            let _ = ti.set_event(event, false);
        }
    }
    if let Some(trace) = trace::active() {
        let chosen = modes.chosen();
        let traces = waits && chosen.is_some();
        let ends = trace.is_on() && !traces;
        if traces {
            // Where all locks are traced, all classes are to have theirs.
            modes.has_left &= modes.aim.is_some();
            instrument::follow_loading(&mut modes.probes, trace, env, true);
            // It may have begun later than the log, or changed while it was off.
            let options = chosen.map(|(options, _)| options.logged());
            recorder.tell_options(&options.unwrap_or_default());
        }
        trace.switch(env, traces)?;
        if !traces {
            instrument::follow_loading(&mut modes.probes, trace, env, false);
        }
        if ends {
            trace.write_statistics(&recorder.log().current());
        }
    }
    Ok(())
}

/// Writes to the log what is recorded from now on: only waits if trace mode could not
/// begin.
pub fn note_mode(recorder: &Recorder, mode: Mode) {
    let modes = lock(&MODES);
    note_recorded(&modes, recorder, mode.sample);
}

fn note_recorded(modes: &Modes, recorder: &Recorder, samples: bool) {
    let of_locks = match modes.locks {
        Locks::Nothing => 0,
        Locks::Trace => bits::WAITS | bits::ACQUISITIONS,
        Locks::Auto if modes.aim.is_some() => bits::WAITS | bits::AIMED,
        Locks::Contention | Locks::Auto => bits::WAITS,
    };
    recorder.records(of_locks | if samples { bits::SAMPLES } else { 0 });
}

/// The number of checks for other agents between two checks of the probes themselves.
const LOOKS: u32 = 10;

/// Restores the probes of waits if another agent has removed them, and adds those of
/// trace mode to classes that it missed when it began. Called by a thread that the JVM
/// does not know, every half second; `nth` is the number of earlier calls.
pub fn keep_probes(vm: Vm, nth: u32) {
    if let Some(trace) = trace::active().filter(|trace| trace.is_on() && trace.watches_classes()) {
        // SAFETY: the environment is the current thread's, in a frame that lasts longer.
        vm.with_thread(|env| trace.forget_unloaded(unsafe { Java::new(env) }));
    }
    let (suspects, newcomers) = {
        let probes = &mut lock(&MODES).probes;
        (instrument::suspects(probes), instrument::newcomers_are_due(probes))
    };
    // Agents that are not written in Java may make their changes at any time.
    let looks = suspects.is_some_and(|others| others.java || nth.is_multiple_of(LOOKS));
    let Some(recorder) = recorder().filter(|_| looks || newcomers) else { return };
    vm.with_thread(|env| {
        // If the modes are just being changed, the next check is soon enough.
        let Some(mut modes) = try_lock_for(&MODES, Duration::ZERO) else { return };
        if looks && modes.probes.can_be_lost {
            instrument::restore_probes(recorder, &mut modes.probes, env);
        }
        if newcomers {
            instrument::look_for_newcomers(&mut modes.probes, env);
        }
    });
}

/// Waits shorter than this are folded from now on.
pub fn set_threshold_ns(recorder: &Recorder, threshold_ns: u64) {
    recorder.set_threshold_ns(threshold_ns);
    if let Some(trace) = trace::active() {
        trace.set_threshold_ns(threshold_ns);
    }
    recorder.log().set_threshold_ns(threshold_ns);
}

/// What the agent is doing, in `key=value` lines.
pub fn status(recorder: &'static Recorder) -> String {
    let state = if recorder.log().is_dead() || recorder.log().is_lost() {
        RecordingState::Broken
    } else if recorder.is_enabled() {
        RecordingState::Recording
    } else {
        RecordingState::Paused
    };
    let locks = match locks() {
        // It may have failed to start.
        Locks::Trace if trace::active().is_none() => Locks::Contention,
        locks => locks,
    };
    let period_ns = sample::period_ns();
    let lack = lock(&MODES).lack.clone().filter(|_| is_to_record());
    let reason = match state {
        RecordingState::Broken => {
            recorder.why_it_gave_up().map(str::to_owned).or_else(|| recorder.log().lack_of_room())
        }
        _ => lack,
    };
    // A mode that has stopped, or is paused for a reason, is still the wanted one.
    let stands_still = state == RecordingState::Broken || reason.is_some();
    let mode = Mode { locks, sample: period_ns.is_some() || stands_still && sample::is_wanted() };
    let reason = reason
        .map_or(String::new(), |reason| format!("reason={}\n", reason.replace(['\n', '\r'], " ")));
    let sampling = match period_ns {
        Some(period_ns) => format!("sampling=on\nperiod_ns={period_ns}\n"),
        None => "sampling=off\n".to_owned(),
    };
    format!(
        "state={}\n{reason}log={}\nmode={}\nthreshold_ns={}\n{sampling}{}",
        state.name(),
        recorder.log().path().display(),
        mode.name(),
        recorder.threshold_ns(),
        cost_lines(recorder),
    )
}

fn cost_lines(recorder: &Recorder) -> String {
    // Keys in answers have no dots.
    let line = |(key, ns): (&str, u64)| format!("{}={ns}\n", key.replace('.', "_"));
    recorder.cost().values().map(line).collect()
}

/// Whether recording is wanted; it may still be paused for lack of room.
pub fn is_to_record() -> bool {
    WANTED.load(Relaxed)
}

/// Switches recording on or off. When it is first switched on, the JDK's lock classes
/// get their probes. While there is no room for the log, the request is only noted.
///
/// # Errors
/// What the JVM refused.
pub fn switch(recorder: &'static Recorder, env: *mut JNIEnv, on: bool) -> Result<(), AgentError> {
    let mut modes = lock(&MODES);
    WANTED.store(on, Relaxed);
    room::follow_with(&mut modes, recorder, |modes| apply(modes, recorder, env))
}

/// The JVM is ending: nothing is switched on any more.
pub fn end() {
    ENDS.store(true, SeqCst);
}

/// The log's last moment comes: who has what is waited for.
pub fn look_for_owners(env: *mut JNIEnv) {
    if let Some(contention) = contention().filter(|_| records_waits()) {
        // SAFETY: the environment is the current thread's.
        contention.look_for_owners(unsafe { Java::new(env) });
        contention.note_questions();
    }
}

/// Switches recording on if it is wanted and there is room, otherwise off.
fn apply(
    modes: &mut Modes,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
) -> Result<(), AgentError> {
    if ENDS.load(SeqCst) {
        return Ok(());
    }
    let on = is_to_record() && modes.lack.is_none();
    let mut ended = Ok(());
    if !on && recorder.is_enabled() {
        ended = aimed::end(modes, recorder, env);
        look_for_owners(env);
    }
    if on {
        virtual_threads::be_told(recorder.ti());
    }
    at_work(modes, recorder, env, on)?;
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
            // What was found is older than this.
            look_for_owners(env);
        }
    }
    let state = if on { RecordingState::Recording } else { RecordingState::Paused };
    recorder.log().set_state(state);
    sample::recording(on);
    ended
}
