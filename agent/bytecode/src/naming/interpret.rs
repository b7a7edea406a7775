//! One walk through the code of a method that keeps track of where references come from.
//!
//! It follows straight lines only: where a jump may lead, it forgets everything, and a value that
//! nobody remembers is unknown. Code that is malformed ends the walk.

use std::collections::{HashMap, HashSet};

use super::Body;
use super::value::{Found, Id, Store, Value, Values};
use crate::descriptor::{MethodDescriptor, field_type};
use crate::instruction::Instruction;
use crate::pool::Loadable;
use crate::reader::Reader;
use crate::{Pc, opcode};

/// Walks through the code and remembers what the instructions at `pcs` work on.
pub(super) fn run<'a>(body: &Body<'a>, pcs: &[Pc]) -> Found<'a> {
    let instructions = decode(body.code);
    // Where jumps lead. (Handlers stand behind something that does not fall through.)
    let targets: HashSet<i64> = instructions.iter().flat_map(Instruction::targets).collect();
    let wanted: HashSet<Pc> = pcs.iter().copied().collect();
    let mut walk = Walk::new(body);
    for instruction in &instructions {
        let pc = instruction.pc();
        if targets.contains(&i64::from(pc.0)) {
            walk.forget();
        }
        if wanted.contains(&pc)
            && let Some(operand) = walk.operand(instruction)
        {
            walk.found.operands.insert(pc, operand);
        }
        if walk.step(instruction).is_none() {
            break;
        }
        if !instruction.falls_through() {
            walk.forget();
        }
    }
    walk.found
}

fn decode(code: &[u8]) -> Vec<Instruction<'_>> {
    let (mut reader, mut pc) = (Reader::new(code, 0), Pc(0));
    let mut instructions = Vec::new();
    while !reader.is_empty() {
        let Ok(instruction) = Instruction::decode(&mut reader, pc) else { break };
        pc = instruction.next_pc();
        instructions.push(instruction);
    }
    instructions
}

struct Walk<'b, 'a> {
    body: &'b Body<'a>,
    found: Found<'a>,
    unknown: Id,
    /// By slots; what is below its bottom is unknown.
    stack: Vec<Id>,
    locals: HashMap<u16, Id>,
}

impl<'b, 'a> Walk<'b, 'a> {
    fn new(body: &'b Body<'a>) -> Self {
        let mut values = Values::default();
        let unknown = values.add(Value::Unknown);
        let found = Found { values, ..Found::default() };
        Self { body, found, unknown, stack: Vec::new(), locals: HashMap::new() }
    }

    fn forget(&mut self) {
        self.stack.clear();
        self.locals.clear();
    }

    fn push(&mut self, value: Value<'a>) {
        let id = self.found.values.add(value);
        self.stack.push(id);
    }

    fn push_unknown(&mut self, slots: usize) {
        self.stack.extend(std::iter::repeat_n(self.unknown, slots));
    }

    fn pop(&mut self) -> Id {
        self.stack.pop().unwrap_or(self.unknown)
    }

    fn drop(&mut self, slots: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(slots));
    }

    /// The value so many slots below the top.
    fn peek(&self, depth: usize) -> Id {
        let index = self.stack.len().checked_sub(depth + 1);
        index.and_then(|index| self.stack.get(index)).copied().unwrap_or(self.unknown)
    }

    /// The lock that the instruction works on.
    fn operand(&self, instruction: &Instruction<'a>) -> Option<Id> {
        match instruction.opcode() {
            opcode::MONITORENTER | opcode::MONITOREXIT => Some(self.peek(0)),
            opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL | opcode::INVOKEINTERFACE => {
                let index = instruction.member_index().ok()??;
                let member = self.body.pool.member(index, instruction.offset()).ok()?;
                let descriptor = MethodDescriptor::parse(member.descriptor.as_bytes())?;
                Some(self.peek(descriptor.parameter_slots()))
            }
            _ => None,
        }
    }

    /// Does what the instruction does; `None` when that cannot be told.
    fn step(&mut self, instruction: &Instruction<'a>) -> Option<()> {
        if let Some(slot) = instruction.loaded_reference() {
            let stored = self.locals.get(&slot).copied();
            self.push(Value::Local { slot, at: instruction.pc(), stored });
            return Some(());
        }
        if let Some((slot, count)) = instruction.written_locals().ok()? {
            self.store(instruction, slot, count);
            return Some(());
        }
        match instruction.opcode() {
            opcode::LDC => self.load_constant(u16::from(*instruction.bytes().get(1)?)),
            opcode::LDC_W => self.load_constant(class_index(instruction)?),
            opcode::AALOAD => {
                self.drop(1);
                let array = self.pop();
                self.push(Value::Element { array });
            }
            opcode::GETSTATIC..=opcode::PUTFIELD => self.field(instruction)?,
            opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE => self.call(instruction)?,
            opcode::INVOKEDYNAMIC => self.call_dynamic(instruction)?,
            opcode::NEW => {
                let name = self.body.pool.class_name(class_index(instruction)?, 0).ok()?;
                self.push(Value::New(name.as_bytes()));
            }
            opcode::MULTIANEWARRAY => {
                self.drop(usize::from(*instruction.bytes().get(3)?));
                self.push_unknown(1);
            }
            // The same object, under another type.
            opcode::CHECKCAST => {}
            opcode::POP..=opcode::SWAP => self.shuffle(instruction.opcode()),
            _ => {
                let (pops, pushes) = effect(instruction)?;
                self.drop(pops);
                self.push_unknown(pushes);
            }
        }
        Some(())
    }

    fn store(&mut self, instruction: &Instruction<'a>, slot: u16, count: u16) {
        let value = match instruction.stored_reference() {
            Some(_) => self.pop(),
            None => {
                // `iinc` takes nothing from the stack, and nobody cares about a number.
                let increments = instruction.opcode() == opcode::IINC
                    || instruction.bytes().starts_with(&[opcode::WIDE, opcode::IINC]);
                self.drop(if increments { 0 } else { usize::from(count) });
                self.unknown
            }
        };
        let end = instruction.next_pc();
        for slot in slot..slot.saturating_add(count) {
            self.locals.insert(slot, value);
            self.found.stores.entry(slot).or_default().push(Store { end, value });
        }
    }

    fn load_constant(&mut self, index: u16) {
        match self.body.pool.loadable(index) {
            Some(Loadable::Class(name)) => self.push(Value::Class(name.as_bytes())),
            Some(Loadable::Text(text)) => self.push(Value::Text(text.as_bytes())),
            None => self.push_unknown(1),
        }
    }

    fn field(&mut self, instruction: &Instruction<'a>) -> Option<()> {
        let member = self.body.pool.member(instruction.member_index().ok()??, 0).ok()?;
        let (owner, name) = (member.owner.as_bytes(), member.name.as_bytes());
        let descriptor = member.descriptor.as_bytes();
        let slots = usize::from(field_type(descriptor)?.slots());
        match (instruction.opcode(), slots) {
            (opcode::GETSTATIC, 1) => self.push(Value::Static { owner, name }),
            (opcode::GETSTATIC, _) => self.push_unknown(slots),
            (opcode::GETFIELD, 1) => {
                let object = self.pop();
                self.push(Value::Field { object, owner, name, descriptor });
            }
            (opcode::GETFIELD, _) => {
                self.drop(1);
                self.push_unknown(slots);
            }
            (opcode::PUTFIELD, _) => self.drop(slots + 1),
            _ => self.drop(slots),
        }
        Some(())
    }

    fn call(&mut self, instruction: &Instruction<'a>) -> Option<()> {
        let member = self.body.pool.member(instruction.member_index().ok()??, 0).ok()?;
        let descriptor = MethodDescriptor::parse(member.descriptor.as_bytes())?;
        let (owner, name) = (member.owner.as_bytes(), member.name.as_bytes());
        let arguments = descriptor.parameter_slots();
        let is_static = instruction.opcode() == opcode::INVOKESTATIC;
        let first = arguments.checked_sub(1).map(|depth| self.peek(depth));
        self.drop(arguments);
        let receiver = (!is_static).then(|| self.pop());
        match (descriptor.result_slots(), first) {
            // It returns its argument.
            (1, Some(first)) if owner == b"java/util/Objects" && name == b"requireNonNull" => {
                self.stack.push(first);
            }
            (1, _) => {
                self.push(Value::Call { receiver, owner, name, no_arguments: arguments == 0 });
            }
            (slots, _) => self.push_unknown(usize::from(slots)),
        }
        Some(())
    }

    fn call_dynamic(&mut self, instruction: &Instruction<'a>) -> Option<()> {
        let (name, descriptor) = self.body.pool.dynamic(class_index(instruction)?, 0).ok()?;
        let descriptor = MethodDescriptor::parse(descriptor.as_bytes())?;
        self.drop(descriptor.parameter_slots());
        match descriptor.result_slots() {
            1 => self.push(Value::Dynamic { name: name.as_bytes() }),
            slots => self.push_unknown(usize::from(slots)),
        }
        Some(())
    }

    /// `pop` to `swap`.
    fn shuffle(&mut self, opcode: u8) {
        // How many slots are doubled, and how many they are put below.
        let (doubled, below) = match opcode {
            opcode::POP => return self.drop(1),
            opcode::POP2 => return self.drop(2),
            opcode::SWAP => {
                let (top, next) = (self.pop(), self.pop());
                return self.stack.extend([top, next]);
            }
            _ => {
                let form = usize::from(opcode.saturating_sub(opcode::DUP));
                (1 + form / 3, form % 3)
            }
        };
        let mut top: Vec<Id> = (0..doubled + below).map(|_| self.pop()).collect();
        top.reverse(); // now the topmost is last
        let (_, copy) = top.split_at(below.min(top.len()));
        self.stack.extend_from_slice(copy);
        self.stack.extend_from_slice(&top);
    }
}

/// The two bytes behind the opcode.
fn class_index(instruction: &Instruction<'_>) -> Option<u16> {
    match instruction.bytes() {
        [_, high, low, ..] => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    }
}

/// How many slots an instruction takes from the stack, and how many it then leaves there; `None`
/// for those that [`Walk::step`] deals with, and those that it gives up at.
fn effect(instruction: &Instruction<'_>) -> Option<(usize, usize)> {
    /// By whether the opcode is odd: in each group `int` and `float` alternate with `long` and
    /// `double`.
    fn wide(opcode: u8, narrow: (usize, usize), wide: (usize, usize)) -> (usize, usize) {
        if opcode.is_multiple_of(2) { narrow } else { wide }
    }
    let opcode = match *instruction.bytes() {
        [opcode::WIDE, widened, ..] => widened,
        [opcode, ..] => opcode,
        [] => return None,
    };
    Some(match opcode {
        // nop, goto, return
        0x00 | opcode::GOTO | opcode::GOTO_W | opcode::RETURN => (0, 0),
        // constants
        0x09 | 0x0a | 0x0e | 0x0f | opcode::LDC2_W => (0, 2),
        0x01..=opcode::SIPUSH => (0, 1),
        // loads
        0x15 | 0x17 | 0x1a..=0x1d | 0x22..=0x25 => (0, 1),
        0x16 | 0x18 | 0x1e..=0x21 | 0x26..=0x29 => (0, 2),
        // loads from arrays, stores to arrays
        0x2f | 0x31 => (2, 2),
        0x2e..=0x35 => (2, 1),
        0x50 | 0x52 => (4, 0),
        0x4f..=0x56 => (3, 0),
        // arithmetic, negation, shifts, logic
        0x60..=0x73 => wide(opcode, (2, 1), (4, 2)),
        0x74..=0x77 => wide(opcode, (1, 1), (2, 2)),
        0x78..=0x7d => wide(opcode, (2, 1), (3, 2)),
        0x7e..=0x83 => wide(opcode, (2, 1), (4, 2)),
        // conversions
        0x85 | 0x87 | 0x8c | 0x8d => (1, 2),
        0x86 | 0x8b | 0x91..=0x93 => (1, 1),
        0x88 | 0x89 | 0x8e | 0x90 => (2, 1),
        0x8a | 0x8f => (2, 2),
        // comparisons
        0x94 | 0x97 | 0x98 => (4, 1),
        0x95 | 0x96 => (2, 1),
        // branches, switches, returns
        0x99..=0x9e | opcode::IFNULL | opcode::IFNONNULL => (1, 0),
        0x9f..=0xa6 => (2, 0),
        opcode::TABLESWITCH | opcode::LOOKUPSWITCH => (1, 0),
        0xac | 0xae | 0xb0 | opcode::ATHROW => (1, 0),
        0xad | 0xaf => (2, 0),
        // newarray, anewarray, arraylength, instanceof
        0xbc..=0xbe | 0xc1 => (1, 1),
        opcode::MONITORENTER | opcode::MONITOREXIT => (1, 0),
        _ => return None,
    })
}
