//! Lines whose stacks begin elsewhere: with the first frame of the program's packages, or
//! with the innermost one.

use crate::outputs::{
    OutputOptions,
    lines::{LabelKind, Lines},
};
use std::collections::{BTreeMap, HashMap};
use tyrion_model::packages::Packages;

/// The lines as the options ask for them, in the order of frames.
pub(super) fn reshaped(text: &str, lines: &Lines<'_>, options: &OutputOptions) -> String {
    let kinds: HashMap<&str, LabelKind> = lines.labels().collect();
    let is_method =
        |frame: &str| matches!(kinds.get(frame), Some(LabelKind::Method | LabelKind::JdkMethod));
    of_paths(text, &Packages::new(&options.packages), options.invert, is_method)
}

fn of_paths(
    text: &str,
    packages: &Packages<'_>,
    inverts: bool,
    is_method: impl Fn(&str) -> bool,
) -> String {
    let mut sums: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
    for (path, value) in text.lines().filter_map(|line| line.rsplit_once(' ')) {
        let mut frames: Vec<&str> = path.split(';').collect();
        let own = frames.iter().position(|frame| is_method(frame) && packages.have(frame));
        if let Some(own) = own {
            // Threads, states and groups are no callers.
            let mut at = 0;
            frames.retain(|frame| {
                at += 1;
                at > own || !is_method(frame)
            });
        }
        if inverts {
            frames.reverse();
        }
        let sum = sums.entry(frames).or_default();
        *sum = sum.saturating_add(value.parse().unwrap_or(0));
    }
    let line = |(frames, sum): (Vec<&str>, u64)| format!("{} {sum}\n", frames.join(";"));
    sums.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
main;org.web.Server.run;com.acme.Shop.buy;com.acme.Cache.get;L [monitor] 5
main;org.web.Server.run;org.web.Filter.do;com.acme.Shop.buy;com.acme.Cache.get;L [monitor] 7
main;org.web.Server.run;org.web.Filter.do;L [monitor] 1
other;com.acmeother.X.run;com.acme.Cache.put;org.map.Map.put;L [monitor] 2
";

    fn made(packages: &[&str], inverts: bool) -> String {
        let packages: Vec<String> = packages.iter().map(|&it| it.to_owned()).collect();
        let is_method = |frame: &str| !["main", "other", "L [monitor]"].contains(&frame);
        of_paths(LINES, &Packages::new(&packages), inverts, is_method)
    }

    #[test]
    fn stacks_begin_with_the_packages() {
        let expected = "\
main;com.acme.Shop.buy;com.acme.Cache.get;L [monitor] 12
main;org.web.Server.run;org.web.Filter.do;L [monitor] 1
other;com.acme.Cache.put;org.map.Map.put;L [monitor] 2
";
        assert_eq!(made(&["com.acme"], false), expected);
    }

    #[test]
    fn inverted_stacks_begin_with_the_lock() {
        let expected = "\
L [monitor];com.acme.Cache.get;com.acme.Shop.buy;main 12
L [monitor];org.map.Map.put;com.acme.Cache.put;other 2
L [monitor];org.web.Filter.do;org.web.Server.run;main 1
";
        assert_eq!(made(&["com.acme"], true), expected);
        let sum = |text: &str| {
            let values = text.lines().map(|line| line.rsplit_once(' ').unwrap().1);
            values.map(|value| value.parse::<u64>().unwrap()).sum::<u64>()
        };
        assert_eq!(sum(&made(&[], true)), sum(LINES));
    }
}
