//! Something of the attacker's where the file belongs that asks a JVM for its
//! socket: `.attach_pidN` in the JVM's working folder or its /tmp.

use super::{
    actor::{ActorPart, ActorReply, Quit},
    stage::{ASKING, COMMANDS, NOBODY, STRANGER, Stage},
};
use std::{
    fs::File,
    os::unix::fs::{lchown, symlink},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A JVM that answers, with our agent loaded and without.
fn jvms(stage: &Stage) -> [ActorPart; 2] {
    let answering =
        |part| ActorPart { reply: ActorReply::Text("state=recording\n".to_owned()), ..part };
    [answering(stage.jvm()), answering(stage.recorded_jvm())]
}

/// Where the file belongs.
fn trigger(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!(".attach_pid{pid}"))
}

#[test]
fn a_link_in_the_working_folder_is_not_followed() {
    let Some(stage) = Stage::set() else { return };
    for part in jvms(&stage) {
        for command in COMMANDS {
            for target in [stage.secret(), stage.path("root/new")] {
                let jvm = stage.play(&part);
                let link = trigger(&stage.home(), jvm.id());
                symlink(&target, &link).unwrap();
                lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
                stage.run(command, jvm.id());
                assert_eq!(link.read_link().unwrap(), target, "{command:?}: it was removed");
            }
        }
    }
}

#[test]
fn a_link_in_its_tmp_is_not_followed() {
    let Some(stage) = Stage::set() else { return };
    for part in jvms(&stage) {
        for (command, is_asked) in asked(&part) {
            for owner in [NOBODY, STRANGER, 0] {
                for target in [stage.secret(), stage.path("root/new")] {
                    // Its working folder has gone: nothing can be made there.
                    let gone = stage.folder("gone", 0o755);
                    let jvm = stage.play(&ActorPart { folder: gone.clone(), ..part.clone() });
                    std::fs::remove_dir(&gone).unwrap();
                    let link = trigger(Path::new("/tmp"), jvm.id());
                    symlink(&target, &link).unwrap();
                    lchown(&link, Some(owner), Some(owner)).unwrap();
                    let output = stage.run(command, jvm.id());
                    let said = String::from_utf8_lossy(&output.stderr);
                    assert!(!is_asked || said.contains("is in the way"), "{command:?}: {said}");
                    assert!(!jvm.has_said("asked"), "{command:?}");
                    assert_eq!(link.read_link().unwrap(), target, "{command:?}: it was removed");
                }
            }
        }
    }
}

/// Commands, and whether they ask this JVM for anything.
fn asked(part: &ActorPart) -> impl Iterator<Item = (&'static [&'static str], bool)> {
    let is_loaded = part.maps.len() > 1;
    COMMANDS.into_iter().map(move |command| {
        let is_asked = match command[0] {
            "top" => false,
            "status" | "stop" => is_loaded,
            _ => true,
        };
        (command, is_asked)
    })
}

#[test]
fn nothing_else_in_its_place_is_waited_for() {
    let Some(stage) = Stage::set() else { return };
    let [_, part] = jvms(&stage);
    for command in ASKING {
        for make in [make_fifo, make_folder, make_socket, make_strangers_file] {
            let jvm = stage.play(&part);
            let path = trigger(Path::new("/tmp"), jvm.id());
            make(&path);
            let said = stage.refused(command, jvm.id());
            assert!(said.contains("is in the way"), "{command:?}: {said}");
            assert!(path.symlink_metadata().is_ok(), "{command:?}: it was removed");
            assert!(!jvm.has_said("asked"), "{command:?}");
        }
    }
}

fn make_fifo(path: &Path) {
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn make_folder(path: &Path) {
    std::fs::create_dir(path).unwrap();
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn make_socket(path: &Path) {
    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

/// The JVM would not look at it.
fn make_strangers_file(path: &Path) {
    std::fs::write(path, "").unwrap();
    lchown(path, Some(STRANGER), Some(STRANGER)).unwrap();
}

#[test]
fn a_jvm_that_is_asked_gets_its_file_and_no_other() {
    let Some(stage) = Stage::set() else { return };
    for command in ASKING {
        let [_, part] = jvms(&stage);
        let jvm = stage.play(&part);
        stage.run(command, jvm.id());
        assert!(jvm.has_said("asked") && jvm.has_said("request"), "{command:?}: {}", jvm.said());
        assert!(!trigger(Path::new("/tmp"), jvm.id()).exists(), "{command:?}: it is left behind");
        let left: Vec<_> = std::fs::read_dir(stage.home()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_jvm_that_ends_meanwhile_is_told() {
    let Some(stage) = Stage::set() else { return };
    for command in ASKING {
        let jvm = stage.play(&ActorPart { quit: Quit::End, ..stage.recorded_jvm() });
        let said = stage.refused(command, jvm.id());
        assert!(said.contains(&format!("process {} has ended", jvm.id())), "{command:?}: {said}");
        assert!(jvm.has_said("asked"), "{command:?}");
    }
}

/// A command that was killed has left its file: the next one removes it.
#[test]
fn a_file_that_was_left_behind_is_removed() {
    let Some(stage) = Stage::set() else { return };
    let [_, part] = jvms(&stage);
    for (age_s, stays) in [(3600, false), (0, true)] {
        let jvm = stage.play(&part);
        let path = trigger(Path::new("/tmp"), jvm.id());
        std::fs::write(&path, "").unwrap();
        let made = SystemTime::now() - Duration::from_secs(age_s);
        File::options().write(true).open(&path).unwrap().set_modified(made).unwrap();
        lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        assert!(stage.worked(&["status"], jvm.id()).contains("recording"));
        // One that is new is another command's.
        assert_eq!(path.exists(), stays, "{age_s} s");
    }
}
