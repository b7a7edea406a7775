//! No JVM that writes a log runs here.

use super::LogSource;
use crate::outcome::Failure;

/// Whether this is a process id.
pub(super) fn is_process(target: &str) -> bool {
    !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a JVM can be called so.
pub(super) fn may_be(_target: &str) -> bool {
    true
}

/// Says that there is none.
///
/// # Errors
/// Always.
pub(super) fn log(_target: &str) -> Result<LogSource, Failure> {
    Err(Failure::needs_linux("top of a JVM"))
}
