//! How much faster a program would be if a lock were free, split, or held for less time.
//!
//! [`Evidence::read`] reads the logs of a recording, and [`Evidence::predict`] answers a
//! [`Question`]. Where all holds were recorded one by one (`--mode trace --events all`)
//! each thread becomes a script of steps: compute, take a lock, release it, wait for
//! something else. A simulation of processors and queues replays the scripts, as they
//! were recorded and with the change. Otherwise there is a coarse estimate from sums, with
//! queueing theory. If no prediction is possible, the answer is the reason.
//!
//! What is predicted is *throughput*: how often the program takes the lock in the same
//! time, if all threads continue as they did. `docs/whatif.md` describes the method, its
//! assumptions, and how its accuracy is measured.
#![forbid(unsafe_code)]

mod answer;
mod assumptions;
mod candidates;
mod change;
mod coarse;
mod costs;
mod engine;
mod estimated;
mod evidence;
mod handovers;
mod holds;
mod interval;
mod locks;
mod look;
mod numbers;
mod occupancy;
mod prepare;
mod question;
mod queueing;
mod reads;
mod records;
mod replay;
mod script;
mod survey;
mod tally;
mod timeline;
mod totals;
mod window;

pub use answer::{Method, ObjectGain, Prediction, ThreadGain, percent};
pub use change::{Change, MOST_DIVISOR, MOST_STRIPES};
pub use evidence::Evidence;
pub use locks::GroupOf;
pub use question::Question;
pub use survey::{LogSurvey, Survey};
