//! A connection: a request is read, within limits, and answered.

use super::{
    super::text::{self, Family},
    request::{HttpAnswer, MetricsRequest, RequestHead, parse},
};
use crate::gzip::packed;
use std::{
    io::{self, Read as _, Write},
    net::{Shutdown, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

/// A request's head is no longer than this.
pub const LONGEST_HEAD: usize = 8 << 10;
/// How long a client may take to ask, and then to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long is waited for a client to close its side, and how much more it may send.
const PARTING: (Duration, usize) = (Duration::from_millis(500), 64 << 10);

/// A connection on which all reading, or all writing, has to be done by a time: a limit
/// on single calls would leave a client that sends one byte at a time as long as it likes.
struct TimedStream<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> TimedStream<'a> {
    fn new(stream: &'a TcpStream, time: Duration) -> TimedStream<'a> {
        TimedStream { stream, until: Instant::now() + time }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl io::Read for TimedStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        (&mut &*self.stream).read(into)
    }
}

impl io::Write for TimedStream<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        (&mut &*self.stream).write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers a connection and closes it. What goes wrong concerns its client alone.
pub fn answer(stream: TcpStream, loopback: bool, page: impl FnOnce() -> Arc<Vec<Family>>) {
    let asked = ask(&mut TimedStream::new(&stream, PATIENCE), loopback);
    let answered = asked.and_then(|(answer, is_head)| {
        let bytes = response(&answer, is_head, page)?;
        TimedStream::new(&stream, PATIENCE).write_all(&bytes)
    });
    if answered.is_ok() {
        part(&stream);
    }
}

/// Tells a client that there are too many, without waiting for it.
pub fn refuse(stream: TcpStream) {
    let Ok(bytes) = response(&HttpAnswer::TOO_MANY, false, Arc::default) else { return };
    // Otherwise it is closed without a word.
    if stream.set_nonblocking(true).is_ok() {
        let _ = (&stream).read(&mut [0; LONGEST_HEAD]);
        let _ = (&stream).write_all(&bytes);
    }
}

/// Reads a request: what to answer, and whether without its body.
fn ask(stream: &mut TimedStream<'_>, loopback: bool) -> io::Result<(HttpAnswer, bool)> {
    let mut head = Vec::with_capacity(LONGEST_HEAD);
    loop {
        let mut some = [0; 2048];
        let room = some.len().min(LONGEST_HEAD - head.len());
        let read = match stream.read(&mut some[..room]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if is_late(&error) => return Ok((HttpAnswer::TOO_SLOW, is_head(&head))),
            Err(error) => return Err(error),
        };
        head.extend_from_slice(&some[..read]);
        match parse(&head, loopback) {
            RequestHead::All(answer) => return Ok((answer, is_head(&head))),
            RequestHead::Partly if head.len() == LONGEST_HEAD => {
                return Ok((HttpAnswer::TOO_LONG, is_head(&head)));
            }
            RequestHead::Partly => {}
        }
    }
}

fn is_head(head: &[u8]) -> bool {
    head.starts_with(b"HEAD ")
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

fn response(
    answer: &HttpAnswer,
    is_head: bool,
    page: impl FnOnce() -> Arc<Vec<Family>>,
) -> io::Result<Vec<u8>> {
    let (status, media_type, body) = match answer {
        HttpAnswer::Page(asked) => {
            let text = text::write(&page(), asked.format);
            let body = if asked.gzip { packed(text.as_bytes())? } else { text.into_bytes() };
            ("200 OK", asked.format.media_type(), body)
        }
        HttpAnswer::Status { status, told, .. } => {
            (*status, "text/plain; charset=utf-8", told.as_bytes().to_vec())
        }
    };
    let mut bytes = Vec::with_capacity(body.len() + 512);
    write!(
        bytes,
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n",
        body.len()
    )?;
    match answer {
        HttpAnswer::Page(MetricsRequest { gzip: true, .. }) => {
            bytes.write_all(b"Content-Encoding: gzip\r\n")?
        }
        HttpAnswer::Status { header, .. } => bytes.write_all(header.as_bytes())?,
        HttpAnswer::Page(_) => {}
    }
    bytes.write_all(
        b"Vary: Accept, Accept-Encoding\r\nCache-Control: no-store\r\n\
          X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
    )?;
    if !is_head {
        bytes.write_all(&body)?;
    }
    Ok(bytes)
}

/// Closes a connection. If something had come that nobody has read, the client would be
/// told that it was broken off, and might drop the answer.
fn part(stream: &TcpStream) {
    let (time, most) = PARTING;
    if stream.shutdown(Shutdown::Write).is_ok() {
        let rest = TimedStream::new(stream, time);
        let _ = io::copy(&mut rest.take(most as u64), &mut io::sink());
    }
}
