//! Clients that do not behave: each gets an answer or none, and the next one the metrics.

use super::served::{MetricsServer, ServedAnswer};
use crate::support::{sample_log, text, wait_for};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// A client may take 5 s to ask. No machine is so slow that it takes this long.
const PATIENCE: Duration = Duration::from_secs(120);

fn served() -> MetricsServer {
    MetricsServer::new(text(&sample_log()), &[])
}

#[test]
fn what_is_no_request_is_refused() {
    let served = served();
    let long = format!("GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(100_000));
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(500));
    let noise: Vec<u8> =
        (0..5000_u32).map(|nth| (nth.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let target = "a".repeat(9000);
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], 400),
        (&noise, 400),
        (b"SSH-2.0-OpenSSH_9.6\r\n", 400),
        (long.as_bytes(), 431),
        (many.as_bytes(), 431),
        (format!("GET /{target}").as_bytes(), 431),
        (b"GET /metrics HTTP/3\r\n\r\n", 400),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\nabc", 405),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics/../../../etc/passwd HTTP/1.1\r\n\r\n", 404),
        (b"GET http://example.org/ HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example:9464\r\n\r\n", 403),
        (b"GET /metrics HTTP/1.1\r\nAccept: \xff\xfe\r\n\r\n", 200),
        // Two at once: the first is answered.
        (b"GET /metrics HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.0\r\n\r\n", 200),
    ] {
        let answer = ServedAnswer::read(&served.say(bytes));
        assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(bytes));
        assert!(answer.head.contains("\r\nConnection: close\r\n"), "{}", answer.head);
        served.scrape();
    }
    let root = served.ask("GET", "/", &[]);
    assert_eq!(root.body, b"The metrics of tyrion are at /metrics.\n");
    let post = served.ask("POST", "/metrics", &[]);
    assert!(post.head.contains("\r\nAllow: GET, HEAD\r\n"), "{}", post.head);
}

/// One byte at a time keeps a connection no longer than silence does.
#[test]
fn who_is_slow_is_not_waited_for() {
    let served = served();
    let mut silent = served.connect();
    let mut slow = served.connect();
    slow.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let (begin, mut answer) = (Instant::now(), Vec::new());
    for byte in b"GET /metrics HTTP/1.1\r\nA: ".iter().chain(std::iter::repeat(&b'a')) {
        assert!(begin.elapsed() < PATIENCE, "it is still waited for");
        let (sent, mut some) = (slow.write_all(&[*byte]), [0; 1024]);
        match slow.read(&mut some) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&some[..read]),
            Err(_) if sent.is_ok() => {}
            Err(_) => break,
        }
        served.scrape();
    }
    assert_eq!(ServedAnswer::read(&answer).status, 408);
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    silent.read_to_end(&mut answer).unwrap();
    assert_eq!(ServedAnswer::read(&answer).status, 408);
    // Who reads nothing is not waited for either; of one who has gone nobody knows.
    served.connect().write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    drop(served.connect());
    served.scrape();
}

#[test]
fn many_connections_are_served_in_turn() {
    let served = served();
    let open: Vec<TcpStream> = (0..200).map(|_| served.connect()).collect();
    // Too many: those beyond the limit are told so, and closed.
    let refused = ServedAnswer::read(&served.say(b"GET /metrics HTTP/1.1\r\n\r\n"));
    assert_eq!(refused.status, 503);
    assert!(refused.head.contains("\r\nRetry-After: 1\r\n"), "{}", refused.head);
    let closed = wait_for("connections that are closed", || {
        let is_closed = |mut stream: &TcpStream| {
            stream.set_nonblocking(true).unwrap();
            stream.read(&mut [0; 1024]).is_ok()
        };
        let closed = open.iter().filter(|stream| is_closed(stream)).count();
        (closed >= 200 - 64).then_some(closed)
    });
    assert!(closed <= 200);
    // The others had their time.
    wait_for("place", || {
        let answer = ServedAnswer::read(&served.say(b"GET /metrics HTTP/1.1\r\n\r\n"));
        (answer.status == 200).then_some(())
    });
    drop(open);
    let (_, status) = served.end("-TERM");
    assert!(status.success(), "{status}");
}
