//! Flame graphs inside the page: the script draws them, so that they follow the
//! filters of the page and its width.
//!
//! The page has sums by stack, thread and lock, as text that the script reads; the
//! stacks are those that `convert --to collapsed` writes.

mod pruned;

use super::{begin_section, escape::escape};
use crate::findings::ProgramCode;
use pruned::PrunedFlame;
use serde_json::json;
use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    io,
};

pub(super) const ID: &str = "flame-graphs";
pub(super) const TITLE: &str = "Flame graphs";

/// A flame graph: sums by stack, thread and lock. It is written to, as lines of
/// collapsed stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flame {
    title: &'static str,
    /// The number of frames in front of that which names the thread.
    thread_at: usize,
    /// The beginning of a line.
    pending: Vec<u8>,
    frames: NameTable,
    threads: NameTable,
    locks: NameTable,
    /// Parent and frame of each node but the root, which is number 0; parents come
    /// first.
    nodes: Vec<(u32, u32)>,
    numbers: HashMap<(u32, u32), u32>,
    /// By node, thread and lock.
    sums: HashMap<(u32, u32, u32), u64>,
}

/// Names by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameTable {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl NameTable {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

impl Flame {
    /// An empty one; stacks that will be written into it have so many frames in front
    /// of the one that names their thread.
    pub fn new(title: &'static str, thread_at: usize) -> Flame {
        // The first lock is none.
        let locks = NameTable { names: vec![String::new()], ..NameTable::default() };
        Flame { title, thread_at, locks, ..Flame::default() }
    }

    /// Adds a line, `[thread];frame;frame;[kind] lock 123`; what is none is left out.
    fn add(&mut self, line: &str) {
        let Some((stack, value)) = line.rsplit_once(' ') else { return };
        let Ok(value) = value.parse::<u64>() else { return };
        let (mut node, mut thread, mut lock) = (0, "", "");
        for (at, frame) in stack.split(';').enumerate() {
            if at == self.thread_at {
                thread =
                    frame.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(frame);
                continue;
            }
            node = self.node(node, frame);
            lock = if is_lock(frame) { frame } else { "" };
        }
        let thread = self.threads.number(thread);
        let lock = if lock.is_empty() { 0 } else { self.locks.number(lock) };
        let sum = self.sums.entry((node, thread, lock)).or_default();
        *sum = sum.saturating_add(value);
    }

    fn node(&mut self, parent: u32, frame: &str) -> u32 {
        let frame = self.frames.number(frame);
        let nodes = &mut self.nodes;
        *self.numbers.entry((parent, frame)).or_insert_with(|| {
            nodes.push((parent, frame));
            nodes.len() as u32
        })
    }

    /// Whether each of its stacks ends in a lock.
    fn ends_in_locks(&self) -> bool {
        self.thread_at == 0 && self.sums.keys().all(|(_, _, lock)| *lock != 0)
    }

    /// Whether nothing has been written into it.
    pub fn is_empty(&self) -> bool {
        self.sums.values().all(|sum| *sum == 0)
    }
}

/// Whether a frame stands for a lock: `[monitor] com.acme.Cache`.
fn is_lock(frame: &str) -> bool {
    frame.starts_with('[') && frame.contains("] ")
}

impl io::Write for Flame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.pending.extend_from_slice(piece);
            if let Some(line) = self.pending.strip_suffix(b"\n") {
                let line = String::from_utf8_lossy(line).into_owned();
                self.add(&line);
                self.pending.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn write(page: &mut String, flames: &[Flame], program: &ProgramCode) -> fmt::Result {
    if flames.is_empty() {
        return Ok(());
    }
    let means = "Stacks of threads that waited, that held locks and that were sampled; they are as \
                 wide as the time that they stand for, and begin at the top. Frames that are not \
                 the program's own are folded where they call one other alone.";
    let advice = "A click on a frame widens it, one on folded frames opens them; so does Enter on one that the arrow keys have \
                  reached, and Escape shows all again.";
    begin_section(page, ID, TITLE, means, advice)?;
    writeln!(
        page,
        "<p class=\"without\">They need JavaScript, which is off or was not allowed here.</p>"
    )?;
    for (at, flame) in flames.iter().enumerate() {
        let title = escape(flame.title);
        // What ends in a lock begins there: who waits for it is what is looked for.
        let is_turned = flame.ends_in_locks();
        writeln!(
            page,
            "<div class=\"graph\" data-graph={at}>\n<h3 id=\"graph-{at}\">{title}</h3>\n\
             <button type=button class=turn aria-pressed={is_turned} \
             aria-describedby=\"graph-{at}\">Innermost first</button>\n\
             <div class=\"flame\" role=\"group\" aria-labelledby=\"graph-{at}\"></div>\n\
             <p class=\"reading\" aria-live=\"polite\"></p>\n</div>"
        )?;
    }
    let data: Vec<_> =
        flames.iter().map(|flame| json!(PrunedFlame::of(flame).with_own(program))).collect();
    let data = escape(&json!(data).to_string());
    writeln!(page, "<div id=\"graph-data\" hidden>{data}</div>\n</section>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::Write;

    pub(super) fn flame(lines: &str) -> Flame {
        let mut flame = Flame::new("Waits", 0);
        // In pieces, as writers come.
        for piece in lines.as_bytes().chunks(7) {
            let _ = flame.write_all(piece);
        }
        flame
    }

    #[test]
    fn lines_are_taken_apart() {
        let flame = flame(
            "[a b];x;y;[monitor] C (D) 5\n[a b];x;y;[monitor] C (D) 2\n[c];x 1\nbroken\nx y\n",
        );
        assert_eq!(flame.threads.names, ["a b", "c"]);
        assert_eq!(flame.frames.names, ["x", "y", "[monitor] C (D)"]);
        assert_eq!(flame.locks.names, ["", "[monitor] C (D)"]);
        assert_eq!(flame.nodes, [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(flame.sums, HashMap::from([((3, 0, 1), 7), ((1, 1, 0), 1)]));
    }

    #[test]
    fn states_come_before_threads() {
        let mut flame = Flame::new("Real time", 1);
        let _ = flame.write_all(b"[blocked];[main];x;[monitor] C 5\n[running];[main];x 2\n");
        assert_eq!(flame.threads.names, ["main"]);
        assert_eq!(flame.frames.names, ["[blocked]", "x", "[monitor] C", "[running]"]);
        assert!(!flame.is_empty() && Flame::new("", 0).is_empty());
    }
}
