//! Many threads write through many files, and every wait is there once.

use super::*;
use crate::{
    groups::Group,
    jvm::ti::ThreadInfo,
    log::{
        dictionary::MethodText,
        lane::{EndedWait, Lanes, SharedLane},
        testing,
    },
    recorder::threads::{Acquiring, Owner, PendingWait, Thread, Threads, Waits},
};
use std::collections::{BTreeMap, HashMap};
use tyrion_wire::{
    Outcome, WaitKind,
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN, SEALED},
    def::{self, Definition},
    event::{self, Record},
    slot::{COUNTERS_LEN, Counters, Pending, WAIT_LEN},
    varint,
};

fn header() -> Header {
    Header {
        wall_ns: clock::wall_ns(),
        mono_ns: clock::now_ns(),
        depth: 128,
        metadata: vec![("mode".to_owned(), "contention".to_owned())],
        ..testing::header()
    }
}

/// What a recorder has, without a JVM.
struct World {
    log: Log,
    lanes: Lanes,
    threads: Threads,
}

fn rotation(filecount: Option<usize>) -> Rotation {
    Rotation {
        filesize: 64 << 10,
        filecount,
        filetime: None,
        filenames: FileNames::Number,
        maxsize: None,
        maxage: None,
    }
}

impl World {
    fn new(folder: &Path, filecount: usize) -> World {
        World::rotating(folder, rotation(Some(filecount)))
    }

    fn rotating(folder: &Path, rotation: Rotation) -> World {
        let (file, path) = names::create(&folder.join("test.log"), true).unwrap();
        let log = Log::start(file, path, header(), Some(rotation)).unwrap();
        World { log, lanes: Lanes::default(), threads: Threads::new() }
    }

    fn keep(&self) -> Option<String> {
        let go_over = |from: &Arc<Generation>, to: &Arc<Generation>| {
            self.lanes.leave(from.number) && self.threads.go_over(from, to, 0)
        };
        self.log.keep(go_over, |_, _| {})
    }

    /// Waits until all files but the last are finished, when nobody writes any
    /// more. One in a range that another test's file had rests for a while first.
    fn await_finished(&self) {
        let begin = Instant::now();
        let is_closed = |number| {
            let bytes = std::fs::read(names::archived(&self.log.path(), number)).ok();
            let header = bytes.and_then(|bytes| Header::decode(&bytes).ok());
            header.is_some_and(|header| header.state == RecordingState::Closed)
        };
        loop {
            let current = self.log.current();
            if !current.log.is_full() && (0..current.number).all(is_closed) {
                return;
            }
            drop(current);
            assert!(begin.elapsed() < Duration::from_secs(120), "files are not finished");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn thread(&self, java_id: i64) -> Arc<Thread> {
        let thread = self.threads.get_or_add(java_id, false, self.log.generation_number());
        let name = format!("thread-{java_id}").into_bytes();
        thread.describe(ThreadInfo { name, group: b"main".to_vec(), daemon: false }, false);
        thread
    }

    /// A thread waits once, not for long.
    fn wait_once(&self, lane: &SharedLane, thread: &Thread) {
        self.event(lane, thread, |generation, lane, _| {
            let pending = self.begin(generation, 1, &["a"], 0);
            self.end(generation, lane, thread, pending);
        });
    }

    /// As `Recorder::with` does it.
    fn event(
        &self,
        lane: &SharedLane,
        thread: &Thread,
        body: impl FnOnce(&Generation, &mut crate::log::lane::Lane, &mut Waits),
    ) {
        let mut lane_slot = lane.lock_slot();
        let mut waits = thread.waits();
        let (generation, lane) = lane_slot.enter(&self.log).unwrap();
        if waits.generation() != generation.number {
            let id = |java_id| self.threads.id_in(generation, java_id);
            thread.move_waits(&mut waits, self.log.previous().as_deref(), generation, id);
        }
        body(generation, lane, &mut waits);
        thread.publish(&mut waits, generation);
    }

    /// A wait whose outermost method, in brackets, is a group's.
    fn begin(
        &self,
        generation: &Generation,
        lock_id: u32,
        methods: &[&str],
        owner: i64,
    ) -> PendingWait {
        let Generation { log, dictionary, .. } = generation;
        let (group, methods) = match methods.split_last() {
            Some((last, frames)) if last.starts_with('[') => {
                let name = last.as_bytes();
                (Some(Group { number: name[1].into(), name: name.into() }), frames)
            }
            _ => (None, methods),
        };
        let methods: Vec<_> = methods.iter().map(|name| method(name)).collect();
        let stack = dictionary.stack_of(log, group.as_ref(), &methods).unwrap();
        let class = dictionary.class(log, b"Lcom/acme/Lock;", b"Lock.java").unwrap();
        dictionary.lock_object(log, lock_id, class).unwrap();
        let owner =
            Owner { id: self.threads.get(owner).map_or(0, |t| t.id(generation)), java_id: owner };
        PendingWait {
            kind: WaitKind::Monitor,
            start_ns: clock::now_ns(),
            stack,
            lock: lock_id,
            place: 0,
            owner,
            ..PendingWait::NONE
        }
    }

    fn end(
        &self,
        generation: &Generation,
        lane: &mut crate::log::lane::Lane,
        thread: &Thread,
        pending: PendingWait,
    ) {
        let Generation { log, dictionary, .. } = generation;
        let site = dictionary.site(log, pending.kind, (pending.stack, 0), pending.lock).unwrap();
        let ended = EndedWait {
            thread: thread.id(generation),
            site,
            contention: true,
            start_ns: pending.start_ns,
            end_ns: clock::now_ns(),
            outcome: Outcome::Granted,
            owner: pending.owner.id,
            parks: 0,
            group: 0,
            span: tyrion_wire::span::Span::NONE,
        };
        lane.write(log, &ended, 0);
    }
}

fn method(name: &str) -> MethodText<'_> {
    let (class, source, descriptor) = (&b"Lcom/acme/Main;"[..], &b"Main.java"[..], &b"()V"[..]);
    MethodText { class, source, name: name.as_bytes(), descriptor, first_line: 7 }
}

/// A file, read back in the simplest way.
#[derive(Default)]
struct Read {
    definitions: BTreeMap<(u8, u32), Vec<u64>>,
    texts: HashMap<u32, String>,
    waits: Vec<(u32, event::WaitRecord)>,
    counted: Counters,
    pending: Vec<Pending>,
    unsealed: usize,
}

impl Read {
    fn open(path: &Path) -> Read {
        let bytes = std::fs::read(path).unwrap();
        let header = Header::decode(&bytes).unwrap();
        let mut read = Read::default();
        let mut at = header.header_len as usize;
        while at < header.used_len as usize {
            let chunk = ChunkHeader::decode(&bytes[at..]).unwrap();
            let payload = &bytes[at + HEADER_LEN..][..chunk.committed as usize];
            read.chunk(&chunk, payload);
            at += chunk.len as usize;
        }
        read
    }

    fn chunk(&mut self, chunk: &ChunkHeader, payload: &[u8]) {
        let kind = ChunkKind::from_code(chunk.kind).unwrap();
        if [ChunkKind::Definitions, ChunkKind::Events].contains(&kind) {
            self.unsealed += usize::from(chunk.flags & SEALED == 0);
            if chunk.flags & SEALED != 0 {
                assert_eq!(chunk.checksum, crc32fast::hash(payload));
            }
        }
        match kind {
            ChunkKind::Definitions => self.definitions(payload),
            ChunkKind::Events => self.events(chunk.thread, payload),
            ChunkKind::Counters => {
                for bytes in payload.chunks(COUNTERS_LEN) {
                    self.counted.contention += Counters::decode(bytes).unwrap().contention;
                }
            }
            ChunkKind::Slots => {
                self.pending.extend(payload.chunks(WAIT_LEN).filter_map(Pending::decode));
            }
            _ => {}
        }
    }

    fn definitions(&mut self, mut rest: &[u8]) {
        while let [tag, after @ ..] = rest {
            let (len, len_len) = varint::read(after).unwrap();
            let (payload, after) = after[len_len..].split_at(len as usize);
            rest = after;
            let (id, fields): (u32, Vec<u64>) = match def::decode_payload(*tag, payload).unwrap() {
                Definition::String { id, text } => {
                    self.texts.insert(id, String::from_utf8(text.to_vec()).unwrap());
                    (id, vec![])
                }
                Definition::Class { id, name, source } => (id, vec![name.into(), source.into()]),
                Definition::Method { id, class, name, .. } => (id, vec![class.into(), name.into()]),
                Definition::Stack { id, parent, method, .. } => {
                    (id, vec![parent.into(), method.into()])
                }
                Definition::Group { stack, name } => (stack, vec![name.into()]),
                Definition::Thread { id, name, .. } => (id, vec![name.into()]),
                Definition::Lock { id, class } => (id, vec![class.into()]),
                Definition::Site { id, stack, lock, .. } => (id, vec![stack.into(), lock.into()]),
                // Told again when the thread ends.
                Definition::ThreadSpan { id, .. } => {
                    assert!(self.definitions.contains_key(&(5, id)));
                    continue;
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(self.definitions.insert((*tag, id), fields), None, "defined twice");
        }
    }

    fn events(&mut self, mut thread: u32, mut rest: &[u8]) {
        while !rest.is_empty() {
            let (record, len) = event::decode(rest).unwrap();
            rest = &rest[len..];
            match record {
                Record::Thread(other) => thread = other,
                Record::Wait(wait) => self.waits.push((thread, wait)),
                other => panic!("{other:?}"),
            }
        }
    }

    fn get(&self, tag: u8, id: u64) -> &[u64] {
        self.definitions.get(&(tag, id as u32)).unwrap_or_else(|| panic!("no {id} with tag {tag}"))
    }

    fn text(&self, id: u64) -> &str {
        self.texts.get(&(id as u32)).unwrap_or_else(|| panic!("no string {id}"))
    }

    fn thread_name(&self, id: u32) -> &str {
        self.text(self.get(5, id.into())[0])
    }

    /// The methods of a stack, innermost first.
    fn stack(&self, mut id: u64) -> Vec<&str> {
        let mut names = Vec::new();
        while id > 1 {
            if let Some(&[group]) = self.definitions.get(&(14, id as u32)).map(Vec::as_slice) {
                names.push(self.text(group));
                break;
            }
            let &[parent, method] = self.get(4, id) else { panic!() };
            let &[class, name] = self.get(3, method) else { panic!() };
            assert_eq!(self.text(self.get(2, class)[0]), "com/acme/Main");
            names.push(self.text(name));
            id = parent;
        }
        names
    }

    fn lock_class(&self, id: u64) -> &str {
        self.text(self.get(2, self.get(7, id)[0])[0])
    }

    /// A wait's thread, stack and lock.
    fn describe(&self, (thread, wait): &(u32, event::WaitRecord)) -> (&str, Vec<&str>, u64) {
        let &[stack, lock] = self.get(8, wait.site.into()) else { panic!() };
        assert_eq!(self.lock_class(lock), "com/acme/Lock");
        (self.thread_name(*thread), self.stack(stack), lock)
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let log = folder.join("test.log");
    let numbered = (0..).map(|n| names::archived(&log, n)).skip_while(|path| !path.exists());
    numbered.take_while(|path| path.exists()).chain([log.clone()]).collect()
}

#[test]
fn every_wait_is_in_one_of_the_files() {
    const WRITERS: i64 = 4;
    const WAITS: u64 = 30_000;
    const FILES: u32 = 12;
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), 10_000);
    let (lane, sleeper, owner) = (world.lanes.take(), world.thread(99), world.thread(77));
    // Waits within waits, all of which outlast the first file.
    world.event(&lane, &sleeper, |generation, _, waits| {
        waits.object_wait = Some(world.begin(generation, 1001, &["outer", "run"], 0));
        let wait = Some(world.begin(generation, 1002, &["middle", "run", "[group]"], 77));
        waits.acquiring.push(Acquiring { start_ns: 1, shared: false, parks: 1, wait });
        waits.monitor = Some(world.begin(generation, 1003, &["inner", "middle", "run"], 0));
        waits.awaited_lock = 1001;
    });
    drop(owner);
    let written: BTreeMap<String, u64> = std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        let writers: Vec<_> = (1..=WRITERS)
            .map(|java_id| {
                let world = &world;
                scope.spawn(move || {
                    let (lane, thread) = (world.lanes.take(), world.thread(java_id));
                    let mut nth = 0;
                    // On, if the next files come late.
                    while nth < WAITS || world.log.generation_number() < FILES {
                        let lock_id = (nth % 7 + 1) as u32;
                        world.event(&lane, &thread, |generation, _, waits| {
                            waits.monitor =
                                Some(world.begin(generation, lock_id, &["a", "run", "[often]"], 0));
                        });
                        world.event(&lane, &thread, |generation, lane, waits| {
                            let pending = waits.monitor.take().unwrap();
                            world.end(generation, lane, &thread, pending);
                        });
                        if nth % 64 == 0 {
                            std::thread::sleep(Duration::from_micros(300));
                        }
                        nth += 1;
                    }
                    world.lanes.give_back(lane);
                    (format!("thread-{java_id}"), nth)
                })
            })
            .collect();
        let written = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        // What is below the innermost wait has gone along.
        world.event(&lane, &sleeper, |generation, lane, waits| {
            assert_eq!(waits.awaited_lock, 1001);
            world.end(generation, lane, &sleeper, waits.monitor.take().unwrap());
            let acquiring = waits.acquiring.pop().unwrap();
            world.end(generation, lane, &sleeper, acquiring.wait.unwrap());
        });
        world.await_finished();
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
        written
    });
    let files = files(folder.path());
    assert!(files.len() > FILES as usize, "{} files", files.len());
    let mut by_thread: BTreeMap<String, u64> = BTreeMap::new();
    let (mut slept, mut pending) = (Vec::new(), Vec::new());
    for (nth, path) in files.iter().enumerate() {
        let read = Read::open(path);
        let tally = read.counted.contention;
        assert_eq!((tally.recorded, tally.dropped), (tally.ended, 0), "{}", path.display());
        assert_eq!(read.waits.len() as u64, tally.ended, "{}", path.display());
        for wait in &read.waits {
            let (thread, stack, lock_id) = read.describe(wait);
            *by_thread.entry(thread.to_owned()).or_default() += 1;
            if thread == "thread-99" {
                let owner = Some(wait.1.owner).filter(|&id| id != 0);
                let owner = owner.map(|id| read.thread_name(id).to_owned());
                slept.push((nth, lock_id, stack.join(" "), owner));
            } else {
                assert_eq!((stack, (1..8).contains(&lock_id)), (vec!["a", "run", "[often]"], true));
            }
        }
        let stack = |pending: &Pending| read.stack(pending.stack.into()).join(" ");
        let stacks: Vec<String> = read.pending.iter().map(stack).collect();
        if nth + 1 < files.len() {
            assert_eq!((stacks.len(), read.unsealed), (0, 0), "{}", path.display());
        }
        pending.extend(stacks);
    }
    assert_eq!(pending, ["outer run"]);
    assert_eq!(by_thread.remove("thread-99"), Some(2));
    assert_eq!(by_thread, written);
    assert!(slept.iter().all(|(nth, ..)| nth + 2 >= files.len()), "{slept:?}");
    let slept: Vec<_> =
        slept.into_iter().map(|(_, lock, stack, owner)| (lock, stack, owner)).collect();
    assert_eq!(
        slept,
        [
            (1003, "inner middle run".to_owned(), None),
            (1002, "middle run [group]".to_owned(), Some("thread-77".to_owned())),
        ]
    );
}

#[test]
fn only_so_many_files_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), 3);
    let (lane, thread) = (world.lanes.take(), world.thread(1));
    std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        while world.log.generation_number() < 8 {
            world.wait_once(&lane, &thread);
            std::thread::sleep(Duration::from_micros(20));
        }
        // Somebody who still has the first of these does not keep it from going.
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
    });
    let left = files(folder.path());
    assert!(left.len() == 3 && !names::archived(&left[2], 0).exists(), "{left:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is prepared");
    let numbers: Vec<String> = left
        .iter()
        .map(|path| {
            let header = Header::decode(&std::fs::read(path).unwrap()).unwrap();
            header.metadata.into_iter().find(|(key, _)| key == FILE_NUMBER).unwrap().1
        })
        .collect();
    let last = world.log.generation_number();
    assert_eq!(numbers, [last - 2, last - 1, last].map(|n| n.to_string()));
}

#[test]
fn without_a_folder_for_more_files_it_becomes_longer() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), 3);
    let (lane, thread) = (world.lanes.take(), world.thread(1));
    // Taken by something that is no log, so that it is left alone.
    std::fs::write(folder.path().join("test.log.next"), "precious").unwrap();
    std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        for _ in 0..30_000 {
            world.wait_once(&lane, &thread);
            std::thread::sleep(Duration::from_micros(5));
        }
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
    });
    assert_eq!(world.log.generation_number(), 0);
    let read = Read::open(&folder.path().join("test.log"));
    assert_eq!((read.waits.len(), read.counted.contention.dropped), (30_000, 0));
    assert_eq!(std::fs::read(folder.path().join("test.log.next")).unwrap(), b"precious");
}

/// Waits until something is so: whether it is. A panic would leave the helper at work.
fn await_so(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() && begin.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_so()
}

/// The names of all files there.
fn names_in(folder: &Path) -> Vec<String> {
    let name = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let names = std::fs::read_dir(folder).unwrap().map(name);
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// A file begins when it is time, not while nothing is recorded; its name tells when it
/// began; what an earlier recording has left counts.
#[test]
fn files_are_named_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| std::fs::write(folder.path().join(name), header::MAGIC).unwrap();
    for name in ["test.log.20200101-000000.7", "test.log.20200102-000000.0", "test.99.log"] {
        put(name);
    }
    std::fs::write(folder.path().join("test.log.20200101-000000.8"), "precious").unwrap();
    let limits = Rotation {
        filetime: Some(Duration::from_millis(300)),
        filenames: FileNames::Time,
        ..rotation(Some(4))
    };
    let world = World::rotating(folder.path(), limits);
    world.log.set_template(Path::new("/elsewhere/test.log"));
    // What is no log does not count.
    let logs = || -> Vec<String> {
        let names = names_in(folder.path()).into_iter();
        names.filter(|name| !name.ends_with("000000.8")).collect()
    };
    world.log.set_state(RecordingState::Paused);
    let while_paused = std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        std::thread::sleep(Duration::from_millis(700));
        let while_paused = world.log.generation_number();
        world.log.set_state(RecordingState::Recording);
        let is_there = await_so(|| world.log.generation_number() > 1);
        let is_within = await_so(|| logs().len() <= 4);
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
        (while_paused, is_there, is_within)
    });
    assert_eq!(while_paused, (0, true, true));
    let left = logs();
    assert!(left.len() <= 4, "{left:?}");
    let other = folder.path().join("test.log.20200101-000000.8");
    assert_eq!(std::fs::read(other).unwrap(), b"precious", "no log, so it stays");
    assert!(!left.iter().any(|name| name.ends_with("00.7") || name.contains("20200102")));
    let is_own = |name: &&String| name.starts_with("test.log.2") && !name.contains(".2020");
    let own: Vec<&String> = left.iter().filter(is_own).collect();
    assert!(!own.is_empty(), "{left:?}");
    for name in own {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        let header = Header::decode(&bytes).unwrap();
        let path = folder.path().join("test.log");
        let number = header.metadata(FILE_NUMBER).unwrap().parse().unwrap();
        let expected = names::archived_by_time(&path, header.wall_ns, number);
        assert_eq!(expected.file_name().unwrap().to_str().unwrap(), name);
    }
}

#[test]
fn old_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let maxage = Some(Duration::from_millis(1));
    let world = World::rotating(folder.path(), Rotation { maxage, ..rotation(None) });
    let (lane, thread) = (world.lanes.take(), world.thread(1));
    let are_gone = std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        while world.log.generation_number() < 3 {
            world.wait_once(&lane, &thread);
            std::thread::sleep(Duration::from_micros(20));
        }
        // Looked at again and again, though no other file begins.
        let is_earlier = |name: &String| name != "test.log" && !name.ends_with(".next");
        let are_gone = await_so(|| !names_in(folder.path()).iter().any(is_earlier));
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
        are_gone
    });
    assert!(are_gone, "{:?}", names_in(folder.path()));
}

/// Who opens the log by its name finds it, while one file follows the other.
#[test]
fn its_name_is_there_all_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), 2);
    let (lane, thread) = (world.lanes.take(), world.thread(1));
    let path = folder.path().join("test.log");
    std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        let looked = scope.spawn(|| {
            let mut missing = 0;
            while !world.log.is_closed() {
                missing += u32::from(path.symlink_metadata().is_err());
            }
            missing
        });
        while world.log.generation_number() < 30 {
            world.wait_once(&lane, &thread);
        }
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
        assert_eq!(looked.join().unwrap(), 0);
    });
}

/// `rm test.log.*` finds the prepared file, too.
#[test]
fn another_file_is_prepared_if_one_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), 2);
    let (lane, thread) = (world.lanes.take(), world.thread(1));
    let next = folder.path().join("test.log.next");
    std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        let mut removed = 0;
        while world.log.generation_number() < 6 {
            if removed < 3 && std::fs::remove_file(&next).is_ok() {
                removed += 1;
            }
            world.wait_once(&lane, &thread);
            std::thread::sleep(Duration::from_micros(20));
        }
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
        assert_eq!(removed, 3);
    });
}

/// Somebody has moved the log, and another file has its name: that is not renamed, and not
/// removed as one of those that are too many.
#[test]
fn another_file_of_its_name_stays() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), 2);
    let (lane, thread) = (world.lanes.take(), world.thread(1));
    let at = |name: &str| folder.path().join(name);
    std::fs::rename(at("test.log"), at("moved.log")).unwrap();
    std::fs::write(at("test.log"), header::MAGIC).unwrap();
    std::thread::scope(|scope| {
        let kept = scope.spawn(|| world.keep());
        while world.log.generation_number() < 6 {
            world.wait_once(&lane, &thread);
            std::thread::sleep(Duration::from_micros(20));
        }
        world.log.close();
        assert_eq!(kept.join().unwrap(), None);
    });
    let (now, number) = (world.log.path(), world.log.generation_number());
    assert_eq!(now, names::own(&at("test.log")));
    assert_eq!(std::fs::read(at("test.log")).unwrap(), header::MAGIC);
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let last = name(&names::archived(&now, number - 1));
    let mut expected = ["moved.log".to_owned(), "test.log".to_owned(), name(&now), last];
    expected.sort();
    assert_eq!(names_in(folder.path()), expected);
}
