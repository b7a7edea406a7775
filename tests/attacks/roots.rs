//! Processes with other files than ours: a container's root folder, a /tmp of
//! its own. Their absolute paths are theirs, and what lies there already is
//! nobody's to be believed.

use super::{
    actor::{ActorPart, ActorReply, Quit},
    jail::{contained, give, jail, storm},
    stage::{ASKING, COMMANDS, NOBODY, STRANGER, Stage, TALKING},
};
use crate::support::{Jdk, classes, err, needs, on_jdks, output, output_in_time, sample_log};
use std::{
    fs::{File, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

on_jdks!(no_planted_library_is_loaded: ends, everywhere three);
on_jdks!(a_tmp_of_its_own_is_no_hindrance: ends, everywhere three);

/// The names under which a command might look for a library in its /tmp.
const NAMES: [&str; 4] = [
    concat!("libtyrion_agent-", env!("CARGO_PKG_VERSION"), ".so"),
    "libtyrion_agent.so",
    ".tyrion-libtyrion_agent.so",
    "tyrion/libtyrion_agent.so",
];

/// What passes for a JVM in a root folder of its own; the agent may be loaded.
fn jailed(stage: &Stage, jail: &Path, is_recorded: bool) -> ActorPart {
    stage.folder("jail/jvm", 0o755);
    let mut maps = Vec::new();
    for name in ["libjvm.so", "libtyrion_agent.so"].iter().take(1 + usize::from(is_recorded)) {
        std::fs::copy(stage.path("jvm").join(name), jail.join("jvm").join(name)).unwrap();
        maps.push(Path::new("/jvm").join(name));
    }
    let reply = "state=recording\nlog=/tmp/a.log\nbefore=new\nsample=1\n".to_owned();
    ActorPart {
        uid: NOBODY,
        folder: "/".into(),
        root: Some(jail.to_owned()),
        maps,
        reply: ActorReply::Text(reply),
        ..ActorPart::default()
    }
}

#[test]
fn links_in_another_root_folder_lead_nowhere() {
    let Some(mut stage) = Stage::set() else { return };
    let secret = stage.keep("a.log", &std::fs::read(sample_log()).unwrap());
    for (is_recorded, pivots) in [(false, false), (false, true), (true, false), (true, true)] {
        for target in [stage.path("root/new"), stage.secret(), secret.clone()] {
            let jail = jail(&stage);
            // Absolute, and by as many steps up as there may be.
            let up = PathBuf::from(format!("../../../../../../..{}", target.display()));
            for (target, command) in
                [&target, &up].into_iter().flat_map(|target| COMMANDS.map(|it| (target, it)))
            {
                let part = ActorPart { pivots, ..jailed(&stage, &jail, is_recorded) };
                for name in NAMES.iter().chain([&"a.log"]) {
                    let link = jail.join("tmp").join(name);
                    symlink(target, &link).unwrap();
                    give(&link, NOBODY);
                }
                let jvm = stage.play(&part);
                let output = stage.run(command, jvm.id());
                let works = command[0] == "status"
                    || command[0] == "attach"
                    || command[0] == "stop" && is_recorded;
                assert_eq!(output.status.success(), works, "{command:?} {}", err(&output));
                for name in NAMES.iter().chain([&"a.log"]) {
                    std::fs::remove_file(jail.join("tmp").join(name)).unwrap();
                }
            }
            std::fs::remove_dir_all(jail).unwrap();
        }
    }
}

/// Its /tmp itself is a link to a folder of root's, outside.
#[test]
fn its_tmp_is_not_somewhere_else() {
    let Some(stage) = Stage::set() else { return };
    for is_recorded in [false, true] {
        let jail = jail(&stage);
        let up = format!("../../../..{}", stage.path("root").display());
        for target in [stage.path("root"), up.into(), "/proc/self/root/tmp".into()] {
            let part = ActorPart { quit: Quit::End, ..jailed(&stage, &jail, is_recorded) };
            let jvm = stage.play(&part);
            std::fs::remove_dir_all(jail.join("tmp")).unwrap();
            symlink(&target, jail.join("tmp")).unwrap();
            give(&jail.join("tmp"), NOBODY);
            for command in ASKING {
                let said = stage.refused(command, jvm.id());
                assert!(said.contains("its /tmp"), "{target:?}, {command:?}: {said}");
            }
            assert!(!jvm.has_said("asked"), "{target:?}");
            std::fs::remove_file(jail.join("tmp")).unwrap();
            std::fs::create_dir(jail.join("tmp")).unwrap();
        }
        std::fs::remove_dir_all(jail).unwrap();
    }
}

/// A /tmp that everybody may change in any way is one that nobody can use.
#[test]
fn its_tmp_is_not_everybodys() {
    let Some(stage) = Stage::set() else { return };
    for (mode, owner) in [(0o777, NOBODY), (0o1777, STRANGER), (0o775, NOBODY)] {
        let jail = jail(&stage);
        std::fs::set_permissions(jail.join("tmp"), Permissions::from_mode(mode)).unwrap();
        give(&jail.join("tmp"), owner);
        let jvm = stage.play(&jailed(&stage, &jail, true));
        for command in ASKING {
            let said = stage.refused(command, jvm.id());
            assert!(said.contains("its /tmp"), "{mode:o}, {command:?}: {said}");
        }
        std::fs::remove_dir_all(jail).unwrap();
    }
}

/// What is mounted over a name of ours is not looked into: whoever answers for
/// its files may not answer.
#[test]
fn nothing_that_is_mounted_is_swept_away() {
    let Some(stage) = Stage::set() else { return };
    let jail = jail(&stage);
    let names = ["00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"];
    let [mounted, left] = names.map(|name| format!("jail/tmp/.tyrion-{name}"));
    for name in ["elsewhere", &mounted, &left] {
        let folder = stage.folder(name, 0o700);
        std::fs::write(folder.join("reply"), "").unwrap();
        give(&folder.join("reply"), NOBODY);
        give(&folder, NOBODY);
        let old = SystemTime::now() - Duration::from_secs(3600);
        File::open(&folder).unwrap().set_modified(old).unwrap();
    }
    let mounts = vec![(stage.path("elsewhere"), stage.path(&mounted))];
    let jvm = stage.play(&ActorPart { mounts, ..jailed(&stage, &jail, true) });
    stage.worked(&["status"], jvm.id());
    assert!(!stage.path(&left).exists(), "without a mount it is swept away");
    assert!(stage.path("elsewhere/reply").exists(), "a mount was followed");
}

/// With the `/proc` of other process ids a number means two processes.
#[test]
fn a_proc_of_other_process_ids_is_refused() {
    let Some(stage) = Stage::set() else { return };
    if !needs(&["unshare"]) {
        return;
    }
    let jvm = stage.play(&stage.recorded_jvm());
    for pid in [jvm.id(), 1, 2] {
        for command in COMMANDS {
            let mut unshare = Command::new("unshare");
            let tyrion = stage.command(command, pid);
            unshare.args(["--pid", "--fork", "--kill-child"]).arg(tyrion.get_program());
            unshare.args(tyrion.get_args()).env("TYRION_AGENT", stage.agent());
            let output = output_in_time(unshare.current_dir(stage.path("here")));
            stage.check(&format!("{command:?}"), &output);
            assert!(err(&output).contains("belongs to another PID namespace"), "{}", err(&output));
        }
    }
    assert!(!jvm.has_said("asked"));
}

/// A library that is mapped is the agent only if it is ours, to the byte and by
/// its owner.
#[test]
fn another_agent_is_given_no_orders() {
    let Some(stage) = Stage::set() else { return };
    let theirs = stage.home().join("libtyrion_agent.so");
    let genuine = std::fs::read(stage.agent()).unwrap();
    let mut other = genuine.clone();
    *other.last_mut().unwrap() ^= 1;
    for (bytes, owner, mode) in
        [(&other, NOBODY, 0o755), (&genuine, STRANGER, 0o755), (&genuine, NOBODY, 0o777)]
    {
        std::fs::write(&theirs, bytes).unwrap();
        std::fs::set_permissions(&theirs, Permissions::from_mode(mode)).unwrap();
        give(&theirs, owner);
        let mut part = stage.jvm();
        part.maps.push(theirs.clone());
        let jvm = stage.play(&ActorPart { listens: true, ..part });
        for command in TALKING {
            let said = stage.refused(command, jvm.id());
            assert!(said.contains("is not the one of this tyrion"), "{owner} {mode:o}: {said}");
        }
        assert!(!jvm.has_said("request"));
        // What is mapped is another one than what has its path by now.
        std::fs::rename(&theirs, stage.home().join("libtyrion_agent.so.old")).unwrap();
        std::fs::copy(stage.agent(), &theirs).unwrap();
        for command in TALKING {
            let said = stage.refused(command, jvm.id());
            assert!(said.contains("is not the one of this tyrion"), "{owner} {mode:o}: {said}");
        }
        std::fs::remove_file(&theirs).unwrap();
    }
}

/// A library that leaves a file in /tmp when it is loaded.
fn planted(stage: &Stage) -> PathBuf {
    let (source, library) = (stage.path("planted.c"), stage.path("planted.so"));
    let code = "#include <fcntl.h>\n\
                __attribute__((constructor)) static void run(void) {\n\
                    open(\"/tmp/planted\", O_CREAT | O_WRONLY, 0600);\n\
                }\n";
    std::fs::write(&source, code).unwrap();
    let mut cc = Command::new("cc");
    let built = output(cc.args(["-shared", "-fPIC", "-o"]).args([&library, &source]));
    assert!(built.status.success(), "{}", err(&built));
    library
}

/// Another user has put a library into the JVM's /tmp, where `tyrion` may have
/// put its own.
fn no_planted_library_is_loaded(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    if !needs(&["cc"]) {
        return;
    }
    let library = planted(&stage);
    for (pivots, is_contained) in [(false, false), (true, true)] {
        let jail = jail(&stage);
        for name in NAMES {
            std::fs::copy(&library, jail.join("tmp").join(name)).unwrap();
            give(&jail.join("tmp").join(name), STRANGER);
        }
        let mut part = ActorPart { pivots, is_contained, ..contained(&stage, &jail, jdk) };
        if !is_contained {
            part.mounts.push(("/proc".into(), jail.join("proc")));
        }
        let jvm = stage.play(&part);
        assert!(stage.worked(&["status"], jvm.id()).contains("not loaded"));
        for command in [COMMANDS[2], COMMANDS[0], &["sample", "--once"], COMMANDS[4], COMMANDS[1]] {
            let said = stage.worked(command, jvm.id());
            assert!(!said.is_empty(), "{command:?}");
        }
        assert!(!jail.join("tmp/planted").exists(), "it was loaded: {}", jvm.said());
        for name in NAMES {
            let left = std::fs::read(jail.join("tmp").join(name)).unwrap();
            assert!(left == std::fs::read(&library).unwrap(), "{name} has changed");
        }
        check_copy(&jail.join("tmp"));
        drop(jvm);
        std::fs::remove_dir_all(jail).unwrap();
    }
}

/// The copy of the agent that the JVM has loaded is for its user alone.
fn check_copy(tmp: &Path) {
    let folders = std::fs::read_dir(tmp).unwrap().map(|entry| entry.unwrap().path());
    let copies: Vec<PathBuf> = folders
        .map(|folder| folder.join("libtyrion_agent.so"))
        .filter(|copy| copy.exists())
        .collect();
    let copies: Vec<&PathBuf> =
        copies.iter().filter(|copy| !copy.starts_with(tmp.join("tyrion"))).collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    for (path, mode) in [(copies[0].as_path(), 0o500), (copies[0].parent().unwrap(), 0o700)] {
        let it = path.symlink_metadata().unwrap();
        assert_eq!((it.uid(), it.mode() & 0o7777), (NOBODY, mode), "{path:?}");
    }
}

/// A service with a private /tmp, and otherwise the files that all have.
fn a_tmp_of_its_own_is_no_hindrance(jdk: &Jdk) {
    let Some(stage) = Stage::set() else { return };
    let tmp = stage.folder("private", 0o1777);
    let shared = tmp.join(stage.path("jvm").strip_prefix("/tmp").unwrap());
    let home = jdk.bin().parent().unwrap().canonicalize().unwrap();
    let mounts = vec![
        (home, tmp.join("jdk")),
        (classes(), tmp.join("classes")),
        // The agent is installed where the JVM sees it.
        (stage.path("jvm"), shared),
    ];
    for (_, to) in &mounts {
        std::fs::create_dir_all(to).unwrap();
    }
    let all = [mounts, vec![(tmp.clone(), "/tmp".into())]].concat();
    let program = Some(storm(Path::new("/tmp/jdk"), Path::new("/tmp/classes")));
    let jvm = stage.play(&ActorPart {
        uid: NOBODY,
        folder: "/".into(),
        mounts: all,
        program,
        ..ActorPart::default()
    });
    let log = format!("log           /tmp/tyrion-{}.log", jvm.id());
    assert!(stage.worked(&["attach"], jvm.id()).contains(&log));
    assert!(stage.worked(&["status"], jvm.id()).contains("recording"));
    for command in [&["sample", "--once"], COMMANDS[4]] {
        assert!(!stage.worked(command, jvm.id()).is_empty(), "{command:?}");
    }
    assert!(stage.worked(&["stop"], jvm.id()).contains("paused"));
    assert!(tmp.join(format!("tyrion-{}.log", jvm.id())).exists());
}
