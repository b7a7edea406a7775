//! What the library `tyrion-api.jar` calls, by which a program says what it is
//! doing (`agent/java`). HotSpot finds the functions by their names.
//!
//! Nothing here throws into the program, and a panic only ends recording.

use super::{
    running::{give_up, is_to_record, recorder, set_threshold_ns, status, switch},
    timed_session,
};
use crate::{
    jvm::{
        Java, JvmError, Object, Ti,
        setup::{call_static_int, set_static_boolean},
    },
    message::{PANICKED, say},
    own_cpu,
    recorder::Recorder,
    sample,
};
use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jclass, jint, jlong, jstring};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// The classes that call the agent, as JVMTI has them: of the library, and of the extension for
/// OpenTelemetry.
const CLASSES: [&[u8]; 2] = [b"Ltyrion/api/Tyrion;", b"Ltyrion/otel/Spans;"];
/// Their field that says that there is an agent.
const AGENT: &str = "agent";
/// Names are cut to so many bytes.
const NAME_LIMIT: usize = 4096;
/// Names of so many UTF-16 units need no memory of their own on the way.
const SHORT_NAME: usize = 128;
/// How long the JVM may take to see the agent's library.
const LINK_PATIENCE: Duration = Duration::from_secs(10);

/// What `state0` answers.
const NO_AGENT: jint = 0;
const RECORDING: jint = 1;
const PAUSED: jint = 2;

/// The agent is on the command line, and will start when the JVM is up.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Says whether there will be a recorder: a program's other agents may ask
/// before it is there.
pub fn expect(recorder: bool) {
    EXPECTED.store(recorder, Relaxed);
}

/// Tells the library that there is an agent now, wherever it was loaded before.
///
/// A class that is loaded later finds out while it is initialized, since the
/// JVM finds the native methods by then. One that is being initialized is
/// waited for: to look for its field initializes it.
pub fn announce(ti: Ti, env: *mut JNIEnv) {
    // SAFETY: the environment is the current thread's.
    let java = unsafe { Java::new(env) };
    for class in ti.loaded_classes(java).unwrap_or_default() {
        let is_one = |signature: Vec<u8>| CLASSES.contains(&&signature[..]);
        if ti.class_signature(class.get()).is_ok_and(is_one)
            && let Err(reason) = announce_to(env, class.get())
        {
            say(&format!("tyrion-api.jar cannot be served: {reason}"));
        }
        java.drop_local(class);
    }
}

fn announce_to(env: *mut JNIEnv, class: Object<'_>) -> Result<(), JvmError> {
    let deadline = Instant::now() + LINK_PATIENCE;
    while let Err(reason) = call_static_int(env, class, "state0") {
        if Instant::now() > deadline {
            return Err(reason);
        }
        thread::sleep(Duration::from_millis(1));
    }
    set_static_boolean(env, class, AGENT, true)
}

/// Runs `body`; after a panic in it there is no more recording.
fn guarded<T: Default>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        give_up(PANICKED);
        T::default()
    })
}

/// Runs `body` with the recorder, if there is one.
fn with_recorder<T: Default>(
    env: *mut JNIEnv,
    body: impl FnOnce(&'static Recorder, Java) -> T,
) -> T {
    with_recorder_at_times(env, false, body)
}

/// The same for what a program asks for seldom and what may take long: it stands for
/// itself in the account of what recording costs.
fn with_recorder_rarely<T: Default>(
    env: *mut JNIEnv,
    body: impl FnOnce(&'static Recorder, Java) -> T,
) -> T {
    with_recorder_at_times(env, true, body)
}

fn with_recorder_at_times<T: Default>(
    env: *mut JNIEnv,
    is_rare: bool,
    body: impl FnOnce(&'static Recorder, Java) -> T,
) -> T {
    let Some(recorder) = recorder() else { return T::default() };
    let body = || {
        // SAFETY: the JVM passes the current thread's environment, whose native
        // frame lasts as long as the call.
        body(recorder, unsafe { Java::new(env) })
    };
    let body = || guarded(body);
    if is_rare { own_cpu::rare_callback(body) } else { own_cpu::callback(body) }
}

/// Has the program not see an exception of ours.
fn clear_exception(env: *mut JNIEnv) {
    // SAFETY: the environment is the current thread's; the function may be
    // called with an exception pending, and without.
    unsafe { ((**env).ExceptionClear)(env) };
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_state0")]
extern "system" fn state(_: *mut JNIEnv, _: jclass) -> jint {
    match recorder() {
        Some(recorder) if recorder.is_enabled() => RECORDING,
        Some(_) => PAUSED,
        None if EXPECTED.load(Relaxed) => PAUSED,
        None => NO_AGENT,
    }
}

#[unsafe(export_name = "Java_tyrion_otel_Spans_state0")]
extern "system" fn state_of_spans(env: *mut JNIEnv, class: jclass) -> jint {
    state(env, class)
}

/// A thread's spans are told by a slot from now on: whether they are.
#[unsafe(export_name = "Java_tyrion_otel_Spans_slot0")]
extern "system" fn slot(
    env: *mut JNIEnv,
    _: jclass,
    thread: Object<'_>,
    slot: Object<'_>,
    active: Object<'_>,
) -> jboolean {
    let is_known = with_recorder(env, |recorder, java| {
        let is_null = thread.is_null() || slot.is_null() || active.is_null();
        u8::from(!is_null && recorder.add_slot(java, thread, slot, active))
    });
    clear_exception(env);
    is_known
}

/// Spans of a class have their names in a field: whether they do.
#[unsafe(export_name = "Java_tyrion_otel_Spans_named0")]
extern "system" fn named(env: *mut JNIEnv, _: jclass, spans: Object<'_>) -> jboolean {
    let is_named = with_recorder(env, |recorder, java| {
        u8::from(!spans.is_null() && recorder.add_span_class(java, spans))
    });
    clear_exception(env);
    is_named
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_enable0")]
extern "system" fn enable(env: *mut JNIEnv, _: jclass, on: jboolean) {
    with_recorder_rarely(env, |recorder, _| {
        let on = on != 0;
        // It may be on for a sample alone, after which this counts.
        timed_session::set_wanted(on);
        let log = recorder.log();
        // Not whether it is on: it may pause for lack of room.
        if is_to_record() != on
            && !log.is_dead()
            && !log.is_closed()
            && let Err(reason) = switch(recorder, env, on)
        {
            say(&reason.to_string());
        }
    });
    clear_exception(env);
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_group0")]
extern "system" fn group(env: *mut JNIEnv, _: jclass, thread: Object<'_>, name: jstring) -> jlong {
    with_recorder(env, |recorder, java| {
        if thread.is_null() || name.is_null() {
            return 0;
        }
        match name_of(env, name) {
            name if name.is_empty() => 0,
            name => recorder.enter_group(java, thread, name.as_bytes()),
        }
    })
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_restore0")]
extern "system" fn restore(env: *mut JNIEnv, _: jclass, token: jlong) {
    with_recorder(env, |recorder, _| recorder.leave_group(token));
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_sampling0")]
extern "system" fn sampling(
    env: *mut JNIEnv,
    _: jclass,
    thread: Object<'_>,
    period_ms: jlong,
) -> jlong {
    let token = with_recorder(env, |_, java| {
        if thread.is_null() {
            return 0;
        }
        let period_ms = u64::try_from(period_ms).unwrap_or(0);
        sample::begin(java, thread, period_ms.saturating_mul(1_000_000))
    });
    clear_exception(env);
    token as jlong
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_sampled0")]
extern "system" fn sampled(env: *mut JNIEnv, _: jclass, token: jlong) {
    with_recorder(env, |_, java| sample::end(java, token as u64));
    clear_exception(env);
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_text0")]
extern "system" fn text(env: *mut JNIEnv, _: jclass, what: jint) -> jstring {
    let key = match what {
        0 => "mode",
        1 => "log",
        _ => return ptr::null_mut(),
    };
    // A pointer has no default.
    let text = with_recorder_rarely(env, |recorder, _| value_of(&status(recorder), key));
    let result = text.map_or(ptr::null_mut(), |text| new_string(env, &text));
    clear_exception(env);
    result
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_number0")]
extern "system" fn number(env: *mut JNIEnv, _: jclass, what: jint) -> jlong {
    let number = with_recorder(env, |recorder, _| match what {
        0 => recorder.threshold_ns(),
        1 => recorder.totals().contentions(),
        2 => recorder.totals().wait_ns(),
        3 => sample::records(),
        4 => recorder.totals().dropped_waits(),
        _ => 0,
    });
    jlong::try_from(number).unwrap_or(jlong::MAX)
}

#[unsafe(export_name = "Java_tyrion_api_Tyrion_threshold0")]
extern "system" fn threshold(env: *mut JNIEnv, _: jclass, threshold_ns: jlong) {
    with_recorder(env, |recorder, _| {
        set_threshold_ns(recorder, u64::try_from(threshold_ns).unwrap_or(0));
    });
}

/// The value of a key in `key=value` lines.
fn value_of(lines: &str, key: &str) -> Option<String> {
    lines.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned()))
}

/// The first bytes of a Java string, in UTF-8.
fn name_of(env: *mut JNIEnv, name: jstring) -> String {
    // SAFETY: the environment is the current thread's, the string is a valid
    // reference.
    let len = unsafe { ((**env).GetStringLength)(env, name) };
    // Each unit makes a byte at least.
    let len = usize::try_from(len).unwrap_or(0).min(NAME_LIMIT);
    let mut short = [0; SHORT_NAME];
    let mut long = Vec::new();
    let units: &mut [u16] = match short.get_mut(..len) {
        Some(units) => units,
        None => {
            long.resize(len, 0);
            &mut long
        }
    };
    // SAFETY: as above; the region is within the string, and there is room for it.
    unsafe { ((**env).GetStringRegion)(env, name, 0, len as jint, units.as_mut_ptr()) };
    utf8(units)
}

/// The text of UTF-16 units, as far as it fits.
fn utf8(units: &[u16]) -> String {
    let mut text = String::from_utf16_lossy(units);
    let fits = (0..=NAME_LIMIT.min(text.len())).rev().find(|&len| text.is_char_boundary(len));
    text.truncate(fits.unwrap_or(0));
    text
}

/// A Java string; null when there is no memory.
pub fn new_string(env: *mut JNIEnv, text: &str) -> jstring {
    let units: Vec<u16> = text.encode_utf16().collect();
    // SAFETY: the environment is the current thread's, and there are so many units.
    unsafe { ((**env).NewString)(env, units.as_ptr(), units.len() as jint) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        assert_eq!(utf8(&units("GET /größe/😀")), "GET /größe/😀");
        assert_eq!(utf8(&units(&"x".repeat(5000))).len(), NAME_LIMIT);
        let cut = utf8(&units(&format!("x{}", "😀".repeat(1100))));
        assert_eq!((cut.len(), cut.chars().last()), (NAME_LIMIT - 3, Some('😀')));
        // Half a pair, as the end of a cut name may be.
        assert_eq!(utf8(&[0x41, 0xd83d]), "A\u{fffd}");
        let mut ascii = vec![0x41; NAME_LIMIT - 1];
        ascii.push(0xd83d);
        assert_eq!(utf8(&ascii), "A".repeat(NAME_LIMIT - 1));
    }

    #[test]
    fn values_are_found_by_their_keys() {
        let lines = "state=paused\nlog=/tmp/a=b.log\nmode=trace\n";
        assert_eq!(value_of(lines, "log").as_deref(), Some("/tmp/a=b.log"));
        assert_eq!(value_of(lines, "mode").as_deref(), Some("trace"));
        assert_eq!(value_of(lines, "mod"), None);
    }
}
