//! What is known by its name: strings, classes and methods.

use super::{Inner, MethodText};
use crate::log::LogFile;
use std::sync::Arc;
use tyrion_wire::def::{Definition, MAX_TEXT, id};

impl Inner {
    pub(super) fn string(&mut self, log: &LogFile, text: &[u8]) -> Option<u32> {
        if text.is_empty() {
            return Some(id::NO_STRING);
        }
        let text = &text[..text.len().min(MAX_TEXT)];
        if let Some(&known) = self.strings.get(text) {
            return Some(known);
        }
        let id = self.last.string + 1;
        self.define(log, &Definition::String { id, text })?;
        self.last.string = id;
        let text: Arc<[u8]> = text.into();
        self.bound_content();
        if let Some(content) = &mut self.content {
            content.strings.push(Arc::clone(&text));
        }
        self.strings.insert(text, id);
        Some(id)
    }

    /// A thread's name: not remembered, since threads with names of their own
    /// come and go.
    pub(super) fn name(&mut self, log: &LogFile, text: &[u8]) -> Option<u32> {
        if text.is_empty() {
            return Some(id::NO_STRING);
        }
        let id = self.last.string + 1;
        self.define(log, &Definition::String { id, text: &text[..text.len().min(MAX_TEXT)] })?;
        self.last.string = id;
        self.bound_content();
        if let Some(content) = &mut self.content {
            content.strings.push(Arc::default());
        }
        Some(id)
    }

    pub(super) fn class(&mut self, log: &LogFile, signature: &[u8], source: &[u8]) -> Option<u32> {
        let inner_name = signature.strip_prefix(b"L").and_then(|s| s.strip_suffix(b";"));
        self.class_named(log, inner_name.unwrap_or(signature), source)
    }

    pub(super) fn class_named(&mut self, log: &LogFile, name: &[u8], source: &[u8]) -> Option<u32> {
        let name = self.string(log, name)?;
        let source = self.string(log, source)?;
        if let Some(&known) = self.classes.get(&(name, source)) {
            return Some(known);
        }
        let id = self.last.class + 1;
        self.define(log, &Definition::Class { id, name, source })?;
        self.last.class = id;
        self.classes.insert((name, source), id);
        if let Some(content) = &mut self.content {
            content.classes.push((name, source));
        }
        Some(id)
    }

    pub(super) fn method_by_name(&mut self, log: &LogFile, method: &MethodText<'_>) -> Option<u32> {
        let class = self.class(log, method.class, method.source)?;
        let name = self.string(log, method.name)?;
        let descriptor = self.string(log, method.descriptor)?;
        self.named_method(log, (class, name, descriptor), method.first_line)
    }

    pub(super) fn named_method(
        &mut self,
        log: &LogFile,
        key: (u32, u32, u32),
        first_line: u32,
    ) -> Option<u32> {
        if let Some(&known) = self.named_methods.get(&key) {
            return Some(known);
        }
        let (class, name, descriptor) = key;
        let id = self.last.method + 1;
        self.define(log, &Definition::Method { id, class, name, descriptor, first_line })?;
        self.last.method = id;
        self.named_methods.insert(key, id);
        if let Some(content) = &mut self.content {
            content.methods.push([class, name, descriptor, first_line]);
        }
        Some(id)
    }
}
