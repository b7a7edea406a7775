//! Logs in which names alone would join what is not one, or tear apart what is.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{aggregate::aggregate, filter::Filter, profile::Profile};
use std::{collections::BTreeMap, io::Cursor};
use tyrion_formats::write::{LaneId, LogOptions, LogWriter, Wait};
use tyrion_wire::{
    WaitKind,
    def::place_flag::{FIELD, METHOD},
    trace::AcquisitionCell,
};

const OBJECT: &str = "java/lang/Object";

/// A log under construction, of one thread.
struct Crafted {
    log: LogWriter<Cursor<Vec<u8>>>,
    lane: LaneId,
    thread: u32,
    now_ns: u64,
}

impl Crafted {
    fn new(mode: &str) -> Crafted {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = 1_000;
        options.header.metadata = vec![("mode".to_owned(), mode.to_owned())];
        let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let thread = log.thread(7, "main", "main", 0).unwrap();
        let lane = log.lane(thread);
        Crafted { log, lane, thread, now_ns: 1_000 }
    }

    fn contention() -> Crafted {
        Crafted::new("contention")
    }

    fn traced() -> Crafted {
        Crafted::new("trace")
    }

    fn class(&mut self, name: &str) -> u32 {
        self.log.class(name, "").unwrap()
    }

    /// A lock of a class, by its name in class files.
    fn lock(&mut self, class: &str) -> u32 {
        let class = self.class(class);
        self.log.lock(class).unwrap()
    }

    /// A place in a method, `pa/Book.match`, which has one line.
    fn place(&mut self, method: &str, bytecode: u32, flags: u64, name: &str) -> u32 {
        let (class, method) = method.rsplit_once('.').unwrap();
        let class = self.class(class);
        let method = self.log.method(class, method, "()V", 1).unwrap();
        self.log.place_at((method, 12, bytecode), WaitKind::Monitor, flags, name).unwrap()
    }

    /// A wait of 100 ns for a lock at a place: its site.
    fn wait(&mut self, kind: WaitKind, lock: u32, place: u32) -> u32 {
        // The stack tells no bytecode: places of one line have the same.
        let class = self.class("pa/Book");
        let method = self.log.method(class, "match", "()V", 1).unwrap();
        let stack = self.log.stack(0, method, 12).unwrap();
        let site = self.log.site_at(kind, stack, lock, place).unwrap();
        self.now_ns += 1_000;
        let wait = Wait { end_ns: self.now_ns, wait_ns: 100, site, ..Wait::default() };
        self.log.wait(self.lane, wait).unwrap();
        site
    }

    fn waits(&mut self, lock: u32, place: u32) -> u32 {
        self.wait(WaitKind::Monitor, lock, place)
    }

    /// Acquisitions of locks of a class at a place.
    fn takes(&mut self, place: u32, class: &str, acquisitions: u64) {
        let (thread, class) = (self.thread, self.class(class));
        let cell = AcquisitionCell { thread, place, class, acquisitions, ..Default::default() };
        self.log.acquisitions(self.lane, &cell).unwrap();
    }

    fn finish(self) -> Recording {
        let bytes = self.log.finish().unwrap().into_inner();
        Recording::from_bytes("crafted.log", bytes).unwrap()
    }
}

/// What the lock of a site is called.
fn name(log: &Recording, site: u32) -> String {
    let locks = Locks::of(log);
    locks.label(locks.at_site(log.definitions().sites().get(site).unwrap())).1
}

/// How often locks were waited for and taken, by class and name.
fn rows(logs: &[Recording], filter: &Filter) -> BTreeMap<String, (u64, u64)> {
    let Profile { locks, waits, sections, .. } = aggregate(logs, filter, &|_| {}).profile;
    let mut rows: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let called = |lock: u32| {
        let lock = &locks[lock as usize];
        crate::names::lock_called(&lock.name, &lock.class, "")
    };
    waits.iter().for_each(|wait| rows.entry(called(wait.lock)).or_default().0 += wait.count);
    sections.iter().for_each(|it| rows.entry(called(it.lock)).or_default().1 += it.acquisitions);
    rows
}

fn expected(rows: &[(&str, (u64, u64))]) -> BTreeMap<String, (u64, u64)> {
    rows.iter().map(|&(name, counts)| (name.to_owned(), counts)).collect()
}

fn matching(pattern: &str) -> Filter {
    Filter { lock: Some(Regex::new(pattern).unwrap()), ..Filter::default() }
}

#[test]
fn two_locks_on_one_line_are_two() {
    let mut log = Crafted::traced();
    let [a, b] = [(); 2].map(|()| log.lock(OBJECT));
    let first = log.place("pa/Book.match", 4, 0, "lock");
    let second = log.place("pa/Book.match", 41, 0, "lock");
    let third = log.place("pa/Book.match", 60, FIELD, "pa/Book.orders");
    for _ in 0..3 {
        log.waits(a, first);
    }
    log.waits(b, second);
    log.takes(first, OBJECT, 30);
    log.takes(second, OBJECT, 10);
    log.takes(third, OBJECT, 5);
    let found = rows(&[log.finish()], &Filter::default());
    let wanted = [
        ("Book.orders (java.lang.Object)", (0, 5)),
        ("lock in Book.match, bytecode 4 (java.lang.Object)", (3, 30)),
        ("lock in Book.match, bytecode 41 (java.lang.Object)", (1, 10)),
    ];
    assert_eq!(found, expected(&wanted));
}

#[test]
fn a_place_needs_no_bytecode_in_its_name_where_it_is_the_only_one() {
    let mut log = Crafted::traced();
    let lock = log.lock(OBJECT);
    let named = log.place("pa/Book.match", 4, 0, "pa/Pool.get()");
    let nameless = log.place("pa/Book.trade", 7, 0, "");
    let constant = log.place("pa/Book.load", 7, 0, "\"a/b\"");
    log.waits(lock, named);
    log.waits(lock, nameless);
    log.waits(lock, constant);
    log.takes(named, OBJECT, 4);
    log.takes(nameless, OBJECT, 5);
    let found = rows(&[log.finish()], &Filter::default());
    let wanted = [
        ("\"a/b\" in Book.load (java.lang.Object)", (1, 0)),
        ("Pool.get() in Book.match (java.lang.Object)", (1, 4)),
        ("a lock in Book.trade (java.lang.Object)", (1, 5)),
    ];
    assert_eq!(found, expected(&wanted));
}

#[test]
fn one_object_under_two_fields_is_one_lock() {
    let mut log = Crafted::traced();
    let lock = log.lock(OBJECT);
    let orders = log.place("pa/Book.match", 4, FIELD, "pa/Book.orders");
    let ledger = log.place("pa/Bank.pay", 9, FIELD, "pa/Bank.ledger");
    let other = log.place("pa/Bank.pay", 19, FIELD, "pa/Bank.other");
    log.waits(lock, orders);
    log.waits(lock, ledger);
    log.takes(orders, OBJECT, 200);
    log.takes(ledger, OBJECT, 200);
    log.takes(other, OBJECT, 1);
    for (place, hash) in [(orders, 77), (ledger, 77), (other, 0)] {
        log.log.place_instance(place, hash).unwrap();
    }
    let log = [log.finish()];
    let joined = ("Bank.ledger, Book.orders (java.lang.Object)", (2, 400));
    let wanted = [("Bank.other (java.lang.Object)", (0, 1)), joined];
    assert_eq!(rows(&log, &Filter::default()), expected(&wanted));
    // By each of its names, short or whole.
    for pattern in ["^Book.orders$", "^pa.Bank.ledger$", "Bank.ledger, Book"] {
        assert_eq!(rows(&log, &matching(pattern)), expected(&[joined]), "{pattern}");
    }
}

#[test]
fn the_same_object_at_two_places_is_one_lock_without_instances_too() {
    let mut log = Crafted::contention();
    let [a, b] = [(); 2].map(|()| log.lock(OBJECT));
    let first = log.place("pa/Book.match", 4, 0, "lock");
    let second = log.place("pa/Book.trade", 41, 0, "own");
    let both = log.place("pa/Book.trade", 50, 0, "own");
    let sites = [(a, first), (a, second), (a, both), (b, both)];
    let sites = sites.map(|(lock, place)| log.waits(lock, place));
    let log = log.finish();
    let joined = "lock in Book.match, own in Book.trade";
    assert_eq!(
        sites.map(|site| name(&log, site)),
        [joined, joined, "own in Book.trade", "own in Book.trade"]
    );
}

#[test]
fn a_place_joins_the_field_that_its_instance_is_known_to_be_of() {
    let mut log = Crafted::traced();
    let [a, b] = [(); 2].map(|()| log.lock(OBJECT));
    let stripes = log.place("pa/Map.put", 4, FIELD, "pa/Map.locks[]");
    let local = log.place("pa/Map.get", 9, 0, "stripe");
    let sites = [log.waits(a, stripes), log.waits(b, stripes), log.waits(a, local)];
    for (place, hash) in [(stripes, 0), (local, 70)] {
        log.log.place_instance(place, hash).unwrap();
    }
    log.log.lock_instance(a, 70).unwrap();
    log.log.lock_instance(b, 71).unwrap();
    let log = log.finish();
    assert_eq!(sites.map(|site| name(&log, site)), ["Map.locks[]"; 3]);
}

#[test]
fn classes_of_the_program_and_those_that_only_the_jdk_locks_say_what_they_are() {
    let mut log = Crafted::traced();
    let (account, node) = ("pa/Account", "java/util/concurrent/ConcurrentHashMap$Node");
    let [lock, bin, vector] = [account, node, "java/util/Vector"].map(|class| log.lock(class));
    let of_this = log.place("pa/Account.pay", 0, METHOD, "this");
    let of_local = log.place("pa/Bank.pay", 5, 0, "from");
    let of_class = log.place("pa/Account.all", 0, METHOD, "pa/Account.class");
    let of_node = log.place("java/util/concurrent/ConcurrentHashMap.putVal", 5, 0, "f");
    let synchronized = log.place("java/util/Vector.add", 0, METHOD, "this");
    log.waits(lock, of_this);
    log.waits(lock, of_local);
    log.waits(bin, of_node);
    log.waits(vector, synchronized);
    log.takes(of_this, account, 3);
    log.takes(of_local, account, 4);
    log.takes(of_class, "pa/Account.class", 5);
    let found = rows(&[log.finish()], &Filter::default());
    let wanted = [
        ("java.util.Vector", (1, 0)),
        ("java.util.concurrent.ConcurrentHashMap$Node", (1, 0)),
        ("pa.Account", (2, 7)),
        ("pa.Account.class", (0, 5)),
    ];
    assert_eq!(found, expected(&wanted));
}

#[test]
fn classes_of_one_simple_name_are_told_apart_in_all_logs() {
    let log = |packages: &[&str]| {
        let mut log = Crafted::contention();
        for package in packages {
            let lock = log.lock(OBJECT);
            let place = log.place(
                &format!("{package}/Cache.get"),
                4,
                FIELD,
                &format!("{package}/Cache.lock"),
            );
            log.waits(lock, place);
        }
        log.finish()
    };
    let of_both = |(pa, pb)| {
        expected(&[
            ("pa.Cache.lock (java.lang.Object)", (pa, 0)),
            ("pb.Cache.lock (java.lang.Object)", (pb, 0)),
        ])
    };
    assert_eq!(rows(&[log(&["pa", "pb"])], &Filter::default()), of_both((1, 1)));
    // Only one of them is ambiguous by itself.
    let two = [log(&["pa"]), log(&["pa", "pb"])];
    assert_eq!(rows(&two, &Filter::default()), of_both((2, 1)));
    let alone = ("Cache.lock (java.lang.Object)", (1, 0));
    let one = [log(&["pa"])];
    assert_eq!(rows(&one, &Filter::default()), expected(&[alone]));
    assert_eq!(rows(&one, &matching(r"^pa\.Cache")), expected(&[alone]));
    let found = rows(&two, &matching(r"pa\.Cache"));
    assert_eq!(found, expected(&[("pa.Cache.lock (java.lang.Object)", (2, 0))]));
}

#[test]
fn logs_agree_on_which_places_need_their_bytecode() {
    let log = |places: &[u32]| {
        let mut log = Crafted::contention();
        for &bytecode in places {
            let lock = log.lock(OBJECT);
            let place = log.place("pa/Book.match", bytecode, 0, "lock");
            log.waits(lock, place);
        }
        log.finish()
    };
    let of = |bytecode: u32| format!("lock in Book.match, bytecode {bytecode} (java.lang.Object)");
    let wanted = |(a, b)| BTreeMap::from([(of(4), (a, 0)), (of(41), (b, 0))]);
    // Neither of the two is ambiguous by itself; both are different locks.
    assert_eq!(rows(&[log(&[4]), log(&[41])], &Filter::default()), wanted((1, 1)));
    assert_eq!(rows(&[log(&[4]), log(&[4, 41])], &Filter::default()), wanted((2, 1)));
    // Of a comparison each side is a version of the program: the places may have moved.
    let sides = [log(&[4]), log(&[41])];
    agree_on_sides([&sides[..1], &sides[1..]]);
    for side in &sides {
        let found = rows(std::slice::from_ref(side), &Filter::default());
        assert_eq!(found, expected(&[("lock in Book.match (java.lang.Object)", (1, 0))]));
    }
}

#[test]
fn waits_without_a_place_or_a_lock_are_of_what_is_known() {
    let mut log = Crafted::contention();
    let [a, b, nameless] = [(); 3].map(|()| log.lock(OBJECT));
    log.log.lock_name(nameless, "pa/Book.late").unwrap();
    let orders = log.place("pa/Book.match", 4, FIELD, "pa/Book.orders");
    let local = log.place("pa/Book.match", 40, 0, "own");
    let unknown = log.place("pa/Book.trade", 8, 0, "");
    let sites = [
        (WaitKind::Monitor, a, orders),
        (WaitKind::Monitor, a, 0),
        (WaitKind::ObjectWait, a, local),
        (WaitKind::Monitor, 0, orders),
        (WaitKind::Monitor, 0, unknown),
        (WaitKind::ObjectWait, b, local),
        (WaitKind::Monitor, nameless, 0),
    ];
    let sites = sites.map(|(kind, lock, place)| log.wait(kind, lock, place));
    let log = log.finish();
    let names = sites.map(|site| name(&log, site));
    let orders = "Book.orders";
    let (lost, own, late) = ("a lock in Book.trade", "own in Book.match", "Book.late");
    assert_eq!(names, [orders, orders, orders, orders, lost, own, late]);
    let locks = Locks::of(&log);
    let by_id = [a, b, nameless].map(|lock| locks.label(locks.with_id(lock)).1);
    assert_eq!(by_id, [orders, own, late]);
}

#[test]
fn more_names_than_are_shown_are_found() {
    let mut log = Crafted::contention();
    let lock = log.lock(OBJECT);
    for at in 0..5 {
        let place = log.place("pa/Book.match", at, FIELD, &format!("pa/Book.f{at}"));
        log.waits(lock, place);
    }
    let log = [log.finish()];
    let joined = ("Book.f0, Book.f1, Book.f2, … (java.lang.Object)", (5, 0));
    assert_eq!(rows(&log, &matching("^pa.Book.f4$")), expected(&[joined]));
    assert_eq!(rows(&log, &matching("f5")), expected(&[]));
}

#[test]
fn whole_names_do_not_depend_on_what_else_there_is() {
    let mut log = Crafted::contention();
    let lock = log.lock(OBJECT);
    let place = log.place("pa/Book.match", 4, 0, "own");
    let site = log.waits(lock, place);
    let log = log.finish();
    assert_eq!(name(&log, site), "own in Book.match");
    let locks = Locks::of(&log).whole();
    let node = locks.at_site(log.definitions().sites().get(site).unwrap());
    let whole = "own in pa.Book.match, bytecode 4";
    assert_eq!(locks.label(node).1, whole);
    // Those that have agreed on that keep to it.
    agree_on_whole([&log]);
    agree([&log]);
    assert_eq!(name(&log, site), whole);
}

#[test]
fn logs_of_earlier_agents_go_by_class_and_name() {
    let mut log = Crafted::traced();
    let [a, b] = [(); 2].map(|()| log.lock(OBJECT));
    let class = log.class("pa/Book");
    let method = log.log.method(class, "match", "()V", 1).unwrap();
    let place = log.log.place(method, 12, WaitKind::Monitor, 0, "a/b lock").unwrap();
    for lock in [a, b] {
        log.log.lock_name(lock, "a/b lock").unwrap();
        log.waits(lock, 0);
    }
    log.takes(place, OBJECT, 9);
    let found = rows(&[log.finish()], &Filter::default());
    assert_eq!(found, expected(&[("a/b lock (java.lang.Object)", (2, 9))]));
}

#[test]
fn names_lose_their_packages() {
    for (name, short, whole) in [
        ("com/acme/Cache.lock", "Cache.lock", "com.acme.Cache.lock"),
        ("com/acme/Foo.locks[]", "Foo.locks[]", "com.acme.Foo.locks[]"),
        ("com/acme/Pool.get()", "Pool.get()", "com.acme.Pool.get()"),
        ("a/B.map.get(c/D.key)", "B.map.get(D.key)", "a.B.map.get(c.D.key)"),
        ("order", "order", "order"),
        ("\"a/b\"", "\"a/b\"", "\"a/b\""),
        ("", "", ""),
    ] {
        assert_eq!((names::short(name), names::whole(name)), (short.to_owned(), whole.to_owned()));
    }
}

#[test]
fn labels_depend_on_no_number_of_workers() {
    let make = || {
        let mut log = Crafted::traced();
        for at in 0..40 {
            let lock = log.lock(OBJECT);
            let place = log.place(&format!("pa/C{}.run", at % 7), at, 0, "lock");
            let field = log.place("pa/Book.match", at, FIELD, &format!("p{at}/Book.f{}", at % 9));
            log.waits(lock, place);
            log.waits(lock, field);
            log.takes(place, OBJECT, 2);
            log.log.place_instance(place, at % 5).unwrap();
        }
        log.finish()
    };
    let found = [1, 2, 5].map(|workers| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| aggregate(&[make()], &Filter::default(), &|_| {}).profile)
    });
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}
