//! Which lock is meant.

use crate::outcome::Failure;
use regex::Regex;
use std::collections::BTreeSet;
use tyrion_model::{harmless, names::lock_called, profile::Profile};
use tyrion_report::findings::{LockGroups, LockRef};

/// The locks of a group, or one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockChoice {
    pub group: u32,
    /// Its id in the log.
    pub lock: Option<u32>,
    pub name: LockRef,
}

/// Finds the locks that a name stands for.
///
/// # Errors
/// When there are none, or those of several groups.
pub fn choose(
    profile: &Profile,
    groups: &LockGroups,
    name: &str,
    pattern: &Regex,
) -> Result<LockChoice, Failure> {
    let all = || 0..groups.len() as u32;
    let of = |group: u32| groups.lock_ref(group);
    let exactly: Vec<u32> = all()
        .filter(|&group| {
            let lock = of(group);
            let class = lock_called(&lock.name, &lock.class, "");
            [lock.name.as_str(), &lock.class, &class, &lock.label()].contains(&name)
        })
        .collect();
    let found: Vec<u32> = match exactly.is_empty() {
        false => exactly,
        true => all().filter(|&group| matches(pattern, &of(group))).collect(),
    };
    if found.is_empty() {
        return one_of_a_group(profile, groups, name, pattern);
    }
    // Of several the one that threads waited for.
    let waited = waited_for(profile, groups);
    let hot: Vec<u32> = found.iter().copied().filter(|group| waited.contains(group)).collect();
    match (&found[..], &hot[..]) {
        ([group], _) | (_, [group]) => {
            Ok(LockChoice { group: *group, lock: None, name: of(*group) })
        }
        (_, []) => Err(which(name, found.into_iter().map(of))),
        _ => Err(which(name, hot.into_iter().map(of))),
    }
}

fn matches(pattern: &Regex, lock: &LockRef) -> bool {
    (!lock.name.is_empty() && pattern.is_match(&lock.name))
        || pattern.is_match(&lock.class)
        || pattern.is_match(&lock.label())
}

/// The groups of locks that threads waited for.
fn waited_for(profile: &Profile, groups: &LockGroups) -> BTreeSet<u32> {
    let waits = profile.waits.iter().filter(|wait| wait.kind.is_contention());
    waits.map(|wait| groups.of(wait.lock)).collect()
}

/// A lock by its identity.
fn one_of_a_group(
    profile: &Profile,
    groups: &LockGroups,
    name: &str,
    pattern: &Regex,
) -> Result<LockChoice, Failure> {
    let locks = profile.locks.iter().enumerate().filter(|(_, lock)| lock.id != 0);
    let mut found: Vec<LockChoice> = locks
        .map(|(at, lock)| LockChoice {
            group: groups.of(at as u32),
            lock: Some(lock.id),
            name: LockRef { name: lock.name.clone(), class: lock.class.clone(), id: lock.id },
        })
        .filter(|chosen| {
            let LockRef { class, id, .. } = &chosen.name;
            pattern.is_match(&format!("{class}#{id}")) || pattern.is_match(&chosen.name.label())
        })
        .collect();
    // Of several recordings, or files of one.
    found.dedup();
    match found.len() {
        0 => Err(Failure::Usage(format!(
            "no lock matches '{}'; tyrion report names those that threads waited for",
            harmless::name(name)
        ))),
        1 => Ok(found.remove(0)),
        _ => Err(which(name, found.into_iter().map(|chosen| chosen.name))),
    }
}

/// So many are listed.
const MOST_LISTED: usize = 20;

fn which(name: &str, locks: impl Iterator<Item = LockRef>) -> Failure {
    let mut lines: Vec<String> = locks.map(|lock| format!("  {}", lock.label())).collect();
    let count = lines.len();
    if count > MOST_LISTED {
        lines.truncate(MOST_LISTED);
        lines.push(format!("  and {} more", count - MOST_LISTED));
    }
    Failure::Which(
        format!("{count} locks match '{}'; say which, by name and class:", harmless::name(name)),
        lines,
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::filters::lock_value;
    use tyrion_model::profile::{Lock, NO_OWNER, WaitRow};
    use tyrion_wire::WaitKind;

    fn profile() -> Profile {
        let lock = |id: u32, class: &str, name: &str| Lock {
            run: 0,
            id,
            class: class.to_owned(),
            name: name.to_owned(),
        };
        let waits = [0, 2, 3].map(|lock| WaitRow {
            thread: 0,
            stack: 0,
            lock,
            kind: WaitKind::Monitor,
            owner: NO_OWNER,
            count: 1,
            wait_ns: 1,
            max_ns: 1,
        });
        Profile {
            locks: vec![
                lock(1, "java.lang.Object", "Cache.lock"),
                lock(0, "java.lang.Object", "Cache.lockOfMisses"),
                lock(2, "com.acme.Account", ""),
                lock(3, "com.acme.Account", ""),
                lock(4, "java.lang.Object", "Log.lock"),
            ],
            waits: waits.to_vec(),
            ..Profile::default()
        }
    }

    fn chosen(name: &str) -> Result<(String, Option<u32>), String> {
        let profile = profile();
        let groups = LockGroups::new(&profile);
        let pattern = lock_value(name).or_else(|_| lock_value(&regex::escape(name))).unwrap();
        match choose(&profile, &groups, name, &pattern) {
            Ok(chosen) => Ok((chosen.name.label(), chosen.lock)),
            Err(Failure::Which(text, lines)) => Err(format!("{text}{}", lines.concat())),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn locks_are_chosen_by_what_they_are_called() {
        let cache = "Cache.lock (java.lang.Object#1)".to_owned();
        for name in ["Cache.lock", "Cache", "Cache.*", &cache, "java.lang.Object"] {
            assert_eq!(chosen(name), Ok((cache.clone(), None)), "{name}");
        }
        assert_eq!(chosen("Account"), Ok(("com.acme.Account".to_owned(), None)));
        assert_eq!(chosen("Account#3"), Ok(("com.acme.Account#3".to_owned(), Some(3))));
        assert_eq!(chosen("Log"), Ok(("Log.lock (java.lang.Object#4)".to_owned(), None)));
    }

    #[test]
    fn what_is_not_clear_is_asked_back() {
        let several = chosen(".").unwrap_err();
        assert!(several.contains("2 locks match '.'"), "{several}");
        assert!(several.contains("com.acme.Account") && !several.contains("Misses"), "{several}");
        let none = chosen("Nothing\u{1b}[31m").unwrap_err();
        assert!(none.contains("no lock matches 'Nothing_[31m'"), "{none}");
        let instances = chosen("Account#[23]").unwrap_err();
        assert!(instances.contains("2 locks match"), "{instances}");
    }
}
