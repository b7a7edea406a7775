//! Recordings of Flight Recorder as text, by what their own metadata say.

use std::collections::{BTreeMap, HashMap};

/// So long is the header of a chunk.
const HEADER_LEN: usize = 68;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for nth in 0..8 {
            let byte = u64::from(self.byte());
            number |= (byte & 0x7f) << (7 * nth);
            if byte < 0x80 {
                return number;
            }
        }
        number | u64::from(self.byte()) << 56
    }

    fn text(&mut self) -> String {
        match self.byte() {
            0 => "null".to_owned(),
            1 => String::new(),
            3 => {
                let len = self.number() as usize;
                self.at += len;
                String::from_utf8(self.bytes[self.at - len..self.at].to_vec()).unwrap()
            }
            other => panic!("encoding {other}"),
        }
    }
}

#[derive(Default)]
struct Class {
    name: String,
    fields: Vec<Field>,
}

struct Field {
    name: String,
    of: u64,
    is_key: bool,
    is_array: bool,
}

type Classes = HashMap<u64, Class>;
/// What keys stand for, by type.
type Constants = HashMap<(u64, u64), String>;

/// An element of the tree, and all below it.
fn element(reader: &mut Reader<'_>, texts: &[String], classes: &mut Classes, within: u64) {
    let name = &texts[reader.number() as usize];
    let attributes: BTreeMap<&str, &str> = (0..reader.number())
        .map(|_| [reader.number(), reader.number()].map(|at| texts[at as usize].as_str()))
        .map(|[key, value]| (key, value))
        .collect();
    let number = |key: &str| attributes.get(key).map_or(0, |value| value.parse().unwrap());
    match name.as_str() {
        "class" => classes.entry(number("id")).or_default().name = attributes["name"].to_owned(),
        "field" => classes.entry(within).or_default().fields.push(Field {
            name: attributes["name"].to_owned(),
            of: number("class"),
            is_key: attributes.contains_key("constantPool"),
            is_array: attributes.contains_key("dimension"),
        }),
        _ => {}
    }
    for _ in 0..reader.number() {
        element(reader, texts, classes, number("id"));
    }
}

/// A value of a type. Of constants with several fields only the texts are told.
fn value(reader: &mut Reader<'_>, classes: &Classes, constants: &Constants, of: u64) -> String {
    let class = &classes[&of];
    match class.name.as_str() {
        "boolean" | "int" | "long" => (reader.number() as i64).to_string(),
        "java.lang.String" => reader.text(),
        _ => {
            let fields = class.fields.iter().map(|it| field(reader, classes, constants, it));
            fields.collect::<Vec<_>>().join(" ")
        }
    }
}

fn field(reader: &mut Reader<'_>, classes: &Classes, constants: &Constants, of: &Field) -> String {
    let one = |reader: &mut Reader<'_>| match of.is_key {
        true => match reader.number() {
            0 => "-".to_owned(),
            key => constants.get(&(of.of, key)).cloned().unwrap_or_else(|| format!("?{key}")),
        },
        false => value(reader, classes, constants, of.of),
    };
    match of.is_array {
        false => one(reader),
        true => {
            let values: Vec<String> =
                (0..reader.number()).map(|_| value(reader, classes, constants, of.of)).collect();
            format!("[{}]", values.join(", "))
        }
    }
}

/// A line for each event, the settings among them, in the order of the file. Offsets and lengths
/// are not told.
pub fn text(bytes: &[u8]) -> String {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        assert_eq!(rest[..8], *b"FLR\0\0\x02\0\x01");
        let word = |at: usize| u64::from_be_bytes(rest[at..at + 8].try_into().unwrap());
        let (chunk, after) = rest.split_at(word(8) as usize);
        lines.push(format!("chunk at {} for {}, tick {}", word(32), word(40), word(48)));
        assert_eq!((word(56), chunk[64..68].to_vec()), (1_000_000_000, vec![0, 0, 0, 1]));
        lines.extend(chunk_lines(chunk, (word(16) as usize, word(24) as usize)));
        rest = after;
    }
    lines.join("\n") + "\n"
}

fn chunk_lines(chunk: &[u8], (constants_at, metadata_at): (usize, usize)) -> Vec<String> {
    let mut classes = Classes::new();
    let mut reader = Reader { bytes: chunk, at: metadata_at };
    let head: Vec<u64> = (0..5).map(|_| reader.number()).collect();
    assert_eq!((metadata_at as u64 + head[0], head[1]), (chunk.len() as u64, 0));
    let texts: Vec<String> = (0..reader.number()).map(|_| reader.text()).collect();
    element(&mut reader, &texts, &mut classes, 0);
    assert_eq!(reader.at, chunk.len());
    // Constants stand for others, which come later: what is lacking is found in another turn.
    let mut constants = Constants::new();
    for _ in 0..6 {
        let mut reader = Reader { bytes: chunk, at: constants_at };
        let len = reader.number();
        let head: Vec<u64> = (0..4).map(|_| reader.number()).collect();
        assert_eq!((head[0], head[3], reader.byte()), (1, 0, 0));
        for _ in 0..reader.number() {
            let (of, count) = (reader.number(), reader.number());
            for _ in 0..count {
                let key = reader.number();
                let told = value(&mut reader, &classes, &constants, of);
                constants.insert((of, key), told);
            }
        }
        assert_eq!(reader.at as u64, constants_at as u64 + len);
        assert_eq!(reader.at, metadata_at);
    }
    let mut lines = Vec::new();
    let mut reader = Reader { bytes: chunk, at: HEADER_LEN };
    while reader.at < constants_at {
        let (at, len, of) = (reader.at, reader.number(), reader.number());
        let class = &classes[&of];
        let fields: Vec<String> = class
            .fields
            .iter()
            .map(|it| format!("{}={}", it.name, field(&mut reader, &classes, &constants, it)))
            .collect();
        assert_eq!(reader.at, at + len as usize, "{}", class.name);
        lines.push(format!("{} {}", class.name, fields.join(" ")));
    }
    assert_eq!(reader.at, constants_at);
    lines
}
