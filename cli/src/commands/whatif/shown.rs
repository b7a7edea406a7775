//! Predictions for people.

use super::{Candidate, Document};
use tyrion_model::{harmless, units};
use tyrion_report::{
    sections::whatif::BY,
    view::{Column, Part, Row, Table, TableCell, View},
};
use tyrion_whatif::{Change, Method, Prediction, percent};

const COLUMNS: [Column; 6] = [
    Column::new("change", "the change of the lock", 0),
    Column::new("throughput", "by how much it changes", 0),
    Column::new("from", "the lower end of the interval", 0),
    Column::new("to", "the upper end of the interval", 0),
    Column::new("time", "by how much the time for the same work changes", 0),
    Column::new("by", BY, 0),
];

const CANDIDATES: [Column; 6] = [
    Column::new("lock", "what the program calls the lock, and its class", 0),
    Column::new("wait", "how long threads waited in all", 0),
    Column::new("free", "by how much throughput changes if nobody waits for it any more", 0),
    Column::new("from", "the lower end of the interval", 0),
    Column::new("to", "the upper end of the interval", 0),
    Column::new("by", BY, 0),
];

/// The locks at which something may be gained.
pub fn candidates(document: &Document, left_out: usize) -> View {
    if document.candidates.is_empty() {
        let nothing = "No lock is known at which several threads waited for a holder.";
        return View { parts: vec![Part::Text(nothing.to_owned())] };
    }
    let row = |of: &Candidate| {
        let change = |ratio: f64| TableCell::Change(ratio - 1.0);
        let cells = vec![
            TableCell::Text(of.lock.label()),
            TableCell::Ns(of.wait_ns),
            change(of.throughput_ratio),
            change(of.low_ratio),
            change(of.high_ratio),
            TableCell::Text(of.method.name().to_owned()),
        ];
        Row { cells, details: Vec::new() }
    };
    let table = Table {
        title: String::new(),
        columns: CANDIDATES.to_vec(),
        rows: document.candidates.iter().map(row).collect(),
        left_out,
    };
    let next = "The largest and surest gain comes first; --lock NAME tells more of one.";
    View { parts: vec![Part::Table(table), Part::Text(next.to_owned())] }
}

/// The answer.
pub fn view(document: &Document, changes: &[Change]) -> View {
    let lock = document.lock.label();
    let mut parts = match (changes, &document.predictions[..]) {
        ([change], [prediction]) => vec![Part::Text(sentence(&lock, *change, prediction))],
        _ => vec![Part::Heading(format!("What if {lock}")), Part::Table(table(document))],
    };
    for refused in &document.refused {
        parts.push(Part::Text(format!("{}: {}.", refused.change, refused.reason)));
    }
    // All are of the same logs, so the first has what all assume.
    let Some(first) = document.predictions.first() else { return View { parts } };
    parts.extend(objects(first));
    parts.push(Part::Text(how(first)));
    let with_readers = document.predictions.iter().find(|of| !of.reads.is_empty());
    if let Some(prediction) = with_readers {
        let places: Vec<String> =
            prediction.reads.iter().map(|place| harmless::name(place).into_owned()).collect();
        parts.push(Part::Text(format!("Readers: {}.", places.join(", "))));
    }
    if let Some(table) = threads(first) {
        parts.push(Part::Table(table));
    }
    parts.push(Part::Heading("Assumed".to_owned()));
    parts.extend(first.assumptions.iter().map(|text| Part::Text(text.clone())));
    View { parts }
}

fn sentence(lock: &str, change: Change, prediction: &Prediction) -> String {
    let gain = prediction.gain();
    let clause = change.clause();
    let worth = match prediction.is_gain() {
        true => {
            let time = (100.0 / prediction.throughput_ratio.max(f64::MIN_POSITIVE)).round();
            format!("the same work in {time} % of the time")
        }
        false => "nothing is gained".to_owned(),
    };
    format!("If {lock} {clause}: throughput {gain}, {worth}.")
}

fn table(document: &Document) -> Table {
    let row = |prediction: &Prediction| Row {
        cells: vec![
            TableCell::Text(prediction.change.clone()),
            TableCell::Change(prediction.throughput_ratio - 1.0),
            TableCell::Change(prediction.low_ratio - 1.0),
            TableCell::Change(prediction.high_ratio - 1.0),
            TableCell::Change(prediction.time_share),
            TableCell::Text(prediction.method.name().to_owned()),
        ],
        details: Vec::new(),
    };
    Table {
        title: String::new(),
        columns: COLUMNS.to_vec(),
        rows: document.predictions.iter().map(row).collect(),
        left_out: 0,
    }
}

/// How it was predicted, and how well that does without a change.
fn how(prediction: &Prediction) -> String {
    let holds = match prediction.method {
        Method::Sampled => {
            ", with holds that are estimated from waits and from looks at owners: those for which \
             nobody waited are not known"
        }
        Method::Replay | Method::Queueing => "",
    };
    match (prediction.recorded_per_second, prediction.replayed_per_second) {
        (Some(recorded), Some(replayed)) if recorded > 0.0 => format!(
            "By a replay of what was recorded{holds}. Without a change it takes the lock {} times a second; \
             recorded were {} ({}).",
            units::thousands(replayed.round() as u64),
            units::thousands(recorded.round() as u64),
            percent(replayed / recorded)
        ),
        _ => format!("By queueing theory from sums, which is coarse: {}.", prediction.not_replayed),
    }
}

/// That several lock objects are meant, and what each would gain alone.
fn objects(prediction: &Prediction) -> Option<Part> {
    if prediction.lock_objects < 2 {
        return None;
    }
    let alone: Vec<String> = prediction
        .objects
        .iter()
        .map(|of| format!("#{} {}", of.id, percent(of.throughput_ratio)))
        .collect();
    Some(Part::Text(format!(
        "These are {}, all changed. With {} for one alone: {}.",
        units::counted(prediction.lock_objects, "lock object"),
        prediction.change,
        alone.join(", ")
    )))
}

const THREADS: [Column; 3] = [
    Column::new("threads", "their name", 0),
    Column::new("count", "the most that there were at the same time", 0),
    Column::new("progress", "how much faster they become", 0),
];

/// What becomes of the threads, where they differ.
fn threads(prediction: &Prediction) -> Option<Table> {
    let all = &prediction.threads;
    let differ = all.len() > 1;
    let row = |of: &tyrion_whatif::ThreadGain| Row {
        cells: vec![
            TableCell::name(&of.threads),
            TableCell::Count(of.count),
            TableCell::Change(of.throughput_ratio - 1.0),
        ],
        details: Vec::new(),
    };
    differ.then(|| Table {
        title: format!("Threads, with {}", prediction.change),
        columns: THREADS.to_vec(),
        rows: all.iter().map(row).collect(),
        left_out: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_report::{
        findings::LockRef,
        render::text::{self, Style},
    };

    fn prediction(change: Change, ratio: f64) -> Prediction {
        Prediction {
            change: change.to_string(),
            method: Method::Replay,
            throughput_ratio: ratio,
            low_ratio: ratio - 0.1,
            high_ratio: ratio + 0.1,
            gain_share: ratio - 1.0,
            time_share: 1.0 / ratio - 1.0,
            recorded_per_second: Some(1000.0),
            replayed_per_second: Some(980.0),
            assumptions: vec!["On 2 processors, as the log says.".to_owned()],
            ..Prediction::default()
        }
    }

    fn shown(changes: &[(Change, f64)]) -> String {
        let lock =
            LockRef { name: "Cache.lock".to_owned(), class: "java.lang.Object".to_owned(), id: 0 };
        let predictions = changes.iter().map(|&(change, ratio)| prediction(change, ratio));
        let document = Document { lock, predictions: predictions.collect(), ..Document::default() };
        let changes: Vec<Change> = changes.iter().map(|it| it.0).collect();
        text::view(&view(&document, &changes), &Style::default())
    }

    #[test]
    fn one_change_is_a_sentence() {
        let text = shown(&[(Change::Free, 1.6)]);
        let begin = "If Cache.lock (java.lang.Object) were free: throughput +60 % (+50 % to +70 %), \
                     the same work in 63 % of the time.";
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).starts_with(&words(begin)), "{text}");
        assert!(words(&text).contains("recorded were 1,000 (−2 %)"), "{text}");
        assert!(text.contains("On 2 processors"), "{text}");
        assert!(shown(&[(Change::Free, 1.0)]).contains("nothing is gained"));
    }

    #[test]
    fn several_are_a_table() {
        let text = shown(&[(Change::Free, 1.6), (Change::Stripes { count: 4 }, 1.4)]);
        assert!(text.contains("stripes 4") && text.contains("+60.0 %"), "{text}");
    }
}
