//! `tyrion-agent.jar`, which has the agent in it: by `-javaagent`, and by `Tyrion.load`.

use crate::support::{
    Jdk, RunningCommand, agent, err, load_java_agent, on_jdks, ours, out, output, root, run, skip,
    skip_for_root, text, wait_for, waits,
};
use std::{
    fs::{self, Permissions},
    os::{
        fd::AsRawFd,
        unix::{
            fs::{MetadataExt, PermissionsExt, chown},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};
use tempfile::TempDir;

on_jdks!(at_the_start: all);
on_jdks!(by_two_class_loaders: all);
on_jdks!(commands_and_loads_join_each_other: extremes, everywhere all);
on_jdks!(where_loading_is_denied: all);
on_jdks!(mistakes_are_told_in_one_line: extremes, everywhere all);
on_jdks!(the_library_is_that_of_the_platform: one);
on_jdks!(a_jvm_without_management: extremes, everywhere all);
on_jdks!(a_jvm_that_runs_loads_the_jar: ends, everywhere all);
on_jdks!(another_folder_where_programs_are_not_allowed: edges, everywhere all);
on_jdks!(nothing_is_loaded_from_where_others_could_replace_it: edges, everywhere all);
on_jdks!(a_planted_library_is_not_loaded: edges, everywhere all);
on_jdks!(options_are_followed_each_time: extremes, everywhere all);
on_jdks!(an_interrupted_thread_loads: extremes, everywhere all);
on_jdks!(there_is_little_memory: extremes, everywhere all);
on_jdks!(one_class_loader_needs_one_copy: edges, everywhere all);
on_jdks!(a_load_that_failed_is_not_in_the_way: edges, everywhere all);
on_jdks!(a_jvm_that_ends_meanwhile_leaves_nothing: edges, everywhere all);

/// A jar that `packaging/java_jars.py` makes; `None` after a message.
pub fn made_jar(folder: &Path, name: &str, what: &str) -> Option<PathBuf> {
    if !root().join("target/jdks/javac").is_file() {
        skip("javac: run tests/setup/jdks.sh");
        return None;
    }
    let jar = folder.join(name);
    let mut make = Command::new("python3");
    make.arg(root().join("packaging/java_jars.py")).arg(&jar).arg(what);
    let made = output(make.env("PYTHONDONTWRITEBYTECODE", "1"));
    assert!(made.status.success(), "{}", err(&made));
    Some(jar)
}

/// A jar with the agent under test as that of a platform.
fn jar_for(folder: &Path, platform: &str) -> Option<PathBuf> {
    made_jar(folder, "tyrion-agent.jar", &format!("{platform}={}", text(&agent())))
}

/// That for this machine, made once.
pub fn jar() -> Option<&'static Path> {
    static JAR: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let made = JAR.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let libc = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
        let jar = jar_for(folder.path(), &format!("{}-{libc}", std::env::consts::ARCH))?;
        Some((folder, jar))
    });
    made.as_ref().map(|(_, jar)| &**jar)
}

/// A run of `Loads`, with folders of its own for temporary files and for a home.
struct Loads {
    folder: TempDir,
    flags: Vec<String>,
    loads: Vec<String>,
    awaited: [String; 2],
}

impl Loads {
    fn new() -> Loads {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tmp", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let awaited = ["-".to_owned(), "-".to_owned()];
        Loads { folder, flags: Vec::new(), loads: Vec::new(), awaited }
    }

    /// A path in its folder.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A flag of the JVM.
    fn flag(mut self, flag: &str) -> Loads {
        self.flags.push(flag.to_owned());
        self
    }

    /// With the jar on the command line.
    fn with_jar(self, jar: &Path, options: &str) -> Loads {
        let flag = format!("-javaagent:{}={options}", text(jar));
        self.flag(&flag)
    }

    /// Loaded by the program, by a class loader of its own.
    fn load(mut self, options: &str) -> Loads {
        self.loads.push(options.to_owned());
        self
    }

    fn command(&self, jdk: &Jdk, jar: &Path) -> Command {
        let mut java = Command::new(jdk.java());
        java.args(&self.flags).arg(format!("-Djava.io.tmpdir={}", text(&self.path("tmp"))));
        java.arg(format!("-Duser.home={}", text(&self.path("home"))));
        java.arg("-cp").arg(jdk.classes()).arg("tyrion.loads.Loads").args(&self.awaited);
        java.arg(jar).args(&self.loads).current_dir(self.folder.path());
        java
    }

    /// Runs to its end, which must be a good one: what it has said.
    fn run(&self, jdk: &Jdk, jar: &Path) -> Output {
        let output = output(&mut self.command(jdk, jar));
        assert!(output.status.success(), "Java {}: {}", jdk.major, err(&output));
        let said = out(&output);
        assert!(said.lines().any(|line| line == "waited"), "{said}");
        output
    }

    /// What is left in a folder of what the agent needed.
    fn left_in(&self, name: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(name)).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| text(path).contains(".tyrion-")).collect()
    }

    /// That its wait is in a log, once, and that nothing is left behind.
    fn check(&self, log: &str) {
        let waits = waits(&self.path(log));
        let own: Vec<_> = waits.iter().filter(|wait| wait.thread == "waiter").collect();
        let [wait] = own[..] else { panic!("{waits:?}") };
        assert!(wait.wait_ns >= 50_000_000, "{wait:?}");
        assert_eq!((self.left_in("tmp"), self.left_in("home")), (Vec::new(), Vec::new()));
    }
}

/// The agent's lines on stderr, without the JVM's own warnings of what is loaded late.
fn told(output: &Output) -> Vec<String> {
    let stderr = err(output);
    let is_ours = |line: &&&str| !line.starts_with("WARNING: ");
    ours(&stderr).iter().filter(is_ours).map(|line| (*line).to_owned()).collect()
}

/// The copies of the agent that were mapped, after checking who may enter their folders.
fn libraries(output: &Output) -> Vec<PathBuf> {
    let said = out(output);
    let lines = said.lines().filter_map(|line| line.strip_prefix("library "));
    let paths = lines.map(|line| {
        let path = line.strip_prefix("rwx------ ");
        PathBuf::from(path.unwrap_or_else(|| panic!("others may enter: {line}")))
    });
    paths.collect()
}

fn at_the_start(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let program = Loads::new().with_jar(jar, "file=a\\,b.log,depth=32").flag("-verbose:class");
    let output = program.run(jdk, jar);
    assert_eq!(told(&output), [""; 0]);
    let [library] = &libraries(&output)[..] else { panic!("{}", out(&output)) };
    assert!(library.starts_with(program.path("tmp").canonicalize().unwrap()), "{library:?}");
    // Programs such as application servers choose their own manager of logs first.
    let loaded = out(&output);
    assert!(loaded.contains("tyrion.agent.Loader"), "{loaded}");
    assert!(!loaded.contains("java.util.logging.LogManager"), "Java {}", jdk.major);
    program.check("a,b.log");
}

fn by_two_class_loaders(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let options = "file=one.log,depth=32";
    let program = Loads::new().load(options).load(options).load("threshold=1us").load("depth=16");
    let output = program.run(jdk, jar);
    assert!(out(&output).contains("loaded [true, true, true, false]"), "{}", out(&output));
    let told = told(&output);
    let [line] = &told[..] else { panic!("{told:?}") };
    assert!(line.starts_with("tyrion: depth cannot change once the agent is loaded"), "{line}");
    // Up to Java 8 a library with native methods belongs to one class loader.
    let copies = if jdk.major == 8 { 4 } else { 1 };
    assert_eq!(libraries(&output).len(), copies, "{}", out(&output));
    program.check("one.log");
    let logs = fs::read_dir(program.folder.path()).unwrap();
    let logs = logs.filter(|entry| text(&entry.as_ref().unwrap().path()).ends_with(".log"));
    assert_eq!(logs.count(), 1);
}

/// `tyrion attach` first, or the jar first: there is one agent, and one log at a time.
fn commands_and_loads_join_each_other(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    for is_attached_first in [true, false] {
        let mut program = Loads::new();
        let [load, end] = ["load", "end"].map(|name| program.path(name));
        program.awaited = [&load, &end].map(|path| text(path).to_owned());
        let mut program = program.load("file=loaded.log");
        let command = &mut program.command(jdk, jar);
        let log = program.path("attached.log");
        let streams = tempfile::tempdir().unwrap();
        let mut running = RunningCommand::of(command, streams, log.clone());
        running.await_line("ready");
        let pid = running.id().to_string();
        let attach = || {
            let attached = run(["attach", &pid, "-o", text(&log)]);
            assert!(attached.status.success(), "{}", err(&attached));
        };
        if is_attached_first {
            attach();
        }
        fs::write(&load, "").unwrap();
        running.await_line("waited");
        let status = run(["status", &pid, "--json"]);
        assert!(status.status.success(), "{}", err(&status));
        let name = if is_attached_first { "attached.log" } else { "loaded.log" };
        assert!(out(&status).contains(name), "{}", out(&status));
        if !is_attached_first {
            attach();
            let status = run(["status", &pid, "--json"]);
            assert!(out(&status).contains("attached.log"), "{}", out(&status));
        }
        let stopped = run(["stop", &pid]);
        assert!(stopped.status.success(), "{}", err(&stopped));
        fs::write(&end, "").unwrap();
        let output = running.finish();
        assert!(output.status.success(), "{}", err(&output));
        assert!(out(&output).contains("loaded [true]"), "{}", out(&output));
        program.awaited.fill("-".to_owned());
        program.check(name);
    }
}

/// One line, and the program runs as without the jar. Not more than that, wherever it was
/// loaded from.
fn where_loading_is_denied(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let (flag, is_denied) = match jdk.major {
        8 => ("-XX:+DisableAttachMechanism", true),
        // Of these versions none forbids a JVM to load an agent into itself.
        9..=20 => ("-XX:-EnableDynamicAgentLoading", false),
        _ => ("-XX:-EnableDynamicAgentLoading", true),
    };
    let programs = [Loads::new().with_jar(jar, "file=a.log"), Loads::new().load("file=a.log")];
    for program in programs {
        let program = program.flag(flag);
        let output = program.run(jdk, jar);
        if !is_denied {
            assert_eq!(told(&output), [""; 0]);
            program.check("a.log");
            continue;
        }
        let told = told(&output);
        let [line] = &told[..] else { panic!("{told:?}") };
        assert!(line.starts_with("tyrion: this JVM does not allow it (-XX:"), "{line}");
        assert!(line.ends_with("; the program runs unprofiled"), "{line}");
        assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
        assert_eq!(libraries(&output), Vec::<PathBuf>::new());
        assert!(!program.path("a.log").exists());
        assert_eq!(program.left_in("tmp"), Vec::<PathBuf>::new());
    }
    // What keeps other processes away: from Java 9 on, this is none.
    let program = Loads::new().with_jar(jar, "file=a.log");
    let program = program.flag("-XX:+DisableAttachMechanism");
    if jdk.major > 8 {
        assert_eq!(told(&program.run(jdk, jar)), [""; 0]);
        program.check("a.log");
    }
}

fn mistakes_are_told_in_one_line(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(other) = jar_for(folder.path(), "other-glibc") else { return };
    for (jar, options, expected) in [
        (jar, "depth=many", "depth=many"),
        (jar, "file=/no/such/folder/a.log", "/no/such/folder/a.log"),
        (jar, "file='\".log", "both kinds of quotation marks"),
        (&*other, "", "there is no agent for "),
    ] {
        // Java 8 has no command, and so no quotation marks.
        if jdk.major == 8 && options.contains('"') {
            continue;
        }
        let program = Loads::new().with_jar(jar, options);
        let output = program.run(jdk, jar);
        let told = told(&output);
        let [line] = &told[..] else { panic!("{options}: {told:?}") };
        assert!(line.contains(expected), "{options}: {line}");
        assert!(line.ends_with("; the program runs unprofiled"), "{line}");
        assert_eq!(program.left_in("tmp"), Vec::<PathBuf>::new(), "{options}");
    }
}

/// By what Java says of the processor, and by which C library is mapped.
fn the_library_is_that_of_the_platform(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let Some(none) = jar_for(folder.path(), "other-glibc") else { return };
    let program = |processor: &str, library: &str| {
        let library = folder.path().join(library);
        fs::write(&library, "mapped").unwrap();
        let program = Loads::new().flag(&format!("-Dos.arch={processor}"));
        program.flag(&format!("-Dmapped={}", text(&library))).load("file=a.log")
    };
    for (processor, library, platform) in [
        ("amd64", "ld-linux-x86-64.so.2", "x86_64-glibc"),
        ("x86_64", "ld-musl-x86_64.so.1", "x86_64-musl"),
        ("amd64", "libc.musl-x86_64.so.1", "x86_64-musl"),
        ("aarch64", "libc.so.6", "aarch64-glibc"),
        ("aarch64", "ld-musl-aarch64.so.1", "aarch64-musl"),
        ("riscv64", "libc.so.6", "riscv64"),
    ] {
        let line = format!(
            "tyrion: there is no agent for {platform} in this jar; the program runs unprofiled"
        );
        assert_eq!(told(&program(processor, library).run(jdk, &none)), [line]);
    }
    // What this machine can load, as that of another, beside others that nobody could load.
    let jar = folder.path().join("tyrion-agent.jar");
    let mut make = Command::new("python3");
    make.arg(root().join("packaging/java_jars.py")).arg(&jar);
    for other in ["x86_64-glibc", "x86_64-musl", "aarch64-glibc"] {
        make.arg(format!("{other}={}", text(&folder.path().join("libc.so.6"))));
    }
    make.arg(format!("aarch64-musl={}", text(&agent())));
    let made = output(make.env("PYTHONDONTWRITEBYTECODE", "1"));
    assert!(made.status.success(), "{}", err(&made));
    let program = program("aarch64", "ld-musl-aarch64.so.1");
    assert_eq!(told(&program.run(jdk, &jar)), [""; 0]);
    program.check("a.log");
}

/// As one that `jlink` made: without the module that has the command.
fn a_jvm_without_management(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    if jdk.major < 9 {
        return;
    }
    let limited = |modules: &str| {
        let program = Loads::new().with_jar(jar, "file=a.log");
        program.flag("--limit-modules").flag(modules).load("file=b.log")
    };
    // With java.management there are beans, but not the JVM's own.
    let [none, beans] = ["java.base,java.instrument", "java.instrument,java.management"];
    for modules in [none, beans] {
        let program = limited(modules);
        let output = program.run(jdk, jar);
        let line = "tyrion: the module jdk.management is missing; give --add-modules \
                    jdk.management, or use -agentpath; the program runs unprofiled";
        assert_eq!(told(&output), [line; 2], "{modules}");
        assert_eq!(program.left_in("tmp"), Vec::<PathBuf>::new());
    }
    // From Java 17 on, HotSpot's list of commands ends early where jdk.jfr is missing.
    for modules in ["jdk.management,jdk.jfr", "jdk.management"] {
        let program = limited(beans).flag("--add-modules").flag(modules);
        let output = program.run(jdk, jar);
        assert_eq!(told(&output), [""; 0], "{modules}");
        assert!(out(&output).contains("loaded [true]"), "{modules}: {}", out(&output));
        assert_eq!((program.left_in("tmp"), program.left_in("home")), (Vec::new(), Vec::new()));
        let program = Loads::new().flag("--limit-modules").flag(beans).load("file=a.log");
        let program = program.flag("--add-modules").flag(modules).load("file=a.log");
        let output = program.run(jdk, jar);
        assert!(out(&output).contains("loaded [true, true]"), "{modules}: {}", out(&output));
        program.check("a.log");
    }
}

/// As `jcmd PID JVMTI.agent_load`, which knows jars, has it.
fn a_jvm_that_runs_loads_the_jar(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let mut program = Loads::new();
    let go = program.path("go");
    text(&go).clone_into(&mut program.awaited[0]);
    let log = program.path("late.log");
    let command = &mut program.command(jdk, jar);
    let mut running = RunningCommand::of(command, tempfile::tempdir().unwrap(), log);
    running.await_line("ready");
    load_java_agent(running.id(), jar, "file=late.log");
    // Java 8 answers before it has loaded it.
    wait_for("log", || {
        out(&run(["status", &running.id().to_string()])).contains("late.log").then_some(())
    });
    fs::write(&go, "").unwrap();
    let output = running.finish();
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(told(&output), [""; 0]);
    program.check("late.log");
}

fn another_folder_where_programs_are_not_allowed(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skip_for_root("to mount a file system without programs");
    }
    let program = Loads::new().with_jar(jar, "file=a.log");
    let java = program.command(jdk, jar);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs -o noexec none \"$0\" && exec \"$@\""]);
    command.arg(program.path("tmp")).arg(java.get_program()).args(java.get_args());
    let output = output(command.current_dir(program.folder.path()));
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(told(&output), [""; 0]);
    let [library] = &libraries(&output)[..] else { panic!("{}", out(&output)) };
    assert!(library.starts_with(program.path("home").canonicalize().unwrap()), "{library:?}");
    program.check("a.log");
}

fn nothing_is_loaded_from_where_others_could_replace_it(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let open = Permissions::from_mode(0o777);
    let program = Loads::new().with_jar(jar, "file=a.log");
    fs::set_permissions(program.path("tmp"), open.clone()).unwrap();
    let output = program.run(jdk, jar);
    assert_eq!(told(&output), [""; 0]);
    let [library] = &libraries(&output)[..] else { panic!("{}", out(&output)) };
    assert!(library.starts_with(program.path("home").canonicalize().unwrap()), "{library:?}");
    program.check("a.log");
    // As /tmp: others may put something beside, and replace nothing.
    fs::set_permissions(program.path("tmp"), Permissions::from_mode(0o1777)).unwrap();
    let [library] = &libraries(&program.run(jdk, jar))[..] else { panic!("not loaded") };
    assert!(library.starts_with(program.path("tmp").canonicalize().unwrap()), "{library:?}");

    let refused = |program: Loads| {
        let output = program.run(jdk, jar);
        let told = told(&output);
        let [line] = &told[..] else { panic!("{told:?}") };
        assert!(line.contains("another user could replace what is in"), "{line}");
        assert_eq!(libraries(&output), Vec::<PathBuf>::new());
        assert!(!program.path("a.log").exists());
        assert_eq!((program.left_in("tmp"), program.left_in("home")), (Vec::new(), Vec::new()));
    };
    let program = Loads::new().with_jar(jar, "file=a.log");
    for name in ["tmp", "home"] {
        fs::set_permissions(program.path(name), open.clone()).unwrap();
    }
    refused(program);
    // A folder that was named is the only one.
    let program = Loads::new().with_jar(jar, "file=a.log");
    let named = program.path("named");
    fs::create_dir(&named).unwrap();
    fs::set_permissions(&named, open).unwrap();
    refused(program.flag(&format!("-Dtyrion.agent.folder={}", text(&named))));

    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skip_for_root("to give folders to another user");
    }
    let program = Loads::new().with_jar(jar, "file=a.log");
    for name in ["tmp", "home"] {
        chown(program.path(name), Some(12_345), None).unwrap();
    }
    refused(program);
}

/// What a library in another place is called tells nothing. One with the same bytes is that of
/// the JVM which has given its properties to this one, and ends with that.
fn a_planted_library_is_not_loaded(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    // It could be loaded, and would be mapped.
    let own = fs::read(agent()).unwrap();
    let other = [&own[..], &[0]].concat();
    for planted in [other, own] {
        is_not_loaded(jdk, jar, &planted);
    }
}

fn is_not_loaded(jdk: &Jdk, jar: &Path, bytes: &[u8]) {
    let program = Loads::new();
    let folder = program.path(".tyrion-0123");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let planted = folder.join("libtyrion_agent.so");
    fs::write(&planted, bytes).unwrap();
    let flag = format!("-Dtyrion.agent.library={}", text(&planted));
    let program = program.with_jar(jar, "file=a.log").flag(&flag);
    let output = program.run(jdk, jar);
    assert_eq!(told(&output), [""; 0]);
    let [library] = &libraries(&output)[..] else { panic!("{}", out(&output)) };
    assert!(library.starts_with(program.path("tmp").canonicalize().unwrap()), "{library:?}");
    program.check("a.log");
}

/// Also those that were given before, and those that cannot change and do not.
fn options_are_followed_each_time(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let paused = "enabled=false,depth=32,file=a.log";
    let program = Loads::new().load(paused).load(paused);
    let output = program.run(jdk, jar);
    assert_eq!(told(&output), [""; 0]);
    assert!(waits(&program.path("a.log")).is_empty());

    let mut program = Loads::new();
    let [go, end] = ["go", "end"].map(|name| program.path(name));
    text(&end).clone_into(&mut program.awaited[1]);
    let options = "mode=trace,threshold=1ms,identity=false,depth=32,file=a.log";
    let program = program.load(options).load("mode=contention,threshold=2ms");
    let program = program.load(&format!("await:{}", text(&go))).load(options);
    let command = &mut program.command(jdk, jar);
    let mut running =
        RunningCommand::of(command, tempfile::tempdir().unwrap(), program.path("a.log"));
    running.await_line("awaits");
    let pid = running.id().to_string();
    let stopped = run(["stop", &pid]);
    assert!(stopped.status.success(), "{}", err(&stopped));
    fs::write(&go, "").unwrap();
    running.await_line("waited");
    let status = out(&run(["status", &pid, "--json"])).to_owned();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let of = ["state", "mode", "threshold_ns"].map(|key| status[key].to_string());
    assert_eq!(of, ["\"recording\"", "\"trace\"", "1000000"], "{status}");
    fs::write(&end, "").unwrap();
    let output = running.finish();
    assert_eq!(told(&output), [""; 0]);
    assert!(out(&output).contains("loaded [true, true, true]"), "{}", out(&output));
}

fn an_interrupted_thread_loads(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let program = Loads::new().load("interrupted:file=a.log");
    assert_eq!(told(&program.run(jdk, jar)), [""; 0]);
    program.check("a.log");
}

/// The library is larger than that.
fn there_is_little_memory(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let program = Loads::new().with_jar(jar, "file=a.log").flag("-Xmx8m");
    assert_eq!(told(&program.run(jdk, jar)), [""; 0]);
    program.check("a.log");
}

fn one_class_loader_needs_one_copy(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    let program = Loads::new().load("file=a.log").load("again:file=a.log").load("again:");
    let output = program.run(jdk, jar);
    assert_eq!(told(&output), [""; 0]);
    assert_eq!(libraries(&output).len(), 1, "{}", out(&output));
    program.check("a.log");
}

/// Java 8 has the first copy as a native library by then, and knows none of its methods. With
/// another user's file, which is what makes it fail, it would print all threads if it were asked.
fn a_load_that_failed_is_not_in_the_way(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    if jdk.major != 8 {
        return;
    }
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skip_for_root("to give files to another user");
    }
    let mut program = Loads::new();
    let [go, next] = ["go", "next"].map(|name| program.path(name));
    text(&go).clone_into(&mut program.awaited[0]);
    let options = "mode=trace,file=a.log";
    let program = program.load(options).load(&format!("await:{}", text(&next))).load(options);
    let command = &mut program.command(jdk, jar);
    let mut running =
        RunningCommand::of(command, tempfile::tempdir().unwrap(), program.path("a.log"));
    running.await_line("ready");
    let trigger = PathBuf::from(format!("/tmp/.attach_pid{}", running.id()));
    fs::write(&trigger, "").unwrap();
    chown(&trigger, Some(12_345), None).unwrap();
    fs::write(&go, "").unwrap();
    running.await_line("awaits");
    fs::remove_file(&trigger).unwrap();
    fs::write(&next, "").unwrap();
    let output = running.finish();
    assert!(output.status.success(), "{}", err(&output));
    let told = told(&output);
    let [line] = &told[..] else { panic!("{told:?}") };
    assert!(line.contains(&format!("{} is another user's", text(&trigger))), "{line}");
    assert!(!out(&output).contains("Full thread dump"), "{}", out(&output));
    assert!(out(&output).contains("loaded [false, true]"), "{}", out(&output));
    program.check("a.log");
}

/// Nobody takes the connections to Java 8's socket, and so the load lasts.
fn a_jvm_that_ends_meanwhile_leaves_nothing(jdk: &Jdk) {
    let Some(jar) = jar() else { return };
    if jdk.major != 8 {
        return;
    }
    let mut program = Loads::new();
    let go = program.path("go");
    text(&go).clone_into(&mut program.awaited[0]);
    let program = program.load("file=a.log");
    let command = &mut program.command(jdk, jar);
    let mut running =
        RunningCommand::of(command, tempfile::tempdir().unwrap(), program.path("a.log"));
    running.await_line("ready");
    let socket = PathBuf::from(format!("/tmp/.java_pid{}", running.id()));
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, Permissions::from_mode(0o600)).unwrap();
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let _first = UnixStream::connect(&socket).unwrap();
    fs::write(&go, "").unwrap();
    // It is loaded, as a native library, before the JVM is asked.
    wait_for("library", || {
        let maps = fs::read_to_string(format!("/proc/{}/maps", running.id())).unwrap();
        maps.contains("libtyrion_agent.so").then_some(())
    });
    running.signal(running.id(), "TERM");
    let output = running.finish();
    fs::remove_file(&socket).unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", err(&output));
    assert_eq!(program.left_in("tmp"), Vec::<PathBuf>::new());
}
