//! Which code is the program's own, and not a library's.
//!
//! A log does not tell where a class was loaded from. But a program begins in one of its own
//! classes: what shares the packages of its `main` is its own, too.

use std::{cmp::Reverse, collections::BTreeSet};
use tyrion_formats::Recording;
use tyrion_model::{names::is_jdk, profile::Profile};

/// Packages below that of a country or of an organization's kind are an organization's own.
const LEAST_SHARED: usize = 2;

/// The packages that are the program's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramCode {
    /// Those that the user named. If there are any, nothing is inferred.
    named: Vec<String>,
    /// Those of the classes in which it begins; the empty one is of classes without a package.
    mains: BTreeSet<Vec<String>>,
}

impl ProgramCode {
    /// That of logs, in whose profile there are the stacks.
    pub fn of(logs: &[Recording], profile: &Profile, packages: &[String]) -> ProgramCode {
        let cleaned = packages.iter().map(|it| it.trim().trim_end_matches(['.', '*']));
        let named: Vec<String> = cleaned.filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let programs = logs.iter().filter_map(|log| log.facts().metadata("program"));
        // A jar is no class, nor is the path of a script.
        let of_header = programs.filter(|it| !it.ends_with(".jar") && !it.contains('/'));
        let of_stacks = profile.functions.iter().filter(|it| it.method == "main");
        let classes = of_header.chain(of_stacks.map(|it| it.class.as_str()));
        let classes = classes.filter(|class| !class.is_empty() && !is_jdk(class));
        let mains = classes.map(|class| packages_of(class).map(str::to_owned).collect()).collect();
        ProgramCode { named, mains }
    }

    /// That in packages which the user has named.
    #[cfg(test)]
    pub(crate) fn named(packages: &[&str]) -> ProgramCode {
        let named = packages.iter().map(|it| (*it).to_owned()).collect();
        ProgramCode { named, ..ProgramCode::default() }
    }

    /// Whether anything tells which it is.
    pub fn is_known(&self) -> bool {
        !self.named.is_empty() || !self.mains.is_empty()
    }

    /// The innermost frame of the program's own code among these, which are written like
    /// `com.acme.Foo.bar(Foo.java:12)`, innermost first.
    pub fn frame<'f>(&self, frames: &'f [String]) -> Option<&'f str> {
        let scored = frames.iter().enumerate().filter_map(|(at, frame)| {
            let score = self.score(class_of(frame)?)?;
            Some(((score, Reverse(at)), frame.as_str()))
        });
        scored.max_by_key(|(key, _)| *key).map(|(_, frame)| frame)
    }

    /// The same, and what of the program's own code called it: what is innermost may be a
    /// helper. `com.acme.Sleep.now(Sleep.java:3) < com.acme.Shop.sell(Shop.java:12)`.
    pub fn place(&self, frames: &[String]) -> Option<String> {
        let own = self.frame(frames)?;
        let outer = frames.iter().skip_while(|frame| *frame != own).skip(1);
        let method = |frame: &str| frame.split('(').next().map(str::to_owned);
        // Classes that the JVM makes for lambdas say nothing of who calls.
        let is_told = |class: &str| self.score(class).is_some() && !class.contains("$$Lambda");
        let mut callers = outer.filter(|it| class_of(it).is_some_and(is_told));
        let caller = callers.find(|caller| method(caller) != method(own));
        Some(caller.map_or_else(|| own.to_owned(), |caller| format!("{own} < {caller}")))
    }

    /// Whether a frame is of it.
    pub fn is_own(&self, frame: &str) -> bool {
        class_of(frame).is_some_and(|class| self.score(class).is_some())
    }

    /// Whether a thread with these frames runs the program's own code and nobody else's, and
    /// no task that it has got from a pool.
    pub fn is_own_thread(&self, frames: &[String]) -> bool {
        let mut others = frames.iter().filter_map(|it| class_of(it)).filter(|it| !is_jdk(it));
        let is_own = others.clone().next().is_some() && others.all(|it| self.score(it).is_some());
        is_own && !frames.iter().any(|frame| is_of_pool(frame))
    }

    /// How surely a class is the program's own, if it is.
    fn score(&self, class: &str) -> Option<usize> {
        if is_jdk(class) {
            return None;
        }
        if !self.named.is_empty() {
            let is_below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '$']);
            let is_of = |it: &String| class.strip_prefix(it.as_str()).is_some_and(is_below);
            return self.named.iter().any(is_of).then_some(0);
        }
        self.mains.iter().filter_map(|main| shared(main, class)).max()
    }
}

/// Where threads of the JDK's pools run tasks.
const POOLS: [&str; 2] = [
    "java.util.concurrent.ThreadPoolExecutor.runWorker(",
    "java.util.concurrent.ForkJoinTask.doExec(",
];

/// Whether a frame is the one in which a pool of the JDK's runs a task.
pub fn is_of_pool(frame: &str) -> bool {
    POOLS.iter().any(|pool| frame.starts_with(pool))
}

/// How many packages a class shares with `main`'s, if that is enough.
fn shared(main: &[String], class: &str) -> Option<usize> {
    if main.is_empty() {
        return packages_of(class).next().is_none().then_some(usize::MAX);
    }
    let same = main.iter().zip(packages_of(class)).take_while(|(a, b)| a == b).count();
    (same >= main.len().min(LEAST_SHARED)).then_some(same)
}

/// The packages of a class, the outermost first.
fn packages_of(class: &str) -> impl Iterator<Item = &str> {
    class.rsplit_once('.').into_iter().flat_map(|(package, _)| package.split('.'))
}

/// The class of a frame; `None` of one that is no Java method's.
fn class_of(frame: &str) -> Option<&str> {
    let method = frame.split_once('(').map_or(frame, |(method, _)| method);
    method.rsplit_once('.').map(|(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(mains: &[&str], named: &[&str]) -> ProgramCode {
        let mains = mains.iter().map(|it| packages_of(it).map(str::to_owned).collect()).collect();
        ProgramCode { named: named.iter().map(|it| (*it).to_owned()).collect(), mains }
    }

    fn frame<'f>(code: &ProgramCode, frames: &'f [&str]) -> Option<&'f str> {
        let owned: Vec<String> = frames.iter().map(|it| (*it).to_owned()).collect();
        let found = code.frame(&owned)?.to_owned();
        frames.iter().find(|it| **it == found).copied()
    }

    const STACK: [&str; 5] = [
        "java.lang.Object.wait(Object.java)",
        "org.apache.pool.Pool.borrow(Pool.java:7)",
        "com.acme.db.Rows.read(Rows.java:12)",
        "com.acme.Shop.sell(Shop.java:3)",
        "java.lang.Thread.run(Thread.java:840)",
    ];

    #[test]
    fn what_shares_the_packages_of_main_is_the_programs() {
        assert_eq!(frame(&code(&["com.acme.db.tools.Main"], &[]), &STACK), Some(STACK[2]));
        assert_eq!(frame(&code(&["com.acme.Main"], &[]), &STACK), Some(STACK[2]));
        assert_eq!(frame(&code(&["com.other.Main"], &[]), &STACK), None);
        // More is shared with what is around the pool than with the pool.
        let server = ["org.apache.pool.Pool.borrow(Pool.java:7)", "org.apache.cat.A.b(A.java:1)"];
        assert_eq!(frame(&code(&["org.apache.cat.Bootstrap"], &[]), &server), Some(server[1]));
    }

    #[test]
    fn classes_without_a_package_belong_to_such_a_main() {
        let frames =
            ["org.lib.Lib.get(Lib.java:1)", "Teller.ask(Case.java:9)", "Case.main(C.java)"];
        assert_eq!(frame(&code(&["Case"], &[]), &frames), Some(frames[1]));
        assert_eq!(frame(&code(&["com.acme.Main"], &[]), &frames), None);
    }

    #[test]
    fn callers_are_methods_that_somebody_wrote() {
        let place = |frames: &[&str]| {
            let frames: Vec<String> = frames.iter().map(|it| (*it).to_owned()).collect();
            code(&["com.acme.Main"], &[]).place(&frames)
        };
        let [inner, lambda, outer] = [
            "com.acme.Db.lambda$get$1(Db.java:7)",
            "com.acme.Db$$Lambda.run",
            "com.acme.Shop.sell",
        ];
        assert_eq!(place(&[inner, lambda, outer]), Some(format!("{inner} < {outer}")));
        assert_eq!(place(&[inner, lambda]).as_deref(), Some(inner));
    }

    #[test]
    fn packages_that_are_named_are_the_only_ones() {
        assert_eq!(frame(&code(&["com.acme.Main"], &["org.apache"]), &STACK), Some(STACK[1]));
        assert_eq!(frame(&code(&["com.acme.Main"], &["org.apach"]), &STACK), None);
        assert_eq!(frame(&code(&[], &[]), &STACK), None);
    }
}
