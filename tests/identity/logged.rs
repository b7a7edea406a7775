//! What a log has of the same.

use super::{
    account::{Account, StagedWait},
    places::{CodePlace, CodePlaces},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use tyrion_formats::{
    Recording,
    wire::{WaitKind, trace::AcquisitionCell},
};

/// A wait of a thread that the program has made.
#[derive(Clone, Debug)]
pub struct ThreadWait {
    pub lock: u32,
    /// The id of its place.
    pub place: u32,
    pub kind: WaitKind,
    /// The innermost frame of the program's: class, method and line.
    pub frame: Option<(String, String, u32)>,
    pub count: u64,
}

/// The log of a program of these tests.
pub struct ProgramLog {
    recording: Recording,
    /// By thread, of those that are called `w…` or as the test says.
    waits: BTreeMap<String, Vec<ThreadWait>>,
    acquisitions: BTreeMap<u32, AcquisitionCell>,
}

impl ProgramLog {
    pub fn open(log: &Path) -> ProgramLog {
        let recording = Recording::open(log).unwrap();
        assert!(recording.damage().is_empty(), "{:?}", recording.damage());
        let mut logged =
            ProgramLog { recording, waits: BTreeMap::new(), acquisitions: BTreeMap::new() };
        logged.read_waits();
        logged.read_acquisitions();
        logged
    }

    fn read_waits(&mut self) {
        let log = &self.recording;
        let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for chunk in log.event_chunks() {
            for wait in log.events(chunk).unwrap() {
                *sums.entry((wait.thread, wait.site)).or_default() += 1;
            }
        }
        for cell in log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)) {
            *sums.entry((cell.thread, cell.site)).or_default() += cell.count;
        }
        for ((thread, site), count) in sums {
            let definitions = log.definitions();
            let name = log.text(definitions.threads().get(thread).unwrap().name).into_owned();
            let site = definitions.sites().get(site).unwrap();
            let frames = self.frames(site.stack);
            // As of `Wait::is_of_the_jvm`: what the JVM does by itself.
            let loads = |(class, method, _): &(String, String, u32)| {
                class == "java/lang/ClassLoader" && method.starts_with("loadClass")
                    || class == "java/lang/invoke/MethodHandleNatives" && method.starts_with("link")
            };
            let class = self.class(definitions.locks().get(site.lock).copied().unwrap_or(0));
            let of_the_jvm = ["java/lang/Thread", "java/lang/ThreadGroup", "[I"];
            if frames.iter().any(loads) || of_the_jvm.contains(&class.as_str()) {
                continue;
            }
            let is_ours = |(class, ..): &&(String, String, u32)| {
                !["java/", "jdk/", "tyrion/identity/Account", "tyrion/identity/Actor"]
                    .iter()
                    .any(|start| class.starts_with(start))
            };
            let frame = frames.iter().find(is_ours).cloned();
            let waited =
                ThreadWait { lock: site.lock, place: site.place, kind: site.kind, frame, count };
            self.waits.entry(name).or_default().push(waited);
        }
    }

    fn read_acquisitions(&mut self) {
        let log = &self.recording;
        for cell in log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk)) {
            let sum = self.acquisitions.entry(cell.place).or_default();
            sum.acquisitions += cell.acquisitions;
            sum.reentrant += cell.reentrant;
            sum.first_count += cell.first_count;
            sum.sampled_count += cell.sampled_count;
        }
    }

    /// Class, method and line of each frame, innermost first.
    fn frames(&self, mut stack: u32) -> Vec<(String, String, u32)> {
        let definitions = self.recording.definitions();
        let mut frames = Vec::new();
        while let Some(frame) = definitions.stacks().get(stack) {
            let method = definitions.methods().get(frame.method);
            let (class, name) = method.map_or_else(Default::default, |method| {
                (self.class(method.class), self.recording.text(method.name).into_owned())
            });
            frames.push((class, name, frame.line));
            stack = frame.parent;
        }
        frames
    }

    /// The name of a class.
    fn class(&self, id: u32) -> String {
        let class = self.recording.definitions().classes().get(id);
        class.map_or_else(String::new, |class| self.recording.text(class.name).into_owned())
    }

    /// The waits of a thread that are contention, or for which it was to be notified.
    pub fn waits_of_kind(&self, thread: &str, kind: &str) -> Vec<&ThreadWait> {
        let waits = self.waits.get(thread).into_iter().flatten();
        waits
            .filter(|wait| match kind {
                "object-wait" => wait.kind == WaitKind::ObjectWait,
                _ => wait.kind.is_contention(),
            })
            .collect()
    }

    /// What the log says where a place is.
    pub fn place(&self, id: u32) -> Option<CodePlace> {
        let definitions = self.recording.definitions();
        let place = definitions.places().get(id)?;
        let method = definitions.methods().get(place.method)?;
        Some(CodePlace {
            class: self.class(method.class),
            method: self.recording.text(method.name).into_owned(),
            descriptor: self.recording.text(method.descriptor).into_owned(),
            bytecode: place.bytecode,
            line: place.line,
        })
    }

    /// What the program calls the lock of a place, and whether that is a field.
    pub fn name(&self, id: u32) -> (String, bool) {
        let place = self.recording.definitions().places().get(id);
        place.map_or_else(Default::default, |place| {
            (self.recording.text(place.name).into_owned(), place.is_field())
        })
    }

    /// How often locks were taken at each place whose class's name begins like that.
    pub fn taken(&self, prefix: &str) -> BTreeMap<u32, (CodePlace, &AcquisitionCell)> {
        let places = self.acquisitions.iter();
        places
            .filter_map(|(&id, cell)| Some((id, (self.place(id)?, cell))))
            .filter(|(_, (place, _))| place.class.starts_with(prefix))
            .collect()
    }
}

/// What is to be the same in a log, and what is not.
pub struct LogExpectation<'a> {
    pub logged: &'a ProgramLog,
    pub account: &'a Account,
    pub places: &'a CodePlaces,
    /// What the classes' names begin with.
    pub prefix: &'a str,
    /// Places of which only the lock is checked.
    pub moved: &'a [u32],
}

impl LogExpectation<'_> {
    /// What differs of the waits: how often threads waited, where, and for what.
    pub fn waits(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut locks: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        let mut threads: BTreeMap<&str, Vec<&StagedWait>> = BTreeMap::new();
        for staged in self.account.waits() {
            threads.entry(&staged.thread).or_default().push(staged);
        }
        for staged in threads.values() {
            wrong.extend(self.waits_of(staged, &mut locks));
        }
        let several = locks.iter().filter(|(_, ids)| ids.len() > 1);
        wrong.extend(several.map(|(lock, ids)| format!("lock {lock} is several: {ids:?}")));
        let mut by_id: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for (&lock, ids) in &locks {
            for &id in ids {
                by_id.entry(id).or_default().insert(lock);
            }
        }
        let merged = by_id.iter().filter(|(_, locks)| locks.len() > 1);
        wrong.extend(merged.map(|(id, locks)| format!("locks {locks:?} are one: {id}")));
        wrong
    }

    /// The same of what one thread has waited.
    fn waits_of(
        &self,
        staged: &[&StagedWait],
        locks: &mut BTreeMap<u64, BTreeSet<u32>>,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let waits = self.logged.waits_of_kind(&staged[0].thread, &staged[0].kind);
        let count: u64 = waits.iter().map(|wait| wait.count).sum();
        if count != staged.len() as u64 {
            return vec![format!("{staged:?}: {count} waits: {waits:?}")];
        }
        for staged in staged {
            let expected = &self.places[&staged.place];
            let is_there =
                |wait: &&&ThreadWait| self.logged.place(wait.place).as_ref() == Some(expected);
            let found = match waits.iter().find(is_there) {
                Some(found) => found,
                // Where else? That is told if there is no doubt which one it was.
                None if waits.len() == 1 => {
                    if !self.moved.contains(&staged.place) {
                        let place = self.logged.place(waits[0].place);
                        wrong.push(format!("{staged:?}: waits at {place:?}, not at {expected:?}"));
                    }
                    &waits[0]
                }
                None => {
                    let places: Vec<_> =
                        waits.iter().map(|wait| self.logged.place(wait.place)).collect();
                    wrong.push(format!("{staged:?}: waits at {places:?}, not at {expected:?}"));
                    continue;
                }
            };
            locks.entry(staged.lock).or_default().insert(found.lock);
            let is_right = found.frame.as_ref().is_some_and(|frame| is_at(frame, expected));
            if !is_right && !self.moved.contains(&staged.place) {
                wrong.push(format!("{staged:?}: stands at {:?}, not at {expected:?}", found.frame));
            }
        }
        wrong
    }

    /// The waits that were staged at each place, as far as the log tells them apart.
    fn by_place(&self) -> BTreeMap<u32, Vec<&ThreadWait>> {
        let mut found: BTreeMap<u32, Vec<&ThreadWait>> = BTreeMap::new();
        for staged in self.account.waits() {
            let mut waits = self.logged.waits_of_kind(&staged.thread, &staged.kind);
            if waits.len() > 1 {
                let expected = &self.places[&staged.place];
                waits.retain(|wait| self.logged.place(wait.place).as_ref() == Some(expected));
            }
            found.entry(staged.place).or_default().extend(waits);
        }
        found
    }

    /// What differs of the ids of places: each has one of its own, by which its waits and its
    /// acquisitions are joined.
    pub fn ids(&self, is_trace: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut owners: BTreeMap<u32, u32> = BTreeMap::new();
        let (expected, taken) = (self.account.taken(), self.logged.taken(self.prefix));
        for (number, waits) in self.by_place() {
            let ids: BTreeSet<u32> = waits.iter().map(|wait| wait.place).collect();
            // An unknown one is told with the waits.
            for &id in ids.iter().filter(|id| **id > 0 && !self.moved.contains(&number)) {
                // Of two classes of one name, one after the other, what is alike in all
                // that the log tells may be one.
                if let Some(other) = owners.insert(id, number)
                    && self.places[&number] != self.places[&other]
                {
                    let places = (&self.places[&number], &self.places[&other]);
                    wrong.push(format!("one place, {id}, are {number} and {other}: {places:?}"));
                }
                let Some(&times) = expected.get(&number).filter(|_| is_trace) else { continue };
                let counted = taken.get(&id).map_or(0, |(_, cell)| cell.acquisitions);
                let place = &self.places[&number];
                let alike = expected.keys().filter(|other| self.places[*other] == *place).count();
                if counted != times && (alike == 1 || counted < times) {
                    let name = self.logged.name(id);
                    let others: Vec<_> = taken
                        .iter()
                        .filter(|(_, (other, _))| other == place)
                        .map(|(id, (_, cell))| (id, cell.acquisitions, self.logged.name(*id)))
                        .collect();
                    wrong.push(format!(
                        "place {number} waits at {id}, {name:?}, where it was taken {counted} times, \
                         not {times}: {place:?}; of this are {others:?}"
                    ));
                }
            }
            if ids.len() > 1 {
                wrong.push(format!("place {number} is several: {ids:?}"));
            }
        }
        wrong
    }

    /// The ids of the locks for which threads have waited, by place.
    pub fn lock_ids(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let by_place = self.by_place().into_iter();
        by_place
            .map(|(place, waits)| (place, waits.iter().map(|wait| wait.lock).collect()))
            .collect()
    }

    /// What differs of the acquisitions at places.
    pub fn acquisitions(&self) -> Vec<String> {
        let mut expected: BTreeMap<&CodePlace, u64> = BTreeMap::new();
        for (place, taken) in self.account.taken() {
            *expected.entry(&self.places[&place]).or_default() += taken;
        }
        let mut found: BTreeMap<CodePlace, u64> = BTreeMap::new();
        for (place, cell) in self.logged.taken(self.prefix).into_values() {
            *found.entry(place).or_default() += cell.acquisitions;
        }
        let mut wrong = Vec::new();
        for (&place, &taken) in &expected {
            let counted = found.remove(place).unwrap_or(0);
            if counted != taken {
                wrong.push(format!("{place:?} took {taken} times, not {counted}"));
            }
        }
        let moved: Vec<&str> =
            self.moved.iter().map(|place| self.places[place].method.as_str()).collect();
        found.retain(|place, &mut taken| taken > 0 && !moved.contains(&place.method.as_str()));
        wrong.extend(found.iter().map(|(place, taken)| format!("{place:?}: {taken} of no place")));
        wrong
    }

    /// What differs of the names of places, which are all those of fields.
    pub fn fields(&self, names: &[(u32, &str)]) -> Vec<String> {
        let by_place = self.by_place();
        let mut wrong = Vec::new();
        for &(place, name) in names {
            let ids: BTreeSet<u32> = by_place[&place].iter().map(|wait| wait.place).collect();
            let found: Vec<(String, bool)> = ids.iter().map(|&id| self.logged.name(id)).collect();
            if found != [(name.to_owned(), true)] {
                wrong.push(format!("place {place}: {found:?}, not the field {name}"));
            }
        }
        wrong
    }

    /// All that differs.
    pub fn all(&self, is_trace: bool) -> Vec<String> {
        let mut wrong = self.waits();
        if is_trace {
            wrong.extend(self.acquisitions());
        }
        wrong
    }
}

/// Whether a frame is at a place. Interpreted, a thread that is blocked stands behind the
/// instruction, which may be on the next line.
fn is_at((class, method, line): &(String, String, u32), place: &CodePlace) -> bool {
    let lines = [place.line, place.line + u32::from(place.line > 0)];
    *class == place.class && *method == place.method && lines.contains(line)
}
