//! What the threads of a dump wait for, and who has that. Each file says it in other places,
//! some of it wrongly: see the comments at the rules.

use super::frames::FrameTable;
use super::raw::{RawDump, RawFrame, RawLock, RawOwner, RawThread, WaitPhrase};
use crate::limits::thread_dump::MAX_INFERRED;
use crate::{jfr::park, recording::HolderSource, summed::kinds};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
};
use tyrion_wire::{WaitKind, sample::ThreadState};

/// What became known of a thread.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) state: Option<ThreadState>,
    pub(super) kind: Option<WaitKind>,
    pub(super) reenters: bool,
    pub(super) lock: Option<RawLock>,
    pub(super) held: Vec<RawLock>,
    /// The frame that took each of these, from 1; 0 if that is not known.
    pub(super) held_by_frame: Vec<u32>,
    /// The places of the threads that have it: several only where it is inferred.
    pub(super) owners: Vec<usize>,
    pub(super) source: HolderSource,
}

/// Finds out, for each thread of a dump.
pub(super) fn resolve(dump: &RawDump, frames: &FrameTable) -> Vec<Resolved> {
    let mut all: Vec<Resolved> =
        dump.threads.iter().map(|thread| StackReader { thread, frames }.resolve()).collect();
    let people = ThreadIndex::new(dump);
    let holders = holders(&all);
    for (at, thread) in dump.threads.iter().enumerate() {
        let Some(it) = all.get_mut(at).filter(|it| it.kind.is_some()) else { continue };
        let told = people.told(at, thread, it.lock.as_ref());
        let locked = || it.lock.as_ref().and_then(|lock| holders.get(lock)).copied();
        let (owner, source) = match told {
            Some(owner) => (Some(owner), HolderSource::Told),
            None => (locked(), HolderSource::Locked),
        };
        if let Some(owner) = owner.filter(|&owner| owner != at) {
            (it.owners, it.source) = (vec![owner], source);
        }
    }
    initializers(dump, frames, &mut all);
    beyond(dump, frames, &mut all);
    all
}

/// Who holds what.
fn holders(all: &[Resolved]) -> HashMap<RawLock, usize> {
    let mut holders = HashMap::new();
    for (at, thread) in all.iter().enumerate() {
        for lock in thread.held.iter().filter(|lock| !lock.address.is_empty()) {
            holders.entry(lock.clone()).or_insert(at);
        }
    }
    holders
}

/// Finds threads by what files call them.
struct ThreadIndex<'d> {
    /// Whom the JVM's section on deadlocks names, by who waits, and for which address.
    by_told: HashMap<(&'d str, &'d str), &'d str>,
    by_name: HashMap<&'d str, usize>,
    by_id: HashMap<u64, usize>,
    by_tid: HashMap<&'d str, usize>,
}

impl<'d> ThreadIndex<'d> {
    fn new(dump: &'d RawDump) -> ThreadIndex<'d> {
        let (mut by_name, mut by_id) = (HashMap::new(), HashMap::new());
        let mut by_told = HashMap::new();
        for told in &dump.told {
            by_told.entry((&*told.thread, &*told.address)).or_insert(&*told.owner);
        }
        let mut by_tid = HashMap::new();
        for (at, thread) in dump.threads.iter().enumerate() {
            by_name.entry(thread.name.as_str()).or_insert(at);
            by_id.extend(thread.id.map(|id| (id, at)));
            by_tid.entry(thread.tid.as_str()).or_insert(at);
        }
        ThreadIndex { by_told, by_name, by_id, by_tid }
    }

    /// Who is said to have what a thread waits for.
    fn told(&self, at: usize, thread: &RawThread, lock: Option<&RawLock>) -> Option<usize> {
        let owner = match &thread.owner {
            Some(RawOwner::Id(id)) => self.by_id.get(id),
            Some(RawOwner::Name(name)) => self.by_name.get(name.as_str()),
            Some(RawOwner::Tid(tid)) => self.by_tid.get(tid.as_str()),
            // Names may be used twice, so the address has to fit, too.
            None => {
                let told = lock.and_then(|lock| {
                    self.by_told.get(&(thread.name.as_str(), lock.address.as_str()))
                });
                told.and_then(|owner| self.by_name.get(owner))
            }
        };
        owner.copied().filter(|&owner| owner != at)
    }
}

/// Reads what stands with a thread.
struct StackReader<'d> {
    thread: &'d RawThread,
    frames: &'d FrameTable,
}

impl StackReader<'_> {
    fn resolve(&self) -> Resolved {
        let state = self.state();
        let mut it = Resolved { state: Some(state), ..Resolved::default() };
        match state {
            ThreadState::Blocked => self.blocked(&mut it),
            ThreadState::Waiting => self.waiting(&mut it),
            ThreadState::Parked => {
                it.lock = self.waited(&[WaitPhrase::Park, WaitPhrase::Something, WaitPhrase::Wait]);
                it.kind = Some(self.park_kind(it.lock.as_ref()));
            }
            // What a running thread says that it is parking for is what it had parked for.
            _ => {}
        }
        (it.held, it.held_by_frame) = self.held(&it).into_iter().unzip();
        it
    }

    fn frames(&self) -> impl Iterator<Item = &RawFrame> {
        self.thread.frames.iter().filter_map(|&number| self.frames.get(number))
    }

    fn state(&self) -> ThreadState {
        let raw = self.thread.state;
        let top = self.frames().next();
        let is_native = top.is_some_and(|frame| frame.is_native);
        match raw.state {
            Some(ThreadState::Running) if is_native => ThreadState::Native,
            Some(state) => state,
            None if raw.waits => match top.map(|it| (it.class.as_str(), it.method.as_str())) {
                Some(("java/lang/Object", _)) => ThreadState::Waiting,
                // Beans say "waiting on" of parks, too.
                Some((class, "park")) if class.ends_with("misc/Unsafe") => ThreadState::Parked,
                Some(("java/lang/Thread", method)) if method.starts_with("sleep") => {
                    ThreadState::Sleeping
                }
                _ if self.thread.wait.as_ref().is_some_and(|it| it.how == WaitPhrase::Wait) => {
                    ThreadState::Waiting
                }
                _ => ThreadState::Parked,
            },
            None => ThreadState::Other,
        }
    }

    /// The lock that it says it waits for in one of these ways.
    fn waited(&self, how: &[WaitPhrase]) -> Option<RawLock> {
        let wait = self.thread.wait.as_ref().filter(|wait| how.contains(&wait.how))?;
        (!wait.lock.address.is_empty() || !wait.lock.class.is_empty()).then(|| wait.lock.clone())
    }

    fn blocked(&self, it: &mut Resolved) {
        it.kind = Some(WaitKind::Monitor);
        it.lock = self.waited(&[WaitPhrase::Enter, WaitPhrase::Something]);
        if it.lock.is_none()
            && let Some(lock) = self.waited(&[WaitPhrase::Again, WaitPhrase::Wait])
        {
            (it.kind, it.reenters, it.lock) = (Some(WaitKind::ObjectWait), true, Some(lock));
        } else if it.lock.is_none() {
            // It says "locked" of what it waits for.
            it.lock = self.thread.locked.first().filter(|it| it.0 <= 1).map(|it| it.1.clone());
            let is_in_wait = self.frames().next().is_some_and(is_object_wait);
            if is_in_wait {
                let entered = self.thread.locked.first().map(|it| it.1.clone());
                (it.kind, it.reenters) = (Some(WaitKind::ObjectWait), true);
                it.lock = it.lock.take().or(entered);
            }
        }
    }

    fn waiting(&self, it: &mut Resolved) {
        it.lock = self.waited(&[WaitPhrase::Initialization]);
        let is_in_wait = self.frames().take(3).any(is_object_wait);
        if it.lock.is_some() || !is_in_wait && self.thread.wait.is_none() && self.is_initializing()
        {
            it.kind = Some(WaitKind::Monitor);
            return;
        }
        it.kind = Some(WaitKind::ObjectWait);
        it.lock = self.waited(&[WaitPhrase::Wait, WaitPhrase::Again, WaitPhrase::Something]);
        if it.lock.is_none() && is_in_wait {
            // The compiler may have lost the reference; the monitor was entered by the caller.
            it.lock = self.thread.locked.first().filter(|it| it.0 <= 4).map(|it| it.1.clone());
        }
    }

    /// A thread in no method that waits, of which the header alone says that it waits.
    fn is_initializing(&self) -> bool {
        self.frames().next().is_some_and(|frame| !frame.is_native)
    }

    fn park_kind(&self, lock: Option<&RawLock>) -> WaitKind {
        let names = || self.frames().map(|it| (it.class.as_str(), it.method.as_str()));
        match lock {
            Some(lock) => park::park(names(), &lock.class.replace('.', "/")).kind,
            None => {
                let texts: Vec<String> =
                    names().map(|(class, method)| format!("{class}.{method}")).collect();
                let texts = texts.iter().map(String::as_str);
                kinds::of_java(texts).unwrap_or(WaitKind::Park)
            }
        }
    }

    /// What it holds: not what it waits for, be it to enter, or to be notified, though the
    /// frame that did says "locked". Each with the outermost frame that says so.
    fn held(&self, it: &Resolved) -> Vec<(RawLock, u32)> {
        let is_monitor_wait = matches!(it.kind, Some(WaitKind::Monitor | WaitKind::ObjectWait));
        let mut held: Vec<(RawLock, u32)> = Vec::new();
        let mut known: HashMap<&RawLock, usize> = HashMap::new();
        let locked = self.thread.locked.iter().map(|(frames, lock)| (lock, *frames as u32));
        for (lock, frame) in locked.chain(self.thread.owned.iter().map(|lock| (lock, 0))) {
            let is_waited = is_monitor_wait && it.lock.as_ref() == Some(lock);
            if is_waited {
                continue;
            }
            let at = *known.entry(lock).or_insert(held.len());
            match held.get_mut(at) {
                Some((_, outermost)) => *outermost = frame.max(*outermost),
                None => held.push((lock.clone(), frame)),
            }
        }
        held
    }
}

fn is_object_wait(frame: &RawFrame) -> bool {
    frame.class == "java/lang/Object" && frame.method.starts_with("wait")
}

/// Who initializes the classes that threads wait for.
fn initializers(dump: &RawDump, frames: &FrameTable, all: &mut [Resolved]) {
    let waits = |it: &Resolved| {
        it.state == Some(ThreadState::Waiting) && it.kind == Some(WaitKind::Monitor)
    };
    if !all.iter().any(waits) {
        return;
    }
    let mut running: Vec<(String, usize)> = Vec::new();
    for (at, thread) in dump.threads.iter().enumerate() {
        let of = thread.frames.iter().filter_map(|&number| frames.get(number));
        let classes = of.filter(|frame| frame.method == "<clinit>");
        running.extend(classes.map(|frame| (frame.class.replace('/', "."), at)));
    }
    for (at, it) in all.iter_mut().enumerate().filter(|(_, it)| waits(it)) {
        let mut others = running.iter().filter(|(class, by)| {
            let is_it = it.lock.as_ref().is_none_or(|lock| lock.class == *class);
            *by != at && is_it
        });
        // Where the file does not name the class, only one can be meant.
        let (Some((class, by)), None) = (others.next(), others.next()) else { continue };
        it.lock.get_or_insert_with(|| RawLock {
            class: class.clone(),
            address: format!("class {class}"),
        });
        (it.owners, it.source) = (vec![*by], HolderSource::Initializer);
    }
}

/// Class and method.
type MethodName<'f> = (&'f str, &'f str);

/// Which threads are in these methods, each with the last line in it, the last of all first.
fn there<'f>(
    dump: &RawDump,
    frames: &'f FrameTable,
    methods: HashSet<MethodName<'f>>,
) -> HashMap<MethodName<'f>, Vec<(u32, usize)>> {
    let mut there: HashMap<MethodName<'f>, Vec<(u32, usize)>> = HashMap::new();
    for (at, thread) in dump.threads.iter().enumerate() {
        for frame in thread.frames.iter().filter_map(|&number| frames.get(number)) {
            let method = (&*frame.class, &*frame.method);
            if !methods.contains(&method) {
                continue;
            }
            let all = there.entry(method).or_default();
            match all.last_mut().filter(|last| last.1 == at) {
                Some(last) => last.0 = last.0.max(frame.line),
                None => all.push((frame.line, at)),
            }
        }
    }
    // Stable: in the order of threads where lines are equal.
    there.values_mut().for_each(|all| all.sort_by_key(|it| Reverse(it.0)));
    there
}

/// The program's method that a thread waits in, and the line.
fn call<'f>(thread: &RawThread, frames: &'f FrameTable) -> Option<&'f RawFrame> {
    let of = thread.frames.iter().filter_map(|&number| frames.get(number));
    let mut program = of.skip_while(|frame| is_jdk(&frame.class));
    program.next().filter(|frame| frame.line != 0)
}

fn is_jdk(class: &str) -> bool {
    ["java/", "javax/", "jdk/", "sun/", "com/sun/"].iter().any(|begin| class.starts_with(begin))
}

/// Of locks of `java.util.concurrent` a dump may not say who has them: readers, and all if it
/// was taken without `-l`. Who is in the method in which others wait, beyond that line, has
/// taken it.
fn beyond(dump: &RawDump, frames: &FrameTable, all: &mut [Resolved]) {
    let is_open = |it: &Resolved| {
        it.owners.is_empty()
            && it.kind.is_some_and(|kind| kind.is_contention() && kind != WaitKind::Monitor)
    };
    let wanted: Vec<usize> =
        (0..all.len()).filter(|&at| all.get(at).is_some_and(is_open)).collect();
    // By lock and method, the first line in which somebody waits: who is beyond any is beyond that.
    let mut calls: BTreeMap<(&RawLock, MethodName<'_>), u32> = BTreeMap::new();
    for &at in &wanted {
        let (Some(thread), Some(it)) = (dump.threads.get(at), all.get(at)) else { continue };
        let (Some(call), Some(lock)) = (call(thread, frames), &it.lock) else { continue };
        let line = calls.entry((lock, (&call.class, &call.method))).or_insert(call.line);
        *line = call.line.min(*line);
    }
    let there = there(dump, frames, calls.keys().map(|(_, method)| *method).collect());
    let mut found: HashMap<RawLock, Vec<usize>> = HashMap::new();
    for ((lock, method), line) in calls {
        let all_there = there.get(&method).map_or(&[][..], |there| there);
        let beyond = all_there.iter().take_while(|it| it.0 > line).map(|it| it.1);
        let waits = |at: &usize| all.get(*at).is_some_and(|it| it.lock.as_ref() == Some(lock));
        let holders = found.entry(lock.clone()).or_default();
        for at in beyond.filter(|at| !waits(at)).take(MAX_INFERRED) {
            if !holders.contains(&at) && holders.len() < MAX_INFERRED {
                holders.push(at);
            }
        }
        holders.sort_unstable();
    }
    for at in wanted {
        let Some(it) = all.get_mut(at) else { continue };
        let Some(holders) = it.lock.as_ref().and_then(|lock| found.get(lock)) else { continue };
        if !holders.is_empty() {
            (it.owners, it.source) = (holders.clone(), HolderSource::BeyondTheCall);
        }
    }
}
