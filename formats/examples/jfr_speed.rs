//! How fast a recording of another tool becomes one of Tyrion's, alone: no answer is
//! computed from it. For instance:
//!
//! ```text
//! cargo run --release -p tyrion-formats --example jfr_speed -- recording.jfr 5
//! ```

use std::{env, error::Error, time::Instant};
use tyrion_formats::Recording;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("usage: jfr_speed RECORDING [TIMES]")?;
    let times = arguments.next().map_or(Ok(1), |times| times.parse())?;
    for _ in 0..times {
        let began = Instant::now();
        let recording = Recording::open(path.as_ref())?;
        let read = began.elapsed();
        let (mut events, mut wait_ns) = (0u64, 0u64);
        for chunk in recording.event_chunks() {
            for event in recording.events(chunk).map_err(|damage| damage.to_string())? {
                events += 1;
                wait_ns += event.wait_ns();
            }
        }
        let speed = events as f64 / read.as_secs_f64() / 1e6;
        println!("{events} waits, {wait_ns} ns: {:.1?}, {speed:.1} M/s", read);
    }
    Ok(())
}
