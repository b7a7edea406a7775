//! Where commands write what they make.

use crate::{
    outcome::{Failure, tell},
    terminal,
};
use std::{
    io::{self, BufWriter, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};
use tyrion_converters::outputs;
use tyrion_formats::open_regular;
use tyrion_report::render::text::Style;
use tyrion_wire::header::MAGIC;

/// Files over this length are slow to load in their viewers.
const LONG_FILE: u64 = 100 << 20;

/// Where something goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputTarget {
    /// To stdout.
    Stdout,
    /// Into a file.
    File(PathBuf),
}

impl OutputTarget {
    /// What `-o` says; `-` is stdout.
    pub fn of(path: &Path) -> OutputTarget {
        if path == Path::new("-") {
            OutputTarget::Stdout
        } else {
            OutputTarget::File(path.to_owned())
        }
    }

    /// Whether it takes one stream of bytes and no more: stdout, a pipe that has
    /// a name, a device.
    pub fn is_stream(&self) -> bool {
        match self {
            OutputTarget::Stdout => true,
            OutputTarget::File(path) => is_stream(path),
        }
    }

    /// Whether somebody looks at it while it is written.
    pub fn is_terminal(&self) -> bool {
        *self == OutputTarget::Stdout && io::stdout().is_terminal()
    }

    /// How text is drawn there.
    pub fn style(&self) -> Style {
        match self {
            OutputTarget::Stdout => terminal::style(),
            OutputTarget::File(_) => Style::default(),
        }
    }

    /// Refuses to replace a log, the one that is read perhaps.
    ///
    /// # Errors
    /// When there is one where the target is.
    pub fn spare_logs(&self) -> Result<(), Failure> {
        let OutputTarget::File(path) = self else { return Ok(()) };
        let mut first = Vec::new();
        // A pipe holds no log, and whoever opened it for reading would wait.
        let read = open_regular(path)
            .and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut first));
        if read.is_ok() && first == MAGIC {
            return Err(Failure::Usage(format!(
                "{} is a Tyrion log and will not be overwritten; name another output with -o",
                path.display()
            )));
        }
        Ok(())
    }

    /// Has `body` write there; a file is there when it is whole, or not at all.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn write(
        &self,
        body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let (name, written) = match self {
            OutputTarget::Stdout => {
                let mut out = BufWriter::new(io::stdout().lock());
                ("stdout".to_owned(), body(&mut out).and_then(|()| out.flush()))
            }
            OutputTarget::File(path) => {
                let written = outputs::write(path, |file| {
                    let mut out = BufWriter::with_capacity(1 << 16, file);
                    body(&mut out).and_then(|()| out.flush())
                });
                if let Err(error) = &written
                    && let Some(folder) = missing_folder(path, error)
                {
                    return Err(Failure::new(format!(
                        "{}: there is no folder {1}; make it with mkdir -p {1}",
                        path.display(),
                        folder.display()
                    )));
                }
                (path.display().to_string(), written)
            }
        };
        written.map_err(|error| Failure::writing(&name, &error))
    }
}

/// Whether something is there that is neither file nor folder.
fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The folder that a file should have been written into, if that is what failed.
fn missing_folder<'a>(path: &'a Path, error: &io::Error) -> Option<&'a Path> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    (error.kind() == io::ErrorKind::NotFound && !folder.exists()).then_some(folder)
}

/// Says that a file was written and what to do with it: `open_with`, in which
/// `{}` stands for its name. Of a pipe there is nothing left to open.
pub fn say_written(written: &[PathBuf], name: &str, open_with: &str) {
    if written.iter().any(|path| is_stream(path)) {
        return;
    }
    let more = match written.len() {
        0 | 1 => String::new(),
        2 => " and 1 part".to_owned(),
        n => format!(" and {} parts", n - 1),
    };
    tell(&format!("wrote {name}{more}; open with: {}", open_with.replace("{}", name)));
    for path in written {
        let len = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if len > LONG_FILE {
            let mib = len >> 20;
            tell(&format!(
                "note: {} is {mib} MiB long and will load slowly; filters make it smaller",
                path.display()
            ));
        }
    }
}
