//! Whether the JVM compiled again what trace mode had changed while it was recorded: until
//! that is done, the program does less, and waits less for locks.

use crate::Findings;
use tyrion_formats::Recording;
use tyrion_model::units::duration;

/// From this JDK on, only the compiled code of changed classes is discarded.
const KEEPS_COMPILED_CODE: u64 = 25;
/// How long it takes until code is compiled again under load, where only that of changed
/// classes was discarded, and where all was (docs/costs.md).
const OF_SOME_NS: u64 = 10_000_000_000;
const OF_ALL_NS: u64 = 20_000_000_000;
/// A smaller part of the recorded time changes little.
const LEAST_SHARE: f64 = 0.2;

/// For how long of the recorded time that was so.
pub(super) fn ns(findings: &Findings<'_>) -> u64 {
    let mut probed_ns = 0u64;
    for log in findings.logs {
        let Some((begin_ns, length_ns)) = probed(log) else { continue };
        let window = findings.filter.window(log);
        let parts = log.recorded().into_iter().map(|part| {
            let end_ns = part.end.min(begin_ns.saturating_add(length_ns)).min(window.until_ns);
            end_ns.saturating_sub(part.start.max(begin_ns).max(window.since_ns))
        });
        probed_ns = parts.fold(probed_ns, u64::saturating_add);
    }
    probed_ns.min(findings.recorded_ns())
}

/// A line that says so; empty if that was not so for long.
pub(super) fn line(findings: &Findings<'_>) -> String {
    let (probed_ns, recorded_ns) = (ns(findings), findings.recorded_ns());
    if recorded_ns == 0 || (probed_ns as f64) < LEAST_SHARE * recorded_ns as f64 {
        return String::new();
    }
    format!(
        "! Trace mode had just put its probes into the running program, which was compiled anew \
         for up to {} of the {} recorded: threads may wait less than usual. Record longer, or in \
         contention mode.",
        duration(probed_ns),
        duration(recorded_ns),
    )
}

/// When trace mode began in a JVM that was running, and how long that is felt.
fn probed(log: &Recording) -> Option<(u64, u64)> {
    let spans = log.mode_spans();
    let traces = |mode: &str| mode.split('+').any(|part| part == "trace");
    let begin_ns = match spans.iter().find(|span| traces(&span.mode)) {
        // In a later file it began earlier.
        Some(first) if first.span.start > log.start_ns() => first.span.start,
        _ if log.facts().metadata("loaded") != Some("attached") => return None,
        _ if log.facts().metadata("file-number").is_some_and(|number| number != "0") => {
            return None;
        }
        _ if !traces(log.facts().metadata("mode")?) => return None,
        _ => log.recorded().first()?.start,
    };
    let is_kept = release(log.facts().metadata("jvm")?).is_some_and(|it| it >= KEEPS_COMPILED_CODE);
    Some((begin_ns, if is_kept { OF_SOME_NS } else { OF_ALL_NS }))
}

/// The release of Java in a JVM's version, such as 17.0.15+6; that of JDK 8 is 25.482-b08.
fn release(jvm: &str) -> Option<u64> {
    let version = jvm.split(' ').next_back()?;
    let (first, rest) = version.split_at(version.find(|it: char| !it.is_ascii_digit())?);
    if rest.contains("-b") { Some(8) } else { first.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sections::verdict::Verdict,
        testing::{Crafted, found},
    };
    use tyrion_model::filter::Filter;
    use tyrion_wire::WaitKind;

    #[test]
    fn the_release_is_that_of_java() {
        assert_eq!(release("OpenJDK 64-Bit Server VM 17.0.15+6-Debian-1"), Some(17));
        assert_eq!(release("OpenJDK 64-Bit Server VM 25.482-b08"), Some(8));
        assert_eq!(release("OpenJDK 64-Bit Server VM 25+36-LTS"), Some(25));
        assert_eq!(release(""), None);
    }

    #[test]
    fn what_is_felt_of_fresh_probes_is_a_number_too() {
        let length_ns = 100_000_000_000;
        let verdict = |jvm: &str, loaded: &str| {
            let metadata = [("mode", "trace"), ("jvm", jvm), ("loaded", loaded)];
            let mut log = Crafted::with(length_ns, &metadata);
            let lock = (WaitKind::Monitor, ("com.acme.Log", ""));
            log.wait("http-1", &["com.acme.Shop.serve:10"], lock, 1_000_000_000, "");
            let logs = [log.finish("shop.log")];
            let filter = Filter::default();
            let verdict = Verdict::of(&found(&logs, &filter));
            let is_said = verdict.lines.iter().any(|line| line.contains("just put its probes"));
            (verdict.probed_ns, is_said)
        };
        assert_eq!(verdict("OpenJDK 64-Bit Server VM 17.0.15+6", "attached"), (OF_ALL_NS, true));
        assert_eq!(verdict("OpenJDK 64-Bit Server VM 25+36", "attached"), (OF_SOME_NS, false));
        assert_eq!(verdict("OpenJDK 64-Bit Server VM 17.0.15+6", "at start"), (0, false));
    }
}
