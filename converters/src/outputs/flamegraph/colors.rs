//! Colours that say what a frame is, and are the same in every graph.

use crate::{
    outputs::lines::{LabelKind, Lines},
    profile::State,
};
use inferno::flamegraph::color::{Color, PaletteMap};

/// A colour for each name: warm for the application's methods, pale for the
/// JDK's, blue for locks, grey for threads, violet for what the program says it
/// does, with a shade of its own; and states each in one of their own.
pub(super) fn palette(lines: &Lines<'_>) -> PaletteMap {
    let mut palette = PaletteMap::default();
    // The frame of everything, which inferno labels "all".
    palette.insert("", color("", LabelKind::Thread));
    for (name, kind) in lines.labels() {
        palette.insert(name, color(name, kind));
    }
    palette
}

fn color(name: &str, kind: LabelKind) -> Color {
    let ((r, g, b), spread) = match kind {
        LabelKind::Method => ((225, 110, 20), (30, 70, 40)),
        LabelKind::JdkMethod => ((225, 200, 120), (25, 30, 40)),
        LabelKind::Lock => ((90, 150, 215), (40, 35, 40)),
        LabelKind::Thread => ((185, 185, 185), (20, 20, 20)),
        LabelKind::Group => ((175, 130, 200), (30, 30, 30)),
        LabelKind::State(state) => (of_state(state), (0, 0, 0)),
    };
    let [first, second, ..] = hash(name).to_le_bytes();
    let shade =
        |base: u8, spread: u8, byte: u8| base + (u16::from(spread) * u16::from(byte) / 255) as u8;
    let second = if kind == LabelKind::Thread { first } else { second };
    Color {
        r: shade(r, spread.0, first),
        g: shade(g, spread.1, second),
        b: shade(b, spread.2, second),
    }
}

/// Green for what gets on, red for what is kept from it, cold colours for what
/// waits.
fn of_state(state: State) -> (u8, u8, u8) {
    match state {
        State::Running => (80, 185, 80),
        State::Native => (160, 200, 80),
        State::Blocked => (220, 50, 50),
        State::Waiting => (130, 140, 225),
        State::Parked => (110, 170, 205),
        State::Sleeping => (160, 195, 225),
        State::Idle => (205, 220, 230),
        State::Other => (150, 150, 150),
    }
}

/// FNV-1a, folded: its low bytes alone are weak.
fn hash(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}
