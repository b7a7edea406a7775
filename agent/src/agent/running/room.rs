//! Nothing more can be written to the log: recording pauses, as when it is switched off,
//! and resumes when there is room again, or the log goes on in another file.

use super::{MODES, Modes, VM, apply, is_to_record, recorder};
use crate::{
    agent::error::AgentError, message::say, recorder::Recorder, spawn::thread, sync::lock,
};
use jvmti_bindings::sys::jni::JNIEnv;
use std::{
    sync::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};

/// Whether the modes know that there is no room.
static KNOWN: AtomicBool = AtomicBool::new(false);
/// Whether a thread is about to update them.
static FOLLOWS: AtomicBool = AtomicBool::new(false);
/// Whether the user was told that recording pauses.
static TOLD: AtomicBool = AtomicBool::new(false);
/// Whether that was for a file that is lost.
static LOST: AtomicBool = AtomicBool::new(false);
/// If no thread can be attached to the JVM, there is another attempt after this time.
const RETRY: Duration = Duration::from_secs(1);

/// Called repeatedly by the log's helper: `lacks_room` says whether there is no room for
/// more. A thread that the JVM knows acts on it, or else the next call of this function.
pub fn follow(lacks_room: bool) {
    if KNOWN.load(Relaxed) == lacks_room {
        return;
    }
    let Some(&vm) = VM.get() else { return };
    if FOLLOWS.swap(true, Acquire) {
        return;
    }
    let body = move || {
        if vm.with_thread(follow_now).is_none() {
            std::thread::sleep(RETRY);
        }
        FOLLOWS.store(false, Release);
    };
    if thread("tyrion-room", body).is_err() {
        FOLLOWS.store(false, Release);
    }
}

fn follow_now(env: *mut JNIEnv) {
    let Some(recorder) = recorder() else { return };
    let mut modes = lock(&MODES);
    if recorder.log().is_closed() || recorder.log().is_dead() {
        return;
    }
    let followed = follow_with(&mut modes, recorder, |modes| {
        let on = is_to_record() && modes.lack.is_none();
        if recorder.is_enabled() == on { Ok(()) } else { apply(modes, recorder, env) }
    });
    // When the JVM ends, nothing can be switched any more.
    if let Err(reason) = followed
        && !recorder.log().is_closed()
    {
        say(&reason.to_string());
    }
}

/// Notes whether there is room, lets `apply` switch recording accordingly, and then
/// reports the result.
pub(super) fn follow_with(
    modes: &mut Modes,
    recorder: &Recorder,
    apply: impl FnOnce(&mut Modes) -> Result<(), AgentError>,
) -> Result<(), AgentError> {
    let before = std::mem::replace(&mut modes.lack, recorder.log().lack_of_room());
    KNOWN.store(modes.lack.is_some(), Relaxed);
    let path = recorder.log().path();
    let path = path.display();
    let is_lost = recorder.log().is_lost();
    match (&before, &modes.lack) {
        (None, Some(_)) if !is_to_record() => TOLD.store(false, Relaxed),
        (None, Some(reason)) => {
            TOLD.store(true, Relaxed);
            LOST.store(is_lost, Relaxed);
            let until = match is_lost {
                true => "recording stops until tyrion attach gives it another file",
                false => "recording pauses until there is room",
            };
            // First: a program that sees it end may end, too.
            say(&format!("{path}: {reason}; {until}, the program goes on"));
        }
        _ => {}
    }
    apply(modes)?;
    match (before, &modes.lack) {
        // Nobody was told that it had stopped.
        (Some(_), None) if !is_to_record() || !TOLD.swap(false, Relaxed) => {}
        (Some(_), None) if LOST.load(Relaxed) => {
            say(&format!("{path}: recording goes on in this file"));
        }
        (Some(_), None) => say(&format!("{path}: there is room again, recording goes on")),
        _ => {}
    }
    Ok(())
}
