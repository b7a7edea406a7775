//! The classes in `tests/data`, and those below the directories in `TYRION_CLASSES`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::common::everywhere;
use crate::common::isomorphism::{self, Key};
use tyrion_bytecode::{ClassFile, Method, MethodPlan, instrument};

#[test]
fn probes_everywhere_leave_the_code_as_it_was() {
    let mut files = Vec::new();
    class_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), &mut files);
    assert!(!files.is_empty());
    let more = env::var_os("TYRION_CLASSES").unwrap_or_default();
    let directories = env::split_paths(&more).filter(|directory| !directory.as_os_str().is_empty());
    directories.for_each(|directory| class_files(&directory, &mut files));
    let changed: usize = files.iter().map(|file| check(file)).sum();
    println!("{} classes, {changed} methods changed", files.len());
    assert!(changed > 0);
}

/// Checks all kinds of plans; the result is how many methods changed.
fn check(file: &Path) -> usize {
    let bytes = fs::read(file).expect("readable");
    let class =
        ClassFile::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let plain = check_plan(&bytes, &class, |method| everywhere::plan(method, false));
    let dense = check_plan(&bytes, &class, everywhere::dense_plan);
    plain + dense + check_plan(&bytes, &class, |method| everywhere::plan(method, true))
}

fn check_plan(
    bytes: &[u8],
    class: &ClassFile<'_>,
    plan: impl Fn(&Method<'_, '_>) -> Option<MethodPlan>,
) -> usize {
    let mut plans: HashMap<Key, MethodPlan> = HashMap::new();
    let instrumented = instrument(class, |method| {
        let plan = plan(method)?;
        let key = (method.name().to_string(), method.descriptor().to_string());
        plans.insert(key, plan.clone());
        Some(plan)
    });
    for left in instrumented.left {
        plans.remove(&(left.name, left.descriptor));
    }
    assert_eq!(plans.len(), instrumented.changed);
    isomorphism::check(bytes, instrumented.bytes.as_deref().unwrap_or(bytes), &plans);
    instrumented.changed
}

#[test]
fn no_plan_means_no_new_class() {
    let mut files = Vec::new();
    class_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), &mut files);
    for file in files {
        let bytes = fs::read(file).expect("readable");
        let class = ClassFile::parse(&bytes).expect("well-formed");
        for instrumented in
            [instrument(&class, |_| None), instrument(&class, |_| Some(MethodPlan::default()))]
        {
            assert_eq!(
                (instrumented.bytes, instrumented.changed, instrumented.left),
                (None, 0, vec![])
            );
        }
    }
}

fn class_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("directory") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            class_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "class") {
            files.push(path);
        }
    }
}
