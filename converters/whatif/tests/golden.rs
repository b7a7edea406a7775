//! Predictions against the files in `testdata/whatif`; `BLESS=1` writes them.

use crate::{
    golden_files::{GoldenFiles, check},
    program::{Program, group_of, question},
};
use std::path::PathBuf;
use tyrion_whatif::{Change, Evidence, Question};
use tyrion_wire::sample::ThreadState;

/// What is predicted of a program on so many workers.
fn predictions(program: &Program, workers: usize) -> String {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
    pool.install(|| {
        let logs = [program.log()];
        let evidence = Evidence::read(&logs, &group_of).unwrap();
        let all = Change::USUAL.map(|change| {
            evidence.predict(&Question { change, ..question() }).map_err(|why| why.to_string())
        });
        let all = all.iter().map(|one| match one {
            Ok(prediction) => serde_json::to_value(prediction).unwrap(),
            Err(why) => serde_json::json!({ "refused": why }),
        });
        let all: Vec<serde_json::Value> = all.collect();
        serde_json::to_string_pretty(&all).unwrap() + "\n"
    })
}

fn programs() -> Vec<(&'static str, Program)> {
    let seen = Some((ThreadState::Running, ThreadState::Sleeping));
    let resting = Program { method: "get", ..Program::default() };
    vec![
        ("sampled.json", Program { seen, rounds: 30, ..Program::default() }),
        ("folded.json", Program { events: false, ..resting.clone() }),
        ("contention.json", Program { traced: false, processors: None, ..resting.clone() }),
        ("resting.json", resting),
    ]
}

#[test]
fn predictions_are_as_in_the_golden_files() {
    let files: GoldenFiles = programs()
        .into_iter()
        .map(|(name, program)| (name.to_owned(), predictions(&program, 2)))
        .collect();
    check(&PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/whatif")), &files);
}

#[test]
fn the_number_of_workers_makes_no_difference() {
    for (name, program) in programs() {
        let one = predictions(&program, 1);
        assert!(
            [2, 3, 7].into_iter().all(|workers| predictions(&program, workers) == one),
            "{name}"
        );
    }
}
