//! The tables that all profiles of a file refer to.

use super::{index, proto, put_message};
use crate::outputs::{
    tables::{Locations, Strings, TableEntry},
    tree::StackTree,
};
use prost::Message;
use std::{collections::HashMap, io};
use tyrion_model::profile::Profile;
use tyrion_wire::span::Span;

/// Fields of `ProfilesDictionary`.
const LOCATION_TABLE: u64 = 2;
const FUNCTION_TABLE: u64 = 3;
const STACK_TABLE: u64 = 7;

/// The tables while they grow.
#[derive(Default)]
pub(super) struct Dictionary {
    strings: Strings,
    /// Attributes by key and value, both strings.
    attributes: HashMap<(i32, String), i32>,
    table: Vec<proto::KeyValueAndUnit>,
    /// The stacks, encoded as fields, without the first one.
    stacks: Vec<u8>,
    /// Spans by their numbers, without the first one.
    links: Vec<proto::Link>,
    link_numbers: HashMap<([u64; 2], u64), i32>,
}

impl Dictionary {
    /// The number of a string.
    pub(super) fn string(&mut self, text: &str) -> io::Result<i32> {
        index(self.strings.id(text) as u64)
    }

    /// What numbers of profiles are.
    pub(super) fn value_type(&mut self, name: &str, unit: &str) -> io::Result<proto::ValueType> {
        Ok(proto::ValueType {
            type_strindex: self.string(name)?,
            unit_strindex: self.string(unit)?,
        })
    }

    /// The number of an attribute; 0 for an empty value.
    pub(super) fn attribute(&mut self, key: &str, value: &str) -> io::Result<i32> {
        if value.is_empty() {
            return Ok(0);
        }
        let key_strindex = self.string(key)?;
        let next = index(self.table.len() as u64 + 1)?;
        let known = self.attributes.entry((key_strindex, value.to_owned()));
        let id = *known.or_insert(next);
        if id == next {
            let value = Some(value.to_owned().into());
            self.table.push(proto::KeyValueAndUnit { key_strindex, value });
        }
        Ok(id)
    }

    /// The number of a span; 0 for none.
    pub(super) fn link(&mut self, span: Span) -> io::Result<i32> {
        if !span.is_some() {
            return Ok(0);
        }
        let next = index(self.links.len() as u64 + 1)?;
        let id = *self.link_numbers.entry((span.trace, span.id)).or_insert(next);
        if id == next {
            let trace_id = span.trace.iter().flat_map(|half| half.to_be_bytes()).collect();
            self.links.push(proto::Link { trace_id, span_id: span.id.to_be_bytes().to_vec() });
        }
        Ok(id)
    }

    /// Adds a stack behind the others: its locations, the innermost first.
    pub(super) fn add_stack(&mut self, locations: impl Iterator<Item = u64>) -> io::Result<()> {
        let location_indices: io::Result<Vec<i32>> = locations.map(index).collect();
        let stack = proto::Stack { location_indices: location_indices? };
        put_message(STACK_TABLE, &stack.encode_to_vec(), &mut self.stacks);
        Ok(())
    }

    /// The tables as one message.
    pub(super) fn encode(
        mut self,
        profile: &Profile,
        tree: &StackTree,
        locations: &Locations,
    ) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        put_message(LOCATION_TABLE, &[], &mut out);
        put_message(FUNCTION_TABLE, &[], &mut out);
        locations.each(profile, tree, &mut self.strings, &mut |entry| {
            let (field, message) = encoded(entry)?;
            put_message(field, &message, &mut out);
            Ok(())
        })?;
        put_message(STACK_TABLE, &[], &mut out);
        out.extend_from_slice(&self.stacks);
        let mut attribute_table = vec![proto::KeyValueAndUnit::default()];
        attribute_table.append(&mut self.table);
        // Ids of the right length, as the format asks for.
        let mut link_table = vec![proto::Link { trace_id: vec![0; 16], span_id: vec![0; 8] }];
        link_table.append(&mut self.links);
        let rest = proto::ProfilesDictionary {
            mapping_table: vec![proto::Mapping {}],
            link_table,
            string_table: self.strings.into_table(),
            attribute_table,
            ..Default::default()
        };
        rest.encode(&mut out).map_err(io::Error::other)?;
        Ok(out)
    }
}

/// A location or function, and the field that it stands in.
fn encoded(entry: TableEntry) -> io::Result<(u64, Vec<u8>)> {
    match entry {
        TableEntry::Location { function_id, line, .. } => {
            let line = proto::Line { function_index: index(function_id)?, line };
            Ok((LOCATION_TABLE, proto::Location { lines: vec![line] }.encode_to_vec()))
        }
        TableEntry::Function { name, system_name, filename, first_line, .. } => {
            let function = proto::Function {
                name_strindex: index(name as u64)?,
                system_name_strindex: index(system_name as u64)?,
                filename_strindex: index(filename as u64)?,
                start_line: first_line,
            };
            Ok((FUNCTION_TABLE, function.encode_to_vec()))
        }
    }
}
