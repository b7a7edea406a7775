//! Cycles in words.

use super::{
    Cycle, Edge, Harmless, OrderedLock,
    graph::{Identity, Order},
    search::{Link, Pattern, Reason},
    stacks,
};
use crate::{
    Findings,
    findings::{
        LockRef,
        trace::{Nesting, lock_ids},
    },
};
use regex::Regex;
use std::{cell::OnceCell, collections::HashMap};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;
use tyrion_wire::{WaitKind, def::id::UNKNOWN, trace::Held};

/// Puts links into words.
pub(super) struct Describer<'a> {
    findings: &'a Findings<'a>,
    order: &'a Order,
    /// The ids of locks by hash, for each log.
    ids: Vec<OnceCell<HashMap<u32, Vec<u32>>>>,
}

impl<'a> Describer<'a> {
    pub(super) fn new(findings: &'a Findings<'a>, order: &'a Order) -> Self {
        let ids = findings.logs.iter().map(|_| OnceCell::new()).collect();
        Describer { findings, order, ids }
    }

    fn nesting(&self, link: &Link) -> Option<(&'a Recording, &'a Nesting)> {
        let nesting = self.findings.trace.nestings.get(link.taker.record as usize)?;
        Some((self.findings.logs.get(nesting.run as usize)?, nesting))
    }

    /// The numbers of an edge's outer lock in its record.
    fn outer_of(&self, link: &Link, log: &Recording, nesting: &Nesting) -> Option<usize> {
        let node = &self.order.nodes[self.order.graph.edges[link.edge].0 as usize];
        nesting.nested.outer.iter().rposition(|held| match &node.identity {
            Identity::Hash(hash) => {
                let class = log.definitions().classes().get(held.class);
                held.hash == *hash
                    && class.is_none_or(|_| Names(log).class(held.class) == node.class)
            }
            Identity::Name(name) => {
                let (_, own) = Names(log).place_parts(held.place, held.class);
                own == *name && Names(log).class(held.class) == node.class
            }
        })
    }

    fn lock(&self, run: u32, held: Held) -> OrderedLock {
        let Some(log) = self.findings.logs.get(run as usize) else { return OrderedLock::default() };
        let ids = self.ids[run as usize].get_or_init(|| lock_ids(log));
        let same_class = |id: &&u32| {
            let own = log.definitions().locks().get(**id);
            own.is_some_and(|&own| Names(log).class(own) == Names(log).class(held.class))
        };
        let id = ids.get(&held.hash).into_iter().flatten().find(same_class).copied().unwrap_or(0);
        let place = log.definitions().places().get(held.place);
        let (class, name) = match place {
            // What the program calls a lock that was waited for.
            None if id != UNKNOWN => Names(log).lock_parts(id),
            _ => Names(log).place_parts(held.place, held.class),
        };
        OrderedLock {
            lock: LockRef { name, class, id },
            hash: held.hash,
            // Only monitors have no place, before they are taken.
            kind: place.map_or(WaitKind::Monitor, |place| place.kind).name(),
            place: place.map_or_else(String::new, |place| Names(log).place(place)),
        }
    }

    fn edge(&self, link: &Link) -> Option<Edge> {
        let (log, nesting) = self.nesting(link)?;
        let number = self.outer_of(link, log, nesting)?;
        let outer = stacks::outer(log, nesting, number);
        let inner_stack = stacks::inner(log, nesting).frames;
        let mut inner = self.lock(nesting.run, nesting.nested.inner);
        if let (true, Some(innermost)) = (inner.place.is_empty(), inner_stack.first()) {
            inner.place.clone_from(innermost);
        }
        let others = nesting.nested.outer.iter().enumerate().filter(|(other, _)| *other != number);
        let mut threads: Vec<u32> = self.order.graph.ways[link.edge]
            .iter()
            .flat_map(|way| way.takers.iter().map(|taker| taker.thread))
            .collect();
        threads.sort_unstable();
        threads.dedup();
        Some(Edge {
            log: log.name().to_owned(),
            thread: Names(log).thread(nesting.nested.thread),
            threads: threads.len(),
            outer: self.lock(nesting.run, nesting.nested.outer[number]),
            inner,
            outer_stack: outer.frames,
            outer_stack_known: outer.known,
            inner_stack,
            also_held: others.map(|(_, held)| self.lock(nesting.run, *held)).collect(),
            first_ns: nesting.first_ns.saturating_sub(log.start_ns()),
        })
    }

    pub(super) fn cycle(&self, pattern: &Pattern) -> Cycle {
        let by_name = pattern.example.iter().any(|link| {
            let node = self.order.graph.edges[link.edge].0;
            matches!(self.order.nodes[node as usize].identity, Identity::Name(_))
        });
        Cycle {
            locks: pattern.example.len(),
            cycles: pattern.cycles,
            longest: pattern.longest,
            by_name,
            edges: pattern.example.iter().filter_map(|link| self.edge(link)).collect(),
        }
    }

    pub(super) fn harmless(&self, reason: &Reason, pattern: &Pattern) -> Harmless {
        let edges: Vec<Edge> = pattern.example.iter().filter_map(|link| self.edge(link)).collect();
        let is_gate = |node: u32, lock: &OrderedLock| match self
            .order
            .nodes
            .get(node as usize)
            .map(|node| &node.identity)
        {
            Some(Identity::Hash(hash)) => *hash == lock.hash,
            Some(Identity::Name(name)) => *name == lock.lock.name,
            None => false,
        };
        let (reason, gates) = match reason {
            Reason::OneThread => ("one-thread", Vec::new()),
            Reason::Gate(nodes) => {
                let also_held = || edges.iter().flat_map(|edge| &edge.also_held);
                let gate = |&node: &u32| also_held().find(|lock| is_gate(node, lock));
                ("gate", nodes.iter().filter_map(gate).map(|gate| gate.lock.clone()).collect())
            }
        };
        let only = edges.first().filter(|_| reason == "one-thread");
        Harmless {
            reason,
            gates,
            thread: only.map_or_else(String::new, |edge| edge.thread.clone()),
            locks: edges.into_iter().map(|edge| edge.outer).collect(),
            cycles: pattern.cycles,
        }
    }

    /// Whether the filter asks for one of the threads that took part, for one of
    /// the locks and for one of their kinds.
    pub(super) fn is_wanted(&self, pattern: &Pattern) -> bool {
        let filter = self.findings.filter;
        let any = |of: &dyn Fn(&Link) -> bool| pattern.example.iter().any(of);
        let wants_lock = |regex: &Regex| any(&|link| self.has_lock(link, regex));
        let wants_thread = |regex: &Regex| any(&|link| self.has_thread(link, regex));
        filter.lock.as_ref().is_none_or(wants_lock)
            && filter.thread.as_ref().is_none_or(wants_thread)
            && any(&|link| {
                let kind = |held: &Held| self.kind(link, *held);
                self.locks(link)
                    .iter()
                    .any(|it| kind(it).is_none_or(|it| filter.kinds.contains(it)))
            })
    }

    /// The two locks of a link, as its record has them.
    fn locks(&self, link: &Link) -> Vec<Held> {
        let Some((log, nesting)) = self.nesting(link) else { return Vec::new() };
        let outer = self.outer_of(link, log, nesting).and_then(|at| nesting.nested.outer.get(at));
        outer.into_iter().chain([&nesting.nested.inner]).copied().collect()
    }

    fn kind(&self, link: &Link, held: Held) -> Option<WaitKind> {
        let (log, _) = self.nesting(link)?;
        Some(log.definitions().places().get(held.place)?.kind)
    }

    fn has_lock(&self, link: &Link, regex: &Regex) -> bool {
        let Some((log, nesting)) = self.nesting(link) else { return false };
        self.locks(link).iter().any(|held| {
            let id = self.lock(nesting.run, *held).lock.id;
            Names(log).place_matches(regex, held.place, held.class)
                || (id != 0 && Names(log).lock_matches(regex, id))
        })
    }

    fn has_thread(&self, link: &Link, regex: &Regex) -> bool {
        let mut takers = self.order.graph.ways[link.edge].iter().flat_map(|way| &way.takers);
        takers.any(|&taker| {
            let nesting = self.nesting(&Link { taker, ..*link });
            nesting.is_some_and(|(log, it)| regex.is_match(&Names(log).thread(it.nested.thread)))
        })
    }
}
