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
    fmt::{self, Write as _},
    io,
};
use tyrion_model::hash::Table;

pub(super) const ID: &str = "flame-graphs";
pub(super) const TITLE: &str = "Flame graphs";

/// A flame graph: sums by stack, thread and lock. It is written to, as lines of
/// collapsed stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flame {
    title: &'static str,
    /// What the sums count, of one and of several, where they are no times.
    counted: Option<[&'static str; 2]>,
    /// The number of frames in front of that which names the thread.
    thread_at: usize,
    /// The beginning of a line.
    pending: Vec<u8>,
    before: Before,
    frames: NameTable,
    threads: NameTable,
    locks: NameTable,
    /// Parent and frame of each node but the root, which is number 0; parents come
    /// first.
    nodes: Vec<(u32, u32)>,
    numbers: Table<(u32, u32), u32>,
    /// By node, thread and lock.
    sums: Table<(u32, u32, u32), u64>,
}

/// The stack of the line before. Lines come sorted, so that most of a line is what the one before
/// has begun with, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Before {
    stack: String,
    /// Of each frame, where it ends and what it has led to.
    ends: Vec<(usize, Reached)>,
}

/// What the frames of a line have led to so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reached {
    node: u32,
    /// The number of its thread.
    thread: Option<u32>,
}

impl Before {
    /// How many frames a stack has in common with the line before, and what they have led to; the
    /// other frames are forgotten.
    fn shared_with(&mut self, stack: &str) -> (usize, usize, Reached) {
        let shared = shared(self.stack.as_bytes(), stack.as_bytes());
        let is_whole = |end: usize| stack.as_bytes().get(end).is_none_or(|&byte| byte == b';');
        while self.ends.last().is_some_and(|&(end, _)| end > shared || !is_whole(end)) {
            self.ends.pop();
        }
        let (end, reached) = self.ends.last().copied().unwrap_or_default();
        // What follows begins behind the semicolon.
        let rest = if self.ends.is_empty() { 0 } else { (end + 1).min(stack.len()) };
        (self.ends.len(), rest, reached)
    }
}

/// How many bytes two texts begin with alike.
fn shared(one: &[u8], other: &[u8]) -> usize {
    const WORD: usize = 16;
    let words = one.chunks_exact(WORD).zip(other.chunks_exact(WORD));
    let begin = WORD * words.take_while(|(one, other)| one == other).count();
    let rest = one[begin..].iter().zip(&other[begin..]);
    begin + rest.take_while(|(one, other)| one == other).count()
}

/// Names by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameTable {
    names: Vec<String>,
    numbers: Table<String, u32>,
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

    /// The same of what is counted and has no duration; the words are for one and for several.
    pub fn counting(self, of: [&'static str; 2]) -> Flame {
        Flame { counted: Some(of), ..self }
    }

    /// Adds a line, `[thread];frame;frame;[kind] lock 123`; what is none is left out.
    fn add(&mut self, line: &str) {
        let Some((stack, value)) = line.rsplit_once(' ') else { return };
        let Ok(value) = value.parse::<u64>() else { return };
        let (first, rest, mut reached) = self.before.shared_with(stack);
        let mut end = rest;
        let frames = stack.get(rest..).unwrap_or_default().split(';');
        for (at, frame) in (first..).zip(frames.filter(|_| rest < stack.len())) {
            if at == self.thread_at {
                let name =
                    frame.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(frame);
                reached.thread = Some(self.threads.number(name));
            } else {
                reached.node = self.node(reached.node, frame);
            }
            end += frame.len();
            self.before.ends.push((end, reached));
            end += 1;
        }
        self.before.stack.clear();
        self.before.stack.push_str(stack);
        let thread = reached.thread.unwrap_or_else(|| self.threads.number(""));
        let lock = self.lock_of(reached.node);
        let sum = self.sums.entry((reached.node, thread, lock)).or_default();
        *sum = sum.saturating_add(value);
    }

    /// The number of the lock that a node stands for; 0 for none.
    fn lock_of(&mut self, node: u32) -> u32 {
        let Some(&(_, frame)) = node.checked_sub(1).and_then(|at| self.nodes.get(at as usize))
        else {
            return 0;
        };
        let frame = &self.frames.names[frame as usize];
        if is_lock(frame) { self.locks.number(frame) } else { 0 }
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
            let Some(end) = piece.strip_suffix(b"\n") else {
                self.pending.extend_from_slice(piece);
                continue;
            };
            if self.pending.is_empty() {
                self.add(&String::from_utf8_lossy(end));
            } else {
                let mut line = std::mem::take(&mut self.pending);
                line.extend_from_slice(end);
                self.add(&String::from_utf8_lossy(&line));
                line.clear();
                self.pending = line;
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
    let means = match flames.iter().all(|flame| flame.counted.is_some()) {
        true => {
            "Stacks of the threads in all dumps; they are as wide as they are many, and begin at \
             the top. Frames that are not the program's own are folded where they call one other \
             alone."
        }
        false => {
            "Stacks of threads that waited, that held locks and that were sampled; they are as \
             wide as the time that they stand for, and begin at the top. Frames that are not the \
             program's own are folded where they call one other alone."
        }
    };
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
        assert_eq!(flame.sums, [((3, 0, 1), 7), ((1, 1, 0), 1)].into_iter().collect());
    }

    #[test]
    fn a_line_may_begin_as_the_one_before() {
        for thread_at in [0, 1] {
            let lines = "[a];x;y 1\n[a];x;y 2\n[a];x;yz 4\n[a];x 8\n[a];x;yz;[lock] L 16\n\
                         [a];x;[lock] L 32\n[ab];x;[lock] L 64\n[ab] 128\n[ab];x;[lock] L 256\n";
            let mut together = Flame::new("", thread_at);
            let _ = together.write_all(lines.as_bytes());
            let mut by_itself = Flame::new("", thread_at);
            for line in lines.split_inclusive('\n') {
                by_itself.before = Before::default();
                let _ = by_itself.write_all(line.as_bytes());
            }
            by_itself.before = together.before.clone();
            assert_eq!(together, by_itself);
            assert_eq!(together.sums.values().sum::<u64>(), 511);
        }
    }

    #[test]
    fn what_has_no_duration_is_counted() {
        let mut flame = Flame::new("Threads", 1).counting(["thread", "threads"]);
        let _ = flame.write_all(b"[blocked];[main];x 2\n");
        let (mut page, program) = (String::new(), ProgramCode::named(&["x"]));
        write(&mut page, &[flame], &program).unwrap();
        assert!(page.contains("as wide as they are many") && !page.contains("the time"), "{page}");
        assert!(
            page.contains("&quot;counted&quot;:[&quot;thread&quot;,&quot;threads&quot;]"),
            "{page}"
        );
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
