//! The lines of a callgrind file.

use super::graph::{CostLine, Graph};
use crate::outputs::rows::RowColumn;
use std::io::{self, Write};

/// KCacheGrind takes a file's size modulo 2^32 and silently reads no more.
pub(super) const MAX_FILE_BYTES: u64 = u32::MAX as u64;

/// Sums of rows, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowCost<const N: usize>(pub(super) [u64; N]);

impl<const N: usize> Default for RowCost<N> {
    fn default() -> Self {
        RowCost([0; N])
    }
}

impl<const N: usize> RowCost<N> {
    /// Adds what other rows cost.
    pub(super) fn add(&mut self, other: RowCost<N>) {
        for (sum, value) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(value);
        }
    }

    /// Whether nothing was.
    pub(super) fn is_zero(&self) -> bool {
        self.0 == [0; N]
    }
}

/// Writes the lines of a file. A name is written where it is first used, with
/// its number, and is the number alone after that. Numbers are indices in the
/// graph and 1.
pub(super) struct FileWriter<'a> {
    graph: &'a Graph,
    columns: &'a [RowColumn],
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    written_bytes: u64,
    max_bytes: u64,
    /// Which names were written.
    functions: Vec<bool>,
    files: Vec<bool>,
    objects: Vec<bool>,
    /// Those of the current function.
    file: u32,
    object: u32,
    /// How many roots there were.
    roots: usize,
}

impl<'a> FileWriter<'a> {
    const FLUSH_BYTES: usize = 1 << 18;

    /// Writes to `out`, but no more than `max_bytes`.
    pub(super) fn new(
        graph: &'a Graph,
        columns: &'a [RowColumn],
        out: &'a mut dyn Write,
        max_bytes: u64,
    ) -> Self {
        FileWriter {
            graph,
            columns,
            out,
            buffer: Vec::with_capacity(Self::FLUSH_BYTES + (1 << 12)),
            written_bytes: 0,
            max_bytes,
            functions: vec![false; graph.functions.len()],
            files: vec![false; graph.files.len()],
            objects: vec![false; graph.objects.len()],
            file: 0,
            object: 0,
            roots: 0,
        }
    }

    /// Writes the header.
    pub(super) fn header(&mut self, text: &str) {
        self.text(text);
    }

    /// Begins the frame at which the stacks of a part begin.
    pub(super) fn root(&mut self, name: &str) -> io::Result<()> {
        self.place(0)?;
        let number = match self.roots {
            0 => 1,
            roots => self.functions.len() + roots,
        };
        self.roots += 1;
        self.text("fn=(");
        push_number(&mut self.buffer, number as u64);
        self.text(") ");
        self.text(name);
        self.text("\n");
        Ok(())
    }

    /// Begins a function.
    pub(super) fn function(&mut self, function: u32) -> io::Result<()> {
        self.place(function)?;
        self.function_name("fn=(", function);
        Ok(())
    }

    /// Writes where a function is. `callgrind_annotate` loses functions before
    /// which no `fl=` stands.
    fn place(&mut self, function: u32) -> io::Result<()> {
        self.flush(Self::FLUSH_BYTES)?;
        let callee = &self.graph.functions[function as usize];
        (self.file, self.object) = (callee.file, callee.object);
        self.object_name("\nob=(", self.object);
        self.file_name("fl=(", self.file);
        Ok(())
    }

    /// Writes what the function cost on a line, or what a call on it did.
    pub(super) fn entry<const N: usize>(&mut self, entry: CostLine, cost: RowCost<N>) {
        if entry.callee != 0 {
            let callee = &self.graph.functions[entry.callee as usize];
            if callee.object != self.object {
                self.object_name("cob=(", callee.object);
            }
            if callee.file != self.file {
                self.file_name("cfi=(", callee.file);
            }
            self.function_name("cfn=(", entry.callee);
            self.text("calls=");
            // With 0 calls `callgrind_annotate` takes the cost for the caller's own.
            let calls = self.calls(cost).max(1);
            push_number(&mut self.buffer, calls);
            self.buffer.push(b' ');
            push_number(&mut self.buffer, u64::from(callee.first_line));
            self.buffer.push(b'\n');
        }
        push_number(&mut self.buffer, u64::from(entry.line));
        self.buffer.push(b' ');
        self.cost(cost);
    }

    /// Writes the end: without the sum `callgrind_annotate --inclusive` counts
    /// calls twice.
    pub(super) fn finish<const N: usize>(mut self, total: RowCost<N>) -> io::Result<()> {
        self.text("\ntotals: ");
        self.cost(total);
        self.flush(0)?;
        self.out.flush()
    }

    fn cost<const N: usize>(&mut self, cost: RowCost<N>) {
        for (nth, (_, value)) in self.columns.iter().zip(cost.0).enumerate() {
            if nth > 0 {
                self.buffer.push(b' ');
            }
            push_number(&mut self.buffer, value);
        }
        self.buffer.push(b'\n');
    }

    /// How often something was called: once for each acquisition, and where
    /// those are not counted for each wait.
    fn calls<const N: usize>(&self, cost: RowCost<N>) -> u64 {
        let counts = self.columns.iter().zip(cost.0);
        let counts = counts
            .filter(|(column, _)| matches!(column, RowColumn::Count | RowColumn::Acquisitions));
        counts.map(|(_, value)| value).max().unwrap_or(0)
    }

    fn function_name(&mut self, key: &str, function: u32) {
        let name = &self.graph.functions[function as usize].name;
        push_name(&mut self.buffer, &mut self.functions, key, function, name);
    }

    fn file_name(&mut self, key: &str, file: u32) {
        let name = &self.graph.files[file as usize];
        push_name(&mut self.buffer, &mut self.files, key, file, name);
    }

    fn object_name(&mut self, key: &str, object: u32) {
        let name = &self.graph.objects[object as usize];
        push_name(&mut self.buffer, &mut self.objects, key, object, name);
    }

    fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Passes the buffer on if it holds more than so many bytes.
    fn flush(&mut self, bytes: usize) -> io::Result<()> {
        if self.buffer.len() <= bytes {
            return Ok(());
        }
        self.written_bytes += self.buffer.len() as u64;
        if self.written_bytes > self.max_bytes {
            let reason = "over 4 GiB, of which KCacheGrind would read only a part: \
                          choose fewer waits, or leave merging and lock identities out";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Writes `key` and a name's number, and the name itself at its first use.
fn push_name(out: &mut Vec<u8>, written: &mut [bool], key: &str, at: u32, name: &str) {
    out.extend_from_slice(key.as_bytes());
    push_number(out, u64::from(at) + 1);
    let written = &mut written[at as usize];
    if *written {
        out.extend_from_slice(b")\n");
    } else {
        *written = true;
        out.extend_from_slice(b") ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::{
        OutputOptions,
        rows::Rows,
        tree::{Leaves, StackTree, StateLeaves},
    };
    use tyrion_model::profile::Profile;

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 99, 100, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    #[test]
    fn files_end_before_readers_cut_them() {
        let profile = Profile { stacks: vec![Default::default()], ..Profile::default() };
        let options = OutputOptions::default();
        let rows = Rows::all(&profile, &options);
        let leaves = Leaves::new(&options, StateLeaves::ButRunning);
        let tree = StackTree::new(&profile, &rows, leaves).unwrap();
        let graph = Graph::new(&profile, &tree);
        let write = |max_bytes| {
            let mut out = Vec::new();
            let columns = [RowColumn::WaitNs, RowColumn::Count];
            let mut file = FileWriter::new(&graph, &columns, &mut out, max_bytes);
            file.header("header\n");
            file.root("[root]").unwrap();
            file.finish(RowCost::<2>::default()).map(|()| out.len() as u64)
        };
        let bytes = write(u64::MAX).unwrap();
        assert_eq!(write(bytes).unwrap(), bytes);
        assert_eq!(write(bytes - 1).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
