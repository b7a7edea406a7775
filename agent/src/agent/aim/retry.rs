//! What has failed is tried again, less and less often.

const FIRST_NS: u64 = 500_000_000;
const LONGEST_NS: u64 = 60_000_000_000;

/// When to try again.
pub struct Retry {
    due_ns: u64,
    pause_ns: u64,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { due_ns: 0, pause_ns: FIRST_NS }
    }
}

impl Retry {
    /// Nothing has failed.
    pub fn reset(&mut self) {
        *self = Retry::default();
    }

    /// Whether it is time for another attempt; then the next one is due later.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        self.due_ns = now_ns.saturating_add(self.pause_ns);
        self.pause_ns = (self.pause_ns * 2).min(LONGEST_NS);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(retry: &mut Retry, from_s: u64, to_s: u64) -> usize {
        let looks = (from_s * 100..to_s * 100).map(|nth| nth * 10_000_000);
        looks.filter(|&now_ns| retry.is_due(now_ns)).count()
    }

    #[test]
    fn the_longer_it_fails_the_less_often_it_is_tried() {
        let mut retry = Retry::default();
        // At 0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5 and 63.5 s.
        assert_eq!(attempts(&mut retry, 100, 200), 8);
        assert_eq!(attempts(&mut retry, 200, 500), 5);
        retry.reset();
        assert_eq!(attempts(&mut retry, 500, 501), 2);
    }
}
