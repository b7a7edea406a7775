use crate::opcode::{self, fixed_length};
use crate::reader::Reader;
use crate::{ClassError, Pc};

type Result<T> = core::result::Result<T, ClassError>;

/// One instruction of a method.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    pc: Pc,
    opcode: u8,
    bytes: &'a [u8],
    offset: usize,
}

/// What of an instruction depends on where it stands.
pub(crate) enum Operands<'a> {
    /// Nothing.
    Fixed,
    /// A jump whose distance has 16 bits.
    Near(i64),
    /// A jump whose distance has 32 bits.
    Far(i64),
    /// A switch.
    Switch(Switch<'a>),
}

/// A `tableswitch` or `lookupswitch`.
pub(crate) struct Switch<'a> {
    /// Where the default case leads.
    pub(crate) default: i64,
    /// What stands between the default and the cases: the bounds or the number of cases.
    pub(crate) header: &'a [u8],
    /// Bytes of the key before each case's distance.
    key: usize,
    cases: Reader<'a>,
    pc: Pc,
}

impl<'a> Switch<'a> {
    /// Each case's key, as its bytes, and where it leads.
    pub(crate) fn cases(&self) -> impl Iterator<Item = (&'a [u8], i64)> + use<'a> {
        let (mut cases, key, pc) = (self.cases, self.key, self.pc);
        core::iter::from_fn(move || {
            let key = cases.bytes(key).ok()?;
            Some((key, target(pc, cases.i4().ok()?)))
        })
    }
}

/// Where a jump by `distance` from `pc` leads, be it in the code or not.
fn target(pc: Pc, distance: i32) -> i64 {
    i64::from(pc.0) + i64::from(distance)
}

impl<'a> Instruction<'a> {
    /// Where the instruction starts.
    pub fn pc(&self) -> Pc {
        self.pc
    }

    /// Where the next instruction starts, or the end of the code.
    pub fn next_pc(&self) -> Pc {
        // Code is at most 65535 bytes long, so this does not saturate.
        Pc(self.pc.0.saturating_add(u16::try_from(self.bytes.len()).unwrap_or(u16::MAX)))
    }

    /// Its opcode; [`opcode::WIDE`] for a widened one.
    pub fn opcode(&self) -> u8 {
        self.opcode
    }

    /// The whole instruction.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Offset of the instruction from the start of the class file.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether it returns from the method.
    pub fn is_return(&self) -> bool {
        (opcode::IRETURN..=opcode::RETURN).contains(&self.opcode)
    }

    /// Whether control can go on to the next instruction.
    pub fn falls_through(&self) -> bool {
        let leaves = matches!(
            self.opcode,
            opcode::GOTO
                | opcode::GOTO_W
                | opcode::TABLESWITCH
                | opcode::LOOKUPSWITCH
                | opcode::ATHROW
        );
        !(leaves || self.is_return() || self.is_subroutine())
    }

    /// The local whose reference it pushes, if it is an `aload` of any form.
    pub fn loaded_reference(&self) -> Option<u16> {
        self.reference_slot(opcode::ALOAD, opcode::ALOAD_0)
    }

    /// The local it pops a reference into, if it is an `astore` of any form.
    pub fn stored_reference(&self) -> Option<u16> {
        self.reference_slot(opcode::ASTORE, opcode::ASTORE_0)
    }

    fn reference_slot(&self, opcode: u8, first_short: u8) -> Option<u16> {
        match *self.bytes {
            [short] => short.checked_sub(first_short).filter(|&slot| slot < 4).map(u16::from),
            [found, slot] if found == opcode => Some(u16::from(slot)),
            [opcode::WIDE, found, high, low] if found == opcode => {
                Some(u16::from_be_bytes([high, low]))
            }
            _ => None,
        }
    }

    /// Where it may jump: the pcs of instructions, if the code is well-formed.
    pub fn targets(&self) -> Vec<i64> {
        match self.operands() {
            Ok(Operands::Near(target) | Operands::Far(target)) => vec![target],
            Ok(Operands::Switch(switch)) => {
                std::iter::once(switch.default).chain(switch.cases().map(|case| case.1)).collect()
            }
            Ok(Operands::Fixed) | Err(_) => Vec::new(),
        }
    }

    /// Whether it is `jsr` or `ret`, in any width.
    pub(crate) fn is_subroutine(&self) -> bool {
        let wide_ret = [opcode::WIDE, opcode::RET];
        matches!(self.opcode, opcode::JSR | opcode::JSR_W | opcode::RET)
            || self.bytes.starts_with(&wide_ret)
    }

    /// Decodes the instruction at `pc`, the next byte of `code`.
    pub(crate) fn decode(code: &mut Reader<'a>, pc: Pc) -> Result<Self> {
        let offset = code.offset();
        let mut peek = *code;
        let opcode = peek.u1()?;
        let length = match opcode {
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH => switch_length(peek, opcode, pc)?,
            opcode::WIDE => wide_length(peek)?,
            _ => fixed_length(opcode).ok_or(ClassError::BadOpcode { offset, opcode })?,
        };
        Ok(Self { pc, opcode, bytes: code.bytes(length)?, offset })
    }

    /// A reader of what follows the opcode.
    fn after_opcode(&self) -> Result<Reader<'a>> {
        let mut reader = Reader::new(self.bytes, self.offset);
        reader.u1()?;
        Ok(reader)
    }

    pub(crate) fn operands(&self) -> Result<Operands<'a>> {
        let mut reader = self.after_opcode()?;
        Ok(match self.opcode {
            opcode::IFEQ..=opcode::JSR | opcode::IFNULL | opcode::IFNONNULL => {
                Operands::Near(target(self.pc, i32::from(reader.i2()?)))
            }
            opcode::GOTO_W | opcode::JSR_W => Operands::Far(target(self.pc, reader.i4()?)),
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH => {
                reader.bytes(padding(self.pc.0))?;
                let default = target(self.pc, reader.i4()?);
                let (header, key) =
                    if self.opcode == opcode::TABLESWITCH { (8, 0) } else { (4, 4) };
                let header = reader.bytes(header)?;
                Operands::Switch(Switch { default, header, key, cases: reader, pc: self.pc })
            }
            _ => Operands::Fixed,
        })
    }

    /// The constant that an instruction on a field or method names.
    pub(crate) fn member_index(&self) -> Result<Option<u16>> {
        match self.opcode {
            opcode::GETSTATIC..=opcode::INVOKEINTERFACE => Ok(Some(self.after_opcode()?.u2()?)),
            _ => Ok(None),
        }
    }

    /// The first slot that the instruction writes, and how many.
    pub(crate) fn written_locals(&self) -> Result<Option<(u16, u16)>> {
        let mut reader = self.after_opcode()?;
        let (opcode, slot) = match self.opcode {
            opcode::WIDE => (reader.u1()?, reader.u2()?),
            opcode @ (opcode::ISTORE..=opcode::ASTORE | opcode::IINC) => {
                (opcode, u16::from(reader.u1()?))
            }
            short @ opcode::ISTORE_0..=opcode::ASTORE_3 => {
                let number = short - opcode::ISTORE_0;
                (opcode::ISTORE + number / 4, u16::from(number % 4))
            }
            _ => return Ok(None),
        };
        Ok(match opcode {
            // lstore and dstore
            0x37 | 0x39 => Some((slot, 2)),
            opcode::ISTORE..=opcode::ASTORE | opcode::IINC => Some((slot, 1)),
            _ => None,
        })
    }
}

/// How many bytes follow the opcode of a switch at `pc` before its first operand, which is aligned
/// to four bytes from the start of the method.
pub(crate) fn padding(pc: u16) -> usize {
    usize::from(3 - pc % 4)
}

fn switch_length(mut operands: Reader<'_>, opcode: u8, pc: Pc) -> Result<usize> {
    let bad = ClassError::BadSwitch { offset: operands.offset() };
    let padding = padding(pc.0);
    operands.bytes(padding)?;
    operands.i4()?;
    let low_or_count = i64::from(operands.i4()?);
    let length = if opcode == opcode::TABLESWITCH {
        let cases = i64::from(operands.i4()?) - low_or_count + 1;
        (cases >= 0).then_some(12 + 4 * cases)
    } else {
        (low_or_count >= 0).then_some(8 + 8 * low_or_count)
    };
    let length = length.and_then(|length| usize::try_from(length).ok()).ok_or(bad)?;
    Ok(1 + padding + length)
}

fn wide_length(mut operands: Reader<'_>) -> Result<usize> {
    let offset = operands.offset();
    match operands.u1()? {
        opcode::IINC => Ok(6),
        opcode::ILOAD..=opcode::ALOAD | opcode::ISTORE..=opcode::ASTORE | opcode::RET => Ok(4),
        opcode => Err(ClassError::BadOpcode { offset, opcode }),
    }
}
