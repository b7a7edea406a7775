//! Shares totals out over the stacks that were sampled.

/// Shares `total` out in proportion to `weights`: whole numbers that add up to
/// it exactly. What rounding down leaves goes to the largest remainders, the
/// first ones where they are equal. Weights that are all 0 count as equal.
pub fn shares(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().copied().map(u128::from).sum();
    if sum == 0 {
        return match weights {
            [] => Vec::new(),
            _ => shares(total, &vec![1; weights.len()]),
        };
    }
    let mut left = total;
    let mut shares = Vec::with_capacity(weights.len());
    let mut remainders = Vec::with_capacity(weights.len());
    for (at, &weight) in weights.iter().enumerate() {
        let product = u128::from(total) * u128::from(weight);
        // No more than the total, since no weight is more than the sum.
        let share = (product / sum) as u64;
        left -= share;
        shares.push(share);
        remainders.push((std::cmp::Reverse(product % sum), at));
    }
    // Fewer are left than there are weights whose remainder is not 0.
    let count = usize::try_from(left).unwrap_or(usize::MAX).min(remainders.len());
    if count > 0 {
        remainders.select_nth_unstable(count - 1);
        for &(_, at) in &remainders[..count] {
            shares[at] += 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn remainders_go_to_the_largest_and_then_to_the_first() {
        assert_eq!(shares(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(shares(10, &[0, 5, 1]), [0, 8, 2]);
        assert_eq!(shares(2, &[1, 2, 2]), [0, 1, 1]);
        assert_eq!(shares(1, &[3, 3]), [1, 0]);
        assert_eq!(shares(7, &[0, 0]), [4, 3]);
        assert_eq!(shares(7, &[]), [0; 0]);
        assert_eq!(shares(0, &[1, 2]), [0, 0]);
        assert_eq!(shares(u64::MAX, &[u64::MAX; 3]), [u64::MAX / 3; 3]);
    }

    proptest! {
        #[test]
        fn sums_are_exact_and_shares_are_fair(
            total: u64,
            weights in vec(prop_oneof![Just(0), 1..9u64, any::<u64>()], 1..40),
        ) {
            let shares = shares(total, &weights);
            let added: u128 = shares.iter().copied().map(u128::from).sum();
            prop_assert_eq!(added, u128::from(total));
            let sum: u128 = weights.iter().copied().map(u128::from).sum();
            for (share, weight) in shares.iter().zip(&weights) {
                let product = u128::from(total) * u128::from(*weight);
                let Some(floor) = product.checked_div(sum) else { continue };
                let share = u128::from(*share);
                prop_assert!(share == floor || share == floor + 1);
                prop_assert!(*weight > 0 || share == 0);
            }
        }
    }
}
