//! How waits for no lock changed, place by place.

use super::{
    Change, Pair, PlaceChange,
    changes::{WaitTotals, changed, magnitude},
    rates::Rates,
};
use crate::{Findings, diff::Amount};
use std::collections::{BTreeMap, BTreeSet};
use tyrion_model::withheld::Verdict;

/// All of them together, and by place, the greatest change first: what keeps threads from work
/// before or after.
pub(super) fn find(pair: &Pair<'_>, rates: &Rates) -> (Change<Amount>, Vec<PlaceChange>) {
    let both = [pair.before, pair.after];
    let withheld = both.iter().flat_map(|findings| findings.other_waits.of(Verdict::Withheld));
    let methods: BTreeSet<String> = withheld.map(|(it, _)| method(&it.place.at)).collect();
    let sides = both.map(|findings| by_method(findings, &methods));
    let divisors = [rates.before.total(), rates.after.total()];
    let amounts = |of: &dyn Fn(usize) -> Option<WaitTotals>| {
        let amount = |side: usize| Some(of(side)?.amount(Some(divisors[side]), rates.measure));
        changed([amount(0), amount(1)], rates.measure, |amount| amount)
    };
    let total = amounts(&|side| {
        let mut sum = WaitTotals::default();
        sides[side].values().for_each(|waits| sum.add(*waits));
        Some(sum)
    });
    let change = |place: String| {
        let change = amounts(&|side| sides[side].get(&place).copied());
        PlaceChange { place, change }
    };
    let mut places: Vec<PlaceChange> = methods.into_iter().map(change).collect();
    // Stable: what is equal stays in the order of names.
    places.sort_by_key(|place| magnitude(&place.change));
    (total, places)
}

/// The waits at these places, whatever they are taken for: a place where threads waited for one
/// another is the same when they hardly do any more.
fn by_method(findings: &Findings<'_>, methods: &BTreeSet<String>) -> BTreeMap<String, WaitTotals> {
    let mut sums: BTreeMap<String, WaitTotals> = BTreeMap::new();
    for waits in &findings.other_waits.places {
        let Some(judged) = findings.other_waits.judged(waits) else { continue };
        let method = method(&judged.place.at);
        if methods.contains(&method) {
            let (count, wait_ns, max_ns) =
                (waits.waits.count, waits.waits.wait_ns, waits.longest_ns);
            let more = WaitTotals { waits: count, wait_ns, max_ns };
            sums.entry(method).or_default().add(more);
        }
    }
    sums
}

/// A place without its line, which is another one in another version of the program.
fn method(at: &str) -> String {
    at.split('(').next().unwrap_or_default().to_owned()
}
