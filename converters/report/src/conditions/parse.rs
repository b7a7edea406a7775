//! `METRIC OP VALUE` into a condition.

use super::{Condition, ConditionError, Limit, METRICS, Metric, Op, Unit};
use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::take_while1,
    character::complete::{char, digit1, multispace0, one_of},
    combinator::{all_consuming, eof, map_opt, opt, recognize, rest, verify},
    sequence::{delimited, preceded, terminated},
};
use tyrion_model::filter::duration_ns;

/// A value before it is known what it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    /// `10%`
    Percent(f64),
    /// `3`, `0.1`
    Number(f64),
    /// `5ms`
    Ns(u64),
}

struct Parts<'t> {
    metric: &'t str,
    op: Op,
    value: &'t str,
}

/// Reads a condition.
pub(super) fn condition(text: &str) -> Result<Condition, ConditionError> {
    let form = || ConditionError::Form(text.trim().to_owned());
    let (_, parts) = all_consuming(parts).parse(text).map_err(|_| form())?;
    let (_, (sign, amount)) = all_consuming(amount).parse(parts.value).map_err(|_| form())?;
    let metric = METRICS.iter().find(|metric| metric.name == parts.metric).ok_or_else(|| {
        let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        ConditionError::Metric(parts.metric.to_owned(), known.join(", "))
    })?;
    let limit = limit(metric, sign, amount).ok_or_else(|| ConditionError::Unit {
        condition: text.trim().to_owned(),
        metric: metric.name,
        unit: metric.unit.about(),
    })?;
    Ok(Condition { metric, op: parts.op, limit, value: parts.value.to_owned() })
}

/// What the value is for this metric, if it can be one.
fn limit(metric: &Metric, sign: Option<char>, amount: Amount) -> Option<Limit> {
    let signed = |number: f64| if sign == Some('-') { -number } else { number };
    let number = match (amount, metric.unit) {
        (Amount::Percent(share), _) if sign.is_some() => return Some(Limit::Change(signed(share))),
        (Amount::Percent(number), Unit::Share) => number,
        // The name of a duration says what its number counts.
        (Amount::Number(number), _) => number,
        (Amount::Ns(ns), Unit::Ns) => ns as f64,
        (Amount::Percent(_), Unit::Ns | Unit::Count)
        | (Amount::Ns(_), Unit::Share | Unit::Count) => return None,
    };
    Some(if sign.is_some() { Limit::Difference(signed(number)) } else { Limit::Value(number) })
}

fn parts(input: &str) -> IResult<&str, Parts<'_>> {
    let name = take_while1(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let metric = delimited(multispace0, name, multispace0);
    let value = rest.map(str::trim);
    (metric, op, value).map(|(metric, op, value)| Parts { metric, op, value }).parse(input)
}

fn op(input: &str) -> IResult<&str, Op> {
    let found = Op::ALL.into_iter().rev().find(|op| input.starts_with(op.sign()));
    map_opt(take_while1(|c| "<=>".contains(c)), |sign: &str| found.filter(|op| op.sign() == sign))
        .parse(input)
}

fn amount(input: &str) -> IResult<&str, (Option<char>, Amount)> {
    let duration = map_opt(rest, |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit()).then(|| duration_ns(text).ok())?
    });
    let amounts = alt((
        terminated(number, (multispace0, char('%'))).map(|n| Amount::Percent(n / 100.0)),
        terminated(number, eof).map(Amount::Number),
        duration.map(Amount::Ns),
    ));
    (opt(one_of("+-")), amounts).parse(input)
}

/// Digits, with a fraction or without.
fn number(input: &str) -> IResult<&str, f64> {
    let digits = recognize((digit1, opt(preceded(char('.'), digit1))));
    let finite = map_opt(digits, |text: &str| text.parse().ok());
    verify(finite, |number: &f64| number.is_finite()).parse(input)
}
