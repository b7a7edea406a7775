//! What `TyrionTrace` calls. HotSpot finds the functions by their names.

use super::{
    TRACE, Trace, active,
    memory::{Block, CLOSED_PLACES, Entry, NO_HOLDS},
    resync, ticks,
};
use crate::{
    jvm::{Java, Object},
    message::PANICKED,
    own_cpu,
};
use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jclass, jint, jlong, jobject};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering::Relaxed,
};

/// Runs `body` in trace mode, and notes how long it took; a panic in it ends
/// recording, not the JVM.
pub fn with_trace<T: Default>(env: *mut JNIEnv, body: impl FnOnce(&'static Trace, Java) -> T) -> T {
    let Some(trace) = active() else { return T::default() };
    own_cpu::callback(|| timed(trace, env, body))
}

fn timed<T: Default>(
    trace: &'static Trace,
    env: *mut JNIEnv,
    body: impl FnOnce(&'static Trace, Java) -> T,
) -> T {
    let began = ticks::now();
    let result = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the JVM passes the current thread's environment, whose native
        // frame lasts as long as the call.
        body(trace, unsafe { Java::new(env) })
    }));
    let took = ticks::now().saturating_sub(began);
    trace.statistics.native_ticks.fetch_add(took, Relaxed);
    result.unwrap_or_else(|_| {
        trace.recorder.give_up(PANICKED);
        T::default()
    })
}

/// The same with the thread's block, if there is one at this address.
fn with_block<T: Default>(
    env: *mut JNIEnv,
    block: jlong,
    body: impl FnOnce(&'static Trace, Java, &'static Block) -> T,
) -> T {
    with_trace(env, |trace, java| match trace.blocks.at(block as u64) {
        Some(block) => body(trace, java, block),
        None => T::default(),
    })
}

/// The same with an entry of that block.
fn with_entry(
    env: *mut JNIEnv,
    block: jlong,
    entry: jlong,
    body: impl FnOnce(&'static Trace, Java, &'static Block, &'static Entry),
) {
    with_block(env, block, |trace, java, block| {
        if let Some(entry) = block.entry_at(entry as u64) {
            body(trace, java, block, entry);
        }
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_address")]
extern "system" fn address(_: *mut JNIEnv, _: jclass, which: jint) -> jlong {
    catch_unwind(|| TRACE.get().map_or(0, |trace| trace.constant(which) as jlong)).unwrap_or(0)
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_newBlock")]
extern "system" fn new_block(env: *mut JNIEnv, _: jclass, thread: Object<'_>, id: jlong) -> jlong {
    with_trace(env, |trace, java| trace.new_block(java, thread, id) as jlong)
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_newCell")]
extern "system" fn new_cell(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    key: jlong,
    lock: Object<'_>,
    kind: jint,
) -> jlong {
    let cell = with_block(env, block, |trace, java, block| {
        trace.new_cell(java, block, key as u64, lock, kind) as jlong
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
    with_entry(env, block, entry, |trace, java, block, entry| trace.sampled(java, block, entry));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_writeEvents")]
extern "system" fn write_events(env: *mut JNIEnv, _: jclass, block: jlong) {
    with_block(env, block, |trace, _, block| trace.write_events(block));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_endedAfter")]
extern "system" fn ended_after(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    entry: jlong,
    took: jlong,
    now: jlong,
) {
    let (took, now) = (took.max(0) as u64, now as u64);
    with_entry(env, block, entry, |trace, java, block, entry| {
        trace.ended_after(java, block, entry, took, now);
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_stillHeld")]
extern "system" fn still_held(env: *mut JNIEnv, _: jclass, block: jlong, place: jint) -> jlong {
    let holds =
        with_block(env, block, |trace, java, block| trace.still_held(java, block, place as u32));
    if holds != 0 {
        return holds as jlong;
    }
    // Never 0: the one that is just being taken counts. What is not known stays.
    let block = TRACE.get().and_then(|trace| trace.blocks.at(block as u64));
    block.map_or(1, |block| resync::holds(block).max(1)) as jlong
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_left")]
extern "system" fn left(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    entry: jlong,
    lock: Object<'_>,
    place: jint,
) {
    with_block(env, block, |trace, java, block| {
        trace.left(java, block, block.entry_at(entry as u64), lock, place as u32);
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_noteNesting")]
extern "system" fn note_nesting(
    env: *mut JNIEnv,
    _: jclass,
    block: jlong,
    key: jlong,
    place: jint,
    lock: Object<'_>,
) -> jboolean {
    with_block(env, block, |trace, java, block| {
        u8::from(trace.note_nesting(java, block, key as u64, place as u32, lock))
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
    with_block(env, block, |trace, _, block| {
        if let Some(cell) = trace.cells.at(cell as u64) {
            trace.note_instance(block, hash as u32, cell);
        }
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_noteHashed")]
extern "system" fn note_hashed(
    env: *mut JNIEnv,
    _: jclass,
    hash: jint,
    by: jlong,
    lock: Object<'_>,
) {
    with_trace(env, |trace, java| trace.note_hashed(java, hash as u32, by as u64, lock));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_notePlaceInstance")]
extern "system" fn note_place_instance(env: *mut JNIEnv, _: jclass, place: jint, hash: jint) {
    with_trace(env, |trace, _| trace.note_place_instance(place as u32, hash as u32));
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_pointTo")]
extern "system" fn point_to(env: *mut JNIEnv, _: jclass, reference: Object<'_>, lock: Object<'_>) {
    let Some(referent) = active().and_then(|trace| trace.referent.get()) else { return };
    // SAFETY: the JVM passes the current thread's environment, whose native frame lasts
    // as long as the call.
    let java = unsafe { Java::new(env) };
    referent.set(java, reference, lock);
}

/// Rare: once for a place, or so.
#[unsafe(export_name = "Java_java_lang_TyrionTrace_noHoldsAt")]
extern "system" fn no_holds_at(env: *mut JNIEnv, _: jclass, place: jint) {
    with_trace(env, |trace, _| {
        trace.shared.closed[place as usize % CLOSED_PLACES].fetch_or(NO_HOLDS, Relaxed);
    });
}

#[unsafe(export_name = "Java_java_lang_TyrionTrace_ticks")]
extern "system" fn ticks_now(_: *mut JNIEnv, _: jclass) -> jlong {
    ticks::now() as jlong
}
