//! Stacks cut down to the packages that are of interest.

use crate::{
    merge::remap,
    profile::{Function, Profile},
};

/// Keeps of every stack what stands outside of the innermost frame of these
/// packages, that frame, and the one that it called; the outermost frame alone
/// where no frame is of these packages. A group that the stack begins with
/// stays.
///
/// A package is the beginning of a class's name up to a dot, a `$` or its end.
/// Sums stay; rows that are equal then are added up. Without packages nothing
/// changes.
pub fn fold(mut profile: Profile, packages: &[String]) -> Profile {
    if packages.iter().all(|name| cleaned(name).is_none()) {
        return profile;
    }
    let kept = kept(&profile, packages);
    let stack = |stack: u32| kept.get(stack as usize).copied().unwrap_or(stack);
    remap(&mut profile, |thread| thread, stack);
    profile
}

/// `com.acme`, as it may also be written: `com.acme.` or `com.acme.*`.
fn cleaned(package: &str) -> Option<&str> {
    let name = package.trim().trim_end_matches(['.', '*']);
    (!name.is_empty()).then_some(name)
}

/// Packages by which methods are told apart.
pub struct Packages<'p>(Vec<&'p str>);

impl<'p> Packages<'p> {
    /// These, as [`fold`] takes them.
    pub fn new(names: &'p [String]) -> Packages<'p> {
        Packages(names.iter().filter_map(|name| cleaned(name)).collect())
    }

    /// Whether a class, or a method behind its class and a dot, is in one of them.
    pub fn have(&self, name: &str) -> bool {
        is_of(name, &self.0)
    }
}

/// Whether a class is in one of the packages.
fn is_of(class: &str, packages: &[&str]) -> bool {
    packages.iter().any(|package| {
        let rest = class.strip_prefix(package);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '$']))
    })
}

/// What [`fold`] keeps of each stack: one of its callers, or the stack itself.
pub fn kept(profile: &Profile, packages: &[String]) -> Vec<u32> {
    let packages: Vec<&str> = packages.iter().filter_map(|name| cleaned(name)).collect();
    if packages.is_empty() {
        return (0..profile.stacks.len() as u32).collect();
    }
    let functions: Vec<bool> =
        profile.functions.iter().map(|function| is_of(&function.class, &packages)).collect();
    let function = |frame: u32| profile.frames.get(frame as usize).map(|frame| frame.function);
    let is_of_interest = |frame: u32| {
        function(frame).is_some_and(|at| functions.get(at as usize).copied().unwrap_or(false))
    };
    let is_group = |frame: u32| {
        let function = function(frame).and_then(|at| profile.functions.get(at as usize));
        function.is_some_and(Function::is_group)
    };
    // With what is kept: whether that is the whole stack, and the next frame is
    // kept, too.
    let mut kept: Vec<(u32, bool)> = Vec::with_capacity(profile.stacks.len());
    for (at, stack) in (0..).zip(&profile.stacks) {
        let is_empty = at == 0;
        let begins_group = stack.parent == 0 && is_group(stack.frame);
        let whole = (at, true);
        kept.push(match kept.get(stack.parent as usize) {
            _ if is_empty || begins_group || is_of_interest(stack.frame) => whole,
            // The outermost frame, or the first one beyond those of interest.
            Some((_, true)) | None => (at, false),
            Some(&callers) => callers,
        });
    }
    kept.into_iter().map(|(stack, _)| stack).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_end_at_the_ends_of_names() {
        let packages = ["com.acme", "org.foo.Bar"];
        for class in ["com.acme.X", "com.acme.db.Y$Z", "com.acme", "org.foo.Bar", "org.foo.Bar$1"] {
            assert!(is_of(class, &packages), "{class}");
        }
        for class in ["com.acmeother.X", "com", "org.foo.Bars", "", "x.com.acme.X"] {
            assert!(!is_of(class, &packages), "{class}");
        }
        assert_eq!(cleaned(" com.acme.* "), Some("com.acme"));
        assert_eq!(cleaned("com.acme."), Some("com.acme"));
        assert_eq!(cleaned("*"), None);
    }
}
