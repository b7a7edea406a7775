//! Profiles of pprof.

use super::{MemoryCase, check};
use tyrion_formats::wire::varint;

fn number(field: u64, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put(&mut out, field << 3);
    varint::put(&mut out, value);
    out
}

fn bytes(field: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put(&mut out, field << 3 | 2);
    varint::put(&mut out, bytes.len() as u64);
    out.extend(bytes);
    out
}

fn packed(field: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut out = Vec::new();
    numbers.into_iter().for_each(|number| varint::put(&mut out, number));
    bytes(field, &out)
}

const TEXTS: [&[u8]; 6] = [b"", b"delay", b"nanoseconds", b"f", b"lock", b"lock_class"];

/// A profile of times, with a function of id 1, and all that is in these fields.
fn profile(fields: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let of = bytes(1, &[number(1, 1), number(2, 2)].concat());
    let function = bytes(5, &[number(1, 1), number(2, 3)].concat());
    let texts = TEXTS.iter().copied().chain(more.iter().map(Vec::as_slice));
    let texts: Vec<u8> = texts.flat_map(|text| bytes(6, text)).collect();
    [&of[..], fields, &function, &texts].concat()
}

/// A sample of a ns at some locations, the innermost first.
fn sample(locations: impl IntoIterator<Item = u64>, labels: &[(u64, u64)]) -> Vec<u8> {
    let labels = labels
        .iter()
        .flat_map(|&(key, text)| bytes(3, &[number(1, key), number(2, text)].concat()));
    let labels: Vec<u8> = labels.collect();
    bytes(2, &[&packed(1, locations)[..], &packed(2, [1]), &labels].concat())
}

/// A profile, and a sample to be added to it.
pub fn short() -> Vec<u8> {
    profile(&[], &[])
}

pub fn one_sample() -> Vec<u8> {
    sample([1], &[])
}

/// Samples at one location of many functions, each of another outermost one.
fn lines() -> Vec<u8> {
    let line = bytes(4, &number(1, 1));
    let wide = bytes(4, &[number(1, 1), line.repeat(16_000)].concat());
    let outermost = |id: u64| bytes(4, &[number(1, id), number(3, id)].concat());
    let count = 4_000;
    let all: Vec<u8> = (2..count).flat_map(outermost).collect();
    let samples: Vec<u8> = (2..count).flat_map(|id| sample([1, id], &[])).collect();
    profile(&[&wide[..], &all, &samples].concat(), &[])
}

/// Locks called by each of some long names, of each of some long classes.
fn locks() -> Vec<u8> {
    let each = 160;
    let long = |nth: u64| format!("{}{nth}", "n".repeat(4_000)).into_bytes();
    let texts: Vec<Vec<u8>> = (0..2 * each).map(long).collect();
    let first = TEXTS.len() as u64;
    let pairs = (0..each).flat_map(|name| (0..each).map(move |class| (name, each + class)));
    let samples: Vec<u8> = pairs
        .flat_map(|(name, class)| sample([1], &[(4, first + name), (5, first + class)]))
        .collect();
    profile(&samples, &texts)
}

/// Comments that are all the same long text.
fn comments() -> Vec<u8> {
    let first = TEXTS.len() as u64;
    profile(&packed(13, vec![first; 500_000]), &[vec![b'c'; 100_000]])
}

/// Locations that are nowhere.
fn missing() -> Vec<u8> {
    profile(
        &(0..20).flat_map(|of| sample(of * 9_000..(of + 1) * 9_000, &[])).collect::<Vec<_>>(),
        &[],
    )
}

/// Locations that have nothing but an address.
fn nameless() -> Vec<u8> {
    let location = |id: u64| bytes(4, &[number(1, id), number(3, id << 40)].concat());
    let all: Vec<u8> = (1..30_000).flat_map(location).collect();
    let samples: Vec<u8> = (1..30_000).flat_map(|id| sample([id], &[])).collect();
    profile(&[all, samples].concat(), &[])
}

/// Samples of other threads, at other stacks.
fn threads() -> Vec<u8> {
    let first = TEXTS.len() as u64;
    let texts: Vec<Vec<u8>> = (0..20_000u32).map(|nth| nth.to_string().into_bytes()).collect();
    let thread = first + texts.len() as u64;
    let samples: Vec<u8> = (0..texts.len() as u64)
        .flat_map(|nth| sample([nth % 100 + 1], &[(thread, first + nth)]))
        .collect();
    profile(&samples, &[texts, vec![b"thread".to_vec()]].concat())
}

/// A profile of a sample, and of fields again and again.
fn again(field: &[u8], count: usize) -> Vec<u8> {
    profile(&[&one_sample()[..], &field.repeat(count)].concat(), &[])
}

/// Functions without names.
fn functions() -> Vec<u8> {
    let all: Vec<u8> = (1..60_000).flat_map(|id| bytes(5, &number(1, id))).collect();
    profile(&[all, one_sample()].concat(), &[])
}

/// As many samples as show what it is, and then some that are damaged.
fn damaged() -> Vec<u8> {
    let (good, bad) = (one_sample().repeat(600), bytes(2, &[0x0a]).repeat(100_000));
    profile(&[good, bad].concat(), &[])
}

#[test]
fn profiles_of_pprof() {
    check("pprof", || {
        let texts = vec![Vec::new(); 300_000];
        let many = vec![1; 500_000];
        vec![
            MemoryCase::new("a location of many functions", lines()).told("more frames"),
            MemoryCase::new("texts without a byte", profile(&one_sample(), &texts)),
            MemoryCase::new("locks of long names and classes", locks()),
            MemoryCase::new("comments of the same long text", comments()),
            MemoryCase::new("missing locations", missing()),
            MemoryCase::new("locations without names", nameless()),
            MemoryCase::new("values of a sample", again(&bytes(2, &packed(2, many.clone())), 1)),
            MemoryCase::new("locations of a sample", again(&sample(many, &[]), 1)),
            MemoryCase::new("types of values", again(&bytes(1, &[8, 1]), 100_000)),
            MemoryCase::new("functions", functions()),
            MemoryCase::new("threads", threads()),
            MemoryCase::new("damaged samples", damaged()).told("more places"),
        ]
    });
}
