//! The agent's life: loaded, started with the JVM or attached to it, switched
//! off and on, ended.

use crate::{
    api, calibrate, callbacks, children, clock, home,
    jvm::{
        Java, Ti, Vm, Walker,
        setup::{self, Fields},
    },
    lease::{self, LEASES, Leases},
    log::names,
    metadata,
    options::{self, Command, Locks, Mode, Options, Threshold, TraceOptions, Walk},
    recorder::{Recorder, sampled},
    rotation::Log,
    sample,
    spawn::thread,
    sync::lock,
    trace,
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
    sync::{Mutex, OnceLock},
};
use tyrion_plan::{JdkClass, waits};
use tyrion_wire::{
    harmless,
    header::{self, Header, State},
};

static RECORDER: OnceLock<Recorder> = OnceLock::new();
static VM: OnceLock<Vm> = OnceLock::new();
/// What `Agent_OnLoad` leaves for the moment when the JVM is up.
static AT_START: Mutex<Option<Start>> = Mutex::new(None);
/// Held while the agent is started or switched; whether the JDK's lock classes
/// have their probes.
static PROBED: Mutex<bool> = Mutex::new(false);
/// What is recorded of locks, which does not change.
static LOCKS: OnceLock<Locks> = OnceLock::new();
/// What the user asked of trace mode, if anything.
static TRACE_OPTIONS: OnceLock<TraceOptions> = OnceLock::new();

/// What is needed to start.
struct Start {
    ti: Ti,
    options: Options,
    file: File,
    path: PathBuf,
}

/// Says something to the user, in one line, whatever the files are called that
/// it names.
pub fn say(message: &str) {
    // Nothing to do about a closed stderr.
    let _ = writeln!(std::io::stderr(), "tyrion: {}", harmless::text(message));
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
    recorder.log().give_up();
    if recorder.is_enabled() {
        recorder.set_enabled(false);
        let path = recorder.log().path().display();
        say(&format!("{path}: {reason}; recording has stopped, the program runs on"));
        end_trace();
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

/// The agent was given to the JVM's command line.
///
/// # Errors
/// One line for the user, and whether it shall keep the JVM from starting.
pub fn load(ti: Ti, options: &[u8]) -> Result<(), (String, bool)> {
    children::record_too();
    let options = Options::parse(options).map_err(|mistake| (mistake.message, mistake.strict))?;
    let mut at_start = lock(&AT_START);
    if at_start.is_some() {
        // Named twice, on the command line and in the environment.
        return Ok(());
    }
    let strict = options.strict;
    let start = prepare(ti, options).map_err(|reason| (reason, strict))?;
    *at_start = Some(start);
    api::expect(true);
    let on = |event| ti.set_event(event, true).map_err(|e| (format!("JVMTI: {e:?}"), strict));
    on(jvmti::JVMTI_EVENT_VM_INIT)
}

/// Asks for what the agent needs of the JVM, and creates the log's file.
fn prepare(ti: Ti, options: Options) -> Result<Start, String> {
    ti.add_capabilities(&[
        |c: &mut jvmtiCapabilities| c.set_can_get_source_file_name(true),
        |c| c.set_can_get_line_numbers(true),
        |c| c.set_can_get_bytecodes(true),
        |c| c.set_can_get_thread_cpu_time(true),
        |c| c.set_can_support_virtual_threads(true),
    ])
    .and_then(|()| match options.mode().locks {
        Locks::Nothing => Ok(()),
        Locks::Contention | Locks::Trace => ti.add_capabilities(&[
            |c: &mut jvmtiCapabilities| c.set_can_generate_monitor_events(true),
            |c| c.set_can_tag_objects(true),
            |c| c.set_can_retransform_classes(true),
            |c| c.set_can_get_constant_pool(true),
            // Not those of owned monitors: they cost JDK 11 its escape analysis.
            |c| c.set_can_get_monitor_info(true),
            |c| c.set_can_get_current_contended_monitor(true),
        ]),
    })
    .and_then(|()| ti.set_callbacks(&callbacks::table()))
    .map_err(|error| format!("JVMTI: {error:?}"))?;
    let blind = !ti.capabilities().can_generate_monitor_events();
    if blind && options.mode().locks != Locks::Nothing {
        return Err("this JVM does not report contended monitors".to_owned());
    }
    trace::ticks::anchor();
    let path = options.path(std::process::id());
    let (file, path) = names::create(&path, options.overwrite).map_err(|error| {
        let told = format!("{}: {error}", path.display());
        harmless::text(&told).into_owned()
    })?;
    Ok(Start { ti, options, file, path })
}

/// The JVM is up.
pub fn vm_init(env: *mut JNIEnv) {
    let Some(start) = lock(&AT_START).take() else { return };
    if let Err(reason) = begin(start, env, false) {
        say(&format!("{reason}; the program runs on unprofiled"));
    }
    api::expect(false);
}

/// The JVM ends in an orderly way.
pub fn vm_death(env: *mut JNIEnv) {
    if let Some(recorder) = recorder() {
        recorder.set_enabled(false);
        sample::finish();
        if let Some(trace) = trace::active() {
            // JVMTI answers no more, and daemons go on.
            let _ = trace.switch(env, false);
            trace.write_statistics(&recorder.log().current());
        }
        recorder.log().close();
        if let Some(account) = recorder.account_of_walks() {
            say(&account);
        }
    }
    home::leave();
}

/// The agent was loaded into a running JVM: does what `options` say, on a
/// thread of its own, and puts the answer into the file that they name.
///
/// HotSpot finds the probes' native methods only once `Agent_OnAttach` has
/// returned. Had the probes been added before, threads that meet one would
/// get an `UnsatisfiedLinkError` in the middle of taking a lock.
pub fn attach(vm: Vm, ti: Ti, options: &[u8]) {
    let options = options.to_owned();
    let body = move || {
        let options = match Options::parse(&options) {
            Ok(options) => options,
            Err(mistake) => return answer_with(&mistake.reply, Err(mistake.message)),
        };
        let reply = options.reply.clone();
        home::take(&options.home);
        let answer = vm
            .with_thread(|env| obey(vm, ti, env, &options))
            .unwrap_or_else(|| Err("the JVM takes no more threads".to_owned()));
        answer_with(&reply, answer);
    };
    let guarded = || {
        if std::panic::catch_unwind(body).is_err() {
            give_up("a mistake in the agent (a panic)");
        }
    };
    if let Err(error) = thread("tyrion-attach", guarded) {
        say(&error);
    }
}

/// Tells the user how a command ended: in the file that was named for that,
/// and a failure on stderr if there is none.
fn answer_with(reply: &str, answer: Result<String, String>) {
    if reply.is_empty() {
        if let Err(reason) = answer {
            say(&reason);
        }
        return;
    }
    let text = answer.unwrap_or_else(|reason| format!("error={reason}\n"));
    // Whole or not at all; and never through a file or link that somebody
    // else has put there.
    let draft = format!("{reply}.draft");
    let file = OpenOptions::new().write(true).create_new(true).open(&draft);
    let written = file
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&draft, reply));
    if let Err(error) = written {
        say(&format!("{reply}: {error}"));
    }
}

/// Does what a command asks: the answer, `key=value` lines.
fn obey(vm: Vm, ti: Ti, env: *mut JNIEnv, options: &Options) -> Result<String, String> {
    // Two that are given at the same moment must not both find nothing loaded.
    let mut leases = lock(&LEASES);
    match (options.command, recorder()) {
        (Command::Status, None) => Ok("state=not loaded\n".to_owned()),
        (Command::Stop | Command::EndSample(_), None) => Err("the agent is not loaded".to_owned()),
        (Command::Status, Some(recorder)) => Ok(status(recorder)),
        (Command::Stop, Some(recorder)) => {
            switch(recorder, env, false)?;
            lease::stopped(&mut leases);
            Ok(status(recorder))
        }
        (Command::EndSample(number), Some(recorder)) => {
            let ended = lease::end(&mut leases, number, recorder, env)?;
            Ok(format!("{}ended={ended}\n", status(recorder)))
        }
        (Command::Start, Some(recorder)) => go_on(vm, recorder, env, options, &mut leases),
        (Command::Start, None) => {
            begin(prepare(ti, options.clone())?, env, true)?;
            api::announce(ti, env);
            let recorder = recorder().ok_or("the agent did not start")?;
            let lease = match options.sample_for {
                Some(length) => lease::begin(&mut leases, vm, options, true, length)?,
                None => String::new(),
            };
            Ok(status(recorder) + &lease)
        }
    }
}

/// Records again, with those of the options that can still change.
fn go_on(
    vm: Vm,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
    options: &Options,
    leases: &mut Leases,
) -> Result<String, String> {
    if recorder.log().is_dead() {
        return Err("the log cannot be written on; restart the JVM".to_owned());
    }
    if let Some(length) = options.sample_for {
        let lease = lease::begin(leases, vm, options, false, length)?;
        switch(recorder, env, true)?;
        return Ok(status(recorder) + &lease);
    }
    lease::started(leases, options);
    if let Some(threshold) = options.threshold {
        set_threshold(recorder, threshold);
    }
    switch(recorder, env, options.enabled)?;
    let mut answer = status(recorder);
    if options.mode.is_some_and(|mode| !is_recorded(mode.locks)) {
        answer.push_str("note=what is recorded of locks changes only when the agent is loaded\n");
    }
    let fixed = options.depth.is_some() || options.walk.is_some() || options.args;
    let fixed = fixed || options.trace != TraceOptions::default();
    if fixed || !options.exclude_threads.is_empty() || options.rotation.is_some() {
        answer.push_str(
            "note=only threshold, enabled and sampling change once the agent is loaded\n",
        );
    }
    Ok(answer)
}

/// Whether waits are recorded, while recording is on.
pub fn records_waits() -> bool {
    LOCKS.get().is_some_and(|&locks| locks != Locks::Nothing)
}

/// Whether so much is recorded of locks, or more.
fn is_recorded(wanted: Locks) -> bool {
    let recorded = LOCKS.get().copied().unwrap_or(Locks::Nothing);
    wanted == Locks::Nothing || wanted == recorded || recorded == Locks::Trace
}

fn set_threshold(recorder: &Recorder, threshold: Threshold) {
    set_threshold_ns(recorder, resolve(recorder.ti(), threshold).0);
}

/// Has waits shorter than this folded from now on.
pub fn set_threshold_ns(recorder: &Recorder, threshold_ns: u64) {
    recorder.set_threshold_ns(threshold_ns);
    if let Some(trace) = trace::active() {
        trace.set_threshold_ns(threshold_ns);
    }
    recorder.log().set_threshold_ns(threshold_ns);
}

/// The threshold in ns, and where it comes from.
fn resolve(ti: Ti, threshold: Threshold) -> (u64, String) {
    match threshold {
        Threshold::Ns(ns) => (ns, "as asked for".to_owned()),
        Threshold::Auto => calibrate::threshold(ti),
    }
}

/// What the agent is doing, in `key=value` lines.
pub fn status(recorder: &'static Recorder) -> String {
    let state = if recorder.log().is_dead() {
        State::Broken
    } else if recorder.is_enabled() {
        State::Recording
    } else {
        State::Paused
    };
    let locks = match LOCKS.get().copied().unwrap_or(Locks::Nothing) {
        // It may have failed to start.
        Locks::Trace if trace::active().is_none() => Locks::Contention,
        locks => locks,
    };
    let period_ns = sample::period_ns();
    let mode = Mode { locks, sample: period_ns.is_some() };
    let sampling = match period_ns {
        Some(period_ns) => format!("sampling=on\nperiod_ns={period_ns}\n"),
        None => "sampling=off\n".to_owned(),
    };
    format!(
        "state={}\nlog={}\nmode={}\nthreshold_ns={}\n{sampling}",
        state.name(),
        recorder.log().path().display(),
        mode.name(),
        recorder.threshold_ns(),
    )
}

/// Opens the log and begins to record. A failure leaves nothing behind.
fn begin(start: Start, env: *mut JNIEnv, attached: bool) -> Result<(), String> {
    let Start { ti, options, file, path } = start;
    let result = open(ti, &options, file, &path, env, attached);
    if result.is_err() {
        // Empty, or the beginnings of a log.
        let _ = std::fs::remove_file(&path);
    }
    let recorder = result?;
    lease::set_wanted(options.enabled && options.sample_for.is_none());
    if options.enabled {
        return switch(recorder, env, true);
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
) -> Result<&'static Recorder, String> {
    let fields =
        Fields::find(env).map_err(|reason| format!("this JVM is unlike others: {reason}"))?;
    let mode = options.mode();
    let (threshold_ns, origin) = match mode.locks {
        Locks::Nothing => (0, "no waits are recorded".to_owned()),
        _ => resolve(ti, options.threshold.unwrap_or(Threshold::Auto)),
    };
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
        depth: options.depth.unwrap_or(options::DEFAULT_DEPTH) as u32,
        dropped_contention: 0,
        dropped_other: 0,
        metadata: metadata::collect(ti, options, &origin, attached),
    };
    if options.rotation.is_some() && options.overwrite {
        names::remove_earlier(path);
    }
    let log = Log::start(file, path.to_owned(), header.clone(), options.rotation)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    for event in [
        jvmti::JVMTI_EVENT_VM_DEATH,
        jvmti::JVMTI_EVENT_THREAD_START,
        jvmti::JVMTI_EVENT_THREAD_END,
    ] {
        ti.set_event(event, true).map_err(|error| format!("JVMTI: {error:?}"))?;
    }
    if mode.locks != Locks::Nothing {
        for event in
            [jvmti::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, jvmti::JVMTI_EVENT_MONITOR_WAITED]
        {
            ti.set_event(event, true).map_err(|error| format!("JVMTI: {error:?}"))?;
        }
    }
    // Fails before JDK 21, where there are none.
    let _ = ti.set_event(jvmti::JVMTI_EVENT_VIRTUAL_THREAD_END, true);
    let walker = match mode.locks {
        Locks::Nothing => None,
        _ => walker(ti, &fields, options),
    };
    let excluded = options.exclude_threads.clone();
    // One for each JVM; threads hold on to it until the process ends.
    let recorder =
        RECORDER.get_or_init(|| Recorder::new((ti, walker), fields, log, &header, excluded));
    let _ = LOCKS.set(mode.locks);
    if mode.locks == Locks::Trace {
        let _ = TRACE_OPTIONS.set(options.trace.clone());
    }
    let vm = Vm::of(env).ok_or("no JVM")?;
    let _ = VM.set(vm);
    sample::prepare(recorder, vm);
    if mode.sample {
        sample::start(&options.sampling);
        if options.sample_for.is_none() {
            lease::set_lasting(Some(&options.sampling));
        }
    }
    spawn_helper(recorder)?;
    let can = ti.capabilities();
    if can.can_get_monitor_info() && can.can_get_current_contended_monitor() {
        thread("tyrion-owners", move || recorder.watch_long_waits(vm))?;
    }
    Ok(recorder)
}

/// The first JDK whose class unloading leaves fast walks alone.
const SAFE_WALKS: u32 = 21;

/// What walks stacks fast, where that is wanted and this JVM can do it.
fn walker(ti: Ti, fields: &Fields, options: &Options) -> Option<Walker> {
    let version = ti.property("java.vm.specification.version").parse::<u32>();
    match options.walk.unwrap_or(Walk::Auto) {
        Walk::Jvmti => return None,
        Walk::Auto if version.is_ok_and(|version| version < SAFE_WALKS) => return None,
        _ => {}
    }
    let compares = options.walk == Some(Walk::Compare);
    let given_up =
        || say("AsyncGetCallTrace tells other stacks than GetStackTrace, which is asked now");
    let walker = Walker::find(ti, fields.continuation_run, compares, given_up)?;
    ti.set_event(jvmti::JVMTI_EVENT_CLASS_LOAD, true).is_ok().then_some(walker)
}

/// The thread that keeps the log ahead of its writers. The JVM does not know
/// it, so it appears nowhere.
fn spawn_helper(recorder: &'static Recorder) -> Result<(), String> {
    let body = move || {
        let kept = std::panic::catch_unwind(|| recorder.keep_log());
        let reason = kept.unwrap_or_else(|_| Some("a mistake in the agent (a panic)".to_owned()));
        if let Some(reason) = reason {
            give_up(&reason);
        }
    };
    thread("tyrion-log", body).inspect_err(|_| recorder.log().give_up())
}

/// Switches recording on or off. The first time on, the JDK's lock classes get
/// their probes.
///
/// # Errors
/// In words, what the JVM did not want.
pub fn switch(recorder: &'static Recorder, env: *mut JNIEnv, on: bool) -> Result<(), String> {
    let mut probed = lock(&PROBED);
    if records_waits() {
        if on && !std::mem::replace(&mut *probed, true) {
            add_probes(recorder, env);
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
        recorder.pauses();
    } else {
        recorder.goes_on();
        if records_waits() {
            // SAFETY: the environment is the current thread's.
            recorder.tell_threads(unsafe { Java::new(env) });
        }
    }
    let state = if on { State::Recording } else { State::Paused };
    recorder.log().set_state(state);
    sample::recording(on);
    Ok(())
}

/// Gives the JDK's lock classes their probes. What cannot have them is said
/// and left out: monitors are recorded without any.
fn add_probes(recorder: &'static Recorder, env: *mut JNIEnv) {
    let linked = setup::define_probe_class(env).and_then(|class| {
        sampled::leave_out(recorder.ti().methods_of(class).unwrap_or_default());
        setup::link(env, class)
    });
    if let Err(reason) = linked {
        say(&format!("no waits of java.util.concurrent are recorded: {reason}"));
        return;
    }
    let ti = recorder.ti();
    let hook = jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
    let _ = ti.set_event(hook, true);
    if let Some(options) = TRACE_OPTIONS.get() {
        match trace::prepare(recorder, options.clone(), env) {
            // The hook stays on, for classes that are loaded later.
            Ok(trace) => return trace.add_probes(env),
            Err(reason) => say(&format!("only waits are recorded, no acquisitions: {reason}")),
        }
    }
    for target in waits::CLASSES {
        let retransformed = setup::find_class(env, target.name()).and_then(|class| {
            let result = ti.retransform(class);
            // SAFETY: `env` is the current thread's, `class` a local reference.
            unsafe { Java::new(env) }.drop_local(class);
            result.map_err(|error| format!("JVMTI: {error:?}"))
        });
        if let Err(reason) = retransformed {
            say(&format!("{} gets no probes: {reason}", target.name()));
        }
    }
    let _ = ti.set_event(hook, false);
}

/// The new bytes of a class that gets probes, in JVMTI's memory, and their
/// number; `None` for all others.
pub fn transform(name: &str, bytes: &[u8]) -> Option<(*mut c_uchar, usize)> {
    let bytes = if trace::active().is_some() {
        trace::transform(name, bytes)?
    } else {
        add_contention_probes(JdkClass::by_name(name.as_bytes())?, name, bytes)?
    };
    let memory = recorder()?.ti().allocate_copy(&bytes).ok()?;
    Some((memory, bytes.len()))
}

fn add_contention_probes(class: JdkClass, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    match waits::add_probes(class, bytes) {
        Ok(probed) => {
            for left in &probed.left {
                say(&format!("{name} lacks a probe: {left}"));
            }
            Some(probed.bytes)
        }
        Err(reason) => {
            say(&format!("{name} gets no probes: {reason}"));
            None
        }
    }
}
