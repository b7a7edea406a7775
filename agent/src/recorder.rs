//! What all modes share of one recording: the log that is written, the threads
//! and what each waits for, stacks, groups, and what an event is written with.
//!
//! - [`context`]: whom an event is of, and where it is written
//! - [`threads`]: the threads, by their Java id, and their pending waits
//! - [`pending`]: what others are waiting for right now
//! - [`stacks`]: ids of stacks
//! - [`java_threads`], [`lifetimes`], [`os_thread`]: what is known of threads
//! - [`owners`]: which thread a monitor's owner is, and [`holders`] what it does
//! - [`collections`]: pauses of the garbage collector
//! - [`classes`]: what is known of locks by their objects alone
//! - [`records`]: records of another thread than the current one
//! - [`spans`]: in which spans of its tracing threads are
//! - [`modes`], [`told`]: what is recorded, and the options that changed
//! - [`cost`]: what all of it costs the program
//! - [`observe`]: what one mode wants to know of the waits that another records
//!
//! It knows no mode: contention, trace and sampling are built on it, side by side.

mod classes;
mod collections;
mod context;
mod cost;
mod groups;
mod holders;
mod initializations;
mod java_threads;
mod lifetimes;
mod modes;
pub mod observe;
mod os_thread;
mod owners;
mod pauses;
mod pending;
mod places;
mod records;
mod spans;
mod stacks;
mod takers;
pub mod threads;
mod told;
mod totals;

use classes::Uncounted;
pub use classes::lock_id_of_tag;
pub use context::EventContext;
pub use holders::{HolderStack, Sought};
pub use initializations::{InProgress, Initializer};
pub use takers::{Way, is_telling};
pub use totals::Totals;

use crate::{
    groups::Groups,
    jvm::{Ti, Walker, setup::Fields, versions::MethodVersions, walk::LocalVariables},
    log::{Generation, Log, lane::Lanes},
    message::say,
    options::Pattern,
};
use collections::Collections;
use cost::CostMeter;
use holders::Sections;
use jvmti_bindings::sys::jni::jmethodID;
use modes::Changed;
use owners::Owners;
use pauses::Paused;
use places::Places;
use spans::SpanClasses;
use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use takers::Takers;
use threads::Threads;
use told::Told;
use tyrion_wire::header::Header;

/// As many classes of probes can be there: a mode has at most one.
const PROBE_CLASSES: usize = 2;

/// One recording into one log.
pub struct Recorder {
    ti: Ti,
    /// Whether methods are still what they were.
    versions: MethodVersions,
    walker: Option<Walker>,
    /// Where the JVM has the names of local variables, if that is known.
    variables: Option<LocalVariables>,
    fields: Fields,
    log: Log,
    lanes: Lanes,
    threads: Threads,
    depth: usize,
    excluded: Vec<Pattern>,
    enabled: AtomicBool,
    threshold_ns: AtomicU64,
    /// What the program says that its threads are doing.
    groups: Groups,
    /// What is known of its tracing.
    spans: SpanClasses,
    /// What the program may ask for.
    totals: Totals,
    /// The pause in which nothing is recorded.
    pause: Mutex<Option<Paused>>,
    /// What is recorded, if it has changed since the log began.
    changed: Mutex<Option<Changed>>,
    /// What the log says of the options that can change.
    told: Told,
    /// When the garbage collector had all threads stopped.
    collections: Collections,
    /// What recording costs.
    cost: CostMeter,
    /// Where locks are taken.
    places: Places,
    uncounted: Uncounted,
    /// Where waits take theirs.
    takers: Takers,
    /// Who owns monitors.
    owners: Owners,
    /// In which parts of methods they have locks.
    sections: Sections,
    /// The methods of the classes that probes call: no frames of the program's.
    probes: [OnceLock<Vec<usize>>; PROBE_CLASSES],
    /// What else there is to do when recording stops for good.
    on_give_up: OnceLock<fn()>,
    /// Why recording has stopped for good.
    gave_up: OnceLock<String>,
}

impl Recorder {
    /// A recorder that is switched off.
    pub fn new(
        (ti, walker, variables): (Ti, Option<Walker>, Option<LocalVariables>),
        fields: Fields,
        log: Log,
        header: &Header,
        excluded: Vec<Pattern>,
    ) -> Recorder {
        Recorder {
            ti,
            versions: MethodVersions::new(ti.java_release()),
            walker,
            variables,
            fields,
            log,
            lanes: Lanes::default(),
            threads: Threads::new(),
            depth: header.depth as usize,
            excluded,
            enabled: AtomicBool::new(false),
            threshold_ns: AtomicU64::new(header.threshold_ns),
            groups: Groups::default(),
            spans: SpanClasses::default(),
            totals: Totals::default(),
            pause: Mutex::default(),
            changed: Mutex::default(),
            told: Told::of(header),
            collections: Collections::default(),
            cost: CostMeter::default(),
            places: Places::new(),
            uncounted: Uncounted::default(),
            takers: Takers::default(),
            owners: Owners::default(),
            sections: Sections::default(),
            probes: Default::default(),
            on_give_up: OnceLock::new(),
            gave_up: OnceLock::new(),
        }
    }

    /// The log that is written.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// What the log's helper thread does for ever; see [`Log::keep`]. `leave`
    /// has everybody else who writes leave a generation, and says whether they
    /// have; `follow` is told whether there is no room for more.
    pub fn keep_log(
        &self,
        leave: impl Fn(&Generation) -> bool,
        follow: impl Fn(bool),
    ) -> Option<String> {
        // Lanes first: once they have left, no event is under way that could
        // begin a wait in the generation before.
        let go_over = |from: &Arc<Generation>, to: &Arc<Generation>| {
            self.repeat_pause(to);
            self.repeat_mode(to);
            self.repeat_cost(from, to);
            self.lanes.leave(from.number)
                && leave(from)
                && self.threads.go_over(from, to, lifetimes::most_listed(self.log.filesize()))
        };
        let each = |current: &Generation, lacks_room| {
            follow(lacks_room);
            self.note_cost(current);
            self.note_collections_in(current);
        };
        self.log.keep(go_over, each)
    }

    /// Recording stops for good; the application goes on.
    pub fn give_up(&self, reason: &str) {
        let is_first = self.gave_up.set(reason.to_owned()).is_ok();
        self.log.give_up();
        // Whoever was told that it goes on by itself shall know that it will not.
        let is_awaited = is_first && self.log.lack_of_room().is_some();
        if self.is_enabled() || is_awaited {
            self.set_enabled(false);
            let path = self.log.path();
            let path = path.display();
            say(&format!("{path}: {reason}; recording has stopped, the program goes on"));
            if let Some(run) = self.on_give_up.get() {
                run();
            }
        }
    }

    /// Why recording has stopped for good, if it has.
    pub fn why_it_gave_up(&self) -> Option<&str> {
        self.gave_up.get().map(String::as_str)
    }

    /// Has this run, too, when recording stops for good. Whoever it runs for may
    /// be in the middle of an event, or not known to the JVM. To be called once.
    pub fn on_give_up(&self, run: fn()) {
        let _ = self.on_give_up.set(run);
    }

    /// The JVMTI environment.
    pub fn ti(&self) -> Ti {
        self.ti
    }

    /// A class is about to be redefined, or was just now: its methods may be others.
    pub fn note_redefinition(&self) {
        self.versions.note_redefinition();
    }

    /// What tells this version of a method from the others with its id.
    pub fn version(&self, method: jmethodID) -> u64 {
        self.versions.of(method)
    }

    /// How often two ways to walk a stack differed, if that was asked.
    pub fn account_of_walks(&self) -> Option<String> {
        self.walker.as_ref()?.account()
    }

    /// How threads' own stacks were found so far, by the names that this has in the log.
    fn walks(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = self.totals.walks();
        self.walker.iter().flat_map(move |walker| walker.values(all))
    }

    /// Whether waits that begin now are recorded.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Relaxed)
    }

    /// Has waits that begin from now on recorded, or not. Those that have
    /// begun are recorded in any case. See also [`Recorder::pauses`].
    pub fn set_enabled(&self, on: bool) {
        self.enabled.store(on, Relaxed);
    }

    /// Waits shorter than this, in ns, are folded.
    pub fn threshold_ns(&self) -> u64 {
        self.threshold_ns.load(Relaxed)
    }

    /// Changes the threshold.
    pub fn set_threshold_ns(&self, threshold_ns: u64) {
        self.threshold_ns.store(threshold_ns, Relaxed);
    }

    /// The fields and classes that waits are described with.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The threads.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The most frames kept of a stack.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// A number for a lane beside those of the program's threads.
    pub fn reserve_lane(&self) -> u32 {
        self.lanes.reserve()
    }

    /// Frames of these methods are no frames of the program's.
    pub fn leave_out(&self, methods: Vec<jmethodID>) {
        let methods: Vec<usize> = methods.into_iter().map(|method| method as usize).collect();
        if let Some(free) = self.probes.iter().find(|probes| probes.get().is_none()) {
            let _ = free.set(methods);
        }
    }

    /// Whether a method is of a class that probes call.
    fn is_probe(&self, method: jmethodID) -> bool {
        let is_among = |probes: &Vec<usize>| probes.contains(&(method as usize));
        self.probes.iter().filter_map(OnceLock::get).any(is_among)
    }
}
