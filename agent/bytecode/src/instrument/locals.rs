//! What stack maps say about local variables, slot by slot.

use std::collections::HashMap;

use super::frames::{Change, Frames, VerificationType};
use crate::Pc;
use crate::class::Method;
use crate::code::Code;
use crate::descriptor::{MethodDescriptor, Type};
use crate::plan::Reason;

type Result<T> = core::result::Result<T, Reason>;

/// The locals at some place.
#[derive(Clone, Debug, Default)]
pub(super) struct Locals<'a>(Vec<Slot<'a>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot<'a> {
    /// Nothing that could be used.
    Top,
    Of(Type<'a>),
    /// The second half of a `long` or `double`.
    Half,
    /// Something that is not compared.
    Other,
}

impl<'a> Locals<'a> {
    /// Whether a place that expects `expected` can be reached with these.
    pub(super) fn fits(&self, expected: &Locals<'a>) -> bool {
        let found = self.0.iter().copied().chain(core::iter::repeat(Slot::Top));
        expected.0.iter().zip(found).all(|(&expected, found)| match expected {
            Slot::Top => true,
            Slot::Other => false,
            expected => expected == found,
        })
    }

    /// Whether there is anything in `count` slots from `first` on.
    pub(super) fn has_any(&self, first: u16, count: u16) -> bool {
        let slots = self.0.iter().skip(usize::from(first)).take(usize::from(count));
        slots.into_iter().any(|slot| *slot != Slot::Top)
    }

    fn of(variables: &[Slot<'a>]) -> Self {
        let slots = variables.iter().flat_map(|&variable| {
            let wide = matches!(variable, Slot::Of(found) if found.slots() == 2);
            [Some(variable), wide.then_some(Slot::Half)]
        });
        Self(slots.flatten().collect())
    }
}

/// The locals at every stack map of the method.
pub(super) fn at_frames<'a>(
    method: &Method<'_, 'a>,
    code: &Code<'_, 'a>,
) -> Result<HashMap<Pc, Locals<'a>>> {
    let mut all = HashMap::new();
    let Some(table) = code.sole_attribute("StackMapTable")? else { return Ok(all) };
    let mut variables = parameters(method)?;
    for frame in Frames::new(table)? {
        let frame = frame?;
        let read = |found| read(code, found, frame.offset);
        match frame.change {
            Change::Same | Change::Stack(_) => {}
            Change::Chop(count) => variables.truncate(variables.len().saturating_sub(count)),
            Change::Append(types) => {
                for found in types.iter() {
                    variables.push(read(found?)?);
                }
            }
            Change::Full { locals, .. } => {
                variables = locals.iter().map(|found| read(found?)).collect::<Result<_>>()?;
            }
        }
        all.insert(frame.pc, Locals::of(&variables));
    }
    Ok(all)
}

fn parameters<'a>(method: &Method<'_, 'a>) -> Result<Vec<Slot<'a>>> {
    let descriptor = MethodDescriptor::parse(method.descriptor().as_bytes());
    let descriptor = descriptor.ok_or(method.bad_descriptor())?;
    let this = match (method.is_static(), method.is_constructor()) {
        (true, _) => None,
        (false, true) => Some(Slot::Other),
        (false, false) => Some(Slot::Of(Type::Reference(method.class().name().as_bytes()))),
    };
    Ok(this.into_iter().chain(descriptor.parameters.into_iter().map(Slot::Of)).collect())
}

fn read<'a>(code: &Code<'_, 'a>, found: VerificationType, at: usize) -> Result<Slot<'a>> {
    Ok(match found {
        VerificationType::TOP => Slot::Top,
        VerificationType::INTEGER => Slot::Of(Type::Int),
        VerificationType::FLOAT => Slot::Of(Type::Float),
        VerificationType::LONG => Slot::Of(Type::Long),
        VerificationType::DOUBLE => Slot::Of(Type::Double),
        VerificationType::Object(class) => {
            Slot::Of(Type::Reference(code.class_name(class, at)?.as_bytes()))
        }
        VerificationType::Simple(_) | VerificationType::Uninitialized(_) => Slot::Other,
    })
}
