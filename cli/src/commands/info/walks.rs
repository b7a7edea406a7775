//! How the agent found the stacks of threads.

use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::Recording;
use tyrion_model::units;
use tyrion_wire::walks;

/// How many stacks were found in which way.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Walks {
    /// How many stacks the agent walked itself.
    own: u64,
    /// How many it asked the JVM for, because a walk was not sure.
    jvmti: u64,
    /// How many of its own it compared with what the JVM reports.
    compared: u64,
    /// How many of these were different, and again at a second try. After three, it asked the
    /// JVM for all.
    different: u64,
}

impl Walks {
    /// What the log says; `None` where the agent always asked the JVM, or does not tell.
    pub fn of(log: &Recording) -> Option<Walks> {
        let statistics = log.statistics();
        let value = |key| statistics.get(key).copied();
        Some(Walks {
            own: value(walks::OWN)?,
            jvmti: value(walks::JVMTI)?,
            compared: value(walks::COMPARED)?,
            different: value(walks::DIFFERENT)?,
        })
    }

    /// `1,234 walked, 56 asked of the JVM; 78 compared, none different`.
    pub fn text(&self) -> String {
        let [own, jvmti, compared] = [self.own, self.jvmti, self.compared].map(units::thousands);
        let different = match self.different {
            0 => "none".to_owned(),
            some => units::thousands(some),
        };
        format!(
            "{own} walked, {jvmti} asked of the JVM; {compared} compared, {different} different"
        )
    }
}
