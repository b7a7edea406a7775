//! Where probes stand, and when a method is left alone: one small method each.

use crate::common::assembler::{Frame, Item, Method, THIS_CLASS, Type};
use crate::common::frames;
use crate::common::model::{Class, Code};
use tyrion_bytecode::{
    Around, ClassError, ClassFile, Exit, Member, MethodPlan, Op, Pc, Protected, Reason, instrument,
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
    let mut instrumented = instrument(&class, |_| Some(plan.clone()));
    match instrumented.left.pop() {
        Some(left) => {
            assert_eq!((instrumented.bytes, instrumented.changed), (None, 0));
            Err(left.reason)
        }
        None => Ok(Class::read(&instrumented.bytes.expect("changed"))),
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

/// As javac compiles `synchronized (parameter 0) {}`, its handler at 7 covering itself.
fn block() -> Method {
    Method {
        descriptor: "(Ljava/lang/Object;)V",
        handlers: vec![(3, 5, 6, 0), (6, 9, 6, 0)],
        frames: vec![(6, Frame::Full(vec![], vec![Type::Throwable])), (11, Frame::Chop(0))],
        ..method(vec![
            plain(&[0x2a, 0x59]), // aload_0, dup
            plain(&[0x4c]),       // astore_1
            plain(&[0xc2]),       // monitorenter
            plain(&[0x2b]),       // aload_1
            plain(&[0xc3]),       // monitorexit
            Item::Near(0xa7, 11),
            plain(&[0x4d]), // astore_2
            plain(&[0x2b]), // aload_1
            plain(&[0xc3]), // monitorexit
            plain(&[0x2c]), // aload_2
            plain(&[0xbf]), // athrow
            plain(&[RETURN]),
        ])
    }
}

#[test]
fn a_pair_keeps_a_value_below_what_the_instruction_takes() {
    let pair = |before, after| Around { before, after };
    let plan = |pairs: Vec<Around>| MethodPlan {
        before: vec![(Pc(3), probe(1))],
        after: vec![(Pc(3), probe(2))],
        around: pairs.into_iter().map(|pair| (Pc(3), pair)).collect(),
        ..MethodPlan::default()
    };
    let block = Method { frames: vec![], major: 49, ..block() };
    let keep = pair(vec![Op::Dup], vec![Op::Pop]);
    let class =
        apply(&block, &plan(vec![keep.clone(), pair(probe(3), probe(4))])).expect("changed");
    let expected = [
        "load 4 0", "89 []", "76 []", "int 1", "87 []", "89 []", "int 3", "87 []", "194 []",
        "int 4", "87 []", "87 []", "int 2", "87 []",
    ];
    assert_eq!(texts(&class)[..expected.len()], expected);
    // One for what is kept, one more for the probe on top of it.
    assert_eq!(code(&class).max_stack, block.max_stack + 2);
    let three = vec![keep.clone(), keep.clone(), keep.clone()];
    assert_eq!(code(&apply(&block, &plan(three)).expect("changed")).max_stack, block.max_stack + 3);
    for (before, after) in [
        (vec![Op::Dup], vec![]),
        (vec![], vec![Op::Pop]),
        (vec![Op::Pop], vec![Op::AconstNull]),
        (vec![Op::Dup], vec![Op::Pop2]),
    ] {
        let unbalanced = plan(vec![pair(before, after)]);
        assert_eq!(apply(&block, &unbalanced).err(), Some(Reason::UnbalancedProbe));
    }
    let after_return = MethodPlan { around: vec![(Pc(14), keep)], ..MethodPlan::default() };
    assert_eq!(apply(&block, &after_return).err(), Some(Reason::NoFallThrough { pc: Pc(14) }));
}

#[test]
fn a_probe_in_a_handler_is_not_repeated_when_it_throws() {
    let plan = |ops| MethodPlan { in_handler: vec![(Pc(9), ops)], ..MethodPlan::default() };
    let (method, read) = (block(), |slot| vec![Op::AloadLocal(slot), Op::Pop]);
    let class = apply(&method, &plan(read(1))).expect("changed");
    let handler = ["load 4 1", "87 []", "167", "0 []", "77 []", "load 4 1", "195 []"];
    assert_eq!(texts(&class)[7..14], handler);
    // Its own handler first; the method's, which cover it, behind.
    assert_eq!(code(&class).handlers, [[9, 11, 14, 0], [4, 6, 9, 0], [9, 18, 9, 0]]);
    assert_eq!(code(&class).instructions[9].targets, [15]);
    let table = code(&class).attribute("StackMapTable").expect("frames");
    let frames: Vec<u16> = frames::read(table, 1, &class.pool).iter().map(|f| f.pc).collect();
    assert_eq!(frames, [9, 14, 15, 20]);

    // Slot 2 is written before it is read, slot 3 not read at all.
    for slot in [2, 3] {
        let reason = Some(Reason::LocalNotReadable { slot });
        assert_eq!(apply(&method, &plan(read(slot))).err(), reason);
    }
    let elsewhere = MethodPlan { before: vec![(Pc(10), read(1))], ..MethodPlan::default() };
    assert_eq!(apply(&method, &elsewhere).err(), Some(Reason::LocalNotReadable { slot: 1 }));
    let not_a_handler = Some(Reason::NotAHandler { pc: Pc(9) });
    let typed = Method { handlers: vec![(3, 5, 6, THIS_CLASS)], ..method.clone() };
    let no_frame = Method { frames: vec![], ..method.clone() };
    let other = vec![(6, Frame::Stack(Type::This))];
    let other_frame = Method { frames: other, ..method.clone() };
    for method in [typed, no_frame, other_frame] {
        assert_eq!(apply(&method, &plan(read(1))).err(), not_a_handler);
    }
    let old = Method { frames: vec![], major: 49, ..method };
    assert_eq!(apply(&old, &plan(read(1))).map(drop), Ok(()));
}

/// As Kotlin compiles it: the handler does not cover the `monitorexit`.
fn unguarded_block() -> Method {
    Method { handlers: vec![(3, 4, 6, 0), (6, 7, 6, 0)], ..kotlin_frames(vec![]) }
}

fn kotlin_frames(at_exit: Vec<(usize, Frame)>) -> Method {
    let block = block();
    let object = || vec![Type::This, Type::This];
    let mut frames = at_exit;
    frames.push((6, Frame::Full(object(), vec![Type::Throwable])));
    frames.push((11, Frame::Same));
    let items = block.items.clone();
    let items = [&items[..3], &[plain(&[0x00])], &items[3..]].concat();
    let frames = frames.into_iter().map(|(place, frame)| (place + 1, frame)).collect();
    let shifted = |item: Item| match item {
        Item::Near(opcode, target) => Item::Near(opcode, target + 1),
        other => other,
    };
    let items = items.into_iter().map(shifted).collect();
    Method { items, frames, ..block }
}

#[test]
fn a_protected_probe_has_a_handler_that_fits() {
    // The block: nop at 4, aload_1 at 5, monitorexit at 6, the handler at 10.
    let plan = |pc, handler| MethodPlan {
        protected: vec![(Pc(pc), Protected { handler: Pc(handler), ops: probe(1) })],
        ..MethodPlan::default()
    };
    let shift = |method: Method| {
        let handlers = vec![(3, 4, 7, 0), (7, 8, 7, 0)];
        Method { handlers, ..method }
    };
    let method = shift(unguarded_block());
    let class = apply(&method, &plan(6, 10)).expect("changed");
    let expected = ["194 []", "0 []", "load 4 1", "int 1", "87 []", "195 []"];
    assert_eq!(texts(&class)[3..9], expected);
    assert_eq!(code(&class).handlers[0], [6, 8, 12, 0]);
    // A stack map on the way that says the same, or that does not.
    let object = |count| Frame::Full(vec![Type::This; count], vec![]);
    let with_frame = |frame| shift(kotlin_frames(vec![(3, frame)]));
    assert_eq!(apply(&with_frame(object(2)), &plan(6, 10)).map(drop), Ok(()));
    assert_eq!(apply(&with_frame(object(3)), &plan(6, 10)).map(drop), Ok(()));
    let does_not_fit = Some(Reason::HandlerDoesNotFit { pc: Pc(6) });
    assert_eq!(apply(&with_frame(object(1)), &plan(6, 10)).err(), does_not_fit);
    // A store on the way to what the handler has, and to what it has not.
    let stores = |slot: u8| {
        let mut method = method.clone();
        method.items[3] = plain(&[0x4b + slot]);
        apply(&method, &plan(6, 10)).err()
    };
    assert_eq!((stores(1), stores(2)), (does_not_fit.clone(), None));
    // Too far from anything that is known.
    let too_early = Some(Reason::HandlerDoesNotFit { pc: Pc(3) });
    assert_eq!(apply(&method, &plan(3, 10)).err(), too_early);
    let no_handler = Some(Reason::NotAHandler { pc: Pc(11) });
    assert_eq!(apply(&method, &plan(6, 11)).err(), no_handler);
    // Without stack maps the handler must be one that only releases the monitor.
    let old = Method { major: 49, frames: vec![], ..method.clone() };
    assert_eq!(apply(&old, &plan(6, 10)).map(drop), Ok(()));
    let mut other = old.clone();
    other.items[8] = plain(&[0x2a]);
    assert_eq!(apply(&other, &plan(6, 10)).err(), does_not_fit);
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
    // Thirteen the class had; the name and type, and the method.
    assert_eq!(class.pool.len(), 15);
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

    let many = (0..65522).flat_map(|i| [Op::Iconst(i + 100_000), Op::Pop]);
    let full = method(vec![plain(&[RETURN])]);
    // The pool overflows before the code is looked at.
    assert_eq!(apply(&full, &entry(many.collect())).err(), Some(Reason::ConstantPoolFull));
}

#[test]
fn a_method_left_alone_does_not_affect_the_next() {
    let bytes = include_bytes!("data/java17/Monitors.class");
    let class = ClassFile::parse(bytes).expect("well-formed");
    let instrumented = instrument(&class, |method| {
        let broken = method.is_synchronized();
        let call = Op::InvokeStatic(Member::new("p/P", if broken { "no" } else { "yes" }, "()V"));
        Some(entry(if broken { vec![call, Op::Pop] } else { vec![call] }))
    });
    assert_eq!(instrumented.left.len(), 2);
    let new = Class::read(&instrumented.bytes.expect("changed"));
    let has = |text: &str| new.pool.values().any(|constant| constant == text);
    assert!(has("p/P.yes.()V") && !has("p/P.no.()V") && !has("no"));
}
