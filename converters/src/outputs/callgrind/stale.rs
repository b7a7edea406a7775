//! Parts that an earlier conversion left.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};
use tyrion_formats::open_regular;

/// Every part begins with these lines. Only files that do are ever removed.
pub(super) const MAGIC: &str = "# callgrind format\nversion: 1\ncreator: tyrion ";

/// Removes all parts of the profile at `path`: KCacheGrind would load those of
/// threads that are no more along with the new ones.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let Some(base) = path.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    let folder = folder_of(path);
    for entry in fs::read_dir(&folder).map_err(|error| super::with_path(&folder, error))? {
        let entry = entry?;
        let name = entry.file_name();
        let suffix = name.to_str().and_then(|name| name.strip_prefix(base));
        let is_part = suffix.is_some_and(is_suffix) && entry.file_type()?.is_file();
        let path = entry.path();
        if is_part && is_ours(&path).map_err(|error| super::with_path(&path, error))? {
            fs::remove_file(&path).map_err(|error| super::with_path(&path, error))?;
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Whether a name ends as those of [`super::parts::suffixes`] do: `.4242-01`,
/// `.4242.2-01`.
fn is_suffix(suffix: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some((process, thread)) = suffix.strip_prefix('.').and_then(|s| s.split_once('-')) else {
        return false;
    };
    is_number(thread) && process.splitn(2, '.').all(is_number)
}

/// What may not be read is another user's, and none of ours.
fn is_ours(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    let file = match open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        opened => opened?,
    };
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == MAGIC.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_parts() {
        for suffix in [".1-1", ".4242-01", ".4242.12-0003"] {
            assert!(is_suffix(suffix), "{suffix}");
        }
        for suffix in
            ["", ".svg", "2", ".1", ".-1", ".1-", ".1-x", "1-1", ".1.-1", ".1.2.3-1", ".1-1.svg"]
        {
            assert!(!is_suffix(suffix), "{suffix}");
        }
    }

    #[test]
    fn removes_only_our_parts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let ours = format!("{MAGIC}0.1.0\npid: 1\n");
        write("out.callgrind", "");
        write("out.callgrind.1-01", &ours);
        write("out.callgrind.7.2-01", &ours);
        write("out.callgrind.2-01", "# callgrind format\nversion: 1\ncreator: callgrind-3\n");
        write("out.callgrind.svg", &ours);
        write("other.callgrind.1-01", &ours);
        fs::create_dir(folder.path().join("out.callgrind.3-01")).unwrap();
        remove(&folder.path().join("out.callgrind")).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "other.callgrind.1-01",
                "out.callgrind",
                "out.callgrind.2-01",
                "out.callgrind.3-01",
                "out.callgrind.svg"
            ]
        );
    }
}
