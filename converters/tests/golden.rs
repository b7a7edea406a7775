//! Every output of a few profiles against the files in `testdata/golden`.
//!
//! `BLESS=1` writes them. One that is missing or that no output belongs to is an
//! error.

mod features;

use crate::{
    golden_files, otlp,
    support::{of_sums, profiles, totals, written},
    times,
};
use features::Feature;
use std::{collections::BTreeMap, fmt::Write, path::PathBuf, sync::LazyLock};
use tyrion_converters::outputs::{
    By, Format, OutputOptions, by_name, flamegraph,
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

/// How all flame graphs look: their golden files do without it.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let [(_, svg)] =
        &written(&flamegraph::FORMAT, &profiles::with_wakers(), &OutputOptions::default())[..]
    else {
        panic!("one file")
    };
    let svg = String::from_utf8(svg.clone()).unwrap();
    let (_, rest) = svg.split_once("<style type=\"text/css\">").unwrap();
    rest.split_once("</style>").unwrap().0.to_owned()
});

/// The SVG without inferno's script and the style of all, and with a frame a line.
fn svg_text(svg: &str) -> String {
    let mut text = String::new();
    let mut rest = svg;
    while let Some((before, script)) = rest.split_once("<![CDATA[") {
        text += before;
        rest = script.split_once("]]>").unwrap().1;
    }
    let text = (text + rest).replace(STYLE.as_str(), "as style.flamegraph.txt");
    text.replace("<g>", "\n<g>").replace("<text", "\n<text")
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

/// The profiles of the golden files.
fn profiles_by_name() -> BTreeMap<&'static str, Profile> {
    BTreeMap::from([
        ("empty", profiles::empty()),
        ("wakers", profiles::with_wakers()),
        ("sample", profiles::frozen()),
        ("owners", profiles::with_owners()),
        ("trace", profiles::traced::profile()),
        ("bursts", profiles::traced::in_bursts()),
        ("sampling", profiles::sampling()),
        ("packages-and-groups", transformed(profiles::frozen())),
        ("nasty", profiles::nasty_in_short()),
        ("bank", profiles::bank()),
    ])
}

/// The golden files as they should be.
fn expected() -> BTreeMap<String, String> {
    let profiles = profiles_by_name();
    let mut files = BTreeMap::new();
    for feature in features::all() {
        for name in feature.shown_by {
            let format = by_name(name).unwrap();
            let text = readable(format, &profiles[feature.profile], &feature.options);
            files.insert(file_name(&feature, name), text);
        }
    }
    files.insert("style.flamegraph.txt".to_owned(), STYLE.clone());
    files.insert("titles.flamegraph.txt".to_owned(), titles(&profiles));
    files.insert("defaults.pprof.txt".to_owned(), defaults(&profiles));
    files.extend(times::golden());
    files
}

fn file_name(feature: &Feature, format: &str) -> String {
    match feature.variant {
        "" => format!("{}.{format}.txt", feature.profile),
        variant => format!("{}.{format}.{variant}.txt", feature.profile),
    }
}

/// What flame graphs are called, and what all of one is, where that is all that their
/// golden files would show.
fn titles(profiles: &BTreeMap<&str, Profile>) -> String {
    let mut text = String::new();
    for feature in features::all().iter().filter(|it| it.changed.contains(&"flamegraph")) {
        let profile = &profiles[feature.profile];
        let svg = readable(&flamegraph::FORMAT, profile, &feature.options);
        let _ = writeln!(text, "==> {} <==", file_name(feature, "flamegraph"));
        let parts = ["<text id=\"title\"", "<text id=\"subtitle\"", "<g><title>all ("];
        for line in svg.lines().filter(|line| parts.iter().any(|part| line.starts_with(part))) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// What pprof shows first.
fn defaults(profiles: &BTreeMap<&str, Profile>) -> String {
    let mut text = String::new();
    for feature in features::all().iter().filter(|it| it.changed.contains(&"pprof")) {
        let profile = readable(&pprof::FORMAT, &profiles[feature.profile], &feature.options);
        let line = profile.lines().find(|line| line.starts_with("default "));
        let _ = writeln!(text, "{}: {}", file_name(feature, "pprof"), line.unwrap());
    }
    text
}

#[test]
fn outputs_are_as_in_the_golden_files() {
    golden_files::check(&folder(), &expected());
}

/// An option that begins to change a format gets a golden file, and each format has some.
#[test]
fn what_options_change_is_shown() {
    let profiles = profiles_by_name();
    let mut wrong = Vec::new();
    for format in of_sums() {
        let mut is_shown = false;
        for feature in features::all() {
            let profile = &profiles[feature.profile];
            let shown = feature.shown_by.contains(&format.name);
            is_shown |= shown;
            let plain = readable(format, profile, &OutputOptions::default());
            let changes = readable(format, profile, &feature.options) != plain;
            let known = shown || feature.changed.contains(&format.name);
            if changes != known && !feature.variant.is_empty() {
                wrong.push(format!("{}: {changes}", file_name(&feature, format.name)));
            }
        }
        if !is_shown {
            wrong.push(format!("{} has no golden file", format.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of formats that show all metrics, a metric changes the default at most: that is why they
/// have no golden file for each.
#[test]
fn metrics_change_the_default_alone() {
    let profiles = profiles_by_name();
    for feature in features::all() {
        let by = feature.options.by.filter(|by| *by != By::State);
        let without = OutputOptions { metric: None, by, ..feature.options.clone() };
        let profile = &profiles[feature.profile];
        for name in ["callgrind", "otlp", "pprof"] {
            let [with, without] = [&feature.options, &without].map(|options| {
                let text = readable(by_name(name).unwrap(), profile, options);
                let lines = text.lines().filter(|line| !line.starts_with("default "));
                lines.collect::<Vec<_>>().join("\n")
            });
            assert_eq!(with, without, "{}", file_name(&feature, name));
        }
    }
}

/// What the golden files of one file for all threads do not show of hostile names.
#[test]
fn files_of_threads_have_harmless_names() {
    let text = readable(
        by_name("callgrind").unwrap(),
        &profiles::nasty_in_short(),
        &OutputOptions::default(),
    );
    let begins = |begin: &str| -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix(begin)).collect()
    };
    let numbers =
        (1..=4).map(|nth| format!("1-0{nth}")).chain((1..=6).map(|nth| format!("2-0{nth}")));
    let files = numbers.map(|number| format!("callgrind.7.{number} <=="));
    let files: Vec<String> = std::iter::once("callgrind <==".to_owned()).chain(files).collect();
    assert_eq!(begins("==> "), files);
    assert_eq!(
        begins("desc: Trigger: "),
        [
            "thread-1099511627776",
            "new_line; _ NUL_",
            "pool-1-thread-10",
            "# 1",
            "events : Ir",
            "pool-1-thread-2",
            "ends 5",
            "żółw_[k]",
            "virtual-90",
            "virtual-91",
        ]
    );
    assert_eq!(begins("desc: Thread: ").last(), Some(&"id 91, group main, virtual"));
    let programs = begins("desc: Program: ");
    assert_eq!(programs[0], "a_b; events : Ir 7 (pid 7)");
    assert!(programs[9].starts_with("wörld wörld ") && programs[9].ends_with('…'), "{programs:?}");
    // What has no part of its own shares one.
    let options = OutputOptions { max_parts: 2, ..OutputOptions::default() };
    let text = readable(by_name("callgrind").unwrap(), &profiles::nasty(), &options);
    let triggers: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("desc: Trigger: ")).collect();
    assert_eq!(triggers, ["others (9 threads)", "żółw_[k]"]);
}
