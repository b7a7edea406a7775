//! Trace mode: every acquisition counted.
//!
//! Probes in the program's classes call the Java class `TyrionTrace`, whose
//! source is under `agent/probe`. What an acquisition costs is decided there;
//! here is what happens seldom: a thread comes, takes a lock at a place for
//! the first time, has its hold measured, makes others wait.
//!
//! - [`memory`]: what both sides share, by address
//! - [`blocks`]: a block for each thread; [`arena`]: where they lie; [`slots`]:
//!   where Java finds them
//! - [`cells`]: counts, in the mapped log itself
//! - [`bursts`]: places that are counted now and then only
//! - [`chosen`]: what the user asks for, which can change
//! - [`measured`]: how well holds are known
//! - [`holds`]: how long locks are held, and by whom
//! - [`instances`]: which threads use which lock
//! - [`blame`]: who made others wait
//! - [`observer`]: what contention tells of waits
//! - [`nesting`]: what is taken within what
//! - [`resync`]: what is really held, as after a full stack
//! - [`cost`]: what the Java half of the probes takes
//! - [`numbers`]: by what Java knows the classes of locks
//! - [`place_instances`]: which instance a place takes
//! - [`classes`]: which classes get probes
//! - [`passed`]: which classes need not be looked at again
//! - [`natives`]: what Java calls

mod arena;
mod blame;
mod blocks;
mod bursts;
mod cells;
mod chosen;
mod classes;
mod cost;
mod error;
mod holds;
mod instances;
#[cfg(test)]
mod java_side;
mod measured;
mod memory;
mod natives;
mod nesting;
mod numbers;
mod observer;
mod passed;
mod place_instances;
mod resync;
mod slots;
mod start;
pub mod ticks;

pub use chosen::Chosen;
pub use classes::transform;
pub use error::TraceError;
pub use natives::with_trace;
pub use observer::{DELAY_PROBES, NOTIFY_PROBES};
pub use start::prepare;

use crate::{
    jvm::{Java, Object, Vm, finder::Finder, java::Global, setup::Referent},
    log::Generation,
    options::TraceOptions,
    recorder::Recorder,
};
use jvmti_bindings::sys::jni::jmethodID;
use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::Thread,
};
use tyrion_plan::probe;

/// Whether trace mode has been on, with what was asked of it then.
pub fn is_prepared() -> bool {
    READY.load(Relaxed)
}

static TRACE: OnceLock<Trace> = OnceLock::new();
/// Whether the class that probes call is there: before that, and when it could
/// not be, no probe may be added.
static READY: AtomicBool = AtomicBool::new(false);

/// What trace mode keeps.
pub struct Trace {
    recorder: &'static Recorder,
    /// Whether instances are told apart.
    identity: bool,
    /// Whether it matters when a monitor was wanted.
    precise: bool,
    shared: Shared,
    blocks: blocks::Blocks,
    cells: cells::Cells,
    bursts: bursts::Bursts,
    instances: instances::Instances,
    waiting: blame::Waiting,
    nestings: nesting::Nestings,
    passed: passed::Passed,
    numbers: numbers::Numbers,
    place_instances: place_instances::PlaceInstances,
    methods: resync::Methods,
    /// Which classes find `TyrionTrace`.
    finder: Finder,
    statistics: TraceStatistics,
    cost: cost::ProbesCost,
    /// Whether the Java side is on.
    on: AtomicBool,
    /// Held while locks get their hashes.
    hashing: Mutex<()>,
    /// The thread that sees to that; none where no lock needs it.
    hasher: OnceLock<Thread>,
    /// Which classes get probes; known once the Java side has looked at the JVM.
    plan: chosen::Plan,
    /// `TyrionTrace`. Looked for by name it would be whatever the class loader of
    /// the thread's caller says, which may be the program's own.
    class: OnceLock<Global>,
    /// Where weak references have their object, once locks may get their hash later.
    referent: OnceLock<Referent>,
    /// The methods of `TyrionTrace`: no frames of the program's.
    probe_methods: OnceLock<Vec<usize>>,
}

/// Memory that Java reaches by address.
struct Shared {
    /// Pairs of a thread's Java id and its block.
    threads: &'static slots::Slots,
    /// Words of (hash, owner), and behind them sets of threads.
    instances: &'static instances::InstanceTable,
    /// Bits by hash: which instances may stand there.
    entered: &'static instances::EnteredBits,
    /// Who waits.
    waited: &'static memory::Waited,
    /// What the user asks for.
    chosen: &'static memory::Chosen,
    /// Locks that are hashed later.
    later: &'static memory::Later,
    /// What probes took that were timed.
    timed: &'static memory::Timed,
    /// A byte for each place: whether new instances are told apart no more.
    closed: &'static memory::Closed,
    /// From how many ns on an acquisition was a wait.
    delay: &'static AtomicU64,
    /// What places that are counted in bursts have in common; none where all are counted.
    bursts: Option<&'static memory::BurstsShared>,
    /// What is counted outside of bursts, with these.
    outside: Option<&'static [memory::Outside]>,
}

/// Numbers about the agent itself.
#[derive(Default)]
pub struct TraceStatistics {
    /// Classes that got probes.
    pub classes: AtomicU64,
    /// Methods that got probes.
    pub methods: AtomicU64,
    /// Time spent in adding probes, ns.
    pub transform_ns: AtomicU64,
    /// Events that became no record: the log went on in another file, or had no
    /// room.
    pub lost_events: AtomicU64,
    /// Threads whose locks are not counted, for want of room.
    pub untraced_threads: AtomicU64,
    /// Time spent in the native part of probes, ticks.
    pub native_ticks: AtomicU64,
}

impl Trace {
    fn new(recorder: &'static Recorder, options: &TraceOptions, vm: Option<Vm>) -> Option<Trace> {
        let shared = Shared {
            threads: memory::allocate()?,
            instances: memory::allocate()?,
            entered: memory::allocate()?,
            waited: memory::allocate()?,
            chosen: memory::allocate()?,
            later: memory::allocate()?,
            timed: memory::allocate()?,
            closed: memory::allocate()?,
            delay: memory::allocate()?,
            bursts: if options.adaptive { Some(memory::allocate()?) } else { None },
            outside: if options.adaptive { Some(memory::outside()?) } else { None },
        };
        Some(Trace {
            recorder,
            identity: options.identity,
            precise: options.precise,
            shared,
            blocks: blocks::Blocks::default(),
            cells: cells::Cells::new(options.adaptive)?,
            bursts: bursts::Bursts::default(),
            instances: instances::Instances::default(),
            waiting: blame::Waiting::default(),
            nestings: nesting::Nestings::default(),
            passed: passed::Passed::new(vm),
            numbers: numbers::Numbers::default(),
            place_instances: place_instances::PlaceInstances::new()?,
            methods: resync::Methods::default(),
            finder: Finder::of(recorder.ti(), probe::trace::CLASS)?,
            statistics: TraceStatistics::default(),
            cost: cost::ProbesCost::default(),
            on: AtomicBool::new(false),
            hashing: Mutex::new(()),
            hasher: OnceLock::new(),
            plan: chosen::Plan::default(),
            class: OnceLock::new(),
            referent: OnceLock::new(),
            probe_methods: OnceLock::new(),
        })
    }

    /// The log goes on in another file, which shall be readable alone.
    fn rotated(&self) {
        if let Some(previous) = self.recorder.log().previous() {
            self.write_statistics(&previous);
        }
        self.end_cells();
        self.cells.leave(self.recorder.log().generation_number());
        // First what Java asks for when it has forgotten: an answer of before
        // would hold for the whole file.
        self.forget_nestings();
        self.instances.forget();
        self.forget_cells();
        self.forget_instances();
        self.forget_place_instances();
        // Behind the table that they were looked up in.
        self.forget_recent_instances();
    }

    /// What is recorded with.
    pub fn recorder(&self) -> &'static Recorder {
        self.recorder
    }

    /// Whether acquisitions are counted.
    pub fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Whether a class, or where that is not there yet, a class loader, finds what probes
    /// call, so that nobody is asked for it any more.
    pub fn is_found_by(&self, java: Java, class: Object<'_>, loader: Object<'_>) -> bool {
        if loader.is_null() {
            return true;
        }
        if !class.is_null() && self.finder.knows_classes() {
            return self.finder.is_found_by(java, class);
        }
        self.finder.is_found_by_loader(java, loader, self.passed.number_of(loader))
    }

    /// Whether a frame is the probes' own.
    pub fn is_probe(&self, method: jmethodID) -> bool {
        self.probe_methods.get().is_some_and(|probes| probes.contains(&(method as usize)))
    }

    /// Writes what the log says about the agent itself.
    pub fn write_statistics(&self, generation: &Generation) {
        let statistics = &self.statistics;
        let native_ns = ticks::to_ns(statistics.native_ticks.load(Relaxed));
        let mut values = vec![
            ("instrumented.classes".to_owned(), statistics.classes.load(Relaxed)),
            ("instrumented.methods".to_owned(), statistics.methods.load(Relaxed)),
            ("places".to_owned(), self.recorder.places().count()),
            ("instances".to_owned(), self.instances.count()),
            ("events.lost".to_owned(), statistics.lost_events.load(Relaxed)),
            ("threads.untraced".to_owned(), statistics.untraced_threads.load(Relaxed)),
            ("own.transform_ns".to_owned(), statistics.transform_ns.load(Relaxed)),
            ("own.native_ns".to_owned(), native_ns),
        ];
        values.push(("hold.one-in".to_owned(), self.one_in().into()));
        values.push(("blame.look_ns".to_owned(), self.look_ns()));
        values.extend(self.recorder.places().left());
        values.extend(self.timed_probes());
        values.extend(self.bursts_statistics());
        for (key, value) in values {
            let _ = generation.dictionary.statistic(&generation.log, &key, value);
        }
    }
}

/// Trace mode's state, once it is on.
#[inline]
pub fn active() -> Option<&'static Trace> {
    TRACE.get().filter(|_| READY.load(Relaxed))
}
