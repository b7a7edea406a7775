//! Classes whose locks go by the class alone.

use std::collections::{HashMap, HashSet};
use tyrion_model::{describe, filter::Kinds};
use tyrion_report::findings::groups::is_telling;
use tyrion_wire::WaitKind;

/// Classes of the program's own of which some locks were seen that have no
/// name: as in the report, all locks of such a class are one row, or else the
/// waits for an object would stand in one and its acquisitions in another.
/// What was seen stays, so that rows do not come and go.
#[derive(Clone, Debug, Default)]
pub struct TellingClasses {
    /// By class: how locks without a name were waited for, or taken.
    unnamed: HashMap<String, HashSet<u8>>,
}

impl TellingClasses {
    /// Takes up a lock of a class that the program calls so and that is waited for,
    /// or taken, in this way.
    pub fn add(&mut self, class: &str, name: &str, kind: WaitKind) {
        if name.is_empty() && is_telling(class) {
            let class = describe::readable_class(class).into_owned();
            self.unnamed.entry(class).or_default().insert(kind.code());
        }
    }

    /// Whether all locks of a class, as it is shown, go by it, where these kinds are.
    pub fn holds(&self, class: &str, kinds: Kinds) -> bool {
        let is_shown =
            |&code: &u8| WaitKind::from_code(code).is_some_and(|kind| kinds.contains(kind));
        self.unnamed.get(class).is_some_and(|of_class| of_class.iter().any(is_shown))
    }
}
