use core::fmt;

/// What is wrong with the bytes of a class.
///
/// Every offset counts from the first byte of the class file, so that a message can be checked
/// against a hex dump.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClassError {
    /// The data end before the item at `offset`, which takes `wanted` bytes.
    Truncated {
        /// Where the item starts.
        offset: usize,
        /// How many bytes it takes.
        wanted: usize,
    },
    /// The first four bytes are not `0xCAFEBABE`.
    BadMagic {
        /// What they are.
        found: u32,
    },
    /// Class files before 45.3 lay out `Code` differently; no compiler since 1996 writes them.
    UnsupportedVersion {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// A constant pool entry of a kind that does not exist.
    BadConstantTag {
        /// Where the entry starts.
        offset: usize,
        /// Its tag.
        tag: u8,
    },
    /// A constant pool index that names no entry, or one of another kind than its user needs.
    BadConstant {
        /// Where the entry is referred to.
        offset: usize,
        /// The index.
        index: u16,
    },
    /// A byte where an instruction should start is no opcode of the class file format.
    BadOpcode {
        /// Where it stands.
        offset: usize,
        /// The byte.
        opcode: u8,
    },
    /// A switch whose number of cases is negative.
    BadSwitch {
        /// Where the switch starts.
        offset: usize,
    },
    /// A position in the code that is not the start of an instruction.
    BadPc {
        /// Where the position is referred to.
        offset: usize,
        /// The position.
        pc: i64,
    },
    /// A method's code is empty or longer than 65535 bytes.
    BadCodeLength {
        /// Where the length stands.
        offset: usize,
        /// The length.
        length: u32,
    },
    /// The last instruction does not end the method.
    FallsOffEnd {
        /// Where that instruction starts.
        offset: usize,
    },
    /// A stack map frame or a verification type of a kind that does not exist.
    BadFrame {
        /// Where it stands.
        offset: usize,
        /// Its tag.
        tag: u8,
    },
    /// A type annotation that this crate cannot walk.
    BadAnnotation {
        /// Where the offending tag stands.
        offset: usize,
        /// The tag.
        tag: u8,
    },
    /// A descriptor that is not one.
    BadDescriptor {
        /// Where the descriptor is referred to.
        offset: usize,
    },
    /// A second attribute of a kind that may stand only once.
    DuplicateAttribute {
        /// Where the second one's contents start.
        offset: usize,
    },
    /// Bytes are left behind the end of a structure.
    TrailingBytes {
        /// Where they start.
        offset: usize,
        /// How many there are.
        count: usize,
    },
}

impl fmt::Display for ClassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ClassError::*;
        match *self {
            Truncated { offset, wanted } => {
                write!(f, "{wanted} bytes wanted but the data end (at offset {offset:#x})")
            }
            BadMagic { found } => write!(f, "no class file: it starts with {found:#010x}"),
            UnsupportedVersion { major, minor } => {
                write!(f, "class file version {major}.{minor} is not supported")
            }
            BadConstantTag { offset, tag } => {
                write!(f, "unknown constant tag {tag} (at offset {offset:#x})")
            }
            BadConstant { offset, index } => {
                write!(f, "constant {index} is missing or of another kind (at offset {offset:#x})")
            }
            BadOpcode { offset, opcode } => {
                write!(f, "{opcode:#04x} is no opcode (at offset {offset:#x})")
            }
            BadSwitch { offset } => {
                write!(f, "switch with fewer than no cases (at offset {offset:#x})")
            }
            BadPc { offset, pc } => {
                write!(f, "no instruction starts at pc {pc} (at offset {offset:#x})")
            }
            BadCodeLength { offset, length } => {
                write!(f, "{length} bytes of code in a method (at offset {offset:#x})")
            }
            FallsOffEnd { offset } => {
                write!(f, "the last instruction does not end the method (at offset {offset:#x})")
            }
            BadFrame { offset, tag } => {
                write!(f, "unknown stack map tag {tag} (at offset {offset:#x})")
            }
            BadAnnotation { offset, tag } => {
                write!(f, "unknown type annotation tag {tag:#04x} (at offset {offset:#x})")
            }
            BadDescriptor { offset } => write!(f, "malformed descriptor (at offset {offset:#x})"),
            DuplicateAttribute { offset } => {
                write!(f, "attribute given twice (at offset {offset:#x})")
            }
            TrailingBytes { offset, count } => {
                write!(f, "{count} bytes too many (at offset {offset:#x})")
            }
        }
    }
}

impl std::error::Error for ClassError {}
