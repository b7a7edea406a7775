//! What the events of one recording are about, and how they are read.

use super::super::trace::TraceFindings;
use std::collections::{HashMap, HashSet};
use tyrion_formats::{Entry, Note, Noted, Recording};
use tyrion_model::describe::Names;
use tyrion_wire::{Outcome, trace::Hold};

/// A lock object: class and hash.
pub(super) type Object = (u32, u32);

/// What happened to a lock object. The order is that in which events are gone
/// through: of one moment, a wait's end comes before that of the hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LockEvent {
    pub(super) object: Object,
    /// The end of a wait, or of a hold.
    pub(super) at_ns: u64,
    /// How long it was held; `None` of a wait that got the lock.
    pub(super) hold_ns: Option<u64>,
    pub(super) thread_key: u32,
    pub(super) place: u32,
    pub(super) run: u32,
}

/// Numbers for classes and threads, the same in all files of a recording.
pub(super) struct ObjectNumbers {
    /// By log and class id.
    classes: HashMap<u32, Vec<u32>>,
    /// By log and thread id.
    thread_keys: HashMap<u32, Vec<u32>>,
    /// Objects that one thread only took.
    private: HashSet<Object>,
    /// By log and lock id: locks that were waited for.
    objects: HashMap<(u32, u32), Object>,
    /// A log and an id of each class, by its number.
    pub(super) class_ids: Vec<(u32, u32)>,
    /// A log and an id of each thread, by its number.
    pub(super) thread_ids: Vec<(u32, u32)>,
}

impl ObjectNumbers {
    pub(super) fn new(recorded: &TraceFindings, logs: &[(u32, &Recording)]) -> ObjectNumbers {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut thread_keys: HashMap<u64, u32> = HashMap::new();
        let (private, objects) = Default::default();
        let (by_class, by_thread) = Default::default();
        let mut known = ObjectNumbers {
            classes: by_class,
            thread_keys: by_thread,
            private,
            objects,
            // What is not defined has the number 0.
            class_ids: vec![(0, 0)],
            thread_ids: vec![(0, 0)],
        };
        for &(run, log) in logs {
            let definitions = log.definitions();
            let mut classes = vec![0; definitions.classes().len()];
            for (id, _) in definitions.classes().iter() {
                let next = numbers.len() as u32 + 1;
                let number = *numbers.entry(Names(log).class(id)).or_insert(next);
                if number == next {
                    known.class_ids.push((run, id));
                }
                classes[id as usize] = number;
            }
            known.classes.insert(run, classes);
            let mut numbered = vec![0; definitions.threads().len()];
            for (id, thread) in definitions.threads().iter() {
                let next = thread_keys.len() as u32 + 1;
                let number = *thread_keys.entry(thread.java_id).or_insert(next);
                if number == next {
                    known.thread_ids.push((run, id));
                }
                numbered[id as usize] = number;
            }
            known.thread_keys.insert(run, numbered);
            for (lock, hash) in definitions.lock_instances() {
                let class = definitions.locks().get(lock).copied().unwrap_or(0);
                known.objects.insert((run, lock), (known.class(run, class), hash));
            }
        }
        // Virtual threads share a number: what they took may be shared.
        let many = thread_keys.get(&0).copied();
        let runs: HashSet<u32> = logs.iter().map(|(run, _)| *run).collect();
        let mut owners: HashMap<Object, Option<u32>> = HashMap::new();
        for taking in recorded.takings.iter().filter(|it| runs.contains(&it.run)) {
            let thread_key = known.thread_key(taking.run, taking.thread);
            let owner =
                Some(thread_key).filter(|thread_key| many != Some(*thread_key) && !taking.shared);
            let object = (known.class(taking.run, taking.class), taking.hash);
            let first = owners.entry(object).or_insert(owner);
            *first = first.filter(|first| Some(*first) == owner);
        }
        let private = owners.into_iter().filter(|(_, owner)| owner.is_some());
        known.private = private.map(|(object, _)| object).collect();
        known
    }

    pub(super) fn class(&self, run: u32, class: u32) -> u32 {
        number(self.classes.get(&run), class)
    }

    pub(super) fn thread_key(&self, run: u32, thread: u32) -> u32 {
        number(self.thread_keys.get(&run), thread)
    }

    /// What a record of a log, the `run`-th, tells: put into `read`.
    #[inline]
    pub(super) fn read(
        &self,
        (run, log): (u32, &Recording),
        entry: &Entry<'_>,
        read: &mut EventBatch,
    ) {
        match entry {
            Entry::Wait(wait) => {
                let Some(site) = log.definitions().sites().get(wait.site) else { return };
                let object = self.objects.get(&(run, site.lock)).copied();
                let got = wait.outcome == Outcome::Granted && site.kind.is_contention();
                if let Some(object) = object.filter(|_| got) {
                    let thread_key = self.thread_key(run, wait.thread);
                    let (at_ns, place) = (wait.end_ns, 0);
                    read.push(LockEvent { object, at_ns, hold_ns: None, thread_key, place, run });
                }
            }
            Entry::Note(noted) => {
                if let Note::Hold(hold) = noted.record {
                    self.hold(run, &noted.with(hold), read);
                }
            }
        }
    }

    fn hold(&self, run: u32, noted: &Noted<Hold>, read: &mut EventBatch) {
        let hold = &noted.record;
        let object = (self.class(run, hold.class), hold.hash);
        if self.private.contains(&object) {
            return;
        }
        if hold.hash == 0 {
            read.unidentified += 1;
        } else if hold.delta_ns == 0 {
            // It had ended earlier than the record before it.
            read.untimed += 1;
        } else {
            let (at_ns, hold_ns) = (noted.at_ns, Some(hold.hold_ns));
            let (thread_key, place) = (self.thread_key(run, noted.thread), hold.place);
            read.push(LockEvent { object, at_ns, hold_ns, thread_key, place, run });
        }
    }
}

/// The number of an id; 0 of one that is not defined.
fn number(numbers: Option<&Vec<u32>>, id: u32) -> u32 {
    numbers.and_then(|numbers| numbers.get(id as usize)).copied().unwrap_or(0)
}

/// Lock objects are shared out to so many, that work at the same time.
pub(super) const SHARDS: usize = 16;

/// What was read.
#[derive(Default)]
pub(super) struct EventBatch {
    /// Each object's all in one place.
    pub(super) events: [Vec<LockEvent>; SHARDS],
    pub(super) unidentified: u64,
    pub(super) untimed: u64,
}

impl EventBatch {
    fn push(&mut self, event: LockEvent) {
        let (class, hash) = event.object;
        self.events[hash.wrapping_add(class) as usize % SHARDS].push(event);
    }
}
