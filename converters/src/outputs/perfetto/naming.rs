//! What locks, methods and holds are called in a trace.

use super::{
    super::held::{HeldName, held},
    owners::OwnerPlaces,
};
use std::collections::HashMap;
use tyrion_formats::{Recording, UNKNOWN};
use tyrion_model::{
    harmless,
    names::{self, LockFrame},
    profile::{Frame, Function},
    timeline::{Hold, Item, Timeline, Wait},
};
use tyrion_wire::{WaitKind, def::id};

/// What is called how, made up once for each.
pub(super) struct NameCache<'a> {
    timeline: &'a Timeline<'a>,
    owners: OwnerPlaces,
    locks: HashMap<u32, LockTitle>,
    /// What the frame that took the lock is called in the names of slices, by stack and
    /// whether the lock is a monitor.
    methods: HashMap<(u32, bool), String>,
    /// What the locks of a class are called that are taken at a place, by log; nothing if
    /// the filter leaves them out.
    held: HashMap<(u32, u32, u32), Option<HeldName>>,
    /// Locks by log and identity hash.
    instances: HashMap<(u32, u32), u32>,
}

/// What a lock is called.
pub(super) struct LockTitle {
    /// Its name, or else its class, and which one of these it is.
    pub(super) name: String,
    pub(super) class: String,
}

impl<'a> NameCache<'a> {
    pub(super) fn new(timeline: &'a Timeline<'a>) -> NameCache<'a> {
        let mut instances = HashMap::new();
        for (run, log) in (0u32..).zip(timeline.logs()) {
            let of_log = log.definitions().lock_instances();
            instances.extend(of_log.map(|(lock, hash)| ((run, hash), lock)));
        }
        let (owners, locks, methods, held) = Default::default();
        NameCache { timeline, owners, locks, methods, held, instances }
    }

    /// Takes up the releases among items, in place of those before.
    pub(super) fn take_releases<'i>(&mut self, items: impl Iterator<Item = &'i Item>) {
        self.owners.take(items);
    }

    /// What a lock of the profile is called.
    pub(super) fn lock(&mut self, lock: u32) -> &LockTitle {
        let profile = self.timeline.profile();
        self.locks.entry(lock).or_insert_with(|| LockTitle {
            name: names::lock(profile, lock),
            class: names::lock_class(profile, lock),
        })
    }

    /// The lock of a site of a log.
    pub(super) fn lock_of_site(&mut self, run: u32, site: u32) -> String {
        let log = self.timeline.logs().get(run as usize);
        let known = log.and_then(|log| log.definitions().sites().get(site));
        let lock = known.and_then(|known| self.timeline.lock_of_site(run, site, known.lock));
        lock.map_or_else(|| UNKNOWN.to_owned(), |lock| self.lock(lock).name.clone())
    }

    /// The name of a wait that is not for a lock.
    pub(super) fn wait(&self, wait: &Wait) -> String {
        let profile = self.timeline.profile();
        let lock = LockFrame {
            class: names::lock_class(profile, wait.lock),
            name: names::lock_own_name(profile, wait.lock),
            identity: String::new(),
            kind: wait.kind,
        };
        lock.brief()
    }

    /// Where the owner of a lock had taken it, as Android's runtime writes it.
    pub(super) fn owners_method(&mut self, wait: &Wait) -> String {
        self.owners.method(self.timeline, wait)
    }

    /// The frame that wanted the lock, as Android's runtime writes it: the innermost one,
    /// but for those of `java.util.concurrent` where the lock is of that.
    pub(super) fn method(&mut self, stack: u32, kind: WaitKind) -> &str {
        let profile = self.timeline.profile();
        let is_monitor = kind == WaitKind::Monitor;
        self.methods.entry((stack, is_monitor)).or_insert_with(|| {
            let function = |frame: &Frame| profile.functions.get(frame.function as usize);
            let is_own = |frame: &Frame| {
                is_monitor || function(frame).is_some_and(|it| !names::is_machinery(&it.class))
            };
            let mut frames = profile.frames_of(stack);
            let own = frames.find(is_own).or_else(|| profile.frames_of(stack).next());
            match own.and_then(|frame| Some((frame, function(&frame)?))) {
                Some((frame, function)) => names::art(function, frame.line),
                None => {
                    names::art(&Function { method: UNKNOWN.to_owned(), ..Function::default() }, 0)
                }
            }
        })
    }

    /// What is held and what that is called, unless the filter leaves it out.
    pub(super) fn hold(&mut self, hold: &Hold) -> Option<(String, &HeldName)> {
        let timeline = self.timeline;
        let log = timeline.logs().get(hold.run as usize)?;
        let definitions = log.definitions();
        // Made-up ids shall not take memory.
        definitions.places().get(hold.place)?;
        let class = definitions.classes().get(hold.class).map_or(id::UNKNOWN, |_| hold.class);
        let identity = self.identity(log, hold);
        let key = (hold.run, hold.place, class);
        let held = self.held.entry(key).or_insert_with(|| held(timeline, log, hold)).as_ref()?;
        let called = format!("{}{identity}", names::called(&held.name, &held.class));
        Some((format!("{}_lock_held", harmless::name(&called)), held))
    }

    /// What tells the lock that is held from others of its class.
    fn identity(&self, log: &Recording, hold: &Hold) -> String {
        if hold.hash == 0 {
            return String::new();
        }
        let lock = self
            .instances
            .get(&(hold.run, hold.hash))
            .copied()
            .filter(|&lock| log.definitions().locks().get(lock) == Some(&hold.class));
        match lock.and_then(|lock| self.timeline.lock(hold.run, lock)) {
            Some(lock) => self.timeline.profile().lock_identity(lock),
            None => format!("@{:x}", hold.hash),
        }
    }
}
