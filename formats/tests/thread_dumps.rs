//! Thread dumps of all families, whole and spoilt.

use crate::common::of_other_tools;
use std::fmt::Write;
use tyrion_formats::{Error, HolderSource, Recording, fuzz, limits};

const SERIES: &str = "dumps/log-with-dumps.txt";

fn read(bytes: &[u8]) -> Result<Recording, Error> {
    Recording::from_bytes("it.txt", bytes.to_vec())
}

/// What dumps say, whatever their offsets.
fn said(log: &Recording) -> String {
    let mut text = String::new();
    for dump in log.dumps() {
        writeln!(text, "{} {:?}", dump.at_ns, dump.told_deadlocked).unwrap();
        for it in &dump.threads {
            let name = log.definitions().threads().get(it.thread).map(|it| it.name);
            let name = log.text(name.unwrap_or(0));
            let (lock, owners, held) = (it.lock, &it.owners, &it.held);
            let (state, kind, source) = (it.state, it.kind, it.owner_source);
            writeln!(text, "{name}: {state:?} {kind:?} {lock} {owners:?} {held:?} {source:?}")
                .unwrap();
        }
    }
    text
}

/// All files with answers.
fn files() -> Vec<String> {
    let answers = String::from_utf8(of_other_tools("dumps/answers.txt")).unwrap();
    let lines = answers.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("dumps/{}", line.split(' ').next().unwrap())).collect()
}

#[test]
fn files_of_all_families_are_recognised_and_whole() {
    for name in files() {
        let log = read(&of_other_tools(&name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((log.facts().format, log.damage()), ("thread-dump", &[][..]), "{name}");
        assert!(log.dumps().iter().all(|dump| dump.threads.len() > 1), "{name}");
        let samples: usize = log.dumps().iter().map(|dump| dump.threads.len()).sum();
        let chunks = log.event_chunks().iter();
        let records = chunks.map(|chunk| log.events(chunk).unwrap().records().count());
        assert_eq!(records.sum::<usize>(), samples, "{name}");
    }
}

#[test]
fn a_series_between_lines_of_a_log_is_read_with_its_times() {
    let log = read(&of_other_tools(SERIES)).unwrap();
    let [first, second] = log.dumps() else { panic!("{:?}", log.dumps()) };
    assert_eq!(second.at_ns - first.at_ns, 10_000_000_000);
    assert!(!log.facts().lacks.times);
    let [holder, teller] = &second.threads[..] else { panic!("{second:?}") };
    assert_eq!(teller.owners, [holder.thread]);
    assert_eq!(teller.owner_source, HolderSource::Locked);
    assert_eq!((holder.cpu_ns, holder.elapsed_ns), (Some(2_500_000), Some(20_000_000_000)));
    assert_eq!(log.pending().len(), 1);
    // The lock has moved.
    assert_ne!(first.threads[1].lock, teller.lock);
}

#[test]
fn what_happens_to_texts_on_their_way_changes_nothing() {
    for name in files().into_iter().filter(|name| name.ends_with(".txt")) {
        let plain = String::from_utf8(of_other_tools(&name)).unwrap().replace('\r', "");
        let expected = said(&read(plain.as_bytes()).unwrap());
        let wide = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
            [0xfeff].into_iter().chain(plain.encode_utf16()).flat_map(unit).collect()
        };
        let marked = [&b"\xef\xbb\xbf"[..], plain.as_bytes()].concat();
        let crlf = plain.replace('\n', "\r\n").into_bytes();
        for bytes in [wide(u16::to_le_bytes), wide(u16::to_be_bytes), marked, crlf] {
            assert_eq!(said(&read(&bytes).unwrap()), expected, "{name}");
        }
        // Tabs are lost where a text is copied from a terminal.
        let spaces = plain.replace('\t', "        ");
        assert_eq!(said(&read(spaces.as_bytes()).unwrap()), expected, "{name}");
    }
}

#[test]
fn files_that_are_cut_are_read_up_to_there() {
    for name in files() {
        let bytes = of_other_tools(&name);
        let step = (bytes.len() / 150).max(1);
        for cut in (0..bytes.len()).step_by(step) {
            match read(&bytes[..cut]) {
                Ok(log) => _ = said(&log),
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.starts_with("it.txt: offset 0x"), "{name}: {message}");
                    assert_eq!(message.lines().count(), 1, "{message}");
                }
            }
        }
    }
    let bytes = of_other_tools(SERIES);
    let second = bytes.len() * 3 / 4;
    let log = read(&bytes[..second]).unwrap();
    assert_eq!((log.dumps().len(), log.damage().len()), (2, 1));
    let message = log.damage()[0].to_string();
    assert!(message.contains(&format!("{second:#x}")), "{message}");
}

#[test]
fn flipped_bits_are_survived() {
    for name in [SERIES, "dumps/beans-blocked.txt", "dumps/openj9-javacore.txt"] {
        let mut bytes = of_other_tools(name);
        for at in 0..bytes.len() {
            bytes[at] ^= 1 << (at % 8);
            fuzz::thread_dump(&bytes);
            bytes[at] ^= 1 << (at % 8);
        }
    }
}

#[test]
fn json_that_ends_too_early_says_so() {
    let bytes = of_other_tools("dumps/jdk-25-blocked-tofile.json");
    let error = read(&bytes[..bytes.len() / 2]).unwrap_err().to_string();
    assert!(error.contains("ends too early"), "{error}");
    let twice = [&bytes[..], &bytes[..bytes.len() / 2]].concat();
    let log = read(&twice).unwrap();
    assert_eq!((log.dumps().len(), log.damage().len()), (1, 1));
}

#[test]
fn traps_are_not_fallen_into() {
    let dump = |threads: &str| {
        format!("2024-03-05 10:11:12\nFull thread dump X (17 mixed mode):\n\n{threads}\n")
    };
    let running = "\"r\" #1 prio=5 tid=0x1 nid=0x1 waiting on condition [0x0]\n   \
                   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(B.java:1)\n\t\
                   - parking to wait for  <0x0a> (a java.util.concurrent.ForkJoinPool)\n\n";
    // It says "locked" of what it waits for.
    let waits = "\"w\" #2 prio=5 tid=0x2 nid=0x2 waiting for monitor entry [0x0]\n   \
                 java.lang.Thread.State: BLOCKED (on object monitor)\n\tat a.B.d(B.java:2)\n\t\
                 - locked <0x0b> (a a.B)\n\n";
    let idle = "\"i\" #3 prio=5 tid=0x3 nid=0x3 in Object.wait() [0x0]\n   \
                java.lang.Thread.State: WAITING (on object monitor)\n\t\
                at java.lang.Object.wait(Native Method)\n\t- waiting on <0x0b> (a a.B)\n\t\
                at a.B.e(B.java:3)\n\t- waiting to re-lock in wait() <0x0b> (a a.B)\n\n";
    let log = read(dump(&[running, waits, idle].concat()).as_bytes()).unwrap();
    let [running, waits, idle] = &log.dumps()[0].threads[..] else { panic!("{}", said(&log)) };
    assert_eq!((running.kind, running.lock), (None, 0));
    assert_eq!((waits.held.len(), waits.owners.len()), (0, 0));
    assert!(waits.kind.unwrap().is_contention() && waits.lock == idle.lock);
    assert!(idle.held.is_empty() && !idle.reenters);
}

/// A line of a service's log that begins with a quotation mark takes nothing with it.
#[test]
fn a_quotation_before_a_dump_is_no_name() {
    let dump = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n\
                \"a\" #1 prio=5 tid=0x01 nid=0x1 runnable\n   java.lang.Thread.State: RUNNABLE\n\
                \tat com.acme.A.a(A.java:1)\n\n";
    let log = format!("{dump}JNI global refs: 1\n\n\"level\": \"info\", ends\n{dump}");
    let dumps = read(log.as_bytes()).unwrap();
    assert_eq!(dumps.dumps().iter().map(|dump| dump.threads.len()).collect::<Vec<_>>(), [1, 1]);
}

/// The CPU time of reading, ns.
fn cost_ns(text: &str) -> u64 {
    let now_ns = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid place for the answer; every Linux has the clock.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let begin_ns = now_ns();
    assert!(read(text.as_bytes()).is_ok());
    now_ns() - begin_ns
}

/// Four times as much takes some four times as long, not sixteen.
#[test]
fn long_dumps_take_as_long_as_they_are() {
    const HEAD: &str = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n";
    let parked = |nth: usize, line: usize| {
        format!(
            "\"t{nth}\" #{nth} prio=5 tid=0x{nth:x} nid=0x{nth:x} waiting on condition\n   \
             java.lang.Thread.State: WAITING (parking)\n\
             \tat jdk.internal.misc.Unsafe.park(Native Method)\n\
             \t- parking to wait for  <0x{nth:016x}> (a \
             java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync)\n\
             \tat java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock(R.java:1)\n\
             \tat com.acme.A.a(A.java:{line})\n\n"
        )
    };
    let of = |count: usize, each: &dyn Fn(usize) -> String| {
        HEAD.to_owned() + &(1..=count).map(each).collect::<String>()
    };
    let in_one_method = |count| of(count, &|nth| parked(nth, nth));
    let held = |count: usize| {
        let locked: String =
            (1..=count).map(|nth| format!("\t- locked <0x{nth:x}> (a com.acme.B)\n")).collect();
        format!("{}{locked}", of(1, &|nth| parked(nth, nth)))
    };
    let told = |count: usize| {
        let told = |nth| {
            format!(
                "\"t{nth}\":\n  waiting for ownable synchronizer 0x{nth:x}, (a com.acme.B),\n  \
                 which is held by \"t1\"\n"
            )
        };
        let section: String = (1..=count).map(told).collect();
        format!("{}Found one Java-level deadlock:\n=====\n{section}", in_one_method(count))
    };
    let texts: [(&str, &dyn Fn(usize) -> String); 3] =
        [("threads in a method", &in_one_method), ("locks", &held), ("told", &told)];
    for (what, text) in texts {
        let (short, long) = (text(4_000), text(16_000));
        let least = |text: &str| (0..3).map(|_| cost_ns(text)).min().unwrap();
        let (short_ns, long_ns) = (least(&short), least(&long));
        assert!(long_ns < 9 * short_ns, "{what}: {short_ns} and {long_ns} ns");
    }
    // However many may have it: only so many are told.
    let log = read(in_one_method(300).as_bytes()).unwrap();
    let most = log.dumps()[0].threads.iter().map(|thread| thread.owners.len()).max();
    assert_eq!(most, Some(limits::thread_dump::MAX_INFERRED));
}

#[test]
fn a_thread_that_was_there_begins_the_next_dump_of_beans() {
    let one = String::from_utf8(of_other_tools("dumps/beans-8.txt")).unwrap();
    let log = read(one.repeat(3).as_bytes()).unwrap();
    let counts: Vec<usize> = log.dumps().iter().map(|dump| dump.threads.len()).collect();
    assert_eq!(counts, [14, 14, 14]);
    // Who prints all threads may print those again that are deadlocked.
    let some: String = one.split_inclusive("\n\n").skip(4).take(2).collect();
    let log = read(format!("{one}deadlocked:\n{some}").as_bytes()).unwrap();
    assert_eq!(log.dumps().len(), 1);
}

#[test]
fn parks_of_which_beans_say_that_they_wait_are_parks() {
    for file in ["dumps/beans-8.txt", "dumps/beans-21.txt"] {
        let log = read(&of_other_tools(file)).unwrap();
        let of = |name: &str| {
            let is_it = |id| log.definitions().threads().get(id).map(|it| log.text(it.name));
            let mut threads = log.dumps()[0].threads.iter();
            threads.find(|it| is_it(it.thread).as_deref() == Some(name)).unwrap()
        };
        assert!(of("opener").kind.unwrap().is_contention(), "{file}");
        assert_eq!(of("opener").owners, [of("keeper").thread], "{file}");
        assert!(of("writer").kind.unwrap().is_contention(), "{file}");
        assert!(!of("worker").kind.unwrap().is_contention(), "{file}");
        assert!(!of("sleeper").kind.unwrap().is_contention(), "{file}");
    }
}

#[test]
fn what_openj9_says_of_its_jvm_is_read() {
    let one = String::from_utf8(of_other_tools("dumps/openj9-jstack.txt")).unwrap();
    let log = read(one.repeat(2).as_bytes()).unwrap();
    let counts: Vec<usize> = log.dumps().iter().map(|dump| dump.threads.len()).collect();
    assert_eq!(counts, [5, 5], "without what has no Java frames");
    assert!(log.dumps()[0].wall_ns.is_some());
    assert_eq!(log.known_pid(), Some(4711));
    let old = one.replace("information:\n", "information ");
    let old = old.replace("\tLocked ownable synchronizers: 0\n", "\tCPU time: 120604000 ns\n");
    let log = read(old.as_bytes()).unwrap();
    assert_eq!(log.dumps()[0].threads[0].cpu_ns, Some(120_604_000));
    assert_eq!(log.dumps()[0].threads.len(), 5);
    let core = read(&of_other_tools("dumps/openj9-8-deadlock-1.txt")).unwrap();
    assert_eq!(core.dumps()[0].told_deadlocked.len(), 2, "its section on deadlocks");
}
