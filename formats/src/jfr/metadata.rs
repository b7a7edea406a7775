//! What a chunk's metadata say of its events and constants: which fields they have.
//!
//! They are a tree of elements with attributes, all texts of it by their number in
//! a table before it. A `class` has an `id`, a `name` and `field` children; a
//! field's `class` is the id of its type, and it may be an array (`dimension`) or the
//! key of a constant (`constantPool`).

use super::scan::{ByteScan, RawText};
use crate::limits::{
    MAX_TOLD_APART,
    jfr::{MAX_FIELDS, MAX_NESTED, MAX_TEXTS},
};
use std::{collections::HashMap, sync::Arc};

/// The name of the type of stacks.
pub(super) const STACK: &str = "jdk.types.StackTrace";

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueShape {
    /// A number, a `boolean`, or the key of a constant.
    Number,
    /// So many bytes.
    Bytes(usize),
    /// A text.
    Text,
    /// The fields of a type, by its place in [`TypeTable`].
    Fields(usize),
}

/// A field of a type.
#[derive(Clone, Debug)]
pub(super) struct TypeField {
    /// Fields of the same name share it.
    pub(super) name: Arc<str>,
    pub(super) shape: ValueShape,
    pub(super) is_array: bool,
}

/// A type of events, constants, or of what they consist of.
#[derive(Clone, Debug)]
pub(super) struct JfrType {
    pub(super) id: u64,
    pub(super) name: Arc<str>,
    pub(super) fields: Vec<TypeField>,
}

/// All types of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeTable {
    types: Vec<JfrType>,
    by_id: HashMap<u64, usize>,
    stack: Option<usize>,
}

/// A class as its element says, before all types are known.
#[derive(Default)]
struct ClassElement {
    id: u64,
    name: Arc<str>,
    fields: Vec<RawField>,
}

struct RawField {
    name: Arc<str>,
    type_id: u64,
    is_array: bool,
    is_constant: bool,
}

impl TypeTable {
    /// Reads the metadata event, from what follows its type.
    pub(super) fn read(mut scan: ByteScan<'_>) -> Option<TypeTable> {
        // When, how long, and which one.
        for _ in 0..3 {
            scan.number()?;
        }
        let count = scan.count().filter(|&count| count <= MAX_TEXTS)?;
        let mut texts = Vec::with_capacity(count.min(1 << 12));
        for _ in 0..count {
            texts.push(name(scan.text()?));
        }
        let mut reader = ElementReader { texts, classes: Vec::new(), room: MAX_FIELDS };
        reader.element(&mut scan, MAX_NESTED)?;
        Some(TypeTable::of(reader.classes))
    }

    fn of(classes: Vec<ClassElement>) -> TypeTable {
        let by_id: HashMap<u64, usize> =
            classes.iter().enumerate().map(|(at, class)| (class.id, at)).collect();
        let names: Vec<Arc<str>> = classes.iter().map(|class| class.name.clone()).collect();
        let field = |field: RawField| {
            let at = by_id.get(&field.type_id).copied();
            let shape = match at.and_then(|at| names.get(at)).map(|name| &**name) {
                _ if field.is_constant => ValueShape::Number,
                Some("byte") => ValueShape::Bytes(1),
                Some("float") => ValueShape::Bytes(4),
                Some("double") => ValueShape::Bytes(8),
                Some("boolean" | "char" | "short" | "int" | "long") => ValueShape::Number,
                Some("java.lang.String") => ValueShape::Text,
                // A type that is not there has no fields.
                _ => ValueShape::Fields(at.unwrap_or(usize::MAX)),
            };
            TypeField { name: field.name, shape, is_array: field.is_array }
        };
        let mut types: Vec<JfrType> = Vec::with_capacity(classes.len());
        for class in classes {
            let fields = class.fields.into_iter().map(field).collect();
            types.push(JfrType { id: class.id, name: class.name, fields });
        }
        leave_out_empty(&mut types);
        let stack = types.iter().position(|of| &*of.name == STACK);
        TypeTable { types, by_id, stack }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &JfrType> {
        self.types.iter()
    }

    pub(super) fn by_id(&self, id: u64) -> Option<&JfrType> {
        self.types.get(*self.by_id.get(&id)?)
    }

    /// The type of stacks.
    pub(super) fn stack(&self) -> Option<&JfrType> {
        self.types.get(self.stack?)
    }

    pub(super) fn at(&self, at: usize) -> Option<&JfrType> {
        self.types.get(at)
    }

    /// How a constant, or a value, of this type is written.
    pub(super) fn shape_of(&self, id: u64) -> Option<ValueShape> {
        let at = *self.by_id.get(&id)?;
        match &*self.types.get(at)?.name {
            "java.lang.String" => Some(ValueShape::Text),
            _ => Some(ValueShape::Fields(at)),
        }
    }

    /// Goes past a value.
    pub(super) fn skip(
        &self,
        scan: &mut ByteScan<'_>,
        shape: ValueShape,
        is_array: bool,
    ) -> Option<()> {
        self.skip_within(scan, shape, is_array, MAX_NESTED)
    }

    fn skip_within(
        &self,
        scan: &mut ByteScan<'_>,
        shape: ValueShape,
        is_array: bool,
        depth: usize,
    ) -> Option<()> {
        let count = if is_array { scan.count()? } else { 1 };
        for _ in 0..count {
            let at = scan.at();
            match shape {
                ValueShape::Number => drop(scan.number()?),
                ValueShape::Bytes(len) => drop(scan.take(len)?),
                ValueShape::Text => drop(scan.text()?),
                ValueShape::Fields(at) => {
                    let depth = depth.checked_sub(1)?;
                    for field in self.types.get(at).map_or(&[][..], |it| it.fields.as_slice()) {
                        self.skip_within(scan, field.shape, field.is_array, depth)?;
                    }
                }
            }
            if scan.at() == at {
                // Nor have all others any bytes.
                break;
            }
        }
        Some(())
    }
}

/// Leaves out fields without bytes. So whoever goes past a value reads a byte for each
/// step: types of many fields that are such types again, and empty in the end, would
/// take for ever.
fn leave_out_empty(types: &mut [JfrType]) {
    // Deeper ones are not read.
    for _ in 0..MAX_NESTED {
        let is_empty: Vec<bool> = types.iter().map(|of| of.fields.is_empty()).collect();
        let has_bytes = |field: &TypeField| match field.shape {
            ValueShape::Fields(at) if !field.is_array => is_empty.get(at) == Some(&false),
            _ => true,
        };
        types.iter_mut().for_each(|of| of.fields.retain(has_bytes));
    }
}

/// A text, or as much of it as is compared with anything.
fn name(text: RawText<'_>) -> Arc<str> {
    let text = text.to_text().unwrap_or_default();
    let end = (0..=MAX_TOLD_APART.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text.get(..end.unwrap_or(0)).unwrap_or_default().into()
}

/// The name that a type has since JDK 11: JDK 9 and 10, in version 1 of the format, put it into
/// another package (`jdk.jfr.consumer.ObjectFactory` of JDK 11 knows both).
fn modern(name: Arc<str>) -> Arc<str> {
    let packages = [("com.oracle.jfr.types.", "jdk.types."), ("com.oracle.jdk.", "jdk.")];
    let renamed = packages
        .iter()
        .find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old)?).into()));
    renamed.unwrap_or(name)
}

/// Reads elements.
struct ElementReader {
    texts: Vec<Arc<str>>,
    classes: Vec<ClassElement>,
    /// How many more types and fields are read.
    room: usize,
}

/// The attributes that matter of an element, by the numbers of their texts.
#[derive(Clone, Copy, Default)]
struct ElementAttributes {
    id: Option<usize>,
    name: Option<usize>,
    class: Option<usize>,
    dimension: Option<usize>,
    constant_pool: Option<usize>,
}

impl ElementReader {
    /// The number of a text.
    fn number(&self, scan: &mut ByteScan<'_>) -> Option<usize> {
        usize::try_from(scan.number()?).ok().filter(|&number| number < self.texts.len())
    }

    fn text(&self, number: Option<usize>) -> &str {
        number.and_then(|number| self.texts.get(number)).map_or("", |text| text)
    }

    /// A text that is kept.
    fn name(&self, number: Option<usize>) -> Arc<str> {
        number.and_then(|number| self.texts.get(number)).cloned().unwrap_or_default()
    }

    fn attributes(&self, scan: &mut ByteScan<'_>) -> Option<ElementAttributes> {
        let mut attributes = ElementAttributes::default();
        for _ in 0..scan.count()? {
            let (key, value) = (self.number(scan)?, self.number(scan)?);
            match self.text(Some(key)) {
                "id" => attributes.id = Some(value),
                "name" => attributes.name = Some(value),
                "class" => attributes.class = Some(value),
                "dimension" => attributes.dimension = Some(value),
                "constantPool" => attributes.constant_pool = Some(value),
                _ => {}
            }
        }
        Some(attributes)
    }

    fn element(&mut self, scan: &mut ByteScan<'_>, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let element = self.number(scan)?;
        let attributes = self.attributes(scan)?;
        match self.text(Some(element)) {
            "class" => {
                let id = self.text(attributes.id).parse().ok()?;
                let name = modern(self.name(attributes.name));
                self.room = self.room.checked_sub(1)?;
                self.classes.push(ClassElement { id, name, fields: Vec::new() });
            }
            "field" => {
                let field = RawField {
                    name: self.name(attributes.name),
                    type_id: self.text(attributes.class).parse().ok()?,
                    is_array: !matches!(self.text(attributes.dimension), "" | "0"),
                    is_constant: self.text(attributes.constant_pool) == "true",
                };
                self.room = self.room.checked_sub(1)?;
                if let Some(class) = self.classes.last_mut() {
                    class.fields.push(field);
                }
            }
            _ => {}
        }
        for _ in 0..scan.count()? {
            self.element(scan, depth)?;
        }
        Some(())
    }
}

/// Which fields of a type are wanted, and where their values go.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldPlan {
    steps: Vec<PlanStep>,
    /// Nothing but numbers.
    is_plain: bool,
}

#[derive(Clone, Copy, Debug)]
struct PlanStep {
    shape: ValueShape,
    is_array: bool,
    slot: u8,
}

/// How many fields of a type can be wanted; the last slot is for the others.
pub(super) const SLOTS: usize = 16;
const UNWANTED: u8 = SLOTS as u8 - 1;

/// The values of the fields that are wanted. Those that a type lacks stay as they are. Of a
/// `float`, the number is its bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FieldValues<'a> {
    pub(super) numbers: [u64; SLOTS],
    pub(super) texts: [RawText<'a>; SLOTS],
}

impl FieldPlan {
    /// For the fields of these names, in the order of the slots.
    pub(super) fn new(of: &JfrType, wanted: &[&str]) -> FieldPlan {
        let step = |field: &TypeField| PlanStep {
            shape: field.shape,
            is_array: field.is_array,
            slot: wanted
                .iter()
                .position(|name| **name == *field.name)
                .map_or(UNWANTED, |it| it as u8),
        };
        let steps: Vec<PlanStep> = of.fields.iter().map(step).collect();
        let is_plain = steps.iter().all(|step| step.shape == ValueShape::Number && !step.is_array);
        FieldPlan { steps, is_plain }
    }

    /// Whether there is nothing but numbers.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Reads the fields.
    #[inline]
    pub(super) fn read<'a>(
        &self,
        types: &TypeTable,
        scan: &mut ByteScan<'a>,
        values: &mut FieldValues<'a>,
    ) -> Option<()> {
        if self.is_plain {
            return self.read_numbers(scan, &mut values.numbers);
        }
        for step in &self.steps {
            let slot = usize::from(step.slot) % SLOTS;
            match step.shape {
                ValueShape::Number if !step.is_array => values.numbers[slot] = scan.number()?,
                ValueShape::Bytes(1) if !step.is_array => {
                    values.numbers[slot] = scan.byte()?.into()
                }
                ValueShape::Bytes(4) if !step.is_array => {
                    let bytes = *scan.take(4)?.first_chunk()?;
                    values.numbers[slot] = u32::from_be_bytes(bytes).into();
                }
                ValueShape::Text if !step.is_array => values.texts[slot] = scan.text()?,
                shape => types.skip(scan, shape, step.is_array)?,
            }
        }
        Some(())
    }

    #[inline]
    fn read_numbers(&self, scan: &mut ByteScan<'_>, numbers: &mut [u64; SLOTS]) -> Option<()> {
        for step in &self.steps {
            numbers[usize::from(step.slot) % SLOTS] = scan.number()?;
        }
        Some(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::{super::scan::tests::put, *};

    fn class(id: u64, name: &str, fields: &[u64]) -> ClassElement {
        let field = |&type_id: &u64| RawField {
            name: format!("of{type_id}").into(),
            type_id,
            is_array: false,
            is_constant: false,
        };
        ClassElement { id, name: name.into(), fields: fields.iter().map(field).collect() }
    }

    #[test]
    fn types_within_types_take_no_time_if_they_are_empty() {
        // Sixteen fields of a type that has sixteen of another one, and so on.
        let mut classes = vec![class(4, "long", &[]), class(100, "empty", &[])];
        classes.extend((101..115).map(|id| class(id, "full", &[id - 1; 16])));
        classes.push(class(200, "event", &[4, 114, 4]));
        let types = TypeTable::of(classes);
        let event = types.by_id(200).unwrap();
        assert_eq!(event.fields.len(), 2, "nothing is left of the one in the middle");
        let mut scan = ByteScan::new(&[1, 2]);
        types.skip(&mut scan, types.shape_of(200).unwrap(), false).unwrap();
        assert_eq!(scan.left(), 0);
    }

    #[test]
    fn types_that_have_themselves_are_not_read() {
        let types = TypeTable::of(vec![class(7, "self", &[7, 7]), class(8, "none", &[99])]);
        let mut scan = ByteScan::new(&[0; 9]);
        assert_eq!(types.skip(&mut scan, types.shape_of(7).unwrap(), false), None);
        assert!(types.by_id(8).unwrap().fields.is_empty());
        assert!(types.shape_of(9).is_none() && types.stack().is_none());
    }

    /// Metadata of a type with a name of this text and so many fields of that name, and
    /// so many more texts.
    fn metadata(name: &str, fields: u64, more: u64) -> Vec<u8> {
        let texts = ["class", "field", "id", "name", "long", "4", "9", name];
        let mut out = Vec::new();
        let numbers = |numbers: &[u64], out: &mut Vec<u8>| {
            numbers.iter().for_each(|&number| put(number, out));
        };
        numbers(&[0, 0, 1, texts.len() as u64 + more], &mut out);
        for text in texts {
            out.push(3);
            put(text.len() as u64, &mut out);
            out.extend(text.as_bytes());
        }
        out.extend((0..more).map(|_| 0));
        // Around all, without attributes: `long`, and the type, each with id and name.
        numbers(&[4, 0, 2, 0, 2, 2, 5, 3, 4, 0, 0, 2, 2, 6, 3, 7, fields], &mut out);
        for _ in 0..fields {
            numbers(&[1, 2, 0, 5, 3, 7, 0], &mut out);
        }
        out
    }

    #[test]
    fn names_are_cut_and_shared() {
        let long = format!("x{}", "\u{e4}".repeat(1 << 19));
        let types = TypeTable::read(ByteScan::new(&metadata(&long, 1_000, 0))).unwrap();
        let of = types.by_id(9).unwrap();
        assert_eq!((of.name.len(), of.fields.len()), (MAX_TOLD_APART - 1, 1_000));
        assert!(of.fields.iter().all(|field| Arc::ptr_eq(&field.name, &of.name)));
        assert_eq!(&*of.fields[0].name, &long[..MAX_TOLD_APART - 1]);
    }

    #[test]
    fn no_more_texts_and_fields_are_read_than_any_jvm_has() {
        let read = |fields: usize, more: usize| {
            let bytes = metadata("it", fields as u64, more as u64);
            TypeTable::read(ByteScan::new(&bytes)).map(|types| types.by_id(9).unwrap().fields.len())
        };
        assert_eq!(read(MAX_FIELDS - 2, MAX_TEXTS - 8), Some(MAX_FIELDS - 2));
        assert_eq!(read(MAX_FIELDS - 1, 0), None);
        assert_eq!(read(0, MAX_TEXTS - 7), None);
    }
}
