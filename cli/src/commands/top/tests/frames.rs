//! Frames, against what the program of the log did.

use super::*;
use crate::commands::top::{
    columns::{LOCKS, fit},
    frame::{LockKey, RowAcquisitions, ThreadName, TopLock},
    model::HoldSum,
};
use tyrion_model::harmless;

#[test]
fn locks_are_grouped_by_name() {
    let made = made(false);
    let frame = made.frame(&contention());
    assert_eq!(frame.window_ns, 5 * S);
    let names: Vec<String> = frame.locks.iter().map(|row| row.lock.shown()).collect();
    let turn = "Queue.turn (java.util.concurrent.locks.ReentrantLock#3)";
    assert_eq!(names, ["Cache.map (java.lang.Object)", turn]);
    let map = &frame.locks[0];
    assert_eq!((map.instances, map.waiters, map.waits.waits), (2, 2, 4));
    // 1 s of 2 s, 10 ms, 20 ms and 1 s; and 2 s that have not ended.
    assert!(near(map.waits.waiting, (1.0 + 0.03 + 1.0 + 2.0) / 5.0), "{map:?}");
    assert_eq!((map.waits.max_ns, map.waits.pending, map.waits.pending_ns), (2 * S, 1, 2 * S));
    assert_eq!(map.waits.mean_ns, (3 * S + 30 * MS) / 4);
    assert!(near(map.waits.waits_per_s, 0.8));
    // Who had it when the pending wait began; and the longer of two owners.
    assert_eq!(map.holder.as_deref(), Some("main"));
    assert_eq!(frame.locks[1].holder.as_deref(), Some("worker-1"));
    assert_eq!((frame.total.waits, frame.total.pending), (6, 1));
}

#[test]
fn threads_tell_what_they_wait_for() {
    let frame = made(false).frame(&contention());
    let rows: Vec<(&str, u64, u64)> = frame
        .threads
        .iter()
        .map(|row| (row.thread.name.as_str(), row.waits.waits, row.waits.pending_ns))
        .collect();
    assert_eq!(rows, [("worker-2", 1, 2 * S), ("worker-1", 3, 0), ("main", 2, 0)]);
    let lock = |nth: usize| frame.threads[nth].lock.as_ref().unwrap().name.clone();
    assert_eq!([lock(0), lock(1), lock(2)], ["Cache.map", "Cache.map", "Queue.turn"]);
    assert!(frame.threads.iter().all(|row| row.waits.waiting <= 1.0));
}

#[test]
fn instances_and_kinds_are_told_apart_when_asked_for() {
    let frame = made(false).frame(&all());
    let rows: Vec<(u32, &str)> =
        frame.locks.iter().map(|row| (row.lock.id, row.kind.name())).collect();
    assert_eq!(rows, [(1, "monitor"), (2, "monitor"), (3, "park"), (3, "lock")]);
}

#[test]
fn trace_mode_tells_acquisitions_and_holders() {
    let made = made(true);
    let frame = made.frame(&contention());
    let map = &frame.locks[0];
    let RowAcquisitions { acquisitions_per_s, held, .. } = map.taken.unwrap();
    // 4000 of 100 µs, in the second that they were counted in.
    assert!(near(acquisitions_per_s.unwrap(), 4000.0) && near(held.unwrap(), 0.4), "{map:?}");
    assert_eq!(map.holder.as_deref(), Some("main"), "for 2 s, as against 20 ms");
    // Nobody was charged for this one, and nobody has counted it.
    let turn = &frame.locks[1];
    assert_eq!(turn.holder.as_deref(), Some("worker-1"));
    assert_eq!(turn.taken, Some(RowAcquisitions::default()));
    let json = serde_json::to_value(turn).unwrap();
    assert!(json["acquisitions_per_s"].is_null() && json["held"].is_null(), "{json}");
    assert!(json.as_object().unwrap().contains_key("held"));
    let detail = made.detail(&contention(), &map.subject(&contention()));
    let holders: Vec<(&str, u64)> =
        detail.holders.iter().map(|row| (row.thread.as_str(), row.count)).collect();
    assert_eq!(holders, [("worker-2", 2)]);
    let stacks: Vec<&str> = detail.holding.iter().map(|row| row.frames[0].as_str()).collect();
    let place = "com.acme.cache.Cache.get(Cache.java:21)";
    assert_eq!(stacks, ["com.acme.cache.Cache.put(Cache.java:34)", place]);
}

#[test]
fn a_lock_and_a_thread_have_stacks() {
    let made = made(false);
    let key = LockKey { name: "Cache.map".to_owned(), class: "java.lang.Object".to_owned(), id: 0 };
    let subject = DetailSubject::Lock(key.clone(), WaitKind::Monitor);
    let detail = made.detail(&contention(), &subject);
    let stacks: Vec<(&str, u64)> =
        detail.waiting.iter().map(|row| (row.frames[0].as_str(), row.count)).collect();
    let get = ("com.acme.cache.Cache.get(Cache.java:21)", 3);
    assert_eq!(stacks, [get, ("com.acme.cache.Cache.put(Cache.java:34)", 1)]);
    assert_eq!(detail.pending.len(), 1);
    assert_eq!(detail.pending[0].owner.as_deref(), Some("main"));
    // Another instance; another kind.
    let one = DetailSubject::Lock(LockKey { id: 2, ..key.clone() }, WaitKind::Monitor);
    assert_eq!(made.detail(&all(), &one).waiting.len(), 1);
    assert_eq!(made.detail(&all(), &DetailSubject::Lock(key, WaitKind::Park)), Detail::default());
    let thread = ThreadName { name: "main".to_owned(), java_id: 1 };
    let detail = made.detail(&all(), &DetailSubject::Thread(thread));
    let locks: Vec<&str> = detail.waiting.iter().map(|row| row.lock.as_str()).collect();
    let turn = "Queue.turn (java.util.concurrent.locks.ReentrantLock#3)";
    assert_eq!(locks, [format!("park {turn}"), format!("lock {turn}")]);
    assert_eq!((detail.waiting[0].count, detail.waiting[1].count), (1, 2), "park and lock");
}

/// Locks of a class that were taken: in how many acquisitions, for how long
/// each, at a place with this name. And accounts, waited for as `from` and
/// taken as `this`.
fn bank() -> TestLog {
    let trace = options(RecordingState::Closed, &[("mode", "trace")]);
    let mut log = LogWriter::new(Cursor::new(Vec::new()), trace).unwrap();
    let (account, vector) =
        (log.class("com.acme.Account", "").unwrap(), log.class("java.util.Vector", "").unwrap());
    let method = log.method(account, "add", "()V", 1).unwrap();
    let stack = log.stack(0, method, 2).unwrap();
    let thread = log.thread(1, "teller", "main", 0).unwrap();
    let lane = log.lane(thread);
    for (class, name) in [(account, "from"), (vector, "Bank.list")] {
        let lock = log.lock(class).unwrap();
        log.lock_name(lock, name).unwrap();
        let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
        waits(&mut log, lane, site, &[(S, MS, 0)]);
    }
    let taken = [
        (account, "this", 3, MS),
        (vector, "this", 1, MS),
        (vector, "a.short", 100, 10),
        (vector, "b.long", 2, MS),
        (vector, "c.same", 20, MS / 10),
    ];
    for (line, (class, name, acquisitions, hold_ns)) in (1..).zip(taken) {
        let place = log.place(method, line, WaitKind::Monitor, 0, name).unwrap();
        let cell = AcquisitionCell {
            thread,
            place,
            class,
            acquisitions,
            first_count: acquisitions,
            first_ns: acquisitions * hold_ns,
            ..AcquisitionCell::default()
        };
        log.acquisitions(lane, &cell).unwrap();
    }
    read(&log.finish().unwrap().into_inner())
}

/// All of a log.
fn read(bytes: &[u8]) -> TestLog {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
    let mut window = Window::whole(0, 10 * S);
    let changes = follower.read_on(10 * S, |entry| window.add(0, &entry)).unwrap();
    window.add_changes(0, &changes);
    TestLog { sums: window.sums(), follower, _file: file }
}

#[test]
fn locks_are_one_row_as_they_are_in_the_report() {
    let rows = |options: &ViewOptions| -> Vec<(String, u64, Option<f64>)> {
        let frame = bank().frame(options);
        let rows = frame.locks.iter().filter(|row| row.lock.class == "com.acme.Account");
        let per_s = |row: &TopLock| row.taken.unwrap().acquisitions_per_s;
        rows.map(|row| (row.lock.shown(), row.waits.waits, per_s(row))).collect()
    };
    let account = "com.acme.Account#1".to_owned();
    assert_eq!(rows(&contention()), [(account, 1, Some(0.3))]);
    // The name of a lock that is shown alone is its own.
    let (from, taken) = ("from (com.acme.Account#1)".to_owned(), "com.acme.Account".to_owned());
    assert_eq!(rows(&all()), [(from, 1, None), (taken, 0, Some(0.3))]);
    let made = bank();
    let row = made.frame(&contention()).locks.into_iter().find(|row| row.lock.id == 1).unwrap();
    let detail = made.detail(&contention(), &row.subject(&contention()));
    assert_eq!(detail.waiting.len(), 1, "{row:?}");
}

#[test]
fn who_waits_for_nothing_is_sorted_by_what_is_held() {
    let frame = bank().frame(&contention());
    let names: Vec<&str> = frame.locks.iter().map(|row| row.lock.name.as_str()).collect();
    // Two that are held for as long: by how often they are taken.
    assert_eq!(names, ["", "Bank.list", "c.same", "b.long", "", "a.short"]);
}

#[test]
fn durations_that_a_damaged_log_makes_up_add_up() {
    let mut made = made(true);
    made.sums.waits.values_mut().for_each(|sum| sum.within_ns = u64::MAX);
    made.sums.holders.values_mut().for_each(|sum| *sum = HoldSum { count: 1, wait_ns: u64::MAX });
    let frame = made.frame(&all());
    assert!(frame.locks.iter().all(|row| row.waits.waiting >= 0.0));
    made.detail(&contention(), &frame.locks[0].subject(&contention()));
}

/// Nothing that a log names gives orders to the terminal, and no table is as wide
/// as a name is long.
#[test]
fn screens_have_no_hostile_names() {
    let evil = "\u{202e}\u{1b}[31m\u{85}\n\u{200b}\u{e0041}";
    let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    let class = log.class(&format!("a/Foo{evil}"), "Foo.java").unwrap();
    let method = log.method(class, &format!("bar{evil}"), "()V", 1).unwrap();
    let stack = log.stack(0, method, 9).unwrap();
    let lock = log.lock(class).unwrap();
    log.lock_name(lock, &format!("lock{evil}{}", "x".repeat(4_000))).unwrap();
    let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
    let holder = log.thread(7, &"h".repeat(4_000), "", 0).unwrap();
    let thread = log.thread(8, &format!("thread{evil}"), "", 0).unwrap();
    let lane = log.lane(thread);
    waits(&mut log, lane, site, &[(9 * S, S, holder)]);
    let pending = Pending {
        thread,
        kind: WaitKind::Monitor,
        stack,
        lock,
        owner: holder,
        start_ns: 9 * S,
        seen_ns: 0,
        flags: 0,
    };
    log.pending(&pending).unwrap();
    let made = read(&log.finish().unwrap().into_inner());

    let frame = made.frame(&contention());
    assert_eq!(frame.threads[0].thread.name, format!("thread{evil}"), "as it is, for JSON");
    let text = once::text(&frame, &status(false, Life::Closed), 0);
    assert!(!text.replace('\n', "").contains(harmless::is_harmful), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 400), "{text}");

    let (app, status) = (App::new(contention(), None, false), status(false, Life::Closed));
    let mut user = User { made, app, status, size: (200, 40) };
    for key in [None, Some(KeyCode::Enter), Some(KeyCode::Esc), Some(KeyCode::Char('t'))] {
        key.map(|key| user.press(key));
        let screen = user.screen();
        assert!(!screen.replace('\n', "").contains(harmless::is_harmful), "{screen}");
        assert!(screen.contains("waiting on average"), "{screen}");
    }
}

#[test]
fn estimates_have_their_error_beside_them() {
    let TestLog { sums, follower, _file } = made(true);
    let mut sums = sums;
    sums.taken.values_mut().for_each(|sum| sum.error_squared = 1_600.0);
    let made = TestLog { sums, follower, _file };
    let frame = made.frame(&contention());
    let RowAcquisitions { acquisitions_per_s, acquisitions_per_s_error, .. } =
        frame.locks[0].taken.unwrap();
    // As many standard errors of 40 as there are cells, which is one, in a second.
    assert!(near(acquisitions_per_s.unwrap(), 4000.0));
    assert!(near(acquisitions_per_s_error.unwrap(), 40.0), "{frame:?}");
    let column = LOCKS.iter().find(|column| column.title == "ACQ/S ±").unwrap();
    assert_eq!((column.text)(&frame.locks[0]), "80", "for 95 % of such estimates");
    assert_eq!((column.text)(&frame.locks[1]), "", "it was not counted");
    let titles = |widest: usize| -> Vec<&str> {
        let fitted = fit(&LOCKS, true, 120, |_| widest);
        fitted.iter().map(|&(nth, _)| LOCKS[nth].title).collect()
    };
    assert!(titles(3).contains(&column.title) && !titles(0).contains(&column.title));
}
