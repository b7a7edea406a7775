//! The agent's life: started with the JVM or attached to it, until that ends.

use super::{
    aim, api, calibrate, children,
    error::AgentError,
    home, hooks, metadata, owners,
    running::{self, give_up, recorder, switch},
    timed_session,
};
use crate::{
    clock,
    jvm::{
        Java, Ti, Vm, Walker, old,
        setup::Fields,
        walk::{Exports, Flags, Hints, LocalVariables},
    },
    log::{Log, names},
    message::{PANICKED, say},
    options::{FileNames, Locks, Mode, Options, Rotation, Threshold, Walk},
    recorder::Recorder,
    sample,
    spawn::{NoThread, thread},
    sync::lock,
    trace,
};
use jvmti_bindings::sys::{
    jni::JNIEnv,
    jvmti::{self, jvmtiCapabilities, jvmtiEventCallbacks},
};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tyrion_wire::header::{self, Header, RecordingState};

/// What `Agent_OnLoad` leaves for the moment when the JVM is up.
static AT_START: Mutex<Option<Start>> = Mutex::new(None);
/// The mode that the JVM was started with.
static USUAL_MODE: OnceLock<Mode> = OnceLock::new();
/// What the agent was started with.
static STARTED: OnceLock<Options> = OnceLock::new();

/// The JVMTI environment, and what it is to call.
pub type Jvmti = (Ti, fn() -> jvmtiEventCallbacks);

/// What is needed to start.
pub struct Start {
    ti: Ti,
    options: Options,
    file: File,
    path: PathBuf,
}

/// The agent was given to the JVM's command line.
///
/// # Errors
/// One line for the user, and whether it shall keep the JVM from starting.
pub fn load((ti, callbacks): Jvmti, options: &[u8]) -> Result<(), (String, bool)> {
    children::record_too();
    let options = Options::parse(options).map_err(|mistake| (mistake.message, mistake.strict))?;
    let mut at_start = lock(&AT_START);
    if at_start.is_some() {
        // Named twice, on the command line and in the environment.
        return Ok(());
    }
    let strict = options.strict;
    let start = prepare((ti, callbacks), options).map_err(|reason| (reason.to_string(), strict))?;
    *at_start = Some(start);
    api::expect(true);
    let on = |event| ti.set_event(event, true).map_err(|e| (format!("JVMTI: {e:?}"), strict));
    on(jvmti::JVMTI_EVENT_VM_INIT)
}

/// Asks for what the agent needs of the JVM, and creates the log's file.
pub fn prepare((ti, callbacks): Jvmti, options: Options) -> Result<Start, AgentError> {
    ti.add_capabilities(&[
        |c: &mut jvmtiCapabilities| c.set_can_get_source_file_name(true),
        |c| c.set_can_get_line_numbers(true),
        |c| c.set_can_get_bytecodes(true),
        |c| c.set_can_get_thread_cpu_time(true),
        |c| c.set_can_generate_garbage_collection_events(true),
    ])
    .and_then(|()| ti.set_callbacks(&callbacks()))?;
    allow(ti, options.mode().locks)?;
    trace::ticks::anchor();
    let path = options.path(std::process::id());
    let created = create_log(&path, &options, options.rotation());
    let (file, path) = created.map_err(|error| AgentError::of_log(&path, error))?;
    Ok(Start { ti, options, file, path })
}

/// Creates the file of a log that rotates so.
///
/// # Errors
/// As [`names::create`].
pub fn create_log(
    path: &Path,
    options: &Options,
    rotation: Option<Rotation>,
) -> io::Result<(File, PathBuf)> {
    match rotation {
        Some(Rotation { filenames: FileNames::Time, .. }) => names::create_after_earlier(path),
        _ => names::create(path, options.overwrite),
    }
}

/// Removes what is left of an earlier recording under this name, if the user wants that.
pub fn remove_earlier(path: &Path, options: &Options, rotation: Option<Rotation>) {
    let is_numbered = rotation.is_some_and(|it| it.filenames == FileNames::Number);
    if is_numbered && options.overwrite {
        names::remove_earlier(path);
    }
}

/// Asks for what it takes to record so much of locks.
///
/// # Errors
/// This JVM cannot.
pub fn allow(ti: Ti, locks: Locks) -> Result<(), AgentError> {
    if locks == Locks::Nothing {
        return Ok(());
    }
    spare_archives(ti, locks)?;
    ti.add_capabilities(&[
        |c: &mut jvmtiCapabilities| c.set_can_generate_monitor_events(true),
        |c| c.set_can_tag_objects(true),
        |c| c.set_can_retransform_classes(true),
        |c| c.set_can_get_constant_pool(true),
        // Not those of owned monitors: they cost JDK 11 its escape analysis.
        |c| c.set_can_get_current_contended_monitor(true),
    ])?;
    match ti.capabilities().can_generate_monitor_events() {
        true => Ok(()),
        false => Err(AgentError::NoMonitors),
    }
}

/// What is recorded where nothing else is asked for: what the JVM was started with, or else
/// the default.
pub fn usual_mode() -> Mode {
    USUAL_MODE.get().copied().unwrap_or_else(|| Options::default().mode())
}

/// What is in force of those options that cannot change.
pub fn in_force() -> Options {
    let started = STARTED.get().cloned().unwrap_or_default();
    Options { trace: running::trace_options(), ..started }
}

/// The first release that writes an archive of classes whatever has been changed.
const ARCHIVES_ANY_SINCE: u32 = 21;

/// Leaves classes as they are where the JVM writes them into an archive. It fails to, or
/// crashes, if they have been changed.
fn spare_archives(ti: Ti, locks: Locks) -> Result<(), AgentError> {
    let Some(flags) = Flags::find(ti) else { return Ok(()) };
    let trains = flags.trains_for_cache();
    hooks::classes_stay(trains);
    let is_delicate = ti.java_release().is_some_and(|release| release < ARCHIVES_ANY_SINCE);
    match locks {
        Locks::Trace if trains => Err(AgentError::Archives("an AOT cache")),
        Locks::Trace if is_delicate && flags.may_archive() => {
            Err(AgentError::Archives("an archive of its classes"))
        }
        Locks::Auto if is_delicate && flags.may_archive() => {
            aim::must_not("this JVM makes an archive of its classes, which fails with probes");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The JVM is up.
pub fn vm_init(env: *mut JNIEnv) {
    let Some(start) = lock(&AT_START).take() else { return };
    if let Err(reason) = begin(start, env, false) {
        say(&format!("{reason}; the program runs unprofiled"));
    }
    api::expect(false);
}

/// The JVM ends in an orderly way.
pub fn vm_death(env: *mut JNIEnv) {
    running::end();
    if let Some(recorder) = recorder() {
        if recorder.is_enabled() {
            running::look_for_owners(env);
        }
        recorder.set_enabled(false);
        if let Some(contention) = running::contention() {
            contention.settle_older(u64::MAX);
        }
        sample::finish();
        if let Some(trace) = trace::active() {
            // JVMTI answers no more, and daemons go on.
            let _ = trace.switch(env, false);
            trace.write_statistics(&recorder.log().current());
        }
        recorder.cost_ends();
        recorder.note_collections();
        recorder.log().close();
        if let Some(account) = recorder.account_of_walks() {
            say(&account);
        }
    }
    home::leave();
}

/// Opens the log and begins to record. A failure leaves nothing behind.
pub fn begin(start: Start, env: *mut JNIEnv, attached: bool) -> Result<(), AgentError> {
    let Start { ti, options, file, path } = start;
    let result = open(ti, &options, file, &path, env, attached);
    if result.is_err() {
        // Empty, or the beginnings of a log.
        let _ = std::fs::remove_file(&path);
    }
    let recorder = result?;
    let _ = STARTED.set(options.clone());
    if !attached {
        let _ = USUAL_MODE.set(options.mode());
    }
    timed_session::set_wanted(options.enabled && options.sample_for.is_none());
    if options.enabled {
        if attached {
            // The program runs meanwhile, and that is no time of its threads that is recorded.
            recorder.begins_later();
        }
        switch(recorder, env, true)?;
        if options.mode().locks != running::locks() {
            running::note_mode(recorder, options.mode());
        }
        return Ok(());
    }
    recorder.pauses();
    Ok(())
}

fn open(
    ti: Ti,
    options: &Options,
    file: File,
    path: &Path,
    env: *mut JNIEnv,
    attached: bool,
) -> Result<&'static Recorder, AgentError> {
    let fields = Fields::find(env).map_err(AgentError::UnknownJvm)?;
    let mode = options.mode();
    // SAFETY: the environment is the current thread's.
    let java = unsafe { Java::new(env) };
    let (threshold_ns, origin) = match mode.locks {
        Locks::Nothing => (0, "no waits are recorded".to_owned()),
        _ => resolve(ti, java, options.threshold.unwrap_or_default()),
    };
    hooks::redefinition_is_dear(ti, attached || mode.locks == Locks::Nothing);
    let parks = hooks::chosen(options.parks, mode.locks);
    let vm = Vm::of(env).ok_or(AgentError::NoJvm)?;
    let exports = ti.any_function().and_then(Exports::find);
    if ti.java_release() == Some(8)
        && let Some(exports) = &exports
    {
        old::prepare(env, exports, &fields);
    }
    let monitors = owners::find((ti, java), vm, exports.as_ref(), &fields);
    let told = (parks, &*origin, monitors.err());
    let header = Header {
        version: header::VERSION,
        header_len: 0,
        wall_ns: clock::wall_ns(),
        mono_ns: clock::now_ns(),
        end_ns: 0,
        used_len: 0,
        state: RecordingState::Paused,
        pid: std::process::id(),
        threshold_ns,
        depth: options.depth,
        dropped_contention: 0,
        dropped_other: 0,
        continued: false,
        metadata: metadata::collect(ti, options, told, attached),
    };
    remove_earlier(path, options, options.rotation());
    let log = Log::start(file, path.to_owned(), header.clone(), options.rotation())
        .map_err(|error| AgentError::of_log(path, error))?;
    log.set_template(&options.file);
    for event in [
        jvmti::JVMTI_EVENT_VM_DEATH,
        jvmti::JVMTI_EVENT_THREAD_START,
        jvmti::JVMTI_EVENT_THREAD_END,
    ] {
        ti.set_event(event, true)?;
    }
    // Not all JVMs tell, and the metadata say so. The end first: a beginning has one then.
    for event in
        [jvmti::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, jvmti::JVMTI_EVENT_GARBAGE_COLLECTION_START]
    {
        let _ = ti.set_event(event, true);
    }
    let exports = exports.filter(|_| mode.locks != Locks::Nothing);
    let walker = exports.as_ref().and_then(|it| walker((ti, java), it, &fields, options));
    let variables = exports.as_ref().and_then(LocalVariables::of);
    let excluded = options.exclude_threads.clone();
    let traces = matches!(mode.locks, Locks::Trace | Locks::Auto);
    let trace = traces.then(|| options.trace.clone());
    let new = || Recorder::new((ti, walker, variables), fields, log, &header, excluded);
    let contention = running::install(new, vm, (mode.locks, parks), trace);
    if options.wakers {
        contention.note_wakers();
    }
    if options.holders {
        contention.want_holders();
    }
    running::choose_auto(options);
    let recorder = contention.recorder();
    if let Ok(monitors) = monitors {
        recorder.tell_owners(java, monitors);
    }
    sample::prepare(recorder, vm);
    if mode.sample {
        sample::start(&options.sampling);
        if options.sample_for.is_none() {
            timed_session::set_lasting(Some(&options.sampling));
        }
    }
    if options.snapshots && mode.locks != Locks::Nothing {
        sample::look_unasked();
    }
    spawn_helper(recorder)?;
    if mode.locks != Locks::Nothing {
        watch_waits(vm)?;
    }
    if mode.locks == Locks::Auto {
        aim::watch(vm)?;
    }
    Ok(recorder)
}

/// Has a thread of the agent's own look after waits, unless one does.
pub fn watch_waits(vm: Vm) -> Result<(), NoThread> {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    let Some(contention) = running::contention() else { return Ok(()) };
    if WATCHED.swap(true, Relaxed) {
        return Ok(());
    }
    let keep_probes = move |nth| running::keep_probes(vm, nth);
    if contention.wants_holders() {
        thread("tyrion-holders", move || contention.watch_holders(vm))?;
    }
    thread("tyrion-waits", move || contention.watch_waits(vm, keep_probes))
}

/// What walks stacks without the JVM's help, where that is wanted and this JVM's
/// structures are known.
fn walker(
    (ti, java): (Ti, Java),
    exports: &Exports,
    fields: &Fields,
    options: &Options,
) -> Option<Walker> {
    let version = ti.java_release()?;
    if options.walk == Walk::Jvmti || fields.thread_address.is_null() {
        return None;
    }
    let thread = ti.current_thread(java);
    let hints = Hints {
        exports,
        thread: thread.get(),
        eetop: fields.thread_address,
        enter: fields.continuation_enter,
        version,
    };
    let given_up =
        || say("stacks that are walked differ from GetStackTrace's, which is used from now on");
    let walker = Walker::find(java, &hints, options.walk == Walk::Compare, given_up).ok();
    java.drop_local(thread);
    walker
}

/// The thread that keeps the log ahead of its writers. The JVM does not know
/// it, so it appears nowhere.
fn spawn_helper(recorder: &'static Recorder) -> Result<(), NoThread> {
    let body = move || {
        let keep = || recorder.keep_log(sample::leave, running::follow_room);
        let kept = std::panic::catch_unwind(keep);
        let reason = kept.unwrap_or_else(|_| Some(PANICKED.to_owned()));
        if let Some(reason) = reason {
            give_up(&reason);
        }
    };
    thread("tyrion-log", body).inspect_err(|_| recorder.log().give_up())
}

/// The threshold in ns, and where it comes from.
pub fn resolve(ti: Ti, java: Java, threshold: Threshold) -> (u64, String) {
    match threshold {
        Threshold::Ns(ns) => (ns, "as asked for".to_owned()),
        Threshold::Auto => calibrate::threshold(ti, java),
    }
}
