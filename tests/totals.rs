//! Real programs: what all outputs say agrees to the nanosecond, and the
//! programs that people look at them with read them.

use crate::support::{
    Jdk, Program, Sum, callgrind_parts, collapsed_sum, err, flamegraph_root, needs, on_jdks,
    output, pprof_sum, stdout_of, subject_jar, tyrion,
};
use std::{path::Path, process::Command};

on_jdks!(hsqldb: one, everywhere two);
on_jdks!(derby: everywhere two);

fn hsqldb(jdk: &Jdk) {
    record_and_compare(jdk, "hsqldb.jar", "jdbc:hsqldb:mem:bank");
}

fn derby(jdk: &Jdk) {
    record_and_compare(jdk, "derby.jar", "jdbc:derby:memory:bank;create=true");
}

fn record_and_compare(jdk: &Jdk, jar: &str, url: &str) {
    let Some(jar) = subject_jar(jar) else { return };
    if !needs(&["go", "callgrind_annotate"]) {
        return;
    }
    let program = Program::class(jdk, &format!("tyrion.subjects.JdbcBank {url} 8 3 1")).jar(&jar);
    let recording = program.record();
    let folder = tempfile::tempdir().unwrap();
    let convert = ["convert", "--to", "all", "-o"];
    stdout_of(tyrion().args(convert).arg(folder.path()).arg(&recording.log));

    let totals = &recording.info()["totals"];
    let number = |key: &str| totals[key].as_u64().unwrap();
    let expected = Sum { wait_ns: number("wait_ns"), count: number("contentions") };
    assert!(expected.count > 0 && expected.wait_ns > 0, "no contention: {}", recording.said);
    assert_eq!(number("dropped"), 0);

    let pprof = folder.path().join("locks.pb.gz");
    assert_eq!(pprof_sum(&pprof), expected, "pprof");
    check_pprof(&pprof);
    let collapsed = std::fs::read_to_string(folder.path().join("waits.collapsed")).unwrap();
    assert_eq!(collapsed_sum(&collapsed), expected.wait_ns, "collapsed");
    assert_eq!(flamegraph_root(&folder.path().join("waits.svg")), expected.wait_ns, "flame graph");
    let mut parts = Sum::default();
    for part in callgrind_parts(&folder.path().join("out.callgrind")) {
        parts += check_part(&part);
    }
    assert_eq!(parts, expected, "callgrind");
}

/// A part's costs, as its lines, its `totals:` and `callgrind_annotate` say.
fn check_part(part: &Path) -> Sum {
    let sum = Sum::of_callgrind(part);
    let text = std::fs::read_to_string(part).unwrap();
    // What is charged to holders may follow.
    let totals = format!("totals: {} {}", sum.wait_ns, sum.count);
    let is_it = |line: &str| line == totals || line.starts_with(&format!("{totals} "));
    assert!(text.lines().any(is_it), "{}: not {totals:?}", part.display());
    let annotated = output(Command::new("callgrind_annotate").arg("--threshold=100").arg(part));
    assert!(annotated.status.success() && annotated.stderr.is_empty(), "{}", err(&annotated));
    let text = String::from_utf8(annotated.stdout).unwrap().replace(',', "");
    let line = text.lines().find(|line| line.ends_with("PROGRAM TOTALS")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
    assert!(numbers.starts_with(&[sum.wait_ns, sum.count]), "{line}");
    sum
}

fn check_pprof(profile: &Path) {
    for (report, expected) in
        [("-top", "Type: delay"), ("-tags", "lock_class: Total"), ("-raw", "Locations")]
    {
        let mut pprof = Command::new("go");
        let output = output(pprof.args(["tool", "pprof", report]).arg(profile));
        assert!(output.status.success(), "{report}: {}", err(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(expected), "{report}: {text}");
    }
}
