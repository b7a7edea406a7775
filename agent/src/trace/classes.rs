//! Which classes get probes: all that take locks, when they are loaded, and
//! those that were loaded before.

use super::{Trace, active};
use crate::{
    jvm::{Java, Local, Object, agents, code::is_anonymous},
    work,
};
use jvmti_bindings::sys::jni::JNIEnv;
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};
use tyrion_bytecode::{ClassFile, Method, MethodPlan};
use tyrion_plan::{JdkClass, PlanOptions, locks, probe, program};

/// Classes that are retransformed at once, in one safepoint: H2's 600 classes took 36 ms,
/// ten groups of 64 took 18 ms each. The limit is for pauses and memory of programs with
/// very many classes; such were not measured.
const BATCH: usize = 2048;

/// The new bytes of a class; `None` when it stays as it is. `others` says, if the
/// class gets any, which probes of another mode go into its methods, too.
///
/// A class that does not find what probes call, as `finds_probes` says, gets none.
pub fn transform(
    name: &str,
    bytes: &[u8],
    others: Option<impl Fn(&Method<'_, '_>) -> Option<MethodPlan>>,
    finds_probes: impl FnOnce() -> bool,
) -> Option<Vec<u8>> {
    let trace = active()?;
    let began = Instant::now();
    let new = trace.add_probes_to(name, bytes, others, finds_probes);
    let took_ns = began.elapsed().as_nanos() as u64;
    trace.statistics.transform_ns.fetch_add(took_ns, Relaxed);
    new
}

impl Trace {
    /// Notes that a class that is loaded passes through the hook.
    pub fn note_loading(&self, name: &str) {
        self.passed.see(name);
    }

    fn add_probes_to(
        &self,
        name: &str,
        bytes: &[u8],
        others: Option<impl Fn(&Method<'_, '_>) -> Option<MethodPlan>>,
        finds_probes: impl FnOnce() -> bool,
    ) -> Option<Vec<u8>> {
        let Ok(class) = ClassFile::parse(bytes) else {
            // The JVM will say so, if it is.
            self.recorder.places().leave("malformed class");
            return None;
        };
        let jdk = JdkClass::by_name(name.as_bytes());
        let options = self.plan.now();
        if others.is_none() && jdk.is_none() && !program::concerns(&class, &options) {
            return None;
        }
        let places = self.recorder.places();
        let mut all = program::plan(&class, &options, &mut |place, is_paired| {
            places.number(place, is_paired)
        });
        for (method, plan) in class.methods().zip(&mut all.methods) {
            let lock = jdk.filter(|_| options.filters.wants_locks());
            if let Some(more) = lock.and_then(|jdk| locks::plan(jdk, &method)) {
                plan.append(more);
            }
            if let Some(more) = others.as_ref().and_then(|others| others(&method)) {
                plan.append(more);
            }
        }
        let instrumented = all.carry_out(&class);
        if instrumented.bytes.is_some() && !finds_probes() {
            (0..instrumented.changed).for_each(|_| places.leave("class loader"));
            return None;
        }
        all.left.iter().for_each(|left| places.leave(left.why.key()));
        places.remember_moves(name, instrumented.moved);
        if instrumented.bytes.is_some() {
            self.statistics.classes.fetch_add(1, Relaxed);
            self.statistics.methods.fetch_add(instrumented.changed as u64, Relaxed);
        }
        instrumented.bytes
    }
}

impl Trace {
    /// Whether a class has its probes, or is known to get none. Its code is read only
    /// where somebody may have taken the probes away: another agent, or the JVM itself,
    /// which changes classes of its own loader for Flight Recorder. To find the code, the
    /// JVM makes an id for each method, and keeps it when the class is unloaded.
    fn is_done(&self, java: Java, class: Object<'_>) -> bool {
        let ti = self.recorder.ti();
        match self.mentions_probes(class) {
            Some(true) if self.passed.is_loaded_by_program(java, class) => {
                let others = agents::others();
                !(others.java || others.native) || self.calls_probes(class)
            }
            Some(true) => self.calls_probes(class),
            Some(false) | None => self.passed.has(ti, java, class),
        }
    }

    /// Whether a class has, or had, probes; `None` before it is linked.
    fn mentions_probes(&self, class: Object<'_>) -> Option<bool> {
        self.recorder.ti().constants_mention(class, &[probe::trace::CLASS.as_bytes()])
    }

    fn calls_probes(&self, class: Object<'_>) -> bool {
        self.recorder.ti().calls_static(class, probe::trace::CLASS).unwrap_or(false)
    }
}

/// Which of the classes that are loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Every one.
    All,
    /// Those that have not passed through [`transform`] already. Another agent may have
    /// taken probes away: then the constants are there all the same.
    Missing,
    /// Those that were not there yet when trace mode began, or other classes were asked
    /// for, and that the class file load hook missed, since the JVM was already reading
    /// them.
    Newcomers,
    /// Those alone that the user wants now, and did not want before, or the other way
    /// round. All of the others have these, too.
    Chosen,
}

/// Which of the loaded classes are to pass through [`transform`].
struct Choice<'a> {
    trace: &'a Trace,
    which: Which,
    /// What was wanted when the classes got the probes that they have.
    before: Arc<PlanOptions>,
    now: Arc<PlanOptions>,
}

impl Choice<'_> {
    fn has(&self, java: Java, class: Object<'_>) -> bool {
        let ti = self.trace.recorder.ti();
        let Ok(signature) = ti.class_signature(class) else {
            return self.includes(java, class) && ti.may_take_locks(class);
        };
        // Arrays and primitive types have no code. Anonymous classes are the JVM's own, as those
        // of lambdas, whose bodies are elsewhere; JDK 8 does not survive their change.
        let name = internal_name(&signature).filter(|_| !is_anonymous(&signature));
        let Some(name) = name else { return false };
        let [was_wanted, is_wanted] =
            [&self.before, &self.now].map(|options| options.filters.wants(name));
        if was_wanted != is_wanted {
            return if is_wanted { ti.may_take_locks(class) } else { self.may_have_probes(class) };
        }
        // Those of the JDK have probes that do not depend on what the user wants, unless they
        // are needed for no lock.
        let is_locks = || self.now.filters.wants_locks() && JdkClass::by_name(name).is_some();
        if is_wanted || is_locks() {
            return self.includes(java, class) && ti.may_take_locks(class);
        }
        // It got its probes while others were wanted.
        self.which == Which::Newcomers
            && self.includes(java, class)
            && self.trace.mentions_probes(class) == Some(true)
    }

    /// Whether a class that was wanted, and is not any more, may have any.
    fn may_have_probes(&self, class: Object<'_>) -> bool {
        let mentions = self.trace.mentions_probes(class);
        mentions.unwrap_or_else(|| self.trace.recorder.ti().may_take_locks(class))
    }

    /// Of the classes that are wanted as much as before.
    fn includes(&self, java: Java, class: Object<'_>) -> bool {
        let trace = self.trace;
        match self.which {
            Which::All => true,
            Which::Missing => !trace.is_done(java, class),
            Which::Newcomers => trace.passed.is_newcomer(trace.recorder.ti(), java, class),
            Which::Chosen => false,
        }
    }
}

/// Has these of the loaded classes pass through [`transform`], if they may take locks
/// and the user wants them; and those that the user does not want any more.
pub fn retransform_loaded(trace: &Trace, env: *mut JNIEnv, which: Which) {
    let ti = trace.recorder.ti();
    // SAFETY: `env` is the current thread's, and this is called in a native frame
    // that lasts longer.
    let java = unsafe { Java::new(env) };
    let Ok(classes) = ti.loaded_classes(java) else { return };
    if which != Which::Newcomers {
        trace.passed.list(ti, java, &classes);
    }
    let choice = Choice { trace, which, before: trace.plan.before(), now: trace.plan.now() };
    let mut wanted = Vec::new();
    for class in classes {
        match choice.has(java, class.get()) {
            true => wanted.push(class),
            false => java.drop_local(class),
        }
    }
    // Where no class is changed, what is known of methods stays true.
    if !wanted.is_empty() {
        retransform(trace, java, wanted, true);
        trace.recorder.note_redefinition();
    }
    trace.plan.done(&choice.now);
}

/// The internal name of a class that has one.
fn internal_name(signature: &[u8]) -> Option<&[u8]> {
    signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"))
}

/// What became of classes that were to lose their probes.
pub struct Stripped {
    /// None has any left.
    pub is_done: bool,
    /// The JDK's locks were among them, which have lost those of waits, too.
    pub has_locks: bool,
}

/// Has the classes that have probes pass by [`transform`] while there is no hook: then they
/// are what their files say.
pub fn strip(trace: &Trace, env: *mut JNIEnv) -> Stripped {
    // SAFETY: `env` is the current thread's, and this is called in a native frame
    // that lasts longer.
    let java = unsafe { Java::new(env) };
    let ti = trace.recorder.ti();
    let mut stripped = Stripped { is_done: false, has_locks: false };
    let Ok(classes) = ti.loaded_classes(java) else { return stripped };
    let is_lock = |class: Object<'_>| {
        let signature = ti.class_signature(class).unwrap_or_default();
        internal_name(&signature).and_then(JdkClass::by_name).is_some()
    };
    // Constants stay when the probes are gone. Of many classes the code is not looked at, see
    // `is_done`.
    let are_few = !trace.wants_all_locks();
    let has_probes = |class: Object<'_>| {
        trace.mentions_probes(class) == Some(true) && (!are_few || trace.calls_probes(class))
    };
    let mut probed = Vec::new();
    for class in classes {
        if has_probes(class.get()) {
            stripped.has_locks |= is_lock(class.get());
            probed.push(class);
        } else {
            java.drop_local(class);
        }
    }
    stripped.is_done = retransform(trace, java, probed, false);
    trace.recorder.note_redefinition();
    stripped
}

/// What is left when the command is given up is not done, unless it must be. Returns whether
/// all is done.
fn retransform(trace: &Trace, java: Java, classes: Vec<Local<'_>>, may_be_left: bool) -> bool {
    let (of, mut done, mut is_done) = (classes.len(), 0, true);
    let (mut classes, mut batch) = (classes.into_iter(), Vec::new());
    loop {
        if may_be_left {
            work::note(format!("puts probes into classes, {done} of {of} done"));
            if work::is_given_up() {
                classes.for_each(|class| java.drop_local(class));
                return false;
            }
        }
        batch.extend(classes.by_ref().take(BATCH));
        if batch.is_empty() {
            return is_done;
        }
        let together: Vec<_> = batch.iter().map(Local::get).collect();
        is_done &= retransform_together(trace, &together);
        done += batch.len();
        batch.drain(..).for_each(|class| java.drop_local(class));
    }
}

/// One that the JVM does not want spoils all that come with it: halves are tried until it
/// is alone. The classes beside it pass through the hook, and are counted, once more each
/// time. Returns whether the JVM wanted all.
fn retransform_together(trace: &Trace, classes: &[Object<'_>]) -> bool {
    if classes.is_empty() || trace.recorder.ti().retransform_all(classes).is_ok() {
        return true;
    }
    if classes.len() == 1 {
        trace.recorder().places().leave("refused");
        return false;
    }
    let (first, second) = classes.split_at(classes.len() / 2);
    let is_done = retransform_together(trace, first);
    retransform_together(trace, second) && is_done
}
