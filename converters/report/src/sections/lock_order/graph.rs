//! From the records of nesting to the order of locks.

use super::search::{Graph, HeldLock, Taker, Way};
use crate::findings::trace::{Nesting, TraceFindings, recordings};
use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;
use tyrion_wire::{WaitKind, def::id::UNKNOWN, trace::Held};

/// What stands for a lock in the graph: an instance where instances are told
/// apart, else all of a class that the program calls by one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OrderNode {
    /// The recording that it is of, by its first log.
    pub(super) recording: u32,
    /// Its class, as the JVM names it.
    pub(super) class: String,
    /// Its identity hash, or its name.
    pub(super) identity: Identity,
}

/// What tells a lock from others of its class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// The identity hash.
    Hash(u32),
    /// What the program calls it; may be empty.
    Name(String),
}

/// The order of locks, and what its numbers stand for.
pub(super) struct Order {
    pub(super) graph: Graph,
    /// The locks, by node.
    pub(super) nodes: Vec<OrderNode>,
    /// How many records there are of it.
    pub(super) nestings: u64,
    /// How many of those say nothing since it is not known which instance was
    /// taken, or was held.
    pub(super) unidentified: u64,
}

/// A lock that is held, as one log tells it.
#[derive(Clone, Copy)]
struct GraphLock {
    /// `None` when instances are told apart but not this one.
    node: Option<u32>,
    class: u32,
    /// Where it was taken, and what kind of lock it is.
    place: u32,
    kind: WaitKind,
}

impl GraphLock {
    fn is_read(&self) -> bool {
        self.kind.is_shared()
    }
}

/// Numbers for what is found, in the order in which it is found.
struct Numbers<T>(HashMap<T, u32>);

impl<T: Eq + Hash> Numbers<T> {
    fn of(&mut self, value: T) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(value).or_insert(next)
    }
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers(HashMap::new())
    }
}

/// Class, place and kind of the outer lock and of the inner one.
type Kind = [(u32, u32, WaitKind); 2];
/// A way without who took it.
type WayKey = (u32, u32, bool, bool);

/// What came about in each way: thread, whether it is many, and the first
/// record of it.
type Ways = BTreeMap<WayKey, BTreeMap<(u32, bool), u32>>;

struct GraphBuilder<'a> {
    logs: &'a [Recording],
    recordings: Vec<u32>,
    /// The class of an instance, by recording and hash, for records that lack
    /// it; empty if there are two.
    class_of: HashMap<(u32, u32), String>,
    nodes: Numbers<OrderNode>,
    classes: Numbers<String>,
    /// Where locks are taken, in words.
    places: Numbers<String>,
    threads: Numbers<(u32, u64)>,
    kinds: Numbers<Kind>,
    held: Numbers<Vec<HeldLock>>,
    edges: BTreeMap<(u32, u32), Ways>,
    known: HashMap<(u32, Held), Option<GraphLock>>,
}

/// The order of locks in what was recorded.
pub(super) fn order(logs: &[Recording], recorded: &TraceFindings) -> Order {
    let recordings = recordings(logs);
    let class_of = classes_by_hash(logs, &recordings, recorded);
    let mut builder = GraphBuilder {
        logs,
        recordings,
        class_of,
        nodes: Numbers::default(),
        classes: Numbers::default(),
        places: Numbers::default(),
        threads: Numbers::default(),
        kinds: Numbers::default(),
        held: Numbers::default(),
        edges: BTreeMap::new(),
        known: HashMap::new(),
    };
    let mut unidentified = 0;
    for (record, nesting) in recorded.nestings.iter().enumerate() {
        let says = builder.add(record as u32, nesting);
        unidentified += if says { 0 } else { nesting.times };
    }
    builder.finish(recorded.nested_times(), unidentified)
}

/// The class of each instance whose class is known.
fn classes_by_hash(
    logs: &[Recording],
    recordings: &[u32],
    recorded: &TraceFindings,
) -> HashMap<(u32, u32), String> {
    let mut classes: HashMap<(u32, u32), String> = HashMap::new();
    for nesting in &recorded.nestings {
        let Some(log) = logs.get(nesting.run as usize) else { continue };
        let recording = recordings[nesting.run as usize];
        for held in nesting.nested.outer.iter().chain([&nesting.nested.inner]) {
            if held.hash == 0 || log.definitions().classes().get(held.class).is_none() {
                continue;
            }
            let class = Names(log).class(held.class);
            let known = classes.entry((recording, held.hash)).or_insert_with(|| class.clone());
            if *known != class {
                known.clear();
            }
        }
    }
    classes
}

impl GraphBuilder<'_> {
    /// Adds a record: whether it says anything.
    fn add(&mut self, record: u32, nesting: &Nesting) -> bool {
        let Some(log) = self.logs.get(nesting.run as usize) else { return false };
        let inner = match nesting.nested.inner.place {
            UNKNOWN => self.waited_for(nesting),
            _ => self.known(nesting.run, nesting.nested.inner),
        };
        let Some(inner) = inner else { return false };
        let outer: Vec<GraphLock> =
            nesting.nested.outer.iter().filter_map(|held| self.known(nesting.run, *held)).collect();
        let mut held: Vec<HeldLock> = outer
            .iter()
            .map(|known| HeldLock { node: known.node, class: known.class, read: known.is_read() })
            .collect();
        held.sort_unstable();
        let held = self.held.of(held);
        let java_id = log.definitions().threads().get(nesting.nested.thread).map(|it| it.java_id);
        // Virtual threads share one pseudo-thread, which has no id of Java's.
        let many = java_id == Some(0);
        let recording = self.recordings[nesting.run as usize];
        let thread = self.threads.of((recording, java_id.unwrap_or(u64::MAX)));
        let mut says = false;
        for outer in outer {
            let (Some(from), Some(to)) = (outer.node, inner.node) else { continue };
            if from == to {
                continue;
            }
            says = true;
            // Who only tries does not wait for ever, so this is no part of a deadlock.
            if nesting.nested.is_tried {
                continue;
            }
            let kind = [outer, inner].map(|known| (known.class, known.place, known.kind));
            let way = (self.kinds.of(kind), held, outer.is_read(), inner.is_read());
            let ways = self.edges.entry((from, to)).or_default();
            ways.entry(way).or_default().entry((thread, many)).or_insert(record);
        }
        says
    }

    /// What is known of a lock; `None` of one whose place is lost.
    fn known(&mut self, run: u32, held: Held) -> Option<GraphLock> {
        if let Some(known) = self.known.get(&(run, held)) {
            return *known;
        }
        let known = self.find(run, held);
        self.known.insert((run, held), known);
        known
    }

    /// What is known of a monitor that a thread began to wait for: its place is
    /// told only when it was taken, which may never be, but its stack is there.
    fn waited_for(&mut self, nesting: &Nesting) -> Option<GraphLock> {
        let (run, held) = (nesting.run, nesting.nested.inner);
        let log = self.logs.get(run as usize)?;
        let innermost = log.definitions().stacks().get(nesting.nested.stack)?;
        let place = Names(log).frame(innermost.method, innermost.line);
        let (recording, class) = (self.recordings[run as usize], self.class(run, held));
        let node = (held.hash != 0).then(|| {
            let identity = Identity::Hash(held.hash);
            self.nodes.of(OrderNode { recording, class: class.clone(), identity })
        });
        let (class, place) = (self.classes.of(class), self.places.of(place));
        Some(GraphLock { node, class, place, kind: WaitKind::Monitor })
    }

    /// The class of a lock, as the JVM names it; empty if it is not known.
    fn class(&self, run: u32, held: Held) -> String {
        let log = &self.logs[run as usize];
        match log.definitions().classes().get(held.class) {
            Some(_) => Names(log).class(held.class),
            None => {
                let key = (self.recordings[run as usize], held.hash);
                self.class_of.get(&key).cloned().unwrap_or_default()
            }
        }
    }

    fn find(&mut self, run: u32, held: Held) -> Option<GraphLock> {
        let log = self.logs.get(run as usize)?;
        let (names, definitions) = (Names(log), log.definitions());
        let recording = self.recordings[run as usize];
        let place = definitions.places().get(held.place)?;
        let class = self.class(run, held);
        let identity = match held.hash {
            0 if is_by_name(log) => {
                Some(Identity::Name(names.place_parts(held.place, held.class).1))
            }
            0 => None,
            hash => Some(Identity::Hash(hash)),
        };
        let node = identity
            .map(|identity| self.nodes.of(OrderNode { recording, class: class.clone(), identity }));
        let class = self.classes.of(class);
        let place_text = names.place(place);
        Some(GraphLock { node, class, place: self.places.of(place_text), kind: place.kind })
    }

    fn finish(self, nestings: u64, unidentified: u64) -> Order {
        let mut graph = Graph { nodes: self.nodes.0.len(), ..Graph::default() };
        for (edge, ways) in self.edges {
            graph.edges.push(edge);
            let ways = ways.into_iter().map(|((kind, held, outer_read, inner_read), takers)| Way {
                kind,
                held,
                outer_read,
                inner_read,
                takers: takers
                    .into_iter()
                    .map(|((thread, many), record)| Taker { thread, many, record })
                    .collect(),
            });
            graph.ways.push(ways.collect());
        }
        graph.held = in_order(self.held);
        Order { graph, nodes: in_order(self.nodes), nestings, unidentified }
    }
}

/// Whether instances are not told apart in a log, so that locks go by name.
pub(super) fn is_by_name(log: &Recording) -> bool {
    log.option("identity").as_deref() == Some("false")
}

fn in_order<T>(numbers: Numbers<T>) -> Vec<T> {
    let mut list: Vec<(u32, T)> = numbers.0.into_iter().map(|(value, at)| (at, value)).collect();
    list.sort_unstable_by_key(|(at, _)| *at);
    list.into_iter().map(|(_, value)| value).collect()
}
