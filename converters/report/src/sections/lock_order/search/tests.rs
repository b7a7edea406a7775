use super::*;
use proptest::prelude::*;

/// A thread that takes a lock while it holds others, all of them nodes; readers
/// have negative numbers, less one.
#[derive(Clone, Debug)]
struct Step {
    thread: u32,
    held: Vec<i32>,
    inner: i32,
}

fn step(thread: u32, held: &[i32], inner: i32) -> Step {
    Step { thread, held: held.to_vec(), inner }
}

fn node(lock: i32) -> u32 {
    if lock < 0 { (-1 - lock) as u32 } else { lock as u32 }
}

/// The graph of some steps; each is of a kind of its own.
fn graph(steps: &[Step]) -> Graph {
    let mut edges: BTreeMap<(u32, u32), Vec<Way>> = BTreeMap::new();
    let mut held = Vec::new();
    for (record, step) in steps.iter().enumerate() {
        let locks = step.held.iter().map(|&lock| HeldLock {
            node: Some(node(lock)),
            class: 0,
            read: lock < 0,
        });
        held.push(locks.collect());
        for &outer in &step.held {
            let record = record as u32;
            let way = Way {
                kind: record,
                held: record,
                outer_read: outer < 0,
                inner_read: step.inner < 0,
                takers: vec![Taker { thread: step.thread, many: false, record }],
            };
            edges.entry((node(outer), node(step.inner))).or_default().push(way);
        }
    }
    let nodes = 8;
    let (edges, ways) = edges.into_iter().unzip();
    Graph { nodes, edges, ways, held }
}

/// The steps of each pattern.
fn found(steps: &[Step]) -> Vec<Vec<u32>> {
    let found = search(&graph(steps));
    assert!(found.complete);
    found.patterns.into_keys().collect()
}

#[test]
fn two_threads_the_other_way_round() {
    assert_eq!(found(&[step(1, &[0], 1), step(2, &[1], 0)]), [[0, 1]]);
    let alone = [step(1, &[0], 1), step(1, &[1], 0)];
    assert!(found(&alone).is_empty());
    let harmless = search(&graph(&alone)).harmless;
    assert_eq!(harmless.into_keys().collect::<Vec<_>>(), [(vec![0, 1], Reason::OneThread)]);
}

#[test]
fn a_gate_is_no_cycle() {
    let gated = [step(1, &[7, 0], 1), step(2, &[7, 1], 0)];
    assert!(found(&gated).is_empty());
    let harmless = search(&graph(&gated)).harmless;
    assert_eq!(harmless.into_keys().collect::<Vec<_>>(), [(vec![0, 1], Reason::Gate(vec![7]))]);
    // One who does not take it is enough; so are gates of one's own.
    assert_eq!(found(&[step(1, &[7, 0], 1), step(2, &[1], 0)]), [[0, 1]]);
    assert_eq!(found(&[step(1, &[7, 0], 1), step(2, &[6, 1], 0)]), [[0, 1]]);
    // Readers pass a gate together.
    assert_eq!(found(&[step(1, &[-8, 0], 1), step(2, &[-8, 1], 0)]), [[0, 1]]);
    assert!(found(&[step(1, &[-8, 0], 1), step(2, &[7, 1], 0)]).is_empty());
}

#[test]
fn a_lock_in_between_is_a_cycle_of_its_own() {
    // 1 holds 0 and 2 and asks for 1; 2 holds 1 and asks for 2.
    let steps = [step(1, &[0, 2], 1), step(2, &[1], 2), step(1, &[0], 2)];
    assert_eq!(found(&steps), [[0, 1]]);
}

#[test]
fn readers_do_not_wait_for_readers() {
    assert!(found(&[step(1, &[-1], 1), step(2, &[1], -1)]).is_empty());
    assert_eq!(found(&[step(1, &[-1], 1), step(2, &[1], 0)]), [[0, 1]]);
    assert_eq!(found(&[step(1, &[0], 1), step(2, &[1], -1)]), [[0, 1]]);
}

#[test]
fn threads_are_shared_out() {
    // Each link has two takers, but the second one's are all that is left.
    let mut graph = graph(&[step(1, &[0], 1), step(1, &[1], 2), step(2, &[2], 0)]);
    assert!(search(&graph).patterns.is_empty());
    graph.ways[0][0].takers.push(Taker { thread: 3, many: false, record: 9 });
    let found = search(&graph);
    let threads: Vec<u32> =
        found.patterns[&vec![0, 1, 2]].example.iter().map(|link| link.taker.thread).collect();
    assert_eq!(threads, [3, 1, 2]);
}

#[test]
fn virtual_threads_are_many() {
    let mut graph = graph(&[step(1, &[0], 1), step(1, &[1], 0)]);
    graph.ways.iter_mut().flatten().for_each(|way| way.takers[0].many = true);
    assert_eq!(search(&graph).patterns.len(), 1);
}

#[test]
fn an_unknown_lock_may_be_any_of_its_class() {
    let mut graph = graph(&[step(1, &[7, 0], 1), step(2, &[6, 1], 0)]);
    for (held, class) in graph.held.iter_mut().flatten().zip([5, 1, 5, 1]) {
        held.class = class;
    }
    assert_eq!(search(&graph).patterns.len(), 1);
    graph.held[0][0].node = None;
    assert!(search(&graph).patterns.is_empty());
}

/// All deadlocks of two to four steps, by trying them all.
fn brute_force(steps: &[Step]) -> BTreeSet<Vec<u32>> {
    let mut deadlocks = BTreeSet::new();
    let mut chosen: Vec<(usize, i32)> = Vec::new();
    fn extend(steps: &[Step], chosen: &mut Vec<(usize, i32)>, deadlocks: &mut BTreeSet<Vec<u32>>) {
        if chosen.len() >= 2 && is_deadlock(steps, chosen) {
            let kinds: BTreeSet<u32> = chosen.iter().map(|(at, _)| *at as u32).collect();
            deadlocks.insert(kinds.into_iter().collect());
        }
        if chosen.len() == 4 {
            return;
        }
        for (at, step) in steps.iter().enumerate() {
            for &outer in &step.held {
                chosen.push((at, outer));
                extend(steps, chosen, deadlocks);
                chosen.pop();
            }
        }
    }
    extend(steps, &mut chosen, &mut deadlocks);
    deadlocks
}

/// Whether each of the chosen steps waits for what the next one holds, at the
/// same time.
fn is_deadlock(steps: &[Step], chosen: &[(usize, i32)]) -> bool {
    let excludes = |a: i32, b: i32| node(a) == node(b) && !(a < 0 && b < 0);
    (0..chosen.len()).all(|number| {
        let (at, own) = chosen[number];
        let (_, next) = chosen[(number + 1) % chosen.len()];
        excludes(steps[at].inner, next)
            && chosen[..number].iter().all(|&(other, outer)| {
                node(outer) != node(own)
                    && steps[other].thread != steps[at].thread
                    && !steps[other]
                        .held
                        .iter()
                        .any(|&a| steps[at].held.iter().any(|&b| excludes(a, b)))
            })
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let lock = (0i32..5, 0..4).prop_map(|(lock, read)| if read == 0 { -1 - lock } else { lock });
    let held = proptest::collection::vec(lock.clone(), 1..4);
    (0u32..4, held, lock).prop_filter_map("locks are distinct", |(thread, held, inner)| {
        let nodes: BTreeSet<u32> = held.iter().chain([&inner]).map(|&lock| node(lock)).collect();
        (nodes.len() == held.len() + 1).then_some(Step { thread, held, inner })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn exactly_the_possible_deadlocks_are_found(
        steps in proptest::collection::vec(any_step(), 1..9),
    ) {
        let found: BTreeSet<Vec<u32>> =
            found(&steps).into_iter().filter(|kinds| kinds.len() <= 4).collect();
        prop_assert_eq!(found, brute_force(&steps));
    }
}
