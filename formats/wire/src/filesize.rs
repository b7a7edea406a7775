//! The length of a log's files, as users write it: for the agent, and for the
//! command line, which refuses what the agent would refuse, with its words.

/// The shortest files, in bytes: chunks take 4 KiB at least, and threads have
/// some each.
const LEAST: u64 = 64 << 10;
/// The longest files, in bytes.
const MOST: u64 = 128 << 30;

/// A length in bytes, written as JVM options have it: `64m`, `1g`, or plain
/// bytes.
///
/// # Errors
/// For people, when it is no length, too short or too long.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" => Some(0),
        "k" | "K" => Some(10),
        "m" | "M" => Some(20),
        "g" | "G" => Some(30),
        _ => None,
    };
    let bytes =
        number.parse::<u64>().ok().zip(shift).and_then(|(n, shift)| n.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if bytes < LEAST => {
            Err(format!("filesize={text} is too small; use 64k at least"))
        }
        Some(bytes) if bytes > MOST => {
            Err(format!("filesize={text} is too large; use 128g at most"))
        }
        Some(bytes) => Ok(bytes),
        None => Err(format!("filesize={text} is no size like 64m, 1g or 500000000")),
    }
}
