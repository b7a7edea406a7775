//! Threads that are shown as one, by their names.

use crate::{
    merge::remap,
    profile::{Profile, Thread},
};
use regex::Regex;
use std::{borrow::Cow, collections::HashMap};
use thiserror::Error;

/// Why a rule for groups of threads cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{rule}` cannot group threads: {reason}; write digits, pool, name, none or s/REGEX/TEXT/")]
pub struct GroupingError {
    rule: String,
    reason: String,
}

/// By what threads are shown as one.
#[derive(Clone, Debug, Default)]
pub enum Grouping {
    /// The name without hexadecimal numbers that are long or begin with `0x`, and
    /// then without all other numbers, with the `.` and `:` in them: `pool-1-thread-7` is of
    /// `pool--thread-`.
    #[default]
    Digits,
    /// The name with what a regular expression finds replaced.
    Regex(Substitution),
    /// The whole name.
    Name,
    /// The name without the number at its end: `pool-1-thread-7` is of
    /// `pool-1-thread`.
    Pool,
    /// Nothing: threads are as they are.
    None,
}

/// `s/REGEX/TEXT/`.
#[derive(Clone, Debug)]
pub struct Substitution {
    regex: Regex,
    text: String,
    is_global: bool,
}

impl Grouping {
    /// Reads `digits`, `name`, `pool`, `none` or `s/REGEX/TEXT/`: with any
    /// delimiter, with the flag `g` if all matches are to be replaced, and with
    /// `\1` or `$1` for what the first parentheses found.
    ///
    /// # Errors
    /// When the rule is none of them.
    pub fn parse(rule: &str) -> Result<Grouping, GroupingError> {
        let substitution = rule.strip_prefix("regex").unwrap_or(rule);
        let substitution = substitution.trim_start_matches([' ', ':', '=']);
        match rule {
            "digits" => Ok(Grouping::Digits),
            "name" => Ok(Grouping::Name),
            "pool" => Ok(Grouping::Pool),
            "none" => Ok(Grouping::None),
            _ => match Substitution::parse(substitution) {
                Ok(substitution) => Ok(Grouping::Regex(substitution)),
                Err(reason) => Err(GroupingError { rule: rule.to_owned(), reason }),
            },
        }
    }

    /// The name of the group that a thread belongs to; never empty: a rule that
    /// leaves nothing of a name leaves it as it is.
    pub fn group_name(&self, thread: &Thread) -> String {
        let name = thread.label();
        let group = match self {
            Grouping::Digits => replace_numbers(&name, ""),
            Grouping::Regex(substitution) => substitution.of(&name).into_owned(),
            Grouping::Pool => pool(&name).to_owned(),
            Grouping::Name | Grouping::None => return name,
        };
        if group.is_empty() { name } else { group }
    }
}

impl Substitution {
    fn parse(text: &str) -> Result<Substitution, String> {
        let rest = text.strip_prefix('s').unwrap_or_default();
        let delimiter = rest.chars().next().filter(|char| is_delimiter(*char));
        let delimiter = delimiter.ok_or("it is not a known rule")?;
        let parts = split(&rest[delimiter.len_utf8()..], delimiter);
        let [regex, text, flags] = &parts[..] else {
            return Err(format!("it needs `{delimiter}` three times"));
        };
        let is_global = match flags.as_str() {
            "" => false,
            "g" => true,
            _ => return Err(format!("`{flags}` is not a flag; only g is")),
        };
        let regex = Regex::new(regex).map_err(|error| error.to_string())?;
        Ok(Substitution { regex, text: braced(text), is_global })
    }

    fn of<'n>(&self, name: &'n str) -> Cow<'n, str> {
        let limit = if self.is_global { 0 } else { 1 };
        self.regex.replacen(name, limit, &self.text)
    }
}

fn is_delimiter(char: char) -> bool {
    !char.is_alphanumeric() && !char.is_whitespace() && char != '\\'
}

/// The text between delimiters; one behind a backslash is none.
fn split(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let next = chars.peek().copied();
        let part = match (char, next) {
            _ if char == delimiter => {
                parts.push(String::new());
                continue;
            }
            ('\\', Some(next)) if next == delimiter => "",
            ('\\', Some(_)) => "\\",
            _ => "",
        };
        let escaped = if char == '\\' { chars.next() } else { Some(char) };
        if let Some(last) = parts.last_mut() {
            last.push_str(part);
            last.extend(escaped);
        }
    }
    parts
}

/// `\1` and `$1` as `${1}`: what follows the number shall not be part of it.
fn braced(text: &str) -> String {
    let mut braced = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let number = chars.next_if(|next| matches!(char, '\\' | '$') && next.is_ascii_digit());
        match number {
            Some(number) => braced.extend(['$', '{', number, '}']),
            None => braced.push(char),
        }
    }
    braced
}

/// The name with `by` for hexadecimal numbers that begin with `0x` or have 16
/// digits and more, and then for other numbers with their `.` and `:`.
pub fn replace_numbers(name: &str, by: &str) -> String {
    let is_digit = |char: char| matches!(char, '0'..='9' | '.' | ':');
    let without = replace(&replace_prefixed(name, by), 16, is_hex, by);
    replace(&without, 1, is_digit, by)
}

fn is_hex(char: char) -> bool {
    matches!(char, '0'..='9' | 'a'..='f')
}

/// `text` with `by` for each `0x` with the hexadecimal digits behind it.
fn replace_prefixed(text: &str, by: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        let (before, number) = rest.split_at(at);
        let digits = &number[2..];
        let tail = digits.trim_start_matches(is_hex);
        let is_number = tail.len() < digits.len() && !before.ends_with(char::is_alphanumeric);
        replaced.push_str(before);
        replaced.push_str(if is_number { by } else { "0x" });
        rest = if is_number { tail } else { digits };
    }
    replaced + rest
}

/// `text` with `by` for each run of at least `least` characters of a kind.
fn replace(text: &str, least: usize, is_of_kind: impl Fn(char) -> bool, by: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = is_of_kind(first);
        let end = rest.find(|char| is_of_kind(char) != kind).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        // Characters of both kinds are ASCII: bytes are characters.
        replaced.push_str(if kind && run.len() >= least { by } else { run });
        rest = tail;
    }
    replaced
}

/// Without the number at the end and what stands before it.
fn pool(name: &str) -> &str {
    let unnumbered = name.trim_end_matches(|char: char| char.is_ascii_digit());
    if unnumbered.len() == name.len() {
        return name;
    }
    unnumbered.trim_end_matches(['-', '_', ' ', '#', ':'])
}

/// Merges the threads of each group into one that has the group's name. Threads
/// of different runs stay apart. Sums stay; rows that are equal then are added
/// up.
pub fn group(mut profile: Profile, by: &Grouping) -> Profile {
    if matches!(by, Grouping::None) {
        return profile;
    }
    let group_of = merge_threads(&mut profile.threads, by);
    let owner_group_of = merge_threads(&mut profile.owners, by);
    for wait in &mut profile.waits {
        // NO_OWNER is none of them.
        wait.owner = owner_group_of.get(wait.owner as usize).copied().unwrap_or(wait.owner);
    }
    let thread = |thread: u32| group_of.get(thread as usize).copied().unwrap_or(thread);
    remap(&mut profile, thread, |stack| stack);
    profile
}

/// Makes one of the threads of each group. The result is the group of each thread.
fn merge_threads(threads: &mut Vec<Thread>, by: &Grouping) -> Vec<u32> {
    let mut groups: HashMap<(u32, String), u32> = HashMap::new();
    let mut merged: Vec<Thread> = Vec::new();
    let mut group_of: Vec<u32> = Vec::with_capacity(threads.len());
    for thread in threads.drain(..) {
        let next = merged.len() as u32;
        let name = by.group_name(&thread);
        let at = *groups.entry((thread.run, name.clone())).or_insert(next);
        match merged.get_mut(at as usize) {
            Some(first) => join(first, &thread),
            None => merged.push(Thread { name, ..thread }),
        }
        group_of.push(at);
    }
    *threads = merged;
    group_of
}

/// Leaves of a thread what is so of another one, too.
fn join(first: &mut Thread, other: &Thread) {
    first.java_id = 0;
    if first.group != other.group {
        first.group.clear();
    }
    first.daemon &= other.daemon;
    first.is_virtual &= other.is_virtual;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(rule: &str, thread: &str) -> String {
        let thread = Thread { name: thread.to_owned(), java_id: 7, ..Thread::default() };
        Grouping::parse(rule).unwrap().group_name(&thread)
    }

    #[test]
    fn digits_are_stripped_as_perf_sampler_does() {
        for (thread, group) in [
            ("pool-7-thread-8", "pool--thread-"),
            ("http-nio-8080-exec-3", "http-nio--exec-"),
            ("conn 0123456789abcdef0 of 10.0.0.1:80", "conn  of "),
            ("deadbeef", "deadbeef"),
            ("0x7f3a9bcd1234deadbeef-task", "-task"),
            ("conn@0x1f 0x", "conn@ x"),
            ("10x9 boxes", "x boxes"),
            ("main", "main"),
            ("żółw 7", "żółw "),
            // What would be nothing stays.
            ("17", "17"),
            ("1.2:3", "1.2:3"),
            ("0123456789abcdef", "0123456789abcdef"),
            ("", "thread-"),
        ] {
            assert_eq!(name("digits", thread), group, "{thread}");
        }
    }

    #[test]
    fn pools_lose_their_last_number() {
        for (thread, group) in [
            ("pool-1-thread-7", "pool-1-thread"),
            ("ForkJoinPool-1-worker-12", "ForkJoinPool-1-worker"),
            ("worker #3", "worker"),
            ("Thread_4", "Thread"),
            ("Thread5", "Thread"),
            ("exec-3 idle", "exec-3 idle"),
            ("8", "8"),
            ("-8", "-8"),
        ] {
            assert_eq!(name("pool", thread), group, "{thread}");
        }
    }

    #[test]
    fn substitutions_are_those_of_sed() {
        for (rule, thread, group) in [
            ("s/[0-9]//", "a1b2", "ab2"),
            ("s/[0-9]//g", "a1b2", "ab"),
            ("regex:s|/.*||", "GET /orders/7", "GET "),
            ("regex s|/.*||", "GET /orders/7", "GET "),
            (r"s/^(\w+)-\d+/\1x/", "io-12-b", "iox-b"),
            ("s,^([a-z]+)-[0-9]+,$1x,", "io-12-b", "iox-b"),
            (r"s/a\/b/c/", "a/b", "c"),
            (r"s|a\.b|c|", "axb a.b", "axb c"),
            ("s/.*//", "all", "all"),
            ("name", "io-1", "io-1"),
            ("none", "io-1", "io-1"),
        ] {
            assert_eq!(name(rule, thread), group, "{rule}");
        }
        for (rule, reason) in [
            ("", "not a known rule"),
            ("digit", "not a known rule"),
            ("s", "not a known rule"),
            ("sxaxbx", "not a known rule"),
            ("s/a/b", "three times"),
            ("s/a/b/c/d", "three times"),
            ("s/a/b/i", "is not a flag"),
            ("s/(/b/", "unclosed group"),
        ] {
            let error = Grouping::parse(rule).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
