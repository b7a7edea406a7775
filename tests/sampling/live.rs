//! `tyrion sample` on a JVM that runs.

use super::outputs::samples;
use crate::support::{
    Jdk, Program, RunningCommand, Turn, alone, beside_others, err, info, list, ms, number, on_jdks,
    out, output, root, stdout_of, text, text_of, tyrion, wait_for, waits,
};
use serde_json::Value;
use std::{
    fs::File,
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant, SystemTime},
};

on_jdks!(sampled: extremes, everywhere all);
on_jdks!(log_kept: only(21));
on_jdks!(sampled_while_recording: one);
on_jdks!(paused_and_resumed: one);
on_jdks!(stopped_meanwhile: one);
on_jdks!(left_alone: one);
on_jdks!(two_at_once: only(21));
on_jdks!(joined_once: one);
on_jdks!(attached_meanwhile: one);
on_jdks!(switched_by_the_program: one);
on_jdks!(rotated_meanwhile: one);
on_jdks!(intervals: one);

/// A program without an agent.
pub(super) fn unrecorded(jdk: &Jdk) -> RunningCommand {
    unrecorded_in(beside_others(), jdk)
}

fn unrecorded_in(turn: Turn, jdk: &Jdk) -> RunningCommand {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("attached.log");
    let line = Program::class(jdk, "tyrion.sampling.Shares 60 0").command_line();
    let mut java = Command::new(&line[0]);
    let java = java.args(&line[1..]).current_dir(folder.path());
    let running = RunningCommand::in_turn(turn, java, folder, log);
    running.await_line("acting");
    running
}

/// `tyrion sample`, run in a folder that has a folder for temporary files.
fn sample(folder: &Path, pid: u32, options: &[&str]) -> Command {
    let temporary = folder.join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut sample = tyrion();
    sample.args(["sample", &pid.to_string(), "--period=20ms"]).args(options);
    sample.current_dir(folder).env("TMPDIR", temporary);
    sample
}

fn status(pid: u32) -> Value {
    let said = stdout_of(tyrion().args(["status", "--json", &pid.to_string()]));
    serde_json::from_str(&said).unwrap()
}

/// The same in the background, once it samples.
fn sampling(folder: &Path, pid: u32, options: &[&str]) -> Child {
    let mut sample = sample(folder, pid, options);
    let child = sample.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("sampling", || (status(pid)["sampling"] == "on").then_some(()));
    child
}

/// The total of the first line of a group, and the names of its
/// threads, as the tree has them.
fn group(tree: &str, name: &str) -> (u64, String) {
    let title = format!("Aggregated thread: {name}. ");
    let (_, rest) = tree.split_once(&title).unwrap_or_else(|| panic!("no {name}:\n{tree}"));
    let (head, rest) = rest.split_once(']').unwrap();
    // Long titles take several lines.
    let (_, threads) = head.split_once('[').unwrap();
    let threads = threads.split_whitespace().collect::<Vec<_>>().join(" ");
    // Behind the end of the title and the headings.
    let root = rest.lines().nth(2).unwrap_or_default();
    let total = root.split_whitespace().next().unwrap_or_else(|| panic!("{rest}"));
    (ms(total.parse().unwrap()), threads)
}

/// A tree, and nothing that went wrong.
#[track_caller]
fn check_tree(output: &Output, seconds: std::ops::RangeInclusive<f64>) {
    let tree = out(output);
    assert!(output.status.success(), "{}\n{}\n{tree}", output.status, err(output));
    assert!(tree.contains("Report interval: "), "{tree}");
    let (workers_ns, workers) = group(&tree, "worker-");
    assert_eq!(workers, "worker-1, worker-2, worker-3, worker-4");
    let each = workers_ns as f64 / 4e9;
    assert!(seconds.contains(&each), "{each} s of {seconds:?}:\n{tree}");
    let (keeper_ns, _) = group(&tree, "keeper-");
    let keeper = keeper_ns as f64 / 1e9;
    assert!(seconds.contains(&keeper), "{keeper} s of {seconds:?}:\n{tree}");
}

/// For so long, once, and until somebody asks for an end: the JVM goes on, and
/// no file is left.
fn sampled(jdk: &Jdk) {
    let mut running = unrecorded(jdk);
    let (pid, folder) = (running.id(), tempfile::tempdir().unwrap());
    let folder = folder.path();

    let begin = Instant::now();
    let sampled = output(&mut sample(folder, pid, &["--duration=2s"]));
    let took = begin.elapsed().as_secs_f64();
    assert!(took >= 2.0, "{took} s");
    // Less than that if the machine is busy.
    check_tree(&sampled, 1.5..=took);
    let blocked = "tyrion.sampling.Actors$Blocked.entering(Actors.java:";
    assert!(out(&sampled).contains(blocked), "{}", out(&sampled));
    check_left(folder, &running);

    if jdk.major == 17 {
        check_once(folder, &running);
        check_interrupted(folder, &running);
    }
    let told = status(pid);
    assert_eq!(told["state"], "paused");
    // The one log, which its agent holds on to, in a folder of its own.
    let log = Path::new(told["log"].as_str().unwrap()).to_owned();
    let home = log.parent().unwrap();
    assert!(text(home).starts_with("/tmp/.tyrion-"), "{home:?}");
    assert_eq!(names(home), ["samples.log"]);
    let warned = running.stderr().lines().all(|line| line.starts_with("WARNING: "));
    assert!(warned, "{}", running.stderr());
    running.signal(pid, "TERM");
    assert_eq!(running.finish().status.code(), Some(128 + 15), "it did not live until now");
    drop(running);
    if jdk.major == 17 {
        let next = unrecorded(jdk);
        // What was changed a moment ago may be somebody's who is about to use it.
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
        std::fs::File::open(home).unwrap().set_modified(an_hour_ago).unwrap();
        check_tree(&output(&mut sample(folder, next.id(), &["--once"])), 0.0..=10.0);
        assert!(!home.exists(), "nobody removes it");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Nothing but the folder for temporary files, which is empty.
#[track_caller]
fn check_left(folder: &Path, running: &RunningCommand) {
    assert_eq!(names(folder), ["tmp"]);
    assert_eq!(names(&folder.join("tmp")), [""; 0]);
    assert!(names(running.log.parent().unwrap()).iter().all(|name| name.starts_with("std")));
}

/// One snapshot, which stands for one period.
fn check_once(folder: &Path, running: &RunningCommand) {
    let once = output(&mut sample(folder, running.id(), &["--once", "--state=all"]));
    check_tree(&once, 0.005..=0.5);
    check_left(folder, running);
}

fn check_interrupted(folder: &Path, running: &RunningCommand) {
    let mut sample = sample(folder, running.id(), &["--duration=60s"]);
    let (stdout, stderr) = (folder.join("tmp/stdout"), folder.join("tmp/stderr"));
    sample.stdin(Stdio::null());
    sample.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
    let begin = Instant::now();
    let mut child = sample.spawn().unwrap();
    wait_for("sampling", || (status(running.id())["sampling"] == "on").then_some(()));
    std::thread::sleep(Duration::from_millis(1000));
    running.signal(child.id(), "INT");
    let status = wait_for("end", || child.try_wait().unwrap());
    let took = begin.elapsed().as_secs_f64();
    let read = |path: &Path| std::fs::read(path).unwrap();
    let output = Output { status, stdout: read(&stdout), stderr: read(&stderr) };
    std::fs::remove_file(stdout).unwrap();
    std::fs::remove_file(stderr).unwrap();
    check_tree(&output, 0.7..=took);
    check_left(folder, running);
}

/// A log that is asked for.
fn log_kept(jdk: &Jdk) {
    // Other JVMs have such folders, too, which stay when they are killed.
    let running = unrecorded_in(alone(), jdk);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("kept.log");
    let options = ["--duration=700ms", "-o", text(&log)];
    let exchanged = || {
        let owner = |name: &str| Path::new("/tmp").join(name).metadata().ok().map(|it| it.uid());
        let own = rustix::process::geteuid().as_raw();
        let mut names = names(Path::new("/tmp"));
        names.retain(|name| name.starts_with(".tyrion-") && owner(name) == Some(own));
        names
    };
    let before = exchanged();
    let begin = Instant::now();
    let output = output(&mut sample(folder.path(), running.id(), &options));
    check_tree(&output, 0.4..=begin.elapsed().as_secs_f64());
    assert!(samples(&log).iter().any(|sample| sample["thread"] == "worker-1"));
    assert_eq!(names(folder.path()), ["kept.log", "tmp"]);
    // Somebody else's do not stay.
    let after = exchanged();
    let is_left = |name: &&String| !before.contains(name) && exchanged().contains(name);
    wait_for("folder that is removed", || after.iter().find(is_left).is_none().then_some(()));
}

/// A JVM whose waits are recorded already goes on recording them.
fn sampled_while_recording(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Shares 60 0");
    let running = program.start();
    running.await_line("acting");
    let (pid, folder) = (running.jvm(), tempfile::tempdir().unwrap());
    let contentions = || number(&info(&running.log)["totals"], "contentions");
    std::thread::sleep(Duration::from_millis(1500));
    let begin = Instant::now();
    let output = output(&mut sample(folder.path(), pid, &["--duration=1s"]));
    // Of that second alone, not of all that was recorded.
    check_tree(&output, 0.7..=begin.elapsed().as_secs_f64());

    let after = status(pid);
    assert_eq!((&after["state"], &after["sampling"]), (&"recording".into(), &"off".into()));
    std::thread::sleep(Duration::from_millis(100));
    let sampled = samples(&running.log).len();
    assert!(sampled > 0, "not in the log of the recording");
    let before = contentions();
    // The keeper keeps both of its locks in each of its rounds.
    wait_for("contention", || (contentions() > before + 1).then_some(()));
    assert_eq!(samples(&running.log).len(), sampled, "sampled on");
    assert!(waits(&running.log).iter().any(|wait| wait.thread == "worker-3"));
    assert_eq!(running.stderr(), "");
}

/// `attach` switches sampling on, `stop` off, and `attach` on again.
fn paused_and_resumed(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id().to_string();
    let ask = |command: &str, options: &[&str]| -> Value {
        let said = stdout_of(tyrion().args([command, "--json"]).args(options).arg(&pid));
        serde_json::from_str(&said).unwrap()
    };
    let log = text(&running.log);
    let on = ask("attach", &["-o", log, "--mode=sample", "--period=10ms"]);
    assert_eq!((&on["state"], &on["sampling"]), (&"recording".into(), &"on".into()));
    let count = || samples(&running.log).iter().map(|it| number(it, "count")).sum::<u64>();
    wait_for("samples", || (count() > 100).then_some(()));
    assert_eq!(ask("stop", &[])["state"], "paused");
    std::thread::sleep(Duration::from_millis(100));
    let stopped = count();
    std::thread::sleep(Duration::from_millis(1300));
    assert_eq!(count(), stopped, "sampled after the stop");
    let on = ask("attach", &["--mode=sample", "--period=25ms"]);
    assert_eq!(on["period_ns"], ms(25), "{on}");
    wait_for("more samples", || (count() > stopped + 100).then_some(()));
    // Nobody looked in between, so nobody knows.
    let all = samples(&running.log);
    let longest = all.iter().map(|it| number(it, "wall_ns")).max().unwrap();
    assert!(longest < ms(1300), "{longest}");
    assert!(all.iter().any(|it| text_of(it, "state") == "blocked"));
    assert_eq!(list(&info(&running.log), "damage").len(), 0);
}

/// Somebody's wish to pause outlives a sample.
fn stopped_meanwhile(jdk: &Jdk) {
    let running = Program::class(jdk, "tyrion.sampling.Shares 60 0").start();
    running.await_line("acting");
    let (pid, folder) = (running.jvm(), tempfile::tempdir().unwrap());
    let child = sampling(folder.path(), pid, &["--duration=3s"]);
    stdout_of(tyrion().args(["stop", &pid.to_string()]));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert!(err(&output).contains("recording was stopped meanwhile"), "{}", err(&output));
    assert_eq!(status(pid)["state"], "paused");
    // It goes on as it was, without samples.
    stdout_of(tyrion().args(["attach", &pid.to_string()]));
    let after = status(pid);
    assert_eq!((&after["state"], &after["sampling"]), (&"recording".into(), &"off".into()));
}

/// A sample ends even if nobody is left to end it; and whoever records then gets
/// the log under a name.
fn left_alone(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let (pid, folder) = (running.id(), tempfile::tempdir().unwrap());
    let mut child = sampling(folder.path(), pid, &["--duration=1s"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(status(pid)["sampling"], "on");
    wait_for("end", || (status(pid)["sampling"] == "off").then_some(()));
    assert_eq!(status(pid)["state"], "paused");

    let log = folder.path().join("named.log");
    stdout_of(tyrion().args(["attach", &pid.to_string(), "-o", text(&log)]));
    let after = status(pid);
    assert_eq!((&after["state"], &after["mode"]), (&"recording".into(), &"contention".into()));
    assert_eq!((&after["log"], log.exists()), (&text(&log).into(), true));
    check_tree(&output(&mut sample(folder.path(), pid, &["--duration=1s"])), 0.5..=60.0);
}

/// Whoever comes second sees no more than it asked for, and neither ends the
/// other's sample.
fn two_at_once(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let (pid, folder) = (running.id(), tempfile::tempdir().unwrap());
    let start = |options: &[&str]| {
        let mut sample = sample(folder.path(), pid, options);
        sample.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let one = start(&["--duration=1s", "--threads=^worker-1$"]);
    let other = start(&["--duration=3s", "--threads=^worker-"]);
    let [one, other] = [one, other].map(|child| child.wait_with_output().unwrap());
    let (_, threads) = group(&out(&one), "worker-");
    assert_eq!(threads, "worker-1", "{}", err(&one));
    let (wall_ns, threads) = group(&out(&other), "worker-");
    let told = err(&other).contains("only threads whose names match '^worker-1$'");
    let expected = if told { 1 } else { 4 };
    assert_eq!(threads.split(", ").count(), expected, "{threads}\n{}", err(&other));
    assert!(wall_ns / expected as u64 > ms(1500), "{wall_ns}: ended with the first");
    assert!(!err(&other).contains("meanwhile"), "{}", err(&other));
    assert!(!err(&other).contains("before"), "{}", err(&other));
    let after = status(pid);
    assert_eq!((&after["state"], &after["sampling"]), (&"paused".into(), &"off".into()));
}

/// One look at a JVM that is being sampled all the time: also at threads of
/// which there is nothing new to be written.
fn joined_once(jdk: &Jdk) {
    let running =
        Program::truth(jdk, "deadlock monitor").option("--mode=contention+sample").start();
    running.await_line("deadlocked");
    let (pid, folder) = (running.jvm(), tempfile::tempdir().unwrap());
    for _ in 0..3 {
        let output = output(&mut sample(folder.path(), pid, &["--once", "--skip-daemon"]));
        let (tree, told) = (out(&output), err(&output));
        assert!(output.status.success(), "{told}");
        for name in ["left", "right"] {
            let (wall_ns, _) = group(&tree, name);
            assert!((ms(10)..ms(2000)).contains(&wall_ns), "{wall_ns}:\n{tree}");
        }
        assert!(told.contains("already being sampled every 50"), "{told}");
        assert!(told.contains("with daemon threads; they are shown"), "{told}");
    }
    let after = status(pid);
    assert_eq!((&after["state"], &after["sampling"]), (&"recording".into(), &"on".into()));
}

/// Who attaches while somebody takes a sample gets what is asked for then.
fn attached_meanwhile(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let (pid, folder) = (running.id(), tempfile::tempdir().unwrap());
    let child = sampling(folder.path(), pid, &["--duration=3s", "--threads=^worker-1$"]);
    assert_eq!(status(pid)["period_ns"], ms(20));
    stdout_of(tyrion().args(["attach", "--mode=sample", &pid.to_string()]));
    let output = child.wait_with_output().unwrap();
    assert!(err(&output).contains("sampling was ended before"), "{}", err(&output));
    let after = status(pid);
    assert_eq!((&after["sampling"], &after["period_ns"]), (&"on".into(), &ms(50).into()));
    let log = Path::new(text_of(&after, "log"));
    let is_other = |sample: &Value| sample["thread"] == "worker-2";
    wait_for("other threads", || samples(log).iter().any(is_other).then_some(()));
    stdout_of(tyrion().args(["stop", &pid.to_string()]));
}

/// What the program says while a sample is being taken counts after it.
fn switched_by_the_program(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let orders = tempfile::tempdir().unwrap();
    let program = Program::class(jdk, &format!("tyrion.sampling.Switched {}", text(orders.path())));
    let program = program.jar(&root().join("agent/java/tyrion-api.jar"));
    let running = program.option("--enabled=false").start();
    running.await_line("acting");
    let (pid, folder) = (running.jvm(), folder.path());
    let order = |name: &str| {
        let order = orders.path().join(name);
        File::create(&order).unwrap();
        wait_for("obeyed", || (!order.exists()).then_some(()));
    };
    let end = |child: Child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
    };
    // It finds itself recorded, since there is a sample, and goes on.
    let one = sampling(folder, pid, &["--duration=1s"]);
    order("on");
    end(one);
    let after = status(pid);
    assert_eq!((&after["state"], &after["sampling"]), (&"recording".into(), &"off".into()));

    let one = sampling(folder, pid, &["--duration=3s"]);
    order("off");
    assert_eq!(status(pid)["state"], "paused");
    let other = sampling(folder, pid, &["--duration=500ms"]);
    assert_eq!(status(pid)["state"], "recording");
    end(other);
    end(one);
    assert_eq!(status(pid)["state"], "paused");
}

/// The log goes on in other files meanwhile.
fn rotated_meanwhile(jdk: &Jdk) {
    for (count, is_whole) in [("--filecount=1000", true), ("--filecount=2", false)] {
        let program = Program::truth(jdk, "outlast 200").option("--threshold=0");
        let running = program.option("--filesize=64k").option(count).start();
        running.await_line("raging");
        let (pid, folder) = (running.jvm(), tempfile::tempdir().unwrap());
        let begin = Instant::now();
        let child = sampling(folder.path(), pid, &["--duration=200s"]);
        let on = Instant::now();
        std::thread::sleep(Duration::from_secs(3));
        // Whatever was seen until then is in this file or those before.
        let seen_until = Instant::now();
        let file = 1 + earlier_files(&running.log).max().unwrap_or(0);
        wait_for("files", || {
            let is_gone = |number| number > file;
            let mut numbers = earlier_files(&running.log).peekable();
            let has_any = numbers.peek().is_some();
            let enough = if is_whole { numbers.any(is_gone) } else { numbers.all(is_gone) };
            (has_any && enough).then_some(())
        });
        let asked = Instant::now();
        running.signal(child.id(), "INT");
        let output = child.wait_with_output().unwrap();
        let end = Instant::now();
        let (tree, told) = (out(&output), err(&output));
        assert!(output.status.success(), "{told}");
        assert_eq!(
            told.contains("are missing: the log has been rotated since"),
            !is_whole,
            "{told}"
        );
        let (wall_ns, threads) = group(&tree, "waiter-monitor");
        // Once for each file.
        assert!(threads.starts_with("waiter-monitor"), "{threads}");
        let seen = if is_whole {
            // Less than all of that if the machine is busy.
            asked.duration_since(on) * 3 / 4..=end - begin
        } else {
            // Samples are joined up to a second.
            Duration::ZERO..=end - seen_until + Duration::from_millis(1500)
        };
        let wall = Duration::from_nanos(wall_ns);
        assert!(seen.contains(&wall), "{wall:?} of {seen:?}:\n{told}\n{tree}");
    }
}

/// The numbers of the files that the log has gone on from.
fn earlier_files(log: &Path) -> impl Iterator<Item = u64> {
    let files = names(log.parent().unwrap()).into_iter();
    files.filter_map(|name| name.strip_prefix("test.log.")?.parse().ok())
}

/// Intervals count from the sample, not from the log.
fn intervals(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let options = ["--duration=1500ms", "--interval=500ms"];
        let output = output(&mut sample(folder.path(), running.id(), &options));
        let tree = out(&output);
        assert_eq!(tree.matches("Report interval: ").count(), 3, "{tree}");
    }
    let options = ["--duration=1500ms", "--interval=1ms", "--top=1"];
    let output = output(&mut sample(folder.path(), running.id(), &options));
    assert!(
        err(&output).contains("more than 1,000 trees; they are of 2 ms each"),
        "{}",
        err(&output)
    );
}
