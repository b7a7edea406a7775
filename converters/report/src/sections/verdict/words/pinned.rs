//! Pinned carriers in words.

use super::{super::Pinned, called_from, loss, method};
use crate::{Findings, cells::percent, sections::verdict::Verdict};
use tyrion_model::units::counted;

/// How many, where, and what to do.
pub(super) fn lines(verdict: &Verdict, findings: &Findings<'_>) -> Vec<String> {
    let pinned = verdict.pinned.clone().unwrap_or_default();
    let Pinned { carriers, pinned: on_average, place, own_place, place_share, .. } = pinned;
    let short = &findings.short_names;
    let place = called_from(method(&place, short), &own_place, short);
    let place = if place.is_empty() { "code of the JDK".to_owned() } else { place };
    vec![
        format!(
            "Virtual threads wait and keep their carriers, {on_average:.1} of {} on average: \
             others cannot run meanwhile.",
            counted(carriers, "carrier")
        ),
        format!("{} of that is in {place}.", percent(place_share)).replace(",.", "."),
        if verdict.contended == 0 { String::new() } else { loss(verdict, findings) },
        "→ Wait there outside of synchronized, or use a ReentrantLock; JDK 24 and later keep no \
         carrier for synchronized."
            .to_owned(),
    ]
}
