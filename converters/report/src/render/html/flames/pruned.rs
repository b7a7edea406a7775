//! A flame graph without what is too narrow to be seen: a page stays small, however
//! long the recording.

use super::Flame;
use crate::findings::ProgramCode;
use serde::{Serialize, Serializer, ser::SerializeSeq};
use tyrion_model::hash::Table;

/// At most so many frames are in a graph.
const MOST_NODES: usize = 3_000;
/// At most so many sums.
const MOST_SUMS: usize = 6_000;
/// At most so many bytes of names.
const MOST_BYTES: usize = 250_000;
/// At most so many threads are told apart, and so many locks: those with most.
const MOST_NAMES: usize = 100;
/// Frames narrower than one part in so many are left out from the start.
const PARTS: u64 = 2_000;
/// What stands for the threads that are not told apart.
const OTHER_THREADS: &str = "other threads";
/// What stands for the locks that are not.
const OTHER_LOCKS: &str = "[other] locks";

/// What the page has of a flame graph. What is left out of it counts where it was
/// called, so that sums stay what they are.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct PrunedFlame<'a> {
    title: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<[&'static str; 2]>,
    frames: Vec<&'a str>,
    /// Which of the frames are of the program's own code.
    own: Vec<usize>,
    threads: Vec<&'a str>,
    /// The first one is none.
    locks: Vec<&'a str>,
    /// Parent and frame of each node but the root, which is number 0.
    #[serde(serialize_with = "flat")]
    nodes: Vec<[u64; 2]>,
    /// Node, thread, lock, and how much.
    #[serde(serialize_with = "flat")]
    sums: Vec<[u64; 4]>,
}

/// As one list of numbers, which is shorter.
fn flat<S: Serializer, const N: usize>(rows: &[[u64; N]], to: S) -> Result<S::Ok, S::Error> {
    let mut list = to.serialize_seq(Some(rows.len() * N))?;
    for number in rows.iter().flatten() {
        list.serialize_element(number)?;
    }
    list.end()
}

impl<'a> PrunedFlame<'a> {
    pub(super) fn of(flame: &'a Flame) -> PrunedFlame<'a> {
        let whole = cumulated(flame);
        let (threads, thread_of) = most(
            &flame.threads.names,
            flame.sums.iter().map(|(&(_, thread, _), &sum)| (thread, sum)),
            OTHER_THREADS,
        );
        let (locks, lock_of) = most(
            &flame.locks.names,
            // None is one of them, whatever its sum.
            flame
                .sums
                .iter()
                .map(|(&(_, _, lock), &sum)| (lock, if lock == 0 { u64::MAX } else { sum }))
                .chain([(0, u64::MAX)]),
            OTHER_LOCKS,
        );
        let mut least = (whole[0] / PARTS).max(1);
        loop {
            let kept = WideNodes::of(flame, &whole, least);
            // Without any frame there are but the threads and locks.
            let sums = kept.is_small().then(|| kept.sums(flame, (&thread_of, &lock_of)));
            if let Some(sums) = sums.filter(|it| it.len() <= MOST_SUMS || kept.nodes.is_empty()) {
                return PrunedFlame {
                    title: flame.title,
                    counted: flame.counted,
                    frames: kept.frames,
                    own: Vec::new(),
                    threads,
                    locks,
                    nodes: kept.nodes,
                    sums,
                };
            }
            least = least.saturating_mul(2);
        }
    }
}

impl PrunedFlame<'_> {
    /// The same, told which code is the program's own.
    pub(super) fn with_own(mut self, program: &ProgramCode) -> Self {
        let frames = self.frames.iter().enumerate();
        self.own = frames.filter(|(_, frame)| program.is_own(frame)).map(|(at, _)| at).collect();
        self
    }
}

/// How much each node and what it calls has; the root is the first.
fn cumulated(flame: &Flame) -> Vec<u64> {
    let mut whole = vec![0u64; flame.nodes.len() + 1];
    for (&(node, ..), &sum) in &flame.sums {
        whole[node as usize] = whole[node as usize].saturating_add(sum);
    }
    for (at, &(parent, _)) in flame.nodes.iter().enumerate().rev() {
        whole[parent as usize] = whole[parent as usize].saturating_add(whole[at + 1]);
    }
    whole
}

/// The nodes that are wide enough.
struct WideNodes<'a> {
    frames: Vec<&'a str>,
    nodes: Vec<[u64; 2]>,
    /// The new number of each node, or of that in which it was called.
    node_of: Vec<u32>,
}

impl<'a> WideNodes<'a> {
    fn of(flame: &'a Flame, whole: &[u64], least: u64) -> WideNodes<'a> {
        let mut numbers: Table<u32, u64> = Table::default();
        let mut kept = WideNodes { frames: Vec::new(), nodes: Vec::new(), node_of: vec![0] };
        for (at, &(parent, frame)) in flame.nodes.iter().enumerate() {
            let parent = kept.node_of[parent as usize];
            let is_kept = whole[at + 1] >= least;
            if is_kept {
                let frames = &mut kept.frames;
                let number = *numbers.entry(frame).or_insert_with(|| {
                    frames.push(&flame.frames.names[frame as usize]);
                    frames.len() as u64 - 1
                });
                kept.nodes.push([parent.into(), number]);
            }
            kept.node_of.push(if is_kept { kept.nodes.len() as u32 } else { parent });
        }
        kept
    }
}

impl WideNodes<'_> {
    fn is_small(&self) -> bool {
        let bytes = || self.frames.iter().map(|frame| frame.len()).sum::<usize>();
        self.nodes.len() <= MOST_NODES && bytes() <= MOST_BYTES
    }

    /// The rows of the sums, by the new numbers of nodes, threads and locks.
    fn sums(
        &self,
        flame: &Flame,
        (thread_of, lock_of): (&Renumbered, &Renumbered),
    ) -> Vec<[u64; 4]> {
        let mut sums: Table<(u32, u32, u32), u64> = Table::default();
        for (&(node, thread, lock), &sum) in &flame.sums {
            let key = (self.node_of[node as usize], thread_of[&thread], lock_of[&lock]);
            let total = sums.entry(key).or_default();
            *total = total.saturating_add(sum);
        }
        let row = |((node, thread, lock), sum): ((u32, u32, u32), u64)| {
            [node.into(), thread.into(), lock.into(), sum]
        };
        let mut rows: Vec<[u64; 4]> = sums.into_iter().map(row).collect();
        rows.sort_unstable();
        rows
    }
}

/// Which number each number of a name has become.
type Renumbered = Table<u32, u32>;

/// The names with most, and which of them each number of a name has become.
fn most<'a>(
    names: &'a [String],
    sums: impl Iterator<Item = (u32, u64)>,
    other: &'a str,
) -> (Vec<&'a str>, Renumbered) {
    let mut by_name: Table<u32, u64> = Table::default();
    for (name, sum) in sums {
        let total = by_name.entry(name).or_default();
        *total = total.saturating_add(sum);
    }
    let mut ranked: Vec<(u32, u64)> = by_name.into_iter().collect();
    // Those of the same sum in the order of the names.
    ranked.sort_by_key(|&(name, sum)| (std::cmp::Reverse(sum), &names[name as usize]));
    let mut kept: Vec<&str> =
        ranked.iter().take(MOST_NAMES).map(|(name, _)| names[*name as usize].as_str()).collect();
    let number = |(at, &(name, _)): (usize, &(u32, u64))| (name, at.min(MOST_NAMES) as u32);
    let numbers = ranked.iter().enumerate().map(number).collect();
    if ranked.len() > MOST_NAMES {
        kept.push(other);
    }
    (kept, numbers)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::flame, *};

    #[test]
    fn what_is_narrow_counts_where_it_was_called() {
        let flame = flame("[a];x;y 9999\n[a];x;z 1\n[b];x;y;[monitor] C 10000\n[b];w 3\n");
        let pruned = PrunedFlame::of(&flame);
        assert_eq!(
            (&pruned.frames[..], &pruned.nodes[..]),
            (&["x", "y", "[monitor] C"][..], &[[0, 0], [1, 1], [2, 2]][..])
        );
        assert_eq!(
            (&pruned.threads[..], &pruned.locks[..]),
            (&["b", "a"][..], &["", "[monitor] C"][..])
        );
        assert_eq!(pruned.sums, [[0, 0, 0, 3], [1, 1, 0, 1], [2, 1, 0, 9999], [3, 0, 1, 10000]]);
    }

    #[test]
    fn the_programs_own_frames_are_told() {
        let flame = flame("[a];java.lang.Thread.run;com.acme.Shop.sell;org.x.Y.z 5\n");
        let pruned = PrunedFlame::of(&flame).with_own(&ProgramCode::named(&["com.acme"]));
        assert_eq!((pruned.frames[pruned.own[0]], pruned.own.len()), ("com.acme.Shop.sell", 1));
    }

    #[test]
    fn however_much_there_is_the_page_is_small() {
        let line = |at: u64| {
            let (thread, name) = (at % 5_000, "long".repeat(at as usize % 30));
            format!(
                "[thread-{thread}];com.acme.{name}.C{at}.m;y{};[lock] L{at} {}\n",
                at % 9,
                100 + at
            )
        };
        let lines: String = (0..20_000).map(line).collect();
        let whole: u64 = (0..20_000).map(|at| 100 + at).sum();
        let flame = flame(&lines);
        let pruned = PrunedFlame::of(&flame);
        assert!(pruned.nodes.len() <= MOST_NODES && pruned.sums.len() <= MOST_SUMS);
        assert_eq!(pruned.sums.iter().map(|row| row[3]).sum::<u64>(), whole);
        assert_eq!((pruned.threads.len(), pruned.threads[100]), (101, OTHER_THREADS));
        assert_eq!(
            (pruned.locks.len(), pruned.locks[0], pruned.locks[100]),
            (101, "", OTHER_LOCKS)
        );
        let bytes = serde_json::to_string(&pruned).map_or(0, |json| json.len());
        assert!((1..800_000).contains(&bytes), "{bytes}");
        assert_eq!(pruned, PrunedFlame::of(&flame.clone()), "the same again");
    }
}
