//! Unsigned LEB128: seven bits a byte, least significant first, the high bit
//! set on every byte but the last. At most ten bytes.

/// The longest encoding of a `u64`, in bytes.
pub const MAX_LEN: usize = 10;

/// How many bytes a value takes.
#[inline]
pub fn len(value: u64) -> usize {
    // One for each seven bits begun, and one for 0.
    ((value | 1).ilog2() / 7) as usize + 1
}

/// Appends `value` to `out`.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes `value` at the front of `out` and returns the number of bytes, or
/// `None` when `out` is too short.
pub fn write(out: &mut [u8], mut value: u64) -> Option<usize> {
    let mut at = 0;
    loop {
        let slot = out.get_mut(at)?;
        at += 1;
        if value < 0x80 {
            *slot = value as u8;
            return Some(at);
        }
        *slot = value as u8 | 0x80;
        value >>= 7;
    }
}

/// The high bit of each byte of a word; clear in the last one of a value.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Reads a value from the front of `bytes`: the value and its length, or
/// `None` when the bytes end too early or the value does not fit a `u64`.
#[inline]
pub fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let word = bytes.first_chunk().map(|word| u64::from_le_bytes(*word));
    match word.and_then(of_word) {
        None => read_bytes(bytes),
        known => known,
    }
}

/// The value at the low end of a word and its length in bytes, if all of it is there: found
/// without a loop, since nobody can foresee how often that would run.
#[inline]
pub fn of_word(word: u64) -> Option<(u64, usize)> {
    let ends = !word & MORE;
    if ends == 0 {
        return None;
    }
    let bits = ends.trailing_zeros() + 1;
    Some((squeeze(word & (u64::MAX >> (64 - bits))), bits as usize / 8))
}

/// Eight groups of seven bits, pushed together.
#[inline]
pub fn squeeze(word: u64) -> u64 {
    let pairs = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4
}

/// The same byte by byte: for long values, and near the end.
fn read_bytes(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (at, &byte) in bytes.iter().take(MAX_LEN).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if at == MAX_LEN - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if byte < 0x80 {
            return Some((value, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            prop_assert_eq!(len(value), bytes.len());
            prop_assert_eq!(read(&bytes), Some((value, bytes.len())));
            let mut fixed = [0; MAX_LEN];
            prop_assert_eq!(write(&mut fixed, value), Some(bytes.len()));
            prop_assert_eq!(&fixed[..bytes.len()], &bytes[..]);
            bytes.resize(bytes.len() + 8, 0xff);
            prop_assert_eq!(read(&bytes), Some((value, len(value))));
            bytes.truncate(len(value));
            for cut in 0..bytes.len() {
                prop_assert_eq!(read(&bytes[..cut]), None);
                prop_assert_eq!(write(&mut fixed[..cut], value), None);
            }
        }
    }

    #[test]
    fn rejects_more_than_64_bits() {
        assert_eq!(read(&[0xff; 11]), None);
        let mut eleven_bits_too_many = [0xff; 10];
        eleven_bits_too_many[9] = 2;
        assert_eq!(read(&eleven_bits_too_many), None);
    }
}
