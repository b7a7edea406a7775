//! Thread dumps: what `jstack`, `kill -3`, `jcmd Thread.print` and `Thread.dump_to_file`,
//! management beans, Spring's actuator and OpenJ9 write of what all threads are doing. A file
//! may have several.
//!
//! Each format is read into a [`RawDump`], dump by dump; `resolve` finds out what threads wait
//! for and who has that, and `write` makes samples of it.

mod frames;
mod javacore;
mod json;
mod line;
mod lines;
mod raw;
mod resolve;
mod text;
mod to_file;
mod write;

use crate::{
    bytes::Bytes, error::Error, fact::Fact, input::Input, limits::MAX_DAMAGE, recording::Recording,
};
use frames::FrameTable;
pub(crate) use line::moment_ns;
use raw::RawDump;
use std::io;
use write::DumpWriter;

/// Thread dumps.
pub const INPUT: Input = Input {
    name: "thread-dump",
    what: "thread dumps of JVMs",
    tells: &[
        Fact::Threads,
        Fact::Stacks,
        Fact::Lines,
        Fact::Kinds,
        Fact::LockClasses,
        Fact::LockIdentities,
        Fact::Owners,
        Fact::Samples,
    ],
    start_len: START_LEN,
    is_it,
    check: |_, _| Ok(()),
    read,
};

/// A service's own log may stand in front of the first dump.
const START_LEN: usize = 1 << 16;

/// How a dump is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DumpStyle {
    Text,
    ToFile,
    Json,
    Javacore,
}

fn is_it(start: &[u8]) -> bool {
    style(&lines::decoded(start)).is_some()
}

/// How a text is written that begins so; `None` if it is no thread dump.
fn style(start: &[u8]) -> Option<DumpStyle> {
    let start = start.get(..START_LEN).unwrap_or(start);
    let has = |part: &str| start.windows(part.len()).any(|window| window == part.as_bytes());
    let first = start.trim_ascii_start().first().copied();
    if matches!(first, Some(b'{' | b'[')) {
        let is_json = has("\"threadDump\"") || has("\"threadName\"") && has("\"threadState\"");
        return is_json.then_some(DumpStyle::Json);
    }
    if has("\n1TI") || start.starts_with(b"0SECTION") || start.starts_with(b"NULL  ") {
        return has("subcomponent dump routine").then_some(DumpStyle::Javacore);
    }
    if has("Full thread dump") || has("java.lang.Thread.State: ") {
        return Some(DumpStyle::Text);
    }
    let mut texts = lines::TextLines::new(start);
    if texts.any(|(_, it)| {
        line::header(&it).is_some_and(|header| header.state.state.is_some() || header.state.waits)
    }) {
        return Some(DumpStyle::Text);
    }
    to_file::is_it(start).then_some(DumpStyle::ToFile)
}

/// The dumps of a file.
struct Dumps<'n> {
    name: &'n str,
    frames: FrameTable,
    writer: Option<DumpWriter>,
    damage: Vec<(u64, &'static str)>,
}

impl Dumps<'_> {
    /// Takes a dump. One without threads says nothing.
    fn add(&mut self, mut dump: RawDump) -> io::Result<()> {
        // What the JVM runs for itself has a header and nothing else.
        dump.threads.retain(|thread| thread.is_java);
        if dump.threads.is_empty() {
            self.add_damage(dump.offset, "a thread dump without threads; it was left out");
            return Ok(());
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(DumpWriter::new(self.name, &dump)?),
        };
        writer.add(&dump, &self.frames)
    }

    /// Tells of a damaged place of the text.
    fn add_damage(&mut self, offset: u64, what: &'static str) {
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push((offset, what));
        }
    }
}

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let all = bytes.settled(0, bytes.len()).unwrap_or_default();
    let text = lines::decoded(all);
    let (frames, writer, damage) = Default::default();
    let mut dumps = Dumps { name, frames, writer, damage };
    match style(&text) {
        Some(DumpStyle::Json) => json::read(&text, &mut dumps).map_err(io)?,
        Some(DumpStyle::Javacore) => javacore::read(&text, &mut dumps).map_err(io)?,
        Some(DumpStyle::ToFile) => to_file::read(&text, &mut dumps).map_err(io)?,
        Some(DumpStyle::Text) | None => {
            text::TextReader::new(&mut dumps).read(&text).map_err(io)?
        }
    }
    let place = |at| lines::offset_in_file(all, &text, at);
    let Some(mut writer) = dumps.writer else {
        let first = dumps.damage.first();
        let what = first.map_or("it begins like a thread dump, but no thread is in it", |it| it.1);
        let offset = place(first.map_or(0, |it| it.0));
        return Err(Error::Malformed { log: name.to_owned(), offset, what: what.to_owned() });
    };
    for (at, what) in dumps.damage {
        writer.add_damage(place(at), what);
    }
    writer.finish(name)
}
