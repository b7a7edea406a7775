//! A receiver of OTLP that behaves as a test tells it to, and keeps what it took.

use flate2::read::GzDecoder;
use prost::Message;
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};
use tyrion_converters::outputs::otlp::proto::ProfilesData;

/// How a request is answered.
#[derive(Clone, Debug)]
pub enum ReceiverReply {
    /// With this status line, these headers and this body.
    With(&'static str, &'static str),
    /// With success of which half of the body is missing.
    Half,
    /// Not at all: the connection is closed.
    Nothing,
    /// Not before so long.
    After(Duration),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub head: String,
    pub data: ProfilesData,
}

/// A receiver on a port of this machine.
pub struct Receiver {
    pub url: String,
    requests: Arc<Mutex<Vec<(Request, bool)>>>,
}

impl Receiver {
    /// Answers requests in this order, and all later ones with success.
    pub fn start(replies: &[ReceiverReply]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::default();
        let kept: Arc<Mutex<Vec<(Request, bool)>>> = Arc::clone(&requests);
        let replies = replies.to_vec();
        std::thread::spawn(move || {
            let mut replies = replies.iter();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // A sender that is killed breaks off.
                let Some(request) = read(&mut stream) else { continue };
                let reply = replies.next().unwrap_or(&ReceiverReply::With("200 OK", ""));
                let is_taken =
                    matches!(reply, ReceiverReply::With("200 OK", _) | ReceiverReply::Half);
                kept.lock().unwrap().push((request, is_taken));
                answer(&mut stream, reply);
            }
        });
        Receiver { url, requests }
    }

    /// All requests that came.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().iter().map(|(request, _)| request.clone()).collect()
    }

    /// Those that were taken.
    pub fn taken(&self) -> Vec<ProfilesData> {
        let requests = self.requests.lock().unwrap();
        let taken = requests.iter().filter(|(_, is_taken)| *is_taken);
        taken.map(|(request, _)| request.data.clone()).collect()
    }
}

/// The sums of profiles by their sort and metric: `mutex delay`.
pub fn sums(profiles: &[&ProfilesData]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for data in profiles {
        let strings = &data.dictionary.as_ref().unwrap().string_table;
        let scopes = data.resource_profiles.iter().flat_map(|it| &it.scope_profiles);
        for profile in scopes.flat_map(|it| &it.profiles) {
            let sort = &strings[profile.period_type.unwrap().type_strindex as usize];
            let metric = &strings[profile.sample_type.unwrap().type_strindex as usize];
            let sum = profile.samples.iter().flat_map(|it| &it.values).sum::<i64>();
            *sums.entry(format!("{sort} {metric}")).or_default() += sum as u64;
        }
    }
    sums
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let len = head.split("content-length:").nth(1).unwrap();
    let mut body = vec![0; len.split("\r\n").next().unwrap().trim().parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    let mut unpacked = Vec::new();
    GzDecoder::new(&body[..]).read_to_end(&mut unpacked).unwrap();
    Some(Request { head, data: ProfilesData::decode(&unpacked[..]).unwrap() })
}

fn answer(stream: &mut TcpStream, reply: &ReceiverReply) {
    let text = match reply {
        ReceiverReply::With(status, rest) => {
            let (headers, body) = rest.split_once("\n\n").unwrap_or((rest, ""));
            let headers = headers.replace('\n', "\r\n");
            let headers = if headers.is_empty() { headers } else { headers + "\r\n" };
            let len = body.len();
            format!(
                "HTTP/1.1 {status}\r\n{headers}content-length: {len}\r\nconnection: close\r\n\r\n{body}"
            )
        }
        ReceiverReply::Half => {
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\nconnection: close\r\n\r\n\x0a\x40half"
                .to_owned()
        }
        ReceiverReply::Nothing => return,
        ReceiverReply::After(pause) => {
            std::thread::sleep(*pause);
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
        }
    };
    // The sender may have gone.
    let _ = stream.write_all(text.as_bytes());
}
