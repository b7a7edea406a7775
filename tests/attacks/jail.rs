//! Root folders of their own, with what a JVM needs in them.

use super::{
    actor::ActorPart,
    stage::{NOBODY, Stage},
};
use crate::support::{Jdk, classes};
use std::{
    ffi::OsString,
    os::unix::fs::{lchown, symlink},
    path::{Path, PathBuf},
};

/// Gives a file or a link to a user.
pub fn give(path: &Path, uid: u32) {
    lchown(path, Some(uid), Some(uid)).unwrap();
}

/// A root folder of nobody's with a /tmp, as a container's that has its root
/// folder from an image.
pub fn jail(stage: &Stage) -> PathBuf {
    let jail = stage.folder("jail", 0o755);
    stage.folder("jail/tmp", 0o1777);
    stage.folder("jail/tmp/tyrion", 0o755);
    for name in ["", "tmp", "tmp/tyrion"] {
        give(&jail.join(name), NOBODY);
    }
    jail
}

/// The command line of a program that waits for locks, with `java` and the
/// classes in these folders.
pub fn storm(jdk: &Path, classes: &Path) -> Vec<OsString> {
    let java = jdk.join("bin/java");
    let flags = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp"];
    let words = ["tyrion.truth.Truth", "storm", "60", "lock"];
    let line = [java.into_os_string()].into_iter().chain(flags.map(OsString::from));
    line.chain([classes.into()]).chain(words.map(OsString::from)).collect()
}

/// A JVM in a root folder of its own; `/proc` is still to be mounted.
pub fn contained(stage: &Stage, jail: &Path, jdk: &Jdk) -> ActorPart {
    let home = jdk.bin().parent().unwrap().canonicalize().unwrap();
    let mut mounts = vec![(home, jail.join("jdk")), (classes(), jail.join("classes"))];
    for name in ["usr", "lib", "lib64", "etc", "dev"] {
        let path = Path::new("/").join(name);
        match path.read_link() {
            Ok(target) => symlink(target, jail.join(name)).unwrap(),
            Err(_) => mounts.push((path, jail.join(name))),
        }
    }
    mounts.retain(|(from, _)| from.exists());
    for (_, to) in &mounts {
        std::fs::create_dir(to).unwrap();
    }
    stage.folder("jail/proc", 0o755);
    ActorPart {
        uid: NOBODY,
        mounts,
        root: Some(jail.to_owned()),
        folder: "/".into(),
        program: Some(storm(Path::new("/jdk"), Path::new("/classes"))),
        ..ActorPart::default()
    }
}
