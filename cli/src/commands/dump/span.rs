//! What threads did by their tracing, as `dump` prints it.

use super::{
    Dump,
    fields::{self, Record},
    record::JsonRecord,
};
use std::io::{self, Write};
use tyrion_model::harmless;
use tyrion_wire::span::{Operation, Span};

impl Dump<'_> {
    /// The span of the record before, if that was printed.
    pub(super) fn span(&self, out: &mut dyn Write, span: &Span) -> io::Result<()> {
        if !self.shows_last {
            return Ok(());
        }
        let (trace_id, span_id) = (span.trace_text(), span.id_text());
        if self.json {
            let record = Record::Span(fields::SpanIds { trace_id: &trace_id, span_id: &span_id });
            return JsonRecord::short(&record).write(out);
        }
        writeln!(out, "span    trace={trace_id} span={span_id}")
    }

    /// What the owner of the lock was doing when the wait before began, likewise.
    pub(super) fn operation(&self, out: &mut dyn Write, operation: &Operation) -> io::Result<()> {
        let Some(group) = self.names.group(operation.stack).filter(|_| self.shows_last) else {
            return Ok(());
        };
        if self.json {
            let record = Record::Operation(fields::Operation { owner_group: &group });
            return JsonRecord::short(&record).write(out);
        }
        writeln!(out, "owner   in {:?}", harmless::name(&group))
    }
}
