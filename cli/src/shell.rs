//! Words as shells read them.

pub use tyrion_report::shell::{suggested, word};
