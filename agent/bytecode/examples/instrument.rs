//! Puts probes wherever they can stand, in every class below a directory.
//!
//! ```text
//! instrument probe OUT        write the classes that the probes call below OUT
//! instrument classes IN OUT   write the classes below IN that change below OUT
//! instrument dense IN OUT     the same with probes that do nothing around every instruction
//! instrument trace IN OUT     the same with the probes of the agent's trace mode
//! instrument places IN        list the places where trace mode sees locks being taken
//! ```
//!
//! `tests/verify/verify.sh` shows the result to a JVM.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use tyrion_bytecode::emit::{ProbeClass, VOLATILE};
use tyrion_bytecode::{ClassFile, Instrumented, MethodPlan, instrument};

#[path = "../tests/common/everywhere.rs"]
mod everywhere;

use everywhere::PROBE_CLASS;
// The agent's own plans: what is shown to the JVM here is what the agent does.
use tyrion_plan::{
    ClassPlan, Front, JdkClass, Place, PlanOptions, Why, locks, probe, program, taking::Taken,
    waits,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["probe", out] => write_probe(Path::new(out)),
        ["classes", input, out] => instrument_tree(Path::new(input), Path::new(out), everywhere),
        ["dense", input, out] => instrument_tree(Path::new(input), Path::new(out), dense),
        ["trace", input, out] => {
            let (mut next, mut reasons) = (0, BTreeMap::new());
            let trace = |class: &ClassFile<'_>| trace(class, &mut next, &mut reasons);
            let done = instrument_tree(Path::new(input), Path::new(out), trace);
            println!("{next} places, left {reasons:?}");
            done
        }
        ["places", input] => list_places(Path::new(input)),
        _ => Err("usage: instrument probe OUT | classes|dense|trace IN OUT | places IN".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instrument: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_probe(out: &Path) -> Result<(), Box<dyn Error>> {
    let class = ProbeClass::new(PROBE_CLASS).field("contended", "I", VOLATILE);
    let class = everywhere::PROBES
        .iter()
        .fold(class, |class, probe| class.empty_method(&probe.name, &probe.descriptor));
    write(&out.join(PROBE_CLASS).with_extension("class"), &class.finish()?)?;
    for (name, probes) in
        [(probe::trace::CLASS, probe::trace::ALL), (probe::wait::CLASS, probe::wait::ALL)]
    {
        let class = probes.iter().fold(ProbeClass::new(name), |class, probe| {
            class.empty_method(&probe.name, &probe.descriptor)
        });
        write(&out.join(name).with_extension("class"), &class.finish()?)?;
    }
    Ok(())
}

/// As the agent does it, with probes in front of blocks, too.
fn trace(
    class: &ClassFile<'_>,
    next: &mut u32,
    reasons: &mut BTreeMap<&'static str, usize>,
) -> Instrumented {
    let name = class.name().to_string();
    let options = PlanOptions { front: Front::Ask, wakers: true, ..PlanOptions::default() };
    let jdk = JdkClass::by_name(name.as_bytes());
    let mut plan = if program::concerns(class, &options) {
        program::plan(class, &options, &mut |_, _| {
            *next += 1;
            *next
        })
    } else if jdk.is_some() {
        let methods = class.methods().map(|_| MethodPlan::default()).collect();
        ClassPlan { methods, ..ClassPlan::default() }
    } else {
        return Instrumented::default();
    };
    for (method, plan) in class.methods().zip(&mut plan.methods) {
        plan.append(jdk.and_then(|class| locks::plan(class, &method)).unwrap_or_default());
        plan.append(
            jdk.and_then(|class| waits::plan_with_wakers(class, &method)).unwrap_or_default(),
        );
    }
    let instrumented = plan.carry_out(class);
    for left in &plan.left {
        *reasons.entry(left.why.key()).or_default() += 1;
        if !matches!(left.why, Why::Rewriting(_)) {
            println!("{name}: {}{}: {:?}", left.method, left.descriptor, left.why);
        }
    }
    instrumented
}

fn list_places(input: &Path) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    class_files(input, &mut files)?;
    files.sort();
    for file in &files {
        let bytes = fs::read(file)?;
        let Ok(class) = ClassFile::parse(&bytes) else { continue };
        program::plan(&class, &PlanOptions::default(), &mut |place, _| {
            let Place { class, method, line, bytecode, taken, .. } = place;
            let Taken { kind, flags, name } = taken;
            let at = bytecode.unwrap_or_default();
            println!("{class}.{method}:{line}@{at} {} flags {flags} {name}", kind.name());
            0
        });
    }
    Ok(())
}

#[derive(Default)]
struct Totals {
    classes: usize,
    unreadable: usize,
    changed_classes: usize,
    changed_methods: usize,
    left: usize,
}

fn dense(class: &ClassFile<'_>) -> Instrumented {
    instrument(class, everywhere::dense_plan)
}

fn instrument_tree(
    input: &Path,
    out: &Path,
    mut probe: impl FnMut(&ClassFile<'_>) -> Instrumented,
) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    class_files(input, &mut files)?;
    files.sort();
    let mut totals = Totals::default();
    for file in &files {
        let bytes = fs::read(file)?;
        totals.classes += 1;
        let instrumented = match ClassFile::parse(&bytes) {
            Ok(class) => probe(&class),
            Err(error) => {
                println!("{}: {error}", file.display());
                totals.unreadable += 1;
                continue;
            }
        };
        for left in &instrumented.left {
            println!("{}: {}{}: {}", file.display(), left.name, left.descriptor, left.reason);
        }
        totals.left += instrumented.left.len();
        totals.changed_methods += instrumented.changed;
        if let Some(bytes) = instrumented.bytes {
            totals.changed_classes += 1;
            write(&out.join(file.strip_prefix(input)?), &bytes)?;
        }
    }
    let Totals { classes, unreadable, changed_classes, changed_methods, left } = totals;
    println!(
        "{classes} classes, {unreadable} unreadable, {changed_classes} changed: \
         {changed_methods} methods changed, {left} left"
    );
    Ok(())
}

/// Probes as much of each method as possible: also the parameters where they can be read.
fn everywhere(class: &ClassFile<'_>) -> Instrumented {
    let first = instrument(class, |method| everywhere::plan(method, true));
    let unreadable = |left: &tyrion_bytecode::Left| {
        matches!(left.reason, tyrion_bytecode::Reason::LocalNotReadable { .. })
    };
    let methods: HashSet<(String, String)> = first
        .left
        .iter()
        .filter(|left| unreadable(left))
        .map(|left| (left.name.clone(), left.descriptor.clone()))
        .collect();
    if methods.is_empty() {
        return first;
    }
    instrument(class, |method| {
        let key = (method.name().to_string(), method.descriptor().to_string());
        everywhere::plan(method, !methods.contains(&key))
    })
}

fn class_files(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            class_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "class") {
            files.push(path);
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, bytes)
}
