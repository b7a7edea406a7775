//! Trace mode begins: the class that probes call, and what it must know.

use super::{
    READY, TRACE, Trace,
    chosen::Chosen,
    classes::{self, Stripped, Which},
    error::TraceError,
    instances,
    memory::{Later, address_of},
    ticks,
};
use crate::{
    jvm::{
        Java, Vm, natives,
        setup::{self, Referent},
        ti,
    },
    log,
    recorder::Recorder,
    spawn,
    sync::lock,
};
use jvmti_bindings::sys::{jni::JNIEnv, jvmti};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};
use tyrion_plan::{Front, PlanOptions, probe};

/// Taking a monitor that nobody wants takes less, looks at the clock included.
const SHORTEST_DELAY_NS: u64 = 1000;

/// The bytes of the class that probes call; `tests/setup/probe-class.sh` makes
/// them, and `make test` says whether they are those of its source.
const CLASS_BYTES: &[u8] = include_bytes!("../../probe/java/lang/TyrionTrace.class");
/// Between two looks for locks that have no hash yet.
const HASH_PERIOD: Duration = Duration::from_millis(10);
/// When there were so many, the next look comes sooner.
const MANY: u32 = 1000;
/// While nothing is recorded.
const REST: Duration = Duration::from_secs(1);

/// Defines the class that probes call, so that probes can be added; recording
/// is still off. The native methods of the other probe class have been linked,
/// so the JVM finds ours, too. With `wakers` it is of interest who notifies objects.
///
/// # Errors
/// What the JVM did not want, or what is missing.
pub fn prepare(
    recorder: &'static Recorder,
    chosen: Chosen<'_>,
    wakers: bool,
    env: *mut JNIEnv,
) -> Result<&'static Trace, TraceError> {
    let options = chosen.options;
    ticks::calibrate();
    let trace =
        Trace::new(recorder, options, Vm::of(env)).ok_or(TraceError::NoMemory("trace mode"))?;
    let trace = TRACE.get_or_init(|| trace);
    trace.choose_holds(options)?;
    trace.set_threshold_ns(recorder.threshold_ns());
    // SAFETY: the environment is the current thread's, and this is called in a
    // native frame that lasts longer.
    let java = unsafe { Java::new(env) };
    let class = setup::define_class(java, probe::trace::CLASS, CLASS_BYTES)?;
    let class = class.get();
    natives::bind(recorder.ti(), java, class, CLASS_BYTES)?;
    let lasting = java.global(class);
    let _ = trace.class.set(lasting.ok_or(TraceError::NoMemory("a reference"))?);
    // Looking for a field initializes the class.
    setup::set_static_boolean(env, class, "on", false)?;
    // While there is no trace mode yet, they do nothing.
    setup::link(env, class, &natives::methods(CLASS_BYTES))?;
    let methods = recorder.ti().methods_of(class)?;
    recorder.leave_out(methods.clone());
    let _ = trace.probe_methods.set(methods.into_iter().map(|method| method as usize).collect());
    trace.find_numbers(env, class)?;
    let hash_before = setup::static_int(env, class, "LAYOUT")? == DISPLACED;
    let hash_before = hash_before && trace.identity;
    let front = match trace.precise {
        true => Front::Ask,
        false if hash_before => Front::Hash,
        false => Front::Nothing,
    };
    trace.plan.begin(PlanOptions { filters: chosen.filters(), front, wakers });
    if hash_before {
        if let Some(referent) = Referent::find(env) {
            let _ = trace.referent.set(referent);
        }
        hash_later(env, trace)?;
    }
    trace.begin_bursts()?;
    trace.expect_newcomers();
    READY.store(true, Relaxed);
    recorder.cost_of_probes(|| super::active().map_or(0, Trace::probes_ns));
    log::ask_before_reuse(|| super::active().map_or_else(Vec::new, Trace::cells_in_use));
    recorder.log().on_switch(|_| {
        if let Some(trace) = super::active() {
            trace.rotated();
        }
    });
    Ok(trace)
}

/// `TyrionTrace.DISPLACED`: where a locked object has no hash, it cannot be
/// given one without inflating its monitor.
pub const DISPLACED: i32 = 2;

/// Has a thread of the agent's own give hashes to locks that had none when
/// they were held.
fn hash_later(env: *mut JNIEnv, trace: &'static Trace) -> Result<(), TraceError> {
    let vm = Vm::of(env).ok_or(TraceError::NoJvm)?;
    let body = move || {
        vm.with_thread(|env| {
            let mut period = HASH_PERIOD;
            let _ = trace.hasher.set(std::thread::current());
            while !trace.recorder.log().is_closed() && !trace.recorder.log().is_dead() {
                std::thread::park_timeout(period);
                let Later { given, done, again, .. } = trace.shared.later;
                let [given, done, again] = [given, done, again].map(|count| count.load(Relaxed));
                let count = given.wrapping_sub(done);
                if count != 0 || again != 0 {
                    trace.hash_now(env);
                }
                period = match count {
                    // Also after a stop, until the last of them have theirs.
                    0 if again == 0 && !trace.on.load(Relaxed) => REST,
                    0..=MANY => HASH_PERIOD,
                    _ => HASH_PERIOD / 10,
                };
            }
        });
    };
    Ok(spawn::thread("tyrion-hash", body)?)
}

/// What `TyrionTrace` asks for while it is initialized, by number.
pub mod constant {
    /// Address of the table of threads.
    pub const THREADS: i32 = 0;
    /// Address of the table of instances.
    pub const INSTANCES: i32 = 1;
    /// What a hash's low bits are taken by.
    pub const INSTANCE_MASK: i32 = 2;
    /// Address of what is known of who waits.
    pub const WAITED: i32 = 3;
    /// Whether instances are told apart.
    pub const IDENTITY: i32 = 4;
    /// Address of what the user asks for, as far as that can change.
    pub const CHOSEN: i32 = 5;
    /// What a tick is in ns, times 2 to the 32nd.
    pub const TICK: i32 = 6;
    /// Address of the bits that tell which instances may be in the table.
    pub const ENTERED: i32 = 7;
    /// Address of the counts of locks that are hashed later.
    pub const LATER: i32 = 8;
    /// Address of the cell for what the log has no room for.
    pub const NOWHERE: i32 = 9;
    /// Address of what is looked at no more.
    pub const CLOSED_PLACES: i32 = 10;
    /// Whether it matters when a monitor was wanted.
    pub const PRECISE: i32 = 11;
    /// Address of the time from which on an acquisition was a wait.
    pub const DELAY: i32 = 12;
    /// Address of what timed probes took.
    pub const TIMED: i32 = 13;
    /// Address of what places that are counted in bursts have in common; 0 where all are
    /// counted.
    pub const BURSTS: i32 = 14;
    /// Address of the counts outside of bursts.
    pub const OUTSIDE: i32 = 15;
    /// What a thread's id is taken by to find its own.
    pub const OUTSIDE_MASK: i32 = 16;
    /// Address of which instance is taken at which place.
    pub const PLACE_INSTANCES: i32 = 17;
}

impl Trace {
    /// Switches Java's part on or off.
    ///
    /// # Errors
    /// What the JVM did not want.
    pub fn switch(&self, env: *mut JNIEnv, on: bool) -> Result<(), TraceError> {
        if self.on.load(Relaxed) == on {
            return Ok(());
        }
        if on {
            // First: what is prepared from now on is told.
            self.tell_of_classes(true)?;
            self.forget_threads();
        }
        let class = self.class.get().ok_or(TraceError::NotBegun)?;
        setup::set_static_boolean(env, class.get(), "on", on)?;
        self.on.store(on, Relaxed);
        if !on {
            // A JVM that ends does not answer any more.
            let _ = self.tell_of_classes(false);
        }
        // Behind that: it would rest for a second more.
        if let Some(hasher) = self.hasher.get().filter(|_| on) {
            hasher.unpark();
        }
        self.bursts_switched(on);
        if !on && self.plan.now().front != Front::Nothing {
            self.hash_now(env);
        }
        if !on && self.has_rings() {
            // Those that have just looked finish what they are at.
            std::thread::sleep(Duration::from_millis(1));
            self.write_all_events();
        }
        Ok(())
    }

    /// Has the JVM tell when classes are prepared, or not.
    fn tell_of_classes(&self, on: bool) -> ti::Result<()> {
        let event = jvmti::JVMTI_EVENT_CLASS_PREPARE;
        self.recorder.ti().set_event(event, on)
    }

    /// Gives hashes to locks that had none when they were held.
    fn hash_now(&self, env: *mut JNIEnv) {
        let Some(class) = self.class.get() else { return };
        let _one_at_a_time = lock(&self.hashing);
        let _ = setup::call_static(env, class.get(), "hashNow");
    }

    /// Gives all classes their probes that are loaded and want some.
    pub fn add_probes(&self, env: *mut JNIEnv) {
        classes::retransform_loaded(self, env, Which::All);
        if let Some(class) = self.class.get() {
            // Where that fails, nothing is lost.
            let _ = setup::call_static(env, class.get(), "passLocks");
        }
    }

    /// Takes the probes from all classes that have some, while there is no hook.
    pub fn take_probes(&self, env: *mut JNIEnv) -> Stripped {
        classes::strip(self, env)
    }

    /// Gives their probes to those that were loaded while nobody looked. Other classes
    /// may be asked for by now: see [`Trace::follow_filters`].
    pub fn add_missing_probes(&self, env: *mut JNIEnv) {
        classes::retransform_loaded(self, env, Which::Missing);
    }

    /// Gives probes to the classes that the options select now and did not before, and
    /// takes them from those that they no longer select.
    pub fn follow_filters(&self, env: *mut JNIEnv) {
        classes::retransform_loaded(self, env, Which::Chosen);
    }

    /// Notes from now on which classes pass through the hook.
    pub fn expect_newcomers(&self) {
        self.passed.begin();
    }

    /// Notes that no more.
    pub fn forget_newcomers(&self) {
        self.passed.forget_list();
    }

    /// Gives their probes to those that the JVM was reading when trace mode began. With
    /// `last`, this is the last look for them.
    pub fn add_probes_to_newcomers(&self, env: *mut JNIEnv, last: bool) {
        classes::retransform_loaded(self, env, Which::Newcomers);
        if last {
            self.forget_newcomers();
        }
    }

    /// Notes which classes have passed, before nobody looks at them for a while.
    pub fn remember_classes(&self, env: *mut JNIEnv) {
        // SAFETY: `env` is the current thread's, and this is called in a native frame
        // that lasts longer.
        let java = unsafe { Java::new(env) };
        self.passed.remember(self.recorder.ti(), java);
    }

    /// What `TyrionTrace` asks for while it is initialized.
    pub fn constant(&self, which: i32) -> u64 {
        match which {
            constant::THREADS => self.shared.threads.address(),
            constant::INSTANCES => address_of(self.shared.instances),
            constant::INSTANCE_MASK => instances::MASK,
            constant::WAITED => address_of(self.shared.waited),
            constant::IDENTITY => u64::from(self.identity),
            constant::CHOSEN => address_of(self.shared.chosen),
            constant::TICK => ticks::factor(),
            constant::LATER => address_of(self.shared.later),
            constant::NOWHERE => self.nowhere(),
            constant::CLOSED_PLACES => address_of(self.shared.closed),
            constant::PRECISE => u64::from(self.precise),
            constant::DELAY => address_of(self.shared.delay),
            constant::ENTERED => address_of(self.shared.entered),
            constant::TIMED => address_of(self.shared.timed),
            constant::BURSTS => self.shared.bursts.map_or(0, address_of),
            constant::OUTSIDE => self.shared.outside.map_or(0, address_of),
            constant::PLACE_INSTANCES => self.place_instances.address(),
            constant::OUTSIDE_MASK => {
                self.shared.outside.map_or(0, |counts| counts.len() as u64 - 1)
            }
            _ => 0,
        }
    }

    /// Waits shorter than this are folded from now on. With `precise`, an
    /// acquisition that took less was no wait.
    pub fn set_threshold_ns(&self, threshold_ns: u64) {
        self.shared.delay.store(threshold_ns.max(SHORTEST_DELAY_NS), Relaxed);
    }

    /// The cell for counts that have no place in the log.
    pub fn nowhere(&self) -> u64 {
        self.cells.nowhere()
    }
}
