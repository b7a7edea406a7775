//! Whole commands against a JVM that exchanges files and links while they run.

use super::{
    actor::{ActorPart, ActorReply},
    stage::{Actor, COMMANDS, NOBODY, Stage},
};
use crate::support::sample_log;
use std::os::unix::fs::{lchown, symlink};

/// How often each command is tried.
fn tries() -> usize {
    // `make test-everywhere` takes its time.
    if std::env::var_os("TYRION_TEST_EVERYWHERE").is_some() { 100 } else { 10 }
}

/// Whatever the attacker's timing, root's files stay as they are, and what only
/// root may read is not told.
#[test]
fn exchanging_files_and_links_meanwhile_gains_nothing() {
    let Some(stage) = Stage::set() else { return };
    let (mut worked, mut refused) = (0, 0);
    let least = tries() * COMMANDS.len();
    for (attempt, command) in COMMANDS.iter().cycle().enumerate() {
        // On, until there was a race.
        if attempt >= least && worked > 0 && refused > 0 {
            break;
        }
        assert!(attempt < 20 * least, "no race: {worked} {refused}");
        match stage.run(command, racing(&stage).id()).status.success() {
            true => worked += 1,
            false => refused += 1,
        }
    }
    eprintln!("{worked} of {} commands worked", worked + refused);
}

/// One whose files are links half of the time: the one that asks it for its
/// socket, the agent's answer, the log.
fn racing(stage: &Stage) -> Actor {
    let home = stage.home();
    std::fs::remove_dir_all(&home).unwrap();
    std::fs::create_dir(&home).unwrap();
    let bytes = std::fs::read(sample_log()).unwrap();
    for name in ["a.log", "trigger"] {
        std::fs::write(home.join(name), &bytes).unwrap();
        symlink(stage.secret(), home.join(name).with_extension("link")).unwrap();
        lchown(home.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    lchown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let log = home.join("a.log");
    let reply = format!("state=recording\nlog={}\nbefore=new\nsample=1\n", log.display());
    stage.play(&ActorPart {
        reply: ActorReply::Swapped(reply, stage.secret()),
        trigger: Some(home.join("trigger")),
        swaps: vec![(log.clone(), log.with_extension("link"))],
        writes: vec![log],
        ..stage.recorded_jvm()
    })
}
