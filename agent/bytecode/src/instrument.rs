//! Inserting the probes.
//!
//! The class is copied, not written anew: what changes are the constant pool, at whose end
//! constants are appended, and the `Code` attributes of the methods concerned.

mod annotations;
mod body;
mod frames;
mod handlers;
mod layout;
mod locals;
mod method;
mod parameters;
mod probes;
mod tables;

use crate::class::{ClassFile, Method};
use crate::plan::{MethodPlan, Reason};
use crate::pool_writer::PoolWriter;
use core::ops::Range;
pub use layout::Shifts;
use method::CodePatch;

/// What [`instrument`] did.
#[derive(Clone, Debug, Default)]
pub struct Instrumented {
    /// The new class; `None` when it is the old one.
    pub bytes: Option<Vec<u8>>,
    /// How many methods got probes.
    pub changed: usize,
    /// Where their instructions went.
    pub moved: Vec<Moved>,
    /// The methods that a plan was given for and that were left as they were.
    pub left: Vec<Left>,
}

/// A method that got probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Name of the method.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// The [print](crate::code_print) of its code now.
    pub print: u64,
    /// How far its instructions moved.
    pub shifts: Shifts,
}

/// A method that was left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Name of the method.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// Why.
    pub reason: Reason,
}

/// Inserts probes into the methods for which `plan` wants some.
///
/// A method that cannot be given all of its probes safely gets none of them, and is reported in
/// [`Instrumented::left`]; the others are not affected by that.
pub fn instrument(
    class: &ClassFile<'_>,
    mut plan: impl FnMut(&Method<'_, '_>) -> Option<MethodPlan>,
) -> Instrumented {
    let mut pool = PoolWriter::extending(class.constants());
    let mut patches = Vec::new();
    let (mut left, mut moved) = (Vec::new(), Vec::new());
    for method in class.methods() {
        let Some(plan) = plan(&method).filter(|plan| !plan.is_empty()) else { continue };
        let mark = pool.mark();
        let (name, descriptor) = (method.name().to_string(), method.descriptor().to_string());
        match method::rewrite(&method, &plan, &mut pool) {
            Ok(CodePatch { print, shifts, replaces, contents }) => {
                moved.push(Moved { name, descriptor, print, shifts });
                patches.push((replaces, contents));
            }
            Err(reason) => {
                pool.roll_back(&mark);
                left.push(Left { name, descriptor, reason });
            }
        }
    }
    let bytes = (!patches.is_empty()).then(|| splice(class, &pool, &patches));
    Instrumented { bytes, changed: patches.len(), moved, left }
}

/// The class with its pool extended and `patches`, which are in the order of the file, applied.
fn splice(
    class: &ClassFile<'_>,
    pool: &PoolWriter<'_>,
    patches: &[(Range<usize>, Vec<u8>)],
) -> Vec<u8> {
    /// `constant_pool_count`, right in front of the pool.
    const COUNT: usize = 2;
    let old = class.bytes();
    let grown: usize = patches.iter().map(|(_, contents)| contents.len()).sum();
    let mut out = Vec::with_capacity(old.len() + pool.appended().len() + grown);
    // Every place below is one that parsing has been to, so no `get` comes back empty.
    let copy = |out: &mut Vec<u8>, from, to| {
        out.extend_from_slice(old.get(from..to).unwrap_or_default());
    };
    let pool_start = class.constants().start();
    copy(&mut out, 0, pool_start.saturating_sub(COUNT));
    out.extend(pool.count().to_be_bytes());
    copy(&mut out, pool_start, class.pool_end());
    out.extend_from_slice(pool.appended());
    let mut copied = class.pool_end();
    for (replaces, contents) in patches {
        copy(&mut out, copied, replaces.start);
        out.extend_from_slice(contents);
        copied = replaces.end;
    }
    copy(&mut out, copied, old.len());
    out
}

/// Appends a `u2`.
fn put_u2(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

/// Appends what `write` appends with its length in front, as a `u4`.
fn put_sized<T, E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
) -> Result<T, E> {
    let at = out.len();
    out.extend([0; 4]);
    let written = write(out)?;
    let length = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    if let Some(field) = out.get_mut(at..at + 4) {
        field.copy_from_slice(&length.to_be_bytes());
    }
    Ok(written)
}
