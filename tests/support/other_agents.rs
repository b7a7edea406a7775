//! Other agents for the JVMs of the tests.

use super::{classes, output, root, skip, text, wait_for};
use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The agent `tyrion.agents.Retransformer` in a jar.
pub fn retransformer(folder: &Path) -> PathBuf {
    agent_of(folder, "Retransformer")
}

/// The agent `tyrion.agents.Redefiner` in a jar.
pub fn redefiner(folder: &Path) -> PathBuf {
    agent_of(folder, "Redefiner")
}

/// The agent `tyrion.agents.Instruments` in a jar.
pub fn instruments(folder: &Path) -> PathBuf {
    agent_of(folder, "Instruments")
}

fn agent_of(folder: &Path, name: &str) -> PathBuf {
    let (jar, manifest) = (folder.join(format!("{name}.jar")), folder.join("manifest"));
    let class = format!("tyrion.agents.{name}");
    let can = "Can-Retransform-Classes: true\nCan-Redefine-Classes: true\n";
    let lines = format!("Premain-Class: {class}\nAgent-Class: {class}\n{can}");
    fs::write(&manifest, lines).unwrap();
    let javac = root().join("target/jdks/javac").canonicalize().unwrap();
    let mut pack = Command::new(javac.with_file_name("jar"));
    pack.args(["--create", "--file", text(&jar), "--manifest", text(&manifest)]);
    pack.args(["-C", text(&classes()), "tyrion/agents"]);
    assert!(output(&mut pack).status.success());
    jar
}

/// An agent that `tests/setup/agents.sh` gets, or `None` after a message.
pub fn other_agent(name: &str) -> Option<PathBuf> {
    let file = root().join("target/agents").join(name);
    if file.is_file() {
        return Some(file);
    }
    skip(&format!("{}: run tests/setup/agents.sh", file.display()));
    None
}

/// Loads a Java agent into a JVM that runs, as `jcmd PID JVMTI.agent_load` does, which
/// a runtime without tools lacks.
pub fn load_java_agent(pid: u32, jar: &Path, arguments: &str) {
    let socket = PathBuf::from(format!("/tmp/.java_pid{pid}"));
    if !socket.exists() {
        let trigger = format!("/proc/{pid}/cwd/.attach_pid{pid}");
        File::create(&trigger).unwrap();
        let kill = Command::new("kill").args(["-QUIT", &pid.to_string()]).status();
        assert!(kill.unwrap().success());
        wait_for("socket of the JVM", || socket.exists().then_some(()));
        let _ = fs::remove_file(&trigger);
    }
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let command = format!("1\0load\0instrument\0false\0{}={arguments}\0", text(jar));
    stream.write_all(command.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("0\n"), "{answer}");
}
