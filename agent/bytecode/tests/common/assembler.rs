//! Makes classes of one method out of instructions whose jumps name instructions, not places.

/// An instruction. Targets are indices into the list of instructions.
#[derive(Clone, Debug)]
pub enum Item {
    /// One that does not depend on where it stands.
    Plain(Vec<u8>),
    /// A jump of 16 bits.
    Near(u8, usize),
    /// A jump of 32 bits.
    Far(u8, usize),
    /// Lowest key, default, cases.
    TableSwitch(i32, usize, Vec<usize>),
    /// Default, cases.
    LookupSwitch(usize, Vec<(i32, usize)>),
}

/// A verification type of a stack map. Places are indices, too.
#[derive(Clone, Debug)]
pub enum Type {
    Simple(u8),
    This,
    Throwable,
    Uninitialized(usize),
}

/// The kind of a stack map frame.
#[derive(Clone, Debug)]
pub enum Frame {
    Same,
    SameExtended,
    Stack(Type),
    StackExtended(Type),
    Chop(u8),
    Append(Vec<Type>),
    Full(Vec<Type>, Vec<Type>),
}

/// A static method of class `t/T`, and what goes with it.
#[derive(Clone, Debug)]
pub struct Method {
    pub name: &'static str,
    pub descriptor: &'static str,
    pub flags: u16,
    pub major: u16,
    pub max_stack: u16,
    pub max_locals: u16,
    pub items: Vec<Item>,
    /// Start, end (which may be the number of items) and handler; the class caught.
    pub handlers: Vec<(usize, usize, usize, u16)>,
    pub frames: Vec<(usize, Frame)>,
    pub lines: Vec<usize>,
    /// Start and end.
    pub variables: Vec<(usize, usize)>,
}

impl Default for Method {
    fn default() -> Self {
        Self {
            name: "m",
            descriptor: "()V",
            flags: 0x0008,
            major: 61,
            max_stack: 4,
            max_locals: 8,
            items: Vec::new(),
            handlers: Vec::new(),
            frames: Vec::new(),
            lines: Vec::new(),
            variables: Vec::new(),
        }
    }
}

/// Constants of every class that is made here, by index.
pub const THIS_CLASS: u16 = 2;
const CODE: u16 = 5;
const STACK_MAP_TABLE: u16 = 6;
const LINE_NUMBER_TABLE: u16 = 7;
const LOCAL_VARIABLE_TABLE: u16 = 8;
const NAME: u16 = 9;
const DESCRIPTOR: u16 = 10;
const UNKNOWN: u16 = 11;
const THROWABLE: u16 = 13;

impl Method {
    /// Where each instruction starts, and where the last one ends.
    pub fn places(&self) -> Vec<usize> {
        let mut places = vec![0];
        for item in &self.items {
            let pc = *places.last().expect("never empty");
            let padding = 3 - pc % 4;
            places.push(
                pc + match item {
                    Item::Plain(bytes) => bytes.len(),
                    Item::Near(..) => 3,
                    Item::Far(..) => 5,
                    Item::TableSwitch(_, _, cases) => 1 + padding + 12 + 4 * cases.len(),
                    Item::LookupSwitch(_, cases) => 1 + padding + 8 + 8 * cases.len(),
                },
            );
        }
        places
    }

    /// The class file.
    pub fn assemble(&self) -> Vec<u8> {
        let texts = [
            "t/T",
            "",
            "java/lang/Object",
            "",
            "Code",
            "StackMapTable",
            "LineNumberTable",
            "LocalVariableTable",
            self.name,
            self.descriptor,
            "t.Unknown",
            "java/lang/Throwable",
            "",
        ];
        let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
        put(&mut out, &[self.major, texts.len() as u16 + 1]);
        for (index, text) in texts.iter().enumerate() {
            if text.is_empty() {
                out.push(7);
                put(&mut out, &[index as u16]);
            } else {
                out.push(1);
                put(&mut out, &[text.len() as u16]);
                out.extend(text.bytes());
            }
        }
        // Flags, this class, superclass, interfaces, fields, methods.
        put(&mut out, &[0x21, THIS_CLASS, 4, 0, 0, 1]);
        put(&mut out, &[self.flags, NAME, DESCRIPTOR]);
        if self.items.is_empty() {
            put(&mut out, &[0]);
        } else {
            put(&mut out, &[1]);
            attribute(&mut out, CODE, &self.code());
        }
        put(&mut out, &[0]);
        out
    }

    fn code(&self) -> Vec<u8> {
        let places = self.places();
        let mut out = Vec::new();
        put(&mut out, &[self.max_stack, self.max_locals]);
        let code = self.instructions(&places);
        out.extend((code.len() as u32).to_be_bytes());
        out.extend(code);
        put(&mut out, &[self.handlers.len() as u16]);
        for &(start, end, handler, class) in &self.handlers {
            let [start, end, handler] = [start, end, handler].map(|index| places[index] as u16);
            put(&mut out, &[start, end, handler, class]);
        }
        put(&mut out, &[4]);
        let lines: Vec<u16> = self
            .lines
            .iter()
            .flat_map(|&start| [places[start] as u16, start as u16 + 100])
            .collect();
        table(&mut out, LINE_NUMBER_TABLE, self.lines.len(), &lines);
        let variable = |(slot, &(start, end)): (usize, &(usize, usize))| {
            let (start, end) = (places[start] as u16, places[end] as u16);
            [start, end - start, NAME, DESCRIPTOR, slot as u16]
        };
        let variables: Vec<u16> = self.variables.iter().enumerate().flat_map(variable).collect();
        table(&mut out, LOCAL_VARIABLE_TABLE, self.variables.len(), &variables);
        attribute(&mut out, UNKNOWN, b"some bytes");
        attribute(&mut out, STACK_MAP_TABLE, &self.stack_maps(&places));
        out
    }

    fn instructions(&self, places: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        for (item, &pc) in self.items.iter().zip(places) {
            let distance = |target: usize| places[target] as i32 - pc as i32;
            let far = |out: &mut Vec<u8>, target| out.extend(distance(target).to_be_bytes());
            match item {
                Item::Plain(bytes) => out.extend(bytes),
                Item::Near(opcode, target) => {
                    out.push(*opcode);
                    out.extend((distance(*target) as i16).to_be_bytes());
                }
                Item::Far(opcode, target) => {
                    out.push(*opcode);
                    far(&mut out, *target);
                }
                Item::TableSwitch(low, default, cases) => {
                    out.push(170);
                    out.resize(out.len().next_multiple_of(4), 0);
                    far(&mut out, *default);
                    out.extend(low.to_be_bytes());
                    out.extend((low + cases.len() as i32 - 1).to_be_bytes());
                    cases.iter().for_each(|&target| far(&mut out, target));
                }
                Item::LookupSwitch(default, cases) => {
                    out.push(171);
                    out.resize(out.len().next_multiple_of(4), 0);
                    far(&mut out, *default);
                    out.extend((cases.len() as i32).to_be_bytes());
                    for &(key, target) in cases {
                        out.extend(key.to_be_bytes());
                        far(&mut out, target);
                    }
                }
            }
        }
        out
    }

    fn stack_maps(&self, places: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, &[self.frames.len() as u16]);
        let mut next = 0;
        for (index, frame) in &self.frames {
            let distance = places[*index] - next;
            next = places[*index] + 1;
            let (short, tag) = match frame {
                Frame::Same => (Some(0), 251),
                Frame::Stack(_) => (Some(64), 247),
                Frame::SameExtended => (None, 251),
                Frame::StackExtended(_) => (None, 247),
                Frame::Chop(count) => (None, 251 - count),
                Frame::Append(types) => (None, 251 + types.len() as u8),
                Frame::Full(..) => (None, 255),
            };
            match short {
                Some(base) if distance < 64 => out.push(base + distance as u8),
                _ => {
                    out.push(tag);
                    put(&mut out, &[distance as u16]);
                }
            }
            match frame {
                Frame::Stack(found) | Frame::StackExtended(found) => {
                    put_type(&mut out, found, places)
                }
                Frame::Append(types) => types.iter().for_each(|t| put_type(&mut out, t, places)),
                Frame::Full(locals, stack) => {
                    for types in [locals, stack] {
                        put(&mut out, &[types.len() as u16]);
                        types.iter().for_each(|t| put_type(&mut out, t, places));
                    }
                }
                _ => {}
            }
        }
        out
    }
}

fn put_type(out: &mut Vec<u8>, found: &Type, places: &[usize]) {
    match found {
        Type::Simple(tag) => out.push(*tag),
        Type::This => {
            out.push(7);
            put(out, &[THIS_CLASS]);
        }
        Type::Throwable => {
            out.push(7);
            put(out, &[THROWABLE]);
        }
        Type::Uninitialized(index) => {
            out.push(8);
            put(out, &[places[*index] as u16]);
        }
    }
}

fn table(out: &mut Vec<u8>, name: u16, rows: usize, numbers: &[u16]) {
    let mut contents = Vec::new();
    put(&mut contents, &[rows as u16]);
    put(&mut contents, numbers);
    attribute(out, name, &contents);
}

fn attribute(out: &mut Vec<u8>, name: u16, contents: &[u8]) {
    put(out, &[name]);
    out.extend((contents.len() as u32).to_be_bytes());
    out.extend(contents);
}

fn put(out: &mut Vec<u8>, numbers: &[u16]) {
    out.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
}
