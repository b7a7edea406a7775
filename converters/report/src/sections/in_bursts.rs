//! What reports and comparisons say of acquisitions that were counted in bursts.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use crate::{
    Report, ReportOptions,
    diff::{Matching, Pair, Per, Terms, view},
    render::{
        html, json,
        text::{self, Style},
    },
    testing::{Crafted, found},
    view::Part,
};
use serde_json::Value;
use tyrion_formats::Recording;
use tyrion_model::filter::Filter;
use tyrion_wire::{
    WaitKind,
    cell::bucket,
    trace::{AcquisitionCell, Bursts, USUAL_PAIR_NS},
};

const MAP: (WaitKind, (&str, &str)) = (WaitKind::Monitor, ("java.lang.Object", "Cache.map"));
const GET: &str = "a.Cache.get:12";

/// A place that was taken about 1 000 times for 1 µs each, of which 100 were counted.
fn log(name: &str, bursts: Option<Bursts>) -> Recording {
    let metadata = [("mode", "trace"), ("hold", "1/64"), ("identity", "true")];
    let mut log = Crafted::with(1_000_000_000, &metadata);
    log.wait("http-1", &[GET], MAP, 900_000, "");
    let mut cell = AcquisitionCell {
        acquisitions: 100,
        reentrant: 1,
        first_count: 10,
        first_ns: 10_000,
        sampled_count: 90,
        sampled_ns: 90_000,
        max_ns: 1_000,
        bursts,
        ..AcquisitionCell::default()
    };
    cell.histogram[bucket(1_000)] = 100;
    log.cell("http-1", GET, MAP, cell);
    log.finish(name)
}

fn in_bursts() -> Recording {
    let bursts = Bursts {
        uncounted: 900,
        uncounted_error: 50,
        uncounted_reentrant: 9,
        reentrant_error: 3,
        count: 12,
    };
    log("bursts.log", Some(bursts))
}

/// What a report has of a log, as text, as a page and as JSON.
fn reported(log: Recording) -> (String, String, Value) {
    let (logs, filter, options) = ([log], Filter::default(), ReportOptions::default());
    let findings = found(&logs, &filter);
    let report = Report::new("1.2.3", &findings, &options, &[]);
    let mut page = Vec::new();
    html::write(&report, &[], &mut page).unwrap();
    let json = serde_json::from_str(&json::write(&report)).unwrap();
    // However its lines are broken.
    let text = text::write(&report, &Style::default());
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    (text, String::from_utf8(page).unwrap(), json)
}

#[test]
fn reports_say_how_far_estimates_may_be_off() {
    let (text, page, json) = reported(in_bursts());
    let note = "1 place was counted in bursts (count=adaptive): acquisitions are estimates, with a \
                standard error of 5.0 % in all";
    assert!(json["notes"].as_array().unwrap().contains(&note.into()), "{}", json["notes"]);
    for told in [
        "1 thread took locks 1,000 times ± 100 at 1 place",
        "taken ±",
        "1,000 ± 100 ×",
        "acquisitions 1,000 ± 100",
        "locks of several threads may be among those of one",
        "orders of locks that occurred there only between the bursts are missing",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(page.contains("taken ±") && page.contains("two standard errors"), "{page}");
    let json = json.to_string();
    assert!(json.contains("\"acquisitions_error\":50"), "{json}");
    assert!(json.contains("\"reentrant_error\":3"), "{json}");
}

#[test]
fn where_all_is_counted_nothing_is_said_of_it() {
    for bursts in [None, Some(Bursts::default())] {
        let (text, page, json) = reported(log("whole.log", bursts));
        for silent in ["in bursts", "taken ±", "reentrant ±", "acquired ±"] {
            assert!(!text.contains(silent) && !page.contains(silent), "{silent}: {text}");
        }
        assert!(json.to_string().contains("\"acquisitions_error\":0"));
    }
}

#[test]
fn hold_times_are_off_by_what_their_number_is_off_by() {
    let hold = |log: Recording| {
        let (logs, filter) = ([log], Filter::default());
        let findings = found(&logs, &filter);
        let told =
            super::critical_sections::critical_sections(&findings, &ReportOptions::default());
        (told.total.hold_ns, told.total.hold_error_ns)
    };
    let (hold_ns, error_ns) = hold(in_bursts());
    assert_eq!(hold_ns, 1_000_000);
    // A tenth of it, and what measuring one in ten adds to that.
    assert!((100_000..200_000).contains(&error_ns), "{error_ns}");
    // Their number is known: what is left is measuring one in ten, some 29 us as a bucket
    // of the histogram tells no more than that, and the probes, which are in each that was
    // not counted.
    let known = Bursts { uncounted: 900, count: 12, ..Bursts::default() };
    let (_, error_ns) = hold(log("known.log", Some(known)));
    assert!((29_000..30_000).contains(&(error_ns - 900 * USUAL_PAIR_NS)), "{error_ns}");
    assert_eq!(hold(log("whole.log", None)), (100_000, 0));
}

#[test]
fn comparisons_say_which_changes_may_be_chance() {
    let filter = Filter::default();
    let (before, after) = ([log("whole.log", None)], [in_bursts()]);
    let pair = Pair { before: &found(&before, &filter), after: &found(&after, &filter) };
    let told = |per| {
        let terms = Terms { per, matching: Matching::default() };
        let diff = pair.diff(&terms, &ReportOptions::default()).unwrap();
        (diff.after.acquisitions_error, format!("{:?}", view(&diff).parts), diff)
    };
    let (error, text, diff) = told(Per::Acquisition);
    assert_eq!((error, diff.before.acquisitions_error), (Some(50), Some(0)));
    assert!(text.contains("1,000 acquisitions ± 100"), "{text}");
    assert!(text.contains("a change of all waits by less than 10.0 % may be chance"), "{text}");
    let (_, text, _) = told(Per::Second);
    assert!(!text.contains("chance"), "{text}");
    assert!(matches!(view(&diff).parts[1], Part::Text(_)));
}
