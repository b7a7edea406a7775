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

/// Reads a value from the front of `bytes`: the value and its length, or
/// `None` when the bytes end too early or the value does not fit a `u64`.
pub fn read(bytes: &[u8]) -> Option<(u64, usize)> {
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
