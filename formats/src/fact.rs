//! What recordings tell and outputs show, as `docs/formats.md` names it.

/// Something that an input may tell and an output may show. What either of them lacks is
/// lost between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fact {
    /// How many waits there were, and how long they took.
    Waits,
    /// When each wait was.
    Moments,
    /// How each wait ended.
    Outcomes,
    /// Which thread it was.
    Threads,
    /// Where in the program.
    Stacks,
    /// On which lines of its source.
    Lines,
    /// What kind of wait.
    Kinds,
    /// The class of the lock.
    LockClasses,
    /// What the program calls the lock.
    LockNames,
    /// Which object the lock was.
    LockIdentities,
    /// Who had the lock when the wait began.
    Owners,
    /// Who ended the wait.
    Wakers,
    /// How often locks were acquired.
    Acquisitions,
    /// How long they were held.
    Holds,
    /// Whom others waited for.
    Blame,
    /// Which locks were acquired while others were held.
    Nesting,
    /// What threads were doing, by samples.
    Samples,
    /// Pauses of the garbage collector.
    Collections,
}

impl Fact {
    /// Every fact, in the order of the documents.
    pub const ALL: [Fact; 18] = [
        Fact::Waits,
        Fact::Moments,
        Fact::Outcomes,
        Fact::Threads,
        Fact::Stacks,
        Fact::Lines,
        Fact::Kinds,
        Fact::LockClasses,
        Fact::LockNames,
        Fact::LockIdentities,
        Fact::Owners,
        Fact::Wakers,
        Fact::Acquisitions,
        Fact::Holds,
        Fact::Blame,
        Fact::Nesting,
        Fact::Samples,
        Fact::Collections,
    ];

    /// What it is, for people.
    pub fn name(self) -> &'static str {
        match self {
            Fact::Waits => "number and duration of waits",
            Fact::Moments => "when each wait was",
            Fact::Outcomes => "how each wait ended",
            Fact::Threads => "threads",
            Fact::Stacks => "stacks",
            Fact::Lines => "line numbers",
            Fact::Kinds => "kinds of wait",
            Fact::LockClasses => "classes of locks",
            Fact::LockNames => "names of locks",
            Fact::LockIdentities => "lock objects",
            Fact::Owners => "owners",
            Fact::Wakers => "who ended waits",
            Fact::Acquisitions => "acquisitions",
            Fact::Holds => "hold times",
            Fact::Blame => "blame",
            Fact::Nesting => "nested locks",
            Fact::Samples => "samples",
            Fact::Collections => "garbage collections",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fact;

    #[test]
    fn all_facts_are_listed_in_order() {
        assert!(Fact::ALL.is_sorted_by(|a, b| a < b));
        // One that is missing from the list would make a gap.
        assert_eq!(Fact::ALL.map(|fact| fact as usize), std::array::from_fn(|at| at));
    }
}
