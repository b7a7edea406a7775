//! The Java runtimes of `tests/setup/jdks.sh`.

use super::{root, skip};
use std::path::PathBuf;

/// A Java runtime.
#[derive(Clone, Debug)]
pub struct Jdk {
    /// 11, 17, 21 or 25.
    pub major: u32,
    home: PathBuf,
}

impl Jdk {
    /// The runtime of a major, or `None` after a message.
    pub fn find(major: u32) -> Option<Jdk> {
        let home = root().join("target/jdks").join(major.to_string());
        if home.join("bin/java").is_file() {
            return Some(Jdk { major, home });
        }
        skip(&format!("Java {major}: run tests/setup/jdks.sh"));
        None
    }

    /// Its `java`.
    pub fn java(&self) -> PathBuf {
        self.bin().join("java")
    }

    /// The folder of its `java`.
    pub fn bin(&self) -> PathBuf {
        self.home.join("bin")
    }
}

/// Makes a test of a function for each JDK named: `truth::holders::jdk17`.
macro_rules! on_jdks {
    ($test:ident: $($name:ident = $major:literal)*) => {
        mod $test {
            $(
                #[test]
                fn $name() {
                    if let Some(jdk) = crate::support::Jdk::find($major) {
                        super::$test(&jdk);
                    }
                }
            )*
        }
    };
}

pub(crate) use on_jdks;
