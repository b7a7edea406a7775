//! Whole files.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    Hints,
    summed::testing::{lines, total},
};

fn read(text: &str, unit: Option<Unit>) -> Result<Recording, Error> {
    let bytes = Bytes::from(text.as_bytes().to_vec());
    super::read("it", bytes.with_hints(Hints { unit, ..Hints::default() }))
}

#[test]
fn stacks_of_tyrion_tell_kind_lock_and_thread() {
    let text = "[a b];java.lang.Thread.run;com.acme.Foo.bar;[monitor] Foo.lock (com.acme.Foo#7) 12
[a b];java.lang.Thread.run;com.acme.Foo.bar;[monitor] com.acme.Foo 30
[lock-read] 5
";
    let log = read(text, None).unwrap();
    let stack = "java/lang/Thread|run:0 com/acme/Foo|bar:0";
    assert_eq!(
        lines(&log),
        [
            format!("a b monitor com/acme/Foo(Foo.lock) 1 12 {stack}"),
            format!("a b monitor com/acme/Foo() 1 30 {stack}"),
            "unknown thread lock-read () 1 5 ".to_owned(),
        ]
    );
    assert_eq!(log.facts().lacks.names(), ["times", "single-waits", "counts"]);
    assert_eq!(log.facts().metadata("unit"), Some("ns (as Tyrion writes them)"));
    assert_eq!((log.damage(), log.start_ns(), log.end_ns()), (&[][..], 0, 0));
}

#[test]
fn stacks_of_async_profiler_end_with_a_class() {
    let text = "[main tid=77];a/B.c_[j];d/E.f_[i];java.util.HashMap_[i] 3
[main tid=77];a/B.c_[j];d/E.f_[i] 4
a/B.c_[0];java/util/concurrent/locks/LockSupport.park_[0];java.util.concurrent.locks.ReentrantLock$NonfairSync_[i] 5
";
    let log = read(text, None).unwrap();
    assert_eq!(
        lines(&log),
        [
            "main monitor java/util/HashMap() 3 0 a/B|c:0 d/E|f:0",
            "main park () 4 0 a/B|c:0 d/E|f:0",
            "unknown thread lock java/util/concurrent/locks/ReentrantLock$NonfairSync() 5 0 \
             a/B|c:0 java/util/concurrent/locks/LockSupport|park:0",
        ]
    );
    assert_eq!(log.facts().lacks.names(), ["times", "single-waits", "durations"]);
    assert_eq!(log.facts().metadata("stacks without a lock"), Some("1"));
    assert_eq!(total(&read(text, Some(Unit::Us)).unwrap()), (3, 12_000));
}

#[test]
fn the_same_stack_adds_up_and_lines_are_told_apart() {
    let log = read("a;b;c 1\na;b;d 2\na;b;c 3\na;x;c 4\na 5\n", None).unwrap();
    let expected =
        ["c 4 0 |a:0 |b:0 |c:0", "d 2 0 |a:0 |b:0 |d:0", "c 4 0 |a:0 |x:0 |c:0", "a 5 0 |a:0"];
    let found = lines(&log);
    assert_eq!(found.len(), expected.len());
    for (line, expected) in found.iter().zip(expected) {
        assert!(line.ends_with(&expected[1..]), "{line}");
    }
    assert_eq!(log.facts().lacks.names(), ["times", "single-waits", "durations", "threads"]);
}

#[test]
fn what_is_no_stack_is_told_with_its_offset() {
    let text = "a;b 1\nfoo\n# a comment\n\na;c 18446744073709551616\na;d 7 9\na;d 7";
    let log = read(text, None).unwrap();
    assert_eq!(total(&log), (8, 0));
    let damage: Vec<(u64, u64)> = log.damage().iter().map(|it| (it.offset, it.skipped)).collect();
    // Many tools do not end the last line.
    assert_eq!(damage, [(6, 4), (23, 25), (48, 8)]);
    let error = read("foo\nbar\n", None).unwrap_err();
    assert!(error.to_string().contains("no line is a stack with a number"), "{error}");
}

#[test]
fn a_fraction_counts_no_waits() {
    let text = "a;b 3\na;c 250.5\n";
    let error = read(text, None).unwrap_err().to_string();
    assert!(error.starts_with("it: offset 0x6: ") && error.contains("--unit ns"), "{error}");
    assert_eq!(total(&read(text, Some(Unit::Us)).unwrap()), (2, 253_500));
    // Who says so knows.
    let log = read(text, Some(Unit::Samples)).unwrap();
    assert_eq!(total(&log), (3, 0));
    let damage: Vec<(u64, u64)> = log.damage().iter().map(|it| (it.offset, it.skipped)).collect();
    assert_eq!(damage, [(6, 10)]);
    assert_eq!(total(&read("a;b 3.0\n", None).unwrap()), (3, 0));
}

#[test]
fn it_is_known_whether_the_unit_is_a_guess() {
    assert!(read("a;b 3\n", None).unwrap().has_assumed_unit());
    assert!(!read("a;b 3\n", Some(Unit::Samples)).unwrap().has_assumed_unit());
    assert!(!read("a;[monitor] b 3\n", None).unwrap().has_assumed_unit());
}

#[test]
fn a_stack_without_end_is_cut() {
    let text = "a;".repeat(100_000) + "b 1\n";
    let log = read(&text, None).unwrap();
    let [line] = &lines(&log)[..] else { panic!("one line") };
    assert!(line.contains(" cut |a:0") && line.ends_with("|a:0 |b:0"));
    assert_eq!(line.matches("|a:0").count(), crate::limits::MAX_DEPTH as usize - 3);
}

#[test]
fn other_texts_are_not_taken_for_stacks() {
    for text in [
        "a;b 1\n",
        "[monitor] a 1\n",
        "# comment\n\na;b 1\nfoo\nc;d 2\n",
        "main 3\na;b 2",
        &*("x;".repeat(START_LEN) + " 1\n"),
    ] {
        assert!(is_it(&text.as_bytes()[..text.len().min(START_LEN)]), "{text}");
    }
    for text in [
        "",
        "hello\n",
        "main 3\nother 2\n",
        "Samples:\n1 2: 3\n",
        "# callgrind format\nfn=(1) a;b 1\n",
        "a;b\n",
        "{\"a\": 1}\n",
        "fl=(1)\n16 400\n",
        "\0\0\0\0",
    ] {
        assert!(!is_it(text.as_bytes()), "{text}");
    }
}
