//! What was checked as JUnit's XML, which CI systems show among the tests.

use super::html::escape;
use std::fmt::{self, Write};

/// What is checked together.
#[derive(Clone, Copy, Debug)]
pub struct Suite<'s> {
    /// What it is called.
    pub name: &'s str,
    /// What was checked: the same from run to run, so that each test has a history.
    pub class: &'s str,
    /// What was checked, one after the other.
    pub tests: &'s [Test],
    /// What else there is to say, a line each; also of each test that failed.
    pub about: &'s [String],
}

/// Something that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// What was checked.
    pub name: String,
    /// How that ended.
    pub outcome: Outcome,
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Passed,
    /// It is not, for this reason.
    Failed(String),
    /// It could not be checked, for this reason.
    Unknown(String),
}

/// The file.
pub fn write(suite: &Suite<'_>) -> String {
    let mut xml = String::new();
    // Writing into a string cannot fail.
    let _ = document(&mut xml, suite);
    xml
}

fn document(xml: &mut String, suite: &Suite<'_>) -> fmt::Result {
    let count = |of: fn(&Outcome) -> bool| suite.tests.iter().filter(|it| of(&it.outcome)).count();
    let sums = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"",
        suite.tests.len(),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        count(|outcome| matches!(outcome, Outcome::Unknown(_))),
    );
    writeln!(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(xml, "<testsuites name=\"tyrion\" {sums}>")?;
    writeln!(xml, "  <testsuite name=\"{}\" {sums}>", escape(suite.name))?;
    for test in suite.tests {
        let (class, name) = (escape(suite.class), escape(&test.name));
        write!(xml, "    <testcase classname=\"{class}\" name=\"{name}\"")?;
        let (element, kind, why) = match &test.outcome {
            Outcome::Passed => {
                writeln!(xml, "/>")?;
                continue;
            }
            Outcome::Failed(why) => ("failure", "condition", why),
            Outcome::Unknown(why) => ("error", "unknown", why),
        };
        let why = escape(why);
        write!(xml, ">\n      <{element} type=\"{kind}\" message=\"{why}\">{why}")?;
        lines(xml, suite.about)?;
        writeln!(xml, "</{element}>\n    </testcase>")?;
    }
    if !suite.about.is_empty() {
        write!(xml, "    <system-out>")?;
        lines(xml, suite.about)?;
        writeln!(xml, "</system-out>")?;
    }
    writeln!(xml, "  </testsuite>\n</testsuites>")
}

/// Each in a line of its own.
fn lines(xml: &mut String, lines: &[String]) -> fmt::Result {
    lines.iter().try_for_each(|line| write!(xml, "\n{}", escape(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quick_xml::{Reader, XmlVersion, escape::resolve_predefined_entity, events::Event};

    #[derive(Default)]
    struct Element {
        name: String,
        attributes: Vec<(String, String)>,
        text: String,
    }

    /// The elements with their attributes and the text in them, as a parser has them that
    /// demands that each ends.
    fn parsed(xml: &str) -> Vec<Element> {
        let mut reader = Reader::from_str(xml);
        reader.config_mut().check_comments = true;
        let (mut elements, mut open) = (Vec::<Element>::new(), Vec::new());
        loop {
            let event = reader.read_event().expect("well-formed");
            let is_empty = matches!(event, Event::Empty(_));
            match event {
                Event::Start(tag) | Event::Empty(tag) => {
                    let name = String::from_utf8(tag.name().as_ref().to_vec()).unwrap();
                    let attributes = tag.attributes().map(|attribute| {
                        let attribute = attribute.expect("an attribute");
                        let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
                        (
                            key,
                            attribute
                                .normalized_value(XmlVersion::Explicit1_0)
                                .expect("escaped")
                                .into_owned(),
                        )
                    });
                    let attributes = attributes.collect();
                    if !is_empty {
                        open.push(elements.len());
                    }
                    elements.push(Element { name, attributes, ..Element::default() });
                }
                Event::Text(text) => {
                    if let Some(at) = open.last() {
                        elements[*at].text += &text.decode().unwrap();
                    }
                }
                Event::GeneralRef(reference) => {
                    let char = reference.resolve_char_ref().unwrap().map(String::from);
                    let name = reference.decode().unwrap();
                    let named = || resolve_predefined_entity(&name).map(str::to_owned);
                    let text = char.or_else(named).expect("an entity");
                    elements[*open.last().unwrap()].text += &text;
                }
                Event::End(_) => drop(open.pop()),
                Event::Eof => break,
                Event::Decl(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(open.is_empty());
        elements
    }

    const HOSTILE: &str = "<a href='\"&\"'>]]></failure><!--\u{1b}[31m\u{0}\u{ffff}";

    #[test]
    fn tests_are_counted_and_names_are_escaped() {
        let test = |name: &str, outcome| Test { name: name.to_owned(), outcome };
        let tests = [
            test("p99_wait_ns > 5ms", Outcome::Failed(HOSTILE.to_owned())),
            test("deadlocks > 0", Outcome::Passed),
            test("lock_waiters > 3", Outcome::Unknown("needs thread dumps".to_owned())),
        ];
        let about = ["Locks cost 12 %.".to_owned(), HOSTILE.to_owned()];
        let xml =
            write(&Suite { name: HOSTILE, class: "com.acme.Main", tests: &tests, about: &about });
        let elements = parsed(&xml);
        let names: Vec<&str> = elements.iter().map(|element| element.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "testsuites",
                "testsuite",
                "testcase",
                "failure",
                "testcase",
                "testcase",
                "error",
                "system-out"
            ]
        );
        let value = |at: usize, key: &str| {
            let attributes = &elements[at].attributes;
            let found = attributes.iter().find(|(name, _)| name == key);
            found.unwrap_or_else(|| panic!("no {key} in {attributes:?}")).1.clone()
        };
        for at in [0, 1] {
            let sums = ["tests", "failures", "errors", "skipped"].map(|key| value(at, key));
            assert_eq!(sums, ["3", "1", "1", "0"]);
        }
        let shown = "<a href='\"&\"'>]]></failure><!--_[31m__";
        assert_eq!(value(1, "name"), shown);
        assert_eq!(
            (value(2, "name"), value(2, "classname")),
            ("p99_wait_ns > 5ms".into(), "com.acme.Main".into())
        );
        assert_eq!((value(3, "message"), value(3, "type")), (shown.into(), "condition".into()));
        assert_eq!(elements[3].text, format!("{shown}\nLocks cost 12 %.\n{shown}"));
        assert_eq!(value(6, "message"), "needs thread dumps");
        assert_eq!(elements[7].text, format!("\nLocks cost 12 %.\n{shown}"));
    }
}
