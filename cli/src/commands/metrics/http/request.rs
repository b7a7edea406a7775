//! What a request asks for.

use super::super::text::TextFormat;
use httparse::{EMPTY_HEADER, Error, Header, Request, Status};
use std::net::IpAddr;

/// A request has no more headers than this.
const MOST_HEADERS: usize = 64;

/// A head that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestHead {
    /// More is to come.
    Partly,
    All(HttpAnswer),
}

/// What to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpAnswer {
    /// The metrics.
    Page(MetricsRequest),
    /// Something else: the status, a line of the header or none, and what is said.
    Status { status: &'static str, header: &'static str, told: &'static str },
}

/// How the metrics are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsRequest {
    pub format: TextFormat,
    pub gzip: bool,
}

impl HttpAnswer {
    pub const TOO_MANY: HttpAnswer = HttpAnswer::Status {
        status: "503 Service Unavailable",
        header: "Retry-After: 1\r\n",
        told: "Too many connections; try again.\n",
    };
    pub const TOO_SLOW: HttpAnswer =
        HttpAnswer::status("408 Request Timeout", "The request took too long.\n");
    pub const TOO_LONG: HttpAnswer = HttpAnswer::status(
        "431 Request Header Fields Too Large",
        "The head of the request is longer than 8 KiB, or has more than 64 fields.\n",
    );
    const WRONG: HttpAnswer =
        HttpAnswer::status("400 Bad Request", "This is no request of HTTP/1.\n");
    const NOT_FOUND: HttpAnswer =
        HttpAnswer::status("404 Not Found", "The metrics of tyrion are at /metrics.\n");
    const FOREIGN: HttpAnswer = HttpAnswer::status(
        "403 Forbidden",
        "Ask for localhost or an address: this port is for this machine alone.\n",
    );
    const METHOD: HttpAnswer = HttpAnswer::Status {
        status: "405 Method Not Allowed",
        header: "Allow: GET, HEAD\r\n",
        told: "Only GET and HEAD are answered.\n",
    };

    const fn status(status: &'static str, told: &'static str) -> HttpAnswer {
        HttpAnswer::Status { status, header: "", told }
    }
}

/// Reads the head of a request. To whoever listens for this machine alone (`loopback`) a
/// name that is not this machine's is what a page from elsewhere asks for, by way of a
/// browser here.
pub fn parse(head: &[u8], loopback: bool) -> RequestHead {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(head) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) => return RequestHead::Partly,
        Err(Error::TooManyHeaders) => return RequestHead::All(HttpAnswer::TOO_LONG),
        Err(_) => return RequestHead::All(HttpAnswer::WRONG),
    }
    let (method, target) = (request.method.unwrap_or(""), request.path.unwrap_or(""));
    let path = target.split('?').next().unwrap_or("");
    let mut hosts = request.headers.iter().filter(|it| it.name.eq_ignore_ascii_case("host"));
    let (host, another) = (hosts.next(), hosts.next());
    let is_ours = |host: &Header<'_>| std::str::from_utf8(host.value).is_ok_and(is_this_machine);
    RequestHead::All(if another.is_some() {
        HttpAnswer::WRONG
    } else if loopback && host.is_some_and(|host| !is_ours(host)) {
        HttpAnswer::FOREIGN
    } else if path != "/metrics" {
        HttpAnswer::NOT_FOUND
    } else if !matches!(method, "GET" | "HEAD") {
        HttpAnswer::METHOD
    } else {
        HttpAnswer::Page(MetricsRequest {
            format: format(request.headers),
            gzip: quality(request.headers, "accept-encoding", |coding, _| coding == "gzip") > 0,
        })
    })
}

/// The values of a header, wherever it stands; those that are no text are left out.
fn values<'a>(headers: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a str> {
    let named = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    named.filter_map(|header| std::str::from_utf8(header.value).ok())
}

/// Whether a `Host` is an address, or the name that every machine has for itself. Names
/// of others may be made to mean this one.
fn is_this_machine(host: &str) -> bool {
    let host = host.trim();
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// The format that the client would rather have.
fn format(headers: &[Header<'_>]) -> TextFormat {
    let open = quality(headers, "accept", |name, version| {
        name == "application/openmetrics-text" && matches!(version, None | Some("1.0.0"))
    });
    let text = quality(headers, "accept", |name, version| match name {
        "text/plain" => matches!(version, None | Some("0.0.4")),
        _ => matches!(name, "text/*" | "*/*"),
    });
    if open != 0 && open >= text { TextFormat::OpenMetrics } else { TextFormat::Prometheus }
}

/// How much a client wants what is chosen of a header's list, by name and version, in
/// thousandths; 0 if not at all.
fn quality(
    headers: &[Header<'_>],
    header: &str,
    chosen: impl Fn(&str, Option<&str>) -> bool,
) -> u16 {
    let entries = values(headers, header).flat_map(|value| value.split(','));
    let wanted = entries.filter_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let name = parts.next()?.to_ascii_lowercase();
        let (mut version, mut quality) = (None, 1000);
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match key.trim().to_ascii_lowercase().as_str() {
                "version" => version = Some(value),
                "q" => quality = thousandths(value)?,
                _ => {}
            }
        }
        chosen(&name, version).then_some(quality)
    });
    wanted.max().unwrap_or(0)
}

/// `0.5` is 500; `None` for what is no quality.
fn thousandths(text: &str) -> Option<u16> {
    let quality: f32 = text.parse().ok()?;
    (0.0..=1.0).contains(&quality).then_some((quality * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> RequestHead {
        parse(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes(), true)
    }

    fn status(lines: &[&str]) -> &'static str {
        match read(lines) {
            RequestHead::All(HttpAnswer::Status { status, .. }) => {
                status.split(' ').next().unwrap_or("")
            }
            RequestHead::All(HttpAnswer::Page(_)) => "200",
            RequestHead::Partly => "",
        }
    }

    #[test]
    fn only_the_metrics_are_served() {
        for (request, expected) in [
            ("GET /metrics HTTP/1.1", "200"),
            ("HEAD /metrics HTTP/1.0", "200"),
            ("GET /metrics?name[]=x HTTP/1.1", "200"),
            ("GET / HTTP/1.1", "404"),
            ("GET /metrics/../etc/passwd HTTP/1.1", "404"),
            ("GET //metrics HTTP/1.1", "404"),
            ("POST /metrics HTTP/1.1", "405"),
            ("OPTIONS /metrics HTTP/1.1", "405"),
            ("GET /metrics", "400"),
            ("GET /metrics HTTP/2.0", "400"),
            ("\x16\x03\x01", "400"),
        ] {
            assert_eq!(status(&[request]), expected, "{request}");
        }
        assert_eq!(parse(b"GET /metr", true), RequestHead::Partly);
        let many = vec!["a: b"; 65];
        assert_eq!(status(&[&["GET /metrics HTTP/1.1"], &many[..]].concat()), "431");
    }

    #[test]
    fn pages_from_elsewhere_read_nothing_here() {
        let with = |host: &str, loopback: bool| {
            let head = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
            matches!(parse(head.as_bytes(), loopback), RequestHead::All(HttpAnswer::Page(_)))
        };
        for host in ["localhost", "LOCALHOST:9464", "127.0.0.1:9464", "[::1]:9464", "10.0.0.7"] {
            assert!(with(host, true), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:9464", "", "[evil]", "127.0.0.1.x"] {
            assert!(!with(host, true), "{host}");
            assert!(with(host, false), "{host}");
        }
    }

    fn asked(headers: &[&str]) -> (TextFormat, bool) {
        match read(&[&["GET /metrics HTTP/1.1"], headers].concat()) {
            RequestHead::All(HttpAnswer::Page(asked)) => (asked.format, asked.gzip),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_client_chooses_the_format() {
        // As Prometheus 2.42 and 3.0 ask.
        let older = "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                     version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let newer = "accept: application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                     text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;\
                     q=0.3,*/*;q=0.2";
        for (header, expected) in [
            (older, TextFormat::OpenMetrics),
            (newer, TextFormat::OpenMetrics),
            ("Accept: application/openmetrics-text", TextFormat::OpenMetrics),
            ("Accept: application/openmetrics-text; version=\"1.0.0\"", TextFormat::OpenMetrics),
            ("Accept: application/openmetrics-text; version=2.0.0", TextFormat::Prometheus),
            ("Accept: application/openmetrics-text; q=0.1, text/plain", TextFormat::Prometheus),
            ("Accept: application/openmetrics-text; q=0", TextFormat::Prometheus),
            ("Accept: application/openmetrics-text; q=x", TextFormat::Prometheus),
            ("Accept: */*", TextFormat::Prometheus),
            ("Accept: image/png", TextFormat::Prometheus),
            ("Accept: \u{7f}", TextFormat::Prometheus),
            ("X: y", TextFormat::Prometheus),
        ] {
            if header.ends_with('\u{7f}') {
                assert_eq!(status(&["GET /metrics HTTP/1.1", header]), "400");
                continue;
            }
            assert_eq!(asked(&[header]).0, expected, "{header}");
        }
    }

    #[test]
    fn gzip_is_used_when_it_is_asked_for() {
        for (header, expected) in [
            ("Accept-Encoding: gzip", true),
            ("accept-encoding: deflate, GZIP;q=0.5", true),
            ("Accept-Encoding: gzip;q=0", false),
            ("Accept-Encoding: identity", false),
            ("X: gzip", false),
        ] {
            assert_eq!(asked(&[header]).1, expected, "{header}");
        }
    }
}
