//! Type annotations of code: the places they name.

use super::model::Cursor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Instruction(u16),
    Range { start: u16, length: u16 },
}

/// Reads the contents of a `Runtime…TypeAnnotations`.
pub fn places(contents: &[u8]) -> Vec<Place> {
    let mut cursor = Cursor::new(contents);
    let mut places = Vec::new();
    for _ in 0..cursor.u2() {
        match cursor.u1() {
            0x40 | 0x41 => {
                for _ in 0..cursor.u2() {
                    places.push(Place::Range { start: cursor.u2(), length: cursor.u2() });
                    cursor.u2();
                }
            }
            0x42 => drop(cursor.u2()),
            0x43..=0x46 => places.push(Place::Instruction(cursor.u2())),
            0x47..=0x4b => {
                places.push(Place::Instruction(cursor.u2()));
                cursor.u1();
            }
            tag => panic!("target {tag}"),
        }
        let path = usize::from(cursor.u1());
        cursor.take(2 * path);
        annotation(&mut cursor);
    }
    assert!(cursor.done());
    places
}

fn annotation(cursor: &mut Cursor<'_>) {
    cursor.u2();
    for _ in 0..cursor.u2() {
        cursor.u2();
        value(cursor);
    }
}

fn value(cursor: &mut Cursor<'_>) {
    match cursor.u1() {
        b'e' => drop(cursor.take(4)),
        b'@' => annotation(cursor),
        b'[' => (0..cursor.u2()).for_each(|_| value(cursor)),
        _ => drop(cursor.u2()),
    }
}
