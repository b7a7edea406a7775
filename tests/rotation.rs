//! Logs that go on in another file: each can be read alone, and all of them
//! together tell of every wait, once.

use crate::support::{
    AcquisitionSum, Jdk, Program, RunningCommand, Tmpfs, TraceLog, Wait, assert_between,
    assert_close, collapsed_sum, info, ms, on_jdks, ours, out, pending, root, stdout_of, tyrion,
    wait_for, wait_line, waits,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process::Output,
};
use tyrion_wire::header::field::USED_LEN;

on_jdks!(storms_over_many_files: everywhere two);
on_jdks!(waits_that_outlast_files: everywhere two);
on_jdks!(a_file_says_that_others_follow: one);
on_jdks!(held_across_files: everywhere two);
on_jdks!(threads_that_come_and_go: one, everywhere two);
on_jdks!(disk_use_is_bounded: one);
on_jdks!(killed_between_files: one, everywhere two);
on_jdks!(disk_full_before_the_next_file: one, everywhere two);
on_jdks!(replaces_an_earlier_recording: one);
on_jdks!(the_current_file_is_deleted: one);

/// The shortest files that the agent makes.
const FILESIZE: u64 = 64 << 10;
/// How much longer than what is used of it a file may be: it is allocated ahead.
const AHEAD: u64 = 3 << 19;
/// So many files may wait for being cut: the current one, the one after it, and
/// those before that are not finished, of which the agent bears with four.
const UNCUT: usize = 6;
/// So many files may wait for being removed: each switch leaves one, and while
/// the agent removes some and finishes a file before and after, it bears with
/// four unfinished ones and the two.
const SURPLUS: usize = 6;

/// The files of a log, the oldest first.
pub fn files(log: &Path) -> Vec<PathBuf> {
    let name = log.file_name().unwrap().to_str().unwrap();
    let mut numbered: Vec<(u64, PathBuf)> = std::fs::read_dir(log.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let suffix = path.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('.')?;
            Some((suffix.parse().ok()?, path.clone()))
        })
        .collect();
    numbered.sort();
    let earlier = numbered.into_iter().map(|(_, path)| path);
    earlier.chain(log.is_file().then(|| log.to_owned())).collect()
}

fn number(info: &Value, path: &str) -> u64 {
    info.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path} in {info}"))
}

/// What one or more files hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTotals {
    pub contentions: u64,
    wait_ns: u64,
    pub ended: u64,
    kept: u64,
    pub dropped: u64,
}

impl FileTotals {
    fn of(info: &Value) -> FileTotals {
        let sum = |keys: &[&str]| -> u64 {
            keys.iter().map(|key| number(info, &format!("/callbacks/contention/{key}"))).sum()
        };
        FileTotals {
            contentions: number(info, "/totals/contentions"),
            wait_ns: number(info, "/totals/wait_ns"),
            ended: sum(&["ended"]),
            kept: sum(&["recorded", "folded"]),
            dropped: number(info, "/totals/dropped"),
        }
    }

    fn add(&mut self, other: FileTotals) {
        self.contentions += other.contentions;
        self.wait_ns += other.wait_ns;
        self.ended += other.ended;
        self.kept += other.kept;
        self.dropped += other.dropped;
    }
}

/// Reads each file alone, which must be without fault, and all together: the
/// sums of both ways.
pub fn read_all(files: &[PathBuf]) -> FileTotals {
    let mut alone = FileTotals::default();
    for file in files {
        let info = info(file);
        let name = file.display();
        assert_eq!(info["damage"].as_array().unwrap().len(), 0, "{name}: {}", info["damage"]);
        let unknown = info.to_string().contains("[unknown]");
        assert!(!unknown, "{name} lacks definitions: {info}");
        alone.add(FileTotals::of(&info));
    }
    // What `convert` makes of all files at once.
    let folder = tempfile::tempdir().unwrap();
    let collapsed = |options: &[&str]| -> u64 {
        let to = folder.path().join("waits");
        let mut convert = tyrion();
        convert.args(["convert", "--to", "collapsed", "-o"]).arg(&to).args(options).args(files);
        let output = convert.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        collapsed_sum(&std::fs::read_to_string(to).unwrap())
    };
    assert_eq!(collapsed(&[]), alone.wait_ns, "time of all files together");
    assert_eq!(
        collapsed(&["--metric", "contentions"]),
        alone.contentions,
        "waits of all files together"
    );
    alone
}

fn rotating(jdk: &Jdk, scenario: &str, threshold: &str, filecount: u32) -> Program {
    Program::truth(jdk, scenario)
        .option(&format!("--threshold={threshold}"))
        .option(&format!("--filesize={FILESIZE}"))
        .option(&format!("--filecount={filecount}"))
}

/// Lets a storm go on until enough has come of it, however fast it is.
pub fn storm_until(
    program: Program,
    log: &Path,
    what: &str,
    mut is_enough: impl FnMut(&RunningCommand) -> bool,
) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let program = program.flag(format!("-Dtruth.until={}", until.display()));
    let mut running = program.start_at(log.to_owned(), folder);
    wait_for(what, || is_enough(&running).then_some(()));
    std::fs::write(until, "").unwrap();
    running.finish()
}

fn storms_over_many_files(jdk: &Jdk) {
    for (threshold, least) in [("0", 24), ("auto", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("test.log");
        let program = rotating(jdk, "storm 60 monitor", threshold, 1000).pinned();
        let output = storm_until(program, &log, "files", |_| files(&log).len() > least);
        check_unharmed(&output);
        let said: Value = serde_json::from_str(out(&output).lines().last().unwrap()).unwrap();
        let files = files(&log);
        let totals = read_all(&files);
        assert_eq!(totals.contentions, totals.ended, "{threshold}: {totals:?}");
        assert_eq!((totals.kept, totals.dropped), (totals.ended, 0), "{threshold}");
        let waits = files.iter().flat_map(|file| waits(file));
        let of_storm = waits.filter(|it| it.is_contention() && it.thread.starts_with("storm-"));
        let counted = of_storm.map(|wait| wait.count).sum();
        let blocked = number(&said, "/total_blocked_count");
        assert_close(threshold, counted, blocked, blocked / 100);
        for (nth, file) in files.iter().enumerate() {
            let info = info(file);
            assert_eq!(info["state"], "closed", "{}", file.display());
            assert_eq!(info["continued"], nth + 1 < files.len(), "{}", file.display());
            let metadata = &info["metadata"];
            assert_eq!(metadata["file-number"], nth.to_string().as_str(), "{metadata}");
        }
    }
}

/// Waits that begin in the first file and end in the last but some: they are
/// recorded once, where they end, with stack, lock and owner.
fn waits_that_outlast_files(jdk: &Jdk) {
    for threshold in ["0", "auto"] {
        let recording = rotating(jdk, "outlast 2", threshold, 1000).pinned().record();
        let files = files(&recording.log);
        let totals = read_all(&files);
        assert_eq!((totals.contentions, totals.dropped), (totals.ended, 0), "{threshold}");
        let found: Vec<(usize, Wait)> = (0..)
            .zip(&files)
            .flat_map(|(nth, file)| waits(file).into_iter().map(move |wait| (nth, wait)))
            .filter(|(_, wait)| wait.thread.starts_with("waiter-") && wait.wait_ns > ms(1000))
            .collect();
        assert_eq!(found.len(), 4, "{threshold}: {found:?}");
        for (kind, class, named, lock) in [
            ("monitor", "HolderMonitor", "monitor", "tyrion.truth.HolderMonitor$Vault"),
            ("lock", "HolderLock", "lock", "locks.ReentrantLock$NonfairSync"),
            ("lock-write", "HolderWrite", "write", "locks.ReentrantReadWriteLock$NonfairSync"),
            ("semaphore", "HolderSemaphore", "semaphore", "Semaphore$NonfairSync"),
        ] {
            let thread = format!("waiter-{named}");
            let (nth, wait) = found.iter().find(|(_, wait)| wait.thread == thread).expect(named);
            assert!(*nth > 0, "{named} did not outlast a file");
            assert_eq!(wait.kind, kind);
            assert!(wait.lock_class.ends_with(lock), "{wait:?}");
            let told = |bound: &str| recording.number(&format!("{named}_{bound}_ns"));
            assert_between(named, wait.wait_ns, told("least"), told("wait"));
            let line = format!("({class}.java:{})", wait_line(class));
            assert!(wait.stack.iter().any(|frame| frame.ends_with(&line)), "{line}: {wait:?}");
            // Those who write or have a permit are not known; who has a monitor
            // was asked for after a second.
            let owner = match kind {
                "lock" => Some("holder-lock"),
                "monitor" => Some("holder-monitor"),
                _ => None,
            };
            assert_eq!(wait.owner.as_deref(), owner, "{wait:?}");
        }
    }
}

/// While its JVM runs, a file that another one followed has not ended with it.
fn a_file_says_that_others_follow(jdk: &Jdk) {
    let mut running = rotating(jdk, "storm 60 monitor", "0", 1000).pinned().start();
    let told = |file: &Path| stdout_of(tyrion().arg("info").arg(file));
    let first = running.log.with_extension("log.0");
    let says = |what: &str| told(&first).contains(what);
    wait_for("a file that is finished", || {
        (first.exists() && info(&first)["state"] == "closed").then_some(())
    });
    assert!(says("whole: the recording goes on in a later file"), "{}", told(&first));
    assert!(!says("the JVM ended"), "{}", told(&first));
    // Another file may follow while it is opened.
    wait_for("the file that is written to", || {
        told(&running.log).contains("open: the JVM still runs").then_some(())
    });
    running.kill_jvm();
}

/// As shells list them: then the recording goes on, until they are opened.
#[test]
fn files_that_came_or_went_since_they_were_listed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let put = |name: &str, log: &str| {
        std::fs::copy(root().join("testdata/logs").join(log), at(name)).unwrap();
    };
    put("a.log", "v1-small.log");
    put("a.log.3", "v1-trace.log");
    let report = |names: &[&str]| {
        let mut report = tyrion();
        report.args(["report", "--json"]).args(names.iter().map(|name| at(name)));
        report.output().unwrap()
    };
    let logs = |names: &[&str], note: &str| -> usize {
        let output = report(names);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{names:?}: {stderr}");
        assert!(stderr.contains(note), "{names:?}: {stderr}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["logs"].as_array().unwrap().len()
    };
    // Gone, as the file that is written to has that name now, or nobody keeps it.
    assert_eq!(logs(&["a.log", "a.log.3", "a.log.next"], "a.log.next is gone"), 2);
    assert_eq!(logs(&["a.log", "a.log.2", "a.log.3"], "a.log.2 is gone"), 2);
    // What was the current one is there by another name.
    assert_eq!(logs(&["a.log", "a.log.next"], "a.log.3 is new"), 2);
    // Only prepared.
    std::fs::write(at("a.log.next"), "").unwrap();
    assert_eq!(logs(&["a.log", "a.log.3", "a.log.next"], "nothing is in it yet"), 2);
    std::fs::write(at("a.log.next"), [0; 8192]).unwrap();
    assert_eq!(logs(&["a.log", "a.log.3", "a.log.next"], "nothing is in it yet"), 2);
    let mut header = std::fs::read(at("a.log")).unwrap();
    header.truncate(4096);
    header[40..48].copy_from_slice(&4096_u64.to_le_bytes());
    std::fs::write(at("a.log.next"), &header).unwrap();
    assert_eq!(logs(&["a.log", "a.log.3", "a.log.next"], "nothing is in it yet"), 2);
    // What is not one of those is missing, and so is what is all that was named.
    for names in [&["a.log", "b.log"][..], &["a.log.7"], &["a.log", "b.log.2"]] {
        assert_eq!(report(names).status.code(), Some(1), "{names:?}");
    }
    let gone = report(&["c.log.1", "c.log.next"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("No such file"), "{gone:?}");
}

/// The counts of the acquisition that is held go with their file; what the
/// thread holds does not.
fn held_across_files(jdk: &Jdk) {
    let recording = rotating(jdk, "held-across 6", "0", 1000).traced().pinned().record();
    let files = files(&recording.log);
    let mut got = AcquisitionSum::default();
    let mut with_cells = 0;
    for file in &files {
        let taken = TraceLog::of(file).taken("tyrion.truth.HeldAcross$Vault");
        with_cells += usize::from(taken != AcquisitionSum::default());
        got += taken;
    }
    // Files are let go some two seconds after the next one.
    assert!(with_cells > 5, "{with_cells} of {} files", files.len());
    let (acquisitions, reentrant) =
        (recording.number("acquisitions"), recording.number("reentrant"));
    assert_eq!(got, AcquisitionSum { acquisitions, reentrant, ..AcquisitionSum::default() });
}

fn threads_that_come_and_go(jdk: &Jdk) {
    for threshold in ["0", "auto"] {
        let recording = rotating(jdk, "appends 600 500", threshold, 1000).record();
        let files = files(&recording.log);
        let totals = read_all(&files);
        assert!(files.len() > 1, "{} files", files.len());
        assert_eq!(totals.contentions, totals.kept, "{threshold}: {totals:?}");
        assert_eq!(totals.ended, totals.kept + totals.dropped, "{threshold}: {totals:?}");
        assert_eq!(totals.dropped, 0, "{threshold}");
    }
}

/// How long a file is, and how much of that is used, in bytes.
#[derive(Debug)]
struct Size {
    len: u64,
    used: u64,
}

impl Size {
    /// `None` if the file is gone. One that was just created has no header yet.
    fn of(path: &Path) -> Option<Size> {
        let file = File::open(path).ok()?;
        // In this order: more may be used meanwhile, but not less.
        let len = file.metadata().unwrap().len();
        let mut used = [0; 8];
        let _ = file.read_exact_at(&mut used, USED_LEN as u64);
        Some(Size { len, used: u64::from_le_bytes(used) })
    }
}

fn disk_use_is_bounded(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let program = rotating(jdk, "storm 200 monitor", "0", 3).pinned();
    let mut looks = 0;
    let mut names = BTreeSet::new();
    let output = storm_until(program, &log, "files", |_| {
        let entries = std::fs::read_dir(&folder).unwrap().flatten();
        let logs = entries.filter(|entry| entry.file_name().to_string_lossy().contains(".log"));
        // A file has its old name and its new one while they change.
        let logs: BTreeMap<u64, PathBuf> =
            logs.filter_map(|entry| Some((entry.metadata().ok()?.ino(), entry.path()))).collect();
        let logs: Vec<PathBuf> = logs.into_values().collect();
        assert!(logs.len() <= 3 + 1 + SURPLUS, "{logs:?}");
        let sizes: Vec<Size> = logs.iter().filter_map(|log| Size::of(log)).collect();
        assert!(sizes.iter().all(|size| size.len <= size.used + AHEAD), "{sizes:?}");
        let uncut = sizes.iter().filter(|size| size.len > size.used).count();
        assert!(uncut <= UNCUT, "{sizes:?}");
        names.extend(logs);
        looks += 1;
        // Files are longer, and more, while the agent's helpers run late; but that
        // is over when they have run.
        let total: u64 = sizes.iter().map(|size| size.len).sum();
        names.len() > 6 && looks > 100 && total <= 3 * FILESIZE + UNCUT as u64 * AHEAD
    });
    check_unharmed(&output);
    let left = files(&log);
    assert_eq!(left.len(), 3, "{left:?}");
    let sizes: Vec<Size> = left.iter().filter_map(|log| Size::of(log)).collect();
    assert!(sizes.iter().all(|size| size.len == size.used), "{sizes:?}");
    let totals = read_all(&left);
    assert!(totals.contentions > 0);
    assert!(!log.with_extension("log.next").exists());
}

fn killed_between_files(jdk: &Jdk) {
    for kind in ["monitor", "lock"] {
        let program = rotating(jdk, &format!("storm 60 {kind}"), "0", 1000).pinned();
        let mut running = program.start();
        wait_for("files", || (files(&running.log).len() > 8).then_some(()));
        assert_eq!(running.kill_jvm().code(), Some(128 + 9), "{kind}");
        let files = files(&running.log);
        assert!(files.len() > 5, "{kind}: {} files", files.len());
        let totals = read_all(&files);
        // A thread killed between its count and its record.
        let accounted = totals.kept + totals.dropped;
        assert!(totals.ended.abs_diff(accounted) <= 8, "{kind}: {totals:?}");
        assert!(totals.contentions.abs_diff(totals.kept) <= 8, "{kind}: {totals:?}");
        assert!(totals.contentions > 1000, "{kind}: {totals:?}");
        // What had not ended has a stack and a lock in the last file, unless
        // the JVM was killed just when it began.
        let (earlier, last) = files.split_at(files.len() - 2);
        let waiting: Vec<Wait> = last.iter().flat_map(|file| pending(file)).collect();
        assert!(waiting.iter().any(|wait| wait.is_contention()), "{waiting:?}");
        assert!(waiting.iter().all(|wait| !wait.stack.is_empty()), "{waiting:?}");
        for file in earlier {
            assert_eq!(pending(file).len(), 0, "{}", file.display());
        }
    }
}

/// The program ended well, and said what it has measured.
fn check_unharmed(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", output.status);
    assert!(out(output).lines().last().unwrap().starts_with('{'), "{}", out(output));
}

fn disk_full_before_the_next_file(jdk: &Jdk) {
    // Two files of 1.5 MiB, as they are allocated, and a few that are cut.
    let Some(disk) = Tmpfs::mount("3584k") else { return };
    let log = disk.path().join("full.log");
    let program = rotating(jdk, "storm 60 monitor", "0", 100).pinned();
    let output = storm_until(program, &log, "full disk", |running| {
        running.stderr().contains("No space left")
    });
    check_unharmed(&output);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines = ours(&stderr);
    // Files that are cut and removed make room.
    let is_told =
        |line: &&str| line.contains("No space left") || line.contains("there is room again");
    assert!(lines.iter().all(is_told), "{stderr}");
    let files = files(&log);
    assert!(files.len() > 1, "{files:?}");
    let totals = read_all(&files);
    assert_eq!(totals.ended, totals.kept + totals.dropped, "{totals:?}");
    assert!(!disk.path().join("full.log.next").exists());
}

fn replaces_an_earlier_recording(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let program = rotating(jdk, "storm 60 monitor", "0", 100).pinned();
    check_unharmed(&storm_until(program, &log, "files", |_| files(&log).len() > 5));
    std::fs::write(folder.path().join("test.log.bak"), "mine").unwrap();
    let own = tempfile::tempdir().unwrap();
    let program = rotating(jdk, "holder-monitor", "0", 100);
    check_unharmed(&program.start_at(log.clone(), own).finish());
    assert_eq!(files(&log).len(), 1);
    assert!(folder.path().join("test.log.bak").is_file());
}

/// What was in it is gone, and nothing else: waits under way end in the next one.
fn the_current_file_is_deleted(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let program = rotating(jdk, "under-way", "0", 1000);
    let program = program.flag(format!("-Dtruth.until={}", until.display()));
    let mut running = program.start_at(folder.path().join("test.log"), folder);
    running.await_line("waiting");
    std::fs::remove_file(&running.log).unwrap();
    wait_for("another file", || running.log.exists().then_some(()));
    std::fs::write(until, "").unwrap();
    let output = running.finish();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let [line] = ours(&stderr)[..] else { panic!("{stderr}") };
    assert!(line.contains("the file was deleted; a new one is written"), "{line}");
    let files = files(&running.log);
    assert_eq!(files, [running.log.as_path()], "the first is gone");
    read_all(&files);
    let waits = waits(&running.log);
    // The one that awaits a condition may have to wait for its lock, too.
    let of_waiters = waits
        .iter()
        .filter(|wait| wait.thread.starts_with("waiter-") && wait.kind != "lock-reacquire");
    assert_eq!(of_waiters.count(), 6, "{waits:?}");
    assert!(waits.iter().all(|wait| !wait.stack.is_empty()), "{waits:?}");
}
