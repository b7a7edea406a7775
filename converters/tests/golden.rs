//! Every output of a few profiles against the files in `testdata/golden`.
//!
//! `BLESS=1` writes them. One that is missing or that no output belongs to is an
//! error.

use crate::{
    golden_files, otlp,
    support::{of_sums, profiles, totals, written},
    times,
};
use std::{collections::BTreeMap, fmt::Write, path::PathBuf};
use tyrion_converters::outputs::{
    By, Format, Metric, OutputOptions,
    pprof::{self, proto},
};
use tyrion_model::{
    grouping::{Grouping, group},
    packages::fold,
    profile::Profile,
};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden"))
}

/// The options that are tried beside the default ones.
fn variants() -> Vec<(&'static str, OutputOptions)> {
    let plain = OutputOptions::default;
    vec![
        ("", plain()),
        ("no-lock-frame", OutputOptions { lock_frame: false, ..plain() }),
        ("lock-identity", OutputOptions { lock_identity: true, ..plain() }),
        ("no-thread-label", OutputOptions { thread_label: false, ..plain() }),
        ("by-thread", OutputOptions { by_thread: true, ..plain() }),
        ("contentions", OutputOptions { metric: Some(Metric::Contentions), ..plain() }),
        ("icicle", OutputOptions { icicle: true, ..plain() }),
        ("merged", OutputOptions { merged: true, ..plain() }),
        ("max-parts-2", OutputOptions { max_parts: 2, ..plain() }),
    ]
}

/// The options that mean something in logs of trace mode alone.
fn variants_of_trace() -> Vec<(&'static str, OutputOptions)> {
    let plain = OutputOptions::default;
    vec![
        ("hold", OutputOptions { metric: Some(Metric::Hold), ..plain() }),
        ("acquisitions", OutputOptions { metric: Some(Metric::Acquisitions), ..plain() }),
        ("blame", OutputOptions { metric: Some(Metric::Blame), ..plain() }),
        ("by-holder", OutputOptions { by: Some(By::Holder), ..plain() }),
        (
            "contentions-by-holder",
            OutputOptions { by: Some(By::Holder), metric: Some(Metric::Contentions), ..plain() },
        ),
        (
            "hold-by-thread",
            OutputOptions { metric: Some(Metric::Hold), by_thread: true, ..plain() },
        ),
    ]
}

/// The options that mean something where it is known who ended waits.
fn variants_of_wakers() -> Vec<(&'static str, OutputOptions)> {
    let by_waker = OutputOptions { by: Some(By::Waker), ..OutputOptions::default() };
    let metric = Some(Metric::Contentions);
    vec![
        ("by-waker", by_waker.clone()),
        ("contentions-by-waker", OutputOptions { metric, ..by_waker }),
    ]
}

/// The options that mean something where threads were sampled.
fn variants_of_samples() -> Vec<(&'static str, OutputOptions)> {
    let plain = OutputOptions::default;
    vec![
        ("wall", OutputOptions { metric: Some(Metric::Wall), ..plain() }),
        ("cpu", OutputOptions { metric: Some(Metric::Cpu), ..plain() }),
        ("blocked", OutputOptions { metric: Some(Metric::Blocked), ..plain() }),
        ("by-state", OutputOptions { by: Some(By::State), ..plain() }),
        ("by-state-and-thread", OutputOptions { by: Some(By::State), by_thread: true, ..plain() }),
    ]
}

/// The profile cut down to an interesting package, its threads in groups.
fn transformed(profile: Profile) -> Profile {
    group(fold(profile, &["com.acme".to_owned()]), &Grouping::Pool)
}

/// What a format writes, as text that people can review.
fn readable(format: &Format, profile: &Profile, options: &OutputOptions) -> String {
    let mut text = String::new();
    for (name, bytes) in written(format, profile, options) {
        let _ = writeln!(text, "==> {name} <==");
        text += &match format.name {
            "pprof" => pprof_text(&totals::pprof(&bytes)),
            "otlp" => otlp::text(&bytes),
            "flamegraph" => svg_text(&String::from_utf8(bytes).unwrap()),
            _ => String::from_utf8(bytes).unwrap(),
        };
        let _ = writeln!(text);
    }
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// The SVG without inferno's script, and with a frame a line.
fn svg_text(svg: &str) -> String {
    let mut text = String::new();
    let mut rest = svg;
    while let Some((before, script)) = rest.split_once("<![CDATA[") {
        text += before;
        rest = script.split_once("]]>").unwrap().1;
    }
    (text + rest).replace("<g>", "\n<g>").replace("<text", "\n<text")
}

fn pprof_text(profile: &proto::Profile) -> String {
    let mut text = String::new();
    let string = |at: i64| profile.string_table[at as usize].as_str();
    let kind = |kind: &proto::ValueType| format!("{}/{}", string(kind.r#type), string(kind.unit));
    for sample_type in &profile.sample_type {
        let _ = writeln!(text, "type {}", kind(sample_type));
    }
    let _ = writeln!(text, "default {}", string(profile.default_sample_type));
    let _ =
        writeln!(text, "period {} {}", profile.period, kind(profile.period_type.as_ref().unwrap()));
    let _ = writeln!(text, "from {} for {}", profile.time_nanos, profile.duration_nanos);
    for &comment in &profile.comment {
        let _ = writeln!(text, "comment {}", string(comment));
    }
    for mapping in &profile.mapping {
        let _ = writeln!(text, "mapping {} {}", mapping.id, string(mapping.filename));
    }
    for function in &profile.function {
        let proto::Function { id, name, system_name, filename, start_line } = *function;
        let (name, system, file) = (string(name), string(system_name), string(filename));
        let _ = writeln!(text, "function {id}: {name} | {system} | {file}:{start_line}");
    }
    for location in &profile.location {
        assert_eq!(location.mapping_id, 1);
        let [line] = location.line[..] else { panic!("one line a location") };
        let _ = writeln!(
            text,
            "location {}: function {} line {}",
            location.id, line.function_id, line.line
        );
    }
    for sample in &profile.sample {
        let _ = write!(text, "sample {:?} {:?}", sample.value, sample.location_id);
        for label in &sample.label {
            let _ = write!(text, " {}={}", string(label.key), string(label.str));
        }
        text.push('\n');
    }
    text
}

/// The golden files as they should be. OutputOptions that change nothing have none.
fn expected() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let profiles = profiles::all().into_iter().chain(profiles::with_samples());
    for (name, profile) in profiles.chain([("wakers", profiles::with_wakers())]) {
        for format in of_sums() {
            let plain = readable(format, &profile, &OutputOptions::default());
            let of_trace = if profile.has_blame { variants_of_trace() } else { Vec::new() };
            let of_samples = if profile.has_samples { variants_of_samples() } else { Vec::new() };
            let of_wakers = if profile.has_wakers { variants_of_wakers() } else { Vec::new() };
            let variants = variants().into_iter().chain(of_trace);
            let variants = variants.chain(of_samples).chain(of_wakers);
            for (variant, options) in variants {
                let text = readable(format, &profile, &options);
                if variant.is_empty() {
                    files.insert(format!("{name}.{}.txt", format.name), text);
                } else if text != plain {
                    files.insert(format!("{name}.{}.{variant}.txt", format.name), text);
                }
            }
            if profile.has_samples {
                let profile = transformed(profile.clone());
                let text = readable(format, &profile, &OutputOptions::default());
                files.insert(format!("{name}.{}.packages-and-groups.txt", format.name), text);
            }
        }
    }
    files.extend(in_bursts());
    files.extend(times::golden());
    let of_owners = readable(&pprof::FORMAT, &profiles::with_owners(), &OutputOptions::default());
    files.insert("owners.pprof.txt".to_owned(), of_owners);
    files
}

/// What all outputs make of acquisitions that were counted in bursts.
fn in_bursts() -> BTreeMap<String, String> {
    let profile = profiles::traced::in_bursts();
    let metric = |metric| OutputOptions { metric: Some(metric), ..OutputOptions::default() };
    let mut files = BTreeMap::new();
    for format in of_sums() {
        let plain = readable(format, &profile, &OutputOptions::default());
        for (name, options) in
            [("acquisitions", metric(Metric::Acquisitions)), ("hold", metric(Metric::Hold))]
        {
            let text = readable(format, &profile, &options);
            if text != plain {
                files.insert(format!("bursts.{}.{name}.txt", format.name), text);
            }
        }
        files.insert(format!("bursts.{}.txt", format.name), plain);
    }
    files
}

#[test]
fn outputs_are_as_in_the_golden_files() {
    golden_files::check(&folder(), &expected());
}
