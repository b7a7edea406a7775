//! Probes in methods made at random.

#![allow(clippy::expect_used, reason = "a test that cannot go on should say why")]

mod common;

use std::collections::{BTreeMap, HashMap};

use common::assembler::{Frame, Item, Method, Type};
use common::everywhere::{PROBE_CLASS, PROBES};
use common::isomorphism;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tyrion_bytecode::{ClassFile, Exit, Member, MethodPlan, Op, Pc, instrument};

/// An instruction whose targets are not known yet.
#[derive(Clone, Debug)]
enum Draft {
    Plain(Vec<u8>),
    Near(u8, Index),
    Far(Index),
    TableSwitch(i32, Index, Vec<Index>),
    LookupSwitch(Index, Vec<(i32, Index)>),
}

fn draft() -> impl Strategy<Value = Draft> {
    let plain = prop_oneof![
        Just(vec![0x00]),                         // nop
        Just(vec![0xc2]),                         // monitorenter
        Just(vec![0xc3]),                         // monitorexit
        Just(vec![0xb1]),                         // return
        Just(vec![0xbf]),                         // athrow
        Just(vec![0x3a, 7]),                      // astore 7
        Just(vec![0xbb, 0, 2]),                   // new t/T
        Just(vec![0xba, 0, 1, 0, 0]),             // invokedynamic
        Just(vec![0xc5, 0, 2, 1]),                // multianewarray
        Just(vec![0xc4, 0x84, 0, 5, 0xff, 0xff]), // wide iinc
        Just(vec![0xc4, 0x15, 1, 0]),             // wide iload
    ];
    let near = prop_oneof![Just(0xa7), 0x99..=0xa6_u8, Just(0xc6), Just(0xc7)];
    let index = any::<Index>;
    prop_oneof![
        8 => plain.prop_map(Draft::Plain),
        4 => (near, index()).prop_map(|(opcode, target)| Draft::Near(opcode, target)),
        1 => index().prop_map(Draft::Far),
        1 => (-5..5, index(), vec(index(), 0..6)).prop_map(|(l, d, c)| Draft::TableSwitch(l, d, c)),
        1 => (index(), vec((any::<i32>(), index()), 0..6)).prop_map(|(d, c)| Draft::LookupSwitch(d, c)),
    ]
}

fn resolve(draft: &Draft, count: usize) -> Item {
    let at = |index: &Index| index.index(count);
    match draft {
        Draft::Plain(bytes) => Item::Plain(bytes.clone()),
        Draft::Near(opcode, target) => Item::Near(*opcode, at(target)),
        Draft::Far(target) => Item::Far(0xc8, at(target)),
        Draft::TableSwitch(low, default, cases) => {
            Item::TableSwitch(*low, at(default), cases.iter().map(at).collect())
        }
        Draft::LookupSwitch(default, cases) => Item::LookupSwitch(
            at(default),
            cases.iter().map(|(key, target)| (*key, at(target))).collect(),
        ),
    }
}

fn frame() -> impl Strategy<Value = (u8, u8, Index)> {
    (0..7_u8, 0..10_u8, any::<Index>())
}

/// Frames need not make sense to the verifier, but a chop needs something to take away.
fn resolve_frame(kind: u8, tag: u8, place: usize) -> Frame {
    let found = match tag {
        0..=6 => Type::Simple(tag),
        7 => Type::This,
        _ => Type::Uninitialized(place),
    };
    match kind {
        0 => Frame::Same,
        1 => Frame::SameExtended,
        2 => Frame::Stack(found),
        3 => Frame::StackExtended(found),
        4 => Frame::Append(vec![found; usize::from(tag % 3) + 1]),
        5 => Frame::Chop(1),
        _ => Frame::Full(vec![found.clone(); 3], vec![found; usize::from(tag)]),
    }
}

prop_compose! {
    fn method()(
        drafts in vec(draft(), 0..60),
        last in prop_oneof![Just(Draft::Plain(vec![0xb1])), Just(Draft::Plain(vec![0xbf]))],
        handlers in vec((any::<Index>(), any::<Index>(), any::<Index>(), 0..2_u16), 0..4),
        frames in vec((any::<Index>(), frame()), 0..12),
        lines in vec(any::<Index>(), 0..6),
        variables in vec((any::<Index>(), any::<Index>()), 0..6),
    ) -> Method {
        let drafts: Vec<Draft> = drafts.into_iter().chain([last]).collect();
        let count = drafts.len();
        // From the first to somewhere behind it.
        let range = |start: &Index, end: &Index| {
            let start = start.index(count);
            (start, start + 1 + end.index(count - start))
        };
        let handlers = handlers.iter().map(|(start, end, handler, class)| {
            let (start, end) = range(start, end);
            (start, end, handler.index(count), class * common::assembler::THIS_CLASS)
        });
        let frames: BTreeMap<usize, _> =
            frames.iter().map(|(place, frame)| (place.index(count), frame)).collect();
        // The first frame makes room for those that chop.
        let mut room = vec![Frame::Full(vec![Type::Simple(1); 20], vec![])].into_iter();
        let frames = frames.into_iter().map(|(place, (kind, tag, new))| {
            (place, room.next().unwrap_or_else(|| match resolve_frame(*kind, *tag, new.index(count)) {
                Frame::Full(_, stack) => Frame::Full(vec![Type::This; 20], stack),
                other => other,
            }))
        });
        Method {
            items: drafts.iter().map(|draft| resolve(draft, count)).collect(),
            handlers: handlers.collect(),
            frames: frames.collect(),
            lines: lines.iter().map(|line| line.index(count)).collect(),
            variables: variables.iter().map(|(start, end)| range(start, end)).collect(),
            ..Method::default()
        }
    }
}

fn probe() -> impl Strategy<Value = Vec<Op>> {
    let call =
        |index: usize, ops: Vec<Op>| [ops, vec![Op::InvokeStatic(PROBES[index].clone())]].concat();
    prop_oneof![
        any::<i32>().prop_map(move |id| call(1, vec![Op::Iconst(id)])),
        any::<i64>().prop_map(move |id| call(8, vec![Op::AconstNull, Op::Lconst(id)])),
        any::<i8>().prop_map(move |id| call(1, vec![Op::Iconst(i32::from(id))])),
        Just(vec![Op::LdcClass, Op::Dup, Op::Pop2]),
        Just(vec![
            Op::GetStatic(Member::new(PROBE_CLASS, "contended", "I")),
            Op::Dup,
            Op::Swap,
            Op::Pop,
            Op::Pop
        ]),
        Just(vec![]),
    ]
}

prop_compose! {
    fn plan()(
        entry in probe(),
        before in vec((any::<Index>(), probe()), 0..8),
        after in vec((any::<Index>(), probe()), 0..8),
        exit in proptest::option::of((probe(), probe())),
    ) -> (MethodPlan, Vec<(Index, Vec<Op>)>, Vec<(Index, Vec<Op>)>) {
        let exit = exit.map(|(on_return, on_throw)| Exit { on_return, on_throw });
        (MethodPlan { entry, exit, ..MethodPlan::default() }, before, after)
    }
}

/// Gives the probes places in `method`, `after` only where something falls through.
fn place(method: &Method, probes: &[(Index, Vec<Op>)], after: bool) -> Vec<(Pc, Vec<Op>)> {
    let places = method.places();
    let fits = |item: &Item| match item {
        Item::Plain(bytes) => !matches!(bytes[..], [0xb1 | 0xbf]),
        Item::Near(opcode, _) => *opcode != 0xa7,
        _ => false,
    };
    let candidates: Vec<usize> =
        (0..method.items.len()).filter(|&i| !after || fits(&method.items[i])).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let place =
        |(index, ops): &(Index, Vec<Op>)| (Pc(places[*index.get(&candidates)] as u16), ops.clone());
    probes.iter().map(place).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_new_code_is_the_old_code_with_probes(method in method(), (plan, before, after) in plan()) {
        let plan = MethodPlan {
            before: place(&method, &before, false),
            after: place(&method, &after, true),
            ..plan
        };
        let bytes = method.assemble();
        let class = ClassFile::parse(&bytes).expect("well-formed");
        let outcome = instrument(&class, |_| Some(plan.clone()));
        prop_assert_eq!(&outcome.left, &[]);
        prop_assert_eq!(outcome.bytes.is_none(), plan.is_empty());
        let key = (method.name.to_owned(), method.descriptor.to_owned());
        let new = outcome.bytes.unwrap_or(bytes.clone());
        isomorphism::check(&bytes, &new, &HashMap::from([(key, plan.clone())]));
        // And once more, as an agent may find classes that another one has been at.
        let class = ClassFile::parse(&new).expect("well-formed");
        prop_assert_eq!(instrument(&class, |_| None).bytes, None);
        let entry = MethodPlan { entry: vec![Op::AconstNull, Op::Pop], ..MethodPlan::default() };
        let again = instrument(&class, |_| Some(entry.clone())).bytes.expect("changed");
        let key = (method.name.to_owned(), method.descriptor.to_owned());
        isomorphism::check(&new, &again, &HashMap::from([(key, entry)]));
    }
}
