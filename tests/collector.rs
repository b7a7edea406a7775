//! `tyrion push` and a real OpenTelemetry Collector: what it prints of what it got.

use crate::support::{
    Jdk, Program, Recording, Report, err, info, list, number, on_jdks, output, root, skip, text_of,
    tyrion, wait_for,
};
use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

// The collector takes two minutes to build.
on_jdks!(a_collector_gets_what_info_says: everywhere two);

/// A collector, and what it prints.
struct Collector {
    child: Child,
    printed: PathBuf,
    url: String,
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts one that asks for the token `open` and shows a certificate for `localhost`.
fn start(folder: &Path) -> Option<Collector> {
    let program = root().join("target/collector/collector");
    if !program.exists() {
        skip("the OpenTelemetry Collector: run tests/setup/collector.sh");
        return None;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    certify(folder);
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.join(name));
    let configuration = format!(
        "receivers:\n  otlp:\n    protocols:\n      http:\n        endpoint: 127.0.0.1:{port}\n        \
         tls: {{cert_file: {}, key_file: {}}}\n        auth: {{authenticator: bearertokenauth}}\n\
         extensions:\n  bearertokenauth: {{token: open}}\n\
         exporters:\n  debug: {{verbosity: detailed, use_internal_logger: false, output_paths: [stdout]}}\n\
         service:\n  extensions: [bearertokenauth]\n  telemetry: {{metrics: {{level: none}}}}\n  \
         pipelines:\n    profiles: {{receivers: [otlp], exporters: [debug]}}\n",
        certificate.display(),
        key.display()
    );
    let (file, printed) = (folder.join("collector.yaml"), folder.join("printed"));
    fs::write(&file, configuration).unwrap();
    let told = folder.join("told");
    let child = Command::new(program)
        .arg(format!("--config={}", file.display()))
        .arg("--feature-gates=service.profilesSupport")
        .stdout(fs::File::create(&printed).unwrap())
        .stderr(fs::File::create(&told).unwrap())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let url = format!("https://localhost:{port}");
    let collector = Collector { child, printed, url };
    wait_for("the collector", || {
        fs::read_to_string(&told).unwrap().contains("Everything is ready").then_some(())
    });
    Some(collector)
}

/// Makes a certificate that nobody but a test trusts.
fn certify(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        // It is its own authority, but may not certify others.
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(folder.join("key.pem"))
        .arg("-out")
        .arg(folder.join("cert.pem"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// What the collector printed: the sums of the profiles by their place in the list, and of
/// the first of them, which has the durations of contention, by lock and by owner.
#[derive(Default)]
struct CollectorOutput {
    profiles: Vec<u64>,
    by_lock: BTreeMap<String, u64>,
    by_owner: BTreeMap<String, u64>,
}

fn read(printed: &Path) -> CollectorOutput {
    let mut found = CollectorOutput::default();
    let mut value = 0;
    for line in fs::read_to_string(printed).unwrap().lines().map(str::trim) {
        if line.starts_with("Profile #") {
            found.profiles.push(0);
        } else if let Some(values) = line.strip_prefix("Values: [") {
            value = values.trim_end_matches(']').parse().unwrap();
            *found.profiles.last_mut().unwrap() += value;
        }
        if found.profiles.len() != 1 {
            continue;
        }
        let of = |key: &str| Some(line.strip_prefix(key)?.strip_suffix(')')?.to_owned());
        if let Some(lock) = of("-> lock.class: Str(") {
            *found.by_lock.entry(lock).or_default() += value;
        } else if let Some(owner) = of("-> lock.owner.thread.name: Str(") {
            *found.by_owner.entry(owner).or_default() += value;
        }
    }
    found
}

fn a_collector_gets_what_info_says(jdk: &Jdk) {
    let recording = Program::truth(jdk, "storm 3 lock").pinned().option("--threshold=0").record();
    let folder = tempfile::tempdir().unwrap();
    let Some(collector) = start(folder.path()) else { return };
    let token = folder.path().join("token");
    let push = |token: &Path, trusted: bool| {
        let mut push = tyrion();
        push.args(["push", "--once", "--retry-for=10ms", "--otlp", &collector.url]);
        push.arg("--token-file").arg(token);
        if trusted {
            push.arg("--ca-file").arg(folder.path().join("cert.pem"));
        }
        output(push.arg(&recording.log))
    };
    fs::write(&token, "open").unwrap();
    let unknown = push(&token, false);
    assert_eq!(unknown.status.code(), Some(1), "{}", err(&unknown));
    assert!(err(&unknown).to_lowercase().contains("certificate"), "{}", err(&unknown));
    fs::write(&token, "sesame").unwrap();
    let refused = push(&token, true);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    let said = err(&refused);
    assert!(said.contains("status 401") && !said.contains("sesame"), "{said}");
    assert_eq!(read(&collector.printed).profiles, [0; 0], "nothing came so far");
    fs::write(&token, "open").unwrap();
    let sent = push(&token, true);
    assert!(sent.status.success(), "{}", err(&sent));
    check(&collector, &recording);
}

fn check(collector: &Collector, recording: &Recording) {
    let printed = wait_for("profiles", || {
        let printed = read(&collector.printed);
        (printed.profiles.len() >= 2).then_some(printed)
    });
    let totals = &info(&recording.log)["totals"];
    let expected = [number(totals, "wait_ns"), number(totals, "contentions")];
    assert_eq!(printed.profiles[..2], expected);
    eprintln!("the collector got {expected:?}: {:?} {:?}", printed.by_lock, printed.by_owner);
    let report = Report::of(&recording.log);
    let mut locks: BTreeMap<String, u64> = BTreeMap::new();
    for lock in list(report.section("contended"), "locks") {
        let class = text_of(&lock["lock"], "class").to_owned();
        *locks.entry(class).or_default() += number(lock, "wait_ns");
    }
    assert_eq!(printed.by_lock, locks);
    assert!(printed.by_owner.keys().all(|owner| owner.starts_with("storm-")));
    assert!(!printed.by_owner.is_empty());
}
