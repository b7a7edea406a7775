//! What is shown: sums with names, by lock and by thread.

mod detail;
mod learn;
mod merge;

use super::model::WindowSums;
use crate::live::{FileNumber, telling::TellingClasses};
pub use detail::{Detail, DetailSubject, StackRow, detail};
pub use learn::learn;
pub use merge::frame;
use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::{Recording, UNKNOWN, WaitSite};
use tyrion_model::{
    describe::{self, Names},
    filter::Kinds,
    harmless,
};
use tyrion_wire::{WaitKind, slot::Pending};

/// A lock, or all locks of a class that the program calls the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct LockKey {
    /// What the program calls it; may be empty.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Its identity; 0 when several locks are meant, or it is not known.
    pub id: u32,
}

impl LockKey {
    /// `Cache.map (java.lang.Object#7)`, as it may be shown.
    pub fn shown(&self) -> String {
        let identity = if self.id == 0 { String::new() } else { format!("#{}", self.id) };
        harmless::name(&describe::lock_called(&self.name, &self.class, &identity)).into_owned()
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct ThreadName {
    /// Its name.
    pub name: String,
    /// Its `Thread.getId()`.
    pub java_id: u64,
}

impl ThreadName {
    /// Its name, as it may be shown.
    pub fn shown(&self) -> String {
        harmless::name(&self.name).into_owned()
    }
}

/// Locks of one class and name, or one lock, by the kind of wait.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TopLock {
    /// The lock.
    pub lock: LockKey,
    /// The kind of wait.
    #[serde(serialize_with = "kind_name")]
    #[schemars(with = "&str")]
    pub kind: WaitKind,
    /// How many locks were waited for; 0 if only acquisitions were seen.
    pub instances: u64,
    #[serde(flatten)]
    pub waits: RowWaits,
    /// How many threads waited.
    pub waiters: u64,
    /// The thread that others waited for longest. `null` if that is not known.
    pub holder: Option<String>,
    #[serde(flatten)]
    pub taken: Option<RowAcquisitions>,
}

/// A thread that waited.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadRow {
    /// The thread.
    pub thread: ThreadName,
    #[serde(flatten)]
    pub waits: RowWaits,
    /// The lock that it waits for now, or else waited for longest.
    pub lock: Option<LockKey>,
    /// The kind of that wait.
    #[serde(serialize_with = "some_kind_name")]
    #[schemars(with = "Option<&str>")]
    pub kind: Option<WaitKind>,
    #[serde(flatten)]
    pub taken: Option<RowAcquisitions>,
}

/// Waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RowWaits {
    /// How many waits ended.
    pub waits: u64,
    /// The same per second.
    pub waits_per_s: f64,
    /// How many threads waited on average, those included whose waits have not ended.
    pub waiting: f64,
    /// The mean of the waits that ended; 0 if none did.
    pub mean_ns: u64,
    /// The longest of the waits that ended; 0 if none did.
    pub max_ns: u64,
    /// How many threads wait at the end of the window.
    pub pending: u64,
    /// How long the longest of these waits has lasted; 0 if none waits.
    pub pending_ns: u64,
}

/// Acquisitions of a row, in trace mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RowAcquisitions {
    /// In trace mode: acquisitions per second, without reentrant ones. `null` if none was
    /// counted in the window; not all code counts them.
    pub acquisitions_per_s: Option<f64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_per_s_error: Option<f64>,
    /// In trace mode: by how many threads the locks were held on average.
    pub held: Option<f64>,
}

fn kind_name<S: serde::Serializer>(kind: &WaitKind, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.name())
}

fn some_kind_name<S: serde::Serializer>(kind: &Option<WaitKind>, to: S) -> Result<S::Ok, S::Error> {
    kind.map(WaitKind::name).serialize(to)
}

/// What there is to be shown, and how.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Only waits of these kinds.
    pub kinds: Kinds,
    /// Whether locks are told apart, or only by class and name.
    pub instances: bool,
}

/// A look at the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TopFrame {
    /// How long the window is.
    pub window_ns: u64,
    /// All waits.
    pub total: RowWaits,
    /// By lock, most waited for first.
    pub locks: Vec<TopLock>,
    /// By thread, those that waited longest first.
    pub threads: Vec<ThreadRow>,
}

/// What a frame is made from. Pending waits are those of the last file.
#[derive(Clone, Copy)]
pub struct FrameSource<'a> {
    pub sums: &'a WindowSums,
    pub logs: &'a [(FileNumber, &'a Recording)],
    pub pending: &'a [Pending],
    /// As of this look and earlier ones.
    pub telling: &'a TellingClasses,
}

impl<'a> FrameSource<'a> {
    fn log(&self, file: FileNumber) -> Option<&'a Recording> {
        self.logs.iter().find(|(number, _)| *number == file).map(|(_, log)| *log)
    }

    fn last(&self) -> Option<(FileNumber, &'a Recording)> {
        self.logs.last().copied()
    }

    /// The ids of a site, with the kind.
    fn site(&self, file: FileNumber, site: u32) -> Option<WaitSite> {
        self.log(file)?.definitions().sites().get(site).copied()
    }

    pub fn thread(&self, file: FileNumber, id: u32) -> ThreadName {
        let Some(log) = self.log(file) else {
            return ThreadName { name: UNKNOWN.to_owned(), java_id: 0 };
        };
        let java_id = log.definitions().threads().get(id).map_or(0, |thread| thread.java_id);
        ThreadName { name: Names(log).thread(id), java_id }
    }

    /// The lock of a site.
    fn lock_of(&self, file: FileNumber, site: &WaitSite, options: &ViewOptions) -> LockKey {
        let parts = self.log(file).map(|log| Names(log).site_parts(site));
        let (class, name) = parts.unwrap_or_else(|| (UNKNOWN.to_owned(), String::new()));
        self.lock_key(class, name, site.lock, options)
    }

    /// A lock of which it is not known where it is waited for.
    fn lock(&self, file: FileNumber, id: u32, options: &ViewOptions) -> LockKey {
        let parts = self.log(file).map(|log| Names(log).lock_parts(id));
        let (class, name) = parts.unwrap_or_else(|| (UNKNOWN.to_owned(), String::new()));
        self.lock_key(class, name, id, options)
    }

    /// What locks of a class that are called so go by.
    fn lock_key(&self, class: String, name: String, id: u32, options: &ViewOptions) -> LockKey {
        let class = clean_class(&class);
        if options.instances {
            return LockKey { name, class, id };
        }
        let name = if self.telling.holds(&class, options.kinds) { String::new() } else { name };
        LockKey { name, class, id: 0 }
    }

    fn stack(&self, file: FileNumber, id: u32) -> Vec<String> {
        self.log(file).map(|log| Names(log).stack(id)).unwrap_or_default()
    }
}

fn clean_class(class: &str) -> String {
    describe::readable_class(class).into_owned()
}

impl TopLock {
    /// What a detail of the row is of. A row that stands for all locks of a
    /// name does so with one lock, too: there may be more at the next look.
    pub fn subject(&self, options: &ViewOptions) -> DetailSubject {
        let id = if options.instances { self.lock.id } else { 0 };
        DetailSubject::Lock(LockKey { id, ..self.lock.clone() }, self.kind)
    }

    /// Whether a filter finds something in what the lock is called.
    pub fn matches(&self, filter: &Regex) -> bool {
        filter.is_match(&self.lock.shown()) || filter.is_match(self.kind.name())
    }
}

impl ThreadRow {
    /// What a detail of the row is of.
    pub fn subject(&self) -> DetailSubject {
        DetailSubject::Thread(self.thread.clone())
    }

    /// Whether a filter finds something in the thread's name.
    pub fn matches(&self, filter: &Regex) -> bool {
        filter.is_match(&self.thread.name)
    }
}
