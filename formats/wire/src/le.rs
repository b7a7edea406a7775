//! Little-endian fields at fixed offsets.

/// The `u16` at `at`, or `None` past the end.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(field.try_into().ok()?))
}

/// The `u32` at `at`, or `None` past the end.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(field.try_into().ok()?))
}

/// The `u64` at `at`, or `None` past the end.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}

/// Overwrites the bytes from `at` on with `field`. Fields past the end of
/// `bytes` are a mistake of the caller and leave `bytes` as it was.
#[inline]
pub fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    if let Some(slot) = bytes.get_mut(at..at + field.len()) {
        slot.copy_from_slice(field);
    }
}
