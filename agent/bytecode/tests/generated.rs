//! Probes in methods made at random.

use std::collections::{BTreeMap, HashMap};

use crate::common::assembler::{Frame, Item, Method, Type};
use crate::common::everywhere::{PROBE_CLASS, PROBES};
use crate::common::isomorphism;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tyrion_bytecode::{Around, ClassFile, Exit, Member, MethodPlan, Op, Pc, Protected, instrument};

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

/// The kind of a frame that a handler has.
const THROWABLE: u8 = 7;

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
        THROWABLE => Frame::Stack(Type::Throwable),
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
        major in prop_oneof![4 => Just(61_u16), 1 => Just(49)],
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
            (start, end, handler.index(count), class * crate::common::assembler::THIS_CLASS)
        });
        let handlers: Vec<_> = handlers.collect();
        let frame = |(place, (kind, tag, new)): &(Index, (u8, u8, Index))| {
            (place.index(count), (*kind, *tag, new.index(count)))
        };
        let mut frames: BTreeMap<usize, _> = frames.iter().map(frame).collect();
        // What a probe in a handler asks for.
        let caught = |&(.., handler, _): &(usize, usize, usize, u16)| (handler, (THROWABLE, 0, 0));
        frames.extend(handlers.iter().map(caught));
        // The first frame makes room for those that chop.
        let mut first = true;
        let frames = frames.into_iter().map(|(place, (kind, tag, new))| {
            let found = resolve_frame(kind, tag, new);
            (place, match (std::mem::take(&mut first), found) {
                (true, Frame::Stack(found @ Type::Throwable)) => {
                    Frame::Full(vec![Type::Simple(1); 20], vec![found])
                }
                (true, _) => Frame::Full(vec![Type::Simple(1); 20], vec![]),
                (false, Frame::Full(_, stack)) => Frame::Full(vec![Type::This; 20], stack),
                (false, other) => other,
            })
        });
        Method {
            items: drafts.iter().map(|draft| resolve(draft, count)).collect(),
            handlers,
            major,
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

/// The halves of a pair, which keep one slot or two, or none.
fn pair() -> impl Strategy<Value = Halves> {
    (probe(), probe(), 0..3_usize).prop_map(|(before, after, kept)| {
        let (keep, drop) = [
            (vec![], vec![]),
            (vec![Op::Dup], vec![Op::Pop]),
            (vec![Op::Lconst(7)], vec![Op::Dup2, Op::Pop2, Op::Pop2]),
        ][kept]
            .clone();
        ([before, keep].concat(), [after, drop].concat())
    })
}

/// What stands in front of an instruction, and behind it.
type Halves = (Vec<Op>, Vec<Op>);

/// Probes that have no places yet.
#[derive(Clone, Debug)]
struct Unplaced {
    before: Vec<(Index, Vec<Op>)>,
    after: Vec<(Index, Vec<Op>)>,
    around: Vec<(Index, Halves)>,
    in_handler: Vec<(Index, Vec<Op>)>,
    /// Places among those that the handlers cover.
    protected: Vec<(Index, Index, Vec<Op>)>,
}

prop_compose! {
    fn plan()(
        entry in probe(),
        before in vec((any::<Index>(), probe()), 0..8),
        after in vec((any::<Index>(), probe()), 0..8),
        around in vec((any::<Index>(), pair()), 0..8),
        in_handler in vec((any::<Index>(), probe()), 0..3),
        protected in vec((any::<Index>(), any::<Index>(), probe()), 0..3),
        exit in proptest::option::of((probe(), probe())),
    ) -> (MethodPlan, Unplaced) {
        let exit = exit.map(|(on_return, on_throw)| Exit { on_return, on_throw });
        let plan = MethodPlan { entry, exit, ..MethodPlan::default() };
        (plan, Unplaced { before, after, around, in_handler, protected })
    }
}

/// The entries whose handlers never catch less than everything: start, end and handler.
fn catch_alls(method: &Method) -> Vec<(usize, usize, usize)> {
    let catches_all = |place: usize| {
        method.handlers.iter().all(|&(.., handler, class)| handler != place || class == 0)
    };
    let entries = method.handlers.iter().filter(|entry| catches_all(entry.2));
    entries.map(|&(start, end, handler, _)| (start, end, handler)).collect()
}

impl Unplaced {
    fn place(&self, method: &Method, plan: MethodPlan) -> MethodPlan {
        let around = place(method, &self.around, true).into_iter();
        MethodPlan {
            before: place(method, &self.before, false),
            after: place(method, &self.after, true),
            around: around.map(|(pc, (before, after))| (pc, Around { before, after })).collect(),
            in_handler: self.place_in_handlers(method),
            protected: self.place_protected(method),
            ..plan
        }
    }

    /// What the handler itself covers is certain to fit it.
    fn place_protected(&self, method: &Method) -> Vec<(Pc, Protected)> {
        let handlers = catch_alls(method);
        let places = method.places();
        if handlers.is_empty() || method.major < 50 {
            return Vec::new();
        }
        let place = |(which, at, ops): &(Index, Index, Vec<Op>)| {
            let (start, end, handler) = *which.get(&handlers);
            let place = start + at.index(end - start);
            let handler = Pc(places[handler] as u16);
            (Pc(places[place] as u16), Protected { handler, ops: ops.clone() })
        };
        self.protected.iter().map(place).collect()
    }

    /// Only in handlers that catch everything, each time.
    fn place_in_handlers(&self, method: &Method) -> Vec<(Pc, Vec<Op>)> {
        let handlers: Vec<usize> = catch_alls(method).iter().map(|handler| handler.2).collect();
        if handlers.is_empty() {
            return Vec::new();
        }
        let places = method.places();
        let place = |(index, ops): &(Index, Vec<Op>)| {
            (Pc(places[*index.get(&handlers)] as u16), ops.clone())
        };
        self.in_handler.iter().map(place).collect()
    }
}

/// Gives the probes places in `method`, `after` only where something falls through.
fn place<T: Clone>(method: &Method, probes: &[(Index, T)], after: bool) -> Vec<(Pc, T)> {
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
        |(index, ops): &(Index, T)| (Pc(places[*index.get(&candidates)] as u16), ops.clone());
    probes.iter().map(place).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_new_code_is_the_old_code_with_probes(method in method(), (plan, unplaced) in plan()) {
        let plan = unplaced.place(&method, plan);
        let bytes = method.assemble();
        let class = ClassFile::parse(&bytes).expect("well-formed");
        let instrumented = instrument(&class, |_| Some(plan.clone()));
        prop_assert_eq!(&instrumented.left, &[]);
        prop_assert_eq!(instrumented.bytes.is_none(), plan.is_empty());
        let key = (method.name.to_owned(), method.descriptor.to_owned());
        let new = instrumented.bytes.unwrap_or(bytes.clone());
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
