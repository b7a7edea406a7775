//! Generated programs whose own account has to equal the log's.
//!
//! `TYRION_IDENTITY_SEED` is the number of the first program, from which all of it follows,
//! `TYRION_IDENTITY_PROGRAMS` how many there are, and `TYRION_IDENTITY_JDK` on which JDK
//! they run.

mod class;
mod program;
mod random;

use super::{Account, CodePlaces, LogExpectation, ProgramLog, RecordingWay, places, setup};
use crate::support::{Jdk, instruments, on_jdks, text};
use program::{Folders, GeneratedProgram};
use std::{fmt::Write, fs, path::Path};

on_jdks!(whole: everywhere all);

/// The JDKs of which the seed chooses one.
const JDKS: [&str; 4] = ["jdk11", "jdk17", "jdk21", "jdk25"];
/// How many programs run in one JVM.
const IN_ONE_JVM: usize = 50;
/// How many are compiled at once.
const COMPILED: usize = 250;
/// How many differences are told of a JVM.
const TOLD: usize = 20;

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(format!("TYRION_IDENTITY_{name}")).ok()?;
    Some(value.parse().unwrap_or_else(|error| panic!("TYRION_IDENTITY_{name}: {error}")))
}

/// As many as `make test` has time for.
#[test]
fn slice() {
    let seed = variable("SEED").unwrap_or(1);
    let count = variable("PROGRAMS").map_or(IN_ONE_JVM, |count| count as usize);
    let jdk = variable("JDK")
        .map_or(JDKS[seed as usize % JDKS.len()].to_owned(), |jdk| format!("jdk{jdk}"));
    if let Some(jdk) = Jdk::find(&jdk) {
        check(&jdk, seed, count);
    }
}

/// All of them: each JDK has a part.
fn whole(jdk: &Jdk) {
    let count = variable("PROGRAMS").unwrap_or(2000) as usize / JDKS.len();
    let seed = variable("SEED").unwrap_or(1_000) + u64::from(jdk.major) * 10_000;
    check(jdk, seed, count);
}

/// Runs the programs of so many seeds, and compares.
fn check(jdk: &Jdk, seed: u64, count: usize) {
    let mut wrong = String::new();
    for start in (0..count).step_by(COMPILED) {
        let seeds: Vec<u64> =
            (start..count.min(start + COMPILED)).map(|nth| seed + nth as u64).collect();
        wrong += &check_compiled(jdk, &seeds);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn check_compiled(jdk: &Jdk, seeds: &[u64]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (first, later) = (folder.path().join("first"), folder.path().join("later"));
    let folders = Folders { first: &first, later: &later };
    let mut numbers = 0;
    let programs: Vec<GeneratedProgram> =
        seeds.iter().map(|&seed| program::program(seed, &folders, &mut numbers)).collect();
    compile(folder.path(), &programs, &folders);
    let agent = instruments(folder.path());
    let mut known = CodePlaces::new();
    for seed in seeds {
        for folder in [&first, &later] {
            let prefix = format!("generated/p{seed}/C");
            if folder.join(&prefix).parent().unwrap().is_dir() {
                known.extend(places::places(folder, &prefix));
            }
        }
    }
    let mut wrong = String::new();
    for (seeds, programs) in seeds.chunks(IN_ONE_JVM).zip(programs.chunks(IN_ONE_JVM)) {
        let script = folder.path().join(format!("script{}", seeds[0]));
        let lines: Vec<&str> =
            programs.iter().flat_map(|program| &program.script).map(String::as_str).collect();
        fs::write(&script, lines.join("\n")).unwrap();
        for mode in ["contention", "trace"] {
            let way = RecordingWay { mode, attached: false };
            let differences = check_jvm(jdk, way, &script, &agent, &known);
            if !differences.is_empty() {
                tell(&mut wrong, jdk, way, seeds, &differences);
            }
        }
    }
    wrong
}

/// What differs, and how to see it again.
fn tell(wrong: &mut String, jdk: &Jdk, way: RecordingWay, seeds: &[u64], differences: &[String]) {
    let (seed, count, major, many) = (seeds[0], seeds.len(), jdk.major, differences.len());
    writeln!(wrong, "{way:?} on JDK {major}, seeds from {seed}: {many} differences").unwrap();
    for difference in &differences[..many.min(TOLD)] {
        writeln!(wrong, "  {difference}").unwrap();
    }
    writeln!(
        wrong,
        "  TYRION_IDENTITY_SEED={seed} TYRION_IDENTITY_PROGRAMS={count} TYRION_IDENTITY_JDK={major} \
         cargo test --release --workspace --test e2e identity::generated::slice\n  \
         (a class generated.pN is in the program of seed N alone, with TYRION_IDENTITY_PROGRAMS=1)"
    )
    .unwrap();
}

/// With variables and lines, and without; the first ones of a name, and the later ones.
fn compile(folder: &Path, programs: &[GeneratedProgram], folders: &Folders) {
    let jobs = [(false, false), (false, true), (true, false), (true, true)];
    std::thread::scope(|scope| {
        for (is_later, is_stripped) in jobs {
            scope.spawn(move || {
                let root = folder.join(format!("source-{is_later}-{is_stripped}"));
                let mut sources = Vec::new();
                for source in programs.iter().flat_map(|program| &program.sources) {
                    if (source.is_later, source.is_stripped) == (is_later, is_stripped) {
                        let path = root.join(&source.path);
                        fs::create_dir_all(path.parent().unwrap()).unwrap();
                        fs::write(&path, &source.text).unwrap();
                        sources.push(path);
                    }
                }
                let debug = if is_stripped { "-g:none" } else { "-g" };
                let into = if is_later { folders.later } else { folders.first };
                fs::create_dir_all(into).unwrap();
                if !sources.is_empty() {
                    setup::javac(&[debug], &[], &sources, into);
                }
            });
        }
    });
}

/// What differs between what the programs know and what the log has.
fn check_jvm(
    jdk: &Jdk,
    way: RecordingWay,
    script: &Path,
    agent: &Path,
    known: &CodePlaces,
) -> Vec<String> {
    let main = format!("Generated {}", text(script));
    let program = way.program(jdk, &main, script.parent().unwrap());
    let recording = program.flag(format!("-javaagent:{}", text(agent))).record();
    let (logged, account) = (ProgramLog::open(&recording.log), Account::of(&recording.said));
    let checked = LogExpectation {
        logged: &logged,
        account: &account,
        places: known,
        prefix: "generated/",
        moved: &[],
    };
    let mut wrong = checked.all(way.is_trace());
    wrong.extend(checked.ids(way.is_trace()));
    wrong
}
