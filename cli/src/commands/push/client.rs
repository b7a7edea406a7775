//! Sends batches to a collector over HTTP.

use super::headers::HttpHeader;
use crate::{gzip, outcome::Failure};
use prost::Message;
use std::{net::IpAddr, path::Path, sync::Arc, time::Duration};
use tyrion_model::harmless;
use ureq::{
    Agent,
    http::Uri,
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
};

/// Where OTLP receivers take profiles, if the address says no path.
const PATH: &str = "/v1development/profiles";
/// No more of an answer is read.
const LONGEST_ANSWER: u64 = 64 << 10;
/// Longer texts of servers are cut.
const LONGEST_TEXT: usize = 300;
/// How long a server may ask to be left alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What became of a batch.
#[derive(Debug)]
pub enum BatchOutcome {
    /// It was taken; the server may have something to say.
    Taken(Option<String>),
    /// It was not, and may be sent again, but not before so long.
    Later(String, Option<Duration>),
    /// It will never be taken.
    Refused(String),
}

/// A collector.
pub struct Client {
    agent: Agent,
    url: String,
    headers: Vec<HttpHeader>,
}

/// `ExportProfilesServiceResponse` of OTLP.
#[derive(Clone, PartialEq, prost::Message)]
struct Response {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_profiles: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// `google.rpc.Status`, which tells of errors.
#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Where profiles are sent to.
#[derive(Clone, Debug)]
pub struct Address {
    /// All of it.
    url: String,
    /// Without what may be secret, to be shown and noted.
    pub shown: String,
    /// It is this machine's.
    is_here: bool,
    /// What is sent is encrypted.
    pub is_encrypted: bool,
}

impl Address {
    /// Reads an address, and adds the usual path if it has none.
    ///
    /// # Errors
    /// When it is none, or has a password in it. What is wrong is told without the address.
    pub fn of(url: &str) -> Result<Address, Failure> {
        let wrong = |what: &str| Failure::Usage(format!("--otlp: {what}"));
        let uri: Uri = url.parse().map_err(|_| wrong("write http://HOST:PORT or https://..."))?;
        let scheme = uri.scheme_str().unwrap_or_default();
        if !["http", "https"].contains(&scheme) {
            return Err(wrong("write http://HOST:PORT or https://HOST:PORT"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("the host is missing"))?;
        if authority.as_str().contains('@') {
            return Err(wrong(
                "others can read what stands on the command line; give user names and passwords \
                 with --header-file",
            ));
        }
        let has_port =
            authority.as_str().rsplit_once(':').is_some_and(|(_, it)| !it.ends_with(']'));
        if authority.host().is_empty() || has_port && uri.port_u16().is_none() {
            return Err(wrong("the host is missing, or its port is no number"));
        }
        let path = if uri.path() == "/" { PATH } else { uri.path() };
        let shown = format!("{scheme}://{authority}{path}");
        let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
        let host = authority.host().trim_matches(['[', ']']);
        let is_loopback = |host: &str| host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        Ok(Address {
            url: format!("{shown}{query}"),
            shown,
            is_here: host == "localhost" || is_loopback(host),
            is_encrypted: scheme == "https",
        })
    }

    /// Whether others may read what is sent.
    pub fn is_exposed(&self) -> bool {
        !self.is_encrypted && !self.is_here
    }
}

impl Client {
    /// A client for an address; certificates are checked against those of `ca_file`,
    /// or else against the authorities that browsers trust.
    ///
    /// # Errors
    /// When the file with certificates cannot be read, or has none.
    pub fn new(
        address: &Address,
        headers: Vec<HttpHeader>,
        ca_file: Option<&Path>,
        timeout: Duration,
    ) -> Result<Client, Failure> {
        let tls = match ca_file {
            Some(path) => TlsConfig::builder().root_certs(authorities(path)?).build(),
            None => TlsConfig::default(),
        };
        let config = Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // Tokens go where the user says, and nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("tyrion/", env!("CARGO_PKG_VERSION")));
        // A proxy is for what is elsewhere.
        let config = if address.is_here { config.proxy(None) } else { config };
        let agent = config.build().new_agent();
        Ok(Client { agent, url: address.url.clone(), headers })
    }

    /// Sends a batch once.
    pub fn send(&self, batch: &[u8]) -> BatchOutcome {
        let packed = match gzip::packed(batch) {
            Ok(packed) => packed,
            Err(error) => return BatchOutcome::Refused(error.to_string()),
        };
        let request = self.agent.post(&self.url);
        let request = self.headers.iter().fold(request, |it, (name, value)| it.header(name, value));
        let request = request.content_type("application/x-protobuf");
        match request.header("content-encoding", "gzip").send(&packed[..]) {
            Ok(mut response) => {
                let status = response.status().as_u16();
                let after = response.headers().get("retry-after");
                let after = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
                let after = after.map(|seconds| Duration::from_secs(seconds).min(LONGEST_PAUSE));
                // An answer whose body is cut short is no reason to send it all again: what
                // was decided is in its first line.
                let body = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
                answer(status, after, &body.unwrap_or_default())
            }
            Err(error) => of_error(&error),
        }
    }
}

/// What an answer means, as OTLP says.
fn answer(status: u16, after: Option<Duration>, body: &[u8]) -> BatchOutcome {
    match status {
        200..=299 => {
            let part = Response::decode(body).ok().and_then(|it| it.partial_success);
            BatchOutcome::Taken(part.and_then(|part| {
                match (part.rejected_profiles, part.error_message) {
                    (0, text) if text.is_empty() => None,
                    (0, text) => Some(harmless_text(&text)),
                    (count, text) => {
                        Some(format!("it rejected {count} profiles: {}", harmless_text(&text)))
                    }
                }
            }))
        }
        429 | 502 | 503 | 504 => BatchOutcome::Later(words(status, body), after),
        _ => BatchOutcome::Refused(words(status, body)),
    }
}

/// What went wrong, in a line.
fn words(status: u16, body: &[u8]) -> String {
    let of_status = Status::decode(body).ok().map(|it| it.message).filter(|it| !it.is_empty());
    let text = of_status.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    match harmless_text(&text) {
        text if text.is_empty() => format!("status {status}"),
        text => format!("status {status}: {text}"),
    }
}

fn harmless_text(text: &str) -> String {
    harmless::within(&harmless::text(text.trim()), LONGEST_TEXT).into_owned()
}

fn of_error(error: &ureq::Error) -> BatchOutcome {
    let text = harmless_text(&error.to_string());
    match error {
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::InvalidData => {
            BatchOutcome::Refused(text)
        }
        ureq::Error::Io(_)
        | ureq::Error::Timeout(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Protocol(_)
        | ureq::Error::ConnectProxyFailed(_) => BatchOutcome::Later(text, None),
        _ => BatchOutcome::Refused(text),
    }
}

fn authorities(path: &Path) -> Result<RootCerts, Failure> {
    let failed = |what: &str| Failure::new(format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| failed(&error.to_string()))?;
    let items: Result<Vec<PemItem<'static>>, ureq::Error> = parse_pem(&bytes).collect();
    let items = items.map_err(|error| failed(&error.to_string()))?;
    let certificates = items.into_iter().filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<Certificate<'static>> = certificates.collect();
    if certificates.is_empty() {
        return Err(failed("no certificate in it; it is to be in PEM format"));
    }
    Ok(RootCerts::Specific(Arc::new(certificates)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_the_path_of_profiles() {
        for (given, expected, is_exposed) in [
            ("http://localhost:4318", "http://localhost:4318/v1development/profiles", false),
            ("http://[::1]:4318/", "http://[::1]:4318/v1development/profiles", false),
            ("https://a.b/", "https://a.b/v1development/profiles", false),
            ("HTTP://a.b:80", "http://a.b:80/v1development/profiles", true),
            ("https://a.b/otlp/profiles", "https://a.b/otlp/profiles", false),
        ] {
            let address = Address::of(given).unwrap();
            assert_eq!((&*address.url, &*address.shown), (expected, expected));
            assert_eq!(address.is_exposed(), is_exposed, "{given}");
        }
        let asking = Address::of("https://a.b?key=secret").unwrap();
        assert_eq!(asking.url, "https://a.b/v1development/profiles?key=secret");
        assert_eq!(asking.shown, "https://a.b/v1development/profiles");
        for bad in
            ["localhost:4318", "ftp://a", "http://", "http:///x", "http://a:1x", "http://a b", ""]
        {
            assert!(Address::of(bad).is_err(), "{bad}");
        }
        let error = Address::of("https://me:secret@a.b").unwrap_err().to_string();
        assert!(!error.contains("secret") && error.contains("--header-file"), "{error}");
    }

    #[test]
    fn answers_mean_what_otlp_says() {
        assert!(matches!(answer(200, None, &[]), BatchOutcome::Taken(None)));
        // Cut short: it was taken all the same.
        assert!(matches!(answer(200, None, &[10, 200]), BatchOutcome::Taken(None)));
        let part = PartialSuccess { rejected_profiles: 2, error_message: "no\nroom".to_owned() };
        let part = Response { partial_success: Some(part) }.encode_to_vec();
        let BatchOutcome::Taken(Some(said)) = answer(200, None, &part) else { panic!("taken") };
        assert!(said.contains("2 profiles") && !said.contains('\n'), "{said}");
        let seconds = Some(Duration::from_secs(7));
        assert!(
            matches!(answer(503, seconds, &[]), BatchOutcome::Later(_, after) if after == seconds)
        );
        for status in [429, 502, 504] {
            assert!(matches!(answer(status, None, b"x"), BatchOutcome::Later(..)), "{status}");
        }
        for status in [301, 400, 401, 403, 404, 413, 500] {
            assert!(matches!(answer(status, None, b"x"), BatchOutcome::Refused(_)), "{status}");
        }
        let status = Status { code: 16, message: "no token".to_owned() }.encode_to_vec();
        let BatchOutcome::Refused(said) = answer(401, None, &status) else { panic!("refused") };
        assert_eq!(said, "status 401: no token");
    }
}
