//! Numbers and texts as Flight Recorder writes them.

use super::types::id;

/// How a text is encoded: none, the empty one, and UTF-8.
const MISSING: u8 = 0;
const EMPTY: u8 = 1;
const UTF8: u8 = 3;
/// So many bytes are kept for the length of an event, which is not known before its end.
const LEN_BYTES: usize = 2;
/// The most that these can tell.
const LONGEST: usize = (1 << (7 * LEN_BYTES)) - 1;

/// Adds a number: seven bits a byte, the least significant first, and eight in the ninth.
#[inline]
pub(super) fn number(out: &mut Vec<u8>, number: u64) {
    if number < 0x80 {
        return out.push(number as u8);
    }
    let end = out.len() + (u64::BITS - number.leading_zeros()).div_ceil(7).min(9) as usize;
    // Eight bytes at once, whatever they are: lengths differ from number to number, and a branch
    // for each byte would be guessed wrong most of the time.
    let more = match end - out.len() {
        9 => u64::MAX,
        bytes => (1 << (8 * (bytes - 1))) - 1,
    };
    out.extend_from_slice(&(spread(number) | CONTINUED & more).to_le_bytes());
    out.push((number >> 56) as u8);
    out.truncate(end);
}

/// The bit of each byte that says that another one follows.
const CONTINUED: u64 = 0x8080_8080_8080_8080;

/// The 56 lower bits of a number, seven in each byte.
#[inline]
fn spread(number: u64) -> u64 {
    let fours = number & 0x0fff_ffff | (number & 0x00ff_ffff_f000_0000) << 4;
    let twos = fours & 0x0000_3fff_0000_3fff | (fours & 0x0fff_c000_0fff_c000) << 2;
    twos & 0x007f_007f_007f_007f | (twos & 0x3f80_3f80_3f80_3f80) << 1
}

/// Adds a text.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    if text.is_empty() {
        return out.push(EMPTY);
    }
    out.push(UTF8);
    number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Adds a text that may be missing.
pub(super) fn text_if_any(out: &mut Vec<u8>, known: &str) {
    if known.is_empty() { out.push(MISSING) } else { text(out, known) }
}

/// Begins an event of a type: where it stands.
#[inline]
pub(super) fn begin(out: &mut Vec<u8>, of: u64) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; LEN_BYTES]);
    number(out, of);
    at
}

/// Ends the event that stands at a place: its length, which counts itself, is put in front.
#[inline]
pub(super) fn end(out: &mut Vec<u8>, at: usize) {
    let len = out.len() - at;
    if len <= LONGEST {
        // Readers take numbers that are longer than they need be.
        if let Some([first, second]) = out.get_mut(at..at + LEN_BYTES) {
            (*first, *second) = (len as u8 | 0x80, (len >> 7) as u8);
        }
        return;
    }
    let mut told = Vec::new();
    // With its own length it may need a byte more.
    for bytes in LEN_BYTES + 1..=9 {
        told.clear();
        number(&mut told, (len - LEN_BYTES + bytes) as u64);
        if told.len() == bytes {
            break;
        }
    }
    out.splice(at..at + LEN_BYTES, told);
}

/// Adds an event of a type that began at a time; `fields` adds what comes behind that.
#[inline]
pub(super) fn event(
    bytes: &mut Vec<u8>,
    of: u64,
    start_ns: u64,
    fields: impl FnOnce(&mut Vec<u8>),
) {
    let at = begin(bytes, of);
    number(bytes, start_ns);
    fields(bytes);
    end(bytes, at);
}

/// Adds fields as if they were an event of no type: at most so many bytes that their length has one
/// byte, as a few numbers have.
#[inline]
pub(super) fn own(out: &mut Vec<u8>, fields: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    number(out, id::NONE);
    fields(out);
    let len = out.len() - at;
    debug_assert!(len < 0x80, "{len} bytes");
    if let Some(place) = out.get_mut(at) {
        *place = len as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(of: u64) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, of);
        out
    }

    #[test]
    fn numbers_have_seven_bits_a_byte_and_eight_in_the_ninth() {
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(0x7f), [0x7f]);
        assert_eq!(bytes(0x80), [0x80, 1]);
        assert_eq!(bytes(300), [0xac, 2]);
        assert_eq!(bytes(u64::MAX), [0xff; 9]);
        assert_eq!(bytes(1 << 63), [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]);
        for bit in 0..64 {
            for number in [1 << bit, (1 << bit) - 1, 0x5555_5555_5555_5555 >> bit] {
                assert_eq!(bytes(number), one_by_one(number), "{number:#x}");
            }
        }
    }

    /// As the format is described.
    fn one_by_one(mut number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < 8 && number >= 0x80 {
            out.push(number as u8 & 0x7f | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
        out
    }

    #[test]
    fn events_tell_their_length() {
        let event = |payload: usize| {
            let mut out = vec![9; 3];
            let at = begin(&mut out, 7);
            out.resize(out.len() + payload, 1);
            end(&mut out, at);
            out
        };
        assert_eq!(event(1), [9, 9, 9, 0x84, 0, 7, 1]);
        assert_eq!(event(LONGEST - 3)[3..6], [0xff, 0x7f, 7]);
        let long = event(LONGEST - 2);
        // One byte more, and one for the length.
        assert_eq!(long[3..7], [0x81, 0x80, 1, 7]);
        assert_eq!(long.len() - 3, LONGEST + 2);
    }

    #[test]
    fn texts_tell_how_they_are_encoded() {
        let mut out = Vec::new();
        text(&mut out, "\u{e4}");
        text(&mut out, "");
        text_if_any(&mut out, "");
        text_if_any(&mut out, "b");
        assert_eq!(out, [3, 2, 0xc3, 0xa4, 1, 0, 3, 1, b'b']);
    }
}
