//! What the agent says to the user.

use std::io::Write;
use tyrion_harmless as harmless;

/// Why recording stops after a panic.
pub const PANICKED: &str = "a mistake in the agent (a panic)";

/// Says something to the user, in one line on stderr, whatever the files are
/// called that it names.
pub fn say(message: &str) {
    // Nothing to do about a closed stderr.
    let _ = writeln!(std::io::stderr(), "tyrion: {}", harmless::text(message));
}
