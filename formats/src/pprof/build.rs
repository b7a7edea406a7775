//! Profiles of pprof, made of what says the same in another form: texts, and profiles of
//! OpenTelemetry. So one reader knows what samples mean.

use std::collections::HashMap;
use tyrion_wire::varint;

/// Puts a profile together, message after message.
#[derive(Debug, Default)]
pub(crate) struct ProfileBuilder {
    profile: Vec<u8>,
    texts: HashMap<String, u64>,
    locations: HashMap<(u64, u64), u64>,
    functions: HashMap<(u64, u64), u64>,
}

/// Puts a number into a message.
fn put_number(message: &mut Vec<u8>, field: u64, value: u64) {
    if value != 0 {
        varint::put(message, field << 3);
        varint::put(message, value);
    }
}

/// Puts bytes into a message: a text, or a message.
fn put_bytes(message: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint::put(message, field << 3 | 2);
    varint::put(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

impl ProfileBuilder {
    pub(crate) fn new() -> ProfileBuilder {
        let mut it = ProfileBuilder::default();
        // The first text is the empty one.
        it.text("");
        it
    }

    /// The number of a text.
    fn text(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let number = self.texts.len() as u64;
        put_bytes(&mut self.profile, 6, text.as_bytes());
        self.texts.insert(text.to_owned(), number);
        number
    }

    /// Says what one more of each sample's values is.
    pub(crate) fn value_type(&mut self, name: &str, unit: &str) {
        let mut message = Vec::new();
        put_number(&mut message, 1, self.text(name));
        put_number(&mut message, 2, self.text(unit));
        put_bytes(&mut self.profile, 1, &message);
    }

    /// The number of a function.
    pub(crate) fn function(&mut self, name: &str, system: &str, file: &str, first: u64) -> u64 {
        let key = (self.text(name), self.text(file));
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        let id = self.functions.len() as u64 + 1;
        let mut message = Vec::new();
        put_number(&mut message, 1, id);
        put_number(&mut message, 2, key.0);
        put_number(&mut message, 3, self.text(system));
        put_number(&mut message, 4, key.1);
        put_number(&mut message, 5, first);
        put_bytes(&mut self.profile, 5, &message);
        self.functions.insert(key, id);
        id
    }

    /// The number of a location: of a line of a function, or of an address if there is none.
    pub(crate) fn location(&mut self, function: u64, line_or_address: u64) -> u64 {
        let next = self.locations.len() as u64 + 1;
        let id = *self.locations.entry((function, line_or_address)).or_insert(next);
        if id != next {
            return id;
        }
        let mut message = Vec::new();
        put_number(&mut message, 1, id);
        if function == 0 {
            put_number(&mut message, 3, line_or_address);
        } else {
            let mut line = Vec::new();
            put_number(&mut line, 1, function);
            put_number(&mut line, 2, line_or_address);
            put_bytes(&mut message, 4, &line);
        }
        put_bytes(&mut self.profile, 4, &message);
        id
    }

    /// Adds a sample. Its locations are the innermost first; each label is a key and a text.
    pub(crate) fn sample(&mut self, stack: &[u64], values: &[u64], labels: &[(&str, &str)]) {
        let packed = |numbers: &[u64]| {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|&number| varint::put(&mut bytes, number));
            bytes
        };
        let mut message = Vec::new();
        put_bytes(&mut message, 1, &packed(stack));
        put_bytes(&mut message, 2, &packed(values));
        for (key, text) in labels {
            let mut label = Vec::new();
            put_number(&mut label, 1, self.text(key));
            put_number(&mut label, 2, self.text(text));
            put_bytes(&mut message, 3, &label);
        }
        put_bytes(&mut self.profile, 2, &message);
    }

    /// The profile. When it was made is Unix time in ns; 0 stands for what is not known.
    pub(crate) fn finish(mut self, start_ns: u64, duration_ns: u64) -> Vec<u8> {
        put_number(&mut self.profile, 9, start_ns);
        put_number(&mut self.profile, 10, duration_ns);
        self.profile
    }
}
