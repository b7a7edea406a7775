//! Where probes stand, and when a method is left alone: one small method each.

#![allow(clippy::expect_used, reason = "a test that cannot go on should say why")]

mod common;

use common::assembler::{Frame, Item, Method, THIS_CLASS, Type};
use common::frames;
use common::model::{Class, Code};
use tyrion_bytecode::{
    ClassError, ClassFile, Exit, Member, MethodPlan, Op, Pc, Reason, instrument,
};

const RETURN: u8 = 0xb1;

fn plain(bytes: &[u8]) -> Item {
    Item::Plain(bytes.to_vec())
}

fn method(items: Vec<Item>) -> Method {
    Method { items, ..Method::default() }
}

/// A probe of two bytes that names itself.
fn probe(id: i32) -> Vec<Op> {
    vec![Op::Iconst(id), Op::Pop]
}

fn exit(on_return: Vec<Op>, on_throw: Vec<Op>) -> MethodPlan {
    MethodPlan { exit: Some(Exit { on_return, on_throw }), ..MethodPlan::default() }
}

fn entry(entry: Vec<Op>) -> MethodPlan {
    MethodPlan { entry, ..MethodPlan::default() }
}

fn apply(method: &Method, plan: &MethodPlan) -> Result<Class, Reason> {
    let bytes = method.assemble();
    let class = ClassFile::parse(&bytes).expect("well-formed");
    let mut outcome = instrument(&class, |_| Some(plan.clone()));
    match outcome.left.pop() {
        Some(left) => {
            assert_eq!((outcome.bytes, outcome.changed), (None, 0));
            Err(left.reason)
        }
        None => Ok(Class::read(&outcome.bytes.expect("changed"))),
    }
}

fn code(class: &Class) -> &Code {
    class.methods[0].code.as_ref().expect("code")
}

fn texts(class: &Class) -> Vec<&str> {
    code(class).instructions.iter().map(|instruction| instruction.text.as_str()).collect()
}

#[test]
fn a_jump_to_the_start_runs_the_probe_before_but_not_the_entry_probe() {
    let method = Method {
        frames: vec![(0, Frame::Same)],
        handlers: vec![(0, 1, 0, 0)],
        ..method(vec![plain(&[0x00]), Item::Near(0xa7, 0)])
    };
    let plan = MethodPlan { before: vec![(Pc(0), probe(2))], ..entry(probe(1)) };
    let class = apply(&method, &plan).expect("changed");
    assert_eq!(texts(&class), ["int 1", "87 []", "int 2", "87 []", "0 []", "167"]);
    assert_eq!(code(&class).instructions[5].targets, [2]);
    // The handler's range leaves the entry probe out and takes the other in.
    assert_eq!(code(&class).handlers, [[2, 5, 2, 0]]);
    let table = code(&class).attribute("StackMapTable").expect("frames");
    assert_eq!(frames::read(table, 0, &class.pool)[0].pc, 2);
}

#[test]
fn probes_around_an_instruction_belong_to_the_ranges_of_their_own_side() {
    // As javac compiles a synchronized block, with the monitor held from 1 to 3.
    let method = Method {
        handlers: vec![(1, 3, 4, 0)],
        ..method(vec![
            plain(&[0xc2]),
            plain(&[0x00]),
            plain(&[0xc3]),
            plain(&[RETURN]),
            plain(&[0xbf]),
        ])
    };
    let plan = MethodPlan {
        before: vec![(Pc(0), probe(0)), (Pc(2), probe(2))],
        after: vec![(Pc(0), probe(1)), (Pc(2), probe(3))],
        ..MethodPlan::default()
    };
    let class = apply(&method, &plan).expect("changed");
    let held: Vec<&str> = code(&class)
        .instructions
        .iter()
        .filter(|i| (code(&class).handlers[0][0]..code(&class).handlers[0][1]).contains(&i.pc))
        .map(|i| i.text.as_str())
        .collect();
    assert_eq!(held, ["int 1", "87 []", "0 []", "int 2", "87 []", "195 []"]);
}

#[test]
fn the_catch_all_handler_spares_returns_that_have_been_probed() {
    let method = Method {
        handlers: vec![(0, 2, 2, THIS_CLASS)],
        ..method(vec![plain(&[0x00]), plain(&[RETURN]), plain(&[0xbf])])
    };
    let plan = MethodPlan { entry: probe(0), ..exit(probe(1), probe(2)) };
    let class = apply(&method, &plan).expect("changed");
    let expected = [
        "int 0", "87 []", "0 []", "int 1", "87 []", "177 []", "191 []", "int 2", "87 []", "191 []",
    ];
    assert_eq!(texts(&class), expected);
    // The method's own handler first, then nop and athrow, each up to the return between them.
    assert_eq!(code(&class).handlers, [[2, 6, 6, THIS_CLASS], [2, 3, 7, 0], [6, 7, 7, 0]]);
    // Without a probe on return, a return that throws is a throw like any other.
    let class = apply(&method, &exit(vec![], probe(2))).expect("changed");
    assert_eq!(code(&class).handlers[1..], [[0, 3, 3, 0]]);
}

#[test]
fn a_method_that_cannot_throw_gets_no_handler() {
    let class = apply(&method(vec![plain(&[RETURN])]), &exit(probe(1), probe(2))).expect("changed");
    assert_eq!(texts(&class), ["int 1", "87 []", "177 []"]);
    assert!(code(&class).handlers.is_empty());
}

#[test]
fn the_handler_knows_the_parameters_it_reads_and_no_other() {
    let method = Method {
        descriptor: "(IJ[Lx/Y;Lz/Z;)V",
        flags: 0,
        frames: vec![(1, Frame::Append(vec![Type::Simple(1)]))],
        ..method(vec![plain(&[0x00]), plain(&[RETURN])])
    };
    let on_throw = vec![Op::Lload(2), Op::Pop2, Op::Aload(4), Op::Pop, Op::Aload(4), Op::Pop];
    let class = apply(&method, &exit(vec![], on_throw)).expect("changed");
    let table = code(&class).attribute("StackMapTable").expect("frames");
    let frame = frames::read(table, 5, &class.pool).pop().expect("handler");
    let top = frames::Type::Simple(0);
    let array = frames::Type::Object("[Lx/Y;".into());
    assert_eq!(frame.locals, [top.clone(), top, frames::Type::Simple(4), array]);
}

#[test]
fn a_uninitialized_value_names_the_instruction_and_a_branch_what_is_before_it() {
    let method = Method {
        frames: vec![(1, Frame::Stack(Type::Uninitialized(0)))],
        ..method(vec![plain(&[0xbb, 0, 2]), Item::Near(0xa7, 0)])
    };
    let plan = MethodPlan { before: vec![(Pc(0), probe(1))], ..MethodPlan::default() };
    let class = apply(&method, &plan).expect("changed");
    assert_eq!(code(&class).instructions.last().expect("goto").targets, [0]);
    let table = code(&class).attribute("StackMapTable").expect("frames");
    let frame = &frames::read(table, 0, &class.pool)[0];
    assert_eq!(frame.stack, [frames::Type::Uninitialized(2)]);
}

#[test]
fn the_stack_grows_by_what_the_probe_needs() {
    let call = Member::new("p/P", "p", "(JJI)D");
    let ops = vec![Op::Lconst(5), Op::Dup2, Op::Iconst(1), Op::InvokeStatic(call), Op::Pop2];
    let method = Method { max_stack: 3, ..method(vec![plain(&[0x00]), plain(&[RETURN])]) };
    let max_stack = |plan| code(&apply(&method, &plan).expect("changed")).max_stack;
    assert_eq!(max_stack(entry(ops.clone())), 5);
    assert_eq!(max_stack(exit(ops.clone(), vec![])), 8);
    assert_eq!(max_stack(exit(vec![], ops.clone())), 6);
    let deep = Method { max_stack: u16::MAX, ..method.clone() };
    assert_eq!(apply(&deep, &exit(ops, vec![])).err(), Some(Reason::StackTooDeep));
}

#[test]
fn constants_that_the_class_has_are_used_again() {
    let method = Method { name: "t/T", descriptor: "()V", ..method(vec![plain(&[RETURN])]) };
    let own = Op::InvokeStatic(Member::new("t/T", "t/T", "()V"));
    let class = apply(&method, &entry(vec![own.clone(), own])).expect("changed");
    // Eleven the class had; the name and type, and the method.
    assert_eq!(class.pool.len(), 13);
}

#[test]
fn leaves_alone_what_has_no_code() {
    let native = Method { flags: 0x0108, ..Method::default() };
    assert_eq!(apply(&native, &entry(probe(1))).err(), Some(Reason::NoCode));
}

#[test]
fn leaves_alone_jumps_that_would_not_reach() {
    let mut items = vec![plain(&[0x00]); 32767];
    items[0] = Item::Near(0x99, 32764);
    items.push(plain(&[RETURN]));
    let method = method(items);
    assert_eq!(apply(&method, &entry(probe(1))).map(drop), Ok(()));
    let between = MethodPlan { before: vec![(Pc(3), probe(1))], ..MethodPlan::default() };
    assert_eq!(apply(&method, &between).err(), Some(Reason::BranchTooFar { pc: Pc(0) }));
}

#[test]
fn leaves_alone_code_that_would_be_too_long() {
    let mut items = vec![plain(&[0x00]); 65532];
    items.push(plain(&[RETURN]));
    let method = method(items);
    assert_eq!(apply(&method, &entry(probe(1))).map(drop), Ok(()));
    let longer = entry([probe(1), probe(2)].concat());
    assert_eq!(apply(&method, &longer).err(), Some(Reason::CodeTooLong));
    // A handler counts, too.
    assert_eq!(apply(&method, &exit(vec![], probe(1))).err(), Some(Reason::CodeTooLong));
}

#[test]
fn leaves_alone_subroutines_and_open_ends() {
    for items in [
        vec![Item::Near(0xa8, 1), plain(&[0x4b]), plain(&[0xa9, 0])],
        vec![Item::Far(0xc9, 1), plain(&[RETURN])],
        vec![plain(&[0xc4, 0xa9, 0, 0])],
    ] {
        assert_eq!(apply(&method(items), &entry(probe(1))).err(), Some(Reason::Subroutines));
    }
    let open = method(vec![plain(&[RETURN]), plain(&[0x00])]);
    assert!(matches!(
        apply(&open, &entry(probe(1))),
        Err(Reason::Malformed(ClassError::FallsOffEnd { .. }))
    ));
}

#[test]
fn leaves_alone_constructors_with_exit_probes_and_empty_finalizers() {
    let constructor = Method { name: "<init>", flags: 1, ..method(vec![plain(&[RETURN])]) };
    assert_eq!(apply(&constructor, &exit(probe(1), vec![])).err(), Some(Reason::Constructor));
    assert_eq!(apply(&constructor, &entry(probe(1))).map(drop), Ok(()));
    let this = entry(vec![Op::Aload(0), Op::Pop]);
    assert_eq!(apply(&constructor, &this).err(), Some(Reason::LocalNotReadable { slot: 0 }));
    let finalizer = Method { name: "finalize", flags: 1, ..method(vec![plain(&[RETURN])]) };
    assert_eq!(apply(&finalizer, &entry(probe(1))).err(), Some(Reason::EmptyFinalizer));
}

#[test]
fn leaves_alone_places_that_are_none() {
    let method = method(vec![plain(&[0x10, 7]), plain(&[0x57]), plain(&[RETURN])]);
    let before = MethodPlan { before: vec![(Pc(1), probe(1))], ..MethodPlan::default() };
    assert_eq!(apply(&method, &before).err(), Some(Reason::NoSuchInstruction { pc: Pc(1) }));
    let after = |pc| MethodPlan { after: vec![(Pc(pc), probe(1))], ..MethodPlan::default() };
    assert_eq!(apply(&method, &after(3)).err(), Some(Reason::NoFallThrough { pc: Pc(3) }));
    assert_eq!(apply(&method, &after(4)).err(), Some(Reason::NoSuchInstruction { pc: Pc(4) }));
}

#[test]
fn leaves_alone_probes_that_do_not_leave_the_stack_alone() {
    let method = Method { descriptor: "()I", ..method(vec![plain(&[0x03]), plain(&[0xac])]) };
    for ops in [vec![Op::AconstNull], vec![Op::Pop], vec![Op::Dup, Op::Pop]] {
        assert_eq!(apply(&method, &entry(ops)).err(), Some(Reason::UnbalancedProbe));
    }
    // The result can be looked at; what is below it cannot.
    let result = exit(vec![Op::Dup, Op::Pop], vec![]);
    assert_eq!(apply(&method, &result).map(drop), Ok(()));
    let below = exit(vec![Op::Dup2, Op::Pop2], vec![]);
    assert_eq!(apply(&method, &below).err(), Some(Reason::UnbalancedProbe));
}

#[test]
fn leaves_alone_locals_that_do_not_keep_their_parameter() {
    let descriptor = "(JILjava/lang/Object;)V";
    let reads = |op, items: Vec<Item>| {
        let method = Method { descriptor, ..method(items) };
        let pop = if matches!(op, Op::Lload(_)) { Op::Pop2 } else { Op::Pop };
        apply(&method, &exit(vec![], vec![op, pop])).err()
    };
    let body = |item: &[u8]| vec![plain(item), plain(&[RETURN])];
    let not_readable = |slot| Some(Reason::LocalNotReadable { slot });
    let nop = body(&[0x00]);
    for op in [Op::Lload(0), Op::Iload(2), Op::Aload(3)] {
        assert_eq!(reads(op, nop.clone()), None);
    }
    // Of another type, in the middle of another, or no parameter.
    for (op, slot) in [(Op::Iload(0), 0), (Op::Iload(1), 1), (Op::Aload(2), 2), (Op::Iload(4), 4)] {
        assert_eq!(reads(op, nop.clone()), not_readable(slot));
    }
    // Written, or half of it.
    assert_eq!(reads(Op::Aload(3), body(&[0x4e])), not_readable(3)); // astore_3
    assert_eq!(reads(Op::Iload(2), body(&[0x84, 2, 1])), not_readable(2)); // iinc 2
    assert_eq!(reads(Op::Iload(2), body(&[0xc4, 0x84, 0, 2, 0, 1])), not_readable(2));
    assert_eq!(reads(Op::Lload(0), body(&[0x3c])), not_readable(0)); // istore_1
    assert_eq!(reads(Op::Iload(2), body(&[0x40])), not_readable(2)); // lstore_1
    assert_eq!(reads(Op::Iload(2), body(&[0x48])), not_readable(2)); // dstore_1
    assert_eq!(reads(Op::Iload(2), body(&[0x43])), None); // fstore_0
}

#[test]
fn leaves_alone_locals_that_a_stack_map_gives_up() {
    let kept = |frame| {
        let method = Method {
            descriptor: "(I[[J)V",
            frames: vec![(1, Frame::Same), (2, frame)],
            ..method(vec![plain(&[0x00]), plain(&[0x00]), plain(&[RETURN])])
        };
        apply(&method, &exit(vec![], vec![Op::Iload(0), Op::Pop])).err()
    };
    let not_readable = Some(Reason::LocalNotReadable { slot: 0 });
    assert_eq!(kept(Frame::Chop(1)), None);
    assert_eq!(kept(Frame::Chop(2)), not_readable);
    assert_eq!(kept(Frame::Full(vec![Type::Simple(1)], vec![])), None);
    assert_eq!(kept(Frame::Full(vec![Type::Simple(0)], vec![])), not_readable);
    assert_eq!(kept(Frame::Full(vec![Type::This], vec![])), not_readable);
}

#[test]
fn leaves_alone_what_a_class_is_too_old_or_too_full_for() {
    let old = Method { major: 48, ..method(vec![plain(&[RETURN])]) };
    let ldc = entry(vec![Op::LdcClass, Op::Pop]);
    assert_eq!(apply(&old, &ldc).err(), Some(Reason::NoClassConstants));
    let bad = entry(vec![Op::InvokeStatic(Member::new("p/P", "p", "(V)V"))]);
    assert_eq!(apply(&old, &bad).err(), Some(Reason::BadMember));

    let many = (0..65524).flat_map(|i| [Op::Iconst(i + 100_000), Op::Pop]);
    let full = method(vec![plain(&[RETURN])]);
    // The pool overflows before the code is looked at.
    assert_eq!(apply(&full, &entry(many.collect())).err(), Some(Reason::ConstantPoolFull));
}

#[test]
fn a_method_left_alone_does_not_affect_the_next() {
    let bytes = include_bytes!("data/java17/Monitors.class");
    let class = ClassFile::parse(bytes).expect("well-formed");
    let outcome = instrument(&class, |method| {
        let broken = method.is_synchronized();
        let call = Op::InvokeStatic(Member::new("p/P", if broken { "no" } else { "yes" }, "()V"));
        Some(entry(if broken { vec![call, Op::Pop] } else { vec![call] }))
    });
    assert_eq!(outcome.left.len(), 2);
    let new = Class::read(&outcome.bytes.expect("changed"));
    let has = |text: &str| new.pool.values().any(|constant| constant == text);
    assert!(has("p/P.yes.()V") && !has("p/P.no.()V") && !has("no"));
}
