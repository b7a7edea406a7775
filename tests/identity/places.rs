//! Where programs take locks, read from their class files.

use std::{collections::BTreeMap, fmt, fs, path::Path};
use tyrion_bytecode::{ClassFile, Code, Instruction, Pc, opcode};

/// One instruction of a version of a method that takes a lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodePlace {
    /// `tyrion/identity/Lines`.
    pub class: String,
    pub method: String,
    pub descriptor: String,
    /// The instruction's offset, plus 1.
    pub bytecode: u16,
    /// 0 if the class does not tell.
    pub line: u32,
}

impl fmt::Debug for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodePlace { class, method, descriptor, bytecode, line } = self;
        write!(f, "{class}.{method}{descriptor}, bytecode {bytecode}, line {line}")
    }
}

/// The places of programs by the numbers that they give to `Account.at`.
pub type CodePlaces = BTreeMap<u32, CodePlace>;

/// The class to which the programs tell what they do.
const ACCOUNT: &str = "tyrion/identity/Account";
/// What takes a lock, or waits to be notified.
const TAKES: [&str; 6] =
    ["lock", "tryLock", "lockInterruptibly", "acquire", "acquireUninterruptibly", "wait"];

/// Those of all classes below a folder whose names begin like that.
pub fn places(folder: &Path, prefix: &str) -> CodePlaces {
    let mut found = CodePlaces::new();
    let below = folder.join(prefix);
    let (parent, start) = (below.parent().unwrap(), below.file_name().unwrap().to_str().unwrap());
    for entry in fs::read_dir(parent).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with(start) && name.ends_with(".class") {
            found.extend(of_class(&fs::read(&path).unwrap()));
        }
    }
    found
}

/// Those of a class file.
pub fn of_class(bytes: &[u8]) -> CodePlaces {
    let class = ClassFile::parse(bytes).unwrap();
    let mut found = CodePlaces::new();
    for method in class.methods() {
        let Some(code) = method.code().unwrap() else { continue };
        let mut taken = method.is_synchronized().then_some(Pc(0));
        let mut number = None;
        for instruction in code.instructions() {
            let instruction = instruction.unwrap();
            if takes(&code, &instruction) {
                taken = Some(instruction.pc());
            } else if tells(&code, &instruction) {
                let (pc, number) = (taken.unwrap(), number.unwrap());
                let place = CodePlace {
                    class: class.name().to_string(),
                    method: method.name().to_string(),
                    descriptor: method.descriptor().to_string(),
                    bytecode: pc.0 + 1,
                    line: code.line_at(pc).map_or(0, u32::from),
                };
                assert!(found.insert(number, place).is_none(), "{number} stands twice");
            }
            number = constant(instruction.bytes());
        }
    }
    found
}

fn takes(code: &Code, instruction: &Instruction) -> bool {
    let calls = [opcode::INVOKEVIRTUAL, opcode::INVOKEINTERFACE, opcode::INVOKESPECIAL];
    instruction.opcode() == opcode::MONITORENTER
        || calls.contains(&instruction.opcode())
            && code
                .member(instruction)
                .unwrap()
                .is_some_and(|member| TAKES.iter().any(|name| member.name == *name))
}

/// Whether it is the call that tells of the lock just taken.
fn tells(code: &Code, instruction: &Instruction) -> bool {
    instruction.opcode() == opcode::INVOKESTATIC
        && code.member(instruction).unwrap().is_some_and(|member| {
            member.owner == ACCOUNT && (member.name == "at" || member.name == "met")
        })
}

/// The number that an instruction pushes, as javac writes it.
fn constant(instruction: &[u8]) -> Option<u32> {
    match *instruction {
        [short @ 0x03..=0x08] => Some(u32::from(short - 0x03)),
        [0x10, byte] => Some(u32::from(byte)),
        [0x11, high, low] => Some(u32::from(u16::from_be_bytes([high, low]))),
        _ => None,
    }
}
