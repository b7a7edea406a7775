//! The tables that go with the code, other than `StackMapTable`.

use super::frames::{self, NewFrames};
use super::layout::{self, Layout};
use super::{annotations, put_sized, put_u2};
use crate::ClassError;
use crate::attribute::Attribute;
use crate::code::Code;
use crate::plan::Reason;
use crate::reader::Reader;

type Result<T> = core::result::Result<T, Reason>;

const STACK_MAP_TABLE: &str = "StackMapTable";

/// Appends the exception table. What probes in handlers throw comes first, because those handlers
/// may cover themselves, then what protected probes throw, whatever else covers them. The catch-all handler's entries come last, so that every handler of the
/// method's own wins.
pub(super) fn write_handlers(
    out: &mut Vec<u8>,
    code: &Code<'_, '_>,
    layout: &Layout,
) -> Result<()> {
    let offset = code.exception_table_offset();
    let added = layout.handler_probes.len() + layout.protected.len() + layout.guarded.len();
    let count = code.exception_table().count() + added;
    put_u2(out, u16::try_from(count).map_err(|_| Reason::TableFull)?);
    for probe in &layout.handler_probes {
        let fields = [probe.start.0, probe.end.0, probe.caught.0, 0];
        fields.into_iter().for_each(|field| put_u2(out, field));
    }
    for (start, end, handler) in &layout.protected {
        let handler = layout.label(i64::from(handler.0), offset)?;
        [start.0, end.0, handler.0, 0].into_iter().for_each(|field| put_u2(out, field));
    }
    for entry in code.exception_table() {
        put_u2(out, layout.range_start(entry.start, offset)?.0);
        put_u2(out, layout.range_end(entry.end, offset)?.0);
        put_u2(out, layout.label(i64::from(entry.handler.0), offset)?.0);
        put_u2(out, entry.catch_type);
    }
    for (start, end) in &layout.guarded {
        [start.0, end.0, layout.end.0, 0].into_iter().for_each(|field| put_u2(out, field));
    }
    Ok(())
}

/// Appends the attributes of the code.
pub(super) fn write_attributes(
    out: &mut Vec<u8>,
    code: &Code<'_, '_>,
    layout: &Layout,
    new_frames: &NewFrames,
) -> Result<()> {
    let has_frames = code.sole_attribute(STACK_MAP_TABLE)?.is_some();
    let count_at = out.len();
    put_u2(out, 0);
    let mut count: u16 = 0;
    for attribute in code.attributes().iter() {
        count =
            count.saturating_add(u16::from(write_attribute(out, &attribute, layout, new_frames)?));
    }
    if let (Some(new), false) = (&new_frames.catch_all, has_frames) {
        count = count.checked_add(1).ok_or(Reason::TableFull)?;
        put_u2(out, new.attribute_name);
        put_sized(out, |out| frames::write(out, None, layout, new_frames))?;
    }
    if let Some(field) = out.get_mut(count_at..count_at + 2) {
        field.copy_from_slice(&count.to_be_bytes());
    }
    Ok(())
}

/// Appends an attribute, unless it is one to drop; tells whether it did.
fn write_attribute(
    out: &mut Vec<u8>,
    attribute: &Attribute<'_>,
    layout: &Layout,
    new_frames: &NewFrames,
) -> Result<bool> {
    let (start, contents) = (out.len(), attribute.contents);
    put_u2(out, attribute.name_index);
    let written = put_sized(out, |out| match attribute.name.as_bytes() {
        b"StackMapTable" => frames::write(out, Some(contents), layout, new_frames).map(|()| true),
        b"LineNumberTable" => Ok(lines(out, contents, layout).map(|()| true)?),
        b"LocalVariableTable" | b"LocalVariableTypeTable" => {
            Ok(variables(out, contents, layout).map(|()| true)?)
        }
        // The JVM ignores annotations of code, so a method with broken ones still runs; better
        // none than some that name wrong places.
        b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
            Ok(annotations::write(out, contents, layout).is_ok())
        }
        // CLDC's stack maps and the code ranges of `javac -Xjcov`: they name places in the code,
        // but for readers that are not here, so they are not worth relocating.
        b"StackMap" | b"CharacterRangeTable" => Ok(false),
        _ => {
            out.extend_from_slice(contents.rest());
            Ok(true)
        }
    })?;
    if !written {
        out.truncate(start);
    }
    Ok(written)
}

/// `LineNumberTable`: the line that starts at the start of the method has the entry probe, too;
/// any other starts where jumps lead.
fn lines(
    out: &mut Vec<u8>,
    mut contents: Reader<'_>,
    layout: &Layout,
) -> core::result::Result<(), ClassError> {
    let count = contents.u2()?;
    put_u2(out, count);
    for _ in 0..count {
        let offset = contents.offset();
        let start = contents.u2()?;
        put_u2(out, if start == 0 { 0 } else { layout.label(i64::from(start), offset)?.0 });
        put_u2(out, contents.u2()?);
    }
    contents.finish()
}

/// `LocalVariableTable` and `LocalVariableTypeTable`.
fn variables(
    out: &mut Vec<u8>,
    mut contents: Reader<'_>,
    layout: &Layout,
) -> core::result::Result<(), ClassError> {
    let count = contents.u2()?;
    put_u2(out, count);
    for _ in 0..count {
        layout::scope(&mut contents, out, layout)?;
        let name_type_slot = contents.bytes(6)?;
        out.extend_from_slice(name_type_slot);
    }
    contents.finish()
}
