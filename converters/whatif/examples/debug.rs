//! d
#![allow(missing_docs, clippy::all)]
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let logs = [tyrion_formats::Recording::open(std::path::Path::new(&a[1])).unwrap()];
    let name = a[2].clone();
    let g = move |_c: &str, n: &str| (n == name).then_some(1);
    let e = tyrion_whatif::Evidence::read(&logs, &g).unwrap();
    e.debug();
    for c in [tyrion_whatif::Change::Free, tyrion_whatif::Change::Hold { divisor: 2.0 }] {
        let q = tyrion_whatif::Question {
            group: 1,
            lock: None,
            change: c,
            processors: a.get(3).map(|x| x.parse().unwrap()),
            reads: None,
        };
        match e.predict(&q) {
            Ok(p) => println!(
                "{} {:?} {} [{} {}] rec {:?} rep {:?} {}",
                p.change,
                p.method,
                p.throughput_ratio,
                p.low_ratio,
                p.high_ratio,
                p.recorded_per_second,
                p.replayed_per_second,
                p.not_replayed
            ),
            Err(x) => println!("{x}"),
        }
    }
}
