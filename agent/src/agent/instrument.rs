//! Which classes get whose probes.

use super::hooks;
use crate::{
    contention::Contention,
    jvm::{
        Java, Object, Ti,
        agents::{Others, others},
        setup,
    },
    message::say,
    options::Parks,
    recorder::{Recorder, threads::ParkSeenBy},
    trace::{self, Chosen, Trace},
};
use jvmti_bindings::sys::{jni::JNIEnv, jvmti};
use std::{
    ffi::c_uchar,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use tyrion_bytecode::Method;
use tyrion_plan::{
    JdkClass, probe,
    waits::{self, Extent, NoProbes},
};

const HOOK: jvmti::jvmtiEvent = jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;

/// How many looks at the probes must find nothing once the hook is on for good: a
/// retransformation may have begun before.
const LOOKS: u32 = 10;

/// Whether trace mode looks at classes that are loaded, for the hook, which may run
/// while the modes are changed. There is a hook without that, too: it keeps the probes
/// of waits where other agents change the same classes.
static LOADING: AtomicBool = AtomicBool::new(false);
/// Whether the probes that tell who ends waits are among those of waits.
static WAKERS: AtomicBool = AtomicBool::new(false);
/// Whether the JDK's native methods see parks, and probes of waits only what these do not.
static BESIDE_NATIVES: AtomicBool = AtomicBool::new(false);

/// What sees waits and acquisitions, once it is in place: it stays.
pub struct Probes {
    /// Of waits, in the JDK's lock classes or in place of its native methods.
    pub waits: bool,
    /// Of trace mode.
    pub trace: bool,
    /// Trace mode looks at classes that are loaded.
    pub loading: bool,
    /// Probes of waits are in the JDK's lock classes, but the class file load hook is, or
    /// was until just now, off: another agent that has these classes retransformed takes
    /// the probes away.
    pub can_be_lost: bool,
    /// How often they were looked at since the hook is on for good.
    looks: u32,
    /// How often it was asked since trace mode began whether classes have come that the
    /// class file load hook missed; `None` when that is not asked any more.
    newcomers: Option<u32>,
    /// Those of waits were taken back together with those of trace mode.
    lacks_waits: bool,
    /// Those of trace mode were taken back.
    lacks_trace: bool,
}

impl Probes {
    /// None is in place.
    pub const NONE: Probes = Probes {
        waits: false,
        trace: false,
        loading: false,
        can_be_lost: false,
        looks: 0,
        newcomers: None,
        lacks_waits: false,
        lacks_trace: false,
    };
}

/// Has waits seen, and acquisitions where `chosen` says which. What cannot be
/// is said and left out: monitors are recorded without any probes.
pub fn add_probes(
    contention: &'static Contention,
    probes: &mut Probes,
    parks: Parks,
    chosen: Option<Chosen<'_>>,
    env: *mut JNIEnv,
) {
    // SAFETY: `env` is the current thread's, and this is called in a native frame
    // that lasts longer.
    let java = unsafe { Java::new(env) };
    if std::mem::take(&mut probes.lacks_waits) && chosen.is_none() {
        let _ = contention.recorder().ti().set_event(HOOK, true);
        make_anew(contention.recorder(), java);
        leave_hook(contention.recorder().ti(), probes);
    }
    if probes.trace && chosen.is_some_and(|chosen| chosen.aim.is_none()) {
        // Single locks may have been traced before, with parks as they were seen then.
        leave_natives();
    }
    let wants_trace = chosen.filter(|_| !probes.trace);
    if wants_trace.is_none() && probes.waits {
        return;
    }
    let first = !std::mem::replace(&mut probes.waits, true);
    WAKERS.store(contention.notes_wakers(), Relaxed);
    let lacks_waits = |reason: &dyn std::fmt::Display| {
        say(&format!("no waits of java.util.concurrent are recorded: {reason}"));
    };
    if wants_trace.is_none() && parks == Parks::Natives {
        if let Err(reason) = hooks::record_parks(contention, java, ParkSeenBy::Natives) {
            lacks_waits(&reason);
        }
        return;
    }
    let recorder = contention.recorder();
    if first || hooks::records_parks() {
        let linked = setup::probe_class(java).and_then(|class| {
            recorder.leave_out(recorder.ti().methods_of(class.get()).unwrap_or_default());
            setup::link(env, class.get(), probe::wait::ALL)
        });
        if let Err(reason) = linked {
            return lacks_waits(&reason);
        }
    }
    if wants_trace.is_none() && parks == Parks::Auto {
        match hooks::record_parks(contention, java, ParkSeenBy::Probes) {
            Ok(()) => BESIDE_NATIVES.store(true, Relaxed),
            // The probes alone do, too.
            Err(reason) => say(&format!("parks=probes: {reason}")),
        }
    }
    let _ = recorder.ti().set_event(HOOK, true);
    if let Some(chosen) = wants_trace {
        match trace::prepare(recorder, chosen, contention.notes_wakers(), env) {
            // The hook stays on, for classes that are loaded later.
            Ok(trace) => {
                (probes.trace, probes.loading, probes.can_be_lost) = (true, true, false);
                LOADING.store(true, Relaxed);
                contention.observe_with(trace);
                if chosen.aim.is_none() {
                    leave_natives();
                }
                probes.newcomers = Some(0);
                return trace.add_probes(env);
            }
            Err(reason) => say(&format!("only waits are recorded, no acquisitions: {reason}")),
        }
    }
    if first {
        make_anew(recorder, java);
    }
    leave_hook(recorder.ti(), probes);
}

/// The probes see parks from the moment they are there.
fn leave_natives() {
    hooks::leave_parks();
    BESIDE_NATIVES.store(false, Relaxed);
}

/// Which probes of waits there are to be.
fn extent() -> Extent {
    match BESIDE_NATIVES.load(Relaxed) {
        true => Extent::BesideNatives,
        false => Extent::Whole,
    }
}

/// Has the JDK's lock classes made anew: with the hook on, with probes of waits.
fn make_anew(recorder: &Recorder, java: Java) {
    targets(recorder).for_each(|target| retransform(recorder, java, target));
    if extent() == Extent::Whole && setup::is_jdk_8(java) {
        waits::CLASSES_OF_8.into_iter().for_each(|target| retransform(recorder, java, target));
    }
}

/// Takes the probes of trace mode back, which is off: all classes that have some are what
/// their files say, until probes are wanted again. Returns whether none has any left.
pub fn take_back(probes: &mut Probes, trace: &Trace, env: *mut JNIEnv) -> bool {
    follow_loading(probes, trace, env, false);
    // What passes while there is no hook gets none.
    let _ = trace.recorder().ti().set_event(HOOK, false);
    let stripped = trace.take_probes(env);
    probes.lacks_waits |= stripped.has_locks;
    (probes.lacks_trace, probes.can_be_lost) = (true, false);
    stripped.is_done
}

/// Takes the probes of waits back, of which nothing is wanted: the JDK's classes are what their
/// files say, until probes are wanted again. What replaces native methods stays.
pub fn take_back_waits(probes: &mut Probes, recorder: &Recorder, env: *mut JNIEnv) {
    let has_some = !hooks::records_parks() || extent() == Extent::BesideNatives;
    if !probes.waits || probes.trace || probes.lacks_waits || !has_some {
        return;
    }
    // What passes while there is no hook gets none.
    let _ = recorder.ti().set_event(HOOK, false);
    // SAFETY: `env` is the current thread's, and this is called in a native frame
    // that lasts longer.
    make_anew(recorder, unsafe { Java::new(env) });
    (probes.lacks_waits, probes.can_be_lost) = (true, false);
}

/// Has trace mode look at the classes that are loaded from now on, or not. What it
/// has missed meanwhile, it looks at then.
pub fn follow_loading(probes: &mut Probes, trace: &Trace, env: *mut JNIEnv, on: bool) {
    if std::mem::replace(&mut probes.loading, on) == on {
        return;
    }
    if !on {
        if trace.wants_all_locks() {
            // First: what is loaded from then on may get by. Where single locks were traced,
            // all classes get their probes anew in any case.
            trace.remember_classes(env);
        }
        probes.newcomers = None;
        trace.forget_newcomers();
    } else {
        trace.expect_newcomers();
    }
    LOADING.store(on, Relaxed);
    let ti = trace.recorder().ti();
    if !on {
        return leave_hook(ti, probes);
    }
    probes.can_be_lost = false;
    // First, so that no class gets by.
    if ti.set_event(HOOK, true).is_ok() {
        match std::mem::take(&mut probes.lacks_trace) {
            true => trace.add_probes(env),
            false => trace.add_missing_probes(env),
        }
        probes.newcomers = Some(0);
    }
}

/// Gives probes to the classes that these options select, and takes them from those that
/// are no longer selected: at once, or when trace mode is on again.
pub fn choose_classes(probes: &mut Probes, trace: &Trace, env: *mut JNIEnv, chosen: Chosen<'_>) {
    if probes.loading && probes.newcomers.is_some() {
        // Those that have come by now would be taken for known ones below.
        trace.add_probes_to_newcomers(env, false);
    }
    if trace.choose_classes(chosen) && probes.loading {
        // A class that the JVM is reading now may have passed the hook before.
        trace.expect_newcomers();
        trace.follow_filters(env);
        probes.newcomers = Some(0);
    }
}

/// When to look for newcomers, in half seconds since trace mode began, or other classes
/// were asked for. A class takes long to be read where its superclass is fetched from
/// elsewhere first.
const NEWCOMERS: [u32; 4] = [1, 2, 10, 120];

/// Whether it is time to look for newcomers. To be asked every half second.
pub fn newcomers_are_due(probes: &mut Probes) -> bool {
    let Some(asked) = &mut probes.newcomers else { return false };
    *asked += 1;
    NEWCOMERS.contains(asked) || is_last(*asked)
}

/// Adds probes to the classes that the JVM was reading when trace mode began, after the
/// hook and before they were among those that are loaded.
pub fn look_for_newcomers(probes: &mut Probes, env: *mut JNIEnv) {
    let (Some(asked), Some(trace)) = (probes.newcomers, trace::active()) else { return };
    trace.add_probes_to_newcomers(env, is_last(asked));
    probes.newcomers = Some(asked).filter(|asked| !is_last(*asked));
}

fn is_last(asked: u32) -> bool {
    NEWCOMERS.last().is_none_or(|last| asked >= *last)
}

/// Leaves the class file load hook on only where it is of use and costs nothing: agents
/// written in Java have the JVM read every class from its file in any case.
fn leave_hook(ti: Ti, probes: &mut Probes) {
    let has_probes = !hooks::records_parks() || extent() == Extent::BesideNatives;
    let stays_on = has_probes && others().java;
    if stays_on {
        probes.looks += 1;
    } else {
        let _ = ti.set_event(HOOK, false);
    }
    probes.can_be_lost = has_probes && probes.looks <= LOOKS;
}

/// Has one of the JDK's lock classes made anew.
fn retransform(recorder: &Recorder, java: Java, target: JdkClass) {
    let class = match waits::CLASSES_OF_8.contains(&target) {
        true => setup::load_class(java, target.name()),
        false => setup::find_class(java, target.name()),
    };
    let retransformed = class.and_then(|class| {
        let result = recorder.ti().retransform(class.get());
        java.drop_local(class);
        Ok(result?)
    });
    if let Err(reason) = retransformed {
        say(&format!("{} cannot be changed: {reason}", target.name()));
    }
}

/// Puts probes of waits where another agent has taken them away: its own changes of
/// these classes stay. Says so, since what was waited for meanwhile is not recorded.
pub fn restore_probes(recorder: &Recorder, probes: &mut Probes, env: *mut JNIEnv) {
    // SAFETY: `env` is the current thread's, and this is called in a native frame
    // that lasts longer.
    let java = unsafe { Java::new(env) };
    // Before the look: whoever changes a class from now on leaves its probes there.
    let _ = recorder.ti().set_event(HOOK, true);
    let mut lost = Vec::new();
    for target in targets(recorder) {
        match setup::find_class(java, target.name()) {
            Ok(class) if has_lost_probes(recorder.ti(), class.get()) => lost.push((target, class)),
            Ok(class) => java.drop_local(class),
            Err(_) => {}
        }
    }
    if !lost.is_empty() {
        probes.looks = 0;
        let classes: Vec<Object<'_>> = lost.iter().map(|(_, class)| class.get()).collect();
        let names: Vec<String> =
            lost.iter().map(|(target, _)| target.name().replace('/', ".")).collect();
        let names = names.join(", ");
        // All at the same moment: a slow path without its parks would be no wait.
        say(&match recorder.ti().retransform_all(&classes) {
            Ok(()) => format!(
                "another agent had removed the probes from {names}; they are there again, but \
                 waits before that may be missing"
            ),
            Err(error) => format!(
                "another agent has removed the probes from {names}, and they cannot be added \
                 again (JVMTI: {error:?}): waits are missing from now on"
            ),
        });
    }
    let has_failed = lost.iter().any(|(_, class)| has_lost_probes(recorder.ti(), class.get()));
    lost.into_iter().for_each(|(_, class)| java.drop_local(class));
    leave_hook(recorder.ti(), probes);
    // It would fail again.
    probes.can_be_lost &= !has_failed;
}

/// The classes that get probes in this JVM. Those for virtual threads are in one that has no
/// others where native methods see parks.
fn targets(recorder: &Recorder) -> impl Iterator<Item = JdkClass> {
    const VIRTUAL_SINCE: u32 = 21;
    let has_virtual = recorder.ti().java_release().is_some_and(|it| it >= VIRTUAL_SINCE);
    let is_whole = extent() == Extent::Whole;
    let gets_probes =
        move |class: &JdkClass| is_whole || has_virtual || *class != JdkClass::LockSupport;
    extent().classes().iter().copied().filter(gets_probes)
}

/// Whether one of the JDK's lock classes calls no probe of waits any more.
fn has_lost_probes(ti: Ti, class: Object<'_>) -> bool {
    ti.calls_static(class, probe::wait::CLASS).is_ok_and(|calls| !calls)
}

/// Which of the other agents may have taken probes away, if these can be lost at all:
/// those written in Java do so when they come; of others nobody knows when.
pub fn suspects(probes: &Probes) -> Option<Others> {
    let others = others();
    (probes.can_be_lost && (others.java || others.native)).then_some(others)
}

/// The new bytes of a class that gets probes, in JVMTI's memory, and their
/// number; `None` for all others.
///
/// Where `finds_probes` says that the class would not find what trace mode's probes call, it
/// gets none of these.
pub fn transform(
    ti: Ti,
    name: &str,
    bytes: &[u8],
    finds_probes: impl FnOnce() -> bool,
) -> Option<(*mut c_uchar, usize)> {
    let mut targets = waits::CLASSES.into_iter().chain(waits::CLASSES_OF_8);
    let target = targets.find(|class| class.name() == name);
    if target.is_none() && !LOADING.load(Relaxed) {
        return None;
    }
    let wakers = WAKERS.load(Relaxed);
    let extent = extent();
    // Where native methods see parks, and nothing beside them, there are none.
    let has_some = !hooks::records_parks() || extent == Extent::BesideNatives;
    let target = target.filter(|_| has_some || trace::active().is_none());
    let bytes = if LOADING.load(Relaxed) && trace::active().is_some() {
        let of_waits = target.map(|target| {
            move |method: &Method<'_, '_>| waits::plan_of(extent, target, method, wakers)
        });
        trace::transform(name, bytes, of_waits, finds_probes)?
    } else {
        // Those of trace mode come when it is on.
        add_contention_probes(target?, name, bytes, wakers)?
    };
    let memory = ti.allocate_copy(&bytes).ok()?;
    Some((memory, bytes.len()))
}

fn add_contention_probes(
    target: JdkClass,
    name: &str,
    bytes: &[u8],
    wakers: bool,
) -> Option<Vec<u8>> {
    match waits::add_probes(target, bytes, wakers, extent()) {
        Ok(probed) => {
            for left in &probed.left {
                say(&format!("{name} lacks a probe: {left}"));
            }
            Some(probed.bytes)
        }
        // It is none of those that are to have some.
        Err(NoProbes::NoMethod) if waits::CLASSES_OF_8.contains(&target) => None,
        Err(NoProbes::NoMethod) if extent() == Extent::BesideNatives => None,
        Err(reason) => {
            say(&format!("{name} gets no probes: {reason}"));
            None
        }
    }
}
