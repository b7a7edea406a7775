//! Files that are named by time, of this and of earlier recordings: which of those in a
//! folder belong together, in which order, and which of them are too many.

use super::{NEXT, is_log, is_log_or_empty, remove_free, with_suffix};
use crate::options::Rotation;
use std::{
    ffi::OsStr,
    fs::Metadata,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// What stands for any process id in the name of a log.
const PID: &[u8] = b"%p";
/// The most digits that a process id has.
const PID_DIGITS: usize = 10;
/// A prepared file that is younger may be one whose JVM has yet to lock it.
const YOUNG: Duration = Duration::from_secs(60);

/// The length of a time in a name: `20261121-104900`.
const STAMP_LEN: usize = 15;

/// The name of an earlier file of a log that began then, Unix time in ns.
pub fn archived_by_time(path: &Path, wall_ns: u64, number: u32) -> PathBuf {
    with_suffix(path, &format!("{}.{number}", stamp(wall_ns / 1_000_000_000)))
}

/// A Unix time in seconds as it stands in names, in UTC.
fn stamp(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Year, month and day of a day since 1970. Years begin in March here, so that the day
/// that is not in each of them is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let calendar_month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(calendar_month <= 2), calendar_month, day_of_month)
}

/// What follows the log's own name in the name of one of its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Suffix {
    /// Nothing: it is written to, or was last.
    Current,
    /// The file is prepared.
    Next,
    /// When the file began, which is not known of those with a number alone, and its number.
    Earlier(String, u32),
}

impl Suffix {
    fn read(rest: &[u8]) -> Option<Suffix> {
        let rest = match rest.split_first() {
            None => return Some(Suffix::Current),
            Some((b'.', rest)) => std::str::from_utf8(rest).ok()?,
            Some(_) => return None,
        };
        if rest == NEXT {
            return Some(Suffix::Next);
        }
        let (stamp, number) = rest.split_once('.').unwrap_or(("", rest));
        let is_digit = |(at, byte): (usize, u8)| byte.is_ascii_digit() || (at, byte) == (8, b'-');
        let is_stamp = stamp.len() == STAMP_LEN && (0..).zip(stamp.bytes()).all(is_digit);
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|_| is_number)?;
        (is_stamp || stamp.is_empty() && !rest.starts_with('.'))
            .then(|| Suffix::Earlier(stamp.to_owned(), number))
    }
}

/// What a log is called by the user, with `%p` for the process id.
#[derive(Clone, Debug)]
pub struct Family {
    /// Its name, and that of a log whose name another process had.
    templates: [Vec<u8>; 2],
}

impl Family {
    /// The files of logs of this name, which may have a folder before it.
    pub fn new(template: &Path) -> Family {
        let own = super::with_part(template, "%p");
        let name = |path: &Path| path.file_name().unwrap_or_default().as_bytes().to_vec();
        Family { templates: [name(template), name(&own)] }
    }

    fn suffix(&self, name: &OsStr) -> Option<Suffix> {
        self.templates.iter().find_map(|template| {
            let mut rests = Vec::new();
            find_rests(template, name.as_bytes(), &mut rests);
            rests.into_iter().find_map(Suffix::read)
        })
    }

    /// Its files in the folder of `current`, but for that one, the oldest first. Those that
    /// a JVM has prepared and left are removed.
    pub fn earlier(&self, current: &Path) -> Vec<Earlier> {
        let entries = current.parent().and_then(|folder| std::fs::read_dir(folder).ok());
        let mut files = Vec::new();
        for entry in entries.into_iter().flatten().flatten() {
            let path = entry.path();
            let Some(suffix) = self.suffix(&entry.file_name()).filter(|_| path != current) else {
                continue;
            };
            let Some(file) = Earlier::of(&path) else { continue };
            // Others' files may be called alike, and take no part.
            if suffix != Suffix::Next && !is_log(&path) {
                continue;
            }
            let order = match suffix {
                Suffix::Next if is_young(file.changed) => continue,
                Suffix::Next => {
                    remove_log(&path);
                    continue;
                }
                // It ended then, and others under its name began later.
                Suffix::Current => (stamp(seconds(file.changed)), u32::MAX),
                Suffix::Earlier(began, number) => (began, number),
            };
            files.push((order, file));
        }
        files.sort_by(|one, other| one.0.cmp(&other.0));
        files.into_iter().map(|(_, file)| file).collect()
    }
}

/// What follows a template in a name, in each way in which it fits.
fn find_rests<'a>(template: &[u8], name: &'a [u8], found: &mut Vec<&'a [u8]>) {
    if let Some(after) = template.strip_prefix(PID) {
        let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
        for len in 1..=digits.min(PID_DIGITS) {
            find_rests(after, &name[len..], found);
        }
        return;
    }
    match (template.split_first(), name.split_first()) {
        (None, _) => found.push(name),
        (Some((first, after)), Some((byte, rest))) if first == byte => {
            find_rests(after, rest, found);
        }
        _ => {}
    }
}

/// An earlier file.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Its path.
    pub path: PathBuf,
    /// What it takes on the disk, in bytes.
    len: u64,
    changed: SystemTime,
}

impl Earlier {
    /// What is there, and is a file.
    pub fn of(path: &Path) -> Option<Earlier> {
        let metadata = path.symlink_metadata().ok().filter(Metadata::is_file)?;
        Some(Earlier {
            path: path.to_owned(),
            len: metadata.blocks().saturating_mul(512),
            changed: metadata.modified().unwrap_or(UNIX_EPOCH),
        })
    }
}

/// Removes the oldest of these files, the oldest first, until the rest is within the limits.
/// `remove` says whether a file is gone.
pub fn keep_within(rotation: &Rotation, files: &[Earlier], mut remove: impl FnMut(&Path) -> bool) {
    let now = SystemTime::now();
    // With the one that is written to.
    let mut count = files.len() + 1;
    let mut len = files.iter().fold(rotation.filesize, |sum, file| sum + file.len);
    for file in files {
        let age = now.duration_since(file.changed).unwrap_or_default();
        let is_surplus = rotation.filecount.is_some_and(|most| count > most)
            || rotation.maxsize.is_some_and(|most| len > most)
            || rotation.maxage.is_some_and(|most| age > most);
        if is_surplus && remove(&file.path) {
            count -= 1;
            len -= file.len;
        }
    }
}

/// Removes a file if it is a log that nobody writes to: whether it is gone.
pub fn remove_log(path: &Path) -> bool {
    // What cannot be removed is an error when its name is needed.
    is_log_or_empty(path).unwrap_or(false) && remove_free(path).unwrap_or(false)
}

/// Removes a file that this process has written, and may not have finished, unless something
/// else has its name by now: whether it is gone.
pub fn remove_own(path: &Path) -> bool {
    is_log(path) && std::fs::remove_file(path).is_ok()
}

fn is_young(changed: SystemTime) -> bool {
    SystemTime::now().duration_since(changed).is_ok_and(|age| age < YOUNG)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::FileNames;
    use tyrion_wire::header;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (unix_s, text) in [
            (0, "19700101-000000"),
            (951_782_399, "20000228-235959"),
            (951_868_799, "20000229-235959"),
            (951_868_800, "20000301-000000"),
            (1_795_258_140, "20261121-104900"),
            (4_107_542_400, "21000301-000000"),
        ] {
            assert_eq!(stamp(unix_s), text);
        }
        let path = archived_by_time(Path::new("/a/b.log"), 1_795_258_140_999_999_999, 7);
        assert_eq!(path, Path::new("/a/b.log.20261121-104900.7"));
    }

    #[test]
    fn files_of_one_name_are_found() {
        let earlier = |began: &str, number| Some(Suffix::Earlier(began.to_owned(), number));
        let find = |template: &str, name: &str| {
            Family::new(Path::new(template)).suffix(OsStr::from_bytes(name.as_bytes()))
        };
        for (template, name, suffix) in [
            ("/x/a.log", "a.log", Some(Suffix::Current)),
            ("a.log", "a.log.next", Some(Suffix::Next)),
            ("a.log", "a.log.12", earlier("", 12)),
            ("a.log", "a.log.20261121-104900.3", earlier("20261121-104900", 3)),
            // Another process had the name.
            ("a.log", "a.4711.log", Some(Suffix::Current)),
            ("a.log", "a.4711.log.20261121-104900.3", earlier("20261121-104900", 3)),
            ("a-%p.log", "a-4711.log.20261121-104900.3", earlier("20261121-104900", 3)),
            ("a-%p.log", "a-1.2.log.next", Some(Suffix::Next)),
            ("%p1%p", "112", Some(Suffix::Current)),
            ("log", "log.20261121-104900.0", earlier("20261121-104900", 0)),
            // Others.
            ("a.log", "a.log.bak", None),
            ("a.log", "a.log.", None),
            ("a.log", "a.log.+1", None),
            ("a.log", "a.log..1", None),
            ("a.log", "a.log.20261121-104900", None),
            ("a.log", "a.log.20261121-1049x0.3", None),
            ("a.log", "a.log.2026-1121104900.3", None),
            ("a.log", "b.log", None),
            ("a.log", "aa.log", None),
            ("a.log", "a.b.log", None),
            ("a-%p.log", "a-.log", None),
            ("a-%p.log", "a-b.log", None),
            ("app1.log", "app2.log.0", None),
        ] {
            assert_eq!(find(template, name), suffix, "{template} {name}");
        }
    }

    fn rotation() -> Rotation {
        Rotation {
            filesize: 64 << 10,
            filecount: None,
            filetime: None,
            filenames: FileNames::Time,
            maxsize: None,
            maxage: None,
        }
    }

    #[test]
    fn the_oldest_are_removed() {
        let file = |name: &str, kib: u64, age_s: u64| Earlier {
            path: name.into(),
            len: kib << 10,
            changed: SystemTime::now() - Duration::from_secs(age_s),
        };
        let files = [file("a", 10, 900), file("b", 20, 600), file("c", 30, 300), file("d", 1, 5)];
        let removed = |rotation: Rotation, stays: &str| {
            let mut removed = String::new();
            keep_within(&rotation, &files, |path| {
                let name = path.to_str().unwrap();
                let is_gone = name != stays;
                removed.push_str(if is_gone { name } else { "" });
                is_gone
            });
            removed
        };
        assert_eq!(removed(rotation(), ""), "");
        assert_eq!(removed(Rotation { filecount: Some(3), ..rotation() }, ""), "ab");
        assert_eq!(removed(Rotation { filecount: Some(1), ..rotation() }, ""), "abcd");
        let of_size = |kib: u64| Rotation { maxsize: Some(kib << 10), ..rotation() };
        assert_eq!(removed(of_size(125), ""), "");
        assert_eq!(removed(of_size(124), ""), "a");
        assert_eq!(removed(of_size(100), ""), "ab");
        let maxage = Some(Duration::from_secs(500));
        assert_eq!(removed(Rotation { maxage, ..rotation() }, ""), "ab");
        // What another JVM writes to stays, and counts.
        assert_eq!(removed(Rotation { filecount: Some(3), ..rotation() }, "a"), "bc");
        assert_eq!(removed(of_size(124), "a"), "b");
    }

    #[test]
    fn earlier_files_come_in_the_order_of_time() {
        let dir = tempfile::tempdir().unwrap();
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
        for name in ["a-7.log", "a-8.log.20261121-104900.10", "a-8.log.20261121-104900.9"] {
            write(name, &header::MAGIC);
        }
        write("a-8.log.20260101-000000.11", &header::MAGIC);
        write("a-9.log", b"");
        write("a-8.log.3", &header::MAGIC);
        write("a-8.log.next", &header::MAGIC);
        write("b-8.log", &header::MAGIC);
        let old = |name: &str| {
            let file = std::fs::File::options().write(true).open(dir.path().join(name)).unwrap();
            let long_ago = UNIX_EPOCH + Duration::from_secs(1_795_258_150);
            file.set_modified(long_ago).unwrap();
        };
        old("a-7.log");
        let family = Family::new(&dir.path().join("a-%p.log"));
        let names = || -> Vec<String> {
            let files = family.earlier(&dir.path().join("a-9.log"));
            let name = |file: Earlier| file.path.file_name().unwrap().to_str().unwrap().to_owned();
            files.into_iter().map(name).collect()
        };
        let all = [
            "a-8.log.3",
            "a-8.log.20260101-000000.11",
            "a-8.log.20261121-104900.9",
            "a-8.log.20261121-104900.10",
            "a-7.log",
        ];
        assert_eq!(names(), all);
        assert!(dir.path().join("a-8.log.next").exists(), "it may be in use");
        old("a-8.log.next");
        assert_eq!(names(), all);
        assert!(!dir.path().join("a-8.log.next").exists(), "nobody has it");
        write("a-8.log.4", b"precious");
        write("a-77.log", b"another program's");
        write("a-78.log", b"");
        assert_eq!(names(), all, "what is no log does not count");
        assert!(!remove_own(&dir.path().join("a-8.log.4")));
        assert!(!remove_log(&dir.path().join("a-8.log.4")));
        assert!(remove_log(&dir.path().join("a-8.log.3")));
    }
}
