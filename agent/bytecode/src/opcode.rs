//! Opcodes that matter to whoever chooses where to probe, or to the rewriting itself.

macro_rules! opcodes {
    ($($(#[$meta:meta])* $name:ident = $value:literal,)*) => {
        $($(#[$meta])* #[doc = concat!("Opcode ", stringify!($value), ".")] pub const $name: u8 = $value;)*
    };
}

opcodes! {
    NOP = 0x00,
    ACONST_NULL = 0x01,
    ICONST_0 = 0x03,
    LCONST_0 = 0x09,
    BIPUSH = 0x10,
    SIPUSH = 0x11,
    LDC = 0x12,
    LDC_W = 0x13,
    LDC2_W = 0x14,
    ILOAD = 0x15,
    LLOAD = 0x16,
    ALOAD = 0x19,
    /// The first of the twenty loads whose slot is in the opcode.
    ILOAD_0 = 0x1a,
    /// The first of the four `aload`s whose slot is in the opcode.
    ALOAD_0 = 0x2a,
    AALOAD = 0x32,
    ISTORE = 0x36,
    ASTORE = 0x3a,
    /// The first of the twenty stores whose slot is in the opcode.
    ISTORE_0 = 0x3b,
    /// The first of the four `astore`s whose slot is in the opcode.
    ASTORE_0 = 0x4b,
    ASTORE_3 = 0x4e,
    POP = 0x57,
    POP2 = 0x58,
    DUP = 0x59,
    DUP2 = 0x5c,
    SWAP = 0x5f,
    IINC = 0x84,
    IFEQ = 0x99,
    GOTO = 0xa7,
    JSR = 0xa8,
    RET = 0xa9,
    TABLESWITCH = 0xaa,
    LOOKUPSWITCH = 0xab,
    IRETURN = 0xac,
    RETURN = 0xb1,
    GETSTATIC = 0xb2,
    PUTSTATIC = 0xb3,
    GETFIELD = 0xb4,
    PUTFIELD = 0xb5,
    INVOKEVIRTUAL = 0xb6,
    INVOKESPECIAL = 0xb7,
    INVOKESTATIC = 0xb8,
    INVOKEINTERFACE = 0xb9,
    INVOKEDYNAMIC = 0xba,
    NEW = 0xbb,
    ATHROW = 0xbf,
    CHECKCAST = 0xc0,
    MONITORENTER = 0xc2,
    MONITOREXIT = 0xc3,
    WIDE = 0xc4,
    MULTIANEWARRAY = 0xc5,
    IFNULL = 0xc6,
    IFNONNULL = 0xc7,
    GOTO_W = 0xc8,
    JSR_W = 0xc9,
}

/// The length of an instruction that its opcode alone decides: not the switches, not `wide`, and
/// not what is no opcode.
pub(crate) fn fixed_length(opcode: u8) -> Option<usize> {
    Some(match opcode {
        0x00..=0x0f => 1, // nop and constants
        BIPUSH | LDC => 2,
        SIPUSH | LDC_W | LDC2_W => 3,
        ILOAD..=ALOAD => 2,
        ILOAD_0..=0x35 => 1, // loads
        ISTORE..=ASTORE => 2,
        ISTORE_0..=0x83 => 1, // stores, the stack, arithmetic
        IINC => 3,
        0x85..=0x98 => 1, // conversions and comparisons
        IFEQ..=JSR => 3,
        RET => 2,
        IRETURN..=RETURN => 1,
        GETSTATIC..=INVOKESTATIC => 3,
        INVOKEINTERFACE | INVOKEDYNAMIC => 5,
        NEW => 3,
        0xbc => 2, // newarray
        0xbd => 3, // anewarray
        0xbe | ATHROW => 1,
        0xc0 | 0xc1 => 3, // checkcast, instanceof
        MONITORENTER | MONITOREXIT => 1,
        0xc5 => 4, // multianewarray
        IFNULL | IFNONNULL => 3,
        GOTO_W | JSR_W => 5,
        _ => return None,
    })
}
