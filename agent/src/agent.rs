//! The agent's life: loaded, started with the JVM or attached to it, switched
//! off and on, ended.

use crate::{
    calibrate, callbacks, clock,
    juc::{self, Target},
    jvm::{
        Java, Ti,
        setup::{self, Fields},
    },
    log::{LogFile, file},
    metadata,
    options::{Command, Options, Threshold},
    recorder::Recorder,
    sync::lock,
};
use jvmti_bindings::sys::{
    jni::JNIEnv,
    jvmti::{self, jvmtiCapabilities},
};
use std::{
    ffi::c_uchar,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, atomic::Ordering::Relaxed},
};
use tyrion_wire::header::{self, Header, State};

static LOADED: OnceLock<Loaded> = OnceLock::new();
static RECORDER: OnceLock<Recorder> = OnceLock::new();
/// Held while recording is switched on or off.
static SWITCHING: Mutex<Switched> = Mutex::new(Switched { transformed: false });

/// What is left of the start until the JVM is up.
struct Loaded {
    ti: Ti,
    options: Options,
    file: Mutex<Option<(File, PathBuf)>>,
}

struct Switched {
    transformed: bool,
}

/// Says something to the user, in one line.
pub fn say(message: &str) {
    // Nothing to do about a closed stderr.
    let _ = writeln!(std::io::stderr(), "tyrion: {message}");
}

/// The recorder, once the agent has started.
#[inline]
pub fn recorder() -> Option<&'static Recorder> {
    RECORDER.get()
}

/// Recording stops for good; the application goes on.
pub fn give_up(reason: &str) {
    let Some(recorder) = recorder() else {
        say(&format!("{reason}; the program runs on unprofiled"));
        return;
    };
    if recorder.is_enabled() {
        recorder.set_enabled(false);
        let path = recorder.log().path().display();
        say(&format!("{path}: {reason}; recording has stopped, the program runs on"));
    }
}

/// The agent was given to the JVM's command line.
///
/// # Errors
/// One line for the user, and whether it shall keep the JVM from starting.
pub fn load(ti: Ti, options: &str) -> Result<(), (String, bool)> {
    record_children_too();
    let options = Options::parse(options)?;
    if LOADED.get().is_some() {
        // Named twice, on the command line and in the environment.
        return Ok(());
    }
    let strict = options.strict;
    prepare(ti, options).map_err(|reason| (reason, strict))?;
    let on = |event| ti.set_event(event, true).map_err(|e| (format!("JVMTI: {e:?}"), strict));
    on(jvmti::JVMTI_EVENT_VM_INIT)
}

/// `tyrion record` starts a JVM quietly, without `JAVA_TOOL_OPTIONS`, and says
/// in another variable what that should be for the JVM's children.
fn record_children_too() {
    if let Some(options) = std::env::var_os("TYRION_CHILD_JAVA_TOOL_OPTIONS") {
        // SAFETY: the JVM loads agents while it is still starting, on its only
        // thread that looks at the environment.
        unsafe { std::env::set_var("JAVA_TOOL_OPTIONS", options) };
    }
}

/// Creates the log and asks for what the agent needs of the JVM.
fn prepare(ti: Ti, options: Options) -> Result<(), String> {
    let path = options.path(std::process::id());
    let file = file::create(Path::new(&path), options.overwrite)
        .map_err(|error| format!("{path}: {error}"))?;
    ti.add_capabilities(&[
        |c: &mut jvmtiCapabilities| c.set_can_generate_monitor_events(true),
        |c| c.set_can_tag_objects(true),
        |c| c.set_can_retransform_classes(true),
        |c| c.set_can_get_source_file_name(true),
        |c| c.set_can_get_line_numbers(true),
        |c| c.set_can_get_bytecodes(true),
        |c| c.set_can_support_virtual_threads(true),
    ])
    .and_then(|()| ti.set_callbacks(&callbacks::table()))
    .map_err(|error| format!("JVMTI: {error:?}"))?;
    if !ti.capabilities().can_generate_monitor_events() {
        return Err("this JVM does not report contended monitors".to_owned());
    }
    let loaded = Loaded { ti, options, file: Mutex::new(Some(file)) };
    LOADED.set(loaded).map_err(|_| "the agent is loaded already".to_owned())
}

/// The JVM is up.
pub fn vm_init(env: *mut JNIEnv) {
    if let Err(reason) = start(env, false) {
        say(&format!("{reason}; the program runs on unprofiled"));
    }
}

/// The JVM ends in an orderly way.
pub fn vm_death() {
    if let Some(recorder) = recorder() {
        recorder.set_enabled(false);
        recorder.log().close();
    }
}

/// The agent was loaded into a running JVM: does what `options` say. The
/// answer for the user, `key=value` lines.
///
/// # Errors
/// One line for the user.
pub fn attach(ti: Ti, env: *mut JNIEnv, options: &str) -> Result<String, String> {
    let options = Options::parse(options).map_err(|(message, _)| message)?;
    let reply = options.reply.clone();
    let answer = obey(ti, env, options);
    if !reply.is_empty() {
        let text = answer.clone().unwrap_or_else(|reason| format!("error={reason}\n"));
        // Never through a file or link that somebody else has put there.
        let file = OpenOptions::new().write(true).create_new(true).open(&reply);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("{reply}: {error}"))?;
    }
    answer
}

fn obey(ti: Ti, env: *mut JNIEnv, options: Options) -> Result<String, String> {
    match (options.command, recorder()) {
        (Command::Status, None) => Ok("state=not loaded\n".to_owned()),
        (Command::Stop, None) => Err("the agent is not loaded".to_owned()),
        (Command::Status, Some(recorder)) => Ok(status(recorder)),
        (Command::Stop, Some(recorder)) => {
            switch(recorder, env, false)?;
            Ok(status(recorder))
        }
        (Command::Start, Some(recorder)) => {
            if recorder.log().is_dead() {
                return Err("the log cannot be written on; restart the JVM".to_owned());
            }
            if let Some(threshold) = options.threshold {
                set_threshold(recorder, threshold);
            }
            switch(recorder, env, true)?;
            Ok(status(recorder))
        }
        (Command::Start, None) => {
            prepare(ti, options)?;
            start(env, true)?;
            recorder().map(status).ok_or_else(|| "the agent did not start".to_owned())
        }
    }
}

fn set_threshold(recorder: &Recorder, threshold: Threshold) {
    let (threshold_ns, _) = resolve(recorder.ti(), threshold);
    recorder.set_threshold_ns(threshold_ns);
    let header = recorder.log().header();
    header.u64_at(header::field::THRESHOLD_NS).store(threshold_ns, Relaxed);
}

/// The threshold in ns, and where it comes from.
fn resolve(ti: Ti, threshold: Threshold) -> (u64, String) {
    match threshold {
        Threshold::Ns(ns) => (ns, "as asked for".to_owned()),
        Threshold::Auto => calibrate::threshold(ti),
    }
}

fn status(recorder: &'static Recorder) -> String {
    let state = if recorder.log().is_dead() {
        State::Broken
    } else if recorder.is_enabled() {
        State::Recording
    } else {
        State::Paused
    };
    format!(
        "state={}\nlog={}\nmode=contention\nthreshold_ns={}\n",
        state.name(),
        recorder.log().path().display(),
        recorder.threshold_ns(),
    )
}

/// Opens the log and begins to record.
fn start(env: *mut JNIEnv, attached: bool) -> Result<(), String> {
    let loaded = LOADED.get().ok_or("the agent is not loaded")?;
    let (file, path) = lock(&loaded.file).take().ok_or("the agent has started already")?;
    let (ti, options) = (loaded.ti, &loaded.options);
    let fields =
        Fields::find(env).map_err(|reason| format!("this JVM is unlike others: {reason}"))?;
    let (threshold_ns, origin) = resolve(ti, options.threshold.unwrap_or(Threshold::Auto));
    let header = Header {
        version: header::VERSION,
        header_len: 0,
        wall_ns: clock::wall_ns(),
        mono_ns: clock::now_ns(),
        end_ns: 0,
        used_len: 0,
        state: State::Paused,
        pid: std::process::id(),
        threshold_ns,
        depth: options.depth as u32,
        dropped_contention: 0,
        dropped_other: 0,
        metadata: metadata::collect(ti, options, &origin, attached),
    };
    let log = LogFile::start(file, path.clone(), &header)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let excluded = options.exclude_threads.clone();
    let new = Recorder::new(ti, fields, log, &header, excluded);
    RECORDER.set(new).map_err(|_| "the agent has started already")?;
    let recorder = recorder().ok_or("the agent did not start")?;
    spawn_helper(recorder)?;
    for event in [
        jvmti::JVMTI_EVENT_VM_DEATH,
        jvmti::JVMTI_EVENT_THREAD_END,
        jvmti::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
        jvmti::JVMTI_EVENT_MONITOR_WAITED,
    ] {
        ti.set_event(event, true).map_err(|error| format!("JVMTI: {error:?}"))?;
    }
    // Fails before JDK 21, where there are none.
    let _ = ti.set_event(jvmti::JVMTI_EVENT_VIRTUAL_THREAD_END, true);
    if options.enabled { switch(recorder, env, true) } else { Ok(()) }
}

/// The thread that keeps the log ahead of its writers. The JVM does not know
/// it, so it appears nowhere.
fn spawn_helper(recorder: &'static Recorder) -> Result<(), String> {
    let body = move || {
        block_signals();
        if let Some(reason) = recorder.log().keep() {
            give_up(&reason);
        }
    };
    let thread = std::thread::Builder::new().name("tyrion-log".to_owned()).spawn(body);
    thread.map(drop).map_err(|error| format!("no thread for the log: {error}"))
}

/// Leaves the signals of the process to the JVM's threads. Those that a fault
/// of this very thread raises stay: blocking them would end the process.
fn block_signals() {
    // SAFETY: all-zero is a valid set, which sigfillset then fills; the calls
    // get valid pointers, or null where that is allowed.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        for fault in [libc::SIGBUS, libc::SIGSEGV, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&mut set, fault);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// Switches recording on or off. The first time on, the JDK's lock classes get
/// their probes.
fn switch(recorder: &'static Recorder, env: *mut JNIEnv, on: bool) -> Result<(), String> {
    let mut switched = lock(&SWITCHING);
    if on && !std::mem::replace(&mut switched.transformed, true) {
        add_probes(recorder, env);
    }
    let ti = recorder.ti();
    for event in [jvmti::JVMTI_EVENT_MONITOR_CONTENDED_ENTER, jvmti::JVMTI_EVENT_MONITOR_WAIT] {
        ti.set_event(event, on).map_err(|error| format!("JVMTI: {error:?}"))?;
    }
    recorder.set_enabled(on);
    let state = if on { State::Recording } else { State::Paused };
    recorder.log().header().u32_at(header::field::STATE).store(state as u32, Relaxed);
    Ok(())
}

/// Gives the JDK's lock classes their probes. What cannot have them is said
/// and left out: monitors are recorded without any.
fn add_probes(recorder: &Recorder, env: *mut JNIEnv) {
    if let Err(reason) = setup::define_probe_class(env) {
        say(&format!("no waits of java.util.concurrent are recorded: {reason}"));
        return;
    }
    let ti = recorder.ti();
    let hook = jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
    let _ = ti.set_event(hook, true);
    for target in Target::ALL {
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
pub fn transform(name: &str, bytes: &[u8]) -> Option<(*mut c_uchar, usize)> {
    let target = Target::by_class(name)?;
    match juc::add_probes(target, bytes) {
        Ok(probed) => {
            for left in &probed.left {
                say(&format!("{name} lacks a probe: {left}"));
            }
            let memory = recorder()?.ti().allocate_copy(&probed.bytes).ok()?;
            Some((memory, probed.bytes.len()))
        }
        Err(reason) => {
            say(&format!("{name} gets no probes: {reason}"));
            None
        }
    }
}
