//! Places where locks are taken, as the log says them.

use crate::log::{
    Generation,
    dictionary::{MethodText, PlaceText},
};
use tyrion_plan::Place;

/// Has a place stand in a file of the log.
pub fn define_place(generation: &Generation, number: u32, place: &Place) {
    let text = PlaceText {
        method: MethodText {
            class: place.class.as_bytes(),
            source: place.source_file.as_deref().unwrap_or_default().as_bytes(),
            name: place.method.as_bytes(),
            descriptor: place.descriptor.as_bytes(),
            first_line: place.first_line,
        },
        line: place.line,
        kind: place.kind,
        flags: place.flags,
        name: place.name.as_bytes(),
    };
    let _ = generation.dictionary.place(&generation.log, number, &text);
}
