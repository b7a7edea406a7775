//! What `TyrionTrace` repeats of this crate, and of the log's format, is
//! compared with it: each constant in its source is either computed and
//! compared here, or known to be Java's own.

use super::{
    holds,
    instances::{self, InstanceTable},
    memory::{
        Block, Bucket, BurstsShared, CLOSED_PLACES, Cell, Chosen, Entry, HELD_LIMIT, IN_BURSTS,
        LOCKS_LIMIT, Later, NO_ENTRIES, NO_EXITS, NO_HOLDS, NO_INSTANCES, NotedRelease, Notes,
        Outside, Recent, Ring, Sum, Timed, Waited,
    },
    nesting, place_instances, resync,
    slots::{self, Slots, THREADS},
    start::constant,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem::offset_of,
};
use tyrion_bytecode::{ClassFile, Member};
use tyrion_plan::probe;
use tyrion_wire::{WaitKind, trace::OWN_BITS};

const SOURCE: &str = include_str!("../../probe/java/lang/TyrionTrace.java");
const TRACE: &[u8] = include_bytes!("../../probe/java/lang/TyrionTrace.class");
const PROBE: &[u8] = include_bytes!("../../probe/java/lang/TyrionProbe.class");

/// Constants that mean nothing on this side.
const JAVA_OWN: &[&str] = &[
    "TID",
    "PERMITS_LIMIT",
    "HASH_SHIFT",
    "LAYOUT",
    "RECURSIONS",
    "KIND",
    "OWNED_BY",
    "UNTIMED",
    "LINKED",
    "IN_MARK",
    "ELSEWHERE",
    "MINE",
    "OTHERS",
    "NOBODYS",
    "CROWDED",
    "MIX",
    "TIMES",
    "TIMED",
    "TIMED_LIMIT",
    "CLASS_SHIFT",
    "LATER_MASK",
    "LATER_SPARE",
    "LEAST_ROOM",
];

/// The constants of type `int` or `long`, by name, as they are written.
fn constants() -> BTreeMap<&'static str, String> {
    let mut constants = BTreeMap::new();
    for part in SOURCE.split(" static final ").skip(1) {
        let numeric = part.strip_prefix("int ").or_else(|| part.strip_prefix("long "));
        if let Some((name, value)) = numeric.and_then(|text| text.split_once(" =")) {
            let value = value.split_once(';').unwrap().0;
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(constants.insert(name, value).is_none(), "{name} stands twice");
        }
    }
    assert!(constants.len() > 80, "{}", constants.len());
    constants
}

/// The value of an expression of numbers, other constants, `+ * <<` and
/// parentheses, and what the agent tells; `None` for anything else.
struct Reader<'a> {
    rest: Vec<&'a str>,
    constants: &'a BTreeMap<&'static str, String>,
}

fn value_of(text: &str, constants: &BTreeMap<&'static str, String>) -> Option<i64> {
    let spaced = ["(", ")", "+", "*", "<<"]
        .iter()
        .fold(text.to_owned(), |text, token| text.replace(token, &format!(" {token} ")));
    let mut rest: Vec<&str> = spaced.split_whitespace().collect();
    rest.reverse();
    let mut reader = Reader { rest, constants };
    let value = reader.shift()?;
    reader.rest.is_empty().then_some(value)
}

impl Reader<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let is_it = self.rest.last() == Some(&token);
        is_it.then(|| self.rest.pop());
        is_it
    }

    fn shift(&mut self) -> Option<i64> {
        let mut value = self.sum()?;
        while self.takes("<<") {
            value <<= self.sum()?;
        }
        Some(value)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while self.takes("+") {
            value += self.product()?;
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        while self.takes("*") {
            value *= self.atom()?;
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i64> {
        if self.takes("(") {
            let value = self.shift();
            return value.filter(|_| self.takes(")"));
        }
        let token = self.rest.pop()?;
        if token == "address" {
            // What Java is told: addresses count as 0 here.
            let told = self.atom()?;
            let is_mask = told == i64::from(constant::INSTANCE_MASK);
            return Some(if is_mask { instances::MASK as i64 } else { 0 });
        }
        let digits = token.strip_suffix('L').unwrap_or(token);
        match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => {
                digits.parse().ok().or_else(|| value_of(self.constants.get(token)?, self.constants))
            }
        }
    }
}

/// What each constant of Java's must be.
fn expected() -> Vec<(&'static str, i64)> {
    let sizes: Vec<(&str, usize)> = vec![
        ("THREADS_MASK", THREADS - 1),
        ("THREADS_REACH", slots::REACH),
        ("LONGER_THREADS", offset_of!(Slots, longer)),
        ("THREADS_FULL", offset_of!(Slots, full)),
        ("THREADS_REFUSED", offset_of!(Slots, refused)),
        ("REFUSED_MASK", slots::REFUSED - 1),
        ("INSTANCE_MASK", instances::MASK as usize),
        ("INSTANCE_REACH", instances::REACH),
        ("SETS", offset_of!(InstanceTable, sets)),
        ("SHARERS", instances::SHARERS as usize),
        ("ENTERED_MASK", instances::ENTERED - 1),
        ("BUCKETS_MASK", Bucket::COUNT - 1),
        ("BUCKET_SHIFT", Bucket::SHIFT as usize),
        ("WAITING", offset_of!(Waited, count)),
        ("FIRST_HOLDS", holds::FIRST as usize),
        ("FIRST_MEASURED", holds::FIRST_MEASURED as usize),
        ("FIRST", offset_of!(Entry, first)),
        ("TIMEABLE", Entry::TIMEABLE as usize),
        ("PLACE_INSTANCES_MASK", place_instances::SLOTS - 1),
        ("SEVERAL_INSTANCES", place_instances::SEVERAL as usize),
        ("CLOSED_PLACES_MASK", CLOSED_PLACES - 1),
        ("NO_INSTANCES", NO_INSTANCES.into()),
        ("NO_HOLDS", NO_HOLDS.into()),
        ("IN_BURSTS", IN_BURSTS.into()),
        ("NO_ENTRIES", NO_ENTRIES.into()),
        ("NO_EXITS", NO_EXITS.into()),
        ("AGAIN_AT", offset_of!(BurstsShared, again_at)),
        ("AGAIN_AT_MASK", BurstsShared::PAIRS - 1),
        ("AGAIN_AT_REACH", BurstsShared::REACH),
        ("BURST", offset_of!(Block, burst)),
        ("OUTSIDE_SHIFT", size_of::<Outside>().ilog2() as usize),
        ("SEMAPHORE", WaitKind::Semaphore.code().into()),
        ("LOCK_READ", WaitKind::LockRead.code().into()),
        ("LOCK_WRITE", WaitKind::LockWrite.code().into()),
        ("ONLY_TRIED", probe::trace::ONLY_TRIED as usize),
        ("TRIED_AT", nesting::TRIED_AT as usize),
        ("CELLS", offset_of!(Block, cells)),
        ("ME", offset_of!(Block, me)),
        ("HOLDS", offset_of!(Block, holds)),
        ("ONE_MEASURED", resync::ONE_MEASURED as usize),
        ("PLACE", offset_of!(Block, place)),
        ("QUIET", offset_of!(Block, quiet)),
        ("RANDOM", offset_of!(Block, random)),
        ("SAMPLES", offset_of!(Block, samples)),
        ("OWNER", offset_of!(Block, owner)),
        ("RING", offset_of!(Block, ring)),
        ("ASKED", offset_of!(Block, asked)),
        ("NOTES", offset_of!(Block, notes)),
        ("HELD", offset_of!(Block, held)),
        ("HELD_LIMIT", HELD_LIMIT),
        ("HELD_LOCKS", offset_of!(Block, held_locks)),
        ("LOCKS_LIMIT", LOCKS_LIMIT),
        ("RECENT", super::memory::BLOCK_HEAD),
        ("RECENT_MASK", offset_of!(Block, recent_mask)),
        ("RECENT_LOCK", offset_of!(Recent, lock)),
        ("RECENT_NESTING", offset_of!(Recent, nesting)),
        ("PAIRS", offset_of!(Notes, pairs)),
        ("PAIRS_MASK", (offset_of!(Notes, told) - offset_of!(Notes, pairs)) / 8 - 1),
        ("TOLD", offset_of!(Notes, told)),
        ("TOLD_MASK", (offset_of!(Notes, known) - offset_of!(Notes, told)) / 8 - 1),
        ("KNOWN", offset_of!(Notes, known)),
        ("KNOWN_MASK", (size_of::<Notes>() - offset_of!(Notes, known)) / 4 - 1),
        ("KEY", offset_of!(Entry, key)),
        ("CELL", offset_of!(Entry, cell)),
        ("START", offset_of!(Entry, start)),
        ("TIMES", offset_of!(Entry, times)),
        ("STACK", offset_of!(Entry, stack)),
        ("PLACE_TAKEN", offset_of!(Entry, place)),
        ("WAITERS", offset_of!(Bucket, waiting)),
        ("WAITED", offset_of!(Bucket, waiting) + 4),
        ("DUE", offset_of!(Bucket, due)),
        ("NOTED", offset_of!(Bucket, noted)),
        ("RELEASES", offset_of!(Bucket, releases)),
        ("KEPT", offset_of!(Bucket, kept)),
        ("KEEP_FROM", offset_of!(Bucket, keep_from)),
        ("KEPT_SHIFT", offset_of!(Bucket, kept_shift)),
        ("KEPT_RELEASES", offset_of!(Bucket, kept_releases)),
        ("KEPT_EVERY_NS", Bucket::KEPT_EVERY_NS as usize),
        ("RELEASED_BY", offset_of!(NotedRelease, by)),
        ("RELEASED_AT", offset_of!(NotedRelease, place)),
        ("RELEASE_SIZE", size_of::<NotedRelease>()),
        ("RELEASES_MASK", Bucket::RELEASES - 1),
        ("CELL_PLACE", offset_of!(Cell, place)),
        ("TIMED_CHANCE", offset_of!(Chosen, timed_chance) - offset_of!(Chosen, every_event)),
        ("STACK_EVERY", holds::STACK_EVERY as usize),
        ("CLOSED", offset_of!(Cell, measured)),
        ("MEASURED_SHIFT", OWN_BITS as usize),
        ("NEXT_STACK", !Cell::EVERY_HOLD as usize),
        ("ACQUISITIONS", offset_of!(Cell, acquisitions)),
        ("NEXT", offset_of!(Cell, next)),
        ("REENTRANT", offset_of!(Cell, reentrant)),
        ("FAILED", offset_of!(Cell, failed)),
        ("FIRST_COUNT", offset_of!(Cell, first) + offset_of!(Sum, count)),
        ("SAMPLED", offset_of!(Cell, sampled) + offset_of!(Sum, count)),
        ("SUM", offset_of!(Sum, ns) - offset_of!(Sum, count)),
        ("LONGEST", offset_of!(Cell, max_ns)),
        ("UNIDENTIFIED", offset_of!(Cell, unidentified)),
        ("HISTOGRAM", offset_of!(Cell, histogram)),
        ("RING_LIMIT", size_of::<Ring>() - 2 * Ring::HEAD),
        ("LATER_DONE", offset_of!(Later, done)),
        ("LATER_LOOKS", offset_of!(Later, looks)),
        ("LATER_AGAIN", offset_of!(Later, again)),
        ("TIMED_LEAVING", offset_of!(Timed, leaving)),
        ("ONE_LOCK", 1 << 32),
        ("HASH", 0x7fff_ffff),
        ("DISPLACED", super::start::DISPLACED as usize),
    ];
    let mut all: Vec<(&str, i64)> =
        sizes.into_iter().map(|(name, size)| (name, size as i64)).collect();
    all.extend([
        ("NOTHING", Entry::NOTHING),
        ("SEVERAL", i64::from(Bucket::SEVERAL.cast_signed())),
        ("SHARED", i64::from((instances::SHARED as u32).cast_signed())),
    ]);
    all
}

/// What Java asks for, by the name it gives the answer.
const TOLD: &[(&str, i32)] = &[
    ("THREADS", constant::THREADS),
    ("INSTANCES", constant::INSTANCES),
    ("INSTANCE_MASK", constant::INSTANCE_MASK),
    ("BUCKETS", constant::WAITED),
    ("TICK", constant::TICK),
    ("LATER_GIVEN", constant::LATER),
    ("NOWHERE", constant::NOWHERE),
    ("CLOSED_PLACES", constant::CLOSED_PLACES),
    ("DELAY", constant::DELAY),
    ("EVERY_EVENT", constant::CHOSEN),
    ("ENTERED", constant::ENTERED),
    ("TIMED_TAKING", constant::TIMED),
    ("BURSTS", constant::BURSTS),
    ("OUTSIDE", constant::OUTSIDE),
    ("OUTSIDE_MASK", constant::OUTSIDE_MASK),
    ("PLACE_INSTANCES", constant::PLACE_INSTANCES),
];

/// The same, where it only matters whether the answer is 0.
const WHETHER: &[(&str, i32)] = &[("IDENTITY", constant::IDENTITY), ("PRECISE", constant::PRECISE)];

#[test]
fn every_constant_of_java_is_that_of_this_side() {
    let constants = constants();
    let mut seen: BTreeSet<&str> = JAVA_OWN.iter().copied().collect();
    for (name, expected) in expected() {
        let text = &constants[name];
        assert_eq!(value_of(text, &constants), Some(expected), "{name} = {text}");
        seen.insert(name);
    }
    for (name, number) in TOLD {
        assert_eq!(constants[name], format!("address({number})"), "{name}");
        seen.insert(name);
    }
    for (name, number) in WHETHER {
        let declared = format!(" boolean {name} = address({number}) != 0;");
        assert!(SOURCE.contains(&declared), "{declared}");
    }
    let asked = SOURCE.matches("= address(").count();
    assert_eq!(asked, TOLD.len() + WHETHER.len(), "Java asks for something else");
    let unknown: Vec<_> = constants.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(unknown.is_empty(), "neither compared nor Java's own: {unknown:?}");
}

/// Names and descriptors of the methods that are wanted.
fn methods(class: &[u8], is_native: bool) -> BTreeSet<(String, String)> {
    let class = ClassFile::parse(class).unwrap();
    let wanted = class.methods().filter(|method| method.is_static());
    let wanted = wanted.filter(|method| method.is_native() == is_native);
    wanted.map(|method| (method.name().to_string(), method.descriptor().to_string())).collect()
}

fn members(members: &[Member]) -> BTreeSet<(String, String)> {
    let of = |member: &Member| (member.name.to_string(), member.descriptor.to_string());
    members.iter().map(of).collect()
}

#[test]
fn the_classes_have_the_methods_that_probes_call() {
    assert_eq!(ClassFile::parse(PROBE).unwrap().name(), probe::wait::CLASS);
    assert_eq!(ClassFile::parse(TRACE).unwrap().name(), probe::trace::CLASS);
    // The agent calls the one, which calls the other: see `agent/hooks.rs`.
    let of_agent = |name: &str| BTreeSet::from([(name.to_owned(), "()V".to_owned())]);
    let mut native = members(probe::wait::ALL);
    native.extend(of_agent("replaceNativesNow"));
    assert_eq!(methods(PROBE, true), native);
    assert_eq!(methods(PROBE, false), of_agent("replaceNatives"));
    let missing: Vec<_> =
        members(probe::trace::ALL).difference(&methods(TRACE, false)).cloned().collect();
    assert_eq!(missing, []);
}

#[test]
fn what_java_calls_is_exported() {
    const NATIVES: &str = include_str!("natives.rs");
    // `delayed` is about waits, which trace mode does not record.
    const CALLBACKS: &str = include_str!("../agent/callbacks.rs");
    let exported: BTreeSet<&str> = [NATIVES, CALLBACKS]
        .into_iter()
        .flat_map(|text| text.split("\"Java_java_lang_TyrionTrace_").skip(1))
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect();
    let native = methods(TRACE, true);
    let native: BTreeSet<&str> = native.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(exported, native);
}
