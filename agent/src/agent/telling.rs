//! While a command is carried out, or waits for another one, a thread tells whoever waits for
//! the answer that the agent is at work, and notices that nobody waits any more.

use crate::{spawn::thread, work};
use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tyrion_wire::exchange::{GIVE_UP, WORK, WORK_DRAFT};

/// How often it is told.
const PERIOD: Duration = Duration::from_millis(200);

/// Told until it is dropped.
pub struct Telling {
    state: Arc<State>,
    /// Where that is told, if anybody waits.
    folder: Option<PathBuf>,
}

#[derive(Default)]
struct State {
    has_ended: AtomicBool,
    /// Nobody waits for the answer any more.
    is_abandoned: AtomicBool,
}

impl Telling {
    /// Tells it in the folder of the answer, which this process waits for. Without a thread,
    /// or a folder, nothing is told.
    pub fn begin(reply: &str, by: u64) -> Telling {
        let state = Arc::new(State::default());
        let folder = Path::new(reply).parent().map(Path::to_owned);
        let folder = folder.filter(|_| !reply.is_empty() && by != 0);
        let telling = Telling { state: Arc::clone(&state), folder: folder.clone() };
        if let Some(folder) = folder {
            let _ = thread("tyrion-telling", move || tell(&folder, by, &state));
        }
        telling
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_abandoned(&self) -> bool {
        self.state.is_abandoned.load(Relaxed) || self.folder.as_deref().is_some_and(is_left)
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.state.has_ended.store(true, Relaxed);
    }
}

fn tell(folder: &Path, by: u64, state: &State) {
    while !state.has_ended.load(Relaxed) {
        if is_left(folder) {
            state.is_abandoned.store(true, Relaxed);
            work::give_up(by);
        }
        // What cannot be told is not: the command has its own time limit then.
        let _ = write(folder, &describe(by));
        std::thread::sleep(PERIOD);
    }
}

/// Whether whoever asked has said that, has gone, or was killed: then nobody holds the folder.
fn is_left(folder: &Path) -> bool {
    if folder.join(GIVE_UP).symlink_metadata().is_ok() {
        return true;
    }
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    match OpenOptions::new().read(true).custom_flags(flags).open(folder) {
        Ok(folder) => folder.try_lock().is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

fn describe(by: u64) -> String {
    let Some(work) = work::now() else { return "what=begins\n".to_owned() };
    let other = if work.by == by { String::new() } else { format!("by={}\n", work.by) };
    let what = if work.what.is_empty() { "begins" } else { &work.what };
    format!("{other}for_ms={}\nwhat={what}\n", work.since.elapsed().as_millis())
}

/// Whole or not at all.
fn write(folder: &Path, text: &str) -> std::io::Result<()> {
    let (whole, draft) = (folder.join(WORK), folder.join(WORK_DRAFT));
    let _ = std::fs::remove_file(&draft);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(draft, whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_folder_is_left_when_nobody_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("exchange");
        assert!(is_left(&folder), "it is not there");
        std::fs::create_dir(&folder).unwrap();
        let held = File::open(&folder).unwrap();
        held.try_lock_shared().unwrap();
        assert!(!is_left(&folder));
        File::create(folder.join(GIVE_UP)).unwrap();
        assert!(is_left(&folder));
        std::fs::remove_file(folder.join(GIVE_UP)).unwrap();
        write(&folder, "what=x\n").unwrap();
        write(&folder, "what=y\n").unwrap();
        assert_eq!(std::fs::read_to_string(folder.join(WORK)).unwrap(), "what=y\n");
        drop(held);
        assert!(is_left(&folder), "whoever held it was killed");
    }
}
