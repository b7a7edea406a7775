//! Descriptors: the types of parameters, results and fields.

/// A type as the verifier sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type<'a> {
    /// `int` and everything narrower.
    Int,
    Float,
    Long,
    Double,
    /// A class or an array, named as a `CONSTANT_Class` names it.
    Reference(&'a [u8]),
}

impl Type<'_> {
    /// How many stack or local variable slots a value takes.
    pub(crate) fn slots(self) -> u16 {
        match self {
            Type::Long | Type::Double => 2,
            _ => 1,
        }
    }
}

/// A method's parameter types and its result, `None` for `void`.
#[derive(Clone, Debug)]
pub(crate) struct MethodDescriptor<'a> {
    pub(crate) parameters: Vec<Type<'a>>,
    pub(crate) result: Option<Type<'a>>,
}

impl<'a> MethodDescriptor<'a> {
    pub(crate) fn parse(descriptor: &'a [u8]) -> Option<Self> {
        let mut rest = descriptor.strip_prefix(b"(")?;
        let mut parameters = Vec::new();
        while !rest.starts_with(b")") {
            let (parameter, tail) = split_type(rest)?;
            parameters.push(parameter);
            rest = tail;
        }
        let result = match rest.strip_prefix(b")")? {
            b"V" => None,
            result => Some(field_type(result)?),
        };
        Some(Self { parameters, result })
    }

    /// How many slots the parameters take, not counting a receiver.
    pub(crate) fn parameter_slots(&self) -> usize {
        self.parameters.iter().map(|parameter| usize::from(parameter.slots())).sum()
    }

    /// How many slots the result takes.
    pub(crate) fn result_slots(&self) -> u16 {
        self.result.map_or(0, Type::slots)
    }
}

/// The type a field's descriptor names.
pub(crate) fn field_type(descriptor: &[u8]) -> Option<Type<'_>> {
    match split_type(descriptor)? {
        (result, []) => Some(result),
        _ => None,
    }
}

/// Splits the first type off a list of them.
fn split_type(list: &[u8]) -> Option<(Type<'_>, &[u8])> {
    let (&first, tail) = list.split_first()?;
    Some(match first {
        b'B' | b'C' | b'I' | b'S' | b'Z' => (Type::Int, tail),
        b'F' => (Type::Float, tail),
        b'J' => (Type::Long, tail),
        b'D' => (Type::Double, tail),
        b'L' => {
            let (name, tail) = split_class_name(tail)?;
            (Type::Reference(name), tail)
        }
        b'[' => {
            let dimensions = list.iter().take_while(|&&byte| byte == b'[').count();
            let (_, element) = list.split_at_checked(dimensions)?;
            let (_, tail) = split_type(element)?;
            let (array, _) = list.split_at_checked(list.len() - tail.len())?;
            (Type::Reference(array), tail)
        }
        _ => return None,
    })
}

/// Splits `name;tail`.
fn split_class_name(list: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = list.iter().position(|&byte| byte == b';')?;
    let (name, tail) = list.split_at_checked(end)?;
    let (_, tail) = tail.split_first()?;
    (!name.is_empty()).then_some((name, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_kind_of_type() {
        let method = MethodDescriptor::parse(b"(IJ[[La/B;D[ZLc;)[I").expect("well-formed");
        let expected = [
            Type::Int,
            Type::Long,
            Type::Reference(b"[[La/B;"),
            Type::Double,
            Type::Reference(b"[Z"),
            Type::Reference(b"c"),
        ];
        assert_eq!(method.parameters, expected);
        assert_eq!(method.result, Some(Type::Reference(b"[I")));
        assert_eq!((method.parameter_slots(), method.result_slots()), (8, 1));
    }

    #[test]
    fn rejects_what_is_no_descriptor() {
        for bad in ["", "I", "(", "()", "(V)V", "(L;)V", "(La)V", "([)V", "()VV", "()II", "()Q"] {
            assert!(MethodDescriptor::parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
