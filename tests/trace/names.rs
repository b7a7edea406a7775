//! What the program calls a lock, where its class says nothing.

use crate::support::{Jdk, Program, on_jdks, stdout_of, tyrion};

on_jdks!(of_taken_locks: extremes, everywhere all);
on_jdks!(of_contended_locks: newest, everywhere all);

fn of_taken_locks(jdk: &Jdk) {
    let recording = Program::truth(jdk, "counts 2 1000").traced().record();
    let traced = recording.traced();
    let mut wrong = Vec::new();
    for (method, name) in [
        ("CountedBlock.round", "CountedBlock.lock"),
        ("CountedBlock.again", "CountedBlock.lock"),
        ("CountedLock.take", "CountedLock.lock"),
        ("CountedLock.takeAgain", "CountedLock.lock"),
        ("CountedChain.round", "CountedChain."),
        ("CountedRead.take", "CountedRead.lock"),
        ("CountedRead.keep", "CountedRead.both"),
        ("CountedWrite.keep", "CountedWrite.both"),
        ("CountedStampedWrite.take", "CountedStampedWrite.lock"),
        ("CountedSemaphore.take", "CountedSemaphore.permits"),
    ] {
        let at = format!("tyrion.truth.{method}(");
        let cells = traced.records("acquisitions");
        let locks: Vec<&str> = cells
            .filter(|cell| cell["at"].as_str().unwrap().starts_with(&at))
            .map(|cell| cell["lock_name"].as_str().unwrap())
            .collect();
        if locks.is_empty() || !locks.iter().all(|lock| lock.starts_with(name)) {
            wrong.push(format!("{method}: {locks:?}, expected {name}"));
        }
    }
    // Where the name says no more, the class does.
    for (method, class) in [
        ("CountedMethod.enter", "tyrion.truth.CountedMethod"),
        ("CountedStatic.value", "tyrion.truth.CountedStatic.class"),
    ] {
        let at = format!("tyrion.truth.{method}(");
        let cells: Vec<_> = traced
            .records("acquisitions")
            .filter(|cell| cell["at"].as_str().unwrap().starts_with(&at))
            .map(|cell| (cell["lock_name"].as_str().unwrap(), cell["lock_class"].as_str().unwrap()))
            .collect();
        if cells.is_empty() || !cells.iter().all(|cell| *cell == ("", class)) {
            wrong.push(format!("{method}: {cells:?}, expected {class} without a name"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In both modes, and in the outputs.
fn of_contended_locks(jdk: &Jdk) {
    let mut wrong = Vec::new();
    for mode in ["contention", "trace"] {
        for (scenario, name) in [
            ("holder-monitor", "HolderMonitor.vault"),
            ("holder-lock", "HolderLock.vaultLock"),
            ("holder-semaphore", "HolderSemaphore.permits"),
        ] {
            let program = Program::truth(jdk, scenario).option(&format!("--mode={mode}"));
            let recording = program.record();
            let convert = ["convert", "--to", "collapsed", "-o", "-"];
            let collapsed = stdout_of(tyrion().args(convert).arg(&recording.log));
            if !collapsed.contains(name) {
                wrong.push(format!("{mode}, {scenario}: no {name} in {collapsed}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
