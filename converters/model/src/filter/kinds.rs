//! Sets of kinds of waits.

use super::error::FilterError;
use tyrion_wire::WaitKind;

/// A set of kinds of waits. Beside kinds it may hold those waits of the kinds of
/// [`Kinds::idle`] that withhold work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u16);

/// Stands for waits that withhold work; no kind has this code.
const WITHHELD: u16 = 1 << 15;

impl Kinds {
    /// Every kind.
    pub fn all() -> Kinds {
        WaitKind::ALL.into_iter().fold(Kinds(0), Kinds::with)
    }

    /// Lock contention: another thread held what this one wanted.
    pub fn contention() -> Kinds {
        let kinds = WaitKind::ALL.into_iter().filter(|kind| kind.is_contention());
        kinds.fold(Kinds(0), Kinds::with)
    }

    /// Waits for no lock that withhold work; see
    /// [`Withheld`](crate::withheld::Withheld).
    pub fn withheld() -> Kinds {
        Kinds(WITHHELD)
    }

    /// Waiting for something to happen: neither lock contention nor the lock
    /// taken again after `Condition.await`. Some of these waits withhold work.
    pub fn idle() -> Kinds {
        WaitKind::ALL.into_iter().filter(|kind| kind.is_idle()).fold(Kinds(0), Kinds::with)
    }

    /// The set and this kind.
    pub fn with(self, kind: WaitKind) -> Kinds {
        Kinds(self.0 | 1 << kind.code())
    }

    /// Whether the kind is in the set, all waits of it.
    pub fn contains(self, kind: WaitKind) -> bool {
        self.0 & 1 << kind.code() != 0
    }

    /// Whether waits that withhold work are in the set as such.
    pub fn asks_withheld(self) -> bool {
        self.0 & WITHHELD != 0
    }

    /// Whether a wait is in the set, by its kind, or because it withholds work.
    pub fn takes(self, kind: WaitKind, is_withheld: impl FnOnce() -> bool) -> bool {
        let may_be_withheld = || self.asks_withheld() && Kinds::idle().contains(kind);
        self.contains(kind) || may_be_withheld() && is_withheld()
    }

    /// Whether any wait of a kind may be in the set.
    pub fn may_take(self, kind: WaitKind) -> bool {
        self.takes(kind, || true)
    }

    /// Reads names of kinds and groups, separated by commas.
    ///
    /// # Errors
    /// When a name is neither.
    pub fn parse(text: &str) -> Result<Kinds, FilterError> {
        let mut kinds = Kinds(0);
        for name in text.split(',').map(str::trim) {
            kinds.0 |= match name {
                "all" => Kinds::all().0,
                "contention" => Kinds::contention().0,
                "idle" => Kinds::idle().0,
                "withheld" => Kinds::withheld().0,
                _ => match WaitKind::from_name(name) {
                    Some(kind) => Kinds(0).with(kind).0,
                    None => {
                        let known = WaitKind::ALL.map(WaitKind::name).join(", ");
                        return Err(FilterError::Kind(name.to_owned(), known));
                    }
                },
            };
        }
        Ok(kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_withhold_work_are_of_several_kinds() {
        let kinds = Kinds::parse("monitor,withheld").unwrap();
        assert!(kinds.asks_withheld() && !kinds.contains(WaitKind::Park));
        assert!(kinds.takes(WaitKind::Park, || true) && kinds.may_take(WaitKind::Park));
        assert!(!kinds.takes(WaitKind::Park, || false));
        assert!(kinds.takes(WaitKind::Monitor, || false));
        assert!(!kinds.takes(WaitKind::Lock, || true), "a lock is none of them");
        assert!(!Kinds::contention().may_take(WaitKind::Park));
        assert!(Kinds::idle().takes(WaitKind::Park, || false), "all of the kind");
    }

    #[test]
    fn kinds_are_named_alone_and_in_groups() {
        let kinds = Kinds::parse("monitor, park").unwrap();
        assert!(kinds.contains(WaitKind::Monitor) && kinds.contains(WaitKind::Park));
        assert!(!kinds.contains(WaitKind::Lock));
        assert_eq!(Kinds::parse("contention,idle,lock-reacquire"), Ok(Kinds::all()));
        assert_eq!(Kinds::parse("all"), Ok(Kinds::all()));
        assert!(!Kinds::contention().contains(WaitKind::LockReacquire));
        assert!(!Kinds::all().asks_withheld());
        let error = Kinds::parse("monitors").unwrap_err().to_string();
        assert!(error.contains("`monitors`") && error.contains("lock-reacquire"), "{error}");
    }
}
