use super::*;
use crate::{
    event::{self, Note, Record},
    fields::TYPE_MISC,
    varint,
};
use proptest::{collection::vec, prelude::*};

fn held() -> impl Strategy<Value = Held> {
    any::<[u32; 3]>().prop_map(|[place, class, hash]| Held { place, class, hash })
}

/// The record reads as `expected`, whatever follows it, and no part of it
/// reads as anything.
fn check(bytes: &[u8], expected: Record<'_>) -> Result<(), TestCaseError> {
    for cut in 0..bytes.len() {
        prop_assert_eq!(event::decode(&bytes[..cut]), None);
    }
    let mut longer = bytes.to_vec();
    longer.extend([0xff; 40]);
    prop_assert_eq!(event::decode(&longer), Some((expected, bytes.len())));
    Ok(())
}

/// The same record with three more fields that this code does not know.
fn grown(bytes: &[u8]) -> Vec<u8> {
    let (len, len_len) = varint::read(&bytes[1..]).unwrap();
    let mut out = vec![bytes[0]];
    varint::put(&mut out, len + 3);
    out.extend_from_slice(&bytes[1 + len_len..]);
    out.extend([7, 0, 9]);
    out
}

proptest! {
    #[test]
    fn holds_round_trip(times: [u64; 3], cut in 0u32..64, ids: [u32; 4]) {
        let [place, class, stack, hash] = ids;
        let (delta_ns, hold_ns, flags) = (times[0] >> cut, times[1] >> cut, times[2]);
        let hold = Hold { delta_ns, hold_ns, place, class, stack, hash, flags };
        let mut bytes = Vec::new();
        hold.encode(&mut bytes);
        check(&bytes, Record::Note(hold.into()))?;
        check(&grown(&bytes), Record::Note(hold.into()))?;
        prop_assert_eq!(hold.is_first(), flags % 2 == 1);
    }

    #[test]
    fn instances_round_trip(ids: [u32; 3], shared: bool) {
        let instance = Instance { hash: ids[0], class: ids[1], place: ids[2], shared };
        let mut bytes = Vec::new();
        instance.encode(&mut bytes);
        check(&bytes, Record::Note(instance.into()))?;
        check(&grown(&bytes), Record::Note(instance.into()))?;
    }

    #[test]
    fn blames_round_trip(times: [u64; 2], cut in 0u32..64, ids: [u32; 4]) {
        let [site, waiter, stack, place] = ids;
        let (delta_ns, charged_ns) = (times[0] >> cut, times[1] >> cut);
        let blame = Blame { delta_ns, charged_ns, site, waiter, stack, place };
        let mut bytes = Vec::new();
        blame.encode(&mut bytes);
        check(&bytes, Record::Note(blame.into()))?;
        check(&grown(&bytes), Record::Note(blame.into()))?;
    }

    #[test]
    fn nests_round_trip(
        delta_ns: u64, inner in held(), stack: u32, outer in vec(held(), 0..40),
        flags in 1u64..,
    ) {
        let nest = Nest { delta_ns, inner, stack, outer: outer.as_slice().into(), flags };
        let mut bytes = Vec::new();
        nest.encode(&mut bytes);
        check(&bytes, Record::Note(nest.into()))?;
        check(&grown(&bytes), Record::Note(nest.into()))?;
        let Some((Record::Note(Note::Nest(read)), _)) = event::decode(&bytes) else { panic!("no nest") };
        prop_assert_eq!(read.outer.len(), outer.len());
        prop_assert_eq!(read.outer.is_empty(), outer.is_empty());
        prop_assert_eq!(read.outer.iter().collect::<Vec<_>>(), outer);
        prop_assert_eq!(read.is_tried(), flags % 2 == 1);
        // What was read can be written again.
        let mut again = Vec::new();
        read.encode(&mut again);
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn many_holds_round_trip(
        locks in vec(held(), 1..40),
        steps in vec((any::<u32>(), any::<u64>(), any::<u64>(), 0u32..64), 0..300),
        since_ns in 0u64..1 << 40,
    ) {
        let mut batch = HoldBatch::default();
        for &lock in &locks {
            batch.lock(lock);
        }
        let (mut expected, mut now_ns, mut first_ns) = (Vec::new(), since_ns, None);
        for (which, end_ns, hold_ns, cut) in steps {
            let (nth, hold_ns) = (which as usize % locks.len(), hold_ns >> cut);
            // Mostly a little later, now and then before the one in front.
            let end_ns = (now_ns.saturating_add(end_ns >> cut)).saturating_sub(end_ns >> 44);
            first_ns = first_ns.or(Some(end_ns));
            batch.push(nth as u32, end_ns, hold_ns);
            let Held { place, class, hash } = locks[nth];
            let delta_ns = end_ns.saturating_sub(now_ns);
            expected.push(Hold { delta_ns, hold_ns, place, class, hash, stack: 0, flags: 0 });
            now_ns = now_ns.max(end_ns);
        }
        prop_assert_eq!(batch.first_ns(), first_ns);
        let mut bytes = Vec::new();
        prop_assert_eq!(batch.encode(since_ns, &mut bytes), now_ns);
        let Some((Record::Holds(holds), _)) = event::decode(&bytes) else { panic!("no holds") };
        check(&bytes, Record::Holds(holds))?;
        check(&grown(&bytes), Record::Holds(holds))?;
        prop_assert_eq!(holds.len(), expected.len());
        prop_assert_eq!(holds.is_empty(), expected.is_empty());
        prop_assert_eq!(holds.locks().collect::<Vec<_>>(), locks);
        prop_assert_eq!(holds.into_iter().collect::<Vec<_>>(), expected);
        // The batch can be written again, and used again.
        let mut again = Vec::new();
        batch.encode(since_ns, &mut again);
        prop_assert_eq!(again, bytes);
        batch.clear();
        prop_assert_eq!(batch.first_ns(), None);
        prop_assert_eq!(batch.lock(Held::default()), 0);
    }

    #[test]
    fn any_payload_is_read_without_panic(code in 2u8..8, payload in vec(any::<u8>(), 0..100)) {
        let mut bytes = vec![code << 2 | TYPE_MISC, payload.len() as u8];
        bytes.extend(&payload);
        if let Some((record, len)) = event::decode(&bytes) {
            prop_assert_eq!(len, bytes.len());
            if let Record::Note(Note::Nest(nest)) = record {
                prop_assert_eq!(nest.outer.iter().count(), nest.outer.len());
            }
            if let Record::Holds(holds) = record {
                prop_assert_eq!(holds.iter().count(), holds.len());
            }
        }
    }
}

#[test]
fn fields_stand_in_the_order_of_the_format() {
    let mut bytes = Vec::new();
    let outer = [Held { place: 6, class: 7, hash: 8 }, Held { place: 9, class: 10, hash: 11 }];
    let nest = Nest {
        delta_ns: 1,
        inner: Held { place: 2, class: 3, hash: 4 },
        stack: 5,
        outer: outer.as_slice().into(),
        flags: 0,
    };
    nest.encode(&mut bytes);
    assert_eq!(bytes, [22, 12, 1, 2, 3, 4, 5, 2, 6, 7, 8, 9, 10, 11], "as earlier agents wrote it");
    assert_eq!(event::decode(&bytes), Some((Record::Note(nest.into()), bytes.len())));
    bytes.clear();
    Nest { flags: nest_flag::TRIED, ..nest }.encode(&mut bytes);
    assert_eq!(bytes, [22, 13, 1, 2, 3, 4, 5, 2, 6, 7, 8, 9, 10, 11, 1]);
    bytes.clear();
    Blame { delta_ns: 1, charged_ns: 2, site: 3, waiter: 4, stack: 5, place: 6 }.encode(&mut bytes);
    assert_eq!(bytes, [18, 6, 1, 2, 3, 4, 5, 6]);
    bytes.clear();
    Instance { hash: 1, class: 2, place: 3, shared: true }.encode(&mut bytes);
    assert_eq!(bytes, [14, 4, 1, 2, 3, 1]);
    bytes.clear();
    Hold { delta_ns: 1, hold_ns: 2, place: 3, class: 4, stack: 5, hash: 6, flags: 1 }
        .encode(&mut bytes);
    assert_eq!(bytes, [10, 7, 1, 2, 3, 4, 5, 6, 1]);
    bytes.clear();
    let mut batch = HoldBatch::default();
    let lock = batch.lock(Held { place: 1, class: 2, hash: 3 });
    batch.push(lock, 14, 5);
    batch.encode(10, &mut bytes);
    assert_eq!(bytes, [30, 8, 1, 1, 2, 3, 1, 0, 4, 5]);
}

#[test]
fn rejects_counts_and_ids_that_cannot_be() {
    // More outer locks than there are bytes.
    let mut huge = vec![Nest::CODE << 2 | TYPE_MISC, 15, 1, 2, 3, 4, 5];
    varint::put(&mut huge, u64::MAX);
    assert_eq!(huge.len(), 17);
    assert_eq!(event::decode(&huge), None);
    // One outer lock of which a field is missing.
    assert_eq!(event::decode(&[Nest::CODE << 2 | TYPE_MISC, 8, 1, 2, 3, 4, 5, 1, 6, 7]), None);
    // A place that does not fit 32 bits.
    let mut wide = vec![Instance::CODE << 2 | TYPE_MISC, 8, 1, 2];
    varint::put(&mut wide, 1 << 32);
    wide.push(0);
    assert_eq!(wide.len(), 10);
    assert_eq!(event::decode(&wide), None);
    // More holds than there are bytes, and one of a lock that is not there.
    let mut many = vec![CODE_HOLDS << 2 | TYPE_MISC, 14, 1, 1, 2, 3];
    varint::put(&mut many, u64::MAX);
    assert_eq!(many.len(), 16);
    assert_eq!(event::decode(&many), None);
    assert_eq!(event::decode(&[CODE_HOLDS << 2 | TYPE_MISC, 8, 1, 1, 2, 3, 1, 1, 4, 5]), None);
}
