//! Sets of kinds of waits.

use super::error::FilterError;
use tyrion_wire::WaitKind;

/// A set of kinds of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u16);

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

    /// Waiting for something to happen: neither lock contention nor the lock
    /// taken again after `Condition.await`.
    pub fn idle() -> Kinds {
        Kinds(0).with(WaitKind::ObjectWait).with(WaitKind::Condition).with(WaitKind::Park)
    }

    /// The set and this kind.
    pub fn with(self, kind: WaitKind) -> Kinds {
        Kinds(self.0 | 1 << kind.code())
    }

    /// Whether the kind is in the set.
    pub fn contains(self, kind: WaitKind) -> bool {
        self.0 & 1 << kind.code() != 0
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
    fn kinds_are_named_alone_and_in_groups() {
        let kinds = Kinds::parse("monitor, park").unwrap();
        assert!(kinds.contains(WaitKind::Monitor) && kinds.contains(WaitKind::Park));
        assert!(!kinds.contains(WaitKind::Lock));
        assert_eq!(Kinds::parse("contention,idle,lock-reacquire"), Ok(Kinds::all()));
        assert_eq!(Kinds::parse("all"), Ok(Kinds::all()));
        assert!(!Kinds::contention().contains(WaitKind::LockReacquire));
        let error = Kinds::parse("monitors").unwrap_err().to_string();
        assert!(error.contains("`monitors`") && error.contains("lock-reacquire"), "{error}");
    }
}
