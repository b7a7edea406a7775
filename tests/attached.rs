//! The same truths as of an agent that was there from the start, told by one that
//! came later; and by native methods alone, which is how it sees parks before JDK 25.

use crate::{
    outcomes::{check_names, check_outcomes},
    support::{Jdk, Program, assert_between, info, ms, on_jdks},
    truth::{check_holders, check_threads_together},
    virtual_threads::{MANY, check_many, check_two},
};

on_jdks!(holders: all);
on_jdks!(threads_together: three);
on_jdks!(outcomes: all);
on_jdks!(names: all);
on_jdks!(conditions: all);
on_jdks!(two_virtual_threads: since(21));
on_jdks!(many_virtual_threads: since(21));
on_jdks!(natives_where_probes_are_usual: ends);

fn attached(jdk: &Jdk, scenario: &str) -> Program {
    Program::truth(jdk, scenario).attached()
}

fn holders(jdk: &Jdk) {
    check_holders(|scenario| attached(jdk, scenario));
}

fn threads_together(jdk: &Jdk) {
    check_threads_together(|scenario| attached(jdk, scenario));
}

fn outcomes(jdk: &Jdk) {
    let recording = attached(jdk, "outcomes").record();
    check_outcomes(&recording);
    // Where changing a class throws all compiled code away, none is changed.
    let expected = if jdk.major < 25 { "natives" } else { "probes" };
    assert_eq!(info(&recording.log)["metadata"]["parks"], expected);
}

fn names(jdk: &Jdk) {
    check_names(&attached(jdk, "names").record());
}

/// When a condition was signalled, nobody tells: the wait for its lock is part of
/// the one for the condition, and nothing of it is lost.
fn conditions(jdk: &Jdk) {
    for variant in ["condition", "condition-timeout"] {
        let recording =
            attached(jdk, &format!("reacquire {variant}")).option("--parks=natives").record();
        let waits = recording.waits();
        let of_awaiter = waits.iter().filter(|wait| {
            wait.thread == "awaiter" && ["condition", "lock-reacquire"].contains(&&*wait.kind)
        });
        let total_ns: u64 = of_awaiter.map(|wait| wait.wait_ns).sum();
        let bound = |name: &str| {
            recording.number(&format!("idle_{name}_ns"))
                + recording.number(&format!("wait_{name}_ns"))
        };
        assert_between(variant, total_ns, bound("least"), bound("most"));
        assert!(total_ns >= ms(150), "{variant}: {total_ns}");
        assert_eq!(recording.long_contentions().len(), 0, "{variant}: {waits:?}");
    }
}

fn two_virtual_threads(jdk: &Jdk) {
    check_two(|scenario| attached(jdk, scenario).option("--parks=natives"));
}

fn many_virtual_threads(jdk: &Jdk) {
    check_many(&attached(jdk, &format!("virtual {MANY} lock")).option("--parks=natives"));
}

fn natives_where_probes_are_usual(jdk: &Jdk) {
    let program = |scenario: &str| Program::truth(jdk, scenario).option("--parks=natives");
    check_holders(program);
    check_outcomes(&program("outcomes").record());
    check_names(&program("names").record());
}
