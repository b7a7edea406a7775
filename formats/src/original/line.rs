//! The lines of a log, each an event.

use serde::Deserialize;
use std::{borrow::Cow, collections::HashMap};

/// How each line begins.
const BEGINNINGS: [&[u8]; 3] = [b"{\"entering\":{", b"{\"enter\":{", b"{\"exit\":{"];
/// Times in ns and in ms that come to differ more are not of one clock, in ns.
const MOST_DRIFT_NS: u64 = 60_000_000_000;

/// Whether a file begins like a log.
pub(super) fn begins(start: &[u8]) -> bool {
    BEGINNINGS.iter().any(|beginning| start.starts_with(beginning))
}

/// What the times in ns are since: they are those of `System.nanoTime`, which is Unix time
/// on few systems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockBase {
    /// When that was, Unix time.
    zero_ns: i128,
}

impl ClockBase {
    /// By the first event of these lines.
    pub(super) fn of(lines: &[u8]) -> ClockBase {
        let first = lines.split(|&byte| byte == b'\n').find_map(|line| told(line.trim_ascii()));
        ClockBase { zero_ns: first.and_then(|(_, fields)| fields.zero_ns()).unwrap_or(0) }
    }

    fn unix_ns(self, Time { millis, nanos }: Time) -> u64 {
        let of_ms = ns(millis);
        let exact = nanos.and_then(|nanos| u64::try_from(i128::from(nanos) + self.zero_ns).ok());
        exact.filter(|ns| ns.abs_diff(of_ms) < MOST_DRIFT_NS).unwrap_or(of_ms)
    }
}

fn ns(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// A thread asks for a monitor.
    Entering,
    /// It has got it.
    Enter,
    /// It is about to release it.
    Exit,
}

/// An event. Texts are those of its block, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineEvent {
    pub(super) kind: EventKind,
    pub(super) java_id: u64,
    pub(super) thread_name: u32,
    pub(super) class: u32,
    pub(super) hash: u32,
    /// Unix time.
    pub(super) at_ns: u64,
}

/// Lines that were read together.
#[derive(Debug, Default)]
pub(super) struct LineBlock {
    pub(super) events: Vec<LineEvent>,
    pub(super) texts: Vec<String>,
    /// Offsets and lengths of lines that are no events.
    pub(super) damaged: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum LineKind<'a> {
    #[serde(borrow)]
    Entering(LineFields<'a>),
    #[serde(borrow)]
    Enter(LineFields<'a>),
    #[serde(borrow)]
    Exit(LineFields<'a>),
}

#[derive(Deserialize)]
struct LineFields<'a> {
    #[serde(borrow)]
    accessor: Accessor<'a>,
    #[serde(borrow)]
    target: WaitTarget<'a>,
    time: Option<Time>,
    /// The older form has it, in ms.
    timestamp: Option<u64>,
}

#[derive(Deserialize)]
struct Accessor<'a> {
    id: u64,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct WaitTarget<'a> {
    hashcode: i64,
    #[serde(borrow, rename = "className")]
    class: Cow<'a, str>,
}

#[derive(Clone, Copy, Deserialize)]
struct Time {
    millis: u64,
    /// May be below 0.
    nanos: Option<i64>,
}

impl LineFields<'_> {
    fn at_ns(&self, clock: ClockBase) -> Option<u64> {
        match self.time {
            Some(time) => Some(clock.unix_ns(time)),
            None => self.timestamp.map(ns),
        }
    }

    /// When the event's time in ns was 0, Unix time.
    fn zero_ns(&self) -> Option<i128> {
        let Time { millis, nanos } = self.time?;
        let (of_ms, nanos) = (i128::from(ns(millis)), i128::from(nanos?));
        // Both round down: what differs by less is Unix time.
        let differ = of_ms - nanos;
        Some(if differ.unsigned_abs() < 1_000_000 { 0 } else { differ })
    }
}

/// The event of a line.
fn told(line: &[u8]) -> Option<(EventKind, LineFields<'_>)> {
    Some(match serde_json::from_slice(line).ok()? {
        LineKind::Entering(fields) => (EventKind::Entering, fields),
        LineKind::Enter(fields) => (EventKind::Enter, fields),
        LineKind::Exit(fields) => (EventKind::Exit, fields),
    })
}

impl LineBlock {
    /// Reads lines, the first of which begins at this offset of the file.
    pub(super) fn read(bytes: &[u8], mut offset: u64, clock: ClockBase) -> LineBlock {
        let mut block = LineBlock::default();
        let mut known: HashMap<String, u32> = HashMap::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let len = line.len() as u64;
            let line = line.trim_ascii();
            match block.event(line, &mut known, clock) {
                Some(event) => block.events.push(event),
                None if line.is_empty() => {}
                None => block.damaged.push((offset, len)),
            }
            offset += len;
        }
        block
    }

    fn event(
        &mut self,
        line: &[u8],
        known: &mut HashMap<String, u32>,
        clock: ClockBase,
    ) -> Option<LineEvent> {
        let (kind, fields) = told(line)?;
        let at_ns = fields.at_ns(clock)?;
        let mut text = |text: &str| {
            if let Some(&number) = known.get(text) {
                return number;
            }
            let number = self.texts.len() as u32;
            self.texts.push(text.to_owned());
            known.insert(text.to_owned(), number);
            number
        };
        Some(LineEvent {
            kind,
            java_id: fields.accessor.id,
            thread_name: text(&fields.accessor.name),
            class: text(&fields.target.class),
            // An int of Java's.
            hash: fields.target.hashcode as u32,
            at_ns,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    const NEW: &str = r#"{"entering":{"accessor":{"id":16,"name":"w \"1\""},"target":{"hashcode":601842319,"className":"com.acme.Foo"},"time":{"millis":1397636359338,"nanos":1397636359338331000}}}"#;
    const OLD: &str = r#"{"enter":{"timestamp":1376143724769,"accessor":{"id":1,"name":"main"},"target":{"hashcode":-1,"className":"a.B"}}}"#;

    #[test]
    fn both_forms_are_read() {
        let text = format!("{NEW}\n{OLD}\r\n\nfoo\n{{\n");
        let block = LineBlock::read(text.as_bytes(), 100, ClockBase::of(text.as_bytes()));
        let [new, old] = block.events[..] else { panic!("{block:?}") };
        assert_eq!((new.kind, new.java_id, new.hash), (EventKind::Entering, 16, 601_842_319));
        assert_eq!(new.at_ns, 1_397_636_359_338_331_000);
        assert_eq!(block.texts, ["w \"1\"", "com.acme.Foo", "main", "a.B"]);
        assert_eq!((old.kind, old.hash), (EventKind::Enter, u32::MAX));
        assert_eq!(old.at_ns, 1_376_143_724_769_000_000);
        let start = 100 + (NEW.len() + OLD.len() + 4) as u64;
        assert_eq!(block.damaged, [(start, 4), (start + 4, 2)]);
        assert!(begins(NEW.as_bytes()) && begins(OLD.as_bytes()) && !begins(b"{\"enter\":1"));
    }

    #[test]
    fn times_in_ns_are_since_the_first_event() {
        let read = |text: &str| {
            let block = LineBlock::read(text.as_bytes(), 0, ClockBase::of(text.as_bytes()));
            block.events.iter().map(|event| event.at_ns).collect::<Vec<_>>()
        };
        let at = |nanos: &str| NEW.replace("1397636359338331000", nanos);
        let start_ns = 1_397_636_359_338_000_000;
        assert_eq!(read(NEW), [start_ns + 331_000], "Unix time");
        let text = ["12345", "13000", "-5", "120000000000"].map(at).join("\n");
        // The last one is of another clock: of a machine that was started again.
        assert_eq!(read(&text), [start_ns, start_ns + 655, start_ns - 12_350, start_ns]);
        assert_eq!(read(&NEW.replace(r#","nanos":1397636359338331000"#, "")), [start_ns]);
        assert_eq!(read(&NEW.replace(r#""time""#, r#""times""#)), [0; 0]);
    }
}
