//! What the readers of each output would say that it sums up to.

use super::callgrind;
use flate2::read::GzDecoder;
use prost::Message;
use std::io::Read;
use tyrion_converters::outputs::{By, Format, otlp::proto::ProfilesData, pprof::proto};
use tyrion_model::profile::{Profile, State};

/// A pprof file's message.
pub fn pprof(bytes: &[u8]) -> proto::Profile {
    let mut message = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut message).unwrap();
    proto::Profile::decode(&message[..]).unwrap()
}

/// Sums of everything: wait ns, waits, acquisitions, hold ns, blamed ns, of
/// samples wall, CPU and blocked ns, and the errors of acquisitions; and of reentrant
/// acquisitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputTotals {
    pub cost: callgrind::CostSums,
    pub reentrant: u64,
    pub reentrant_error: u64,
}

impl OutputTotals {
    /// The sum of what pprof and OpenTelemetry call so.
    fn of(&mut self, kind: &str) -> &mut u64 {
        match kind {
            "delay" => &mut self.cost[0],
            "contentions" => &mut self.cost[1],
            "acquisitions" => &mut self.cost[2],
            "hold" => &mut self.cost[3],
            "blamed" => &mut self.cost[4],
            "wall" => &mut self.cost[5],
            "cpu" => &mut self.cost[6],
            "blocked" => &mut self.cost[7],
            "acquisitions_error" => &mut self.cost[8],
            "reentrant" => &mut self.reentrant,
            "reentrant_error" => &mut self.reentrant_error,
            _ => panic!("{kind}"),
        }
    }
}

/// What was written: names and contents.
pub type OutputFiles = [(String, Vec<u8>)];

/// What a format's files, by name, or its stream sum up to.
pub enum TotalsReader {
    /// All costs.
    Costs(fn(&OutputFiles) -> callgrind::CostSums),
    /// All costs, and reentrant acquisitions.
    Totals(fn(&OutputFiles) -> OutputTotals),
    /// The one value that is shown.
    Picture(fn(&OutputFiles) -> u64),
}

/// The reader of a format. A format that none is known for is not tested, so it
/// is an error.
pub fn reader(format: &Format) -> TotalsReader {
    match format.name {
        "callgrind" => TotalsReader::Costs(of_callgrind),
        "pprof" => TotalsReader::Totals(|files| of_pprof(only(files))),
        "otlp" => TotalsReader::Totals(|files| of_otlp(only(files))),
        "flamegraph" => TotalsReader::Picture(|files| of_flamegraph(only(files))),
        "collapsed" => TotalsReader::Picture(|files| of_collapsed(only(files))),
        unknown => panic!("no test reads {unknown}: add what it sums up to"),
    }
}

fn only(files: &OutputFiles) -> &[u8] {
    let [(_, bytes)] = files else { panic!("{} files", files.len()) };
    bytes
}

/// The sums of a profile's rows.
pub fn of_profile(profile: &Profile, by: Option<By>) -> OutputTotals {
    let mut totals = OutputTotals::default();
    let [wait_ns, count, acquisitions, hold_ns, blamed_ns, wall_ns, cpu_ns, blocked_ns, error] =
        &mut totals.cost;
    for row in &profile.acquisitions {
        *acquisitions += row.acquisitions;
        *error += row.acquisitions_error;
        *hold_ns += row.hold_ns;
        totals.reentrant += row.reentrant;
        totals.reentrant_error += row.reentrant_error;
    }
    let mut blames = 0;
    for blame in &profile.blames {
        *blamed_ns += blame.blamed_ns;
        blames += blame.count;
    }
    for sample in &profile.samples {
        *wall_ns += sample.wall_ns;
        *cpu_ns += sample.cpu_ns;
        *blocked_ns += if sample.state == State::Blocked { sample.wall_ns } else { 0 };
    }
    (*count, *wait_ns) = match by {
        Some(By::Holder) => (blames, *blamed_ns),
        Some(By::Waker) => {
            profile.wakes.iter().fold((0, 0), |(n, ns), it| (n + it.count, ns + it.blamed_ns))
        }
        _ => profile.totals(),
    };
    totals
}

/// The sum of a pprof file's samples.
pub fn of_pprof(bytes: &[u8]) -> OutputTotals {
    let profile = pprof(bytes);
    let name = |at: i64| profile.string_table[at as usize].as_str();
    let types: Vec<&str> = profile.sample_type.iter().map(|kind| name(kind.r#type)).collect();
    assert!(!types.contains(&"blocked"), "the label `state` tells it");
    let mut totals = OutputTotals::default();
    for sample in &profile.sample {
        assert_eq!(sample.value.len(), types.len());
        let state = sample.label.iter().find(|label| name(label.key) == "state");
        let is_blocked = state.is_some_and(|state| name(state.str) == "blocked");
        for (kind, value) in types.iter().zip(&sample.value) {
            *totals.of(kind) += *value as u64;
            totals.cost[7] += if *kind == "wall" && is_blocked { *value as u64 } else { 0 };
        }
    }
    totals
}

/// The sum of the samples of OpenTelemetry's profiles.
pub fn of_otlp(bytes: &[u8]) -> OutputTotals {
    let data = ProfilesData::decode(bytes).unwrap();
    let strings = &data.dictionary.as_ref().unwrap().string_table;
    let mut totals = OutputTotals::default();
    let scopes = data.resource_profiles.iter().flat_map(|run| &run.scope_profiles);
    for profile in scopes.flat_map(|scope| &scope.profiles) {
        let values = profile.samples.iter().flat_map(|sample| &sample.values);
        let kind = strings[profile.sample_type.unwrap().type_strindex as usize].as_str();
        *totals.of(kind) += values.map(|value| *value as u64).sum::<u64>();
    }
    totals
}

/// The sum of own costs over callgrind files.
pub fn of_callgrind(files: &OutputFiles) -> callgrind::CostSums {
    let parts = files.iter().filter(|(_, bytes)| !bytes.is_empty());
    parts.fold(callgrind::CostSums::default(), |mut sum, (_, bytes)| {
        let part = callgrind::parse(std::str::from_utf8(bytes).unwrap());
        let own = part.sum();
        assert_eq!(own, part.totals);
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        sum
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
