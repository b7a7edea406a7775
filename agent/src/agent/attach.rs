//! The agent is loaded into a running JVM, the first time or with a command for
//! the one that is there.

use super::{
    aim, api,
    before::Before,
    error::AgentError,
    home::{self, Home},
    hooks,
    running::{
        change_locks, choose_auto, choose_trace, give_up, is_to_record, locks, note_mode, recorder,
        set_threshold_ns, status, switch,
    },
    start::{self, Jvmti, resolve},
    telling::Telling,
    timed_session::{self, TIMED_SESSIONS, TimedSessions},
};
use crate::{
    jvm::{Java, Vm},
    log::names,
    message::{PANICKED, say},
    options::{Command, Locks, Mode, Options, Rotation, Threshold},
    recorder::Recorder,
    spawn::thread,
    sync::lock,
    trace, work,
};
use jvmti_bindings::sys::jni::JNIEnv;
use std::{fs::OpenOptions, io::Write, path::Path};

/// The agent was loaded into a running JVM: does what `options` say, on a
/// thread of its own, and puts the answer into the file that they name.
///
/// HotSpot finds the probes' native methods only once `Agent_OnAttach` has
/// returned. Had the probes been added before, threads that meet one would
/// get an `UnsatisfiedLinkError` in the middle of taking a lock.
pub fn attach(vm: Vm, jvmti: Jvmti, options: &[u8]) {
    let options = options.to_owned();
    let body = move || {
        let options = match Options::parse(&options) {
            Ok(options) => options,
            Err(mistake) => {
                return answer_with(&mistake.reply, Err(AgentError::Options(mistake.message)));
            }
        };
        let reply = options.reply.clone();
        let telling = Telling::begin(&reply, options.by);
        let answer = vm
            .with_thread(|env| obey(vm, jvmti, env, &options, &telling))
            .unwrap_or(Err(AgentError::NoMoreThreads));
        drop(telling);
        answer_with(&reply, answer);
    };
    let guarded = || {
        if std::panic::catch_unwind(body).is_err() {
            give_up(PANICKED);
        }
    };
    if let Err(error) = thread("tyrion-attach", guarded) {
        say(&error.to_string());
    }
}

/// Tells the user how a command ended: in the file that was named for that,
/// and a failure on stderr if there is none.
fn answer_with(reply: &str, answer: Result<String, AgentError>) {
    if reply.is_empty() {
        if let Err(reason) = answer {
            say(&reason.to_string());
        }
        return;
    }
    let is_awaited = !matches!(answer, Err(AgentError::GivenUp));
    let text = answer.unwrap_or_else(|reason| format!("error={reason}\n"));
    // Whole or not at all; and never through a file or link that somebody
    // else has put there.
    let draft = format!("{reply}.draft");
    let file = OpenOptions::new().write(true).create_new(true).open(&draft);
    let written = file
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&draft, reply));
    if let Err(error) = written
        && is_awaited
    {
        say(&format!("{reply}: {error}"));
    }
}

/// Does what a command asks: the answer, `key=value` lines.
fn obey(
    vm: Vm,
    jvmti: Jvmti,
    env: *mut JNIEnv,
    options: &Options,
    telling: &Telling,
) -> Result<String, AgentError> {
    let home = Home::find(&options.home);
    // Two that are given at the same moment must not both find nothing loaded.
    let mut sessions = lock(&TIMED_SESSIONS);
    let answer = obey_in_turn((vm, jvmti, env), options, telling, &mut sessions);
    // Whatever became of it: the agent's library may be there, which the JVM has loaded.
    home.into_iter().for_each(Home::hold);
    answer
}

/// What nobody waits for any more is taken back, or not begun.
fn obey_in_turn(
    (vm, jvmti, env): (Vm, Jvmti, *mut JNIEnv),
    options: &Options,
    telling: &Telling,
    sessions: &mut TimedSessions,
) -> Result<String, AgentError> {
    if telling.is_abandoned() {
        return Err(AgentError::GivenUp);
    }
    let _turn = work::begin(options.by);
    let before = Before::now();
    let answer = obey_now(vm, jvmti, env, options, sessions);
    let is_unwanted = || work::is_given_up() || telling.is_abandoned();
    if options.command == Command::Start && is_unwanted() {
        work::note("takes back what it had begun");
        if let Some(recorder) = recorder() {
            before.restore(recorder, env, sessions)?;
        }
        return Err(AgentError::GivenUp);
    }
    answer
}

fn obey_now(
    vm: Vm,
    jvmti: Jvmti,
    env: *mut JNIEnv,
    options: &Options,
    sessions: &mut TimedSessions,
) -> Result<String, AgentError> {
    match (options.command, recorder()) {
        (Command::Status, None) => Ok("state=not loaded\n".to_owned()),
        (Command::Stop | Command::EndSample(_), None) => Err(AgentError::NotLoaded),
        (Command::Status, Some(recorder)) => Ok(status(recorder)),
        (Command::Stop, Some(recorder)) => {
            switch(recorder, env, false)?;
            timed_session::stopped(sessions);
            Ok(status(recorder))
        }
        (Command::EndSample(number), Some(recorder)) => {
            let ended = timed_session::end(sessions, number, recorder, env)?;
            Ok(format!("{}ended={ended}\n", status(recorder)))
        }
        (Command::Start, Some(recorder)) => go_on(vm, recorder, env, options, sessions),
        (Command::Start, None) => {
            start::begin(start::prepare(jvmti, options.clone())?, env, true)?;
            api::announce(jvmti.0, env);
            let recorder = recorder().ok_or(AgentError::NotStarted)?;
            let session = match options.sample_for {
                Some(length) => timed_session::begin(sessions, vm, options, true, length)?,
                None => String::new(),
            };
            Ok(status(recorder) + &session)
        }
    }
}

/// Records again, with those of the options that can still change.
fn go_on(
    vm: Vm,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    options: &Options,
    sessions: &mut TimedSessions,
) -> Result<String, AgentError> {
    if recorder.log().is_dead() {
        let why = recorder.why_it_gave_up().map(str::to_owned);
        return Err(AgentError::HasEnded { why });
    }
    // Whoever took a sample has asked for nothing that lasts.
    let start_over = home::has(&recorder.log().path()) && locks() == Locks::Nothing;
    let is_astray = recorder.log().is_astray();
    if options.sample_for.is_none() {
        if let Some(reason) = cannot_change(options) {
            return Err(AgentError::Options(reason));
        }
        // First: the disk of another log may have room.
        choose_log(recorder, options)?;
    } else if is_astray {
        replace_log(recorder, options, recorder.log().rotation())?;
    }
    if let Err(trouble) = recorder.log().try_for_room() {
        return Err(AgentError::NoRoom { trouble, recording: is_to_record() });
    }
    if let Some(length) = options.sample_for {
        let session = timed_session::begin(sessions, vm, options, false, length)?;
        switch(recorder, env, true)?;
        return Ok(status(recorder) + &session + &format!("replaced={is_astray}\n"));
    }
    choose_trace(recorder, env, options)?;
    choose_auto(options);
    // A session of another mode that is over leaves nothing to the next one.
    let begins = start_over || !timed_session::is_wanted();
    let usual = (options.mode.is_none() && begins).then(start::usual_mode);
    if let Some(mode) = options.mode.or(usual) {
        change_mode(vm, recorder, env, options, mode)?;
    }
    timed_session::started(sessions, options, usual);
    if let Some(threshold) = options.threshold {
        set_threshold(recorder, env, threshold);
    }
    switch(recorder, env, options.enabled)?;
    Ok(status(recorder))
}

/// Why the options cannot be followed by an agent that is loaded, if they cannot.
fn cannot_change(options: &Options) -> Option<String> {
    options.note_of_fixed(&start::in_force(), !trace::is_prepared())
}

/// Has the log go on in another file, if the user wants another one, or files of
/// another length.
fn choose_log(recorder: &Recorder, options: &Options) -> Result<(), AgentError> {
    let log = recorder.log();
    let now = log.path();
    let wanted = options.path(std::process::id());
    // A log that nobody has named gets the name that is asked for now: somebody had
    // only taken a sample.
    let is_unnamed = options.is_given("file") && home::has(&now);
    let rotation = options.rotation_after(log.rotation());
    let is_other = options.named && wanted != now && names::own(&wanted) != now;
    if !is_other && log.is_astray() {
        return replace_log(recorder, options, rotation);
    }
    let file = if is_unnamed || is_other {
        // A new file is needed where that one cannot have the name.
        if is_unnamed && rotation == log.rotation() && log.move_to(&wanted).is_ok() {
            return Ok(());
        }
        let created = start::create_log(&wanted, options, rotation);
        Some(created.map_err(|error| AgentError::of_log(&wanted, error))?)
    } else {
        None
    };
    if file.is_none() && rotation == log.rotation() {
        return Ok(());
    }
    let is_another = file.is_some();
    if let Some((_, path)) = &file {
        start::remove_earlier(path, options, rotation);
    }
    log.go_on_in(file, rotation).map_err(|error| AgentError::of_log(&wanted, error))?;
    if is_another {
        log.set_template(&options.file);
    }
    if is_unnamed {
        // What it had, whoever took the sample has read.
        let _ = std::fs::remove_file(now);
    }
    Ok(())
}

/// Has the log go on where its file is lost or somewhere else by now: under the same path if
/// that is possible, or else under the one that is asked for. Files that are there stay.
fn replace_log(
    recorder: &Recorder,
    options: &Options,
    rotation: Option<Rotation>,
) -> Result<(), AgentError> {
    let log = recorder.log();
    let (now, wanted) = (log.path(), options.path(std::process::id()));
    // A folder that a command has made for itself ends with it.
    let other = if home::is_of_a_command(&wanted) { names::usual() } else { wanted };
    let begin = |path: &Path| {
        let file = names::create_unused(path)?;
        log.go_on_in(Some(file), rotation)
    };
    let has_begun = begin(&now).or_else(|first| {
        // What is wrong with the path that is asked for is what can be mended.
        begin(&other).map_err(|second| if other == now { first } else { second })
    });
    has_begun.map_err(|error| AgentError::of_log(&other, error))
}

/// Has something else recorded from now on. Where that fails, the log says what is
/// recorded then.
fn change_mode(
    vm: Vm,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    options: &Options,
    mode: Mode,
) -> Result<(), AgentError> {
    let changed = if mode.locks == locks() {
        Ok(())
    } else {
        start::allow(recorder.ti(), mode.locks)?;
        if locks() == Locks::Nothing && recorder.threshold_ns() == 0 {
            set_threshold(recorder, env, options.threshold.unwrap_or_default());
        }
        let parks = hooks::chosen(options.parks, mode.locks);
        let changed = change_locks(recorder, env, mode.locks, parks);
        let watched = match mode.locks {
            Locks::Nothing => Ok(()),
            _ => start::watch_waits(vm).map_err(AgentError::from),
        };
        if mode.locks == Locks::Auto {
            aim::watch(vm)?;
        }
        changed.and(watched)
    };
    // After a failure, samples are left as they are.
    let sample = if changed.is_ok() { mode.sample } else { timed_session::samples_lasting() };
    note_mode(recorder, Mode { sample, ..mode });
    changed
}

fn set_threshold(recorder: &Recorder, env: *mut JNIEnv, threshold: Threshold) {
    // SAFETY: the environment is the current thread's.
    let java = unsafe { Java::new(env) };
    set_threshold_ns(recorder, resolve(recorder.ti(), java, threshold).0);
}
