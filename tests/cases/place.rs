//! Where things are, and which they are.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

/// The repository.
pub fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent().unwrap_or(cli).to_owned()
}

/// The folder of the cases.
pub fn cases() -> PathBuf {
    root().join("testdata/cases")
}

/// Where what is made of them is kept.
pub fn work() -> PathBuf {
    root().join("target/cases")
}

/// The binary under test.
pub fn tyrion() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tyrion"))
}

/// The agent, beside it.
pub fn agent() -> PathBuf {
    tyrion().with_file_name("libtyrion_agent.so")
}

/// The `java` of a JDK, if that is there.
pub fn java(jdk: u32) -> Option<PathBuf> {
    let java = root().join(format!("target/jdks/{jdk}/bin/java"));
    java.is_file().then_some(java)
}

/// What tells files with other bytes apart. A file that is not there is one, too.
pub fn hash_of(files: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        (file.file_name(), std::fs::read(file).ok()).hash(&mut hasher);
    }
    hasher.finish()
}

/// All files below a folder, in their order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}
