//! Reads the outputs of single waits, strictly.

use flate2::read::GzDecoder;
use prost::Message;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write, io::Read};
use tyrion_converters::outputs::perfetto::proto::{self, event_type};

/// How long threads waited, in ns, by name; without those that did not.
pub type WaitByName = BTreeMap<String, u64>;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// What a speedscope file says. Frames are opened and closed in order, and times do not
/// go back.
pub fn speedscope(bytes: &[u8]) -> WaitByName {
    let file: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames = file["shared"]["frames"].as_array().unwrap();
    let profiles = file["profiles"].as_array().unwrap();
    assert!(number(&file["activeProfileIndex"]) < profiles.len() as u64);
    let mut waited = WaitByName::new();
    for profile in profiles {
        assert_eq!(profile["unit"], "nanoseconds");
        let end = number(&profile["endValue"]);
        assert_eq!(number(&profile["startValue"]), 0);
        let known = |frame: &Value| assert!(number(frame) < frames.len() as u64);
        let sum = match profile["type"].as_str().unwrap() {
            "sampled" => {
                let samples = profile["samples"].as_array().unwrap();
                samples.iter().flat_map(|stack| stack.as_array().unwrap()).for_each(known);
                let weights = profile["weights"].as_array().unwrap();
                assert_eq!(samples.len(), weights.len());
                let sum = weights.iter().map(number).sum();
                assert_eq!(end, sum);
                sum
            }
            "evented" => {
                let (mut open, mut now, mut sum) = (Vec::new(), 0, 0);
                for event in profile["events"].as_array().unwrap() {
                    let at = number(&event["at"]);
                    assert!((now..=end).contains(&at), "{event}");
                    now = at;
                    known(&event["frame"]);
                    match event["type"].as_str().unwrap() {
                        "O" => open.push((event["frame"].clone(), at)),
                        "C" => {
                            let (frame, since) = open.pop().unwrap();
                            assert_eq!(frame, event["frame"]);
                            sum += if open.is_empty() { at - since } else { 0 };
                        }
                        other => panic!("{other}"),
                    }
                }
                assert!(open.is_empty());
                sum
            }
            other => panic!("{other}"),
        };
        let name = profile["name"].as_str().unwrap().trim_end_matches(" (summed)");
        // The second log is of another process with the same id.
        let name = name.trim_end_matches(" of pid 4242.1").trim_end_matches(" of pid 4242");
        *waited.entry(name.to_owned()).or_default() += sum;
    }
    waited.retain(|_, sum| *sum != 0);
    waited
}

/// The JSON of a Firefox profile.
pub fn firefox_json(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

fn ns(ms: &Value) -> u64 {
    (ms.as_f64().unwrap_or_else(|| panic!("{ms}")) * 1e6).round() as u64
}

/// A table's columns have the length that it tells.
fn table(table: &Value) -> usize {
    let len = number(&table["length"]) as usize;
    for (name, column) in table.as_object().unwrap() {
        if let Some(column) = column.as_array() {
            assert_eq!(column.len(), len, "{name}");
        }
    }
    len
}

fn indices<'v>(table: &'v Value, column: &str, len: usize) -> &'v [Value] {
    let column = table[column].as_array().unwrap();
    let indices = column.iter().filter(|index| !index.is_null());
    indices.for_each(|index| assert!((number(index) as usize) < len, "{index} of {len}"));
    column
}

/// What a Firefox profile says, as its samples and as its markers do. Tables are whole.
pub fn firefox(bytes: &[u8]) -> WaitByName {
    let profile: Value = serde_json::from_str(&firefox_json(bytes)).unwrap();
    let shared = &profile["shared"];
    let strings = shared["stringArray"].as_array().unwrap().len();
    let stacks = table(&shared["stackTable"]);
    let frames = table(&shared["frameTable"]);
    let functions = table(&shared["funcTable"]);
    let sources = table(&shared["sources"]);
    let categories = profile["meta"]["categories"].as_array().unwrap().len();
    indices(&shared["stackTable"], "frame", frames);
    for (nth, offset) in indices(&shared["stackTable"], "prefixOffset", stacks).iter().enumerate() {
        assert!(number(offset) as usize <= nth, "{offset} at {nth}");
    }
    indices(&shared["frameTable"], "func", functions);
    indices(&shared["frameTable"], "category", categories);
    indices(&shared["funcTable"], "name", strings);
    indices(&shared["funcTable"], "source", sources);
    indices(&shared["sources"], "filename", strings);
    let mut waited = WaitByName::new();
    for thread in profile["threads"].as_array().unwrap() {
        let (samples, markers) = (&thread["samples"], &thread["markers"]);
        // There are moments between waits at which threads do not wait.
        assert!(table(samples) > table(markers));
        indices(samples, "stack", stacks);
        indices(markers, "name", strings);
        indices(markers, "category", categories);
        let times: Vec<u64> = samples["time"].as_array().unwrap().iter().map(ns).collect();
        assert!(times.is_sorted());
        let sum: u64 = samples["weight"].as_array().unwrap().iter().map(ns).sum();
        let data = markers["data"].as_array().unwrap();
        assert_eq!(sum, data.iter().map(|data| ns(&data["waited"])).sum::<u64>());
        for key in ["lock", "kind", "owner", "outcome", "waker"] {
            let texts = data.iter().filter_map(|data| data[key].as_u64());
            texts.for_each(|text| assert!((text as usize) < strings));
        }
        let name = thread["name"].as_str().unwrap().to_owned();
        *waited.entry(name).or_default() += sum;
    }
    waited.retain(|_, sum| *sum != 0);
    waited
}

/// What a number stands for, by table.
#[derive(Default)]
pub struct NumberedNames {
    names: BTreeMap<u64, String>,
    categories: BTreeMap<u64, String>,
    annotations: BTreeMap<u64, String>,
    texts: BTreeMap<u64, String>,
    functions: BTreeMap<u64, String>,
    frames: BTreeMap<u64, String>,
    stacks: BTreeMap<u64, String>,
}

fn text(string: &proto::InternedString) -> (u64, String) {
    (string.iid.unwrap(), String::from_utf8(string.str.clone().unwrap()).unwrap())
}

impl NumberedNames {
    fn add(&mut self, data: &proto::InternedData) {
        let name = |name: &proto::InternedName| (name.iid.unwrap(), name.name.clone().unwrap());
        self.names.extend(data.event_names.iter().map(name));
        self.categories.extend(data.event_categories.iter().map(name));
        self.annotations.extend(data.debug_annotation_names.iter().map(name));
        self.texts.extend(data.debug_annotation_string_values.iter().map(text));
        self.functions.extend(data.function_names.iter().map(text));
        for frame in &data.frames {
            let function = &self.functions[&frame.function_name_id.unwrap()];
            let line = frame.line_number.map_or(String::new(), |line| format!(":{line}"));
            self.frames.insert(frame.iid.unwrap(), format!("{function}{line}"));
        }
        for stack in &data.callstacks {
            let frames: Vec<&str> =
                stack.frame_ids.iter().map(|id| self.frames[id].as_str()).collect();
            self.stacks.insert(stack.iid.unwrap(), frames.join(";"));
        }
    }

    fn name(&self, event: &proto::TrackEvent) -> String {
        let number = event.name_iid.map(|number| self.names[&number].clone());
        number.or_else(|| event.name.clone()).unwrap_or_default()
    }

    fn annotation(&self, annotation: &proto::DebugAnnotation) -> (String, String) {
        let text = annotation.string_value_iid.map(|number| self.texts[&number].clone());
        let number = annotation.uint_value.map(|number| number.to_string());
        let value = text.or(number).or_else(|| annotation.string_value.clone()).unwrap();
        (self.annotations[&annotation.name_iid.unwrap()].clone(), value)
    }
}

/// A trace as text, a line for each packet.
pub fn perfetto_text(bytes: &[u8]) -> String {
    let trace = proto::Trace::decode(bytes).unwrap();
    let (mut lines, mut interned) = (String::new(), NumberedNames::default());
    for packet in &trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        packet.interned_data.iter().for_each(|data| interned.add(data));
        if let Some(snapshot) = &packet.clock_snapshot {
            let _ = writeln!(lines, "clocks {snapshot:?} {:?}", packet.trace_packet_defaults);
        }
        if let Some(track) = &packet.track_descriptor {
            let _ = write!(lines, "track {}", track.uuid.unwrap());
            let parent = track.parent_uuid.map(|parent| format!(" in {parent}"));
            lines += &parent.unwrap_or_default();
            if let Some(thread) = &track.thread {
                let (pid, tid) = (thread.pid.unwrap(), thread.tid.unwrap());
                let _ = write!(lines, ": thread {tid} of {pid}, {:?}", thread.thread_name);
            }
            if let Some(process) = &track.process {
                let pid = process.pid.unwrap();
                let _ = write!(lines, ": process {pid}, {:?}", process.process_name);
            }
            let _ = writeln!(lines, " {:?} {:?}", track.name, track.counter);
        }
        let Some(event) = &packet.track_event else { continue };
        let what = ["", "begin", "end", "instant", "count"][event.r#type.unwrap() as usize];
        let (at, track) = (packet.timestamp.unwrap(), event.track_uuid.unwrap());
        let _ = write!(lines, "{at} on {track} {what} {}", interned.name(event));
        for category in &event.category_iids {
            let _ = write!(lines, " <{}>", interned.categories[category]);
        }
        for annotation in &event.debug_annotations {
            let (name, value) = interned.annotation(annotation);
            let _ = write!(lines, " {name}={value}");
        }
        for (arrow, flows) in [("->", &event.flow_ids), ("<-", &event.terminating_flow_ids)] {
            flows.iter().for_each(|flow| lines += &format!(" {arrow}{flow}"));
        }
        if let Some(stack) = event.callstack_iid {
            let _ = write!(lines, " at {}", interned.stacks[&stack]);
        }
        lines += &event.counter_value.map_or(String::new(), |value| value.to_string());
        lines.push('\n');
    }
    lines
}

/// A slice that has begun: whether it is a wait, and since when.
type Slice = (bool, u64);

/// What a trace says of each thread. Times do not go back, slices end in the reverse
/// order of their beginnings, flows have both ends, and counters come back to 0.
pub fn perfetto(bytes: &[u8]) -> WaitByName {
    let trace = proto::Trace::decode(bytes).unwrap();
    let (mut interned, mut now) = (NumberedNames::default(), 0);
    let mut threads: BTreeMap<u64, String> = BTreeMap::new();
    let mut counters: BTreeMap<u64, i64> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    let mut waited = WaitByName::new();
    for packet in &trace.packet {
        packet.interned_data.iter().for_each(|data| interned.add(data));
        if let Some(track) = &packet.track_descriptor {
            let uuid = track.uuid.unwrap();
            if track.counter.is_some() {
                counters.insert(uuid, 0);
            } else if let Some(thread) = &track.thread {
                let name = thread.thread_name.clone().unwrap();
                assert_eq!(threads.insert(uuid, name), None);
            } else if let Some(parent) = track.parent_uuid {
                let name = threads[&parent].clone();
                assert_eq!(threads.insert(uuid, name), None);
            }
        }
        let Some(event) = &packet.track_event else { continue };
        let (at, track) = (packet.timestamp.unwrap(), event.track_uuid.unwrap());
        assert!(at >= now, "{at} after {now}");
        now = at;
        for &flow in &event.flow_ids {
            flows.entry(flow).or_default().0 += 1;
        }
        for &flow in &event.terminating_flow_ids {
            let (begun, ended) = flows.get_mut(&flow).unwrap();
            (*begun, *ended) = (*begun, *ended + 1);
        }
        let category = event.category_iids.first().map(|id| interned.categories[id].as_str());
        match event.r#type.unwrap() {
            event_type::SLICE_BEGIN => {
                let is_wait = category != Some("hold");
                open.entry(track).or_default().push((is_wait, at));
            }
            event_type::SLICE_END => {
                let (is_wait, since) = open.get_mut(&track).unwrap().pop().unwrap();
                let sum = waited.entry(threads[&track].clone()).or_default();
                *sum += if is_wait { at - since } else { 0 };
            }
            event_type::INSTANT if category != Some("hold") => {
                let annotations = event.debug_annotations.iter().map(|it| interned.annotation(it));
                let sum = annotations.filter(|(name, _)| name == "wait_ns");
                let sum: u64 = sum.map(|(_, value)| value.parse::<u64>().unwrap()).sum();
                *waited.entry(threads[&track].clone()).or_default() += sum;
            }
            event_type::INSTANT => assert_eq!(event.flow_ids.len(), 1),
            event_type::COUNTER => {
                let value = event.counter_value.unwrap();
                let before = counters.insert(track, value).unwrap();
                assert!(value >= 0 && value.abs_diff(before) == 1);
            }
            other => panic!("{other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty));
    assert!(counters.values().all(|&count| count == 0));
    assert!(flows.values().all(|&(begun, ended)| begun > 0 && ended == 1), "{flows:?}");
    waited.retain(|_, sum| *sum != 0);
    waited
}
