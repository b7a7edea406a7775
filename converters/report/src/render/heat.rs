//! How much stands out.

/// The number of levels that are told apart.
pub(super) const LEVELS: usize = 8;

/// The level of an amount beside the largest one: none for nothing. By the
/// square root, so that what is small beside the largest one can be seen.
pub(super) fn level(amount: u64, most: u64) -> Option<usize> {
    if amount == 0 || most == 0 {
        return None;
    }
    // Without floating point: the first level whose upper bound is not less.
    let levels = LEVELS as u128;
    let (amount, most) = (u128::from(amount), u128::from(most));
    let bound = |level: u128| (level + 1) * (level + 1) * most;
    let found = (0..levels).find(|&level| amount * levels * levels <= bound(level));
    Some(found.unwrap_or(levels - 1) as usize)
}

/// The largest amount of a level.
pub(super) fn bound(level: usize, most: u64) -> u64 {
    let share = (level as u128 + 1) * (level as u128 + 1);
    (share * u128::from(most) / (LEVELS * LEVELS) as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_grow_with_amounts() {
        assert_eq!(level(0, 100), None);
        assert_eq!(level(0, 0), None);
        assert_eq!(level(1, 1_000_000), Some(0));
        assert_eq!(level(64, 64), Some(7));
        assert_eq!(level(u64::MAX, u64::MAX), Some(7));
        for at in 0..LEVELS {
            let most = 6_400;
            assert_eq!(level(bound(at, most), most), Some(at));
            assert_eq!(level(bound(at, most) + 1, most), Some((at + 1).min(LEVELS - 1)));
        }
    }
}
