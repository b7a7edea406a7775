//! Names for symbolic values.

use super::value::{Found, Id, Store, Value};
use super::{Body, Half, LockName};
use crate::descriptor::{MethodDescriptor, Type};
use crate::{JStr, Pc};

/// How far names are followed, from a local to what was stored there, from a field to its object.
const DEEPEST: u32 = 6;
/// How many characters a name may have.
const LONGEST: usize = 200;
/// How many characters of a string constant are shown.
const LONGEST_TEXT: usize = 30;

/// A name, and how much it tells.
#[derive(Clone, PartialEq, Eq)]
struct Name {
    text: String,
    telling: Telling,
    half: Option<Half>,
}

/// How much a name tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// No more than that of a local variable would.
    Weak,
    /// More than that of a local variable would.
    Strong,
    /// Which lock it is, wherever it is taken: it is that of a field.
    Field,
}

impl Name {
    fn new(text: String, telling: Telling) -> Option<Self> {
        Some(Self { text, telling, half: None })
    }

    fn field(text: String) -> Option<Self> {
        Name::new(text, Telling::Field)
    }

    fn strong(text: String) -> Option<Self> {
        Name::new(text, Telling::Strong)
    }

    fn weak(text: String) -> Option<Self> {
        Name::new(text, Telling::Weak)
    }
}

/// The name of a value.
pub(super) fn name(body: &Body<'_>, found: &Found<'_>, id: Id) -> Option<LockName> {
    let Name { text, telling, half } = Renderer { body, found }.name(id, 0)?;
    let is_field = telling == Telling::Field;
    Some(match text.char_indices().nth(LONGEST) {
        // What was cut off may be what tells it from others.
        Some((end, _)) => {
            LockName { text: format!("{}…", text.get(..end)?), half, is_field: false }
        }
        None => LockName { text, half, is_field },
    })
}

/// The name of a class constant.
pub(super) fn class_constant(class: &[u8]) -> String {
    let dimensions = class.iter().take_while(|&&byte| byte == b'[').count();
    let element = class.get(dimensions..).unwrap_or_default();
    let element = match (dimensions, element) {
        (0, name) => text(name),
        (_, [b'L', name @ .., b';']) => text(name),
        (_, primitive) => primitive_name(primitive),
    };
    format!("{element}{}.class", "[]".repeat(dimensions.min(DEEPEST as usize)))
}

fn primitive_name(descriptor: &[u8]) -> String {
    match descriptor {
        b"Z" => "boolean",
        b"B" => "byte",
        b"C" => "char",
        b"S" => "short",
        b"I" => "int",
        b"J" => "long",
        b"F" => "float",
        b"D" => "double",
        _ => "?",
    }
    .to_owned()
}

fn text(bytes: &[u8]) -> String {
    JStr::new(bytes).to_str_lossy().into_owned()
}

struct Renderer<'r, 'a> {
    body: &'r Body<'a>,
    found: &'r Found<'a>,
}

impl Renderer<'_, '_> {
    fn name(&self, id: Id, depth: u32) -> Option<Name> {
        let depth = (depth < DEEPEST).then_some(depth + 1)?;
        match self.found.values.get(id) {
            Value::Unknown => None,
            Value::Local { slot, at, stored } => self.local(slot, at, stored, depth),
            Value::Class(class) => Name::strong(class_constant(class)),
            Value::Text(constant) => Name::weak(quoted(constant)),
            Value::New(class) => Name::weak(format!("new {}", text(class))),
            Value::Static { owner, name } => Name::field(format!("{}.{}", text(owner), text(name))),
            Value::Field { object, owner, name, descriptor } => {
                self.field(object, owner, name, descriptor, depth)
            }
            Value::Element { array } => {
                let array = self.name(array, depth)?;
                Some(Name { text: array.text + "[]", ..array })
            }
            Value::Call { receiver, owner, name, no_arguments } => {
                self.call(receiver, owner, name, no_arguments, depth)
            }
            Value::Dynamic { name } => Name::weak(format!("{}()", text(name))),
        }
    }

    fn field(
        &self,
        object: Id,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
        depth: u32,
    ) -> Option<Name> {
        // What compilers call the enclosing object and captured variables.
        if let (true, [b'L', class @ .., b';']) = (name.starts_with(b"this$"), descriptor) {
            return Name::strong(format!("{}.this", text(class)));
        }
        if let Some(captured) = name.strip_prefix(b"val$") {
            return Name::strong(text(captured));
        }
        let object = match self.found.values.get(object) {
            Value::Field { name, .. } if !is_synthetic(name) => self.name(object, depth),
            Value::Static { .. } => self.name(object, depth),
            _ => None,
        };
        let object = object.map_or_else(|| text(owner), |object| object.text);
        Name::field(format!("{object}.{}", text(name)))
    }

    fn call(
        &self,
        receiver: Option<Id>,
        owner: &[u8],
        name: &[u8],
        no_arguments: bool,
        depth: u32,
    ) -> Option<Name> {
        let called = text(name);
        let Some(receiver) = receiver else {
            return Name::weak(format!("{}.{called}()", text(owner)));
        };
        let on = self.name(receiver, depth);
        match on {
            // The two halves of a lock are the lock.
            Some(on) if no_arguments && is_view(name) => Some(Name { half: half(name), ..on }),
            Some(on) if on.text == "this" => Name::weak(format!("{called}()")),
            Some(on) => Name::weak(format!("{}.{called}()", on.text)),
            None => Name::weak(format!("{}.{called}()", text(owner))),
        }
    }

    /// A local variable: what was stored there last or, if that is not known, always, if it is more
    /// telling than its name.
    fn local(&self, slot: u16, at: Pc, last: Option<Id>, depth: u32) -> Option<Name> {
        let parameter = self.parameter(slot);
        let variable = self.body.variables.iter().find(|variable| {
            let lives = variable.start..=variable.start.saturating_add(variable.length);
            variable.slot == slot && lives.contains(&at.0)
        });
        let stores = self.found.stores.get(&slot).map(Vec::as_slice).unwrap_or_default();
        let stored: Vec<&Store> = stores
            .iter()
            .filter(|store| {
                variable.is_none_or(|variable| {
                    let end = variable.start.saturating_add(variable.length);
                    (variable.start..=end).contains(&store.end.0)
                })
            })
            .collect();
        let known = match (last, parameter, stored.as_slice()) {
            (Some(last), ..) => self.name(last, depth),
            (None, Some(Parameter::This), []) => return Name::strong("this".to_owned()),
            (None, None, stores) => self.stored(stores, depth),
            (None, Some(_), _) => None,
        };
        let named = variable.map(|variable| text(variable.name)).filter(|name| !name.is_empty());
        match (known, named, parameter) {
            (Some(known), ..) if known.telling != Telling::Weak => Some(known),
            (known, Some(name), _) => {
                let half = known.and_then(|known| known.half);
                Some(Name { text: name, telling: Telling::Weak, half })
            }
            (Some(known), None, _) => Some(known),
            (None, None, Some(Parameter::Declared(index))) if stored.is_empty() => {
                Name::weak(format!("parameter {index}"))
            }
            (None, None, _) => None,
        }
    }

    /// The one name of everything that is stored.
    fn stored(&self, stores: &[&Store], depth: u32) -> Option<Name> {
        match stores {
            [only] => self.name(only.value, depth),
            [first, second] => {
                let first = self.name(first.value, depth)?;
                (self.name(second.value, depth)? == first).then_some(first)
            }
            _ => None,
        }
    }

    fn parameter(&self, slot: u16) -> Option<Parameter> {
        if slot == 0 && !self.body.is_static {
            return Some(Parameter::This);
        }
        let descriptor = MethodDescriptor::parse(self.body.descriptor)?;
        let mut next = u16::from(!self.body.is_static);
        for (index, parameter) in descriptor.parameters.iter().copied().enumerate() {
            if next == slot {
                return Some(Parameter::Declared(index + 1));
            }
            next = next.saturating_add(Type::slots(parameter));
        }
        None
    }
}

#[derive(Clone, Copy)]
enum Parameter {
    This,
    /// Counted from one.
    Declared(usize),
}

fn is_synthetic(field: &[u8]) -> bool {
    field.starts_with(b"this$") || field.starts_with(b"val$")
}

/// Whether a method returns a view of the lock that it is called on.
fn is_view(method: &[u8]) -> bool {
    method == b"asReadWriteLock" || half(method).is_some()
}

/// The half of a lock that a method returns.
fn half(method: &[u8]) -> Option<Half> {
    match method {
        b"readLock" | b"asReadLock" => Some(Half::Read),
        b"writeLock" | b"asWriteLock" => Some(Half::Write),
        _ => None,
    }
}

fn quoted(constant: &[u8]) -> String {
    let constant = text(constant);
    let shown: String = constant.chars().take(LONGEST_TEXT).collect();
    let rest = if shown.len() < constant.len() { "…" } else { "" };
    format!("{shown:?}{rest}")
}
