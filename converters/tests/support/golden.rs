//! Golden files: a missing or an orphaned one is wrong; `BLESS=1` writes them.

use std::{collections::BTreeMap, fs, path::Path};

/// Compares all golden files of a folder with what they shall be.
#[track_caller]
pub fn check(folder: &Path, expected: &BTreeMap<String, String>) {
    let bless = std::env::var_os("BLESS").is_some();
    if bless {
        fs::create_dir_all(folder).unwrap();
    }
    let mut wrong = Vec::new();
    for (name, text) in expected {
        let path = folder.join(name);
        if bless {
            fs::write(&path, text).unwrap();
        }
        match fs::read_to_string(&path) {
            Ok(golden) if golden == *text => {}
            Ok(golden) => {
                let line = golden.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
                wrong.push(format!("{name} differs from line {} on", line + 1));
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !expected.contains_key(name) {
            if bless {
                fs::remove_file(&path).unwrap();
            } else {
                wrong.push(format!("{name} belongs to no output"));
            }
        }
    }
    assert!(wrong.is_empty(), "run with BLESS=1 if this is right:\n{}", wrong.join("\n"));
}
