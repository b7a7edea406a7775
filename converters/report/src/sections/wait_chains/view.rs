//! The view of wait chains.

use super::{ChainPhase, ChainRow, Charged, StepRow, WaitChains, WithheldChains};
use crate::{
    Findings, ReportOptions,
    findings::{ChainEnd, ChainStep, WaitChain},
    sections::shared::cut,
    view::{ChainNode, ChainTree, Column, Part, Row, Table, TableCell, Timeline, View},
};
use std::cmp::Reverse;
use tyrion_model::{filter::Kinds, harmless, units};

pub(super) fn view(chains: &WaitChains, findings: &Findings<'_>, options: &ReportOptions) -> View {
    let mut parts = match chains.charged.waits {
        0 => {
            vec![Part::Text("No wait has a known owner of its lock, or a known waker.".to_owned())]
        }
        _ => of_locks(chains, findings, options),
    };
    let (withheld, found) = (&chains.withheld, &findings.chains.withheld);
    if withheld.charged.waits != 0 {
        parts.push(Part::Text(sum_of_withheld(withheld)));
        let title = "Who waits for whom, not for a lock";
        parts.push(Part::Chains(tree(title, found.wait_ns, &found.chains, options)));
    }
    View { parts }
}

fn of_locks(chains: &WaitChains, findings: &Findings<'_>, options: &ReportOptions) -> Vec<Part> {
    let found = &findings.chains;
    let tree = tree("Who waits for whom", found.wait_ns, &found.chains, options);
    let mut parts = vec![Part::Text(sum_of_locks(&chains.charged)), Part::Chains(tree)];
    if chains.phases.len() > 1 {
        parts.push(Part::Timeline(timeline(chains, findings)));
        parts.push(Part::Listing(phases(chains, options)));
    }
    parts
}

fn sum_of_locks(charged: &Charged) -> String {
    format!(
        "The owner, or who ended the wait, is known for {}, {} in all: {}.",
        units::counted(charged.waits, "wait"),
        units::duration(charged.wait_ns),
        by_end(charged)
    )
}

fn sum_of_withheld(withheld: &WithheldChains) -> String {
    let WithheldChains { charged, unwoken_ns } = withheld;
    let mut text = format!(
        "It is known who ended {} that were not for a lock, {} in all: {}.",
        units::counted(charged.waits, "wait"),
        units::duration(charged.wait_ns),
        by_end(charged)
    );
    if *unwoken_ns != 0 {
        text += &format!(" For {} more it is not known.", units::duration(*unwoken_ns));
    }
    text
}

/// What the time was waited for.
fn by_end(charged: &Charged) -> String {
    let mut text = format!("{} for threads that ran", units::duration(charged.direct_ns));
    for (ns, what) in [
        (charged.chained_ns, "for threads that waited for others"),
        (charged.ring_ns, "in rings of threads that waited for each other"),
        (charged.waiting_ns, "for threads that waited, not known for whom"),
        (charged.late_ns, "for threads that had been woken but had not yet gone on"),
        (charged.unknown_ns, "with an owner that had changed"),
        (charged.not_followed_ns, "of waits too many and too short to follow"),
    ] {
        if ns != 0 {
            text += &format!(", {} {what}", units::duration(ns));
        }
    }
    text
}

/// A node of the tree while it is built: what chains have in common from their end on.
#[derive(Default)]
struct Branch {
    ns: u64,
    branches: Vec<((String, String), Branch)>,
}

impl Branch {
    fn of(&mut self, key: (String, String)) -> &mut Branch {
        let at = match self.branches.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                self.branches.push((key, Branch::default()));
                self.branches.len() - 1
            }
        };
        &mut self.branches[at].1
    }

    fn add(&mut self, ns: u64) -> &mut Branch {
        self.ns = self.ns.saturating_add(ns);
        self
    }

    /// Most wait first; equal ones in the order in which they came.
    fn put(mut self, depth: usize, nodes: &mut Vec<ChainNode>) {
        self.branches.sort_by_key(|(_, branch)| Reverse(branch.ns));
        for ((who, what), branch) in self.branches {
            nodes.push(ChainNode { depth, who, what, ns: branch.ns });
            branch.put(depth + 1, nodes);
        }
    }
}

/// The chains, beginning at their ends: below a thread are those that wait for it.
fn tree(title: &str, all_ns: u64, chains: &[WaitChain], options: &ReportOptions) -> ChainTree {
    let mut shown: Vec<&WaitChain> = chains.iter().collect();
    let left_out = cut(&mut shown, options);
    let mut root = Branch::default();
    for chain in shown {
        let mut at = root.of(end(chain)).add(chain.wait_ns);
        for step in chain.steps.iter().rev() {
            let who = harmless::name(&step.waiting).into_owned();
            at = at.of((who, what(step))).add(chain.wait_ns);
        }
    }
    let mut nodes = Vec::new();
    root.put(0, &mut nodes);
    ChainTree { title: title.to_owned(), all_ns, nodes, left_out }
}

/// What a step waits for, and in which way if that is no lock.
fn what(step: &ChainStep) -> String {
    match Kinds::idle().contains(step.kind) {
        true => format!("[{}] {}", step.kind.name(), step.lock.label()),
        false => step.lock.label(),
    }
}

/// The threads at the end of a chain, and what they did.
fn end(chain: &WaitChain) -> (String, String) {
    let who = harmless::name(&chain.root).into_owned();
    let (who, what) = match chain.end {
        _ if chain.steps.is_empty() => ("other chains".to_owned(), ""),
        ChainEnd::Runs => (who, "runs"),
        ChainEnd::Waits => (who, "waits, not known for whom"),
        ChainEnd::Ring => (who, "waits in a ring"),
        ChainEnd::Unknown => ("not known".to_owned(), "the owner had changed"),
        ChainEnd::NotFollowed => (who, "not followed"),
        ChainEnd::Late => (who, "woken, has not yet gone on"),
    };
    (who, what.to_owned())
}

/// `http-* → Cache.lock → worker-* → Table.lock → flusher`.
fn words(chain: &ChainRow) -> String {
    let waiting = chain.steps.iter().flat_map(|StepRow { waiting, lock, .. }| {
        let lock = if lock.name.is_empty() { &lock.class } else { &lock.name };
        [waiting, lock].map(|name| harmless::name(name).into_owned())
    });
    let end = match (chain.end_state, chain.steps.is_empty()) {
        (_, true) => "other chains".to_owned(),
        ("unknown", _) => "?".to_owned(),
        _ => harmless::name(&chain.end).into_owned(),
    };
    waiting.chain([end]).collect::<Vec<_>>().join(" → ")
}

fn timeline(chains: &WaitChains, findings: &Findings<'_>) -> Timeline {
    let rows = chains.charged.chains.iter().map(|chain| (words(chain), chain.phases_ns.clone()));
    Timeline {
        title: "Wait per chain".to_owned(),
        start_wall_ns: findings.axis.start_wall_ns,
        box_ns: chains.phase_ns,
        rows: rows.collect(),
    }
}

/// The phases with the most wait.
fn phases(chains: &WaitChains, options: &ReportOptions) -> Table {
    let mut shown: Vec<&ChainPhase> =
        chains.phases.iter().filter(|phase| phase.wait_ns != 0).collect();
    // Stable.
    shown.sort_by_key(|phase| Reverse(phase.wait_ns));
    let left_out = cut(&mut shown, options);
    let row = |phase: &&ChainPhase| {
        let first = phase.first.and_then(|at| chains.charged.chains.get(at));
        Row {
            cells: vec![
                TableCell::After(phase.start_ns),
                TableCell::Ns(phase.wait_ns),
                TableCell::Ns(phase.chained_ns),
                first.map_or(TableCell::Unknown, |chain| TableCell::Text(words(chain))),
                TableCell::Ns(phase.first_ns),
            ],
            details: Vec::new(),
        }
    };
    Table {
        title: format!("By phase of {}, most wait first", units::duration(chains.phase_ns)),
        columns: vec![
            Column::new("after", "from the start to the phase", 0),
            Column::new("wait", "how long threads waited for locks, as far as it is charged", 0),
            Column::new("in chains", "how much of that was for a thread that itself waited", 0),
            Column::new("most in", "the chain with the most wait", 0),
            Column::new("wait there", "how long that was", 1),
        ],
        rows: shown.iter().map(row).collect(),
        left_out,
    }
}
