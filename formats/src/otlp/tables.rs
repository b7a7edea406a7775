//! What the samples of profiles of OpenTelemetry refer to.

use super::bytes_of;
use crate::{
    limits::{MAX_DEPTH, MAX_TEXT},
    pprof::{
        build::ProfileBuilder,
        message::{FieldValue, MessageFields, numbers},
    },
};
use std::borrow::Cow;

/// The tables; the first row of each is empty.
#[derive(Default)]
pub(super) struct Dictionary<'a> {
    locations: Vec<&'a [u8]>,
    functions: Vec<&'a [u8]>,
    texts: Vec<&'a [u8]>,
    attributes: Vec<&'a [u8]>,
    stacks: Vec<&'a [u8]>,
}

/// A number of a field of a message; 0 if it is missing.
fn number(message: &[u8], wanted: u64) -> u64 {
    let fields = MessageFields::new(message).filter(|field| field.number == wanted);
    let number = |value| match value {
        FieldValue::Number(number) => Some(number),
        _ => None,
    };
    fields.filter_map(|field| number(field.value)).last().unwrap_or(0)
}

fn row<'a>(table: &[&'a [u8]], at: u64) -> &'a [u8] {
    usize::try_from(at).ok().and_then(|at| table.get(at)).copied().unwrap_or_default()
}

impl<'a> Dictionary<'a> {
    pub(super) fn of(parts: &[&'a [u8]]) -> Dictionary<'a> {
        let mut it = Dictionary::default();
        for field in parts.iter().flat_map(|part| MessageFields::new(part)) {
            let Some(bytes) = bytes_of(field.value) else { continue };
            match field.number {
                2 => it.locations.push(bytes),
                3 => it.functions.push(bytes),
                5 => it.texts.push(bytes.get(..MAX_TEXT).unwrap_or(bytes)),
                6 => it.attributes.push(bytes),
                7 => it.stacks.push(bytes),
                _ => {}
            }
        }
        it
    }

    /// Whether texts or stacks are missing.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() || self.stacks.is_empty()
    }

    /// A text; what is no UTF-8 is replaced.
    pub(super) fn text(&self, at: u64) -> Cow<'a, str> {
        String::from_utf8_lossy(row(&self.texts, at))
    }

    /// The locations of a stack, the innermost first, in a profile.
    pub(super) fn stack(&self, at: u64, profile: &mut ProfileBuilder) -> Vec<u64> {
        let mut stack = Vec::new();
        for field in MessageFields::new(row(&self.stacks, at)).filter(|field| field.number == 1) {
            numbers(field.value, |location| {
                // One more than is read shows that it was cut.
                if stack.len() <= MAX_DEPTH as usize {
                    self.location(location, profile, &mut stack);
                }
            });
        }
        stack
    }

    fn location(&self, at: u64, profile: &mut ProfileBuilder, stack: &mut Vec<u64>) {
        let location = row(&self.locations, at);
        let before = stack.len();
        for line in super::messages(location, 3) {
            let function = row(&self.functions, number(line, 1));
            let [name, system, file] = [1, 2, 3].map(|field| self.text(number(function, field)));
            let shown = if name.is_empty() { &system } else { &name };
            let function = profile.function(shown, &system, &file, number(function, 4));
            stack.push(profile.location(function, number(line, 2)));
        }
        if stack.len() == before {
            stack.push(profile.location(0, number(location, 2)));
        }
    }

    /// What an attribute says, as a label of pprof; `None` if it is none of those that are
    /// read.
    pub(super) fn label(&self, at: u64) -> Option<(&'static str, String)> {
        let attribute = row(&self.attributes, at);
        let key = match &*self.text(number(attribute, 1)) {
            "thread.name" => "thread",
            "lock.name" => "lock",
            "lock.class" => "lock_class",
            "lock.wait.kind" => "kind",
            _ => return None,
        };
        let value = super::messages(attribute, 2).next()?;
        let text =
            super::messages(value, 1).next().filter(|text| *text != crate::UNKNOWN.as_bytes())?;
        Some((key, String::from_utf8_lossy(text.get(..MAX_TEXT).unwrap_or(text)).into_owned()))
    }
}
