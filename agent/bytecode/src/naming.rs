//! What the program calls a lock.
//!
//! Most locks are a `java.lang.Object` or a `ReentrantLock$NonfairSync`, which says nothing. The
//! code that takes one usually does say something, a few instructions earlier: it loaded a field, a
//! parameter, an element of an array. The names are those of the source, as far as a class file
//! keeps them:
//!
//! | lock | name |
//! |---|---|
//! | `this`, and of an enclosing class | `this`, `Outer.this` |
//! | class constant | `Cache.class` |
//! | static field, instance field | `Cache.LOCK`, `Cache.lock` |
//! | field of an object in a field | `Cache.table.lock` |
//! | element of an array | `Stripes.locks[]` |
//! | parameter, local variable | its name; without debug tables `parameter 1` |
//! | what a method returned | `getLock()`, `Cache.map.get()`, `Registry.lockOf()` |
//! | `rw.readLock()`, `rw.writeLock()` | that of `rw` |
//! | `new Object()` | `new Object` |
//!
//! Classes have their packages, with slashes, as in `com/acme/Cache.lock`: those of one simple
//! name are told apart. A field is named with the class that the instruction names, which may be a
//! subclass of the one that declares it. A local variable that was only ever assigned one field (as in `final Lock l =
//! this.lock`) goes by the name of the field.

mod interpret;
mod render;
mod value;

use crate::code::decode;
use crate::reader::Reader;
use crate::{Code, ConstantPool, Instruction, JStr, MemberRef, Method, Pc, opcode};

/// A method's code and what is needed to understand it: from a class file ([`Body::of`]), or as
/// JVMTI gives it at run time. None of it has to be well-formed.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// The constant pool that the code refers to.
    pub pool: &'a ConstantPool<'a>,
    /// The instructions.
    pub code: &'a [u8],
    /// The method's descriptor.
    pub descriptor: &'a [u8],
    /// Whether there is no `this`.
    pub is_static: bool,
    /// The local variables whose names are known, parameters included; may be empty.
    pub variables: Vec<Variable<'a>>,
}

/// The name of a local variable while it lives in a slot.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a> {
    /// Where the variable starts to have a value.
    pub start: u16,
    /// For how many bytes of code it lives.
    pub length: u16,
    /// Its slot.
    pub slot: u16,
    /// Its name, in modified UTF-8.
    pub name: &'a [u8],
}

impl<'a> Body<'a> {
    /// The body of a method in a class file.
    pub fn of(method: &Method<'a, 'a>, code: &Code<'a, 'a>) -> Self {
        let variable = |found: crate::Variable<'a>| Variable {
            start: found.start,
            length: found.length,
            slot: found.slot,
            name: found.name.as_bytes(),
        };
        Self {
            pool: method.class().constants(),
            code: code.bytes(),
            descriptor: method.descriptor().as_bytes(),
            is_static: method.is_static(),
            variables: code.variables().map(variable).collect(),
        }
    }
}

/// What a lock is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockName {
    /// The name.
    pub text: String,
    /// Which half of the lock of that name it is, where the code says so.
    pub half: Option<Half>,
    /// Whether it is the name of a field, or of what a field leads to: a lock of the same class
    /// that has this name elsewhere is the same one.
    pub is_field: bool,
}

/// A half of a lock for readers and writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// What `readLock()` returned.
    Read,
    /// What `writeLock()` returned.
    Write,
}

/// The names of the locks that the instructions at `pcs` are about to take: of a `monitorenter`
/// (or `monitorexit`) the object on the stack, of a call the receiver. `None` where there is
/// nothing to tell.
pub fn lock_names(body: &Body<'_>, pcs: &[Pc]) -> Vec<Option<LockName>> {
    let found = interpret::run(body, pcs);
    pcs.iter().map(|pc| render::name(body, &found, *found.operands.get(pc)?)).collect()
}

/// Where code enters and leaves monitors, or calls a method of an object, in order.
pub fn lock_instructions(body: &Body<'_>) -> Vec<(Pc, u8)> {
    let is_one = |opcode| {
        matches!(
            opcode,
            opcode::MONITORENTER
                | opcode::MONITOREXIT
                | opcode::INVOKEVIRTUAL
                | opcode::INVOKESPECIAL
                | opcode::INVOKEINTERFACE
        )
    };
    let all = decode(Reader::new(body.code, 0)).map_while(Result::ok);
    all.map(|it| (it.pc(), it.opcode())).filter(|&(_, opcode)| is_one(opcode)).collect()
}

/// The method that the instruction at `pc` calls, if it calls one by name.
pub fn called_method<'a>(body: &Body<'a>, pc: Pc) -> Option<MemberRef<'a>> {
    let code = body.code.get(usize::from(pc.0)..)?;
    let instruction = Instruction::decode(&mut Reader::new(code, 0), pc).ok()?;
    match instruction.opcode() {
        opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE => {
            body.pool.member(instruction.member_index().ok()??, instruction.offset()).ok()
        }
        _ => None,
    }
}

/// The class that the instruction at `pc` has initialized the first time, by its internal name.
pub fn initialized_class<'a>(body: &Body<'a>, pc: Pc) -> Option<JStr<'a>> {
    let code = body.code.get(usize::from(pc.0)..)?;
    let instruction = Instruction::decode(&mut Reader::new(code, 0), pc).ok()?;
    match instruction.opcode() {
        opcode::NEW => {
            let index = u16::from_be_bytes([*code.get(1)?, *code.get(2)?]);
            body.pool.class_name(index, instruction.offset()).ok()
        }
        opcode::GETSTATIC | opcode::PUTSTATIC | opcode::INVOKESTATIC => {
            let index = instruction.member_index().ok()??;
            Some(body.pool.member(index, instruction.offset()).ok()?.owner)
        }
        _ => None,
    }
}

/// A class as names have it, by its internal name.
pub fn class_name(class: &[u8]) -> String {
    JStr::new(class).to_str_lossy().into_owned()
}

/// The name of the lock of a synchronized method of the class with this internal name.
pub fn method_lock_name(class: &[u8], is_static: bool) -> String {
    if is_static { render::class_constant(class) } else { "this".to_owned() }
}
