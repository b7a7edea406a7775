//! Command lines.

use crate::{
    arguments::{Arguments, Jdks},
    words::Way,
};

fn read(line: &str) -> Result<Arguments, String> {
    Arguments::of(line.split_whitespace().map(str::to_owned))
}

#[test]
fn options_and_words_go_together() {
    let arguments = read("pools --way trace --way=jfr --jdk 25 --busy 2 --again log4j").unwrap();
    assert_eq!(arguments.words, ["pools", "log4j"]);
    assert_eq!(arguments.ways, [Way::Trace, Way::Jfr]);
    assert_eq!((arguments.jdk, arguments.busy), (Jdks::Only(25), 2));
    assert!(arguments.again && !arguments.write);
    assert!(arguments.has(Way::Jfr) && !arguments.has(Way::Sample));
    assert!(read("").unwrap().has(Way::Sample), "all");
    for wrong in ["--way", "--way none", "--jdk x", "--busy -1", "--none"] {
        read(wrong).expect_err(wrong);
    }
}

#[test]
fn words_select_programs() {
    let case = super::case("kind = \"wait\"");
    let selected = |line: &str| read(line).unwrap().select(case.programs()).map(|it| it.len());
    assert_eq!(selected(""), Ok(1));
    for word in ["pool", "wait", "pools", "bugs"] {
        assert_eq!(selected(word), Ok(1), "{word}");
    }
    selected("pool none").expect_err("a word that means nothing");
    let program = &case.programs()[0];
    let jdks = |line: &str| read(line).unwrap().jdks_of(program);
    assert_eq!(jdks(""), [17]);
    assert_eq!(jdks("--jdk all"), [17, 25]);
    assert!(jdks("--jdk 11").is_empty(), "it does not show the fault there");
}
