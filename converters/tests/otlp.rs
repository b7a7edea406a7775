//! OpenTelemetry profiles, decoded by the messages that wrote them; a test of the whole
//! program sends them to a collector.

use crate::support::profiles;
use prost::Message;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};
use tyrion_converters::outputs::{
    OutputOptions,
    otlp::{self, proto},
};
use tyrion_model::profile::Profile;

fn decoded(profile: &Profile, options: &OutputOptions) -> proto::ProfilesData {
    let mut bytes = Vec::new();
    otlp::stream(profile, options, &mut bytes).unwrap();
    proto::ProfilesData::decode(&bytes[..]).unwrap()
}

/// A file as text that people can review.
pub fn text(bytes: &[u8]) -> String {
    let data = proto::ProfilesData::decode(bytes).unwrap();
    let tables = data.dictionary.as_ref().unwrap();
    let kind = |it: proto::ValueType| {
        format!("{}/{}", string(&data, it.type_strindex), string(&data, it.unit_strindex))
    };
    let mut text = String::new();
    for run in &data.resource_profiles {
        for attribute in &run.resource.as_ref().unwrap().attributes {
            let value = value(attribute.value.as_ref());
            let _ = writeln!(text, "resource {} = {value}", attribute.key);
        }
        let profiles = run.scope_profiles.iter().flat_map(|scope| {
            let program = scope.scope.as_ref().unwrap();
            scope.profiles.iter().map(move |profile| (program, profile))
        });
        for (program, profile) in profiles {
            let _ = writeln!(
                text,
                "profile {} of {} {}, by {} {}, from {} for {}",
                kind(profile.sample_type.unwrap()),
                profile.period,
                kind(profile.period_type.unwrap()),
                program.name,
                program.version,
                profile.time_unix_nano,
                profile.duration_nano
            );
            for sample in &profile.samples {
                let _ = write!(text, "sample {:?} stack {}", sample.values, sample.stack_index);
                for &at in &sample.attribute_indices {
                    let attribute = &tables.attribute_table[at as usize];
                    let key = string(&data, attribute.key_strindex);
                    let _ = write!(text, " {key}={}", value(attribute.value.as_ref()));
                }
                text.push('\n');
            }
        }
    }
    for (at, stack) in tables.stack_table.iter().enumerate().skip(1) {
        let _ = writeln!(text, "stack {at}: {:?}", stack.location_indices);
    }
    for (at, location) in tables.location_table.iter().enumerate().skip(1) {
        let [line] = location.lines[..] else { panic!("one line a location") };
        let function = tables.function_table[line.function_index as usize];
        let [name, system_name, file] =
            [function.name_strindex, function.system_name_strindex, function.filename_strindex]
                .map(|at| string(&data, at));
        let (first, line) = (function.start_line, line.line);
        let _ =
            writeln!(text, "location {at}: {name} | {system_name} | {file}:{first} line {line}");
    }
    text
}

fn value(value: Option<&proto::AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(proto::Value::Text(text)) => text.clone(),
        Some(proto::Value::Number(number)) => number.to_string(),
        None => "nothing".to_owned(),
    }
}

fn string(data: &proto::ProfilesData, at: i32) -> &str {
    &data.dictionary.as_ref().unwrap().string_table[usize::try_from(at).unwrap()]
}

fn profiles_of(data: &proto::ProfilesData) -> impl Iterator<Item = &proto::Profile> {
    data.resource_profiles.iter().flat_map(|it| &it.scope_profiles).flat_map(|it| &it.profiles)
}

/// The sum of each sort of profile and metric.
fn sums(data: &proto::ProfilesData) -> BTreeMap<(String, String), u64> {
    let mut sums = BTreeMap::new();
    for profile in profiles_of(data) {
        let sort = string(data, profile.period_type.unwrap().type_strindex).to_owned();
        let metric = string(data, profile.sample_type.unwrap().type_strindex).to_owned();
        let sum: i64 = profile.samples.iter().flat_map(|sample| &sample.values).sum();
        *sums.entry((sort, metric)).or_default() += u64::try_from(sum).unwrap();
    }
    sums
}

fn expected(profile: &Profile) -> BTreeMap<(String, String), u64> {
    let mut sums = BTreeMap::new();
    let mut add = |sort: &str, metric: &str, value: u64| {
        if value > 0 {
            *sums.entry((sort.to_owned(), metric.to_owned())).or_default() += value;
        }
    };
    for wait in &profile.waits {
        let sort = if wait.kind.is_contention() { "mutex" } else { "block" };
        add(sort, "contentions", wait.count);
        add(sort, "delay", wait.wait_ns);
    }
    for row in &profile.acquisitions {
        add("lock", "acquisitions", row.acquisitions);
        add("lock", "acquisitions_error", row.acquisitions_error);
        add("lock", "reentrant", row.reentrant);
        add("lock", "reentrant_error", row.reentrant_error);
        add("lock", "hold", row.hold_ns);
    }
    profile.blames.iter().for_each(|row| add("lock", "blamed", row.blamed_ns));
    for row in &profile.samples {
        add("wall", "wall", row.wall_ns);
        add("cpu", "cpu", row.cpu_ns);
        if row.state == tyrion_model::profile::State::Blocked {
            add("wall", "blocked", row.wall_ns);
        }
    }
    sums
}

/// Each table begins with an empty row; no row stands twice; all that is referred to is
/// there, and all that is there is referred to.
fn check_tables(data: &proto::ProfilesData) {
    let tables = data.dictionary.as_ref().unwrap();
    assert_eq!(tables.string_table[0], "");
    assert_eq!(tables.mapping_table, [proto::Mapping {}]);
    assert_eq!(tables.link_table.len(), 1);
    assert_eq!(tables.location_table[0], proto::Location::default());
    assert_eq!(tables.function_table[0], proto::Function::default());
    assert_eq!(tables.attribute_table[0], proto::KeyValueAndUnit::default());
    assert_eq!(tables.stack_table[0], proto::Stack::default());
    assert_eq!(
        tables.string_table.iter().collect::<BTreeSet<_>>().len(),
        tables.string_table.len()
    );
    let mut stacks = BTreeSet::from([0]);
    let mut attributes = BTreeSet::from([0]);
    for profile in profiles_of(data) {
        for sample in &profile.samples {
            assert_eq!(sample.values.len(), 1);
            stacks.insert(sample.stack_index);
            attributes.extend(&sample.attribute_indices);
            let keys = sample.attribute_indices.iter();
            let keys = keys.map(|&at| tables.attribute_table[at as usize].key_strindex);
            let keys: Vec<i32> = keys.collect();
            assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        }
    }
    let all = |len: usize| (0..i32::try_from(len).unwrap()).collect::<BTreeSet<i32>>();
    assert_eq!(stacks, all(tables.stack_table.len()));
    assert_eq!(attributes, all(tables.attribute_table.len()));
    let stacks: BTreeSet<&[i32]> =
        tables.stack_table.iter().map(|it| &it.location_indices[..]).collect();
    assert_eq!(stacks.len(), tables.stack_table.len());
    let mut locations: BTreeSet<i32> = stacks.into_iter().flatten().copied().collect();
    locations.insert(0);
    assert_eq!(locations, all(tables.location_table.len()));
    let lines = tables.location_table.iter().flat_map(|it| &it.lines);
    let mut functions: BTreeSet<i32> = lines.map(|line| line.function_index).collect();
    functions.insert(0);
    assert_eq!(functions, all(tables.function_table.len()));
}

#[test]
fn each_metric_is_a_profile_with_the_same_sum() {
    for (name, profile) in profiles::all() {
        for thread_label in [true, false] {
            let options = OutputOptions { thread_label, ..OutputOptions::default() };
            let data = decoded(&profile, &options);
            assert_eq!(sums(&data), expected(&profile), "{name}");
            assert_eq!(data.resource_profiles.len(), profile.runs.len());
            check_tables(&data);
        }
    }
}

/// What a sample says of a lock and of its owner.
#[test]
fn locks_and_owners_are_attributes() {
    let profile = profiles::traced::profile();
    let data = decoded(&profile, &OutputOptions::default());
    let tables = data.dictionary.as_ref().unwrap();
    let keys: BTreeSet<&str> = tables.attribute_table[1..]
        .iter()
        .map(|attribute| string(&data, attribute.key_strindex))
        .collect();
    for key in
        ["lock.class", "lock.name", "lock.owner.thread.name", "lock.wait.kind", "thread.name"]
    {
        assert!(keys.contains(key), "{key}: {keys:?}");
    }
}

#[test]
fn what_the_user_says_comes_before_what_the_log_says() {
    let options = OutputOptions {
        resource: vec![("service.name".into(), "shop".into()), ("zone".into(), "b".into())],
        ..OutputOptions::default()
    };
    let data = decoded(&profiles::sampling(), &options);
    let resource = data.resource_profiles[0].resource.clone().unwrap();
    let of = |key: &str| -> Vec<proto::AnyValue> {
        let found = resource.attributes.iter().filter(|it| it.key == key);
        found.filter_map(|it| it.value.clone()).collect()
    };
    assert_eq!(of("service.name"), ["shop".to_owned().into()]);
    assert_eq!(of("zone"), ["b".to_owned().into()]);
    assert_eq!(of("process.pid").len(), 1);
}
