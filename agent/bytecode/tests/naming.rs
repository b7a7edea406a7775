//! What locks are called: `tests/data/Names.java`, with and without debug tables.

use proptest::collection::vec;
use proptest::prelude::*;
use tyrion_bytecode::naming::{Body, Half, LockName, Variable, lock_names, method_lock_name};
use tyrion_bytecode::{ClassFile, Code, ConstantPool, Method, Pc, opcode};

const DEBUG: &[u8] = include_bytes!("data/java17/Names.class");
const INNER: &[u8] = include_bytes!("data/java17/Names$1.class");
const NO_DEBUG: &[u8] = include_bytes!("data/none8/Names.class");

/// The pcs of the monitors entered and of the calls of lock methods.
fn acquisitions(code: &Code<'_, '_>) -> Vec<Pc> {
    let instructions = code.instructions().map(|instruction| instruction.expect("code"));
    let takes = instructions.filter(|instruction| {
        let called = code.member(instruction).expect("a member");
        let name = called.map(|called| called.name.to_string()).unwrap_or_default();
        instruction.opcode() == opcode::MONITORENTER
            || name.starts_with("lock") && instruction.opcode() >= opcode::INVOKEVIRTUAL
    });
    takes.map(|instruction| instruction.pc()).collect()
}

fn with_method<T>(class: &[u8], name: &str, look: impl FnOnce(Body<'_>, Vec<Pc>) -> T) -> T {
    let class = ClassFile::parse(class).expect("a class");
    let method: Method<'_, '_> =
        class.methods().find(|found| found.name() == name).expect("method");
    let code = method.code().expect("code").expect("code");
    look(Body::of(&method, &code), acquisitions(&code))
}

fn found(class: &[u8], method: &str) -> Vec<LockName> {
    let none = LockName { text: "-".into(), half: None, is_field: false };
    let or_none = |name: Option<LockName>| name.unwrap_or(none.clone());
    with_method(class, method, |body, pcs| {
        lock_names(&body, &pcs).into_iter().map(or_none).collect()
    })
}

fn names(class: &[u8], method: &str) -> Vec<String> {
    found(class, method).into_iter().map(|name| name.text).collect()
}

#[test]
fn fields_are_named_with_their_class_and_what_they_are_in() {
    let expected = ["Names.lock", "Names.next.lock", "Names.next.next.lock", "Names.SHARED"];
    assert_eq!(names(DEBUG, "fields"), expected);
    assert_eq!(names(NO_DEBUG, "fields"), expected);
}

#[test]
fn this_and_constants() {
    assert_eq!(names(DEBUG, "selves"), ["this", "Names.class", "int[].class", "\"text\""]);
    assert_eq!(names(INNER, "run"), ["Names.this", "captured", "Names.lock"]);
    assert_eq!(method_lock_name(b"a/b/C$D", true), "a/b/C$D.class");
    assert_eq!(method_lock_name(b"a/b/C$D", false), "this");
}

#[test]
fn locals_have_the_name_of_what_they_hold_or_their_own() {
    assert_eq!(names(DEBUG, "parameters"), ["given", "Names.lock", "others[]"]);
    // The second parameter is overwritten.
    assert_eq!(names(NO_DEBUG, "parameters"), ["-", "Names.lock", "parameter 3[]"]);
    let expected = ["Names.lock", "fresh", "new java/lang/Object", "either", "Names.stripes[][]"];
    assert_eq!(names(DEBUG, "locals"), expected);
    let expected = ["Names.lock", "new java/lang/Object", "new java/lang/Object", "-", "-"];
    assert_eq!(names(NO_DEBUG, "locals"), expected);
}

#[test]
fn names_of_fields_are_known_as_such() {
    let are_fields = |class, method| -> Vec<bool> {
        found(class, method).into_iter().map(|name| name.is_field).collect()
    };
    assert_eq!(are_fields(DEBUG, "fields"), [true; 4]);
    assert_eq!(are_fields(DEBUG, "selves"), [false; 4]);
    assert_eq!(are_fields(INNER, "run"), [false, false, true]);
    assert_eq!(are_fields(DEBUG, "locals"), [true, false, false, false, true]);
    assert_eq!(are_fields(DEBUG, "calls"), [false, false, false, false, true]);
}

#[test]
fn results_of_methods() {
    let expected = ["find()", "other.find()", "Names.next.find()", "Names.make()", "Names.lock"];
    assert_eq!(names(DEBUG, "calls"), expected);
}

#[test]
fn halves_of_a_lock_are_the_lock() {
    let half = |half| LockName { text: "Names.both".into(), half: Some(half), is_field: true };
    for class in [DEBUG, NO_DEBUG] {
        assert_eq!(found(class, "halves"), [half(Half::Read), half(Half::Write)]);
    }
}

#[test]
fn a_pool_can_do_without_its_class() {
    let class = ClassFile::parse(DEBUG).expect("a class");
    let count = u16::from_be_bytes([DEBUG[8], DEBUG[9]]);
    let entries = &DEBUG[10..];
    let pool = ConstantPool::from_entries(count, entries).expect("a pool");
    with_method(DEBUG, "fields", |body, pcs| {
        let names = lock_names(&Body { pool: &pool, ..body.clone() }, &pcs);
        assert_eq!(names, lock_names(&body, &pcs));
    });
    assert!(ConstantPool::from_entries(count, &entries[..100]).is_err());
    assert_eq!(class.source_file().expect("a name"), "Names.java");
}

#[test]
fn long_chains_end() {
    with_method(DEBUG, "fields", |body, _| {
        let pc = body.code.iter().position(|&byte| byte == opcode::GETFIELD).expect("getfield");
        // Some field of Names, as an index; then that of its result, thousands of times.
        let getfield = &body.code[pc..pc + 3];
        let mut code = vec![0x2a];
        code.extend(getfield.repeat(20_000));
        code.push(opcode::MONITORENTER);
        let pc = Pc(code.len() as u16 - 1);
        let names = lock_names(&Body { code: &code, ..body.clone() }, &[pc]);
        assert!(names[0].as_ref().is_none_or(|name| name.text.chars().count() <= 201));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_have_names_or_none(
        code in vec(any::<u8>(), 0..300),
        pcs in vec(any::<u16>(), 0..8),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        pool in vec(any::<u8>(), 0..200),
        descriptor in "\\(?[IJ\\[L;)V]{0,8}",
        is_static: bool,
    ) {
        let pcs: Vec<Pc> = pcs.into_iter().map(|pc| Pc(pc % 320)).collect();
        let variables = vec![Variable { start: 2, length: u16::MAX, slot: 1, name: b"\xffx" }];
        let garbage = ConstantPool::from_entries(u16::from(descriptor.len() as u8) * 4, &pool);
        with_method(DEBUG, "calls", |body, own_pcs| {
            let descriptor = descriptor.as_bytes();
            let mut flipped = body.code.to_vec();
            let length = flipped.len();
            flips.iter().for_each(|(place, value)| flipped[place.index(length)] = *value);
            for code in [code.as_slice(), flipped.as_slice()] {
                let body = Body { code, descriptor, is_static, variables: variables.clone(), ..body.clone() };
                let _ = lock_names(&body, &pcs);
                let _ = lock_names(&body, &own_pcs);
                if let Ok(pool) = &garbage {
                    let _ = lock_names(&Body { pool, ..body.clone() }, &own_pcs);
                }
            }
        });
    }
}
