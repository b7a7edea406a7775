//! What was sent of a recording, kept in a file: nothing is lost or sent twice when the
//! program is killed, but for what was sent last.
//!
//! The file is text: a line of JSON for the recording, and for each of its files a line of
//! JSON with as many lines behind it as there are rows, each a [`RowKey`] and its numbers.

use super::delta::{RowKey, RowNumbers, SentRows, add};
use crate::{outcome::Failure, system};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};
use tyrion_converters::outputs;
use tyrion_formats::open_regular;

/// The version of the file.
const VERSION: u32 = 1;

/// A recording of which something was sent.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    tyrion_push: u32,
    recording: String,
    url: String,
    /// The kinds of waits that are sent.
    kinds: String,
    /// All files before this one are done: a recording may have had any number of them.
    done_before: u32,
    /// One of those was damaged.
    damaged: bool,
}

/// A file of the recording.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FileHead {
    /// Its number in the recording.
    number: u32,
    /// It is complete, and so is what was sent of it.
    pub done: bool,
    /// Some of it could not be read.
    pub damaged: bool,
    /// Waits are not told apart by owner any more: there are too many.
    pub without_owners: bool,
    /// Until when was sent, as Unix time in ns.
    pub until_unix_ns: u64,
    /// How many rows follow.
    rows: usize,
}

/// What was sent of a file.
#[derive(Debug, Default)]
pub struct FileState {
    pub head: FileHead,
    pub sent: SentRows,
}

/// What was sent.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    head: Head,
    files: BTreeMap<u32, FileState>,
    /// Held as long as this lives, so that no other program sends the same.
    _lock: File,
}

impl State {
    /// Reads what was sent of this recording to this address; nothing was if there is no
    /// such file, or it is about another recording.
    ///
    /// # Errors
    /// When the file is damaged, cannot be read, is about another address or other kinds
    /// of waits, or somebody else uses it.
    pub fn open(path: &Path, recording: &str, url: &str, kinds: &str) -> Result<State, Failure> {
        let lock = lock(path)?;
        let head = Head {
            tyrion_push: VERSION,
            recording: recording.to_owned(),
            url: url.to_owned(),
            kinds: kinds.to_owned(),
            done_before: 0,
            damaged: false,
        };
        let fresh = State { path: path.to_owned(), head, files: BTreeMap::new(), _lock: lock };
        let file = match open_regular(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fresh),
            Err(error) => return Err(failed(path, error)),
        };
        let (head, files) = read(&mut BufReader::new(file)).map_err(|error| {
            Failure::new(format!(
                "{}: {error}; remove it to send the recording from its start again",
                path.display()
            ))
        })?;
        if head.recording != recording {
            return Ok(fresh);
        }
        for (what, then, now) in [("to", &head.url, url), ("of kinds", &head.kinds, kinds)] {
            if then != now {
                return Err(Failure::new(format!(
                    "{} is about what was sent {what} {then}; name another file with --state \
                     to send {what} {now}",
                    path.display()
                )));
            }
        }
        Ok(State { head, files, ..fresh })
    }

    /// The recording that this is about.
    pub fn recording(&self) -> &str {
        &self.head.recording
    }

    /// Forgets all, and is about another recording from now on.
    pub fn begin(&mut self, recording: String) {
        self.head.recording = recording;
        (self.head.done_before, self.head.damaged) = (0, false);
        self.files.clear();
    }

    /// What was sent of a file.
    pub fn file(&mut self, number: u32) -> &mut FileState {
        let file = self.files.entry(number).or_default();
        file.head.number = number;
        file
    }

    /// Whether all of a file was sent, and nothing more will come.
    pub fn is_done(&self, number: u32) -> bool {
        let is_known = || self.files.get(&number).is_some_and(|file| file.head.done);
        number < self.head.done_before || is_known()
    }

    /// The first file that is not done.
    pub fn first(&self) -> u32 {
        self.head.done_before
    }

    /// Whether any file was damaged.
    pub fn is_damaged(&self) -> bool {
        self.head.damaged || self.files.values().any(|file| file.head.damaged)
    }

    /// Notes that a batch was sent.
    pub fn add_batch(&mut self, number: u32, adds: &[(RowKey, RowNumbers)]) {
        let sent = &mut self.file(number).sent;
        adds.iter().for_each(|(key, numbers)| add(sent.entry(*key).or_default(), *numbers));
    }

    /// Notes that all of a file was sent. It is not looked at again.
    pub fn set_done(&mut self, number: u32) {
        let file = self.file(number);
        file.head.done = true;
        file.sent = SentRows::new();
        while let Some(first) = self.files.first_entry()
            && *first.key() == self.head.done_before
            && first.get().head.done
        {
            self.head.damaged |= first.remove().head.damaged;
            self.head.done_before += 1;
        }
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn save(&self) -> Result<(), Failure> {
        outputs::write(&self.path, |file| {
            let mut out = BufWriter::new(file);
            writeln!(out, "{}", serde_json::to_string(&self.head)?)?;
            for file in self.files.values() {
                let head = FileHead { rows: file.sent.len(), ..file.head.clone() };
                writeln!(out, "{}", serde_json::to_string(&head)?)?;
                let mut rows: Vec<_> = file.sent.iter().collect();
                rows.sort_unstable();
                for (RowKey { row, owner }, numbers) in rows {
                    write!(out, "{row:x} {owner:x}")?;
                    shown(numbers).iter().try_for_each(|number| write!(out, " {number}"))?;
                    writeln!(out)?;
                }
            }
            out.flush()?;
            out.get_ref().sync_data()
        })
        .map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("{}: {error}; name another file with --state", path.display()))
}

/// Takes the file beside the state that says who uses it.
fn lock(path: &Path) -> Result<File, Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let file = system::open_itself(&name).map_err(|error| failed(&name, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Failure::new(format!(
            "another tyrion push sends this recording: {} is locked",
            name.display()
        ))),
        // Where the file system knows no locks.
        Err(fs::TryLockError::Error(_)) => Ok(file),
    }
}

fn read(from: &mut impl BufRead) -> Result<(Head, BTreeMap<u32, FileState>), String> {
    let mut lines = from.lines();
    let mut next = || -> Result<Option<String>, String> {
        lines.next().transpose().map_err(|error| error.to_string())
    };
    let damaged = |what: &str| format!("damaged: {what}");
    let first = next()?.ok_or_else(|| damaged("it is empty"))?;
    let head: Head = serde_json::from_str(&first).map_err(|error| damaged(&error.to_string()))?;
    if head.tyrion_push != VERSION {
        return Err(format!("version {} is not known", head.tyrion_push));
    }
    let mut files = BTreeMap::new();
    while let Some(line) = next()? {
        let head: FileHead =
            serde_json::from_str(&line).map_err(|error| damaged(&error.to_string()))?;
        let mut sent = SentRows::new();
        for _ in 0..head.rows {
            let line = next()?.ok_or_else(|| damaged("it ends too early"))?;
            let (key, numbers) = row(&line).ok_or_else(|| damaged(&line))?;
            add(sent.entry(key).or_default(), numbers);
        }
        files.insert(head.number, FileState { head, sent });
    }
    Ok((head, files))
}

fn row(line: &str) -> Option<(RowKey, RowNumbers)> {
    let mut words = line.split(' ');
    let mut hex = || u64::from_str_radix(words.next()?, 16).ok();
    let key = RowKey { row: hex()?, owner: hex()? };
    let mut numbers = RowNumbers::default();
    let mut count = 0;
    for word in words {
        *numbers.get_mut(count)? = word.parse().ok()?;
        count += 1;
    }
    (count >= LEAST).then_some((key, numbers))
}

/// Every row has so many numbers in the file.
const LEAST: usize = 3;

/// The numbers of a row without the zeros behind these, which only what is counted in bursts
/// has: so all versions of Tyrion read the files of others.
fn shown(numbers: &RowNumbers) -> &[u64] {
    let last = numbers.iter().rposition(|&number| number != 0).map_or(0, |at| at + 1);
    &numbers[..last.max(LEAST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pushed");
        let mut state = State::open(&path, "r1", "http://x/", "all").unwrap();
        let key = RowKey { row: u64::MAX, owner: 7 };
        state.add_batch(0, &[(key, [1, 2, 3, 0, 0])]);
        state.set_done(0);
        state.add_batch(1, &[(key, [1, 2, 3, 0, 0]), (key, [1, 0, u64::MAX, 4, 0])]);
        state.file(1).head.until_unix_ns = 99;
        state.save().unwrap();
        assert!(State::open(&path, "r1", "http://x/", "all").is_err(), "it is in use");
        drop(state);
        let mut again = State::open(&path, "r1", "http://x/", "all").unwrap();
        assert!(again.is_done(0) && !again.is_done(1) && !again.is_done(2));
        assert_eq!(again.file(1).sent[&key], [2, 2, u64::MAX, 4, 0]);
        assert_eq!(again.file(1).head.until_unix_ns, 99);
        drop(again);
        let error = State::open(&path, "r1", "http://y/", "all").unwrap_err().to_string();
        assert!(error.contains("--state"), "{error}");
        let error = State::open(&path, "r1", "http://x/", "monitor").unwrap_err().to_string();
        assert!(error.contains("--state"), "{error}");
        // What is done from the first file on takes no room.
        let mut state = State::open(&path, "r1", "http://x/", "all").unwrap();
        assert_eq!((state.first(), state.files.len()), (1, 1));
        state.file(1).head.damaged = true;
        (1..1000).for_each(|number| state.set_done(number));
        assert_eq!((state.first(), state.files.len(), state.is_damaged()), (1000, 0, true));
        drop(state);
        let other = State::open(&path, "r2", "http://y/", "all").unwrap();
        assert!(other.files.is_empty());
    }

    #[test]
    fn rows_without_errors_are_as_they_were_before_there_were_any() {
        let row_of = |line: &str| row(line).map(|(_, numbers)| numbers);
        for (line, numbers) in [("1 2 7 0 0", [7, 0, 0, 0, 0]), ("1 2 7 0 9 0 3", [7, 0, 9, 0, 3])]
        {
            assert_eq!(row_of(line), Some(numbers));
            let shown: Vec<String> = shown(&numbers).iter().map(u64::to_string).collect();
            assert_eq!(line, format!("1 2 {}", shown.join(" ")));
        }
        for damaged in ["1 2 7 0", "1 2 7 0 0 0 0 0", "1 2 7 0 x", "1 2 7 0 0 "] {
            assert_eq!(row_of(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn cut_and_damaged_files_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pushed");
        let mut state = State::open(&path, "r1", "http://x/", "all").unwrap();
        state.add_batch(0, &[(RowKey { row: 1, owner: 2 }, [1, 2, 3, 0, 0])]);
        state.save().unwrap();
        drop(state);
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() - 1 {
            fs::write(&path, &whole[..end]).unwrap();
            // Between two lines of files a cut cannot be seen, and there is but one file.
            if let Ok(state) = State::open(&path, "r1", "http://x/", "all") {
                let head_alone = whole.iter().position(|byte| *byte == b'\n').unwrap();
                assert!(end == head_alone || end == head_alone + 1, "{end}");
                assert_eq!(state.files.len(), 0);
            }
        }
    }
}
