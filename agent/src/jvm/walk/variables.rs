//! The names of local variables, from where HotSpot keeps them.
//!
//! JVMTI tells them only to agents for which compiled code keeps all variables alive. But
//! they lie behind a method's bytecodes (`constMethod.hpp`): at the end of a `ConstMethod`
//! stand, from its last word to the front, the addresses of annotations and then tables,
//! each with its length behind it, in an order that is always the same.

use super::{exports::Exports, memory::read};
use crate::jvm::code::LocalVariable;

/// Bits of a `ConstMethod`'s flags, with their names, in the order of these.
const FLAGS: [(&str, u16); 9] = [
    ("checked_exceptions", CHECKED_EXCEPTIONS),
    ("localvariable_table", VARIABLES),
    ("exception_table", EXCEPTION_TABLE),
    ("generic_signature", GENERIC_SIGNATURE),
    ("method_parameters", PARAMETERS),
    ("method_annotations", 1 << 7),
    ("parameter_annotations", 1 << 8),
    ("type_annotations", 1 << 9),
    ("default_annotations", 1 << 10),
];
const CHECKED_EXCEPTIONS: u16 = 1 << 1;
const VARIABLES: u16 = 1 << 2;
const EXCEPTION_TABLE: u16 = 1 << 3;
const GENERIC_SIGNATURE: u16 = 1 << 4;
const PARAMETERS: u16 = 1 << 5;
const ANNOTATIONS: u16 = 0b1111 << 7;

/// The tables in front of that of variables, from the end, and the bytes of their elements.
const TABLES: [(u16, usize); 3] = [(PARAMETERS, 4), (CHECKED_EXCEPTIONS, 2), (EXCEPTION_TABLE, 8)];
/// The bytes of an element of the table of variables: six numbers of 16 bits.
const VARIABLE: usize = 12;
const WORD: usize = size_of::<usize>();

/// Where HotSpot keeps the names of local variables.
pub struct LocalVariables {
    const_method: usize,
    /// The size of a `ConstMethod` with all that follows, in words.
    size: usize,
    flags: usize,
    code_size: usize,
    max_locals: usize,
    /// The size of a `ConstMethod` alone, in bytes.
    head: usize,
}

impl LocalVariables {
    /// Of the JVM that published these tables; `None` where they are not as described here.
    pub fn of(exports: &Exports) -> Option<LocalVariables> {
        let of = |name| exports.offset("ConstMethod", name);
        let is_flag = |&(name, bit): &(&str, u16)| {
            let early = exports.number(&format!("ConstMethod::_has_{name}"));
            let late = || exports.number(&format!("ConstMethodFlags::_misc_has_{name}"));
            early.or_else(late) == Some(bit.into())
        };
        let is_element = |name, size| exports.size(name) == Some(size);
        let is_known = FLAGS.iter().all(is_flag)
            && is_element("LocalVariableTableElement", VARIABLE)
            && is_element("ExceptionTableElement", 8)
            && is_element("CheckedExceptionElement", 2)
            && is_element("MethodParametersElement", 4)
            && cfg!(target_endian = "little");
        let found = LocalVariables {
            const_method: exports.offset("Method", "_constMethod")?,
            size: of("_constMethod_size")?,
            flags: of("_flags").or_else(|| of("_flags._flags"))?,
            code_size: of("_code_size")?,
            max_locals: of("_max_locals")?,
            head: exports.size("ConstMethod")?,
        };
        is_known.then_some(found)
    }

    /// The local variables of a method; none if it has no table of them, or a table that
    /// cannot be one.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    pub unsafe fn of_method(&self, method: usize) -> Vec<LocalVariable> {
        // SAFETY: the caller's promise: the method stays, and what belongs to it.
        unsafe { self.of_const_method(read(method + self.const_method)) }
    }

    /// # Safety
    /// There is a `ConstMethod` at this address, which stays.
    unsafe fn of_const_method(&self, at: usize) -> Vec<LocalVariable> {
        // SAFETY: the caller's promise, and the length that it states of itself.
        unsafe {
            let flags = read::<u16>(at + self.flags);
            let size = read::<i32>(at + self.size);
            let (code, max_locals) =
                (read::<u16>(at + self.code_size), read::<u16>(at + self.max_locals));
            let Some(len) = usize::try_from(size).ok().and_then(|size| size.checked_mul(WORD))
            else {
                return Vec::new();
            };
            let first = self.head + usize::from(code);
            let table = table(flags, first..len, |offset| read::<u16>(at + offset));
            let number = |offset: usize| read::<u16>(at + offset);
            let variables = table.map(|at| LocalVariable {
                start: number(at),
                length: number(at + 2),
                name: number(at + 4),
                slot: number(at + 10),
            });
            let variables: Vec<LocalVariable> = variables.collect();
            let is_one = |it: &LocalVariable| {
                it.slot < max_locals && u32::from(it.start) + u32::from(it.length) <= code.into()
            };
            if variables.iter().all(is_one) { variables } else { Vec::new() }
        }
    }
}

/// Where the elements of the table of variables are, in bytes from the begin. `within` is
/// where tables can be, `number` tells what is at an offset.
fn table(
    flags: u16,
    within: std::ops::Range<usize>,
    number: impl Fn(usize) -> u16,
) -> impl Iterator<Item = usize> {
    let find = || {
        if flags & VARIABLES == 0 {
            return None;
        }
        let annotations = (flags & ANNOTATIONS).count_ones() as usize;
        let below = |end: usize, len: usize| end.checked_sub(len).filter(|at| *at >= within.start);
        // The last number in front of the annotations.
        let mut at = below(within.end, annotations * WORD + 2)?;
        if flags & GENERIC_SIGNATURE != 0 {
            at = below(at, 2)?;
        }
        for (_, element) in TABLES.iter().filter(|(flag, _)| flags & flag != 0) {
            at = below(at, usize::from(number(at)) * element + 2)?;
        }
        let start = below(at, usize::from(number(at)) * VARIABLE)?;
        Some((start..at).step_by(VARIABLE))
    };
    find().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of 16 bits of a table's end, of which the first is at offset 0.
    fn starts(flags: u16, numbers: &[u16]) -> Vec<usize> {
        table(flags, 0..numbers.len() * 2, |at| numbers[at / 2]).collect()
    }

    #[test]
    fn the_table_is_found_behind_the_others() {
        let variable = [7, 8, 9, 0, 0, 1];
        let all = |rest: &[u16]| [&[99, 99], &variable[..], &variable, &[2], rest].concat();
        assert_eq!(starts(VARIABLES, &all(&[])), [4, 16]);
        assert_eq!(starts(0, &all(&[])), [0; 0]);
        let generic = VARIABLES | GENERIC_SIGNATURE;
        assert_eq!(starts(generic, &all(&[77])), [4, 16]);
        let handlers = [1, 2, 3, 4, 1];
        assert_eq!(starts(VARIABLES | EXCEPTION_TABLE, &all(&handlers)), [4, 16]);
        let rest = [&handlers[..], &[5, 6, 2], &[1, 1, 1], &[77], &[0, 0, 0, 0]].concat();
        let flags = generic | EXCEPTION_TABLE | CHECKED_EXCEPTIONS | PARAMETERS | 1 << 8;
        assert_eq!(starts(flags, &all(&rest)), [4, 16]);
    }

    #[test]
    fn what_does_not_fit_is_no_table() {
        assert_eq!(starts(VARIABLES, &[1, 2, 3]), [0; 0]);
        assert_eq!(starts(VARIABLES | EXCEPTION_TABLE, &[9, 9, 9]), [0; 0]);
        assert_eq!(starts(VARIABLES | ANNOTATIONS, &[9, 9, 9]), [0; 0]);
        assert_eq!(starts(VARIABLES, &[]), [0; 0]);
    }
}
