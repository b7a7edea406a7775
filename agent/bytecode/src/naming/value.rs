//! Symbolic values: where a reference came from.

use std::collections::HashMap;

use crate::Pc;

/// A value, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(u32);

/// How a value came about. Texts are modified UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    /// A number, or something that is not tracked.
    Unknown,
    /// What is in a local variable at some place, and what was stored there, if that is certain.
    Local { slot: u16, at: Pc, stored: Option<Id> },
    /// A class constant.
    Class(&'a [u8]),
    /// A string constant.
    Text(&'a [u8]),
    /// A new object of a class.
    New(&'a [u8]),
    /// A static field.
    Static { owner: &'a [u8], name: &'a [u8] },
    /// An instance field.
    Field { object: Id, owner: &'a [u8], name: &'a [u8], descriptor: &'a [u8] },
    /// An element of an array.
    Element { array: Id },
    /// The result of a method; without a receiver of a static one.
    Call { receiver: Option<Id>, owner: &'a [u8], name: &'a [u8], no_arguments: bool },
    /// The result of an `invokedynamic`.
    Dynamic { name: &'a [u8] },
}

/// All values of a method.
#[derive(Debug, Default)]
pub(super) struct Values<'a>(Vec<Value<'a>>);

impl<'a> Values<'a> {
    pub(super) fn add(&mut self, value: Value<'a>) -> Id {
        let id = Id(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        self.0.push(value);
        id
    }

    pub(super) fn get(&self, Id(index): Id) -> Value<'a> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.0.get(index).copied().unwrap_or(Value::Unknown)
    }
}

/// What is stored to a local.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    /// The end of the instruction, where a variable that starts with it has its start.
    pub(super) end: Pc,
    pub(super) value: Id,
}

/// What running through a method has shown.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    pub(super) values: Values<'a>,
    /// The reference that each instruction of interest works on.
    pub(super) operands: HashMap<Pc, Id>,
    /// Everything that is stored to each local, in the order of the code.
    pub(super) stores: HashMap<u16, Vec<Store>>,
}
