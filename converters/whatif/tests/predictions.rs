//! What is predicted of programs that are known to the last ns.

use crate::program::{Program, group_of, predicts, question, reads};
use tyrion_formats::{Recording, write::LogWriter};
use tyrion_whatif::{Change, Evidence, Method, Prediction, Question};
use tyrion_wire::{WaitKind, sample::ThreadState};

const HALF: Change = Change::Hold { divisor: 2.0 };

#[track_caller]
fn assert_ratio(prediction: &Prediction, expected: f64, part: f64) {
    let found = prediction.throughput_ratio;
    assert!((found / expected - 1.0).abs() <= part, "{found}, expected {expected}: {prediction:?}");
    let (low, high) = (prediction.low_ratio, prediction.high_ratio);
    assert!(low <= found && found <= high, "{prediction:?}");
    assert!((prediction.gain_share - (found - 1.0)).abs() < 1e-3, "{prediction:?}");
}

#[track_caller]
fn replayed(program: &Program, change: Change) -> Prediction {
    let prediction = program.predicts(change).unwrap();
    assert_eq!(prediction.method, Method::Replay, "{prediction:?}");
    assert_eq!(prediction.not_replayed, "");
    let (recorded, replayed) =
        (prediction.recorded_per_second.unwrap(), prediction.replayed_per_second.unwrap());
    assert!((replayed / recorded - 1.0).abs() < 0.1, "{prediction:?}");
    prediction
}

/// They rest in the hold: one after the other before, all at once after.
#[test]
fn a_free_lock_lets_all_rest_at_once() {
    let resting = Program::default();
    assert_ratio(&replayed(&resting, Change::Free), 4.0 / 1.1, 0.05);
    assert_ratio(&replayed(&resting, HALF), 2.0, 0.05);
    let stripes = replayed(&resting, Change::Stripes { count: 1024 });
    assert_ratio(&stripes, 4.0 / 1.1, 0.05);
    let few = replayed(&resting, Change::Stripes { count: 2 });
    assert!((1.2..2.0).contains(&few.throughput_ratio), "{few:?}");
}

/// The lock is hot, but each of two processors is busy all along.
#[test]
fn processors_that_are_busy_gain_nothing() {
    let program = Program {
        threads: 2,
        outside_ns: 1_000_000,
        held_ns: 900_000,
        cpu: Some(1.0),
        ..Program::default()
    };
    assert_ratio(&replayed(&program, Change::Free), 1.0, 0.02);
    // On one processor the lock is never in the way.
    let one = Question { processors: Some(1), ..question() };
    assert_ratio(&predicts(&[program.log()], &one).unwrap(), 1.0, 0.05);
}

/// Who computes in the hold is held up by the processors, who rests is not.
#[test]
fn samples_tell_who_rests() {
    let (running, sleeping) = (ThreadState::Running, ThreadState::Sleeping);
    let of = |inside, outside| Program {
        seen: Some((inside, outside)),
        cpu: None,
        ..Program::default()
    };
    let rests = replayed(&of(sleeping, running), Change::Free);
    assert_ratio(&rests, 4.0 / 1.1, 0.05);
    assert!(rests.assumptions.iter().any(|text| text.contains("samples")), "{rests:?}");
    let computes = replayed(&of(running, sleeping), Change::Free);
    assert_ratio(&computes, 2.0, 0.06);
    let four = Question { processors: Some(4), ..question() };
    let on_four = predicts(&[of(running, sleeping).log()], &four).unwrap();
    assert_ratio(&on_four, 4.0 / 1.1, 0.06);
    assert_eq!(on_four.processors, Some(4));
}

#[test]
fn what_the_log_does_not_tell_widens_the_interval() {
    let known = replayed(&Program::default(), Change::Free);
    let unknown = Program { processors: None, cpu: Some(0.9), ..Program::default() };
    let unknown = replayed(&unknown, Change::Free);
    assert!(unknown.low_ratio < 2.0 && unknown.high_ratio > 3.0, "{unknown:?}");
    assert!(known.high_ratio - known.low_ratio < 1.0, "{known:?}");
    let said = |of: &Prediction, text: &str| of.assumptions.iter().any(|it| it.contains(text));
    assert!(said(&unknown, "--processors") && said(&known, "2 processors"), "{known:?}");
}

#[test]
fn readers_are_told_by_name_or_by_the_user() {
    let putting = Program::default();
    let refused = putting.predicts(Change::ReadWrite).unwrap_err();
    assert!(refused.contains("--reads"), "{refused}");
    let getting = Program { method: "getAll", ..Program::default() };
    let prediction = replayed(&getting, Change::ReadWrite);
    assert_ratio(&prediction, 4.0 / 1.1, 0.05);
    assert_eq!(prediction.reads, ["com.acme.Store.getAll(Store.java:12)"]);
    let told = Question { change: Change::ReadWrite, reads: reads("Store.put"), ..question() };
    assert_ratio(&predicts(&[putting.log()], &told).unwrap(), 4.0 / 1.1, 0.05);
    let is_one = Program { kind: WaitKind::LockWrite, ..getting };
    let refused = is_one.predicts(Change::ReadWrite).unwrap_err();
    assert!(refused.contains("already"), "{refused}");
}

/// With holds in sums alone, and with waits alone.
#[test]
fn sums_give_a_coarse_estimate() {
    for (traced, said) in [(true, "--events all"), (false, "--events all")] {
        let program = Program { traced, events: false, ..Program::default() };
        let prediction = program.predicts(Change::Free).unwrap();
        assert_eq!(prediction.method, Method::Queueing);
        assert!(prediction.not_replayed.contains(said), "{prediction:?}");
        assert_ratio(&prediction, 4.0 / 1.1, 0.15);
        assert_eq!(prediction.low_ratio, 1.0);
        let half = program.predicts(HALF).unwrap();
        assert!((1.3..=2.2).contains(&half.throughput_ratio), "{half:?}");
        // They computed all along: the processors are the limit.
        let busy = Program { cpu: Some(1.0), processors: Some(1), ..program };
        assert_ratio(&busy.predicts(Change::Free).unwrap(), 1.0, 0.02);
    }
}

#[test]
fn virtual_threads_are_not_replayed() {
    let program = Program { is_virtual: true, ..Program::default() };
    let prediction = program.predicts(Change::Free);
    assert!(
        prediction.is_ok_and(|it| it.method == Method::Queueing && !it.not_replayed.is_empty())
    );
}

#[test]
fn nothing_is_said_of_what_is_not_known() {
    let other = Question { group: 9, ..question() };
    let refused = predicts(&[Program::default().log()], &other).unwrap_err();
    assert!(refused.contains("no thread waited"), "{refused}");
    let two = [Program::default().log(), Program::default().log()];
    let refused = Evidence::read(&two, &group_of).map(|_| ()).unwrap_err();
    assert!(refused.contains("several recordings"), "{refused}");
    assert!(Evidence::read(&[], &group_of).is_err());
    let empty = LogWriter::new(std::io::Cursor::new(Vec::new()), Default::default()).unwrap();
    let empty = empty.finish().unwrap().into_inner();
    let empty = [Recording::from_bytes("empty.log", empty).unwrap()];
    assert!(predicts(&empty, &question()).is_err());
}

/// All waits of such a profile are of one thread, which stands for all.
#[test]
fn profiles_without_threads_are_refused() {
    let bytes = include_bytes!("../../../testdata/inputs/go-mutex.pb.gz").to_vec();
    let logs = [Recording::from_bytes("go-mutex.pb.gz", bytes).unwrap()];
    let evidence = Evidence::read(&logs, &|_, _| Some(question().group)).unwrap();
    for change in Change::USUAL {
        let refused = evidence.predict(&Question { change, ..question() }).unwrap_err();
        assert!(refused.contains("not known which threads waited"), "{refused}");
    }
}

#[test]
fn one_lock_of_a_group_can_be_chosen() {
    let logs = [Program::default().log()];
    let known = Question { lock: Some(1), ..question() };
    assert_ratio(&predicts(&logs, &known).unwrap(), 4.0 / 1.1, 0.05);
    let unknown = Question { lock: Some(77), ..question() };
    let prediction = predicts(&logs, &unknown).unwrap();
    assert_eq!((prediction.method, prediction.throughput_ratio), (Method::Queueing, 1.0));
}

/// What is known from waits and looks alone.
fn contention() -> Program {
    let looked = Some(ThreadState::Sleeping);
    Program { traced: false, looked, ..Program::default() }
}

/// Each hold ends when the next thread gets the lock, so it can be replayed as if it were known.
#[test]
fn contention_mode_estimates_holds() {
    let of = |change| {
        let prediction = contention().predicts(change).unwrap();
        assert_eq!(prediction.method, Method::Sampled, "{prediction:?}");
        prediction
    };
    assert_ratio(&of(Change::Free), 4.0 / 1.1, 0.06);
    assert_ratio(&of(HALF), 2.0, 0.1);
    assert_ratio(&of(Change::Stripes { count: 1024 }), 4.0 / 1.1, 0.06);
    // Sampled intervals are wider than those of trace mode.
    let width = |of: &Prediction| of.high_ratio / of.low_ratio;
    let traced = Program::default();
    for change in [Change::Free, HALF] {
        assert!(width(&of(change)) > width(&replayed(&traced, change)), "{:?}", of(change));
    }
    let getting = Program { method: "get", ..contention() };
    let shared = getting.predicts(Change::ReadWrite).unwrap();
    assert_ratio(&shared, 4.0 / 1.1, 0.06);
    assert_eq!(shared.reads, ["com.acme.Store.get(Store.java:12)"]);
}

/// On the two processors of the program, those who compute with the lock gain less.
#[test]
fn looks_tell_whether_owners_compute() {
    let looked = Some(ThreadState::Running);
    let computing = Program { looked, cpu: Some(1.0), ..contention() };
    assert_ratio(&computing.predicts(Change::Free).unwrap(), 2.0 / 1.1, 0.08);
}

#[test]
fn without_looks_or_waits_it_is_coarse() {
    let unseen = Program { looked: None, ..contention() };
    let prediction = unseen.predicts(HALF).unwrap();
    assert_eq!(prediction.method, Method::Queueing);
    assert!(prediction.not_replayed.contains("--mode trace"), "{prediction:?}");
    let few = Program { rounds: 2, ..contention() };
    let prediction = few.predicts(HALF).unwrap();
    assert!(prediction.not_replayed.contains("looked at only 7 times"), "{prediction:?}");
}

/// The same before and after `stop`, and until the JVM ends.
#[test]
fn time_after_the_end_is_no_life() {
    let coarse = Program { traced: false, ..Program::default() };
    for program in [coarse, contention(), Program::default()] {
        let expected = program.predicts(Change::Free).unwrap().throughput_ratio;
        for (after_ns, pauses) in [(100_000_000, true), (5_000_000_000, true), (900_000_000, false)]
        {
            let longer = Program { after_ns, pauses, ..program.clone() };
            assert_ratio(&longer.predicts(Change::Free).unwrap(), expected, 0.02);
        }
    }
}

/// Two threads each have a lock of the same name, and wait for it in turn; the other locks of that
/// name are hardly wanted.
#[test]
fn locks_of_one_name_are_told_apart() {
    let two = Program { of_one_lock: 2, outside_ns: 1_000_000, ..Program::default() };
    for program in
        [two.clone(), Program { looked: Some(ThreadState::Sleeping), traced: false, ..two.clone() }]
    {
        let both = program.predicts(Change::Free).unwrap();
        assert_eq!((both.lock_objects, both.objects.len()), (2, 2), "{both:?}");
        let together = Question { one_by_one: false, ..question() };
        let together = predicts(&[program.log()], &together).unwrap();
        assert_eq!((together.lock_objects, together.objects.len()), (2, 0), "{together:?}");
        assert_eq!(together.throughput_ratio, both.throughput_ratio);
        let one = Question { lock: Some(both.objects[0].id), ..question() };
        let one = predicts(&[program.log()], &one).unwrap();
        assert_eq!((one.lock_objects, one.objects.len()), (1, 0), "{one:?}");
        for object in &both.objects {
            assert!(object.throughput_ratio <= both.throughput_ratio + 0.02, "{both:?}");
        }
    }
    let one = replayed(&Program::default(), Change::Free);
    assert_eq!((one.lock_objects, one.objects.len()), (1, 0));
}

#[test]
fn who_cannot_gain_is_no_candidate() {
    let check = |program: &Program| {
        let logs = [program.log()];
        Evidence::read(&logs, &group_of).unwrap().check_candidate(question().group)
    };
    let refused = |program: &Program| check(program).unwrap_err();
    assert_eq!(check(&Program::default()), Ok(()));
    assert_eq!(check(&contention()), Ok(()));
    let jvms = Program { group: "system", ..Program::default() };
    assert!(refused(&jvms).contains("the JVM"));
    assert!(jvms.predicts(Change::Free).unwrap().threads.is_empty());
    let alone = Program { threads: 1, ..Program::default() };
    assert!(refused(&alone).contains("no thread waited"));
    // The second one waits for the first, once.
    let once = Program { threads: 2, rounds: 1, ..Program::default() };
    assert!(refused(&once).contains("only one thread"));
}

/// Others had most of the processors: then holds look longer than they are.
#[test]
fn load_widens_the_interval() {
    let computing = Program { cpu: Some(0.25), looked: Some(ThreadState::Running), ..contention() };
    let calm = computing.predicts(Change::Free).unwrap();
    let disturbed = Program { others: Some(0.75), ..computing }.predicts(Change::Free).unwrap();
    let width = |of: &Prediction| of.high_ratio / of.low_ratio;
    assert!(width(&disturbed) > 1.2 * width(&calm), "{calm:?} {disturbed:?}");
}
