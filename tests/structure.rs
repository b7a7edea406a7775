//! What documents and scripts say about the repository is so.

use crate::support::root;
use crate::support::{setup, stdout_of};
use std::collections::{BTreeMap, BTreeSet};

fn read(file: &str) -> String {
    let path = root().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What is added most often, and how many files that takes at most.
const ADDITIONS: [(&str, usize); 6] = [
    ("An input", 4),
    ("An output of `convert`", 2),
    ("A section of the report", 2),
    ("An option of the agent", 2),
    ("A kind of record in the log", 6),
    ("A kind of lock", 4),
];

/// Whether a file is a document or a test: without it, what was added works.
fn only_tells_or_tests(file: &str) -> bool {
    let is_test = |part| ["docs", "tests", "tests.rs", "examples", "fuzz.rs"].contains(&part);
    file.split('/').any(is_test)
}

/// The lists of CONTRIBUTING.md: files, and a word that each must have.
#[test]
fn what_to_add_is_where_contributing_says() {
    let text = read("CONTRIBUTING.md");
    let blocks: Vec<&str> = text.split("```add\n").skip(1).collect();
    assert!(blocks.len() >= 8, "{} lists", blocks.len());
    for (title, most) in ADDITIONS {
        let (_, rest) = text.split_once(&format!("\n{title}, ")).expect(title);
        let (says, list) = rest.split_once("```add\n").expect(title);
        let list = list.split("```").next().unwrap_or_default();
        let files = list.lines().filter_map(|line| line.split_whitespace().next());
        let files = files.filter(|file| !only_tells_or_tests(file)).count();
        assert!(files <= most, "{title}: {files} files");
        assert!(says.contains(&format!("{files} files")), "{title}: {files} files are listed");
    }
    for block in blocks {
        let (list, _) = block.split_once("```").expect("an end");
        for line in list.lines() {
            let mut words = line.split_whitespace();
            let (file, word) = (words.next().expect(line), words.next().expect(line));
            assert!(read(file).contains(word), "{file} has no {word}");
        }
    }
}

/// A first page that nobody reads to its end says too much.
#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= 900, "README.md has {words} words");
}

/// docs/README.md is the map: each page is on it.
#[test]
fn each_page_is_on_the_map() {
    let map = read("docs/README.md");
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "README.md" {
            assert!(map.contains(&format!("({name})")), "docs/README.md does not name {name}");
        }
    }
}

/// What is made from the sources, and examples, are not read from beginning to end.
fn words_by_hand(page: &str) -> usize {
    if page.starts_with("<!-- Made from ") {
        return 0;
    }
    let (mut words, mut is_code, mut is_made) = (0, false, false);
    for line in page.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let ends = ["<!-- made -->", "<!-- To here. -->"].contains(&line);
        let begins = ["<!-- made: ", "<!-- From here on made by "];
        is_made = !ends && (is_made || begins.iter().any(|begin| line.starts_with(begin)));
        let is_mark = line.trim_start().starts_with("```") || line.starts_with("<!--");
        let counts = !is_code && !is_made && !is_mark;
        words += if counts { line.split_whitespace().count() } else { 0 };
    }
    words
}

fn pages() -> Vec<String> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let names = docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().display()));
    let mut pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

/// Nobody reads more than that.
#[test]
fn the_documents_are_short() {
    let words: Vec<(usize, String)> =
        pages().into_iter().map(|page| (words_by_hand(&read(&page)), page)).collect();
    let all: usize = words.iter().map(|(words, _)| words).sum();
    assert!(all <= 50_000, "{all} words: {words:#?}");
}

/// Folders of testdata that hold what programs read, and no golden files.
const INPUTS: [&str; 4] = ["cases", "inputs", "java", "junit"];

/// A difference that nobody reads before it is committed is not looked at: each format and
/// each feature has one golden file, from the smallest input that shows it.
#[test]
fn the_golden_files_are_short() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for folder in std::fs::read_dir(root().join("testdata")).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        if INPUTS.contains(&name.as_str()) {
            continue;
        }
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let is_golden = path.extension().is_none_or(|extension| {
                !["log", "gz", "jfc", "md"].iter().any(|other| extension == *other)
            });
            if is_golden {
                let text = std::fs::read_to_string(&path).unwrap();
                *lines.entry(name.clone()).or_default() += text.lines().count();
            }
        }
    }
    assert!(lines.values().all(|lines| *lines > 0) && lines.len() >= 7, "{lines:?}");
    let all: usize = lines.values().sum();
    assert!(all <= 8_000, "{all} lines: {lines:?}");
}

#[test]
fn words_of_examples_and_of_tables_that_are_made_do_not_count() {
    let page =
        "# One\n\n```sh\nnot this\n```\n\ntwo\n<!-- made: x -->\n| no |\n<!-- made -->\nthree\n";
    assert_eq!(words_by_hand(page), 4, "with the # of the heading");
    assert_eq!(words_by_hand("<!-- Made from a table -->\nall of it\n"), 0);
}

/// What a link's `#part` is of a heading, as GitHub and others make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
    kept.map(|char| if char == ' ' { '-' } else { char }).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let more = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
    let more = more.iter().map(ToString::to_string).filter(|page| root().join(page).exists());
    let mut broken = Vec::new();
    for page in pages().into_iter().chain(more) {
        let text = read(&page);
        let folder = root().join(&page).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { root().join(&page) } else { folder.join(file) };
            let is_there = part.is_empty() && to.exists()
                || std::fs::read_to_string(&to).is_ok_and(|text| {
                    text.lines().any(|line| line.starts_with('#') && anchor(line) == part)
                });
            if !is_there {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// All sources below a folder, with texts that go over several lines in one.
fn sources(folder: &std::path::Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|it| it == "rs" || it == "java") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut pieces = text.split("\\\n");
            all.push_str(pieces.next().unwrap());
            pieces.for_each(|piece| all.push_str(piece.trim_start()));
        }
    }
}

/// docs/troubleshooting.md has the words of messages that there are, and of the fixed text of
/// each error that ends a command some.
#[test]
fn messages_are_explained() {
    let mut of_commands = String::new();
    for folder in ["cli/src", "converters", "formats"] {
        sources(&root().join(folder), &mut of_commands);
    }
    let mut all = of_commands.clone();
    for folder in ["agent", "java"] {
        sources(&root().join(folder), &mut all);
    }
    let page = read("docs/troubleshooting.md");
    let (_, tables) = page.split_once("\n## ").unwrap();
    let rows = tables.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let quoted: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    for words in &quoted {
        assert!(all.contains(words), "there is no message with `{words}`");
    }
    let errors = of_commands.split("#[error(").skip(1).filter_map(|rest| rest.split('"').nth(1));
    for error in errors {
        let is_fixed = error.split(['{', '}']).step_by(2).any(|piece| piece.len() > 8);
        let is_there = quoted.iter().any(|words| error.contains(words));
        assert!(is_there || !is_fixed, "docs/troubleshooting.md does not explain `{error}`");
    }
}

/// The majors in a part of `on_jdks!`, where they are called `jdk17`.
fn majors(part: &str) -> BTreeSet<u32> {
    let words = part.split(|letter: char| !letter.is_alphanumeric());
    words.filter_map(|word| word.strip_prefix("jdk")?.parse().ok()).collect()
}

/// `on_jdks!` and the script that gets the JDKs know the same ones.
#[test]
fn the_jdks_are_those_of_the_setup() {
    let source = read("tests/support/jdk.rs");
    let (_, all) = source.split_once("($test:ident: all) => {").expect("all");
    let (all, _) = all.split_once("};").expect("its end");
    let all = majors(all);
    let listed = stdout_of(setup("jdks.sh").arg("--list"));
    let listed: BTreeSet<u32> =
        listed.split_whitespace().map(|major| major.parse().expect("a major")).collect();
    assert_eq!(all, listed);
    let readme = read("README.md");
    for major in all {
        assert!(readme.contains(&major.to_string()), "README.md does not name Java {major}");
    }
}

/// A test that `make test` runs finds its JDK on a new machine: it is one of those that
/// the Makefile sets up.
#[test]
fn make_test_sets_up_the_jdks_of_its_tests() {
    let makefile = read("Makefile");
    let line = makefile.lines().find(|line| line.starts_with("JDKS := ")).expect("JDKS");
    let words = line.split([' ', ',', ')']);
    let set_up: BTreeSet<u32> = words.filter_map(|word| word.parse().ok()).collect();
    let source = read("tests/support/jdk.rs");
    let (_, arms) = source.split_once("macro_rules! on_jdks").expect("the macro");
    let used: BTreeSet<u32> = arms
        .split("on_jdks!(@on ")
        .skip(1)
        .flat_map(|arm| majors(arm.split(':').next().unwrap_or_default()))
        .collect();
    assert_eq!(used, set_up);
}

/// A licence that has an exception in deny.toml asks for something: NOTICE says
/// what, of the version that is built.
#[test]
fn notice_names_what_needs_it() {
    let (deny, notice, lock) = (read("deny.toml"), read("NOTICE"), read("Cargo.lock"));
    let (_, exceptions) = deny.split_once("exceptions = [").expect("exceptions");
    let (exceptions, _) = exceptions.split_once("]\n").expect("their end");
    let crates: BTreeSet<&str> = exceptions
        .split("crate = \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(!crates.is_empty());
    for name in crates {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let (_, version) = lock.split_once(&entry).unwrap_or_else(|| panic!("no {name}"));
        let version = version.split('"').next().unwrap();
        assert!(notice.contains(&format!("{name} {version}")), "NOTICE: no {name} {version}");
    }
}
