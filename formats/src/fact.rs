//! What recordings tell and outputs show, as `docs/formats.md` names it.

tyrion_wire::named_enum! {
    /// Something that an input may tell and an output may show. What either of them lacks is
    /// lost between the two.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Fact {
        /// How many waits there were, and how long they took.
        Waits => "number and duration of waits",
        /// When each wait was.
        Moments => "when each wait was",
        /// How each wait ended.
        Outcomes => "how each wait ended",
        /// Which thread it was.
        Threads => "threads",
        /// Where in the program.
        Stacks => "stacks",
        /// On which lines of its source.
        Lines => "line numbers",
        /// What kind of wait.
        Kinds => "kinds of wait",
        /// The class of the lock.
        LockClasses => "classes of locks",
        /// What the program calls the lock.
        LockNames => "names of locks",
        /// Which object the lock was.
        LockIdentities => "lock objects",
        /// Who had the lock when the wait began.
        Owners => "owners",
        /// Who ended the wait.
        Wakers => "who ended waits",
        /// How often locks were acquired.
        Acquisitions => "acquisitions",
        /// How long they were held.
        Holds => "hold times",
        /// Whom others waited for.
        Blame => "blame",
        /// Which locks were acquired while others were held.
        Nesting => "nested locks",
        /// What threads were doing, by samples.
        Samples => "samples",
        /// Pauses of the garbage collector.
        Collections => "garbage collections",
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
