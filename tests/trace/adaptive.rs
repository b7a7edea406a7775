//! `count=adaptive`: what is counted in bursts adds up to what the program did.

use crate::support::{AcquisitionSum, Jdk, Program, err, on_jdks, output, tyrion};
use serde_json::Value;

on_jdks!(totals_are_exact: newest, everywhere three);
on_jdks!(virtual_threads_too: everywhere since(21));

/// Each cell is rounded.
const ROUNDING: u64 = 64;

fn totals_are_exact(jdk: &Jdk) {
    let program = Program::truth(jdk, "counts 4 6000000 block method thrown lock write");
    check(program, |error, acquisitions| 50 * error <= acquisitions);
}

fn virtual_threads_too(jdk: &Jdk) {
    let program = Program::truth(jdk, "counts 4 6000000 block method lock");
    // They share a row, among whose cells the burst divides: that error is not told apart.
    check(program.flag("-Dtruth.virtual=true".to_owned()), |_, _| true);
}

fn check(program: Program, is_small: impl Fn(u64, u64) -> bool) {
    let recording = program.traced().option("--count=adaptive").record();
    let info = recording.info();
    let places = info["trace"]["statistics"]["bursts.places"].as_u64();
    assert!(places.is_some_and(|places| places >= 3), "{info}");
    let traced = recording.traced();
    let mut wrong = Vec::new();
    for kind in recording.said["kinds"].as_array().expect("kinds") {
        let class = kind["class"].as_str().unwrap();
        let (got, expected) = (traced.taken(class), AcquisitionSum::from_json(kind));
        // Nothing is lost; which acquisitions are reentrant is estimated.
        let near = |got: u64, expected: u64, error: u64| got.abs_diff(expected) <= error + ROUNDING;
        let all = |taken: &AcquisitionSum| taken.acquisitions + taken.reentrant;
        let error = 4 * traced.count_error(class);
        if !near(all(&got), all(&expected), 0)
            || !near(got.reentrant, expected.reentrant, error)
            || got.failed != expected.failed
            || !is_small(error, expected.acquisitions)
        {
            wrong.push(format!("{class}: {got:?}, expected {expected:?}, error {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(info["complete"], Value::Bool(true));
}

/// Options that need every acquisition are refused with it.
#[test]
fn options_that_need_every_acquisition_are_refused() {
    for (option, name) in
        [("--events=all", "events=all"), ("--hold=all", "hold=all"), ("--precise", "precise=true")]
    {
        let record = ["record", "--mode=trace", "--count=adaptive", option, "--", "java"];
        let output = output(tyrion().args(record));
        assert_eq!(output.status.code(), Some(2));
        let reason = format!("{name} needs every acquisition; use it with count=full");
        assert!(err(&output).contains(&reason), "{}", err(&output));
    }
}
