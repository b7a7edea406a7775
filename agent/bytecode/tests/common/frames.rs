//! Stack maps, read into absolute places and whole lists of locals.

use super::model::{Cursor, Pool};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub pc: u16,
    pub locals: Vec<Type>,
    pub stack: Vec<Type>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Parameter(usize),
    Simple(u8),
    Object(String),
    Uninitialized(u16),
}

/// Reads the frames of a method with so many parameters, `this` included.
pub fn read(table: &[u8], parameters: usize, pool: &Pool) -> Vec<Frame> {
    let mut cursor = Cursor::new(table);
    let mut frames: Vec<Frame> = Vec::new();
    let mut locals: Vec<Type> = (0..parameters).map(Type::Parameter).collect();
    for _ in 0..cursor.u2() {
        let tag = cursor.u1();
        let distance = match tag {
            0..=63 => u16::from(tag),
            64..=127 => u16::from(tag) - 64,
            128..=246 => panic!("frame {tag}"),
            247..=255 => cursor.u2(),
        };
        let mut stack = Vec::new();
        match tag {
            64..=127 | 247 => stack = types(&mut cursor, 1, pool),
            248..=250 => locals.truncate(locals.len() - usize::from(251 - tag)),
            252..=254 => locals.extend(types(&mut cursor, u16::from(tag) - 251, pool)),
            255 => {
                let count = cursor.u2();
                locals = types(&mut cursor, count, pool);
                let count = cursor.u2();
                stack = types(&mut cursor, count, pool);
            }
            _ => {}
        }
        let pc = frames.last().map_or(distance, |previous| previous.pc + 1 + distance);
        frames.push(Frame { pc, locals: locals.clone(), stack });
    }
    assert!(cursor.done());
    frames
}

fn types(cursor: &mut Cursor<'_>, count: u16, pool: &Pool) -> Vec<Type> {
    let one = |_| match cursor.u1() {
        7 => Type::Object(pool[&cursor.u2()].clone()),
        8 => Type::Uninitialized(cursor.u2()),
        tag => Type::Simple(tag),
    };
    (0..count).map(one).collect()
}

/// How many parameters a method takes, `this` included.
pub fn parameters(descriptor: &str, is_static: bool) -> usize {
    let list = descriptor.split(')').next().expect("descriptor").trim_start_matches('(');
    let mut count = usize::from(!is_static);
    let mut rest = list.trim_start_matches('[');
    while !rest.is_empty() {
        count += 1;
        let end = if rest.starts_with('L') { rest.find(';').expect("class name") } else { 0 };
        rest = rest[end + 1..].trim_start_matches('[');
    }
    count
}
