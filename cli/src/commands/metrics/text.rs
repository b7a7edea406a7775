//! Metrics as text: OpenMetrics 1.0, and the format that Prometheus had before.

use std::fmt::{self, Write};

/// How a text is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4.
    Prometheus,
}

impl TextFormat {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            TextFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            TextFormat::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    Counter,
    Gauge,
    Histogram,
    /// Labels alone.
    Info,
    /// A gauge for each state, of which one is 1.
    StateSet,
}

/// Metrics of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Without `_total` and `_info`; ends with the unit, if there is one.
    pub name: &'static str,
    pub metric_type: MetricType,
    pub unit: Option<&'static str>,
    /// A sentence.
    pub help: &'static str,
    pub samples: Vec<MetricSample>,
}

/// A value, and which one of its family it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSample {
    /// What follows the family's name: `_total`.
    pub suffix: &'static str,
    pub labels: Vec<(&'static str, String)>,
    pub value: MetricValue,
}

/// A number, which no format rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricValue {
    Count(u64),
    /// Nanoseconds, which are written as seconds.
    Ns(u64),
}

impl fmt::Display for MetricValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            MetricValue::Count(count) => write!(f, "{count}"),
            // Not through a floating-point number, which would round it.
            MetricValue::Ns(ns) => write!(f, "{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000),
        }
    }
}

/// Writes families.
pub fn write(families: &[Family], format: TextFormat) -> String {
    let mut out = String::new();
    for family in families {
        // Writing into a string cannot fail.
        let _ = write_family(&mut out, family, format);
    }
    if format == TextFormat::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

fn write_family(out: &mut String, family: &Family, format: TextFormat) -> fmt::Result {
    let Family { name, metric_type, unit, help, samples } = family;
    let (name, type_name) = match (format, metric_type) {
        // OpenMetrics has the family's name here, the older format the sample's.
        (TextFormat::Prometheus, MetricType::Counter) => (format!("{name}_total"), "counter"),
        (TextFormat::Prometheus, MetricType::Info) => (format!("{name}_info"), "gauge"),
        (TextFormat::Prometheus, MetricType::StateSet) => ((*name).to_owned(), "gauge"),
        (_, MetricType::Counter) => ((*name).to_owned(), "counter"),
        (_, MetricType::Gauge) => ((*name).to_owned(), "gauge"),
        (_, MetricType::Histogram) => ((*name).to_owned(), "histogram"),
        (_, MetricType::Info) => ((*name).to_owned(), "info"),
        (_, MetricType::StateSet) => ((*name).to_owned(), "stateset"),
    };
    writeln!(out, "# HELP {name} {help}")?;
    writeln!(out, "# TYPE {name} {type_name}")?;
    if let (TextFormat::OpenMetrics, Some(unit)) = (format, unit) {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    for MetricSample { suffix, labels, value } in samples {
        write!(out, "{}{suffix}", family.name)?;
        let mut before = '{';
        for (label, text) in labels {
            write!(out, "{before}{label}=\"")?;
            escape(out, text);
            out.push('"');
            before = ',';
        }
        if !labels.is_empty() {
            out.push('}');
        }
        writeln!(out, " {value}")?;
    }
    Ok(())
}

/// Writes a label's value, as both formats want it.
fn escape(out: &mut String, text: &str) {
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(metric_type: MetricType, suffix: &'static str, value: MetricValue) -> Family {
        let labels = vec![("lock", "a\\b\"c\nd{é}".to_owned()), ("kind", "monitor".to_owned())];
        let samples = vec![MetricSample { suffix, labels, value }];
        let (name, help) = ("tyrion_wait_seconds", "How long.");
        Family { name, metric_type, unit: Some("seconds"), help, samples }
    }

    #[test]
    fn both_formats_are_as_specified() {
        let families = [family(MetricType::Counter, "_total", MetricValue::Ns(1_000_000_007))];
        let sample = "tyrion_wait_seconds_total{lock=\"a\\\\b\\\"c\\nd{é}\",kind=\"monitor\"} \
                      1.000000007\n";
        assert_eq!(
            write(&families, TextFormat::OpenMetrics),
            format!(
                "# HELP tyrion_wait_seconds How long.\n# TYPE tyrion_wait_seconds counter\n\
                 # UNIT tyrion_wait_seconds seconds\n{sample}# EOF\n"
            )
        );
        assert_eq!(
            write(&families, TextFormat::Prometheus),
            format!(
                "# HELP tyrion_wait_seconds_total How long.\n\
                 # TYPE tyrion_wait_seconds_total counter\n{sample}"
            )
        );
    }

    #[test]
    fn what_prometheus_does_not_know_is_a_gauge() {
        for (metric_type, open, earlier) in [
            (MetricType::Info, "tyrion_wait_seconds info", "tyrion_wait_seconds_info gauge"),
            (MetricType::StateSet, "tyrion_wait_seconds stateset", "tyrion_wait_seconds gauge"),
            (MetricType::Gauge, "tyrion_wait_seconds gauge", "tyrion_wait_seconds gauge"),
        ] {
            let families = [family(metric_type, "", MetricValue::Count(1))];
            for (format, told) in
                [(TextFormat::OpenMetrics, open), (TextFormat::Prometheus, earlier)]
            {
                let text = write(&families, format);
                assert!(text.contains(&format!("# TYPE {told}\n")), "{text}");
            }
        }
        assert_eq!(write(&[], TextFormat::OpenMetrics), "# EOF\n");
    }

    #[test]
    fn numbers_are_not_rounded() {
        for (ns, text) in [
            (0, "0.000000000"),
            (1, "0.000000001"),
            (999_999_999, "0.999999999"),
            // As floating-point numbers these two would be one.
            (9_007_199_254_740_993, "9007199.254740993"),
            (u64::MAX, "18446744073.709551615"),
        ] {
            assert_eq!(MetricValue::Ns(ns).to_string(), text);
        }
        assert_eq!(MetricValue::Count(u64::MAX).to_string(), "18446744073709551615");
    }
}
