//! Which locks several threads take, and which only one.

use crate::support::{Jdk, Program, Recording, on_jdks};
use std::collections::{BTreeMap, BTreeSet};
use tyrion_formats::Recording as Log;

on_jdks!(exactly_the_shared_ones: newest, everywhere three);
on_jdks!(many_threads: one, everywhere two);
on_jdks!(threads_of_one_lock: newest, everywhere two);
on_jdks!(shared_with_virtual_threads: since(21));
on_jdks!(without_identity: one);
on_jdks!(places_of_one_instance: ends, everywhere all);
on_jdks!(classes_come_where_others_were: newest, everywhere all);
on_jdks!(classes_of_a_virtual_thread: newest, everywhere since(21));

fn exactly_the_shared_ones(jdk: &Jdk) {
    // Taken often, and once only: then there is no second chance to notice.
    for times in [20, 1] {
        for kind in ["block", "method", "lock"] {
            let scenario = format!("shared {kind} 1000 37 6 {times}");
            let recording = Program::truth(jdk, &scenario).traced().record();
            check(&recording, &scenario);
        }
    }
}

#[track_caller]
fn check(recording: &Recording, what: &str) {
    let traced = recording.traced();
    let class = recording.said["class"].as_str().unwrap();
    let instances = traced.instances(class);
    let several: BTreeSet<u64> =
        instances.iter().filter(|(_, threads)| threads.len() > 1).map(|(hash, _)| *hash).collect();
    assert_eq!(traced.taken(class).acquisitions, recording.number("acquisitions"), "{what}");
    assert_eq!(instances.len() as u64, recording.number("locks"), "{what}: locks");
    assert_eq!(several.len() as u64, recording.number("shared"), "{what}: by threads");
    assert_eq!(traced.shared(class), several, "{what}: called shared");
    let pairs: usize = instances.values().map(BTreeSet::len).sum();
    assert_eq!(pairs as u64, recording.number("lock_threads"), "{what}: threads per lock");
    let hashes = recording.said["shared_hashes"].as_array().unwrap();
    if !hashes.is_empty() {
        let hashes: BTreeSet<u64> = hashes.iter().map(|hash| hash.as_u64().unwrap()).collect();
        assert_eq!(several, hashes, "{what}: which");
    }
}

/// More threads than a set of 64 has room for.
fn many_threads(jdk: &Jdk) {
    for apart in [64, 128, 1] {
        let flag = format!("-Dtruth.apart={apart}");
        let program = Program::truth(jdk, "shared block 1000 100 192 4").traced();
        check(&program.flag(flag.clone()).record(), &flag);
    }
}

/// One lock, and all threads that take it.
fn threads_of_one_lock(jdk: &Jdk) {
    let recording = Program::truth(jdk, "counts 16 100000").traced().record();
    let traced = recording.traced();
    for kind in recording.said["kinds"].as_array().unwrap() {
        let (name, class) = (kind["kind"].as_str().unwrap(), kind["class"].as_str().unwrap());
        let threads = kind["threads"].as_array().unwrap().iter();
        let expected: BTreeSet<String> = threads
            .filter(|thread| thread["acquisitions"].as_u64() > Some(0))
            .map(|thread| thread["thread"].as_str().unwrap().to_owned())
            .collect();
        let instances = traced.instances(class);
        // Two locks in `chain`; one for blocks and one for methods in `thrown`.
        let locks = if ["chain", "thrown"].contains(&name) { 2 } else { 1 };
        assert_eq!(instances.len(), locks, "{name}: {instances:?}");
        for threads in instances.values() {
            assert_eq!(threads, &expected, "{name}");
        }
    }
}

/// Virtual threads have one name together, which is no platform thread's.
fn shared_with_virtual_threads(jdk: &Jdk) {
    let recording = Program::truth(jdk, "main-and-virtual 20").traced().record();
    let class = recording.said["class"].as_str().unwrap();
    assert_eq!(recording.traced().shared(class).len() as u64, recording.number("locks"));
    let objects = recording.traced().instances(class);
    assert!(objects.values().all(|threads| threads.len() == 2), "{objects:?}");
}

fn without_identity(jdk: &Jdk) {
    let program = Program::truth(jdk, "shared block 100 7 4").traced();
    let recording = program.option("--identity=false").record();
    assert_eq!(recording.traced().records("instance").count(), 0);
    assert_eq!(recording.info()["metadata"]["identity"], "false");
}

/// A place at which always the same object is taken tells which; others, that it was
/// several.
fn places_of_one_instance(jdk: &Jdk) {
    let recording = Program::truth(jdk, "sole-instances").traced().record();
    check_places(&Log::open(&recording.log).unwrap(), &recording);
    let program = Program::truth(jdk, "sole-instances").traced().option("--identity=false");
    let recording = program.record();
    let log = Log::open(&recording.log).unwrap();
    assert!(log.definitions().places().iter().all(|(place, _)| instance(&log, place).is_none()));
}

fn instance(log: &Log, place: u32) -> Option<u32> {
    log.definitions().place_instance(place)
}

/// The methods of the program that have a place, with what the log says of its instance.
fn places(log: &Log) -> BTreeMap<String, Option<u32>> {
    let definitions = log.definitions();
    let places = definitions.places().iter().filter_map(|(id, place)| {
        let method = definitions.methods().get(place.method)?;
        let class = log.text(definitions.classes().get(method.class)?.name);
        let is_ours = class.contains("SoleInstances");
        is_ours.then(|| (log.text(method.name).to_string(), instance(log, id)))
    });
    places.collect()
}

#[track_caller]
fn check_places(log: &Log, recording: &Recording) {
    let places = places(log);
    let [one, counter] = ["one", "counter"].map(|key| recording.number(key) as u32);
    for (method, expected) in [
        ("sole", Some(one)),
        ("again", Some(one)),
        ("within", Some(one)),
        ("add", Some(counter)),
        ("more", Some(counter)),
        ("either", Some(0)),
        ("eitherAgain", Some(0)),
        ("fresh", Some(0)),
    ] {
        assert_eq!(places[method], expected, "{method}: {places:?}");
    }
    assert!(places["ofLock"].is_some_and(|hash| hash != 0), "{places:?}");
}

/// The JVM puts a class where an unloaded one was, and what is known by that address is
/// the new one's.
fn classes_come_where_others_were(jdk: &Jdk) {
    for scenario in ["unloaded 60 block", "unloaded 60 array"] {
        check_classes(&Program::truth(jdk, scenario).traced(), scenario);
    }
    let flag = "-XX:-UseCompressedClassPointers";
    let program = Program::truth(jdk, "unloaded 30 block").traced();
    check_classes(&program.flag(flag.to_owned()), flag);
}

fn classes_of_a_virtual_thread(jdk: &Jdk) {
    let program = Program::truth(jdk, "unloaded 60 block").traced();
    check_classes(&program.flag("-Dtruth.virtual=true".to_owned()), "virtual");
}

#[track_caller]
fn check_classes(program: &Program, what: &str) {
    let recording = program.record();
    assert_eq!(recording.number("not_unloaded"), 0, "{what}");
    let mut found = BTreeMap::new();
    let traced = recording.traced();
    for record in traced.at_class("acquisitions", recording.said["class"].as_str().unwrap()) {
        let class = record["lock_class"].as_str().unwrap().to_owned();
        *found.entry(class).or_default() += record["acquisitions"].as_u64().unwrap();
    }
    let said = recording.said["classes"].as_array().unwrap().iter();
    let expected: BTreeMap<String, u64> = said
        .map(|class| {
            let name = class["class"].as_str().unwrap().to_owned();
            (name, class["acquisitions"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(found, expected, "{what}");
}
