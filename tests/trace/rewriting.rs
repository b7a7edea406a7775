//! Programs with probes in them do what they did without.

use crate::support::{
    AcquisitionSum, Jdk, Program, Recording, agent, beside_others, classes, err, info, on_jdks,
    out, output, root, skip, subject_jar, text,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

on_jdks!(self_check: newest, everywhere all);
on_jdks!(self_check_interpreted: everywhere two);
on_jdks!(self_check_compiled: everywhere two);
on_jdks!(self_check_with_all_recorded: everywhere two);
on_jdks!(self_check_by_the_first_compiler: everywhere three);
on_jdks!(javac_writes_the_same_bytes: everywhere three);
on_jdks!(nothing_new_is_skipped_by_the_compilers: everywhere two);
on_jdks!(databases_verified: everywhere two);

const VERIFY: &str = "-Xverify:all";

fn checked(jdk: &Jdk) -> Program {
    Program::class(jdk, "tyrion.selfcheck.SelfCheck").traced().flag(VERIFY.to_owned())
}

/// Exits with 0 only if all is right, which `record` asserts.
fn self_check(jdk: &Jdk) {
    let recording = checked(jdk).record();
    check_locks_after_an_overflow(&recording);
    let info = recording.info();
    assert_eq!(info["complete"], true);
    assert!(recording.traced().statistic("instrumented.methods") > Some(100), "not instrumented");
}

fn self_check_interpreted(jdk: &Jdk) {
    check_locks_after_an_overflow(&checked(jdk).flag("-Xint".to_owned()).record());
}

fn self_check_by_the_first_compiler(jdk: &Jdk) {
    let program = checked(jdk).flag("-XX:TieredStopAtLevel=1".to_owned());
    check_locks_after_an_overflow(&program.record());
}

fn self_check_compiled(jdk: &Jdk) {
    checked(jdk).flag("-Xcomp".to_owned()).record();
    checked(jdk).flag("-XX:-TieredCompilation".to_owned()).record();
}

fn self_check_with_all_recorded(jdk: &Jdk) {
    checked(jdk).option("--hold=all").option("--events=all").option("--threshold=0").record();
    checked(jdk).option("--hold=none").option("--identity=false").record();
}

/// What a thread takes after its stack overflowed in the middle of hundreds of
/// locks, it takes and gives back as always.
fn check_locks_after_an_overflow(recording: &Recording) {
    let traced = recording.traced();
    for (class, methods) in [
        ("Methods", &[("takeAll", 1_000), ("takeClass", 1_000)][..]),
        ("Blocks", &[("takeAll", 2_000)]),
        ("Mixed", &[("takeAll", 3_000)]),
        ("Leaves", &[("takeAll", 1_000), ("takeClass", 1_000)]),
    ] {
        for (method, acquisitions) in methods {
            let at = format!("tyrion.selfcheck.Overflow${class}.{method}(");
            let mut got = AcquisitionSum::default();
            for cell in traced.records("acquisitions") {
                if cell["at"].as_str().unwrap().starts_with(&at) {
                    got += AcquisitionSum::from_json(cell);
                }
            }
            let expected =
                AcquisitionSum { acquisitions: *acquisitions, ..AcquisitionSum::default() };
            assert_eq!(got, expected, "{class}.{method}");
        }
    }
}

/// `java` or another program of a JDK, with the agent or without.
fn command(program: &Path, prefix: &str, traced: Option<&Path>) -> Command {
    let mut command = Command::new(program);
    if let Some(log) = traced {
        let options = format!("file={},mode=trace", text(log));
        command.arg(format!("{prefix}-agentpath:{}={options}", text(&agent())));
    }
    command
}

/// More than 200 files to compile: three copies of our own and the library they
/// use, in packages of their own.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("testdata/java"), root().join("agent/java/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "java") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut sources = Vec::new();
    for copy in ["a", "b", "c"] {
        for (nth, file) in files.iter().enumerate() {
            let mut source = std::fs::read_to_string(file).unwrap();
            for package in ["tyrion.", "com.acme."] {
                for keyword in ["package ", "import ", "import static "] {
                    source = source.replace(
                        &format!("\n{keyword}{package}"),
                        &format!("\n{keyword}{copy}.{package}"),
                    );
                }
                if let Some(rest) = source.strip_prefix(&format!("package {package}")) {
                    source = format!("package {copy}.{package}{rest}");
                }
            }
            let own = folder.join(format!("{copy}{nth}"));
            std::fs::create_dir_all(&own).unwrap();
            let path = own.join(file.file_name().unwrap());
            std::fs::write(&path, source).unwrap();
            sources.push(path);
        }
    }
    sources
}

/// The files below a folder, by their paths in it.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Compiles all sources: the classes, and what javac and its JVM printed.
fn javac(
    jdk: &Jdk,
    sources: &[PathBuf],
    traced: Option<&Path>,
    flags: &[&str],
) -> (BTreeMap<PathBuf, Vec<u8>>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut javac = command(&jdk.bin().join("javac"), "-J", traced);
    javac.args(flags.iter().map(|flag| format!("-J{flag}")));
    javac.args(["--release", "11", "-g", "-encoding", "UTF-8", "-nowarn", "-d"]).arg(folder.path());
    javac.args(sources);
    let _turn = beside_others();
    let output = output(&mut javac);
    assert!(output.status.success(), "{}\n{}", out(&output), err(&output));
    (tree(folder.path()), out(&output))
}

fn has_javac(jdk: &Jdk) -> bool {
    let there = jdk.bin().join("javac").is_file();
    if !there {
        skip(&format!("javac of JDK {}", jdk.major));
    }
    there
}

fn javac_writes_the_same_bytes(jdk: &Jdk) {
    if !has_javac(jdk) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(folder.path());
    assert!(sources.len() >= 200, "{} sources", sources.len());
    let (expected, _) = javac(jdk, &sources, None, &[]);
    assert!(expected.len() > sources.len());
    let log = folder.path().join("test.log");
    let (got, _) = javac(jdk, &sources, Some(&log), &[VERIFY]);
    let different: Vec<&PathBuf> =
        expected.keys().filter(|path| got.get(*path) != expected.get(*path)).collect();
    assert!(different.is_empty() && got.len() == expected.len(), "{different:?}");
    assert_eq!(info(&log)["complete"], true);
}

/// Reasons for which a compiler tries again later.
const PASSING: [&str; 2] = ["retry at different tier", "concurrent class loading"];

/// Methods that a compiler gave up for good, each with the reason.
fn skipped(printed: &str) -> BTreeSet<String> {
    let lines = printed.lines().filter(|line| line.contains("COMPILE SKIPPED"));
    lines
        .map(|line| {
            let method = line.split_whitespace().find(|word| word.contains("::")).unwrap_or(line);
            let reason = line.split("COMPILE SKIPPED: ").nth(1).unwrap_or_default();
            format!("{method} {reason}")
        })
        .filter(|line| !PASSING.iter().any(|reason| line.contains(reason)))
        .collect()
}

fn nothing_new_is_skipped_by_the_compilers(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let print = "-XX:+PrintCompilation";
    if has_javac(jdk) {
        let sources = sources(folder.path());
        let (_, without) = javac(jdk, &sources, None, &[print]);
        let (_, with) = javac(jdk, &sources, Some(&log), &[print]);
        check_skipped(&without, &with, "javac");
    }
    let run = |arguments: &[&str], traced: Option<&Path>| {
        let mut java = command(&jdk.java(), "", traced);
        java.args([print, "-cp"]).arg(classes()).args(arguments);
        let _turn = beside_others();
        let output = output(&mut java);
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        out(&output)
    };
    for arguments in
        [&["tyrion.selfcheck.SelfCheck"][..], &["tyrion.truth.Truth", "counts", "4", "50000"]]
    {
        check_skipped(&run(arguments, None), &run(arguments, Some(&log)), arguments[0]);
    }
}

#[track_caller]
fn check_skipped(without: &str, with: &str, what: &str) {
    assert!(with.lines().count() > 200, "{what}: nothing was compiled");
    let (before, after) = (skipped(without), skipped(with));
    let new: Vec<&String> = after.difference(&before).collect();
    assert!(new.is_empty(), "{what}: {new:?}; without the agent {before:?}");
}

/// Real programs, every class verified: sums of money stay what they are.
fn databases_verified(jdk: &Jdk) {
    for (jar, url) in [
        ("hsqldb.jar", "jdbc:hsqldb:mem:bank"),
        ("derby.jar", "jdbc:derby:memory:bank;create=true"),
    ] {
        let Some(jar) = subject_jar(jar) else { return };
        let bank = format!("tyrion.subjects.JdbcBank {url} 8 2 1");
        let program = Program::class(jdk, &bank).jar(&jar).traced().flag(VERIFY.to_owned());
        let recording = program.record();
        assert_eq!(recording.said["balanced"], true, "{}", recording.said);
    }
}
