//! Samples, settings and pauses of the collector.

use super::*;

#[test]
fn samples_stand_for_their_period() {
    const MS: u64 = 1_000_000;
    let mut maker = ChunkMaker::new(1_000_000_000);
    maker.setting(SAMPLE, "period", "10 ms");
    maker.setting(OTHER, "period", "70 ms");
    maker.numbers(SAMPLE, &[1_000, 1, 1]);
    maker.numbers(WALL, &[3_000, 2, 2, 2, 5]);
    let recording = open(maker.finish());
    let samples: Vec<_> = entries(&recording)
        .into_iter()
        .map(|entry| match entry {
            Entry::Note(Noted { record: Note::Sample(sample), thread, at_ns }) => {
                let sampled = Noted { record: sample, thread, at_ns };
                let thread = name(&recording, sampled.thread);
                (
                    thread,
                    sampled.at_ns,
                    sampled.state(),
                    sample.wall_ns,
                    sample.cpu_ns,
                    sample.count,
                )
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let main = ("main".to_owned(), 1_000_000_000, ThreadState::Running, 10 * MS, 10 * MS, 1);
    let worker = ("worker".to_owned(), 1_000_001_000, ThreadState::Parked, 250 * MS, 0, 5);
    assert_eq!(samples, [main, worker]);
    let facts = recording.facts();
    assert_eq!((facts.metadata("mode"), recording.period_ns()), (Some("sample"), Some(10 * MS)));
    assert!(recording.has_sampling() && !recording.capabilities().waits);
}

#[test]
fn settings_and_pauses_are_told() {
    let mut maker = ChunkMaker::new(1_000_000_000);
    maker.setting(ENTER, "enabled", "true");
    maker.setting(ENTER, "threshold", "20 ms");
    maker.setting(WAIT, "enabled", "false");
    maker.setting(PAUSE, "enabled", "true");
    let mut jvm = Vec::new();
    ["OpenJDK", "com.acme.Main secret"].into_iter().for_each(|it| text(it, &mut jvm));
    put(4711, &mut jvm);
    maker.event(JVM, &jvm);
    maker.numbers(PAUSE, &[9_000, 400]);
    maker.numbers(PAUSE, &[5_000, 200]);
    let recording = open(maker.finish());
    let facts = recording.facts();
    assert_eq!((facts.threshold_ns, facts.pid), (20_000_000, 4711));
    assert!(recording.has_threshold());
    let metadata: Vec<(&str, &str)> =
        facts.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(
        metadata,
        [
            ("collections", "true"),
            ("jvm", "OpenJDK"),
            ("mode", "contention"),
            ("program", "com.acme.Main"),
            ("thresholds", "jdk.JavaMonitorEnter 20 ms, jdk.JavaMonitorWait off"),
        ]
    );
    let pauses: Vec<(u64, u64)> =
        recording.collections().iter().map(|it| (it.start_ns, it.end_ns)).collect();
    assert_eq!(pauses, [(1_000_002_000, 1_000_002_100), (1_000_004_000, 1_000_004_200)]);
    assert_eq!(open(small()).has_collections(), None);
}

#[test]
fn the_use_of_processors_is_told() {
    let loads = |processors: u64, loads: &[(u64, [f32; 3])]| {
        let mut maker = ChunkMaker::new(1_000_000_000);
        maker.numbers(CPU, &[1_000, processors]);
        for (at, shares) in loads {
            let mut fields = Vec::new();
            put(*at, &mut fields);
            shares.iter().for_each(|share| fields.extend(share.to_be_bytes()));
            maker.event(LOAD, &fields);
        }
        open(maker.finish()).statistics()
    };
    // The chunk lasts for 1 ms, and a ns has two ticks: a load for each half of it.
    let halves = [(1_001_000, [0.25, 0.125, 0.5]), (2_001_000, [0.0, 0.125, 1.0])];
    let told = loads(4, &halves);
    let expected = [
        ("cpu.process_ns", 1_000_000),
        ("machine.all_ns", 4_000_000),
        ("machine.busy_ns", 3_000_000),
    ];
    let told: Vec<(&str, u64)> = told.iter().map(|(key, ns)| (key.as_str(), *ns)).collect();
    assert_eq!(told, expected);
    assert!(loads(0, &halves).is_empty(), "of how many, it does not say");
    assert!(loads(4, &halves[..0]).is_empty());
}
