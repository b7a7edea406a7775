//! JVMs in containers, without an engine for them: process ids, mounts and root
//! folder of their own, another user, file systems that cannot be written to.
//! What others may do to whoever looks into such a place is in `attacks`.

use crate::{
    attacks::{
        actor::ActorPart,
        jail::{contained, jail},
        stage::{Actor, NOBODY, STRANGER, Stage, TALKING},
    },
    support::{
        Jdk, agent, err, info, needs, on_jdks, out, output_in_time, root, stdout_of, text, wait_for,
    },
};
use serde_json::Value;
use std::{
    fs::Permissions,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

on_jdks!(a_container_is_recorded_from_outside: ends, everywhere three);
on_jdks!(a_root_folder_is_a_path_here: one);
on_jdks!(a_root_folder_may_be_read_only: one);
on_jdks!(without_a_tmp_the_way_out_is_named: one);
on_jdks!(a_tmp_without_programs_is_told: one);
on_jdks!(a_full_tmp_is_told: one);
on_jdks!(an_image_with_the_agent_needs_no_copy: one);
on_jdks!(a_user_namespace_is_no_hindrance: two);
on_jdks!(a_log_goes_where_the_jvm_can_write: one);
on_jdks!(a_tmp_open_to_others_is_vouched_for: one);
on_jdks!(a_copy_that_was_removed_is_not_needed: ends, everywhere three);
on_jdks!(a_sidecar_of_the_same_user_works: one);

/// What a container without a /tmp is told to do.
const WAY_OUT: &str = "-agentpath";

/// A container: the first process of its own, in a root folder of its own.
fn container(stage: &Stage, jail: &Path, jdk: &Jdk) -> ActorPart {
    ActorPart { is_contained: true, pivots: true, ..contained(stage, jail, jdk) }
}

/// A path of the JVM's, as it is from here.
fn inside(jvm: &Actor, path: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/root{path}", jvm.id()))
}

fn json(stage: &Stage, command: &[&str], pid: u32) -> Value {
    let command = [command, &["--json"]].concat();
    serde_json::from_str(&stage.worked(&command, pid)).unwrap()
}

/// Runs all commands on a JVM that has not been recorded: where its log is, by
/// its own path and by ours.
fn record(stage: &Stage, jvm: &Actor) -> (String, PathBuf) {
    let pid = jvm.id();
    assert!(stage.worked(&["status"], pid).contains("not loaded"));
    let answer = json(stage, &["attach", "--threshold", "0"], pid);
    assert_eq!(answer["state"], "recording");
    let log = answer["log"].as_str().unwrap().to_owned();
    let here = PathBuf::from(answer["log_here"].as_str().unwrap());
    assert!(here.is_file(), "{here:?}");
    let status = stage.worked(&["status"], pid);
    let line = format!("\nlog here      {}\n", here.display());
    assert_eq!(status.contains(&line), here != Path::new(&log), "{status}");
    assert!(stage.worked(&["sample", "--once"], pid).contains("storm-"));
    assert!(stage.worked(&["top", "--once", "--interval", "500ms"], pid).contains("waits/s"));
    assert_eq!(json(stage, &["stop"], pid)["log_here"], answer["log_here"]);
    let facts = info(&here);
    assert!(facts["events"].as_u64() > Some(0), "{facts}");
    (log, here)
}

/// What is left of the folder that a command has put its copy of the agent into.
fn copies(tmp: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(tmp).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| text(path).contains("/.tyrion-");
    entries.filter(named).collect()
}

/// Ends it in an orderly way.
fn end(jvm: &Actor) {
    // SAFETY: sends a signal to the process that the test has started.
    unsafe { libc::kill(jvm.id() as libc::pid_t, libc::SIGTERM) };
    let gone = Path::new("/proc").join(jvm.id().to_string()).join("exe");
    wait_for("end of the JVM", || std::fs::read_link(&gone).is_err().then_some(()));
}

fn a_container_is_recorded_from_outside(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let jvm = stage.play(&container(&stage, &jail, jdk));
    let (log, here) = record(&stage, &jvm);
    assert_eq!((log.as_str(), here), ("/tmp/tyrion-1.log", inside(&jvm, "/tmp/tyrion-1.log")));
    // The copy of the agent is there as long as the JVM, the log is the user's.
    assert_eq!(copies(&jail.join("tmp")).len(), 1);
    end(&jvm);
    assert_eq!(copies(&jail.join("tmp")), [""; 0].map(PathBuf::from));
    assert!(jail.join("tmp/tyrion-1.log").is_file());
}

/// With the same mounts the log has a path that outlives the JVM.
fn a_root_folder_is_a_path_here(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    if !needs(&["nsenter"]) {
        return;
    }
    let jail = jail(&stage);
    let mut part = contained(&stage, &jail, jdk);
    part.mounts.push(("/proc".into(), jail.join("proc")));
    let jvm = stage.play(&part);
    let log = format!("tmp/tyrion-{}.log", jvm.id());
    for command in [&["attach"][..], &["status"], &["stop"]] {
        // The JVM has the mounts of its own that the root folder needs.
        let mut nsenter = Command::new("nsenter");
        let tyrion = stage.command(command, jvm.id());
        nsenter.args(["-t", &jvm.id().to_string(), "-m"]).arg(tyrion.get_program());
        nsenter.args(tyrion.get_args()).env("TYRION_AGENT", stage.agent());
        let said = output_in_time(&mut nsenter);
        stage.check(&format!("{command:?}"), &said);
        assert!(said.status.success(), "{}", err(&said));
        let lines = format!("log           /{log}\nlog here      {}\n", jail.join(&log).display());
        assert!(out(&said).contains(&lines), "{}", out(&said));
    }
    end(&jvm);
    assert!(jail.join(&log).is_file());
}

fn a_root_folder_may_be_read_only(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let part = container(&stage, &jail, jdk);
    let tmpfs = vec![(jail.join("tmp"), "mode=1777".to_owned())];
    let jvm = stage.play(&ActorPart { is_read_only: true, tmpfs, ..part });
    assert!(std::fs::write(inside(&jvm, "/x"), "").is_err(), "it is not read-only");
    record(&stage, &jvm);
}

/// At once, and without a word to the JVM.
fn without_a_tmp_the_way_out_is_named(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let part = container(&stage, &jail, jdk);
    for has_tmp in [true, false] {
        if !has_tmp {
            std::fs::remove_dir_all(jail.join("tmp")).unwrap();
        }
        let jvm = stage.play(&ActorPart { is_read_only: true, ..part.clone() });
        let begin = Instant::now();
        for command in TALKING {
            let said = stage.refused(command, jvm.id());
            assert!(said.contains("its /tmp") && said.contains(WAY_OUT), "{command:?}: {said}");
        }
        let took = begin.elapsed();
        assert!(took.as_secs() < 30, "a command waited for the JVM: {took:?}");
        assert!(!jvm.said().contains("Full thread dump"), "{}", jvm.said());
    }
}

/// `docker run --tmpfs /tmp` mounts it so.
fn a_tmp_without_programs_is_told(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let tmpfs = vec![(jail.join("tmp"), "mode=1777".to_owned())];
    let part = ActorPart { tmpfs, no_programs: true, ..container(&stage, &jail, jdk) };
    let jvm = stage.play(&part);
    for command in [&["attach"][..], &["sample", "--once"]] {
        let said = stage.refused(command, jvm.id());
        assert!(said.contains("noexec") && said.contains(WAY_OUT), "{said}");
    }
    assert!(stage.worked(&["status"], jvm.id()).contains("not loaded"));
    assert_eq!(copies(&inside(&jvm, "/tmp")), [""; 0].map(PathBuf::from));
}

/// There is no room in it for a copy of the agent, or not even for an answer: it is said what to
/// do, and that is never to restart the JVM. Once it is done, all works.
fn a_full_tmp_is_told(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let mut part = container(&stage, &jail, jdk);
    let data = stage.folder("data", 0o777);
    let theirs = jail.join(data.strip_prefix("/tmp").unwrap());
    std::fs::create_dir_all(&theirs).unwrap();
    part.mounts.push((data.clone(), theirs));
    let log = format!("/{}/a.log", data.strip_prefix("/tmp").unwrap().display());
    let play = |size: &str| {
        let tmpfs = vec![(jail.join("tmp"), format!("mode=1777,size={size}"))];
        stage.play(&ActorPart { tmpfs, ..part.clone() })
    };
    let attach = ["attach", "-o", &log];
    let jvm = play("64k");
    for command in [&attach[..], &["sample", "--once"]] {
        let said = stage.refused(command, jvm.id());
        let is_told = ["/tmp: ", "no room for a copy", WAY_OUT].iter().all(|it| said.contains(it));
        assert!(is_told && !said.contains("estart"), "{said}");
    }
    assert_eq!(copies(&inside(&jvm, "/tmp")), [""; 0].map(PathBuf::from));
    drop(jvm);
    let jvm = play("64m");
    stage.worked(&attach, jvm.id());
    let ballast = inside(&jvm, "/tmp/ballast");
    assert!(std::fs::write(&ballast, vec![0; 64 << 20]).is_err(), "until nothing more fits");
    for command in TALKING {
        let said = stage.refused(command, jvm.id());
        assert!(said.contains("its /tmp: ") && said.contains("need some room there"), "{said}");
        assert!(!said.contains("estart"), "{said}");
    }
    std::fs::remove_file(ballast).unwrap();
    for command in [&["status"][..], &["sample", "--once"], &["stop"]] {
        stage.worked(command, jvm.id());
    }
    // What was in the way has left nothing behind.
    assert_eq!(copies(&inside(&jvm, "/tmp")).len(), 1);
}

/// The same file by the same path is loaded from there, also where /tmp allows no
/// programs.
fn an_image_with_the_agent_needs_no_copy(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let part = container(&stage, &jail, jdk);
    let installed = jail.join(stage.agent().strip_prefix("/").unwrap());
    let tmp = stage.path("jail/tmp");
    std::fs::create_dir_all(installed.parent().unwrap()).unwrap();
    std::fs::copy(agent(), &installed).unwrap();
    // Others may write to what is not root's or the JVM's user's.
    for foreign in [true, false] {
        let owner = if foreign { STRANGER } else { 0 };
        chown(&installed, Some(owner), Some(owner)).unwrap();
        let jvm = stage.play(&part);
        stage.worked(&["attach"], jvm.id());
        assert_eq!(copies(&tmp).len(), usize::from(foreign));
        end(&jvm);
    }
}

/// As of a rootless engine: root there is somebody else here.
fn a_user_namespace_is_no_hindrance(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let jvm = stage.play(&ActorPart { maps_users: true, ..container(&stage, &jail, jdk) });
    let users = std::fs::read_to_string(format!("/proc/{}/uid_map", jvm.id())).unwrap();
    assert_eq!(users.split_whitespace().collect::<Vec<_>>(), ["0", "65534", "1"]);
    record(&stage, &jvm);
}

/// What cannot be is refused before anything is loaded.
fn a_log_goes_where_the_jvm_can_write(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let mut part = container(&stage, &jail, jdk);
    let data = stage.folder("data", 0o777);
    std::fs::create_dir_all(jail.join(data.strip_prefix("/").unwrap())).unwrap();
    part.mounts.push((data.clone(), jail.join(data.strip_prefix("/").unwrap())));
    stage.folder("jail/closed", 0o755);
    let jvm = stage.play(&part);
    let only_here = stage.folder("only-here", 0o777).join("a.log");
    for log in [text(&only_here), "missing/a.log", "/missing/a.log", "/closed/a.log", "/proc/a.log"]
    {
        for command in [&["attach"][..], &["sample", "--once"]] {
            let said = stage.refused(&[command, &["-o", log]].concat(), jvm.id());
            assert!(said.contains("cannot write its log to /"), "{log}: {said}");
        }
    }
    assert!(stage.worked(&["status"], jvm.id()).contains("not loaded"));
    // A volume has the same path on both sides.
    let log = data.join("a-%p.log");
    let answer = json(&stage, &["attach", "-o", text(&log)], jvm.id());
    assert_eq!(answer["log"], text(&data.join("a-1.log")));
    assert_eq!(answer["log_here"], answer["log"]);
    end(&jvm);
    assert!(info(&data.join("a-1.log"))["end_ns"] != 0);
    // A relative one is in the JVM's /tmp, and a sample says so.
    let jvm = stage.play(&part);
    let sample = stage.run(&["sample", "--once", "-o", "a.log"], jvm.id());
    let note = format!(
        "the log is /tmp/a.log for the JVM, and here {}",
        text(&inside(&jvm, "/tmp/a.log"))
    );
    assert!(err(&sample).contains(&note), "{}", err(&sample));
}

/// A volume of Kubernetes that is mounted at /tmp lets everybody replace files.
fn a_tmp_open_to_others_is_vouched_for(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    std::fs::set_permissions(jail.join("tmp"), Permissions::from_mode(0o777)).unwrap();
    let jvm = stage.play(&container(&stage, &jail, jdk));
    for command in TALKING {
        let said = stage.refused(command, jvm.id());
        assert!(said.contains("--trust-tmp") && said.contains("chmod 1777"), "{said}");
    }
    for command in [&["attach"][..], &["status"], &["sample", "--once"], &["stop"]] {
        stage.worked(&[command, &["--trust-tmp"]].concat(), jvm.id());
    }
}

/// Somebody has emptied /tmp: HotSpot gives the library that it has by its name.
fn a_copy_that_was_removed_is_not_needed(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let jvm = stage.play(&container(&stage, &jail, jdk));
    stage.worked(&["attach"], jvm.id());
    for folder in copies(&jail.join("tmp")) {
        std::fs::remove_dir_all(folder).unwrap();
    }
    for command in TALKING {
        stage.worked(command, jvm.id());
    }
    assert!(!jvm.said().contains("stack guard"), "{}", jvm.said());
}

/// It shares process ids with the JVM, as with `shareProcessNamespace` or
/// `kubectl debug`, and has files of its own.
fn a_sidecar_of_the_same_user_works(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    if !needs(&["nsenter", "unshare", "setpriv"]) {
        return;
    }
    let program = stage.path("here/tyrion");
    std::fs::copy(env!("CARGO_BIN_EXE_tyrion"), &program).unwrap();
    let jail = jail(&stage);
    let jvm = stage.play(&container(&stage, &jail, jdk));
    let run = |rights: &str, command: &str| {
        let script = format!(
            "mount -t proc proc /proc && exec setpriv {rights} {} {command} 1",
            program.display()
        );
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["-t", &jvm.id().to_string(), "-p", "unshare", "-m", "sh", "-c", &script]);
        let said = output_in_time(nsenter.env("TYRION_AGENT", stage.agent()).current_dir("/"));
        (said.status.success(), format!("{}{}", out(&said), err(&said)))
    };
    let without = |capabilities: &str| {
        format!("--bounding-set {capabilities} --inh-caps {capabilities} --no-new-privs")
    };
    // Root with what engines leave it, which is not enough to look at others.
    let (works, said) = run(&without("-sys_ptrace,-sys_admin,-perfmon"), "attach");
    assert!(!works && said.contains("with id 65534, or with the capability SYS_PTRACE"), "{said}");
    // With that, but it may not become the JVM's user.
    let (works, said) = run(&without("-setuid,-setgid"), "attach");
    assert!(!works && said.contains("run tyrion as that user, with id 65534"), "{said}");
    let nobody = format!("--reuid {NOBODY} --regid {NOBODY} --clear-groups {}", without("-all"));
    for command in ["attach", "status", "sample --once", "top --once --interval 500ms", "stop"] {
        let (works, said) = run(&nobody, command);
        assert!(works, "{command}: {said}");
        let here = "log here      /proc/1/root/tmp/tyrion-1.log";
        assert!(!command.starts_with("st") || said.contains(here), "{said}");
    }
}

/// Nothing is sent to a JVM whose C library is another one.
#[test]
fn musl_is_refused_before_anything_is_loaded() {
    let Some(stage) = Stage::set() else { return };
    let mut part = stage.jvm();
    let musl = stage.path("jvm/ld-musl-x86_64.so.1");
    std::fs::write(&musl, [0; 4096]).unwrap();
    part.maps.push(musl);
    let jvm = stage.play(&part);
    for command in [&["attach"][..], &["sample", "--once"]] {
        let said = stage.refused(command, jvm.id());
        assert!(said.contains("runs on musl") && said.contains("glibc"), "{said}");
    }
    assert!(!jvm.has_said("asked") && !jvm.has_said("request"));
}

/// The document says what an image must have.
#[test]
fn what_the_library_needs_is_documented() {
    if !needs(&["readelf"]) {
        return;
    }
    let document = std::fs::read_to_string(root().join("docs/containers.md")).unwrap();
    let dynamic = stdout_of(Command::new("readelf").args(["-dW"]).arg(agent()));
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    for library in needed.map(|line| line.split(['[', ']']).nth(1).unwrap()) {
        assert!(document.contains(&format!("`{library}`")), "{library}");
    }
    let versions = stdout_of(Command::new("readelf").args(["-VW"]).arg(agent()));
    let numbers = versions.split("GLIBC_2.").skip(1);
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok();
    let newest = numbers.filter_map(number).max().unwrap();
    let told = document.split("glibc 2.").skip(1).filter_map(number).max();
    assert!(told >= Some(newest), "glibc 2.{newest}");
}
