//! What the formats of logs do not tell, in a line for all logs of which the same is
//! unknown.

use tyrion_formats::{Lacks, Recording};

/// So many logs are named in a line.
const NAMED: usize = 3;

/// Logs of one format that lack the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FormatLacks {
    format: &'static str,
    lacks: Lacks,
    /// Whether they tell of acquisitions.
    has_acquisitions: bool,
    logs: Vec<String>,
}

/// Adds what the format of a log does not tell.
pub(super) fn add(all: &mut Vec<FormatLacks>, log: &Recording) {
    let can = log.capabilities();
    let (format, lacks, has_acquisitions) = (log.facts().format, can.lacks, can.acquisitions);
    if lacks == Lacks::default() {
        return;
    }
    let name = log.name().to_owned();
    let is_same = |it: &&mut FormatLacks| {
        it.format == format && it.lacks == lacks && it.has_acquisitions == has_acquisitions
    };
    match all.iter_mut().find(is_same) {
        Some(known) => known.logs.push(name),
        None => all.push(FormatLacks { format, lacks, has_acquisitions, logs: vec![name] }),
    }
}

/// The first of these names, and how many more there are.
pub(super) fn named(logs: &[String]) -> String {
    let names = logs.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match logs.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

impl FormatLacks {
    /// The line.
    pub(super) fn line(&self) -> String {
        let names = named(&self.logs);
        let does = if self.logs.len() == 1 { "does" } else { "do" };
        format!("{names} ({}) {does} not tell {}{}", self.format, self.untold(), self.instead())
    }

    /// What is not told: `when threads waited, nor which`.
    fn untold(&self) -> String {
        match (self.lacks.monitors, self.lacks.parks) {
            (true, true) => return "whether threads waited for locks".to_owned(),
            (true, false) => return "whether threads waited for monitors".to_owned(),
            (false, true) => {
                return "whether threads waited for locks of java.util.concurrent".to_owned();
            }
            (false, false) => {}
        }
        let Lacks { waits, times, durations, counts, threads, stacks, .. } = self.lacks;
        let untold = [
            (waits, "whether"),
            (times, "when"),
            (durations, "how long"),
            (counts, "how often"),
            (stacks, "where in the program"),
        ];
        let untold: Vec<&str> =
            untold.into_iter().filter(|(is_untold, _)| *is_untold).map(|(_, what)| what).collect();
        match (untold.split_last(), threads) {
            (None, true) => "which threads waited".to_owned(),
            (None, false) => "how long single waits took".to_owned(),
            (Some((last, [])), _) => format!("{last} threads waited{}", nor_which(threads)),
            (Some((last, before)), _) => {
                format!("{} or {last} threads waited{}", before.join(", "), nor_which(threads))
            }
        }
    }

    /// What there is instead, and what follows from that.
    fn instead(&self) -> String {
        let Lacks { waits, times, singles, durations, counts, .. } = self.lacks;
        let there_is = if waits && !self.has_acquisitions {
            ""
        } else if waits {
            "; there are acquisitions and holds alone"
        } else if counts {
            "; there are only sums, and the waits of each stack count as one"
        } else if durations {
            "; there are only numbers of waits"
        } else if singles {
            "; there are only sums of waits, and each counts as long as the average of its stack"
        } else {
            ""
        };
        // Where there are no waits, that is clear.
        let times = if times && !waits { ". --since and --until do not apply" } else { "" };
        format!("{there_is}{times}")
    }
}

fn nor_which(threads: bool) -> &'static str {
    if threads { ", nor which" } else { "" }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
    use super::*;

    fn stacks(name: &str, text: &str) -> Recording {
        Recording::from_bytes(name, text.as_bytes().to_vec()).unwrap()
    }

    fn lines(logs: &[Recording]) -> Vec<String> {
        let mut all = Vec::new();
        logs.iter().for_each(|log| add(&mut all, log));
        all.iter().map(FormatLacks::line).collect()
    }

    #[test]
    fn a_line_names_the_files_and_what_they_do_not_tell() {
        let one = stacks("a.folded", "a;b 7\nc;d 8\n");
        let told = "a.folded (collapsed) does not tell when or how long threads waited, nor \
                    which; there are only numbers of waits. --since and --until do not apply";
        assert_eq!(lines(&[one]), [told]);
        let logs = ["a", "b", "c", "d", "e"]
            .map(|name| stacks(name, "[main tid=7];a;b 7\n[main tid=7];d 8\n"));
        let told = "a, b, c and 2 more (collapsed) do not tell when or how long threads waited; \
                    there are only numbers of waits. --since and --until do not apply";
        assert_eq!(lines(&logs), [told]);
    }

    #[test]
    fn each_sort_of_lack_has_words() {
        let logs = || vec!["x".to_owned()];
        let of =
            |lacks| FormatLacks { format: "f", lacks, has_acquisitions: true, logs: logs() }.line();
        let none = Lacks::default();
        let mut lacks = none;
        lacks.stacks = true;
        assert_eq!(of(lacks), "x (f) does not tell where in the program threads waited");
        lacks.waits = true;
        assert_eq!(
            of(lacks),
            "x (f) does not tell whether or where in the program threads waited; there are \
             acquisitions and holds alone"
        );
        let mut lacks = none;
        lacks.monitors = true;
        assert_eq!(of(lacks), "x (f) does not tell whether threads waited for monitors");
        let mut lacks = none;
        (lacks.threads, lacks.singles) = (true, true);
        assert_eq!(
            of(lacks),
            "x (f) does not tell which threads waited; there are only sums of waits, and each \
             counts as long as the average of its stack"
        );
        lacks.times = true;
        assert!(of(lacks).contains("tell when threads waited, nor which; there are only sums"));
        lacks.counts = true;
        assert!(of(lacks).contains("when or how often threads waited, nor which"));
    }
}
