//! Verdicts that are right, and such as are not.

use crate::{
    judge::{Grade, judge},
    said::Said,
};

const ANSWER: &str = "kind = \"lock\"\nname = [\"Category\", \"Appender\"]\n\
     holder = ['WriterAppender\\.subAppend']\nwaiter = ['Category\\.callAppenders']\n\
     advice = [\"shorten-hold\", \"take-less-often\"]\nwithheld_most = 0.01";

fn one(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

fn right() -> Said {
    Said {
        kind: "lock".to_owned(),
        name: one("org.apache.log4j.Category"),
        holder: one("org.apache.log4j.WriterAppender.subAppend(WriterAppender.java:310)"),
        waiter: one("org.apache.log4j.Category.callAppenders(Category.java:204)"),
        advice: one("take-less-often"),
        ..Said::default()
    }
}

/// The grade, and what is not right.
fn judged(said: &Said) -> (Grade, String) {
    let answer = super::case(ANSWER).answer.unwrap();
    let judgement = judge(&answer, said);
    (judgement.grade, judgement.why)
}

#[test]
fn what_is_right_in_all_is_right() {
    assert_eq!(judged(&right()), (Grade::Right, String::new()));
}

#[test]
fn another_kind_or_name_is_wrong() {
    let other = Said { kind: "wait".to_owned(), ..right() };
    assert_eq!(judged(&other), (Grade::Wrong, "it is lock".to_owned()));
    let other = Said { name: one("Logger"), advice: one("unfair"), ..right() };
    assert_eq!(judged(&other), (Grade::Wrong, "not name, advice".to_owned()));
}

#[test]
fn what_else_is_not_right_is_partly_right() {
    let partly = |said: Said, why: &str| assert_eq!(judged(&said), (Grade::Partly, why.to_owned()));
    partly(Said { holder: one("Other.run"), ..right() }, "not holder");
    partly(Said { waiter: one("Other.run"), ..right() }, "not waiter");
    partly(Said { advice: one("nothing"), ..right() }, "not advice");
    partly(Said { withheld_share: 0.2, ..right() }, "not withheld");
}

#[test]
fn what_does_not_decide_is_unclear() {
    let unclear = Said { kind: "unclear".to_owned(), ..right() };
    assert_eq!(judged(&unclear).0, Grade::Unclear);
    let unsure = |said: Said| judged(&Said { certainty: "unclear".to_owned(), ..said }).0;
    assert_eq!(unsure(Said { kind: "wait".to_owned(), ..right() }), Grade::Unclear);
    assert_eq!(unsure(Said { holder: one("Other.run"), ..right() }), Grade::Unclear);
    assert_eq!(unsure(right()), Grade::Right, "it is right all the same");
}

#[test]
fn sentences_count_where_no_field_says_it() {
    let answer = super::case(ANSWER).answer.unwrap();
    let lines = one("Category has it: held in WriterAppender.subAppend.");
    let silent = Said { name: Vec::new(), holder: Vec::new(), lines: lines.clone(), ..right() };
    let judgement = judge(&answer, &silent);
    assert_eq!((judgement.grade, judgement.in_words), (Grade::Right, vec!["name", "holder"]));
    let elsewhere = Said { holder: one("Other.run"), lines, ..right() };
    assert_eq!(judge(&answer, &elsewhere).grade, Grade::Partly, "the field says something else");
}

#[test]
fn what_the_case_does_not_tell_is_not_asked() {
    let answer = super::case("kind = \"idle\"").answer.unwrap();
    let said = Said { kind: "idle".to_owned(), ..Said::default() };
    assert_eq!(judge(&answer, &said).grade, Grade::Right);
}
