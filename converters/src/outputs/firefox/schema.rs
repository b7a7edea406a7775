//! The kinds of markers and the categories of frames, as the viewer is told of them.

/// The category of Java's frames, and what has none of its own.
pub(super) const OTHER: u32 = 0;
/// That of locks that were waited for.
pub(super) const CONTENTION: u32 = 1;
/// That of what else was waited for.
pub(super) const WAITING: u32 = 2;
/// That of waits that have no times.
pub(super) const SUMMED: u32 = 3;

/// The categories, in the order of their numbers. The grey one is the default.
pub(super) const CATEGORIES: &str = r#"[
{"name":"Java","color":"grey","subcategories":["Other"]},
{"name":"Lock contention","color":"red","subcategories":["Other"]},
{"name":"Other waits","color":"blue","subcategories":["Other"]},
{"name":"Summed waits","color":"orange","subcategories":["Other"]}]"#;

/// The type of the marker of a wait for what somebody is known to have had.
pub(super) const OWNED_WAIT: &str = "WaitForOwner";
/// The type of any other wait's marker: labels cannot leave out what is not known.
pub(super) const WAIT: &str = "Wait";
/// The type of the marker of waits that have no times.
pub(super) const SUM: &str = "SummedWaits";

/// The fields of markers: those of type `unique-string` are numbers of strings.
pub(super) const MARKERS: &str = r#"[
{"name":"WaitForOwner",
"description":"A thread waited for a lock, or for something to happen; who had it when the wait began is known.",
"tooltipLabel":"{marker.data.kind} {marker.data.lock}",
"tableLabel":"{marker.data.lock}, held by {marker.data.owner}",
"chartLabel":"{marker.data.lock}, held by {marker.data.owner}",
"display":["marker-chart","marker-table","timeline-overview"],
"fields":[
{"key":"kind","label":"Kind","format":"unique-string"},
{"key":"lock","label":"Lock","format":"unique-string"},
{"key":"owner","label":"Owner when the wait began","format":"unique-string"},
{"key":"waited","label":"Waited","format":"duration"},
{"key":"outcome","label":"Outcome","format":"unique-string"},
{"key":"waker","label":"Ended by","format":"unique-string"},
{"key":"parks","label":"Parks","format":"integer"},
{"key":"trace","label":"Trace","format":"string"},
{"key":"span","label":"Span","format":"string"}]},
{"name":"Wait",
"description":"A thread waited for a lock, or for something to happen.",
"tooltipLabel":"{marker.data.kind} {marker.data.lock}",
"tableLabel":"{marker.data.lock}",
"chartLabel":"{marker.data.lock}",
"display":["marker-chart","marker-table","timeline-overview"],
"fields":[
{"key":"kind","label":"Kind","format":"unique-string"},
{"key":"lock","label":"Lock","format":"unique-string"},
{"key":"waited","label":"Waited","format":"duration"},
{"key":"outcome","label":"Outcome","format":"unique-string"},
{"key":"waker","label":"Ended by","format":"unique-string"},
{"key":"parks","label":"Parks","format":"integer"},
{"key":"trace","label":"Trace","format":"string"},
{"key":"span","label":"Span","format":"string"}]},
{"name":"SummedWaits",
"description":"Waits below the log's threshold, which have no times of their own. The marker goes from the beginning of the first of them to the end of the last one.",
"tooltipLabel":"{marker.data.count} waits for {marker.data.lock}",
"tableLabel":"{marker.data.count} waits for {marker.data.lock}",
"chartLabel":"{marker.data.count} waits for {marker.data.lock}",
"display":["marker-chart","marker-table"],
"fields":[
{"key":"kind","label":"Kind","format":"unique-string"},
{"key":"lock","label":"Lock","format":"unique-string"},
{"key":"count","label":"Waits","format":"integer"},
{"key":"waited","label":"Waited in all","format":"duration"},
{"key":"longest","label":"Longest","format":"duration"}]}]"#;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn constants_are_json() {
        let categories: Value = serde_json::from_str(CATEGORIES).unwrap();
        let name = |at: u32| categories[at as usize]["name"].as_str().unwrap().to_owned();
        assert_eq!(
            [OTHER, CONTENTION, WAITING, SUMMED].map(name),
            ["Java", "Lock contention", "Other waits", "Summed waits"]
        );
        let markers: Value = serde_json::from_str(MARKERS).unwrap();
        assert_eq!([0, 1, 2].map(|at| &markers[at]["name"]), [OWNED_WAIT, WAIT, SUM]);
    }
}
