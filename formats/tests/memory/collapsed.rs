//! Collapsed stacks.

use super::{MemoryCase, check};

/// Stacks as deep as can be, each of another outermost frame, and so none of which
/// shares any.
fn deep() -> Vec<u8> {
    let frames = "a;".repeat(16_000);
    (0..20).flat_map(|nth| format!("f{nth};{frames}b 1\n").into_bytes()).collect()
}

/// Lines that differ in their number.
fn lines(line: impl Fn(u32) -> String, count: u32) -> Vec<u8> {
    (0..count).map(line).collect::<String>().into_bytes()
}

#[test]
fn collapsed_stacks() {
    check("collapsed", || {
        let good = "a;b 1\n".repeat(800);
        let wide = format!("{}a 1\n", "a;".repeat(500_000));
        let long = format!("a;{} 1\n", "a".repeat(1 << 20));
        let longer = format!("{good}{} 1\n", "a;".repeat(9 << 20));
        let bad = format!("{good}{}", "x\n".repeat(300_000));
        let bytes = [good.as_bytes(), &b"a;\xff\xff\xff\xff 1\n".repeat(60_000)].concat();
        vec![
            MemoryCase::new("deep stacks that share nothing", deep()),
            MemoryCase::new("a line of many frames", wide.into()),
            MemoryCase::new("a line of one frame", long.into()),
            MemoryCase::new("a line that is too long", longer.into()).told("left out"),
            MemoryCase::new("frames", lines(|nth| format!("{nth:x}a;b 1\n"), 60_000)),
            MemoryCase::new("threads", lines(|nth| format!("[t{nth} tid=1];a;b 1\n"), 40_000)),
            MemoryCase::new("locks", lines(|nth| format!("a;[lock] C{nth} 1\n"), 40_000)),
            MemoryCase::new("what is no stack", bad.into()).told("more places"),
            MemoryCase::new("what is no UTF-8", bytes),
        ]
    });
}
