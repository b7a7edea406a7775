//! Damaged recordings, and what is bounded.

use super::*;

#[test]
fn what_cannot_be_read_is_refused_by_its_first_bytes() {
    let mut newer = small();
    newer[5] = 9;
    let error = check_start("it", &newer).unwrap_err().to_string();
    assert!(error.contains("offset 0x4: version 9 of Flight Recorder"), "{error}");
    let mut plain = small();
    plain[67] = 0;
    let error = check_start("it", &plain).unwrap_err().to_string();
    assert!(error.contains("not compressed"), "{error}");
    let error = read("it", b"FLR\0\0\x02".to_vec().into()).unwrap_err().to_string();
    assert!(error.contains("needs 68 bytes"), "{error}");
}

/// What comes before a cut is kept, where names and metadata are there.
#[test]
fn cut_anywhere_the_rest_is_read() {
    let whole = small();
    for len in HEADER_LEN..whole.len() {
        let recording = open(whole[..len].to_vec());
        let first = recording.damage().first().unwrap();
        assert_eq!((&first.fault, first.offset as usize), (&Fault::Cut, len));
        assert_eq!(first.skipped as usize, whole.len() - len);
        assert!(waits(&recording).is_empty(), "{len}: no metadata, no events");
    }
    let mut both = small();
    let len = both.len();
    both.extend(small());
    for cut in len + 1..both.len() {
        let recording = open(both[..cut].to_vec());
        assert_eq!(waits(&recording), SMALL, "{cut}");
        let told = recording.damage().first().map(|it| it.offset as usize);
        // Of a header nothing is known but that it is none.
        let expected = if cut < len + HEADER_LEN { len } else { cut };
        assert_eq!(told, Some(expected), "{cut}");
    }
}

/// As async-profiler leaves a file when it is killed: metadata, events, no names.
#[test]
fn a_chunk_that_was_never_finished_is_read_without_names() {
    let mut bytes = small();
    bytes[8..16].copy_from_slice(&(1u64 << 30).to_be_bytes());
    bytes[16..32].fill(0);
    let recording = open(bytes);
    // Here names are there, and found without the header.
    assert_eq!(waits(&recording), SMALL);
    assert_eq!(recording.facts().state, RecordingState::Recording);
    let [damage] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert!(damage.to_string().contains("never finished"), "{damage}");
}

/// As Flight Recorder leaves a file when it is killed: what it has flushed is whole.
#[test]
fn what_comes_after_the_last_flush_is_left_out() {
    let mut bytes = small();
    let len = bytes.len();
    bytes[64] = 7;
    let recording = open(bytes.clone());
    assert_eq!((waits(&recording).len(), recording.damage()), (5, &[][..]));
    assert_eq!(recording.facts().state, RecordingState::Recording);
    bytes.extend([9, 101, 0, 0]);
    let recording = open(bytes);
    assert_eq!(waits(&recording), SMALL);
    let [damage] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert_eq!((damage.offset as usize, damage.skipped), (len, 4));
    assert!(damage.to_string().contains("since its last flush"), "{damage}");
}

#[test]
fn an_event_that_cannot_be_read_is_left_out() {
    let mut maker = ChunkMaker::new(1_000_000_000);
    maker.enter(1_000, 200, 1, 2);
    let at = maker.numbers(ENTER, &[1_000, 200]);
    maker.enter(1_400, 20, 2, 0);
    let recording = open(maker.finish());
    assert_eq!(waits(&recording).len(), 2);
    let [damage] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert_eq!(damage.offset as usize, at);
}

#[test]
fn flipped_bits_do_no_harm() {
    let whole = small();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            if let Ok(recording) = read("it", flipped.into()) {
                let sum: u64 = recording
                    .event_chunks()
                    .iter()
                    .filter_map(|chunk| recording.events(chunk).ok())
                    .flat_map(|events| events.map(|event| event.wait_ns()))
                    .fold(0, u64::saturating_add);
                std::hint::black_box(sum);
            }
        }
    }
}

/// Beyond a constant for four bytes there are none; what is before is kept.
#[test]
fn where_constants_stand_takes_no_more_memory_than_the_chunk_has_bytes() {
    let count = 100_000;
    let mut out = vec![0, 0, 0, 1];
    put(2, &mut out);
    texts(SYMBOL, &["it"], &mut out);
    put(CLASS, &mut out);
    put(count, &mut out);
    // Key, name and modifiers.
    (0..count).for_each(|_| out.extend([1, 1, 0]));
    let read = |more: usize| {
        let mut maker = ChunkMaker::new(0);
        maker.bytes.resize(HEADER_LEN + more, 0);
        let mut event = Vec::new();
        put(1, &mut event);
        event.extend(&out);
        let len = event.len() as u64 + 3;
        let at = maker.bytes.len();
        maker.bytes.extend([len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8]);
        maker.bytes.extend(event);
        let mut bytes = maker.finish();
        bytes[16..24].copy_from_slice(&(at as u64).to_be_bytes());
        let header = chunk::header(&bytes).unwrap().1;
        let chunk = JfrChunk { offset: 0, header, bytes: &bytes, is_whole: true };
        let (constants, damaged) = Constants::read(&chunk, &Arc::new(types(&chunk).unwrap()));
        let bound = bytes.len() * 4;
        assert!(constants.memory() <= bound, "{} of {bound}", constants.memory());
        (damaged, constants.class(1))
    };
    assert_eq!(read(0), (Some(HEADER_LEN), None), "too many for so few bytes");
    assert_eq!(read(100_000), (None, Some("it".to_owned())));
}
