//! Thread dumps.

use super::{MemoryCase, check};

const BEGIN: &str = "Full thread dump X:\n\n";

/// Threads, each with these lines.
fn threads(count: u32, lines: impl Fn(u32) -> String) -> Vec<u8> {
    let of = |nth| format!("\"t{nth}\" #{nth}\n{}", lines(nth));
    let all: String = (0..count).map(of).collect();
    format!("{BEGIN}{all}").into_bytes()
}

#[test]
fn thread_dumps() {
    check("thread-dump", || {
        let deep = "at a.b(c:1)\n".repeat(30_000);
        let dumps = format!("{BEGIN}\"a\" #1\n").repeat(10_000);
        let long = format!("{BEGIN}\"a\" #1\nat {}.b(c)\n", "a".repeat(1 << 20));
        let empty = BEGIN.repeat(40_000);
        let json = "{\"threadName\":\"a\",\"threadState\":\"NEW\"},".repeat(20_000);
        let json = format!("{{\"threads\":[{}{{}}]}}", json);
        vec![
            MemoryCase::new("threads without frames", threads(30_000, |_| String::new())),
            MemoryCase::new("frames", threads(20_000, |nth| format!("at a.b{nth}(c)\n"))),
            MemoryCase::new("a deep stack", threads(2, |_| deep.clone())),
            MemoryCase::new("locks", threads(20_000, |nth| format!("- locked <{nth:x}> (a B)\n"))),
            MemoryCase::new("dumps of a thread", dumps.into()),
            MemoryCase::new("a long line", long.into()),
            MemoryCase::new("dumps of nothing", [empty.as_bytes(), b"\"a\" #1\n"].concat()),
            MemoryCase::new("threads in JSON", json.into()),
        ]
    });
}
