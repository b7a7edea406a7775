//! Walls: which files may know which.
//!
//! In every crate of the workspace, no circle of files that use each other is
//! larger than what one file and its child modules make, and children of one
//! file make none without it. In the agent, what stands below knows nothing of
//! what stands above, and the modes do not know each other.
//!
//! Read are the `use` declarations and paths of the sources, without tests. A
//! file that only passes a name on (`pub use`) does not count as using it.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "walls/names.rs"]
mod names;
#[path = "walls/source.rs"]
mod source;

use source::Crate;
use std::{collections::BTreeSet, path::Path};

/// The crates of more than a file or two, by the folder of their sources.
const CRATES: [&str; 11] = [
    "agent/src",
    "agent/bytecode/src",
    "agent/options/src",
    "agent/plan/src",
    "cli/src",
    "converters/src",
    "converters/model/src",
    "converters/report/src",
    "converters/whatif/src",
    "formats/src",
    "formats/wire/src",
];

/// The agent's modules from the bottom up. Those on one line do not know each
/// other, nor anything above.
const AGENT: [&[&str]; 9] = [
    &["clock", "fingerprint", "message", "sync", "table"],
    &["random", "spawn", "work"],
    &["own_cpu"],
    &["groups", "jvm"],
    &["log"],
    &["options"],
    &["recorder"],
    &["contention", "sample", "trace"],
    &["agent"],
];

/// The crates of the reading side from the bottom up, by folder and package. Those of one
/// floor do not know each other, but for what the third list names.
const FLOORS: [&[(&str, &str)]; 6] = [
    &[
        ("formats/wire", "tyrion-wire"),
        ("formats/harmless", "tyrion-harmless"),
        ("formats/stacks", "tyrion-stacks"),
    ],
    &[("formats", "tyrion-formats")],
    &[("converters/model", "tyrion-model")],
    &[
        ("converters", "tyrion-converters"),
        ("converters/report", "tyrion-report"),
        ("converters/whatif", "tyrion-whatif"),
    ],
    &[("converters/page", "tyrion-page")],
    &[("cli", "tyrion"), ("web", "tyrion-web")],
];
/// The report's modules from the bottom up, as above.
const REPORT: [&[&str]; 9] = [
    &["options", "shell", "view"],
    &["cells", "clock"],
    &["collections", "own_cpu"],
    &["findings"],
    &["section"],
    &["sections"],
    &["conditions", "glance"],
    &["diff", "report"],
    &["render"],
];
/// A section of the report shows predictions.
const SAME_FLOOR: [(&str, &str); 1] = [("tyrion-report", "tyrion-whatif")];

fn read(folder: &str) -> Crate {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    Crate::read(&top.join(folder))
}

/// The packages that a crate needs, without those of its tests.
fn dependencies(folder: &str) -> Vec<String> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = std::fs::read_to_string(top.join(folder).join("Cargo.toml")).unwrap();
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split(['.', ' ', '=']).next()).map(str::to_owned).collect()
}

#[test]
fn crates_know_only_the_floors_below() {
    let mut below: Vec<&str> = Vec::new();
    let packages: Vec<&str> =
        FLOORS.iter().flat_map(|floor| floor.iter().map(|&(_, package)| package)).collect();
    for floor in FLOORS {
        for &(folder, package) in floor {
            let dependencies = dependencies(folder);
            let is_wrong = |of: &&String| {
                packages.contains(&of.as_str())
                    && !below.contains(&of.as_str())
                    && !SAME_FLOOR.contains(&(package, of.as_str()))
            };
            let wrong: Vec<&String> = dependencies.iter().filter(is_wrong).collect();
            assert!(wrong.is_empty(), "{package} knows {wrong:?}");
            assert_eq!(below.is_empty(), dependencies.is_empty(), "{package}: {dependencies:?}");
        }
        below.extend(floor.iter().map(|&(_, package)| package));
    }
}

#[test]
fn no_circle_is_larger_than_a_file_with_its_children() {
    let mut wrong = Vec::new();
    for folder in CRATES {
        let of = read(folder);
        assert!(of.files().len() > 3, "{folder} was not read");
        for circle in of.circles() {
            let files: Vec<&str> = circle.iter().map(|&file| of.name(file)).collect();
            wrong.push(format!("{folder}: {files:?}\n{}", of.ties(&circle)));
        }
    }
    assert!(wrong.is_empty(), "circles:\n{}", wrong.join("\n"));
}

#[test]
fn in_the_agent_nobody_knows_what_stands_above() {
    check_floors(&read("agent/src"), &AGENT);
}

/// So sections know no renderer. Renderers draw what any section says.
#[test]
fn in_the_report_nobody_knows_what_stands_above() {
    let of = read("converters/report/src");
    check_floors(&of, &REPORT);
    for (from, to, names) in of.uses() {
        let knows = of.top(from) == Some("render") && of.top(to) == Some("sections");
        assert!(!knows, "{} uses {names:?} of {}", of.name(from), of.name(to));
    }
}

fn check_floors(of: &Crate, floors: &[&[&str]]) {
    let floor = |module: &str| floors.iter().position(|floor| floor.contains(&module));
    let mut wrong = Vec::new();
    for (from, to, names) in of.uses() {
        let (Some(above), Some(below)) = (of.top(from), of.top(to)) else {
            panic!("{} uses what stands in the root", of.name(from));
        };
        let known = |module: &str| floor(module).unwrap_or_else(|| panic!("{module} has no floor"));
        if above != below && known(above) <= known(below) {
            wrong.push(format!("{} uses {names:?} of {}", of.name(from), of.name(to)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all: BTreeSet<&str> = of.files().iter().filter_map(|&file| of.top(file)).collect();
    assert_eq!(all.len(), floors.iter().map(|floor| floor.len()).sum(), "{all:?}");
}

/// What the tests above say of crates that were written for this one.
mod checks {
    use super::source::Crate;
    use std::path::Path;

    fn crate_of(files: &[(&str, &str)]) -> (tempfile::TempDir, Crate) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let read = Crate::read(Path::new(folder.path()));
        (folder, read)
    }

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let (_folder, of) = crate_of(files);
        let names = |circle: Vec<usize>| circle.iter().map(|&f| of.name(f).to_owned()).collect();
        of.circles().into_iter().map(names).collect()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let lib = ("lib.rs", "mod a; mod b; mod c;");
        let two = [lib, ("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { crate::c::f() }")];
        let open = [two.as_slice(), &[("c.rs", "use std::fmt;")]].concat();
        assert!(circles(&open).is_empty());
        let closed = [two.as_slice(), &[("c.rs", "use super::{a::{self, A}, std};")]].concat();
        assert_eq!(circles(&closed), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_file_and_its_children_may_use_each_other() {
        let family = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c; use b::B; pub struct A; fn f() { c::f() }"),
            ("a/b.rs", "use super::A; pub struct B;"),
            ("a/c.rs", "use super::A; pub fn f() {}"),
        ];
        assert!(circles(&family).is_empty());
        // But not two children without it.
        let mut siblings = family;
        siblings[2].1 = "use super::c::f; pub struct B;";
        siblings[3].1 = "use super::b::B; pub fn f() {}";
        assert_eq!(circles(&siblings), [["a/b.rs", "a/c.rs"]]);
        // Nor somebody else's.
        let mut others = family.to_vec();
        others[0].1 = "mod a; mod d;";
        others[3].1 = "use crate::d::D;";
        others.push(("d.rs", "use crate::a::A; pub struct D;"));
        assert_eq!(circles(&others), [["a.rs", "a/b.rs", "a/c.rs", "d.rs"]]);
    }

    #[test]
    fn names_that_are_passed_on_are_those_of_who_has_them() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod c; pub mod d; pub use c::{C, f as g};"),
            ("a/c.rs", "pub struct C; pub fn f() {}"),
            ("a/d.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a; pub struct B; fn f() { a::g(); }"),
        ];
        let (_folder, of) = crate_of(&files);
        let uses: Vec<_> = of.uses().map(|(from, to, _)| (of.name(from), of.name(to))).collect();
        assert_eq!(uses, [("a/d.rs", "b.rs"), ("b.rs", "a/c.rs")]);
    }

    #[test]
    fn tests_comments_and_texts_do_not_count() {
        let text = r##"
            // crate::b::f
            /* use crate::b::B; /* nested */ use crate::b::B; */
            const A: &str = "crate::b::f\" crate::b::f"; const B: &str = r#"" crate::b"#;
            fn f<'b>(c: char) -> bool { c == '"' || c == '\'' }
            #[cfg(test)]
            mod tests { use crate::b::B; #[test] fn t() {} }
            #[cfg(test)]
            use crate::b::B;
        "##;
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod t;"),
            ("a.rs", text),
            ("b.rs", "use crate::a::A; mod i { use super::super::a; pub const J: u8 = super::K; }"),
            ("t.rs", "use crate::b::B;"),
        ];
        let (_folder, of) = crate_of(&files);
        let uses: Vec<_> = of.uses().map(|(from, to, _)| (of.name(from), of.name(to))).collect();
        assert_eq!(uses, [("b.rs", "a.rs")]);
    }
}
