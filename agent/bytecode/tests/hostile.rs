//! Bytes that are no class, or not quite: nothing panics, and nothing takes for ever.

use crate::common::everywhere;
use proptest::collection::vec;
use proptest::prelude::*;
use tyrion_bytecode::{ClassError, ClassFile, Pc, instrument};

const CLASSES: [&[u8]; 2] =
    [include_bytes!("data/java8/Monitors.class"), include_bytes!("data/java17/Monitors.class")];

/// Does with the class all that can be done with it; the result is whether it parsed.
fn exercise(bytes: &[u8]) -> Result<(), ClassError> {
    let class = ClassFile::parse(bytes)?;
    let _names = (class.name().to_string(), class.super_name().map(|name| name.to_string()));
    for method in class.methods() {
        let _signature = (method.name().to_string(), method.descriptor().to_string());
        let Ok(Some(code)) = method.code() else { continue };
        for instruction in code.instructions() {
            let Ok(instruction) = instruction else { break };
            let _ = code.member(&instruction);
            let _ = (code.line_at(instruction.pc()), code.catches_all_at(instruction.next_pc()));
        }
        let _ = (code.line_at(Pc(u16::MAX)), code.exception_table().count());
    }
    for parameters in [false, true] {
        let instrumented = instrument(&class, |method| everywhere::plan(method, parameters));
        if let Some(bytes) = instrumented.bytes {
            assert!(ClassFile::parse(&bytes).is_ok(), "what we write we can read");
        }
    }
    Ok(())
}

#[test]
fn rejects_truncated_classes() {
    for class in CLASSES {
        assert_eq!(exercise(class), Ok(()));
        for length in 0..class.len() {
            assert!(exercise(&class[..length]).is_err(), "{length} bytes");
        }
    }
}

#[test]
fn rejects_bytes_behind_the_class() {
    let class = [CLASSES[0], b"x"].concat();
    let error = ClassError::TrailingBytes { offset: CLASSES[0].len(), count: 1 };
    assert_eq!(exercise(&class), Err(error));
}

#[test]
fn survives_changed_bytes() {
    for class in CLASSES {
        // Neither every place nor every value: there are thousands of places.
        for place in (0..class.len()).step_by(5) {
            let mut changed = class.to_vec();
            changed[place] = [0, 0xff, class[place] ^ 1, class[place] ^ 0x80][place % 4];
            let _ = exercise(&changed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn survives_flipped_bytes(
        which in 0..CLASSES.len(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut class = CLASSES[which].to_vec();
        let length = class.len();
        flips.iter().for_each(|(place, value)| class[place.index(length)] = *value);
        let _ = exercise(&class);
    }

    #[test]
    fn survives_garbage(garbage in vec(any::<u8>(), 0..600)) {
        let class = [&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61, 0, 1][..], &garbage].concat();
        let _ = exercise(&class);
    }
}
