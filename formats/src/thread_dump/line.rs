//! The lines of thread dumps: headers of threads, frames, locks.

use super::raw::{RawFrame, RawLock, RawOwner, RawState, RawWait, WaitPhrase};
use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_till, take_until, take_while, take_while1},
    character::complete::{char, digit1, space0},
    combinator::rest,
};

/// What stands behind the name in a thread's header.
const BEHIND_NAME: [&str; 12] = [
    " #",
    " daemon",
    " prio=",
    " os_prio=",
    " [",
    " Id=",
    " - Thread t@",
    " cpu=",
    " tid=",
    " nid=",
    " virtual",
    " J9VMThread:",
];

/// The header of a thread.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Header<'l> {
    pub(super) name: &'l str,
    pub(super) id: Option<u64>,
    pub(super) tid: &'l str,
    pub(super) is_daemon: bool,
    pub(super) is_virtual: bool,
    /// It has no Java frames, as OpenJ9 says.
    pub(super) is_native: bool,
    pub(super) cpu_ns: Option<u64>,
    pub(super) elapsed_ns: Option<u64>,
    pub(super) state: RawState,
    /// Of a management bean: what it waits for, and who has that.
    pub(super) wait: Option<RawWait>,
    pub(super) owner: Option<RawOwner>,
}

/// The name in a line that begins with a quotation mark, and what stands behind it. Names may
/// have quotation marks of their own.
pub(super) fn name(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix('"')?;
    inner.match_indices('"').find_map(|(at, _)| {
        let (name, behind) = (inner.get(..at)?, inner.get(at + 1..)?);
        let is_header = BEHIND_NAME.iter().any(|text| behind.starts_with(text));
        is_header.then_some((name, behind))
    })
}

/// A thread's header.
pub(super) fn header(line: &str) -> Option<Header<'_>> {
    let (name, behind) = name(line)?;
    let mut header = Header { name, ..Header::default() };
    if let Some(id) = behind.strip_prefix(" - Thread t@") {
        header.id = leading(id);
        return Some(header);
    }
    let mut left = behind;
    while let Ok((next, word)) = word(left) {
        left = next;
        match word.split_once('=') {
            Some(("tid", tid)) => header.tid = tid,
            Some(("cpu", cpu)) => header.cpu_ns = duration_ns(cpu),
            Some(("elapsed", elapsed)) => header.elapsed_ns = duration_ns(elapsed),
            Some(("nid", _)) => {
                header.state = RawState::of_condition(left);
                break;
            }
            Some(("Id", id)) => {
                header.id = leading(id);
                of_bean(&mut header, left);
                break;
            }
            _ if word == "daemon" => header.is_daemon = true,
            _ if word == "virtual" => header.is_virtual = true,
            _ => header.id = word.strip_prefix('#').and_then(leading).or(header.id),
        }
    }
    Some(header)
}

/// `BLOCKED on java.lang.Object@1b2c owned by "other" Id=13 (in native)`.
fn of_bean<'l>(header: &mut Header<'l>, text: &'l str) {
    header.state = RawState::of(text);
    header.is_native = text.trim_end().ends_with(" null");
    let Some((_, on)) = text.split_once(" on ") else { return };
    let (lock, owner) = on.split_once(" owned by ").unwrap_or((on, ""));
    let lock = lock.split(" (").next().unwrap_or(lock);
    header.wait = Some(RawWait { how: WaitPhrase::Something, lock: RawLock::at_sign(lock) });
    header.owner = owner_of(owner);
}

/// `Virtual machine: 4711 JVM information: JRE 11 ...`, of OpenJ9's jstack: the process and the
/// JVM, which may stand in the next line.
pub(super) fn openj9(line: &str) -> Option<(Option<u32>, &str)> {
    let (pid, jvm) = line.strip_prefix("Virtual machine: ")?.split_once(" JVM information")?;
    let pid = leading(pid).and_then(|pid| u32::try_from(pid).ok());
    Some((pid, jvm.trim_start_matches(':').trim()))
}

/// `"other" Id=13`, `"other" t@13`.
pub(super) fn owner_of(text: &str) -> Option<RawOwner> {
    let text = text.trim();
    let id = text.rsplit_once(" Id=").or_else(|| text.rsplit_once(" t@"));
    if let Some(id) = id.and_then(|(_, id)| leading(id)) {
        return Some(RawOwner::Id(id));
    }
    if let Some(id) = text.strip_prefix('#').and_then(leading) {
        return Some(RawOwner::Id(id));
    }
    let name = text.strip_prefix('"')?.rsplit_once('"')?.0;
    Some(RawOwner::Name(name.to_owned()))
}

fn word(text: &str) -> IResult<&str, &str> {
    let mut parser = (space0, take_while1(|char: char| !char.is_whitespace()));
    parser.parse(text).map(|(left, (_, word))| (left, word))
}

/// The number that a text begins with.
pub(super) fn leading(text: &str) -> Option<u64> {
    let parsed: IResult<&str, &str> = digit1.parse(text);
    parsed.ok()?.1.parse().ok()
}

/// A line that is a number.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// `2293.06ms`, `66,87s`: some languages have a comma in it.
pub(super) fn duration_ns(text: &str) -> Option<u64> {
    let digits: IResult<&str, &str> =
        take_while1(|char: char| char.is_ascii_digit() || matches!(char, '.' | ',')).parse(text);
    let (unit, number) = digits.ok()?;
    let ns = match unit.trim() {
        "ms" => 1e6,
        "s" | "" | "secs" => 1e9,
        "us" => 1e3,
        "ns" => 1.0,
        _ => return None,
    };
    let number: f64 = number.replace(',', ".").parse().ok()?;
    let scaled = number * ns;
    (scaled.is_finite() && scaled < 1e18).then_some(scaled as u64)
}

/// `com.acme.Foo.bar(Foo.java:12)`, with the module before the class or before the file.
pub(super) fn frame(text: &str) -> Option<RawFrame> {
    let mut parser = (take_until("("), char('('), rest);
    let parsed: IResult<&str, (&str, char, &str)> = parser.parse(text.trim());
    let (_, (name, _, place)) = parsed.ok()?;
    let name = without_module(name.trim());
    let (class, method) = name.rsplit_once('.')?;
    if class.is_empty() || method.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    // Hidden classes have an address behind a slash, which no class file's name has.
    let class = class.replace('/', "+").replace('.', "/");
    let place = place.rsplit_once(')').map_or(place, |(place, _)| place);
    let place = place.rsplit_once('/').map_or(place, |(_, place)| place);
    let (source, line) = match place.split_once(':') {
        Some((source, line)) => (source, leading(line).unwrap_or(0)),
        None => (place, 0),
    };
    let is_native = source.starts_with("Native Method");
    let is_file = source.contains('.') && !source.contains(' ');
    let source = if is_file { source } else { "" };
    Some(RawFrame {
        class,
        method: method.to_owned(),
        source: source.to_owned(),
        line: u32::try_from(line).unwrap_or(0),
        is_native,
    })
}

/// Without a module: `java.base@21/java.lang.Thread`, `app//com.acme.Foo`.
fn without_module(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some((_, behind)) if !behind.starts_with(|first: char| first.is_ascii_digit()) => behind,
        // A hidden class with an address: its module stands before an earlier slash.
        Some((before, behind)) => match before.rfind('/') {
            Some(at) => name.get(at + 1..).unwrap_or(behind),
            None => name,
        },
        None => name,
    }
}

/// What a line says of a lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LockLine {
    Waits(RawWait),
    Locked(RawLock),
    /// Of a synchronizer, in the list of those that a thread owns.
    Owned(RawLock),
    /// It says nothing that matters.
    Nothing,
}

const WAITS: [(&str, WaitPhrase); 8] = [
    ("waiting to lock", WaitPhrase::Enter),
    ("waiting to re-lock in wait()", WaitPhrase::Again),
    ("waiting on the Class initialization monitor for", WaitPhrase::Initialization),
    ("waiting on", WaitPhrase::Wait),
    ("parking to wait for", WaitPhrase::Park),
    ("parked on", WaitPhrase::Park),
    ("blocked on", WaitPhrase::Enter),
    ("waiting for", WaitPhrase::Something),
];

/// A line that begins with a dash. The second value says who has the lock, if the line does.
pub(super) fn lock_line(text: &str) -> Option<(LockLine, Option<RawOwner>)> {
    let text = text.trim_start().strip_prefix('-')?.trim();
    if text.starts_with("None") || text.starts_with("eliminated") {
        return Some((LockLine::Nothing, None));
    }
    if let Some(lock) = text.strip_prefix("locked") {
        let lock = lock_of(lock);
        return Some((lock.map_or(LockLine::Nothing, LockLine::Locked), None));
    }
    for (begin, how) in WAITS {
        let Some(behind) = text.strip_prefix(begin) else { continue };
        if how == WaitPhrase::Initialization {
            let class = behind.trim().trim_end_matches(')').trim_start_matches("(a ").to_owned();
            let lock = RawLock { address: format!("class {class}"), class };
            return Some((LockLine::Waits(RawWait { how, lock }), None));
        }
        let (lock, owner) = behind.split_once(" owned by ").unwrap_or((behind, ""));
        let lock = lock_of(lock).unwrap_or_default();
        return Some((LockLine::Waits(RawWait { how, lock }), owner_of(owner)));
    }
    lock_of(text).map(|lock| (LockLine::Owned(lock), None))
}

/// `<0x0000000780048050> (a com.acme.Foo)`, or `com.acme.Foo@1b2c`.
pub(super) fn lock_of(text: &str) -> Option<RawLock> {
    let text = text.trim();
    if text.starts_with("<no object reference") {
        return Some(RawLock::default());
    }
    let angle: IResult<&str, (&str, &str)> = (
        |it| (char('<'), take_until(">"), char('>')).parse(it).map(|(left, it)| (left, it.1)),
        |it| (space0, alt((tag("(a "), tag("(an ")))).parse(it).map(|(left, _)| (left, "")),
    )
        .parse(text);
    match angle {
        Ok((class, (address, _))) => {
            let class = class.strip_suffix(')').unwrap_or(class);
            let class = class
                .strip_prefix("java.lang.Class for ")
                .map_or_else(|| class.to_owned(), |of| format!("java.lang.Class for {of}"));
            Some(RawLock { class, address: plain_address(address) })
        }
        Err(_) if text.starts_with('<') => {
            let address: IResult<&str, &str> =
                (char('<'), take_till(|it| it == '>')).parse(text).map(|(left, it)| (left, it.1));
            let address = address.ok()?.1;
            Some(match address.contains('@') {
                true => RawLock::at_sign(address),
                false => RawLock { class: String::new(), address: plain_address(address) },
            })
        }
        Err(_) if text.contains('@') && !text.contains(char::is_whitespace) => {
            Some(RawLock::at_sign(text))
        }
        Err(_) => None,
    }
}

/// An address without what is written differently in places: `0x`, zeros at its beginning.
pub(super) fn plain_address(text: &str) -> String {
    let text = text.trim().trim_start_matches("0x");
    let zeros: IResult<&str, &str> = take_while(|char| char == '0').parse(text);
    let plain = zeros.map_or(text, |(plain, _)| plain);
    plain.to_ascii_lowercase()
}

/// `2023-09-03 15:00:00`, `2024-01-02T03:04:05.678Z`, `2024/01/02 at 03:04:05`: in ns of Unix
/// time, as if it was UTC.
pub(crate) fn moment_ns(text: &str) -> Option<u64> {
    let mut numbers = [0u64; 6];
    let mut left = text.trim();
    for (nth, number) in numbers.iter_mut().enumerate() {
        let parsed: IResult<&str, &str> = digit1.parse(left);
        let (behind, digits) = parsed.ok()?;
        let is_as_long = digits.len() == if nth == 0 { 4 } else { 2 };
        *number = digits.parse().ok().filter(|_| is_as_long)?;
        left = match nth {
            0 | 1 => behind.strip_prefix(['-', '/'])?,
            2 => behind.strip_prefix([' ', 'T'])?.trim_start_matches("at "),
            3 | 4 => behind.strip_prefix(':')?,
            _ => behind,
        };
    }
    let [year, month, day, hour, minute, second] = numbers;
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let millis = left.strip_prefix(['.', ',', ':']).map_or(0, |part| {
        let digits = part.get(..3).unwrap_or_default();
        digits.parse::<u64>().unwrap_or(0)
    });
    let days = days_since_epoch(year, month, day);
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some((seconds * 1_000 + millis) * 1_000_000)
}

/// Of the Gregorian calendar, from 1970 on.
fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    // The year begins in March, so that a leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    (of_years + (month * 153 + 2) / 5 + day - 1).saturating_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_wire::sample::ThreadState;

    #[test]
    fn headers_of_all_families_are_read() {
        let line = "\"a \"b\" c\" #12 [3587] daemon prio=5 os_prio=0 cpu=2293,06ms elapsed=66.87s \
                    tid=0x00007f nid=0x6d waiting for monitor entry  [0x0000ffff8d3da000]";
        let it = header(line).unwrap();
        assert_eq!(
            (it.name, it.id, it.tid, it.is_daemon),
            ("a \"b\" c", Some(12), "0x00007f", true)
        );
        assert_eq!((it.cpu_ns, it.elapsed_ns), (Some(2_293_060_000), Some(66_870_000_000)));
        assert_eq!(it.state.state, Some(ThreadState::Blocked));
        let bean = header(
            "\"x\" prio=5 Id=12 BLOCKED on java.lang.Object@1B2 owned by \"y\" Id=13 (in native)",
        )
        .unwrap();
        assert_eq!(bean.owner, Some(RawOwner::Id(13)));
        let lock = RawLock { class: "java.lang.Object".to_owned(), address: "1b2".to_owned() };
        assert_eq!(bean.wait, Some(RawWait { how: WaitPhrase::Something, lock }));
        assert_eq!(header("\"x\" - Thread t@7").unwrap().id, Some(7));
        assert_eq!(header("\"just\" a quotation"), None);
        assert_eq!(
            header("\"Worker-47\" prio=5 tid=11c32a800 nid=0x1 in Object.wait()").unwrap().tid,
            "11c32a800"
        );
    }

    #[test]
    fn frames_of_all_families_are_read() {
        let of = |text: &str| {
            let frame = frame(text).unwrap();
            (frame.class, frame.method, frame.source, frame.line, frame.is_native)
        };
        let expected = |class: &str, method: &str, source: &str, line, native| {
            (class.to_owned(), method.to_owned(), source.to_owned(), line, native)
        };
        let thread = expected("java/lang/Thread", "run", "Thread.java", 833, false);
        assert_eq!(of("java.lang.Thread.run(java.base@17.0.1/Thread.java:833)"), thread);
        assert_eq!(of("java.base@17.0.1/java.lang.Thread.run(Thread.java:833)"), thread);
        assert_eq!(of("java.base/java.lang.Thread.run(Thread.java:833)"), thread);
        assert_eq!(
            of("sun.misc.Unsafe.park(Native Method)"),
            expected("sun/misc/Unsafe", "park", "", 0, true)
        );
        assert_eq!(
            of("a.B$$Lambda$980/0x000000b0015c1d40.get(Unknown Source)"),
            expected("a/B$$Lambda$980+0x000000b0015c1d40", "get", "", 0, false)
        );
        assert_eq!(of("app//a.B.<init>(B.kt)"), expected("a/B", "<init>", "B.kt", 0, false));
        assert_eq!(frame("nothing of the sort"), None);
    }

    #[test]
    fn locks_and_moments_are_read() {
        let lock = |class: &str, address: &str| RawLock {
            class: class.to_owned(),
            address: address.to_owned(),
        };
        let line = |text| lock_line(text).unwrap().0;
        assert_eq!(line("\t- locked <0x00aB> (a a.B)"), LockLine::Locked(lock("a.B", "ab")));
        assert_eq!(
            line("- waiting on <7f48a> (a a.B)"),
            LockLine::Waits(RawWait { how: WaitPhrase::Wait, lock: lock("a.B", "7f48a") })
        );
        assert_eq!(
            line("-  blocked on a.B@1f"),
            LockLine::Waits(RawWait { how: WaitPhrase::Enter, lock: lock("a.B", "1f") })
        );
        assert_eq!(line("- a.B@1f"), LockLine::Owned(lock("a.B", "1f")));
        assert_eq!(line("- None"), LockLine::Nothing);
        assert_eq!(lock_line("at a.B.c()"), None);
        assert_eq!(moment_ns("1970-01-02 00:00:01"), Some(86_401_000_000_000));
        assert_eq!(moment_ns("2024-02-29T12:00:00.250Z"), Some(1_709_208_000_250_000_000));
        assert_eq!(moment_ns("2024-13-01 00:00:00"), None);
        assert_eq!(moment_ns("words"), None);
    }
}
