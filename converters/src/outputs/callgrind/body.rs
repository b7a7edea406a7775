//! The costs of a part.

use super::{
    graph::{Entry, Graph, NONE},
    parts::Part,
};
use crate::{
    names::thread_frame,
    outputs::{bits::BitSet, tree::WaitTree},
    profile::Profile,
};
use std::io::{self, Write};

/// KCacheGrind takes a file's size modulo 2^32 and silently reads no more.
const MAX_FILE_BYTES: u64 = u32::MAX as u64;

/// Sums of waits.
#[derive(Clone, Copy, Default)]
struct Cost {
    wait_ns: u64,
    count: u64,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.count = self.count.saturating_add(other.count);
    }
}

/// Sums the waits of parts and writes them. One is reused for many parts.
pub(super) struct Body<'a> {
    profile: &'a Profile,
    tree: &'a WaitTree,
    graph: &'a Graph,
    /// The waits at and below each node; all zero between parts.
    inclusive: Vec<Cost>,
    nodes: BitSet,
    /// The cost of each of the graph's entries; all zero between files.
    costs: Vec<Cost>,
    /// Entries of the thread's frame; of all other functions.
    root_entries: BitSet,
    entries: BitSet,
    /// Where the root's entries end.
    roots_end: u32,
}

impl<'a> Body<'a> {
    pub(super) fn new(profile: &'a Profile, tree: &'a WaitTree, graph: &'a Graph) -> Self {
        let entries = graph.entries.len();
        Body {
            profile,
            tree,
            graph,
            inclusive: vec![Cost::default(); tree.len()],
            nodes: BitSet::new(tree.len()),
            costs: vec![Cost::default(); entries],
            root_entries: BitSet::new(entries),
            entries: BitSet::new(entries),
            roots_end: graph.entries.partition_point(|entry| entry.function == 0) as u32,
        }
    }

    /// Writes a file that holds these parts, each under a frame with its name.
    ///
    /// # Errors
    /// `out` fails, or the file would be too large to be read.
    pub(super) fn write(
        &mut self,
        header: &str,
        parts: &[Part],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut file = FileWriter::new(self.graph, out, MAX_FILE_BYTES);
        file.text(header);
        let mut total = Cost::default();
        for part in parts {
            total.add(self.sum(part));
            file.function(0, &thread_frame(&part.name))?;
            while let Some(entry) = self.root_entries.pop_first() {
                let cost = std::mem::take(&mut self.costs[entry as usize]);
                file.entry(self.graph.entries[entry as usize], cost);
            }
        }
        let mut function = 0;
        while let Some(at) = self.entries.pop_first() {
            let cost = std::mem::take(&mut self.costs[at as usize]);
            let entry = self.graph.entries[at as usize];
            if entry.function != function {
                function = entry.function;
                let name = &self.graph.functions[function as usize].name;
                file.function(function, name)?;
            }
            file.entry(entry, cost);
        }
        file.finish(total)
    }

    /// Adds the part's waits to the entries, and returns their sum.
    fn sum(&mut self, part: &Part) -> Cost {
        let mut total = Cost::default();
        for at in part.waits.iter().cloned().flatten() {
            let wait = &self.profile.waits[at];
            let cost = Cost { wait_ns: wait.wait_ns, count: wait.count };
            let node = self.tree.node_of_wait[at];
            self.inclusive[node as usize].add(cost);
            self.nodes.insert(node);
            self.add(self.graph.own_of_node[node as usize], cost);
            total.add(cost);
        }
        // Children come after their parents: what comes out is complete.
        while let Some(node) = self.nodes.pop_last() {
            let cost = std::mem::take(&mut self.inclusive[node as usize]);
            let call = self.graph.call_of_node[node as usize];
            if call != NONE {
                let parent = self.tree.parents[node as usize];
                self.inclusive[parent as usize].add(cost);
                self.nodes.insert(parent);
                self.add(call, cost);
            }
        }
        total
    }

    fn add(&mut self, entry: u32, cost: Cost) {
        self.costs[entry as usize].add(cost);
        let touched =
            if entry < self.roots_end { &mut self.root_entries } else { &mut self.entries };
        touched.insert(entry);
    }
}

/// Writes the lines of a file. Names are written at first use and are numbers
/// after that; the numbers ascend without gaps, since KCacheGrind keeps vectors
/// of them.
struct FileWriter<'a> {
    graph: &'a Graph,
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    written_bytes: u64,
    max_bytes: u64,
    functions: Ids,
    files: Ids,
    objects: Ids,
    file: u32,
    object: u32,
}

impl<'a> FileWriter<'a> {
    const FLUSH_BYTES: usize = 1 << 18;

    fn new(graph: &'a Graph, out: &'a mut dyn Write, max_bytes: u64) -> Self {
        FileWriter {
            graph,
            out,
            buffer: Vec::with_capacity(Self::FLUSH_BYTES + (1 << 12)),
            written_bytes: 0,
            max_bytes,
            functions: Ids::new(graph.functions.len()),
            files: Ids::new(graph.files.len()),
            objects: Ids::new(graph.objects.len()),
            file: 0,
            object: 0,
        }
    }

    /// Begins a function. `callgrind_annotate` loses functions before which no
    /// `fl=` stands.
    fn function(&mut self, function: u32, name: &str) -> io::Result<()> {
        self.flush(Self::FLUSH_BYTES)?;
        let callee = &self.graph.functions[function as usize];
        (self.file, self.object) = (callee.file, callee.object);
        self.text("\nob=");
        self.objects.write(
            &mut self.buffer,
            self.object,
            &self.graph.objects[self.object as usize],
        );
        self.text("fl=");
        self.files.write(&mut self.buffer, self.file, &self.graph.files[self.file as usize]);
        self.text("fn=");
        if function == 0 {
            // Each part's root has a name of its own.
            self.functions.write_new(&mut self.buffer, name);
        } else {
            self.functions.write(&mut self.buffer, function, name);
        }
        Ok(())
    }

    /// Writes what the function cost on a line, or what a call on it did.
    fn entry(&mut self, entry: Entry, cost: Cost) {
        if entry.callee != 0 {
            let callee = &self.graph.functions[entry.callee as usize];
            if callee.object != self.object {
                let name = &self.graph.objects[callee.object as usize];
                self.text("cob=");
                self.objects.write(&mut self.buffer, callee.object, name);
            }
            if callee.file != self.file {
                let name = &self.graph.files[callee.file as usize];
                self.text("cfi=");
                self.files.write(&mut self.buffer, callee.file, name);
            }
            self.text("cfn=");
            self.functions.write(&mut self.buffer, entry.callee, &callee.name);
            self.text("calls=");
            // With 0 calls `callgrind_annotate` takes the cost for the caller's own.
            self.numbers(&[cost.count.max(1), u64::from(callee.first_line)]);
        }
        self.numbers(&[u64::from(entry.line), cost.wait_ns, cost.count]);
    }

    /// Writes a part's end: without its sum `callgrind_annotate --inclusive`
    /// counts calls twice.
    fn finish(mut self, total: Cost) -> io::Result<()> {
        self.text("\ntotals: ");
        self.numbers(&[total.wait_ns, total.count]);
        self.flush(0)?;
        self.out.flush()
    }

    fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    fn numbers(&mut self, numbers: &[u64]) {
        for (at, &number) in numbers.iter().enumerate() {
            if at > 0 {
                self.buffer.push(b' ');
            }
            push_number(&mut self.buffer, number);
        }
        self.buffer.push(b'\n');
    }

    /// Passes the buffer on if it holds more than so many bytes.
    fn flush(&mut self, bytes: usize) -> io::Result<()> {
        if self.buffer.len() <= bytes {
            return Ok(());
        }
        self.written_bytes += self.buffer.len() as u64;
        if self.written_bytes > self.max_bytes {
            let reason = "over 4 GiB, of which KCacheGrind would read only a part: \
                          filter the waits, or leave --merged and --lock-identity out";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Numbers names in the order of their first use, from 1.
struct Ids {
    ids: Vec<u32>,
    last: u32,
}

impl Ids {
    fn new(names: usize) -> Ids {
        Ids { ids: vec![0; names], last: 0 }
    }

    /// Writes `(number) name`, or `(number)` if the name was written before.
    fn write(&mut self, out: &mut Vec<u8>, at: u32, name: &str) {
        match self.ids[at as usize] {
            0 => self.ids[at as usize] = self.write_new(out, name),
            id => {
                out.push(b'(');
                push_number(out, u64::from(id));
                out.extend_from_slice(b")\n");
            }
        }
    }

    /// Writes a name that was not written before, and returns its number.
    fn write_new(&mut self, out: &mut Vec<u8>, name: &str) -> u32 {
        self.last += 1;
        out.push(b'(');
        push_number(out, u64::from(self.last));
        out.extend_from_slice(b") ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
        self.last
    }
}

/// Millions of numbers are written; `write!` takes several times as long.
fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
