//! Prometheus itself scrapes a program that runs; what it then answers is what the log has.

use super::served::{MetricsServer, sum};
use crate::support::{
    Jdk, Program, info, number, on_jdks, prometheus, root, sample_log, text, wait_for,
};
use serde_json::Value;
use std::{
    fs::File,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

on_jdks!(by_prometheus: one);

/// A Prometheus that scrapes one target each second. Killed when dropped.
struct Prometheus {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl Prometheus {
    /// Starts it; `None` where it is not installed.
    fn scraping(target: u16) -> Option<Prometheus> {
        let program = prometheus("prometheus")?;
        let parent = root().join("target/tmp");
        std::fs::create_dir_all(&parent).unwrap();
        let folder = tempfile::Builder::new().prefix("prometheus-").tempdir_in(parent).unwrap();
        let config = folder.path().join("prometheus.yml");
        let scrape = format!(
            "scrape_configs:\n  - job_name: tyrion\n    scrape_interval: 1s\n    \
             static_configs:\n      - targets: ['127.0.0.1:{target}']\n"
        );
        std::fs::write(&config, scrape).unwrap();
        // Freed again at once: it takes no port 0.
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.path().join("stderr")).unwrap());
        let child = command.spawn().unwrap();
        Some(Prometheus { child, folder, port })
    }

    /// What a query gives, by a label of the result: seconds as whole ns.
    fn ask(&self, query: &str, label: &str) -> Option<Vec<(String, f64)>> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        let request =
            format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        let answer: Value = serde_json::from_str(body).ok()?;
        let mut found: Vec<(String, f64)> = answer["data"]["result"]
            .as_array()?
            .iter()
            .map(|row| {
                let label = row["metric"][label].as_str().unwrap_or_default();
                let value = row["value"][1].as_str().unwrap().parse().unwrap();
                (label.to_owned(), value)
            })
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Some(found)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prometheus keeps floating-point numbers; to the ns they are these.
fn whole_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn by_prometheus(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let program = Program::truth(jdk, "storm 200 monitor").pinned();
    let mut running = program.flag(format!("-Dtruth.until={}", until.display())).start();
    let served = MetricsServer::new(&running.jvm().to_string(), &[]);
    let Some(prometheus) = Prometheus::scraping(served.port) else { return };
    let ask = |query: &str, label: &str| prometheus.ask(query, label);
    wait_for("scrape while the program runs", || {
        let [(_, recording)] =
            ask("tyrion_recording_state{tyrion_recording_state=\"recording\"}", "")?[..]
        else {
            return None;
        };
        (recording == 1.0).then_some(())
    });
    File::create(&until).unwrap();
    assert!(running.finish().status.success());
    let last = served.last();
    wait_for("scrape of the end", || {
        let ended = ask("tyrion_recording_state{tyrion_recording_state=\"ended\"} == 1", "")?;
        (ended.len() == 1).then_some(())
    });
    let info = info(&running.log);
    let waits = ask("sum(tyrion_waits_total)", "").unwrap();
    assert_eq!(waits, [(String::new(), number(&info["totals"], "contentions") as f64)]);
    let longest = ask("topk(1, tyrion_wait_seconds_total)", "lock").unwrap();
    let [(lock, seconds)] = &longest[..] else { panic!("{longest:?}") };
    assert!(lock.ends_with("(tyrion.truth.Storm$Target)"), "{lock}: {last}");
    let labels = format!("lock=\"{lock}\",kind=\"monitor\"");
    assert_eq!(whole_ns(*seconds), sum(&last, "tyrion_wait_seconds_total", &labels));
    let by_kind = ask("sum by (kind) (tyrion_wait_seconds_total)", "kind").unwrap();
    for (kind, seconds) in &by_kind {
        assert_eq!(whole_ns(*seconds), number(&info["kinds"][kind], "wait_ns"), "{kind}");
    }
    assert_eq!(by_kind.len(), 5, "{by_kind:?}");
    let up = ask("min_over_time(up[1m])", "job").unwrap();
    assert_eq!(up, [("tyrion".to_owned(), 1.0)], "{}", prometheus.said());
    let types = ask("count({__name__=~\"tyrion_.+\"})", "").unwrap();
    assert!(types[0].1 > 20.0, "{types:?}");
}

/// `promtool` finds nothing wrong with what is served.
#[test]
fn promtool_finds_nothing_wrong() {
    let Some(promtool) = prometheus("promtool") else { return };
    for log in [sample_log(), root().join("testdata/logs/v1-trace.log")] {
        check(&promtool, &log);
    }
}

fn check(promtool: &Path, log: &Path) {
    let served = MetricsServer::new(text(log), &["--kind=all"]);
    let metrics = served.ask("GET", "/metrics", &[]).body;
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&metrics).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = format!("{}{}", crate::support::out(&output), crate::support::err(&output));
    assert!(output.status.success() && said.is_empty(), "{}: {said}", output.status);
}
