//! Windows has no signals: a window that is closed needs no terminal.

use std::io;

/// Nothing is to be prepared.
pub(super) fn prepare() -> io::Result<()> {
    Ok(())
}

/// No shell would go on with it.
pub(super) fn stop() {}
