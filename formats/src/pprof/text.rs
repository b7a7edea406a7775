//! Profiles of pprof as text: what a server of Go gives for `?debug=1`
//! (`--- mutex:`, `--- contention:`), what gperftools writes (`--- contentionz`), and what
//! `go tool pprof -raw` and `-traces` print.

mod contention;
mod raw;
mod traces;

use super::{BadPlace, build::ProfileBuilder, read_profile};
use crate::{
    bytes::Bytes,
    error::Error,
    input::Input,
    limits::{MAX_DAMAGE, MAX_PROFILE},
    recording::Recording,
    summed,
    thread_dump::moment_ns,
};

/// Profiles of pprof as text.
pub const INPUT: Input = Input {
    name: "pprof-text",
    what: "a profile of pprof as text",
    tells: summed::TELLS,
    start_len: START_LEN,
    is_it: |start| TextForm::of(start).is_some(),
    check: |_, _| Ok(()),
    read,
};

/// As many bytes have the lines in front of the samples.
const START_LEN: usize = 4096;
/// What stands between the stacks of `-traces`.
const RULE: &str = "-----------+-------";

/// The forms of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextForm {
    Contention,
    Raw,
    Traces,
}

impl TextForm {
    fn of(start: &[u8]) -> Option<TextForm> {
        let start = start.get(..START_LEN).unwrap_or(start);
        let text = String::from_utf8_lossy(start);
        let mut lines = text.lines();
        let first = lines.next()?;
        if ["--- contention", "--- mutex:"].iter().any(|begin| first.starts_with(begin)) {
            return Some(TextForm::Contention);
        }
        let is_head = |line: &str| {
            let name = line.split(':').next().unwrap_or_default();
            line.contains(": ") && name.chars().all(|it| it.is_ascii_alphabetic() || it == ' ')
        };
        for line in text.lines().take(16) {
            match line {
                "Samples:" => return Some(TextForm::Raw),
                _ if line.starts_with(RULE) => return Some(TextForm::Traces),
                _ if is_head(line) => {}
                _ => return None,
            }
        }
        None
    }
}

/// What is read of a text so far.
#[derive(Default)]
struct TextProfile {
    profile: ProfileBuilder,
    start_ns: u64,
    duration_ns: u64,
    left_out: Vec<BadPlace>,
}

impl TextProfile {
    /// `Time: 2024-01-02 03:04:05 UTC`, `Duration: 5s`.
    fn head(&mut self, line: &str) {
        if let Some(time) = line.strip_prefix("Time: ") {
            self.start_ns = moment_ns(time).unwrap_or(0);
        } else if let Some(duration) = line.strip_prefix("Duration: ") {
            let duration = duration.split(',').next().unwrap_or(duration);
            self.duration_ns = number_with_unit(duration).map_or(0, |(ns, _)| ns);
        }
    }

    /// Notes a line that could not be read.
    fn leave_out(&mut self, at: usize, what: &'static str, line: &str) {
        if self.left_out.len() < MAX_DAMAGE {
            self.left_out.push((at as u64, what, line.len() as u64));
        }
    }
}

/// The lines of a text, with where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let begin = at;
        at += line.len();
        (begin, line.trim_end())
    })
}

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let all = bytes.settled(0, bytes.len()).unwrap_or_default();
    let all = all.get(..MAX_PROFILE).unwrap_or(all);
    let text = String::from_utf8_lossy(all);
    let mut read = TextProfile { profile: ProfileBuilder::new(), ..TextProfile::default() };
    match TextForm::of(all) {
        Some(TextForm::Contention) => contention::read(&text, &mut read),
        Some(TextForm::Traces) => traces::read(&text, &mut read),
        Some(TextForm::Raw) | None => raw::read(&text, &mut read),
    }
    let TextProfile { profile, start_ns, duration_ns, left_out } = read;
    let file = profile.finish(start_ns, duration_ns);
    read_profile(INPUT, name, &file, bytes.hints().sample_type.as_deref(), &left_out)
}

/// `683.05ms`, `12`: ns, or the number as it is; the second value says whether it is a time.
fn number_with_unit(text: &str) -> Option<(u64, bool)> {
    let text = text.trim();
    let unit_at = text.find(|it: char| it != '.' && !it.is_ascii_digit()).unwrap_or(text.len());
    let number: f64 = text.get(..unit_at)?.parse().ok()?;
    let ns = match text.get(unit_at..)? {
        "" => None,
        "ns" => Some(1.0),
        "us" | "µs" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        "mins" => Some(60e9),
        "hrs" => Some(3600e9),
        "days" => Some(86_400e9),
        _ => return None,
    };
    let scaled = number * ns.unwrap_or(1.0);
    (scaled < 1e18).then_some((scaled as u64, ns.is_some()))
}

/// `main.go:12`, `main.go:12:3`: the file and the line; `None` if there is no line.
fn file_and_line(text: &str) -> Option<(&str, u64)> {
    let (file, last) = text.rsplit_once(':')?;
    let number: u64 = last.parse().ok()?;
    match file.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
        Some((file, Ok(line))) => Some((file, line)),
        _ => Some((file, number)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::summed::testing;

    fn read_text(text: &str) -> Recording {
        super::read("it.txt", Bytes::from(text.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn contentions_of_gperftools_are_scaled_and_those_of_go_are_not() {
        let of = |first: &str| {
            format!(
                "{first}\ncycles/second = 2000000000\nsampling period = 100\n\
                 ms since reset = 3000\n4000 2 @ 0x10 0x20\nMAPPED_LIBRARIES:\n00 r-xp\n"
            )
        };
        let log = read_text(&of("--- contentionz 1 ---"));
        assert_eq!((testing::total(&log), log.damage()), ((200, 200_000), &[][..]));
        assert_eq!(log.end_ns(), 3_000_000_000);
        let lines = testing::lines(&log);
        assert!(lines[0].ends_with("|0x20:0 |0x10:0"), "{lines:?}");
        assert_eq!(testing::total(&read_text(&of("--- mutex:"))), (2, 2_000));
    }

    #[test]
    fn labels_and_inlined_callers_of_raw_are_read() {
        let log = read_text(
            "PeriodType: contentions count\nPeriod: 1\nSamples:\n\
             contentions/count delay/nanoseconds[dflt]\n          2       70: 1 2 \n                \
             kind:[monitor] thread:[main [a] 1] lock:[acme.Ledger]\n          1 x: 1\nLocations\n     \
             1: 0x1 M=1 inner /a/b.go:3:0 s=1\n             outer /a/b.go:9:0 s=5(outer_)\n     \
             2: 0x2 M=1 \nMappings\n1: 0x4/0x5/0x0 a  [FN]\n",
        );
        assert_eq!(
            testing::lines(&log),
            ["main [a] 1 monitor acme/Ledger() 2 70 |0x2:0 |outer:9 |inner:3"]
        );
        assert_eq!(log.damage().len(), 1);
    }

    #[test]
    fn values_and_labels_of_traces_are_read() {
        let log = read_text(
            "File: a\nType: delay\nDuration: 1.50s, Total samples = 1\n\
             -----------+-------------------------------------------------------\n    \
             thread:  main 1\n     1.50s   a.in /x/a.go:3 (inline)\n             a.out\n\
             -----------+-------------------------------------------------------\n         ?   b\n",
        );
        assert_eq!(testing::lines(&log), ["main 1 lock () 1 1500000000 a|out:0 |a.in:3"]);
        assert_eq!((log.damage().len(), log.end_ns()), (1, 1_500_000_000));
        let counts = read_text(&format!("Type: contentions\n{RULE}\n        79   b\n"));
        assert_eq!(testing::total(&counts), (79, 0));
    }
}
