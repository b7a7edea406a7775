//! Thread dumps: a profile for each dump, with a sample for each thread, which counts one.

use super::{SCHEMA, VERSION, write_frames};
use crate::outputs::{
    OutputOptions,
    by_dump::{self, DumpMoment, DumpStacks},
    json::{self, Commas},
};
use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
};
use tyrion_model::timeline::Timeline;

/// Writes all dumps. Each stack begins with what the thread was doing and ends with its name:
/// so viewers that join equal stacks tell how many threads do what, and which.
pub(super) fn write(
    timeline: &Timeline<'_>,
    options: &OutputOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let profile = by_dump::with_waits(timeline.profile());
    let stacks = DumpStacks::new(&profile, options)?;
    let dumps = by_dump::moments(timeline)?;
    let mut extra = ExtraFrames { first: stacks.places().frames(), ..ExtraFrames::default() };
    let mut profiles = Vec::new();
    for dump in &dumps {
        write_dump(timeline, (dump, &stacks), &mut extra, &mut profiles)?;
    }
    if dumps.is_empty() {
        let empty = DumpMoment { name: "no threads".to_owned(), at_ns: 0, threads: Vec::new() };
        write_dump(timeline, (&empty, &stacks), &mut extra, &mut profiles)?;
    }
    let mut out = BufWriter::with_capacity(1 << 18, out);
    write!(out, "{{\"$schema\":\"{SCHEMA}\",\"exporter\":\"tyrion {VERSION}\",\"name\":")?;
    json::string(&mut out, "thread dumps: each sample is a thread")?;
    out.write_all(b",\"shared\":{\"frames\":[\n")?;
    write_frames(stacks.places(), &mut out)?;
    for name in &extra.names {
        out.write_all(b",{\"name\":")?;
        json::string(&mut out, name)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"\n]},\"profiles\":[\n")?;
    out.write_all(&profiles)?;
    writeln!(out, "\n],\"activeProfileIndex\":{}}}", dumps.len().saturating_sub(1))?;
    out.flush()
}

/// Frames that stand for no method: states and threads, behind all others.
#[derive(Default)]
struct ExtraFrames {
    first: u32,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl ExtraFrames {
    fn number(&mut self, name: String) -> u32 {
        if let Some(&known) = self.numbers.get(&name) {
            return known;
        }
        let number = self.first + self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }
}

fn write_dump(
    timeline: &Timeline<'_>,
    (dump, stacks): (&DumpMoment, &DumpStacks<'_>),
    extra: &mut ExtraFrames,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    if !out.is_empty() {
        out.extend_from_slice(b",\n");
    }
    out.extend_from_slice(b"{\"type\":\"sampled\",\"unit\":\"none\",\"name\":");
    json::string(out, &dump.name)?;
    out.extend_from_slice(b",\"samples\":[");
    let mut samples: Vec<Vec<u32>> = Vec::with_capacity(dump.threads.len());
    for seen in &dump.threads {
        let mut path = vec![extra.number(format!("[{}]", seen.state.name()))];
        path.extend(stacks.places().path(stacks.node(seen)));
        path.push(extra.number(format!("[thread] {}", by_dump::thread_name(timeline, seen))));
        samples.push(path);
    }
    // Equal stacks stand beside each other, also where viewers keep the order.
    samples.sort();
    let mut commas = Commas::default();
    for sample in &samples {
        commas.next(out)?;
        json::array(out, sample)?;
    }
    out.extend_from_slice(b"],\"weights\":");
    json::repeated(out, "1", samples.len())?;
    let text = format!(",\"startValue\":0,\"endValue\":{}}}", samples.len());
    out.extend_from_slice(text.as_bytes());
    Ok(())
}
