//! What `TyrionTrace` calls. HotSpot finds the functions by their names.

use super::{TRACE, Trace, active, memory::Memory, resync, ticks};
use crate::{agent, jvm::Java};
use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jclass, jint, jlong, jobject, jthread};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering::Relaxed,
};

/// Runs `body` in trace mode, and notes how long it took; a panic in it ends
/// recording, not the JVM.
fn report<T: Default>(env: *mut JNIEnv, body: impl FnOnce(&'static Trace, Java) -> T) -> T {
    let Some(trace) = active() else { return T::default() };
    let began = ticks::now();
    let result = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the JVM passes the current thread's environment, and every
        // reference that goes with it is valid during the call.
        body(trace, unsafe { Java::new(env) })
    }));
    let took = ticks::now().saturating_sub(began);
    trace.statistics.native_ticks.fetch_add(took, Relaxed);
    result.unwrap_or_else(|_| {
        agent::give_up("a mistake in the agent (a panic)");
        T::default()
    })
}

/// What Java has the address of.
fn memory(address: jlong) -> Memory {
    // SAFETY: `TyrionTrace` is our own class, its members are private, and it
    // passes on only addresses that it was given, and entries within a block.
    unsafe { Memory::at_address(address as u64) }
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_address")]
extern "system" fn address(_: *mut JNIEnv, _: jclass, which: jint) -> jlong {
    catch_unwind(|| TRACE.get().map_or(0, |trace| trace.constant(which) as jlong)).unwrap_or(0)
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_newBlock")]
extern "system" fn new_block(env: *mut JNIEnv, _: jclass, thread: jthread, id: jlong) -> jlong {
    report(env, |trace, java| trace.new_block(java, thread, id) as jlong)
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_newCell")]
extern "system" fn new_cell(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    key: jlong,
    lock: jobject,
    kind: jint,
) -> jlong {
    let cell = report(env, |trace, java| {
        trace.new_cell(java, memory(block), key as u64, lock, kind) as jlong
    });
    // Never 0: Java counts there without looking.
    if cell == 0 { active().map_or(0, |trace| trace.nowhere() as jlong) } else { cell }
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_sampled")]
extern "system" fn sampled(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    entry: jlong,
    _: jobject,
    _: jint,
) {
    report(env, |trace, java| trace.sampled(java, memory(block), memory(entry)));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_writeEvents")]
extern "system" fn write_events(env: *mut JNIEnv, _: jclass, block: jlong) {
    report(env, |trace, _| trace.write_events(memory(block)));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_delayed")]
extern "system" fn delayed(
    env: *mut JNIEnv,
    _: jclass,
    thread: jthread,
    lock: jobject,
    asked_ns: jlong,
    now_ns: jlong,
) {
    let span_ns = (asked_ns.max(0) as u64, now_ns.max(0) as u64);
    report(env, |trace, java| trace.recorder.monitor_was_delayed(java, thread, lock, span_ns));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_endedAfter")]
extern "system" fn ended_after(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    entry: jlong,
    ticks: jlong,
) {
    let ticks = ticks.max(0) as u64;
    report(env, |trace, _| trace.ended_after(memory(block), memory(entry), ticks));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_stillHeld")]
extern "system" fn still_held(env: *mut JNIEnv, _: jclass, block: jlong, place: jint) -> jlong {
    let holds = report(env, |trace, java| trace.still_held(java, memory(block), place as u32));
    // Never 0: the one that is just being taken counts. What cannot be told stays.
    (if holds == 0 { resync::holds(memory(block)).max(1) } else { holds }) as jlong
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_left")]
extern "system" fn left(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    entry: jlong,
    lock: jobject,
    place: jint,
) {
    report(env, |trace, java| {
        let entry = (entry != 0).then(|| memory(entry));
        trace.left(java, memory(block), entry, lock, place as u32);
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_noteNesting")]
extern "system" fn note_nesting(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    key: jlong,
    place: jint,
    lock: jobject,
) -> jboolean {
    report(env, |trace, java| {
        u8::from(trace.note_nesting(java, memory(block), key as u64, place as u32, lock))
    })
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_noteInstance")]
extern "system" fn note_instance(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    hash: jlong,
    cell: jlong,
    _: jobject,
    _: jint,
) {
    report(env, |trace, _| {
        trace.note_instance(memory(block), hash as u32, memory(cell));
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_noteHashed")]
extern "system" fn note_hashed(env: *mut JNIEnv, _: jclass, hash: jint, by: jlong, lock: jobject) {
    report(env, |trace, java| trace.note_hashed(java, hash as u32, by as u64, lock));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_ticks")]
extern "system" fn ticks_now(_: *mut JNIEnv, _: jclass) -> jlong {
    ticks::now() as jlong
}
