//! Which agent a JVM gets: that for its C library, and none that is for another
//! processor. Programs for musl are played by the headers that tell of it.

use crate::{
    attacks::stage::Stage,
    support::{agent, err, out, stdout_of, text, tyrion},
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

const AGENT: &str = "libtyrion_agent.so";
/// Numbers of processors in ELF files: this one's, and one that nothing here is for.
const OWN: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
const RISCV: u16 = 243;
const MUSL: &str = "/lib/ld-musl-x86_64.so.1";
const GLIBC: &str = "/lib64/ld-linux-x86-64.so.2";

/// The headers of a program for a processor, with this loader.
fn headers(machine: u16, loader: &str) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes[32] = 64; // Where the headers of its parts begin,
    bytes[54] = 56; // how long one is,
    bytes[56] = 1; // and how many there are: one,
    let mut part = [0; 56];
    part[0] = 3; // which is the loader's name,
    part[8] = 120; // right behind it.
    bytes.extend(part);
    bytes.extend(loader.as_bytes());
    bytes.push(0);
    bytes
}

/// An installation as packages have it, and JVMs of several kinds.
struct Installation {
    folder: tempfile::TempDir,
}

impl Installation {
    fn new() -> Installation {
        let installed = Installation { folder: tempfile::tempdir().unwrap() };
        let program = Path::new(env!("CARGO_BIN_EXE_tyrion"));
        fs::create_dir_all(installed.path("bin")).unwrap();
        if fs::hard_link(program, installed.path("bin/tyrion")).is_err() {
            fs::copy(program, installed.path("bin/tyrion")).unwrap();
        }
        installed.put("lib/tyrion/glibc/libtyrion_agent.so", &fs::read(agent()).unwrap());
        installed.put("lib/tyrion/musl/libtyrion_agent.so", &headers(OWN, MUSL));
        installed.put("musl/bin/java", &headers(OWN, MUSL));
        installed.put("glibc/bin/java", &headers(OWN, GLIBC));
        installed.put("riscv/bin/java", &headers(RISCV, GLIBC));
        installed.put("script/bin/java", b"#!/bin/sh\nexit 3\n");
        installed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    fn agent(&self, libc: &str) -> String {
        text(&self.path("lib/tyrion").join(libc).join(AGENT)).to_owned()
    }

    /// Its `tyrion`, with no `java` but this one.
    fn tyrion(&self, java_home: &str) -> Command {
        let mut command = Command::new(self.path("bin/tyrion"));
        for (name, _) in tyrion().get_envs() {
            command.env_remove(name);
        }
        command.env("PATH", "/nowhere").env("JAVA_HOME", self.path(java_home));
        command
    }

    fn agent_path(&self, java_home: &str, arguments: &[&str]) -> String {
        let said = stdout_of(self.tyrion(java_home).arg("agent-path").args(arguments));
        said.trim_end().to_owned()
    }
}

#[test]
fn agent_path_looks_at_the_jvm() {
    let installed = Installation::new();
    let java = |name: &str| text(&installed.path(name).join("bin/java")).to_owned();
    for (home, arguments, expected) in [
        ("musl", &[][..], "musl"),
        ("glibc", &[], "glibc"),
        ("musl", &["--libc", "glibc"], "glibc"),
        ("glibc", &["--libc", "musl"], "musl"),
        ("glibc", &["--jvm", &java("musl")], "musl"),
        ("musl", &["--jvm", &java("glibc")], "glibc"),
        // This very process is built for what the agent is.
        ("musl", &["--jvm", &std::process::id().to_string()], "glibc"),
        // A script does not tell: then the machine counts, on which these tests run.
        ("script", &[], "glibc"),
        ("nowhere", &[], "glibc"),
    ] {
        let found = installed.agent_path(home, arguments);
        assert_eq!(found, installed.agent(expected), "{home} {arguments:?}");
    }
    let script = java("script");
    let output = installed.tyrion("musl").args(["agent-path", "--jvm", &script]).output().unwrap();
    assert!(err(&output).contains("not a program"), "{}", err(&output));
}

#[test]
fn a_jvm_for_another_processor_is_refused() {
    let installed = Installation::new();
    for command in [&["agent-path"][..], &["record", "--", "./start.sh"]] {
        let output = installed.tyrion("riscv").args(command).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(err(&output).contains("use the tyrion for RISC-V"), "{}", err(&output));
    }
}

/// What `record` gives the JVMs that a script starts stands in its environment.
#[test]
fn record_gives_the_agent_for_the_java_of_the_script() {
    let installed = Installation::new();
    installed.put("start.sh", b"#!/bin/sh\necho \"$JAVA_TOOL_OPTIONS\"\n");
    for libc in ["musl", "glibc"] {
        let mut record = installed.tyrion(libc);
        record.current_dir(installed.folder.path());
        let output = record.args(["record", "-o", "a.log", "--", "./start.sh"]).output().unwrap();
        let expected = format!("-agentpath:{}=", installed.agent(libc));
        assert!(out(&output).contains(&expected), "{}{}", out(&output), err(&output));
    }
}

#[test]
fn an_agent_that_is_named_has_to_fit() {
    let installed = Installation::new();
    let named = |libc: &str| {
        let mut command = installed.tyrion("musl");
        command.env("TYRION_AGENT", installed.agent(libc)).arg("agent-path").output().unwrap()
    };
    assert_eq!(out(&named("musl")).trim_end(), installed.agent("musl"));
    let said = err(&named("glibc"));
    assert!(said.contains("is for musl") && said.contains("for glibc"), "{said}");
}

#[test]
fn what_is_not_installed_is_told() {
    let installed = Installation::new();
    fs::remove_file(installed.path("lib/tyrion/musl/libtyrion_agent.so")).unwrap();
    // One beside the program that is for another C library is none.
    fs::copy(agent(), installed.path("bin").join(AGENT)).unwrap();
    let output = installed.tyrion("musl").arg("agent-path").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("no libtyrion_agent.so for musl in"), "{}", err(&output));
}

#[test]
fn agent_path_copies_into_a_folder() {
    let installed = Installation::new();
    fs::create_dir(installed.path("shared")).unwrap();
    let copy = installed.path("shared").join(AGENT);
    // Twice: what is there is replaced, as when a pod starts again.
    for _ in 0..2 {
        let mut command = installed.tyrion("musl");
        command.current_dir(installed.folder.path()).args(["agent-path", "--into", "shared"]);
        assert_eq!(stdout_of(&mut command).trim_end(), text(&copy));
        assert_eq!(fs::read(&copy).unwrap(), headers(OWN, MUSL));
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(installed.path("shared")).unwrap().count(), 1);
    }
    let output =
        installed.tyrion("musl").args(["agent-path", "--into", "/no/such"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("/no/such/libtyrion_agent.so: "), "{}", err(&output));
}

/// Nothing is sent to a JVM that could not load the agent.
#[test]
fn attach_refuses_another_c_library_and_another_processor() {
    let Some(stage) = Stage::set() else { return };
    fs::write(stage.path("jvm/libjvm.so"), headers(RISCV, GLIBC)).unwrap();
    let jvm = stage.play(&stage.jvm());
    let said = stage.refused(&["attach"], jvm.id());
    assert!(said.contains("use the tyrion for RISC-V"), "{said}");
    assert!(!jvm.has_said("asked") && !jvm.has_said("request"));
    drop(jvm);
    fs::write(stage.path("jvm/libjvm.so"), headers(OWN, GLIBC)).unwrap();
    fs::write(stage.agent(), headers(OWN, MUSL)).unwrap();
    let jvm = stage.play(&stage.jvm());
    let said = stage.refused(&["attach"], jvm.id());
    assert!(said.contains("runs on glibc") && said.contains("for musl"), "{said}");
    assert!(!jvm.has_said("asked") && !jvm.has_said("request"));
}
