//! The Java runtimes that the tests run on.

use super::{classes, root, skip};
use std::path::PathBuf;

/// A Java runtime.
#[derive(Clone, Debug)]
pub struct Jdk {
    /// Its feature release: 17.
    pub major: u32,
    home: PathBuf,
}

impl Jdk {
    /// The runtime that tests call `jdk17`, or `None` after a message.
    pub fn find(name: &str) -> Option<Jdk> {
        let major = name.strip_prefix("jdk").expect("a JDK's name");
        let home = root().join("target/jdks").join(major);
        if home.join("bin/java").is_file() {
            return Some(Jdk { major: major.parse().expect("a number"), home });
        }
        if home.with_extension("none").exists() {
            println!("left out: Java {major} is not to be had any more");
            return None;
        }
        skip(&format!("Java {major}: run tests/setup/jdks.sh"));
        None
    }

    /// Its `java`.
    pub fn java(&self) -> PathBuf {
        self.bin().join("java")
    }

    /// The classes of `testdata/java` for it.
    pub fn classes(&self) -> PathBuf {
        if self.major < 11 { classes().join("8") } else { classes() }
    }

    /// The tool that reads recordings of Flight Recorder: its own, or, where it has none, that
    /// of another one, which reads them as well.
    pub fn jfr(&self) -> PathBuf {
        let own = self.bin().join("jfr");
        if own.is_file() { own } else { root().join("target/jdks/25/bin/jfr") }
    }

    /// The folder of its `java`.
    pub fn bin(&self) -> PathBuf {
        self.home.join("bin")
    }
}

/// Makes a test of a function for each of the JDKs that are chosen:
/// `on_jdks!(holders: ends)` makes `truth::holders::jdk11` and so on.
///
/// This is the one place in the tests that lists JDKs. To add one, follow
/// `docs/adding-a-jdk.md`.
///
/// - `one`: for what no JDK makes a difference to. The JDK that has a compiler.
/// - `two`: for what the usual JDK and the newest of those that last are enough for.
/// - `ends`: the oldest that is like the others, and the newest that lasts.
/// - `three`: those, and the usual one.
/// - `extremes`: the two `ends`, and beyond them the oldest of all and the newest release.
/// - `edges`: the same without the oldest that is like the others.
/// - `since(21)`: what older JDKs do not have.
/// - `only(21)` and `newest`: for a test that is slow, and needs no other.
/// - `all`: for what depends on the inside of the JVM; those that `make test` does not set
///   up with `make test-everywhere`.
///
/// `one, everywhere two` runs on the one, and with `make test-everywhere` on the
/// other one, too: for what takes long, and was never seen to differ. `everywhere two`
/// runs there alone: for what needs more than the other tests do.
macro_rules! on_jdks {
    ($test:ident: all) => {
        on_jdks!(@on jdk8 jdk11 jdk17 jdk21 jdk25 jdk27: $test; everywhere jdk26 jdk28);
    };
    ($test:ident: one) => { on_jdks!(@on jdk17: $test); };
    ($test:ident: two) => { on_jdks!(@on jdk17 jdk25: $test); };
    ($test:ident: ends) => { on_jdks!(@on jdk11 jdk25: $test); };
    ($test:ident: three) => { on_jdks!(@on jdk11 jdk17 jdk25: $test); };
    ($test:ident: since(17)) => { on_jdks!(@on jdk17 jdk21 jdk25: $test); };
    ($test:ident: since(21)) => { on_jdks!(@on jdk21 jdk25: $test); };
    ($test:ident: only(21), everywhere newest) => { on_jdks!(@on jdk21: $test; everywhere jdk25); };
    ($test:ident: only(21)) => { on_jdks!(@on jdk21: $test); };
    ($test:ident: newest) => { on_jdks!(@on jdk25: $test); };
    ($test:ident: extremes, everywhere all) => {
        on_jdks!(@on jdk8 jdk11 jdk25 jdk27: $test; everywhere jdk17 jdk21 jdk26 jdk28);
    };
    ($test:ident: edges, everywhere all) => {
        on_jdks!(@on jdk8 jdk25 jdk27: $test; everywhere jdk11 jdk17 jdk21 jdk26 jdk28);
    };
    ($test:ident: one, everywhere two) => {
        on_jdks!(@on jdk17: $test; everywhere jdk25);
    };
    ($test:ident: one, everywhere three) => {
        on_jdks!(@on jdk17: $test; everywhere jdk11 jdk25);
    };
    ($test:ident: one, everywhere all) => {
        on_jdks!(@on jdk17: $test; everywhere jdk8 jdk11 jdk21 jdk25 jdk26 jdk27 jdk28);
    };
    ($test:ident: one, everywhere since(11)) => {
        on_jdks!(@on jdk17: $test; everywhere jdk11 jdk21 jdk25 jdk26 jdk27 jdk28);
    };
    ($test:ident: newest, everywhere since(11)) => {
        on_jdks!(@on jdk25: $test; everywhere jdk11 jdk17 jdk21 jdk26 jdk27 jdk28);
    };
    ($test:ident: ends, everywhere since(11)) => {
        on_jdks!(@on jdk11 jdk25: $test; everywhere jdk17 jdk21 jdk26 jdk27 jdk28);
    };
    ($test:ident: newest, everywhere three) => {
        on_jdks!(@on jdk25: $test; everywhere jdk11 jdk17);
    };
    ($test:ident: two, everywhere all) => {
        on_jdks!(@on jdk17 jdk25: $test; everywhere jdk8 jdk11 jdk21 jdk26 jdk27 jdk28);
    };
    ($test:ident: ends, everywhere three) => {
        on_jdks!(@on jdk11 jdk25: $test; everywhere jdk17);
    };
    ($test:ident: ends, everywhere all) => {
        on_jdks!(@on jdk11 jdk25: $test; everywhere jdk8 jdk17 jdk21 jdk26 jdk27 jdk28);
    };
    ($test:ident: only(21), everywhere since(21)) => {
        on_jdks!(@on jdk21: $test; everywhere jdk25 jdk26 jdk27 jdk28);
    };
    ($test:ident: newest, everywhere since(21)) => {
        on_jdks!(@on jdk25: $test; everywhere jdk21 jdk26 jdk27 jdk28);
    };
    ($test:ident: newest, everywhere all) => {
        on_jdks!(@on jdk25: $test; everywhere jdk8 jdk11 jdk17 jdk21 jdk26 jdk27 jdk28);
    };
    ($test:ident: everywhere all) => {
        on_jdks!(@on : $test; everywhere jdk8 jdk11 jdk17 jdk21 jdk25 jdk26 jdk27 jdk28);
    };
    ($test:ident: everywhere one) => { on_jdks!(@on : $test; everywhere jdk17); };
    ($test:ident: everywhere three) => { on_jdks!(@on : $test; everywhere jdk11 jdk17 jdk25); };
    ($test:ident: newest, everywhere two) => {
        on_jdks!(@on jdk25: $test; everywhere jdk17);
    };
    ($test:ident: everywhere newest) => { on_jdks!(@on : $test; everywhere jdk25); };
    ($test:ident: everywhere only(21)) => { on_jdks!(@on : $test; everywhere jdk21); };
    ($test:ident: everywhere since(21)) => {
        on_jdks!(@on : $test; everywhere jdk21 jdk25 jdk26 jdk27 jdk28);
    };
    ($test:ident: everywhere since(11)) => {
        on_jdks!(@on : $test; everywhere jdk11 jdk17 jdk21 jdk25 jdk26 jdk27 jdk28);
    };
    ($test:ident: everywhere two) => { on_jdks!(@on : $test; everywhere jdk17 jdk25); };
    (@on $($jdk:ident)*: $test:ident $(; everywhere $($other:ident)*)?) => {
        mod $test {
            $(
                #[test]
                fn $jdk() {
                    crate::support::Jdk::find(stringify!($jdk)).iter().for_each(super::$test);
                }
            )*
            $($(
                #[test]
                #[ignore = "make test-everywhere runs it"]
                fn $other() {
                    crate::support::Jdk::find(stringify!($other)).iter().for_each(super::$test);
                }
            )*)?
        }
    };
}

pub(crate) use on_jdks;
