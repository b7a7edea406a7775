//! Several chunks, and long ones.

use super::*;

#[test]
fn chunks_follow_one_another() {
    let mut both = small();
    let len = both.len();
    let mut second = ChunkMaker::new(2_000_000_000);
    second.second = "renamed";
    second.enter(1_000, 200, 1, 2);
    both.extend(second.finish());
    let recording = open(both.clone());
    assert_eq!(waits(&recording).len(), 6);
    assert_eq!(recording.definitions().threads().iter().count(), 2, "the same in both");
    // The last name counts.
    let worker = recording.definitions().threads().get(2).unwrap();
    assert_eq!(recording.text(worker.name), "renamed");
    assert_eq!(recording.facts().end_ns, 2_001_000_000);
    both[len] = b'X';
    let recording = open(both);
    assert_eq!(waits(&recording), SMALL);
    let [Damage { offset, .. }] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert_eq!(*offset as usize, len);
}

#[test]
fn an_older_chunk_may_come_later() {
    let mut later = ChunkMaker::new(2_000_000_000);
    later.enter(1_000, 200, 1, 2);
    let recording = open([later.finish(), small()].concat());
    assert_eq!(waits(&recording).len(), 6);
    assert_eq!((recording.start_ns(), recording.end_ns()), (1_000_000_000, 2_001_000_000));
}

#[test]
fn many_chunks_are_read_in_their_order() {
    let mut bytes = Vec::new();
    for nth in 0..40 {
        let mut maker = ChunkMaker::new(1_000_000_000 + 10_000 * nth);
        maker.enter(1_000, 200 + nth, 1, 2);
        bytes.extend(maker.finish());
    }
    let chunks = FileParts::of(&bytes).chunks;
    assert_eq!((chunks.len(), batches(&chunks).count()), (40, 3));
    let recording = open(bytes);
    let ends: Vec<u64> = entries(&recording).iter().map(Entry::at_ns).collect();
    assert_eq!(ends.len(), 40);
    assert!(ends.is_sorted(), "{ends:?}");
}

#[test]
fn long_chunks_are_read_in_blocks() {
    let mut maker = ChunkMaker::new(1_000_000_000);
    let count = block::BLOCK as u64 * 2 + 10;
    for nth in 0..count {
        maker.enter(1_000 + 10 * nth, 4, 1 + nth % 2, 0);
    }
    let bytes = maker.finish();
    let chunk = JfrChunk {
        offset: 0,
        header: chunk::header(&bytes).unwrap().1,
        bytes: &bytes,
        is_whole: true,
    };
    let header = LogOptions::default().header;
    let mut writer = LogBuilder::new(Importer::new(INPUT, "long.jfr", header).unwrap());
    read_long(&chunk, &mut writer).unwrap();
    let long = writer.finish(0).unwrap().finish().unwrap();
    let whole = open(bytes);
    let sum = |recording: &Recording| {
        let chunks = recording.event_chunks().iter();
        let events = chunks.flat_map(|chunk| recording.events(chunk).unwrap());
        events.fold((0, 0), |(count, ns), event| (count + 1, ns + event.wait_ns()))
    };
    assert_eq!(sum(&long), (count, 2 * count));
    assert_eq!(sum(&whole), sum(&long));
}

/// Events with numbers of all lengths, some of them cut, and many that differ in when
/// they were alone.
fn any_events(mut seed: u64) -> Vec<u8> {
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let mut maker = ChunkMaker::new(1_000_000_000);
    for _ in 0..3_000 {
        let start = 1_000 + next(1 << 30);
        let keys = 1 << next(4);
        let long = |bits: u64| (1u64 << bits) - 1;
        match next(10) {
            0..5 => maker.enter(start, next(1 << 20), 1 + next(keys), next(keys)),
            5 => maker.enter(start, long(next(64)), long(next(64)), next(keys)),
            6 => {
                let of = [start, next(9), 1, next(keys), next(3), long(next(64)), next(2)];
                maker.numbers(WAIT, &of);
            }
            7 => drop(maker.numbers(NATIVE_LOCK, &[start, next(900), next(keys), long(next(64))])),
            8 => drop(maker.numbers(SAMPLE, &[start, next(keys), next(3)])),
            _ => drop(maker.numbers(ENTER, &vec![next(200) << next(57); next(8) as usize])),
        }
    }
    maker.finish()
}

#[test]
fn the_quick_way_finds_what_reading_field_by_field_finds() {
    for seed in 0..20 {
        let bytes = any_events(seed);
        let header = chunk::header(&bytes).unwrap().1;
        let chunk = JfrChunk { offset: 0, header, bytes: &bytes, is_whole: true };
        let types = types(&chunk).unwrap();
        let read = |layouts: Layouts| {
            let mut blocks = EventBlocks::new(&chunk, &types, &layouts);
            let mut found = Vec::new();
            while let Some(block) = blocks.next() {
                for (thread, entries) in block.by_thread() {
                    let of = |entry: &block::BlockEntry| {
                        let other = entry.other.checked_sub(1).map(|at| block.threads[at as usize]);
                        let site = block.sites[entry.site()];
                        (entry.end_ns, entry.wait_ns, entry.outcome(), site, other)
                    };
                    let thread = block.threads[thread as usize];
                    found.push((thread, entries.iter().map(of).collect::<Vec<_>>()));
                }
            }
            (found, blocks.damaged)
        };
        let quick = read(Layouts::of(&types));
        let slow = read(Layouts::of(&types).without_quick());
        assert!(quick.0.iter().map(|(_, entries)| entries.len()).sum::<usize>() > 2_000);
        assert!(!quick.1.is_empty());
        assert_eq!(quick, slow, "seed {seed}");
    }
}
