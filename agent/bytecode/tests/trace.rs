//! The plans for trace mode, on the classes in `tests/data` and those below the directories
//! in `TYRION_CLASSES`, and on bytes that are no class.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::common::isomorphism::{self, Key};
use proptest::collection::vec;
use proptest::prelude::*;
use tyrion_bytecode::{ClassFile, MethodPlan, Op};
use tyrion_plan::{ClassPlan, Filters, Front, JdkClass, Place, PlanOptions, locks, program, waits};
use tyrion_wire::{WaitKind, def::place_flag, pattern::Pattern};

const MONITORS: &[u8] = include_bytes!("data/java17/Monitors.class");
const OLD_MONITORS: &[u8] = include_bytes!("data/java8/Monitors.class");
const NAMES: &[u8] = include_bytes!("data/java17/Names.class");

fn planned(bytes: &[u8], options: &PlanOptions) -> (ClassPlan, Vec<Place>) {
    let class = ClassFile::parse(bytes).expect("a class");
    let mut places = Vec::new();
    let plan = program::plan(&class, options, &mut |place, _| {
        places.push(place);
        places.len() as u32
    });
    assert!(is_empty(&plan) || program::concerns(&class, options));
    (plan, places)
}

fn is_empty(plan: &ClassPlan) -> bool {
    plan.methods.iter().all(MethodPlan::is_empty)
}

#[test]
fn the_rewritten_code_is_the_old_code_with_probes() {
    let mut files = Vec::new();
    class_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), &mut files);
    let more = env::var_os("TYRION_CLASSES").unwrap_or_default();
    let directories = env::split_paths(&more).filter(|directory| !directory.as_os_str().is_empty());
    directories.for_each(|directory| class_files(&directory, &mut files));
    let options = PlanOptions { front: Front::Ask, wakers: true, ..PlanOptions::default() };
    let changed: usize = files.iter().map(|file| check(file, &options)).sum();
    println!("{} classes, {changed} methods changed", files.len());
    assert!(changed > 0);
}

fn check(file: &Path, options: &PlanOptions) -> usize {
    let bytes = fs::read(file).expect("readable");
    let class = ClassFile::parse(&bytes).expect("a class");
    let (mut plan, _) = planned(&bytes, options);
    let name = class.name().to_string();
    for (method, plan) in class.methods().zip(&mut plan.methods) {
        let jdk = JdkClass::by_name(name.as_bytes());
        plan.append(jdk.and_then(|class| locks::plan(class, &method)).unwrap_or_default());
        plan.append(
            jdk.and_then(|class| waits::plan_with_wakers(class, &method)).unwrap_or_default(),
        );
    }
    let keys = class
        .methods()
        .map(|method| -> Key { (method.name().to_string(), method.descriptor().to_string()) });
    let mut plans: HashMap<Key, MethodPlan> = keys.zip(plan.methods.clone()).collect();
    plans.retain(|_, plan| !plan.is_empty());
    let instrumented = plan.carry_out(&class);
    for left in instrumented.left {
        plans.remove(&(left.name, left.descriptor));
    }
    assert_eq!(plans.len(), instrumented.changed);
    isomorphism::check(&bytes, instrumented.bytes.as_deref().unwrap_or(&bytes), &plans);
    instrumented.changed
}

#[test]
fn every_acquisition_has_a_place() {
    let (plan, places) = planned(MONITORS, &PlanOptions::default());
    assert_eq!(plan.left, []);
    let seen: Vec<(&str, u32, u64, &str)> = places
        .iter()
        .map(|place| {
            let taken = &place.taken;
            (place.method.as_str(), place.line, taken.flags, taken.name.as_str())
        })
        .collect();
    let expected = [
        ("block", 28, place_flag::FIELD, "Monitors.lock"),
        ("block", 30, 0, "this"),
        ("method", 42, place_flag::METHOD, "this"),
        ("tables", 55, place_flag::METHOD | place_flag::STATIC, "Monitors.class"),
        ("nested", 71, place_flag::FIELD, "Monitors.lock"),
        ("lambda$annotated$0", 91, place_flag::FIELD, "Monitors.lock"),
    ];
    assert_eq!(seen, expected);
    let block = &places[0];
    assert_eq!((block.class.as_str(), block.descriptor.as_str()), ("Monitors", "(I)I"));
    assert_eq!((block.first_line, block.taken.kind), (28, WaitKind::Monitor));
    assert_eq!(block.source_file.as_deref(), Some("Monitors.java"));
    let (_, places) = planned(NAMES, &PlanOptions::default());
    let kinds: Vec<WaitKind> = places
        .iter()
        .filter(|place| place.method == "halves" && place.taken.flags & place_flag::JUC != 0)
        .map(|place| place.taken.kind)
        .collect();
    assert_eq!(kinds, [WaitKind::LockRead, WaitKind::LockWrite]);
    assert_eq!(bytecodes(MONITORS), [Some(0), Some(0)], "of the synchronized methods");
}

/// Where the synchronized methods of a class take their locks.
fn bytecodes(class: &[u8]) -> Vec<Option<u16>> {
    let (_, places) = planned(class, &PlanOptions::default());
    let methods = places.iter().filter(|place| place.taken.flags & place_flag::METHOD != 0);
    methods.map(|place| place.bytecode).collect()
}

#[test]
fn where_an_instruction_was_without_probes_is_known() {
    for bytes in [MONITORS, OLD_MONITORS, NAMES] {
        let class = ClassFile::parse(bytes).expect("a class");
        let (mut plan, places) = planned(bytes, &PlanOptions::default());
        let instrumented = plan.carry_out(&class);
        let new = instrumented.bytes.expect("changed");
        let new = ClassFile::parse(&new).expect("a class");
        assert_eq!(instrumented.moved.len(), instrumented.changed);
        for moved in &instrumented.moved {
            let code = |class: &ClassFile<'_>| -> Vec<(u16, u8)> {
                let method = class
                    .methods()
                    .find(|it| {
                        it.name() == moved.name.as_str()
                            && it.descriptor() == moved.descriptor.as_str()
                    })
                    .expect("the method");
                let code = method.code().expect("code").expect("code");
                let instructions = code.instructions().map(|it| it.expect("an instruction"));
                instructions.map(|it| (it.pc().0, it.opcode())).collect()
            };
            let (old, new) = (code(&class), code(&new));
            let before = |pc| moved.shifts.before(pc);
            // Every old instruction is there, in order, and known by its new place.
            let known: Vec<(u16, u8)> = new
                .iter()
                .filter_map(|&(pc, opcode)| Some((before(pc)?, opcode)))
                .filter(|it| old.contains(it))
                .collect();
            assert!(old.iter().all(|it| known.contains(it)), "{}", moved.name);
            for place in places
                .iter()
                .filter(|it| it.method == moved.name && it.taken.flags & place_flag::METHOD == 0)
            {
                let bytecode = place.bytecode.expect("known");
                let at = new.iter().find(|&&(pc, opcode)| {
                    before(pc) == Some(bytecode) && old.contains(&(bytecode, opcode))
                });
                assert!(at.is_some(), "{}@{bytecode}", moved.name);
            }
        }
    }
}

/// The place that each probe of an exit passes on.
fn exit_places(plan: &MethodPlan) -> Vec<i32> {
    let before = plan.before.iter().map(|(pc, ops)| (*pc, ops));
    let mut exits: Vec<_> =
        before.chain(plan.in_handler.iter().map(|(pc, ops)| (*pc, ops))).collect();
    exits.sort_by_key(|(pc, _)| *pc);
    let number = |ops: &Vec<Op>| {
        ops.iter().find_map(|op| match op {
            Op::Iconst(place) => Some(*place),
            _ => None,
        })
    };
    exits.into_iter().filter_map(|(_, ops)| number(ops)).collect()
}

#[test]
fn exits_name_the_place_of_their_own_enter() {
    for bytes in [MONITORS, OLD_MONITORS] {
        let (plan, _) = planned(bytes, &PlanOptions::default());
        let class = ClassFile::parse(bytes).expect("a class");
        let index = class.methods().position(|method| method.name() == "block").expect("block");
        let block = &plan.methods[index];
        // Inner: end and handler; outer: return in the middle, end and handler.
        assert_eq!((block.around.len(), block.in_handler.len()), (2, 2));
        assert_eq!(exit_places(block), [2, 2, 1, 1, 1]);
    }
}

#[test]
fn filters_leave_classes_alone() {
    let exclude = PlanOptions {
        filters: Filters::new(&[], &[Pattern::new("Mon*")]),
        ..PlanOptions::default()
    };
    let (plan, places) = planned(MONITORS, &exclude);
    assert!(is_empty(&plan) && places.is_empty());
    assert_eq!(plan.methods.len(), ClassFile::parse(MONITORS).expect("a class").methods().len());
    let mut plan = plan;
    assert_eq!(plan.carry_out(&ClassFile::parse(MONITORS).expect("a class")).bytes, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn flipped_bytes_are_planned_for_or_left(
        which in 0..3_usize,
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = [MONITORS, OLD_MONITORS, NAMES][which].to_vec();
        let length = bytes.len();
        flips.iter().for_each(|(place, value)| bytes[place.index(length)] = *value);
        if let Ok(class) = ClassFile::parse(&bytes) {
            let options = PlanOptions { front: Front::Ask, wakers: true, ..PlanOptions::default() };
            let _ = program::concerns(&class, &options);
            let mut plan = program::plan(&class, &options, &mut |_, _| 7);
            let instrumented = plan.carry_out(&class);
            if let Some(bytes) = instrumented.bytes {
                prop_assert!(ClassFile::parse(&bytes).is_ok(), "what we write we can read");
            }
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
