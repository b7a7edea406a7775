//! Adds up the waits of a recording of Flight Recorder, by class of the lock; with
//! `--threads` by thread, too. Prints how many there are, and their durations in ticks.

use jfrs::reader::{event::Accessor, JfrReader};
use std::{collections::HashMap, fs::File};

fn text<'a>(value: Option<Accessor<'a>>) -> &'a str {
    value.and_then(|it| <&str>::try_from(it.value).ok()).unwrap_or_default()
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let by_thread = arguments.first().is_some_and(|it| it == "--threads");
    let file = File::open(arguments.pop().expect("a recording")).expect("it can be opened");
    let mut sums: HashMap<(String, String), (u64, i64)> = HashMap::new();
    let mut reader = JfrReader::new(file);
    for (mut reader, chunk) in reader.chunks().map(|chunk| chunk.expect("a chunk")) {
        for event in reader.events(&chunk).map(|event| event.expect("an event")) {
            let lock = match event.class.name() {
                "jdk.JavaMonitorEnter" => "monitorClass",
                "jdk.ThreadPark" => "parkedClass",
                _ => continue,
            };
            let value = event.value();
            let ticks = value.get_field("duration");
            let ticks = ticks.and_then(|it| i64::try_from(it.value).ok()).unwrap_or_default();
            let class = value.get_field(lock).and_then(|it| it.get_field("name"));
            let class = text(class.and_then(|it| it.get_field("string")));
            let thread = match by_thread {
                true => text(value.get_field("eventThread").and_then(|it| it.get_field("osName"))),
                false => "",
            };
            let sum = sums.entry((thread.to_owned(), class.to_owned())).or_default();
            *sum = (sum.0 + 1, sum.1 + ticks);
        }
    }
    let count: u64 = sums.values().map(|(count, _)| count).sum();
    let ticks: i64 = sums.values().map(|(_, ticks)| ticks).sum();
    println!("{count} {ticks}");
}
