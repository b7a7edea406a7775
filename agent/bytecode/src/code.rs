use crate::attribute::Attributes;
use crate::instruction::Instruction;
use crate::pool::ConstantPool;
use crate::reader::Reader;
use crate::{ClassError, JStr, MemberRef, Pc, opcode};

type Result<T> = core::result::Result<T, ClassError>;

/// The `Code` attribute of a method.
#[derive(Clone, Debug)]
pub struct Code<'c, 'a> {
    pool: &'c ConstantPool<'a>,
    max_stack: u16,
    max_locals: u16,
    code: Reader<'a>,
    handlers: Reader<'a>,
    attributes: Attributes<'c, 'a>,
}

/// An entry of the exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The first instruction covered.
    pub start: Pc,
    /// The first instruction behind that no longer is; may be the end of the code.
    pub end: Pc,
    /// Where the handler starts.
    pub handler: Pc,
    /// Constant pool index of the class caught; 0 catches everything.
    pub catch_type: u16,
}

/// A local variable that the class tells the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'a> {
    /// The first instruction where it has its value: the one behind the first store, unless it is
    /// a parameter.
    pub start: u16,
    /// How many bytes of code it lives.
    pub length: u16,
    /// Its name.
    pub name: JStr<'a>,
    /// The (first) slot it lives in.
    pub slot: u16,
}

/// How many bytes an entry of the exception table takes.
const HANDLER_LENGTH: usize = 8;

impl<'c, 'a> Code<'c, 'a> {
    /// Reads the contents of a `Code` attribute.
    pub(crate) fn parse(pool: &'c ConstantPool<'a>, mut contents: Reader<'a>) -> Result<Self> {
        let max_stack = contents.u2()?;
        let max_locals = contents.u2()?;
        let offset = contents.offset();
        let length = contents.u4()?;
        let code = match u16::try_from(length) {
            Ok(length @ 1..) => contents.sub(usize::from(length))?,
            _ => return Err(ClassError::BadCodeLength { offset, length }),
        };
        let handlers = usize::from(contents.u2()?) * HANDLER_LENGTH;
        let handlers = contents.sub(handlers)?;
        let attributes = Attributes::parse(pool, &mut contents)?;
        contents.finish()?;
        Ok(Self { pool, max_stack, max_locals, code, handlers, attributes })
    }

    /// How deep the operand stack may get, in slots.
    pub fn max_stack(&self) -> u16 {
        self.max_stack
    }

    /// How many local variable slots there are.
    pub fn max_locals(&self) -> u16 {
        self.max_locals
    }

    /// The instructions' bytes: at least one, at most 65535.
    pub fn bytes(&self) -> &'a [u8] {
        self.code.rest()
    }

    /// The end of the code: where the instruction after the last would start.
    pub(crate) fn end(&self) -> Pc {
        // `parse` read the length from 16 bits.
        Pc(u16::try_from(self.bytes().len()).unwrap_or(u16::MAX))
    }

    /// The instructions in the order of their places. Ends after the first error.
    pub fn instructions(&self) -> impl Iterator<Item = Result<Instruction<'a>>> + use<'a> {
        decode(self.code)
    }

    /// The exception table, in the order in which the JVM searches it.
    pub fn exception_table(&self) -> impl Iterator<Item = Handler> + use<'a> {
        let mut handlers = self.handlers;
        core::iter::from_fn(move || {
            // `parse` took whole entries, so a failure here is the end.
            let mut field = || handlers.u2().ok();
            let (start, end, handler) = (Pc(field()?), Pc(field()?), Pc(field()?));
            Some(Handler { start, end, handler, catch_type: field()? })
        })
    }

    /// Offset of the exception table from the start of the class file.
    pub(crate) fn exception_table_offset(&self) -> usize {
        self.handlers.offset()
    }

    /// Whether some handler catches whatever the instruction at `pc` throws.
    ///
    /// Ask this for a probe that runs while a monitor of the method's own is held, that is for one
    /// before a `monitorexit` and, at [`Instruction::next_pc`], for one after a `monitorenter`. A
    /// probe can throw in the eyes of HotSpot's compilers, and they refuse for good to compile a
    /// method in which an exception can escape a held monitor.
    pub fn catches_all_at(&self, pc: Pc) -> bool {
        self.exception_table()
            .any(|entry| entry.catch_type == 0 && (entry.start..entry.end).contains(&pc))
    }

    /// What a field or method instruction names. `None` for other instructions, also for
    /// `invokedynamic`, which names no class.
    pub fn member(&self, instruction: &Instruction<'_>) -> Result<Option<MemberRef<'a>>> {
        let index = instruction.member_index()?;
        index.map(|index| self.pool.member(index, instruction.offset())).transpose()
    }

    /// The source line of the instruction at `pc`, if the class tells.
    pub fn line_at(&self, pc: Pc) -> Option<u16> {
        let mut best: Option<(u16, u16)> = None;
        for attribute in
            self.attributes.iter().filter(|attribute| attribute.name == "LineNumberTable")
        {
            let mut table = attribute.contents;
            let count = table.u2().ok()?;
            for _ in 0..count {
                let (start, line) = (table.u2().ok()?, table.u2().ok()?);
                if start <= pc.0 && best.is_none_or(|(closest, _)| closest <= start) {
                    best = Some((start, line));
                }
            }
        }
        best.map(|(_, line)| line)
    }

    /// The first line of the method, if the class tells.
    pub fn first_line(&self) -> Option<u16> {
        let tables = self.attributes.iter().filter(|table| table.name == "LineNumberTable");
        let lines = tables.flat_map(|table| {
            let mut rows = table.contents;
            let count = rows.u2().unwrap_or(0);
            (0..count).map_while(move |_| rows.u2().and_then(|_start| rows.u2()).ok())
        });
        lines.min()
    }

    /// The local variables whose names the class tells. Ends after the first error.
    pub fn variables(&self) -> impl Iterator<Item = Variable<'a>> {
        let tables = self.attributes.iter().filter(|table| table.name == "LocalVariableTable");
        tables.flat_map(move |table| {
            let mut rows = table.contents;
            let count = rows.u2().unwrap_or(0);
            (0..count).map_while(move |_| self.variable(&mut rows).ok())
        })
    }

    fn variable(&self, row: &mut Reader<'a>) -> Result<Variable<'a>> {
        let offset = row.offset();
        let (start, length) = (row.u2()?, row.u2()?);
        let name = self.pool.utf8(row.u2()?, offset)?;
        let _descriptor = row.u2()?;
        Ok(Variable { start, length, name, slot: row.u2()? })
    }

    /// The attributes of the code.
    pub(crate) fn attributes(&self) -> &Attributes<'c, 'a> {
        &self.attributes
    }

    /// The contents of the attribute `name` of the code, which may stand only once.
    pub(crate) fn sole_attribute(&self, name: &str) -> Result<Option<Reader<'a>>> {
        self.attributes.sole(name)
    }

    /// Name of a class in the constant pool.
    pub(crate) fn class_name(&self, index: u16, at: usize) -> Result<JStr<'a>> {
        self.pool.class_name(index, at)
    }
}

/// The instructions of some code in the order of their places. Ends after the first error.
pub(crate) fn decode<'a>(
    mut code: Reader<'a>,
) -> impl Iterator<Item = Result<Instruction<'a>>> + use<'a> {
    let mut pc = Pc(0);
    core::iter::from_fn(move || {
        if code.is_empty() {
            return None;
        }
        let decoded = Instruction::decode(&mut code, pc);
        match &decoded {
            Ok(instruction) => pc = instruction.next_pc(),
            Err(_) => code = Reader::new(&[], code.offset()),
        }
        Some(decoded)
    })
}

/// A hash of what code does where: of its instructions and their places, without what they
/// refer to, for which a JVM may have other numbers than the class file.
pub fn code_print(code: &[u8]) -> u64 {
    let (mut reader, mut pc) = (Reader::new(code, 0), Pc(0));
    // FNV-1a.
    let mut print = 0xcbf2_9ce4_8422_2325_u64;
    while !reader.is_empty() {
        let Ok(instruction) = Instruction::decode(&mut reader, pc) else { break };
        let [high, low] = pc.0.to_be_bytes();
        for byte in [high, low, instruction.opcode()] {
            print = (print ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        pc = instruction.next_pc();
    }
    print
}

/// Whether code calls a static method of a class, given by its internal name. Code and constants
/// are as JVMTI gives them.
pub fn calls_static(pool: &ConstantPool<'_>, code: &[u8], class: &str) -> bool {
    decode(Reader::new(code, 0)).map_while(Result::ok).any(|instruction| {
        instruction.opcode() == opcode::INVOKESTATIC
            && instruction.member_index().ok().flatten().is_some_and(|index| {
                let member = pool.member(index, instruction.offset());
                member.is_ok_and(|member| member.owner == class)
            })
    })
}
