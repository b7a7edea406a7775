//! `tyrion push`: what collectors get, be they well or not.

use crate::support::{
    Jdk, Program, err, info, number, on_jdks, output, receiver, root, tyrion, wait_for,
};
use prost::Message;
use receiver::{Receiver, ReceiverReply};
use serde_json::Value;
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tyrion_converters::outputs::otlp::proto::ProfilesData;

on_jdks!(a_growing_log: one, everywhere two);
on_jdks!(another_recording_is_noticed: one);

/// A copy of a frozen log: what was sent is noted beside it.
fn copied(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join(name);
    fs::copy(root().join("testdata/logs").join(name), &log).unwrap();
    (folder, log)
}

/// Where push notes what it sent.
fn state_of(log: &Path) -> PathBuf {
    log.with_file_name(format!(".{}.pushed", log.file_name().unwrap().to_str().unwrap()))
}

fn push(url: &str, log: &Path) -> Command {
    let mut push = tyrion();
    push.args(["push", "--once", "--kind=all", "--otlp", url]).arg(log);
    push
}

fn succeeded(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
}

/// What `info` says that the sums are.
fn expected(info: &Value) -> (u64, u64) {
    let kinds = info["kinds"].as_object().unwrap();
    let sum = |key: &str| kinds.values().map(|kind| kind[key].as_u64().unwrap_or(0)).sum();
    (sum("count"), sum("wait_ns"))
}

/// Waits and their durations in ns.
fn sent(receiver: &Receiver) -> (u64, u64) {
    of_batches(&receiver.taken().iter().collect::<Vec<_>>())
}

fn of_batches(batches: &[&ProfilesData]) -> (u64, u64) {
    let sums = receiver::sums(batches);
    let of = |metric: &str| {
        ["mutex", "block"].iter().filter_map(|sort| sums.get(&format!("{sort} {metric}"))).sum()
    };
    (of("contentions"), of("delay"))
}

#[test]
fn each_wait_is_sent_once() {
    for name in ["v1-small.log", "v1-tiny.log", "v1-holds.log", "v1-wakers.log"] {
        let ((_folder, log), receiver) = (copied(name), Receiver::start(&[]));
        let first = output(&mut push(&receiver.url, &log));
        assert!([Some(0), Some(3)].contains(&first.status.code()), "{}", err(&first));
        let requests = receiver.requests().len();
        assert_eq!(sent(&receiver), expected(&info(&log)), "{name}");
        let again = output(&mut push(&receiver.url, &log));
        assert!(again.status.success(), "{}", err(&again));
        assert_eq!(receiver.requests().len(), requests, "{name}");
    }
}

/// Holds and acquisitions, too.
#[test]
fn what_trace_mode_knows_is_sent() {
    let ((_folder, log), receiver) = (copied("v1-holds.log"), Receiver::start(&[]));
    succeeded(&output(&mut push(&receiver.url, &log)));
    let taken = &info(&log)["trace"]["taken"];
    let sums = receiver::sums(&receiver.taken().iter().collect::<Vec<_>>());
    assert_eq!(sums["lock acquisitions"], number(taken, "acquisitions"), "{sums:?} {taken}");
}

/// Waits whose spans are known, as ids and ns.
fn linked(batches: &[&ProfilesData]) -> Vec<(String, String, i64)> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut found = Vec::new();
    for data in batches {
        let tables = data.dictionary.as_ref().unwrap();
        let scopes = data.resource_profiles.iter().flat_map(|it| &it.scope_profiles);
        let durations = scopes.flat_map(|it| &it.profiles).filter(|it| {
            tables.string_table[it.sample_type.unwrap().type_strindex as usize] == "delay"
        });
        for sample in durations.flat_map(|it| &it.samples).filter(|it| it.link_index != 0) {
            let link = &tables.link_table[sample.link_index as usize];
            let value = sample.values.iter().sum::<i64>();
            found.push((hex(&link.trace_id), hex(&link.span_id), value));
        }
    }
    found.sort();
    found
}

/// As `convert --to otlp` has them, and each once.
#[test]
fn waits_have_links_to_their_spans() {
    for name in ["v1-traces.log", "v1-spans.log"] {
        let ((_folder, log), receiver) = (copied(name), Receiver::start(&[]));
        for _ in 0..2 {
            succeeded(&output(&mut push(&receiver.url, &log)));
        }
        let file = log.with_extension("otlp");
        let mut convert = tyrion();
        convert.args(["convert", "--kind=all", "--to=otlp", "-o"]).arg(&file).arg(&log);
        succeeded(&output(&mut convert));
        let whole = ProfilesData::decode(&*fs::read(&file).unwrap()).unwrap();
        let pushed = linked(&receiver.taken().iter().collect::<Vec<_>>());
        assert_eq!(pushed, linked(&[&whole]));
        let first = "0af7651916cd43dd8448eb211c80319c";
        let expected = [
            (first, "00f067aa0ba902b7"),
            (first, "b7ad6b7169203331"),
            ("4bf92f3577b34da6a3ce929d0e0e4736", "53ce929d0e0e4736"),
        ];
        let expected = expected.map(|(trace, id)| (trace.to_owned(), id.to_owned(), 2_000_000));
        assert_eq!(pushed, expected);
    }
}

#[test]
fn a_busy_collector_gets_it_later() {
    let busy = ReceiverReply::With("503 Service Unavailable", "retry-after: 1");
    let ((_folder, log), receiver) =
        (copied("v1-small.log"), Receiver::start(&[busy, ReceiverReply::Nothing]));
    let said = output(&mut push(&receiver.url, &log));
    succeeded(&said);
    assert!(err(&said).contains("503") && err(&said).contains("trying again"), "{}", err(&said));
    assert_eq!((receiver.requests().len(), receiver.taken().len()), (3, 1));
    assert_eq!(sent(&receiver), expected(&info(&log)));
}

/// Nothing of it is lost: it goes to the next one that answers.
#[test]
fn a_collector_that_is_down_loses_nothing() {
    let (_folder, log) = copied("v1-small.log");
    let url = {
        // A port on which nobody listens any more.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let down = output(push(&url, &log).arg("--retry-for=1500ms"));
    assert_eq!(down.status.code(), Some(1), "{}", err(&down));
    assert!(err(&down).contains("tried "), "{}", err(&down));
    assert!(!state_of(&log).exists(), "nothing was sent");
    let slow = Receiver::start(&[ReceiverReply::After(Duration::from_secs(3))]);
    let late = output(push(&slow.url, &log).args(["--timeout=300ms", "--retry-for=10ms"]));
    assert_eq!(late.status.code(), Some(1), "{}", err(&late));
    let receiver = Receiver::start(&[]);
    succeeded(&output(&mut push(&receiver.url, &log)));
    assert_eq!(sent(&receiver), expected(&info(&log)));
}

/// A collector says how long it wants to be left alone; if it says nothing sensible, it is
/// not asked all the time.
#[test]
fn pauses_are_kept() {
    let now = ReceiverReply::With("429 Too Many Requests", "retry-after: 0");
    let ((_folder, log), receiver) = (copied("v1-small.log"), Receiver::start(&vec![now; 100]));
    let gave_up = output(push(&receiver.url, &log).arg("--retry-for=1500ms"));
    assert_eq!(gave_up.status.code(), Some(1));
    assert!(receiver.requests().len() <= 2, "{}", receiver.requests().len());
    let long = ReceiverReply::With("429 Too Many Requests", "retry-after: 100");
    let receiver = Receiver::start(&vec![long; 100]);
    let mut pushing = tyrion();
    pushing.args(["push", "--interval=1s", "--retry-for=1ms", "--otlp", &receiver.url]);
    let mut child = pushing.arg(&log).spawn().unwrap();
    wait_for("a request", || (!receiver.requests().is_empty()).then_some(()));
    std::thread::sleep(Duration::from_secs(3));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(receiver.requests().len(), 1);
}

/// A service is started again, with the same name for its log.
fn another_recording_is_noticed(jdk: &Jdk) {
    let receiver = Receiver::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("report.log");
    let mut all = (0, 0);
    for _ in 0..2 {
        let recording = Program::truth(jdk, "storm 1 monitor").pinned().record();
        fs::copy(&recording.log, &log).unwrap();
        // What was noted of the first one does not hold for the second.
        succeeded(&output(&mut push(&receiver.url, &log)));
        let more = expected(&info(&log));
        all = (all.0 + more.0, all.1 + more.1);
        assert_eq!(sent(&receiver), all);
    }
    // `report.log*` is how all files of a recording are named.
    let shown = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
    let shown: Vec<_> = shown.filter(|it| !it.to_str().unwrap().starts_with('.')).collect();
    assert_eq!(shown, [log.file_name().unwrap()]);
}

/// It said that it has it, in the first line.
#[test]
fn half_an_answer_is_one() {
    let ((_folder, log), receiver) =
        (copied("v1-small.log"), Receiver::start(&[ReceiverReply::Half]));
    for _ in 0..2 {
        succeeded(&output(&mut push(&receiver.url, &log)));
    }
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(sent(&receiver), expected(&info(&log)));
}

#[test]
fn refusals_end_it() {
    let other = Receiver::start(&[]);
    let location: &'static str =
        Box::leak(format!("location: {}/v1development/profiles", other.url).into_boxed_str());
    for (reply, shown) in [
        (ReceiverReply::With("401 Unauthorized", "\n\nwho are you?"), "status 401: who are you?"),
        (ReceiverReply::With("404 Not Found", ""), "status 404"),
        (ReceiverReply::With("302 Found", location), "status 302"),
    ] {
        let ((folder, log), receiver) = (copied("v1-small.log"), Receiver::start(&[reply]));
        let token = folder.path().join("token");
        fs::write(&token, "tell-nobody\n").unwrap();
        let refused = output(push(&receiver.url, &log).arg("--token-file").arg(&token));
        assert_eq!(refused.status.code(), Some(1));
        let said = err(&refused);
        assert!(said.contains(shown) && !said.contains("tell-nobody"), "{said}");
        assert_eq!(receiver.requests().len(), 1);
        let head = receiver.requests()[0].head.clone();
        assert!(head.contains("authorization: bearer tell-nobody\r\n"), "{head}");
    }
    // Nobody else got the token.
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn headers_and_attributes_come_from_the_environment() {
    let ((_folder, log), receiver) = (copied("v1-small.log"), Receiver::start(&[]));
    let mut push = push(&receiver.url, &log);
    push.env("OTEL_EXPORTER_OTLP_HEADERS", "X-Scope-OrgID=me%20too")
        .env("OTEL_RESOURCE_ATTRIBUTES", "service.name=not-this,zone=b")
        .args(["--resource", "service.name=shop"]);
    succeeded(&output(&mut push));
    let request = &receiver.requests()[0];
    assert!(request.head.contains("x-scope-orgid: me too\r\n"), "{}", request.head);
    assert!(request.head.contains("content-encoding: gzip\r\n"), "{}", request.head);
    let resource = format!("{:?}", request.data.resource_profiles[0].resource);
    for shown in ["\"service.name\"", "\"shop\"", "\"zone\"", "\"b\""] {
        assert!(resource.contains(shown), "{resource}");
    }
    assert!(!resource.contains("not-this"), "{resource}");
}

#[test]
fn wrong_use_is_told() {
    let (_folder, log) = copied("v1-tiny.log");
    for (url, shown) in
        [("localhost:4318", "http://HOST:PORT"), ("https://me:secret@localhost", "--header-file")]
    {
        let said = output(&mut push(url, &log));
        assert_eq!(said.status.code(), Some(2), "{}", err(&said));
        assert!(err(&said).contains(shown) && !err(&said).contains("secret"), "{}", err(&said));
    }
    let receiver = Receiver::start(&[]);
    let asking = format!("{}?key=secret", receiver.url);
    let said = output(&mut push(&asking, &log));
    succeeded(&said);
    let noted = fs::read_to_string(state_of(&log)).unwrap();
    assert!(!err(&said).contains("secret") && !noted.contains("secret"), "{noted}");
    assert!(receiver.requests()[0].head.contains("?key=secret "));
    // The note is about one address and one choice of waits.
    for other in [
        &mut push("http://127.0.0.1:1", &log),
        tyrion().args(["push", "--once", "--otlp", &receiver.url]).arg(&log),
    ] {
        let refused = output(other);
        assert_eq!(refused.status.code(), Some(1));
        assert!(err(&refused).contains("--state"), "{}", err(&refused));
    }
    let foreign = root().join("testdata/inputs/async-profiler.collapsed");
    let refused = output(&mut push(&receiver.url, &foreign));
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("push only follows"), "{}", err(&refused));
    fs::write(state_of(&log), "nonsense\n").unwrap();
    let damaged = output(&mut push(&receiver.url, &log));
    assert_eq!(damaged.status.code(), Some(1));
    assert!(err(&damaged).contains("remove it"), "{}", err(&damaged));
}

/// While a program records into several files, push is killed again and again, at any
/// moment; in the end all was sent, and twice at most what was sent last before each kill.
fn a_growing_log(jdk: &Jdk) {
    // It is killed long before its end.
    let program = Program::truth(jdk, "storm 3600 monitor").pinned();
    let mut running = program.option("--filesize=2M").option("--filecount=1000").start();
    let receiver = Receiver::start(&[]);
    let growing = || {
        let mut push = tyrion();
        push.args(["push", "--kind=all", "--interval=1s", "--otlp", &receiver.url]);
        push.arg(&running.log);
        push
    };
    wait_for("a log", || {
        let shown = output(tyrion().arg("info").arg(&running.log));
        [Some(0), Some(3)].contains(&shown.status.code()).then_some(())
    });
    for _ in 0..3 {
        let before = receiver.taken().len();
        let mut child = growing().stderr(Stdio::piped()).spawn().unwrap();
        wait_for("batches", || {
            if let Some(status) = child.try_wait().unwrap() {
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                panic!("it ended by itself, {status}: {said}");
            }
            (receiver.taken().len() > before + 1).then_some(())
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
    running.kill_jvm();
    succeeded(&output(&mut push(&receiver.url, &running.log)));
    let mut logs: Vec<PathBuf> = fs::read_dir(running.log.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let rest = name.strip_prefix(running.log.file_name().unwrap().to_str().unwrap());
            rest.is_some_and(|it| it.is_empty() || it[1..].parse::<u32>().is_ok())
        })
        .collect();
    logs.sort();
    let all = logs.iter().map(|log| expected(&info(log)));
    let all = all.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    // Of the three kills each may have had one batch sent twice, whichever was on its way.
    let batches: Vec<(u64, u64)> = receiver.taken().iter().map(|it| of_batches(&[it])).collect();
    let total = batches.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(total >= all, "{total:?} of {all:?}");
    let twice = (total.0 - all.0, total.1 - all.1);
    let none_too = || batches.iter().copied().chain([(0, 0)]);
    let is_sum =
        |a: (u64, u64), b: (u64, u64), c: (u64, u64)| (a.0 + b.0 + c.0, a.1 + b.1 + c.1) == twice;
    let found = none_too().any(|a| none_too().any(|b| none_too().any(|c| is_sum(a, b, c))));
    assert!(found, "{twice:?} more than {all:?}: {batches:?}");
    assert!(batches.len() > 6, "{}", batches.len());
}
