//! Turning the operations of a plan into bytes.

use std::collections::HashMap;

use crate::class::Method;
use crate::code::Code;
use crate::descriptor::{MethodDescriptor, field_type};
use crate::opcode;
use crate::plan::{Around, Member, MethodPlan, Op, Pc, Protected, Reason};
use crate::pool_writer::PoolWriter;

type Result<T> = core::result::Result<T, Reason>;

/// The first class file version whose `ldc` loads classes.
const CLASS_CONSTANTS: u16 = 49;

/// Encoded probes, each with its place.
type Encoded = Vec<(Pc, Vec<u8>)>;

/// The probes of a method, encoded.
pub(super) struct Probes {
    pub(super) entry: Vec<u8>,
    before: Encoded,
    after: Encoded,
    in_handler: Encoded,
    protected: Vec<(Pc, Pc, Vec<u8>)>,
    pub(super) on_return: Vec<u8>,
    pub(super) on_throw: Vec<u8>,
    /// How deep the stack gets with them.
    pub(super) max_stack: u16,
}

impl Probes {
    pub(super) fn encode(
        method: &Method<'_, '_>,
        code: &Code<'_, '_>,
        plan: &MethodPlan,
        pool: &mut PoolWriter<'_>,
    ) -> Result<Self> {
        let class = method.class();
        let mut encoder = Encoder {
            pool,
            class_constant: (class.major_version() >= CLASS_CONSTANTS)
                .then_some(class.this_class()),
            max_stack: i64::from(code.max_stack()),
        };
        let anything = i64::from(code.max_stack());
        let entry = encoder.probe(&plan.entry, 0, 0)?;
        let mut before = encoder.probes(&plan.before, anything)?;
        let after = encoder.probes(&plan.after, anything)?;
        let (firsts, mut seconds) = encoder.pairs(&plan.around, anything)?;
        // Pairs stand closest to their instruction, one around the other: the stable sorts keep
        // this order within a place.
        before.extend(firsts);
        before.sort_by_key(|(pc, _)| *pc);
        seconds.reverse();
        seconds.extend(after);
        let mut after = seconds;
        after.sort_by_key(|(pc, _)| *pc);
        // All there is on the stack of a handler is the exception.
        let mut in_handler = encoder.probes(&plan.in_handler, 1)?;
        in_handler.dedup_by(|(pc, next), (previous_pc, previous)| {
            let same = pc == previous_pc;
            if same {
                previous.append(next);
            }
            same
        });
        let mut protected = Vec::new();
        // A range of the exception table must not be empty.
        let not_empty = |(_, protected): &&(Pc, Protected)| !protected.ops.is_empty();
        for (pc, Protected { handler, ops }) in plan.protected.iter().filter(not_empty) {
            protected.push((*pc, *handler, encoder.probe(ops, anything, anything)?));
        }
        protected.sort_by_key(|(pc, ..)| *pc);
        let (on_return, on_throw) = match &plan.exit {
            Some(exit) => {
                let result = i64::from(result_slots(method)?);
                let on_return = encoder.probe(&exit.on_return, anything, result)?;
                (on_return, encoder.probe(&exit.on_throw, 1, 1)?)
            }
            None => Default::default(),
        };
        let max_stack = u16::try_from(encoder.max_stack).map_err(|_| Reason::StackTooDeep)?;
        Ok(Self { entry, before, after, in_handler, protected, on_return, on_throw, max_stack })
    }

    /// The probes to run before the instruction at `pc`, in the order of the plan.
    pub(super) fn before(&self, pc: Pc) -> impl Iterator<Item = &[u8]> {
        at(&self.before, pc)
    }

    /// The probes to run after the instruction at `pc`, in the order of the plan.
    pub(super) fn after(&self, pc: Pc) -> impl Iterator<Item = &[u8]> {
        at(&self.after, pc)
    }

    /// The probe of the handler that starts at `pc`.
    pub(super) fn in_handler(&self, pc: Pc) -> Option<&[u8]> {
        at(&self.in_handler, pc).next().filter(|probe| !probe.is_empty())
    }

    /// The handlers and the bytes of the protected probes before the instruction at `pc`.
    pub(super) fn protected(&self, pc: Pc) -> impl Iterator<Item = (Pc, &[u8])> {
        let start = self.protected.partition_point(|(place, ..)| *place < pc);
        let rest = self.protected.get(start..).unwrap_or_default();
        let here = rest.iter().take_while(move |(place, ..)| *place == pc);
        here.map(|(_, handler, bytes)| (*handler, bytes.as_slice()))
    }

    /// The places before and after which there are probes.
    pub(super) fn places(&self) -> (impl Iterator<Item = Pc>, impl Iterator<Item = Pc>) {
        let before = self.before.iter().map(|(pc, _)| *pc);
        let before = before.chain(self.protected.iter().map(|(pc, ..)| *pc));
        (before, self.after.iter().map(|(pc, _)| *pc))
    }
}

/// Those of `probes`, which are sorted, that stand at `pc`.
fn at(probes: &[(Pc, Vec<u8>)], pc: Pc) -> impl Iterator<Item = &[u8]> {
    let start = probes.partition_point(|(place, _)| *place < pc);
    let rest = probes.get(start..).unwrap_or_default();
    rest.iter().take_while(move |(place, _)| *place == pc).map(|(_, bytes)| bytes.as_slice())
}

fn result_slots(method: &Method<'_, '_>) -> Result<u16> {
    let descriptor = MethodDescriptor::parse(method.descriptor().as_bytes());
    Ok(descriptor.ok_or(method.bad_descriptor())?.result_slots())
}

struct Encoder<'p, 'a> {
    pool: &'p mut PoolWriter<'a>,
    /// Constant pool index of the class, where `ldc` takes it.
    class_constant: Option<u16>,
    max_stack: i64,
}

impl Encoder<'_, '_> {
    fn probes(&mut self, probes: &[(Pc, Vec<Op>)], height: i64) -> Result<Encoded> {
        let encode = |(pc, ops): &(Pc, Vec<Op>)| Ok((*pc, self.probe(ops, height, height)?));
        let mut probes = probes.iter().map(encode).collect::<Result<Vec<_>>>()?;
        probes.sort_by_key(|(pc, _)| *pc); // stable: the plan's order within a place
        Ok(probes)
    }

    /// Encodes the halves of pairs, each list in the order of the pairs.
    fn pairs(&mut self, pairs: &[(Pc, Around)], height: i64) -> Result<(Encoded, Encoded)> {
        let (mut firsts, mut seconds) = (Encoded::new(), Encoded::new());
        // How many slots the pairs around an instruction keep on the stack while it runs.
        let mut kept: HashMap<Pc, i64> = HashMap::new();
        for (pc, Around { before, after }) in pairs {
            let kept = kept.entry(*pc).or_default();
            let (first, left) = self.sequence(before, height + *kept, height)?;
            *kept += left;
            let height = height + *kept;
            self.max_stack = self.max_stack.max(height);
            let (second, taken) = self.sequence(after, height, height)?;
            if left < 0 || left + taken != 0 {
                return Err(Reason::UnbalancedProbe);
            }
            firsts.push((*pc, first));
            seconds.push((*pc, second));
        }
        Ok((firsts, seconds))
    }

    /// Encodes a probe that runs on a stack of at most `height` slots, of which the topmost
    /// `usable` are its to take.
    fn probe(&mut self, ops: &[Op], height: i64, usable: i64) -> Result<Vec<u8>> {
        match self.sequence(ops, height, usable)? {
            (bytes, 0) => Ok(bytes),
            _ => Err(Reason::UnbalancedProbe),
        }
    }

    /// Encodes operations and tells how many slots they leave behind, or, negative, take away.
    fn sequence(&mut self, ops: &[Op], height: i64, usable: i64) -> Result<(Vec<u8>, i64)> {
        let mut bytes = Vec::new();
        let mut stack = StackEffect::default();
        for op in ops {
            let (pops, pushes) = self.op(op, &mut bytes)?;
            stack.step(pops, pushes);
        }
        if -stack.lowest > usable {
            return Err(Reason::UnbalancedProbe);
        }
        self.max_stack = self.max_stack.max(height + stack.highest);
        Ok((bytes, stack.now))
    }

    /// Encodes one operation and tells how many slots it pops and then pushes.
    fn op(&mut self, op: &Op, out: &mut Vec<u8>) -> Result<(i64, i64)> {
        let mut simple = |opcode, pops, pushes| {
            out.push(opcode);
            (pops, pushes)
        };
        Ok(match op {
            Op::Aload(slot) | Op::AloadLocal(slot) => load(out, opcode::ALOAD, *slot, 1),
            Op::Iload(slot) => load(out, opcode::ILOAD, *slot, 1),
            Op::Lload(slot) => load(out, opcode::LLOAD, *slot, 2),
            Op::AconstNull => simple(opcode::ACONST_NULL, 0, 1),
            Op::Iconst(value) => self.int(*value, out)?,
            Op::Lconst(value @ (0 | 1)) => simple(opcode::LCONST_0 + u8::from(*value == 1), 0, 2),
            Op::Lconst(value) => wide_index(out, opcode::LDC2_W, self.pool.long(*value)?, 2),
            Op::Dup => simple(opcode::DUP, 1, 2),
            Op::Dup2 => simple(opcode::DUP2, 2, 4),
            Op::Pop => simple(opcode::POP, 1, 0),
            Op::Pop2 => simple(opcode::POP2, 2, 0),
            Op::Swap => simple(opcode::SWAP, 2, 2),
            Op::LdcClass => ldc(out, self.class_constant.ok_or(Reason::NoClassConstants)?),
            Op::GetStatic(member) => {
                let field = field_type(member.descriptor.as_bytes()).ok_or(Reason::BadMember)?;
                let index = self.pool.field(member)?;
                wide_index(out, opcode::GETSTATIC, index, i64::from(field.slots()))
            }
            Op::GetField(member) => {
                let field = field_type(member.descriptor.as_bytes()).ok_or(Reason::BadMember)?;
                let index = self.pool.field(member)?;
                wide_index(out, opcode::GETFIELD, index, 0);
                (1, i64::from(field.slots()))
            }
            Op::InvokeStatic(member) => self.call(member, out)?,
        })
    }

    fn int(&mut self, value: i32, out: &mut Vec<u8>) -> Result<(i64, i64)> {
        if let (Ok(byte), true) = (i8::try_from(value), (-1..=5).contains(&value)) {
            out.push(opcode::ICONST_0.wrapping_add_signed(byte));
        } else if let Ok(byte) = i8::try_from(value) {
            out.push(opcode::BIPUSH);
            out.extend(byte.to_be_bytes());
        } else if let Ok(short) = i16::try_from(value) {
            out.push(opcode::SIPUSH);
            out.extend(short.to_be_bytes());
        } else {
            return Ok(ldc(out, self.pool.integer(value)?));
        }
        Ok((0, 1))
    }

    fn call(&mut self, member: &Member, out: &mut Vec<u8>) -> Result<(i64, i64)> {
        let descriptor = MethodDescriptor::parse(member.descriptor.as_bytes());
        let descriptor = descriptor.ok_or(Reason::BadMember)?;
        let pops = i64::try_from(descriptor.parameter_slots()).map_err(|_| Reason::BadMember)?;
        let index = self.pool.method(member)?;
        let (_, pushes) =
            wide_index(out, opcode::INVOKESTATIC, index, i64::from(descriptor.result_slots()));
        Ok((pops, pushes))
    }
}

/// Encodes a load in its shortest form.
fn load(out: &mut Vec<u8>, opcode: u8, slot: u16, pushes: i64) -> (i64, i64) {
    match u8::try_from(slot) {
        Ok(slot @ 0..=3) => out.push(opcode::ILOAD_0 + 4 * (opcode - opcode::ILOAD) + slot),
        Ok(slot) => out.extend([opcode, slot]),
        Err(_) => {
            out.extend([opcode::WIDE, opcode]);
            super::put_u2(out, slot);
        }
    }
    (0, pushes)
}

/// Encodes a load of a one-slot constant.
fn ldc(out: &mut Vec<u8>, index: u16) -> (i64, i64) {
    match u8::try_from(index) {
        Ok(index) => {
            out.extend([opcode::LDC, index]);
            (0, 1)
        }
        Err(_) => wide_index(out, opcode::LDC_W, index, 1),
    }
}

fn wide_index(out: &mut Vec<u8>, opcode: u8, index: u16, pushes: i64) -> (i64, i64) {
    out.push(opcode);
    super::put_u2(out, index);
    (0, pushes)
}

/// How the height of the stack moves while a probe runs, from 0 at its start.
#[derive(Default)]
struct StackEffect {
    now: i64,
    lowest: i64,
    highest: i64,
}

impl StackEffect {
    fn step(&mut self, pops: i64, pushes: i64) {
        self.now -= pops;
        self.lowest = self.lowest.min(self.now);
        self.now += pushes;
        self.highest = self.highest.max(self.now);
    }
}
