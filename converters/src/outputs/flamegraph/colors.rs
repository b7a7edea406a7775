//! Colours that say what a frame is, and are the same in every graph.

use crate::outputs::lines::{LabelKind, Lines};
use inferno::flamegraph::color::{Color, PaletteMap};
use tyrion_model::profile::State;
use tyrion_wire::Family;

/// The colours of frames of one kind: the darkest, and how much lighter red, green
/// and blue of it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shades {
    base: [u8; 3],
    spread: [u8; 3],
}

/// A colour for each name, a shade of those of its kind: warm for the application's
/// methods, pale for the JDK's, cold for locks, grey for threads, violet for what the
/// program says it does; and states each in one of their own.
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
    let [first, second, ..] = hash(name).to_le_bytes();
    let second = if kind == LabelKind::Thread { first } else { second };
    shade(shades(kind), [first, second, second])
}

fn shade(shades: Shades, bytes: [u8; 3]) -> Color {
    let shade =
        |base: u8, spread: u8, byte: u8| base + (u16::from(spread) * u16::from(byte) / 255) as u8;
    let Shades { base, spread } = shades;
    let [r, g, b] = std::array::from_fn(|at| shade(base[at], spread[at], bytes[at]));
    Color { r, g, b }
}

fn shades(kind: LabelKind) -> Shades {
    let of = |base, spread| Shades { base, spread };
    match kind {
        LabelKind::Method => of([225, 110, 20], [30, 70, 40]),
        LabelKind::JdkMethod => of([225, 200, 120], [25, 30, 40]),
        LabelKind::Lock(kind) => match kind.family() {
            Family::Monitor => of([90, 150, 215], [40, 35, 40]),
            Family::Condition => of([205, 130, 155], [35, 35, 35]),
            Family::Park => of([130, 175, 145], [35, 35, 35]),
            Family::Lock => of([45, 175, 180], [40, 35, 35]),
        },
        LabelKind::Thread => of([185, 185, 185], [20, 20, 20]),
        LabelKind::Group => of([175, 130, 200], [30, 30, 30]),
        LabelKind::State(state) => of(of_state(state), [0; 3]),
    }
}

/// What frames of a kind are called beside their colour. Kinds with the same colours
/// have one name.
fn meaning(kind: LabelKind) -> &'static str {
    match kind {
        LabelKind::Method => "application",
        LabelKind::JdkMethod => "JDK",
        LabelKind::Lock(kind) => kind.family().name(),
        LabelKind::Thread => "thread",
        LabelKind::Group => "group",
        LabelKind::State(state) => state.name(),
    }
}

/// What the colours of the frames of these lines mean, in the order of
/// [`LabelKind`]: each name once, with the middle one of its shades.
pub(super) fn legend(lines: &Lines<'_>, drawn: &str) -> Vec<(Color, &'static str)> {
    let mut legend: Vec<(Color, &'static str)> = Vec::new();
    for kind in lines.kinds_of_frames(drawn) {
        let meaning = meaning(kind);
        if !legend.iter().any(|(_, known)| *known == meaning) {
            legend.push((shade(shades(kind), [127; 3]), meaning));
        }
    }
    legend
}

/// Green for what gets on, red for what is kept from it, cold colours for what
/// waits.
fn of_state(state: State) -> [u8; 3] {
    match state {
        State::Running => [80, 185, 80],
        State::Native => [160, 200, 80],
        State::Blocked => [220, 50, 50],
        State::Waiting => [130, 140, 225],
        State::Parked => [110, 170, 205],
        State::Sleeping => [160, 195, 225],
        State::Idle => [205, 220, 230],
        State::Other => [150, 150, 150],
    }
}

/// FNV-1a, folded: its low bytes alone are weak.
fn hash(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of frame.
    fn kinds() -> impl Iterator<Item = LabelKind> {
        let locks = tyrion_wire::WaitKind::ALL.map(LabelKind::Lock);
        let states = State::ALL.map(LabelKind::State);
        let others = [LabelKind::Method, LabelKind::JdkMethod, LabelKind::Thread, LabelKind::Group];
        others.into_iter().chain(locks).chain(states)
    }

    #[test]
    fn each_colour_has_one_meaning() {
        for one in kinds() {
            for other in kinds() {
                let (same_colour, same_meaning) =
                    (shades(one) == shades(other), meaning(one) == meaning(other));
                assert_eq!(same_colour, same_meaning, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn shades_do_not_overflow() {
        for kind in kinds() {
            let Shades { base, spread } = shades(kind);
            for (base, spread) in base.into_iter().zip(spread) {
                assert!(base.checked_add(spread).is_some(), "{kind:?}");
            }
        }
    }
}
