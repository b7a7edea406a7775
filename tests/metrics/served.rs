//! A server under test, and a client of it.

use crate::support::{tyrion, wait_for};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpStream},
    process::{Child, ChildStderr, Command, ExitStatus, Stdio},
};

/// Prometheus asks for this, in more words.
pub const OPEN: &str = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";

/// `tyrion metrics`, killed when dropped.
pub struct MetricsServer {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub port: u16,
}

/// An answer.
pub struct ServedAnswer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl MetricsServer {
    /// Serves a target from any port.
    pub fn new(target: &str, options: &[&str]) -> MetricsServer {
        let mut command = tyrion();
        command.args(["metrics", target, "--listen=127.0.0.1:0", "--interval=50ms"]).args(options);
        let mut child = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let port = line.strip_prefix("tyrion: listening on http://127.0.0.1:");
        let port = port.and_then(|rest| rest.strip_suffix("/metrics\n")?.parse().ok());
        let port = port.unwrap_or_else(|| panic!("{line}"));
        MetricsServer { child, stderr, port }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap()
    }

    /// Sends this and reads all that comes.
    pub fn say(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // Who is not listened to any more may still be answered.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[&str]) -> ServedAnswer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        headers.iter().for_each(|header| request += &format!("{header}\r\n"));
        ServedAnswer::read(&self.say(format!("{request}\r\n").as_bytes()))
    }

    /// The metrics as OpenMetrics.
    pub fn scrape(&self) -> String {
        let answer = self.ask("GET", "/metrics", &[&format!("Accept: {OPEN}")]);
        assert_eq!(answer.status, 200, "{}", answer.head);
        let text = String::from_utf8(answer.body).unwrap();
        assert!(text.ends_with("\n# EOF\n"), "{text}");
        text
    }

    /// The metrics once the recording has ended.
    pub fn last(&self) -> String {
        wait_for("end of the recording", || {
            let text = self.scrape();
            let goes_on = value(&text, "tyrion_recording_state{", "=\"recording\"");
            (goes_on == Some(0)).then_some(text)
        })
    }

    /// Ends it with a signal: what it still had to say, and its status.
    pub fn end(mut self, signal: &str) -> (String, ExitStatus) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (said, status)
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ServedAnswer {
    pub fn read(bytes: &[u8]) -> ServedAnswer {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end + 2].to_vec()).unwrap();
        let status = head.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        ServedAnswer { status, head, body: bytes[end + 4..].to_vec() }
    }
}

/// The number at a line's end: of seconds, the ns.
fn exact(number: &str) -> u64 {
    match number.split_once('.') {
        Some((whole, rest)) => {
            assert_eq!(rest.len(), 9, "{number}");
            whole.parse::<u64>().unwrap() * 1_000_000_000 + rest.parse::<u64>().unwrap()
        }
        None => number.parse().unwrap(),
    }
}

/// All samples of a metric by their labels, with seconds as ns.
pub fn samples<'t>(text: &'t str, name: &str) -> BTreeMap<&'t str, u64> {
    let of_name = |line: &'t str| {
        let (labels, number) = line.strip_prefix(name)?.rsplit_once(' ')?;
        (labels.is_empty() || labels.starts_with('{')).then(|| (labels, exact(number)))
    };
    text.lines().filter_map(of_name).collect()
}

/// The sum of a metric, over the samples that have these labels.
pub fn sum(text: &str, name: &str, labels: &str) -> u64 {
    let samples = samples(text, name);
    assert!(!samples.is_empty(), "no {name}: {text}");
    samples.iter().filter(|(of, _)| of.contains(labels)).map(|(_, value)| value).sum()
}

/// The value of the line that begins so and has this.
fn value(text: &str, begin: &str, has: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(begin) && line.contains(has))?;
    Some(exact(line.rsplit_once(' ')?.1))
}
