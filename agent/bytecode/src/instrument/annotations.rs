//! Type annotations of code.
//!
//! Relocation changes no sizes, so the attribute is copied and patched. The JVM itself never looks
//! at these; tools do.

use super::layout::{self, Layout, NewPc};
use crate::ClassError;
use crate::plan::Pc;
use crate::reader::Reader;

type Result<T> = core::result::Result<T, ClassError>;

/// How deep annotations nest before they are taken for an attack on our stack.
const DEEPEST: u32 = 64;

/// Appends the contents of a `Runtime(In)VisibleTypeAnnotations`, relocated.
pub(super) fn write(out: &mut Vec<u8>, mut contents: Reader<'_>, layout: &Layout) -> Result<()> {
    let mut copy = Copy { contents: &mut contents, out };
    for _ in 0..copy.u2()? {
        copy.target(layout)?;
        let path = usize::from(copy.u1()?);
        copy.bytes(2 * path)?;
        copy.annotation(0)?;
    }
    contents.finish()
}

/// Reads and writes the same at once.
struct Copy<'w, 'a> {
    contents: &'w mut Reader<'a>,
    out: &'w mut Vec<u8>,
}

impl Copy<'_, '_> {
    fn u1(&mut self) -> Result<u8> {
        let value = self.contents.u1()?;
        self.out.push(value);
        Ok(value)
    }

    fn u2(&mut self) -> Result<u16> {
        let value = self.contents.u2()?;
        super::put_u2(self.out, value);
        Ok(value)
    }

    fn bytes(&mut self, count: usize) -> Result<()> {
        self.out.extend_from_slice(self.contents.bytes(count)?);
        Ok(())
    }

    /// `target_type` and `target_info`: the part that names places in the code.
    fn target(&mut self, layout: &Layout) -> Result<()> {
        let offset = self.contents.offset();
        match self.u1()? {
            // Local variables.
            0x40 | 0x41 => {
                for _ in 0..self.u2()? {
                    layout::scope(self.contents, self.out, layout)?;
                    self.u2()?;
                }
                Ok(())
            }
            // An entry of the exception table: ours come behind, so it keeps its index.
            0x42 => self.bytes(2),
            // instanceof, new, two kinds of method references.
            0x43..=0x46 => self.pc(layout),
            // Type arguments of casts and calls.
            0x47..=0x4b => {
                self.pc(layout)?;
                self.bytes(1)
            }
            tag => Err(ClassError::BadAnnotation { offset, tag }),
        }
    }

    fn pc(&mut self, layout: &Layout) -> Result<()> {
        let offset = self.contents.offset();
        let NewPc(pc) = layout.instruction(Pc(self.contents.u2()?), offset)?;
        super::put_u2(self.out, pc);
        Ok(())
    }

    fn annotation(&mut self, depth: u32) -> Result<()> {
        self.u2()?;
        for _ in 0..self.u2()? {
            self.u2()?;
            self.element_value(depth)?;
        }
        Ok(())
    }

    fn element_value(&mut self, depth: u32) -> Result<()> {
        let offset = self.contents.offset();
        let tag = self.u1()?;
        match tag {
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => self.bytes(2),
            b'e' => self.bytes(4),
            b'@' if depth < DEEPEST => self.annotation(depth + 1),
            b'[' if depth < DEEPEST => {
                for _ in 0..self.u2()? {
                    self.element_value(depth + 1)?;
                }
                Ok(())
            }
            _ => Err(ClassError::BadAnnotation { offset, tag }),
        }
    }
}
