//! A plain reading of class files: all of it at once, into owned values.

use std::collections::BTreeMap;

pub struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        taken
    }

    pub fn number(&mut self, width: usize) -> u64 {
        self.take(width).iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    pub fn u1(&mut self) -> u8 {
        self.number(1) as u8
    }

    pub fn u2(&mut self) -> u16 {
        self.number(2) as u16
    }

    pub fn i4(&mut self) -> i32 {
        self.number(4) as i32
    }

    pub fn done(&self) -> bool {
        self.at == self.bytes.len()
    }
}

/// Constants by index, each as a text that names everything it refers to.
pub type Pool = BTreeMap<u16, String>;

pub struct Class {
    pub name: String,
    pub major: u16,
    pub pool: Pool,
    /// The bytes of the pool's entries.
    pub pool_bytes: Vec<u8>,
    pub methods: Vec<Method>,
    /// Everything behind the pool except the contents of `Code` attributes.
    pub skeleton: Vec<u8>,
}

pub struct Method {
    pub flags: u16,
    pub name: String,
    pub descriptor: String,
    pub code: Option<Code>,
}

pub struct Code {
    pub max_stack: u16,
    pub max_locals: u16,
    pub instructions: Vec<Instruction>,
    pub length: u16,
    pub handlers: Vec<[u16; 4]>,
    pub attributes: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub pc: u16,
    pub length: u16,
    /// What it does, wherever it stands.
    pub text: String,
    /// Where it may jump.
    pub targets: Vec<u16>,
}

impl Class {
    pub fn read(bytes: &[u8]) -> Class {
        let mut cursor = Cursor::new(bytes);
        assert_eq!(cursor.number(4), 0xcafe_babe);
        let (_minor, major) = (cursor.u2(), cursor.u2());
        let (pool, pool_bytes) = read_pool(&mut cursor);
        let name = pool[&Cursor::new(&cursor.bytes[cursor.at + 2..]).u2()].clone();
        let mut skeleton = cursor.bytes[cursor.at..cursor.at + 6].to_vec();
        cursor.take(6);
        let interfaces = cursor.u2();
        skeleton.extend(cursor.take(2 * usize::from(interfaces)));
        let fields = read_members(&mut cursor, &pool, &mut skeleton);
        assert!(fields.iter().all(|field| field.code.is_none()));
        let methods = read_members(&mut cursor, &pool, &mut skeleton);
        skeleton.extend(cursor.take(cursor.bytes.len() - cursor.at));
        Class { name, major, pool, pool_bytes, methods, skeleton }
    }
}

fn read_pool(cursor: &mut Cursor<'_>) -> (Pool, Vec<u8>) {
    let count = cursor.u2();
    let start = cursor.at;
    let mut raw: BTreeMap<u16, (u8, &[u8])> = BTreeMap::new();
    let mut index = 1;
    while index < count {
        let tag = cursor.u1();
        let length = match tag {
            1 => usize::from(cursor.u2()),
            7 | 8 | 16 | 19 | 20 => 2,
            15 => 3,
            3 | 4 | 9..=12 | 17 | 18 => 4,
            5 | 6 => 8,
            _ => panic!("constant tag {tag}"),
        };
        raw.insert(index, (tag, cursor.take(length)));
        index += if matches!(tag, 5 | 6) { 2 } else { 1 };
    }
    let texts = raw.keys().map(|&index| (index, describe(&raw, index))).collect();
    (texts, cursor.bytes[start..cursor.at].to_vec())
}

fn describe(raw: &BTreeMap<u16, (u8, &[u8])>, index: u16) -> String {
    let (tag, payload) = raw[&index];
    let mut cursor = Cursor::new(payload);
    match tag {
        1 => String::from_utf8_lossy(payload).into_owned(),
        3 => format!("int {}", cursor.i4()),
        5 => format!("long {}", cursor.number(8) as i64),
        7 => describe(raw, cursor.u2()),
        9..=12 => format!("{}.{}", describe(raw, cursor.u2()), describe(raw, cursor.u2())),
        _ => format!("{tag} {payload:?}"),
    }
}

fn read_members(cursor: &mut Cursor<'_>, pool: &Pool, skeleton: &mut Vec<u8>) -> Vec<Method> {
    let count = cursor.u2();
    skeleton.extend(count.to_be_bytes());
    (0..count).map(|_| read_member(cursor, pool, skeleton)).collect()
}

fn read_member(cursor: &mut Cursor<'_>, pool: &Pool, skeleton: &mut Vec<u8>) -> Method {
    skeleton.extend(&cursor.bytes[cursor.at..cursor.at + 8]);
    let (flags, name, descriptor) = (cursor.u2(), cursor.u2(), cursor.u2());
    let mut code = None;
    for _ in 0..cursor.u2() {
        let name = cursor.u2();
        let length = cursor.number(4) as usize;
        let contents = cursor.take(length);
        skeleton.extend(name.to_be_bytes());
        if pool[&name] == "Code" {
            code = Some(read_code(contents, pool));
        } else {
            skeleton.extend(contents);
        }
    }
    Method { flags, name: pool[&name].clone(), descriptor: pool[&descriptor].clone(), code }
}

fn read_code(contents: &[u8], pool: &Pool) -> Code {
    let mut cursor = Cursor::new(contents);
    let (max_stack, max_locals) = (cursor.u2(), cursor.u2());
    let length = cursor.number(4) as usize;
    let instructions = read_instructions(cursor.take(length), pool);
    let mut handlers = Vec::new();
    for _ in 0..cursor.u2() {
        handlers.push([cursor.u2(), cursor.u2(), cursor.u2(), cursor.u2()]);
    }
    let mut attributes = Vec::new();
    for _ in 0..cursor.u2() {
        let name = pool[&cursor.u2()].clone();
        let length = cursor.number(4) as usize;
        attributes.push((name, cursor.take(length).to_vec()));
    }
    assert!(cursor.done());
    Code { max_stack, max_locals, instructions, length: length as u16, handlers, attributes }
}

pub fn read_instructions(code: &[u8], pool: &Pool) -> Vec<Instruction> {
    let mut cursor = Cursor::new(code);
    let mut instructions = Vec::new();
    while !cursor.done() {
        let pc = cursor.at;
        let (text, targets) = read_instruction(&mut cursor, pool);
        let targets = targets.iter().map(|&distance| (pc as i64 + i64::from(distance)) as u16);
        let (targets, length) = (targets.collect(), (cursor.at - pc) as u16);
        instructions.push(Instruction { pc: pc as u16, length, text, targets });
    }
    instructions
}

/// Numbers of operand bytes of the opcodes from 0 on that have no jumps; `-` for those that do,
/// and for what is no opcode.
const OPERANDS: &str = "\
    0000000000000000121221111100000000000000000000000000001111100000\
    0000000000000000000000000000000000000000000000000000000000000000\
    0000200000000000000000000----------------1--00000022222224421200\
    2200-3----";

/// The text of an instruction, and the distances it may jump.
fn read_instruction(cursor: &mut Cursor<'_>, pool: &Pool) -> (String, Vec<i32>) {
    let pc = cursor.at;
    let opcode = cursor.u1();
    let constant = |index: u16| pool.get(&index).cloned().unwrap_or_else(|| format!("#{index}"));
    match opcode {
        1 => ("null".into(), vec![]),
        2..=8 => (format!("int {}", i32::from(opcode) - 3), vec![]),
        9 | 10 => (format!("long {}", opcode - 9), vec![]),
        16 => (format!("int {}", cursor.u1() as i8), vec![]),
        17 => (format!("int {}", cursor.u2() as i16), vec![]),
        18 => (constant(u16::from(cursor.u1())), vec![]),
        19 | 20 => (constant(cursor.u2()), vec![]),
        21..=25 => (format!("load {} {}", opcode - 21, cursor.u1()), vec![]),
        26..=45 => (format!("load {} {}", (opcode - 26) / 4, (opcode - 26) % 4), vec![]),
        178 | 180 | 184 => (format!("{opcode} {}", constant(cursor.u2())), vec![]),
        153..=168 | 198 | 199 => (opcode.to_string(), vec![i32::from(cursor.u2() as i16)]),
        200 | 201 => (opcode.to_string(), vec![cursor.i4()]),
        170 | 171 => {
            cursor.take((4 - (pc + 1) % 4) % 4);
            read_switch(cursor, opcode)
        }
        196 => {
            let opcode = cursor.u1();
            let operands = cursor.take(if opcode == 132 { 4 } else { 2 });
            (format!("wide {opcode} {operands:?}"), vec![])
        }
        _ => {
            let length = OPERANDS.as_bytes()[usize::from(opcode)].wrapping_sub(b'0');
            assert!(length < 10, "opcode {opcode} at {pc}");
            (format!("{opcode} {:?}", cursor.take(usize::from(length))), vec![])
        }
    }
}

fn read_switch(cursor: &mut Cursor<'_>, opcode: u8) -> (String, Vec<i32>) {
    let mut targets = vec![cursor.i4()];
    let mut text = opcode.to_string();
    if opcode == 170 {
        let (low, high) = (cursor.i4(), cursor.i4());
        text += &format!(" {low}..={high}");
        targets.extend((low..=high).map(|_| cursor.i4()));
    } else {
        for _ in 0..cursor.i4() {
            text += &format!(" {}", cursor.i4());
            targets.push(cursor.i4());
        }
    }
    (text, targets)
}

impl Instruction {
    pub fn opcode(&self) -> Option<u8> {
        self.text.split(' ').next().and_then(|number| number.parse().ok())
    }

    pub fn end(&self) -> u16 {
        self.pc + self.length
    }

    pub fn is_return(&self) -> bool {
        matches!(self.opcode(), Some(172..=177))
    }
}

impl Code {
    pub fn attribute(&self, name: &str) -> Option<&[u8]> {
        let found = self.attributes.iter().find(|(found, _)| found == name);
        found.map(|(_, contents)| contents.as_slice())
    }
}
