//! What the agent took of the CPU time of the program that it recorded.

use serde::Serialize;
use tyrion_model::units;
use tyrion_wire::cost;

/// The agent's part of the program's CPU time while recording was on, as it measured itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OwnCpu {
    /// `own_ns` as a share of `process_ns`; `null` if that is 0.
    pub share: Option<f64>,
    /// The CPU time that the agent used: the next three together.
    pub own_ns: u64,
    /// The agent's code on the program's threads, called by the JVM; estimated from one call in
    /// 64.
    pub callbacks_ns: u64,
    /// How often the JVM called the agent there; estimated likewise. `null` if the log does not
    /// tell.
    pub callbacks: Option<u64>,
    /// How often the agent called the JVM meanwhile, by JNI and JVMTI; likewise.
    pub jvm_calls: Option<u64>,
    /// The agent's own threads.
    pub threads_ns: u64,
    /// The Java half of trace mode's probes; estimated. `null` if there were none.
    pub probes_ns: Option<u64>,
    /// All CPU time of the process, the agent's included.
    pub process_ns: u64,
}

impl OwnCpu {
    /// From what is known by the names of the log's statistics; `None` where that
    /// has nothing of it, as in logs of earlier agents.
    pub fn read(value: impl Fn(&str) -> Option<u64>) -> Option<OwnCpu> {
        let own = OwnCpu {
            process_ns: value(cost::PROCESS)?,
            callbacks_ns: value(cost::CALLBACKS)?,
            callbacks: value(cost::CALLBACK_COUNT),
            jvm_calls: value(cost::JVM_CALLS),
            threads_ns: value(cost::THREADS)?,
            probes_ns: value(cost::PROBES),
            ..OwnCpu::default()
        };
        Some(own.summed())
    }

    /// This and what the agent took in another process.
    #[must_use]
    pub fn plus(self, other: OwnCpu) -> OwnCpu {
        let both = |of: fn(&OwnCpu) -> Option<u64>| match (of(&self), of(&other)) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        let sum = OwnCpu {
            process_ns: self.process_ns.saturating_add(other.process_ns),
            callbacks_ns: self.callbacks_ns.saturating_add(other.callbacks_ns),
            threads_ns: self.threads_ns.saturating_add(other.threads_ns),
            callbacks: both(|it| it.callbacks),
            jvm_calls: both(|it| it.jvm_calls),
            probes_ns: both(|it| it.probes_ns),
            ..OwnCpu::default()
        };
        sum.summed()
    }

    fn summed(mut self) -> OwnCpu {
        let probes_ns = self.probes_ns.unwrap_or(0);
        self.own_ns = self.callbacks_ns.saturating_add(self.threads_ns).saturating_add(probes_ns);
        self.share = self.share_of(self.own_ns);
        self
    }

    fn share_of(&self, ns: u64) -> Option<f64> {
        (self.process_ns != 0).then(|| ns as f64 / self.process_ns as f64)
    }

    fn percent(&self, ns: u64) -> String {
        self.share_of(ns).map_or_else(|| "?".to_owned(), |share| format!("{:.2}", 100.0 * share))
    }

    /// In one line: `1.80 % of the program's 12.3 s of CPU time, estimated: ...`.
    pub fn text(&self) -> String {
        let mut parts = vec![("callbacks", self.callbacks_ns), ("own threads", self.threads_ns)];
        parts.extend(self.probes_ns.map(|ns| ("probes in Java", ns)));
        let parts: Vec<String> =
            parts.iter().map(|&(what, ns)| format!("{what} {} %", self.percent(ns))).collect();
        format!(
            "{} % of the program's {} of CPU time, estimated ({})",
            self.percent(self.own_ns),
            units::duration(self.process_ns),
            parts.join(", "),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(probes_ns: Option<u64>) -> Option<OwnCpu> {
        OwnCpu::read(|key| match key {
            "cpu.process_ns" => Some(2_000_000_000),
            "cpu.callbacks_ns" => Some(22_000_000),
            "callbacks.count" => Some(6_400),
            "callbacks.jvm_calls" => Some(64),
            "cpu.threads_ns" => Some(4_000_000),
            "cpu.probes_ns" => probes_ns,
            _ => None,
        })
    }

    #[test]
    fn parts_make_the_whole() {
        let own = read(Some(10_000_000)).unwrap();
        assert_eq!((own.own_ns, own.share), (36_000_000, Some(0.018)));
        assert_eq!(
            own.text(),
            "1.80 % of the program's 2 s of CPU time, estimated (callbacks 1.10 %, own threads \
             0.20 %, probes in Java 0.50 %)"
        );
        let own = read(None).unwrap();
        assert_eq!((own.own_ns, own.probes_ns), (26_000_000, None));
        assert_eq!(
            own.text(),
            "1.30 % of the program's 2 s of CPU time, estimated (callbacks 1.10 %, own threads \
             0.20 %)"
        );
    }

    #[test]
    fn processes_add_up() {
        let (traced, other) = (read(Some(10_000_000)).unwrap(), read(None).unwrap());
        let both = traced.plus(other);
        assert_eq!((both.own_ns, both.share), (62_000_000, Some(0.0155)));
        assert_eq!(both.probes_ns, Some(10_000_000));
        assert_eq!((both.callbacks, both.jvm_calls), (Some(12_800), Some(128)));
        assert_eq!(other.plus(other).probes_ns, None);
    }

    #[test]
    fn what_no_agent_has_told_is_not_known() {
        assert_eq!(OwnCpu::read(|_| None), None);
        let idle = OwnCpu::read(|key| (key != "cpu.probes_ns").then_some(0)).unwrap();
        assert_eq!(idle.share, None);
        assert!(idle.text().starts_with("? % of the program's 0 ns"), "{}", idle.text());
    }
}
