//! The table of the document, of a small result.

use crate::{
    accuracy::{self, Tally},
    case::{Case, Program},
    document::{BEGIN, kept, right_before, table, with_table},
    outcome::Outcome,
    words::Way,
};
use serde_json::json;
use std::collections::BTreeMap;

fn program() -> Program {
    let case = super::case("kind = \"wait\"\nname = ['Pool|Queue']\nadvice = [\"larger-pool\"]");
    let unknowable = BTreeMap::from([(Way::Jfr, "short waits".to_owned())]);
    let case = Case { unknowable, ..case };
    case.programs().remove(0)
}

/// A case with what was said of it by three ways in.
fn outcomes() -> Vec<Outcome> {
    let program = &program();
    let said = |way, verdict| Outcome::of(program, way, 17, &verdict);
    vec![
        said(Way::Contention, json!({ "kind": "wait", "name": "Pool", "advice": "larger-pool" })),
        said(Way::Trace, json!({ "kind": "idle" })),
        said(Way::Jfr, json!({ "kind": "unclear" })),
    ]
}

const TABLE: &str = "\
| kind | right | contention | trace | auto | attached | jfr | sample | dumps |
|---|---|---|---|---|---|---|---|---|
| wait | 1 of 2 | 1 of 1 | 0 of 1 |  |  |  |  |  |
| all | 1 of 2 | 1 of 1 | 0 of 1 |  |  |  |  |  |

| case | right answer | contention | trace | auto | attached | jfr | sample | dumps |
|---|---|---|---|---|---|---|---|---|
| pool | `wait: Pool\\|Queue; larger-pool` | right | wrong: `idle` |  |  | unclear: short waits |  |  |
";

#[test]
fn the_table_says_what_was_said() {
    assert_eq!(table(&outcomes()), TABLE);
}

#[test]
fn the_table_is_written_between_its_marks_and_read_again() {
    let page = |table: &str| format!("# One\n\n{BEGIN}\n{table}<!-- made -->\n\nTwo.\n");
    let written = with_table(&page("old\n"), &outcomes()).unwrap();
    assert_eq!(written, page(TABLE));
    assert_eq!(with_table(&written, &outcomes()).unwrap(), written);
    with_table("# One\n", &outcomes()).expect_err("no marks");
    assert_eq!(right_before(&written), [("pool".to_owned(), Way::Contention)]);
    assert_eq!(right_before("# One\n"), []);
}

/// Where only one way in is recorded, the others stand as they are.
#[test]
fn what_was_not_recorded_anew_stays() {
    let written = with_table(&format!("{BEGIN}\n<!-- made -->\n"), &outcomes()).unwrap();
    let others = kept(&written, &[program()], |way| way != Way::Contention);
    assert_eq!(others.len(), 2);
    let contention: Vec<Outcome> =
        outcomes().into_iter().filter(|it| it.way == Way::Contention).collect();
    let again: Vec<Outcome> = others.into_iter().chain(contention).collect();
    assert_eq!(with_table(&written, &again).unwrap(), written);
    assert!(kept(&written, &[], |_| true).is_empty());
}

#[test]
fn accuracy_counts_what_can_be_known() {
    let outcomes = outcomes();
    let all = Tally::of(outcomes.iter());
    assert_eq!(all.to_string(), "1 right, 0 partly, 0 unclear, 1 wrong, 1 not to be known");
    assert!(accuracy::printed(&outcomes).ends_with(&format!("all: {all}\n")));
    let line = outcomes[1].to_string();
    let told = "wrong   pool trace jdk17: expected wait: Pool|Queue; larger-pool | said idle";
    assert_eq!(line, format!("{told} | it is wait"));
}
