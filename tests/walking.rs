//! `AsyncGetCallTrace` tells the stacks that `GetStackTrace` tells: every one
//! of them, of databases and of virtual threads.

use crate::support::{Jdk, Program, err, on_jdks, output, subject_jar};

on_jdks!(derby: jdk11 = 11 jdk17 = 17 jdk21 = 21 jdk25 = 25);
on_jdks!(hsqldb: jdk17 = 17 jdk21 = 21 jdk25 = 25);
on_jdks!(virtual_threads_are_not_mixed_with_carriers: jdk21 = 21 jdk25 = 25);

fn derby(jdk: &Jdk) {
    bank(jdk, "derby.jar", "jdbc:derby:memory:bank;create=true");
}

fn hsqldb(jdk: &Jdk) {
    bank(jdk, "hsqldb.jar", "jdbc:hsqldb:mem:bank");
}

fn bank(jdk: &Jdk, jar: &str, url: &str) {
    let Some(jar) = subject_jar(jar) else { return };
    // Long enough for code that is interpreted, and compiled in both ways.
    let program = Program::class(jdk, &format!("tyrion.subjects.JdbcBank {url} 8 4 1")).jar(&jar);
    let walks = compared(&program.traced());
    assert!(walks > 10_000, "{walks} stacks only");
}

fn virtual_threads_are_not_mixed_with_carriers(jdk: &Jdk) {
    for kind in ["monitor", "lock"] {
        compared(&Program::truth(jdk, &format!("virtual 20000 {kind}")).traced());
    }
}

/// Runs a program with both walks; how many of its stacks were compared.
fn compared(program: &Program) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let program = program.clone().option("--walk=compare").option("--threshold=0");
    let output = output(&mut program.record_command(&folder.path().join("test.log")));
    let said = err(&output);
    assert!(output.status.success(), "{said}");
    let account = said.lines().find_map(|line| line.strip_prefix("tyrion: ")).expect(&said);
    let (walks, differences) = account.split_once(" stacks compared, ").expect(account);
    assert_eq!(differences, "0 differ");
    walks.parse().unwrap()
}
