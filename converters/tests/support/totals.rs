//! What the readers of each output would say that it sums up to.

use super::callgrind;
use flate2::read::GzDecoder;
use prost::Message;
use std::io::Read;
use tyrion_converters::outputs::pprof::proto;

/// A pprof file's message.
pub fn pprof(bytes: &[u8]) -> proto::Profile {
    let mut message = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut message).unwrap();
    proto::Profile::decode(&message[..]).unwrap()
}

/// The sum of a pprof file's samples: ns and count.
pub fn of_pprof(bytes: &[u8]) -> (u64, u64) {
    pprof(bytes).sample.iter().fold((0, 0), |sum, sample| {
        let [count, wait_ns] = sample.value[..] else { panic!("two values") };
        (sum.0 + wait_ns as u64, sum.1 + count as u64)
    })
}

/// The sum of own costs over callgrind files: ns and count.
pub fn of_callgrind(files: &[(String, Vec<u8>)]) -> (u64, u64) {
    let parts = files.iter().filter(|(_, bytes)| !bytes.is_empty());
    parts.fold((0, 0), |sum, (_, bytes)| {
        let part = callgrind::parse(std::str::from_utf8(bytes).unwrap());
        let own = part.sum();
        assert_eq!(own, part.totals);
        (sum.0 + own.0, sum.1 + own.1)
    })
}

/// The sum of the numbers at the ends of collapsed lines.
pub fn of_collapsed(bytes: &[u8]) -> u64 {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

/// The width of a flame graph's root: that of its script, and that of its widest
/// frame. 0 if it has no frames.
pub fn of_flamegraph(bytes: &[u8]) -> u64 {
    let text = std::str::from_utf8(bytes).unwrap();
    let numbers = |name: &str| -> Vec<u64> {
        let pieces = text.split(name).skip(1);
        pieces.map(|piece| piece.split('"').next().unwrap().parse().unwrap()).collect()
    };
    let widest = numbers("fg:w=\"").into_iter().max().unwrap_or(0);
    let total = numbers("total_samples=\"").first().copied().unwrap_or(0);
    assert_eq!(widest, total);
    total
}
