//! The kinds of values that options take: how each is read and written, and what
//! there is to know about it.

mod time;

pub(crate) use time::{DAY_NS, HOUR_NS, Length, Period, Span, ThresholdKind};

use crate::{
    error::Wrong,
    values::{HoldSampling, Mode, NamePattern},
};
use std::{ffi::OsStr, fmt::Display, os::unix::ffi::OsStrExt, path::PathBuf, str::FromStr};
use tyrion_wire::pattern::Pattern;

/// How the value of an option is read and written.
pub trait Kind {
    /// What the agent works with.
    type Value;

    /// Reads a value, whatever bytes it is of.
    ///
    /// # Errors
    /// What is wrong, to follow `name=value `.
    fn read(&self, value: &[u8]) -> Result<Self::Value, Wrong> {
        let text = std::str::from_utf8(value).map_err(|_| Wrong::new("is not UTF-8"))?;
        self.read_text(text)
    }

    /// Reads a value that is text.
    ///
    /// # Errors
    /// What is wrong, to follow `name=value `.
    fn read_text(&self, text: &str) -> Result<Self::Value, Wrong>;

    /// As the user would write it.
    fn write(&self, value: &Self::Value) -> String;

    /// As the log's metadata have it.
    fn write_to_log(&self, value: &Self::Value) -> String {
        self.write(value)
    }

    /// What there is to know about it.
    fn about(&self) -> About;
}

/// What the command line, the documentation and tests need to know about a kind
/// of value.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// How it is written.
    pub form: Form,
    /// The limits of its values, in words.
    pub limits: Option<String>,
    /// Values that are taken, a typical one first.
    pub accepted: Vec<String>,
    /// Values that are refused, those right beyond the limits among them.
    pub refused: Vec<String>,
}

/// How a value is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// One value.
    #[default]
    One,
    /// `true` or `false`; without a value, `true`.
    Switch,
    /// One of these words.
    Choice(Vec<&'static str>),
    /// Several values between semicolons.
    List,
}

fn about(form: Form, accepted: &[&str], refused: &[&str]) -> About {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    About { form, limits: None, accepted: texts(accepted), refused: texts(refused) }
}

/// A whole number.
pub(crate) struct Number<N> {
    pub from: N,
    pub to: N,
}

impl<N: FromStr + PartialOrd + Display> Kind for Number<N> {
    type Value = N;

    fn read_text(&self, text: &str) -> Result<N, Wrong> {
        let range = &self.from..=&self.to;
        let number = text.parse().ok().filter(|number| range.contains(&number));
        number
            .ok_or_else(|| Wrong::new(format!("is not a number from {} to {}", self.from, self.to)))
    }

    fn write(&self, value: &N) -> String {
        value.to_string()
    }

    fn about(&self) -> About {
        let (from, to) = (self.from.to_string(), self.to.to_string());
        // Ten times as many are too many, and there are no negative ones.
        let mut about = about(Form::One, &[&from, &to], &["", "many", "-1", &format!("{to}0")]);
        about.limits = Some(format!("from {from} to {to}"));
        if self.from.to_string() == "1" {
            about.refused.push("0".to_owned());
        }
        about
    }
}

/// Yes or no.
pub(crate) struct Flag;

impl Kind for Flag {
    type Value = bool;

    fn read_text(&self, text: &str) -> Result<bool, Wrong> {
        match text {
            "true" | "on" | "yes" => Ok(true),
            "false" | "off" | "no" => Ok(false),
            _ => Err(Wrong::new("is neither true nor false")),
        }
    }

    fn write(&self, value: &bool) -> String {
        value.to_string()
    }

    fn about(&self) -> About {
        about(Form::Switch, &["true", "false", "on", "off", "yes", "no"], &["perhaps", "2"])
    }
}

/// One of some words.
pub(crate) struct Choice<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Kind for Choice<T> {
    type Value = T;

    fn read_text(&self, text: &str) -> Result<T, Wrong> {
        let known = self.0.iter().find(|(name, _)| *name == text);
        known.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
            Wrong::new(match names[..] {
                [one, other] => format!("is neither {one} nor {other}"),
                _ => format!("is none of {}", names.join(", ")),
            })
        })
    }

    fn write(&self, value: &T) -> String {
        let name = self.0.iter().find(|(_, known)| known == value).map(|(name, _)| *name);
        name.unwrap_or_default().to_owned()
    }

    fn about(&self) -> About {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
        about(Form::Choice(names.clone()), &names, &["", "nonsense"])
    }
}

/// What is recorded.
pub(crate) struct ModeKind;

impl Kind for ModeKind {
    type Value = Mode;

    fn read_text(&self, text: &str) -> Result<Mode, Wrong> {
        let wrong = || Wrong::new(format!("is none of {}", Mode::NAMES.join(", ")));
        Mode::parse(text).ok_or_else(wrong)
    }

    fn write(&self, value: &Mode) -> String {
        value.name().to_owned()
    }

    fn about(&self) -> About {
        let refused = ["", "tarce", "sample+sample", "contention+trace"];
        about(Form::Choice(Mode::NAMES.to_vec()), &Mode::NAMES, &refused)
    }
}

/// The share of holds that are measured.
pub(crate) struct Share;

impl Kind for Share {
    type Value = HoldSampling;

    fn read_text(&self, text: &str) -> Result<HoldSampling, Wrong> {
        let wrong = || Wrong::new("is neither all, none nor a share like 1/64");
        HoldSampling::parse(text).ok_or_else(wrong)
    }

    fn write(&self, value: &HoldSampling) -> String {
        value.name()
    }

    fn about(&self) -> About {
        let refused = ["", "64", "1/0", "1/1048576", "some"];
        about(Form::One, &["1/16", "1/1", "1/1048575", "all", "none"], &refused)
    }
}

/// A length in bytes, written as JVM options have it: `64m`, `1g`, or plain
/// bytes.
pub(crate) struct Size;

impl Size {
    /// The shortest files, in bytes: chunks take 4 KiB at least, and threads have
    /// some each.
    const LEAST: u64 = 64 << 10;
    /// The longest files, in bytes.
    const MOST: u64 = 128 << 30;
}

impl Kind for Size {
    type Value = u64;

    fn read_text(&self, text: &str) -> Result<u64, Wrong> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit {
            "" => Some(0),
            "k" | "K" => Some(10),
            "m" | "M" => Some(20),
            "g" | "G" => Some(30),
            _ => None,
        };
        let bytes =
            number.parse::<u64>().ok().zip(shift).and_then(|(n, shift)| n.checked_mul(1 << shift));
        match bytes {
            Some(bytes) if bytes < Self::LEAST => Err(Wrong::new("is too small; use 64k at least")),
            Some(bytes) if bytes > Self::MOST => Err(Wrong::new("is too large; use 128g at most")),
            Some(bytes) => Ok(bytes),
            None => Err(Wrong::new("is not a size like 64m, 1g or 500000000")),
        }
    }

    fn write(&self, value: &u64) -> String {
        value.to_string()
    }

    fn about(&self) -> About {
        let refused = ["", "M", "1MM", "1x", "63k", "65535", "0", "129g", "99999999999999g"];
        let mut about = about(Form::One, &["64m", "64k", "65536", "1M", "128g"], &refused);
        about.limits = Some("from 64k to 128g".to_owned());
        about
    }
}

/// Patterns with `*` and `?` between semicolons.
pub(crate) struct Patterns;

impl Kind for Patterns {
    type Value = Vec<Pattern>;

    fn read_text(&self, text: &str) -> Result<Vec<Pattern>, Wrong> {
        let patterns = text.split(';').map(str::trim).filter(|pattern| !pattern.is_empty());
        Ok(patterns.map(Pattern::new).collect())
    }

    fn write(&self, value: &Vec<Pattern>) -> String {
        let patterns: Vec<&str> = value.iter().map(Pattern::as_str).collect();
        patterns.join(";")
    }

    fn about(&self) -> About {
        about(Form::List, &["a*;*.b?", "a", ""], &[])
    }
}

/// A regular expression; an empty one is as good as none.
pub(crate) struct Names;

impl Kind for Names {
    type Value = NamePattern;

    fn read_text(&self, text: &str) -> Result<NamePattern, Wrong> {
        NamePattern::parse(text)
            .map_err(|error| Wrong::new(format!("is not a regular expression: {error}")))
    }

    fn write(&self, value: &NamePattern) -> String {
        value.as_str().to_owned()
    }

    fn about(&self) -> About {
        // It knows no classes of Unicode.
        about(Form::One, &["^http-[0-9]{1,3}", ""], &["(", r"\p{L}+"])
    }
}

/// A file's path, of any bytes; but it is told in lines of text.
pub(crate) struct Path;

impl Kind for Path {
    type Value = PathBuf;

    fn read(&self, value: &[u8]) -> Result<PathBuf, Wrong> {
        if value.is_empty() {
            return Err(Wrong::new("needs a path"));
        }
        if String::from_utf8_lossy(value).contains(char::is_control) {
            return Err(Wrong::new("must not hold control characters; name another file"));
        }
        Ok(PathBuf::from(OsStr::from_bytes(value)))
    }

    fn read_text(&self, text: &str) -> Result<PathBuf, Wrong> {
        self.read(text.as_bytes())
    }

    fn write(&self, value: &PathBuf) -> String {
        value.to_string_lossy().into_owned()
    }

    fn about(&self) -> About {
        about(Form::One, &["/tmp/a,b-%p.log"], &["", "a\nb", "a\u{1b}[31m"])
    }
}

/// Any text.
pub(crate) struct Text;

impl Kind for Text {
    type Value = String;

    fn read_text(&self, text: &str) -> Result<String, Wrong> {
        Ok(text.to_owned())
    }

    fn write(&self, value: &String) -> String {
        value.clone()
    }

    fn about(&self) -> About {
        about(Form::One, &["any"], &[])
    }
}
