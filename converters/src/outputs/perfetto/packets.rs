//! Writes packets, and gives numbers to what they repeat.

use super::proto::{
    Callstack, Clock, ClockSnapshot, DebugAnnotation, Frame, InternedData, InternedName,
    InternedString, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent, clock,
    sequence_flag,
};
use prost::Message;
use std::{
    collections::HashMap,
    io::{self, Write},
};
use tyrion_model::{names, profile::Profile, timeline::Axis};

/// Of a `Trace`, the field `packet`, with its length in front: so each packet can be
/// written by itself.
const PACKET: u8 = 1 << 3 | 2;
/// All packets are of one sequence.
const SEQUENCE: u32 = 1;
/// At most so many names of events and texts of annotations get a number; further ones
/// are written out. The names of waits have the owner and the number of waiters in them,
/// so there may be as many as there are waits.
const MAX_NUMBERED: usize = 1 << 16;

/// The categories of events, by number less one.
pub(super) const CATEGORIES: [&str; 3] = ["contention", "wait", "hold"];
/// What annotations tell, by number less one.
const ANNOTATIONS: [&str; 13] = [
    "kind",
    "lock",
    "lock_class",
    "outcome",
    "parks",
    "place",
    "count",
    "wait_ns",
    "longest_ns",
    "from_ns",
    "dump",
    "trace_id",
    "span_id",
];

/// Numbers for texts, in the order in which they come.
#[derive(Default)]
struct TextNumbers {
    of: HashMap<String, u64>,
}

impl TextNumbers {
    /// The number of a text, and whether it is new; `None` if there are too many.
    fn number(&mut self, text: &str) -> Option<(u64, bool)> {
        if let Some(&number) = self.of.get(text) {
            return Some((number, false));
        }
        let number = self.of.len() as u64 + 1;
        (self.of.len() < MAX_NUMBERED).then(|| {
            self.of.insert(text.to_owned(), number);
            (number, true)
        })
    }
}

/// Writes packets.
pub(super) struct Packets<'p, 'w> {
    profile: &'p Profile,
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    names: TextNumbers,
    texts: TextNumbers,
    functions: HashMap<u32, u64>,
    frames: HashMap<u32, u64>,
    callstacks: HashMap<u32, u64>,
    /// What the next packet has to tell.
    untold: InternedData,
}

impl<'p, 'w> Packets<'p, 'w> {
    /// Begins a trace with its clocks.
    pub(super) fn new(
        profile: &'p Profile,
        axis: &Axis,
        out: &'w mut dyn Write,
    ) -> io::Result<Packets<'p, 'w>> {
        let named = |names: &[&str]| {
            let name = |(nth, name): (u64, &&str)| interned(nth, name);
            (1..).zip(names).map(name).collect()
        };
        let untold = InternedData {
            event_categories: named(&CATEGORIES),
            debug_annotation_names: named(&ANNOTATIONS),
            ..InternedData::default()
        };
        let (names, texts) = Default::default();
        let (functions, frames, callstacks) = Default::default();
        let buffer = Vec::new();
        let mut packets =
            Packets { profile, out, buffer, names, texts, functions, frames, callstacks, untold };
        let clock =
            |clock_id, timestamp| Clock { clock_id: Some(clock_id), timestamp: Some(timestamp) };
        let clocks = vec![
            clock(clock::REALTIME, axis.start_wall_ns()),
            clock(clock::MONOTONIC, axis.start_ns()),
        ];
        packets.write(TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks,
                primary_trace_clock: Some(clock::MONOTONIC),
            }),
            sequence_flags: Some(sequence_flag::STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(clock::MONOTONIC),
            }),
            ..TracePacket::default()
        })?;
        Ok(packets)
    }

    /// Writes a description of a track.
    pub(super) fn describe(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.write(TracePacket {
            track_descriptor: Some(track),
            sequence_flags: Some(sequence_flag::NEEDS_STATE),
            ..TracePacket::default()
        })
    }

    /// Writes an event.
    pub(super) fn event(&mut self, at_ns: u64, event: TrackEvent) -> io::Result<()> {
        self.write(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(event),
            sequence_flags: Some(sequence_flag::NEEDS_STATE),
            ..TracePacket::default()
        })
    }

    fn write(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        let untold = std::mem::take(&mut self.untold);
        packet.interned_data = (untold != InternedData::default()).then_some(untold);
        self.buffer.clear();
        self.buffer.push(PACKET);
        packet.encode_length_delimited(&mut self.buffer).map_err(io::Error::other)?;
        self.out.write_all(&self.buffer)
    }

    /// Sets the name of an event.
    pub(super) fn set_name(&mut self, event: &mut TrackEvent, name: String) {
        match self.names.number(&name) {
            None => event.name = Some(name),
            Some((number, is_new)) => {
                event.name_iid = Some(number);
                if is_new {
                    self.untold.event_names.push(interned(number, &name));
                }
            }
        }
    }

    /// An annotation with a text; `what` is one of [`ANNOTATIONS`].
    pub(super) fn text(&mut self, what: &str, text: &str) -> DebugAnnotation {
        let name_iid = annotation(what);
        match self.texts.number(text) {
            None => {
                let string_value = Some(text.to_owned());
                DebugAnnotation { name_iid, string_value, ..DebugAnnotation::default() }
            }
            Some((number, is_new)) => {
                if is_new {
                    let text = interned_string(number, text);
                    self.untold.debug_annotation_string_values.push(text);
                }
                let string_value_iid = Some(number);
                DebugAnnotation { name_iid, string_value_iid, ..DebugAnnotation::default() }
            }
        }
    }

    /// The same of a text that is hardly told twice.
    pub(super) fn rare_text(what: &str, text: String) -> DebugAnnotation {
        let (name_iid, string_value) = (annotation(what), Some(text));
        DebugAnnotation { name_iid, string_value, ..DebugAnnotation::default() }
    }

    /// The number of a stack of the profile; `None` for the empty one. There are no more
    /// of them than the profile has.
    pub(super) fn callstack(&mut self, stack: u32) -> Option<u64> {
        if stack == 0 {
            return None;
        }
        if let Some(&number) = self.callstacks.get(&stack) {
            return Some(number);
        }
        let mut frame_ids: Vec<u64> = Vec::new();
        let mut at = stack;
        while let Some(node) = self.profile.stacks.get(at as usize).filter(|_| at != 0) {
            frame_ids.push(self.frame(node.frame));
            at = node.parent;
        }
        frame_ids.reverse();
        let number = self.callstacks.len() as u64 + 1;
        self.callstacks.insert(stack, number);
        self.untold.callstacks.push(Callstack { iid: Some(number), frame_ids });
        Some(number)
    }

    fn frame(&mut self, frame: u32) -> u64 {
        if let Some(&number) = self.frames.get(&frame) {
            return number;
        }
        let known = self.profile.frames.get(frame as usize).copied().unwrap_or_default();
        let function = self.function(known.function);
        let number = self.frames.len() as u64 + 1;
        self.frames.insert(frame, number);
        self.untold.frames.push(Frame {
            iid: Some(number),
            function_name_id: Some(function),
            line_number: Some(known.line).filter(|&line| line != 0),
        });
        number
    }

    fn function(&mut self, function: u32) -> u64 {
        if let Some(&number) = self.functions.get(&function) {
            return number;
        }
        let known = self.profile.functions.get(function as usize);
        let name = known.map_or_else(String::new, names::dotted);
        let number = self.functions.len() as u64 + 1;
        self.functions.insert(function, number);
        self.untold.function_names.push(interned_string(number, &name));
        number
    }
}

/// An annotation with a number; `what` is one of [`ANNOTATIONS`].
pub(super) fn number(what: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation {
        name_iid: annotation(what),
        uint_value: Some(value),
        ..DebugAnnotation::default()
    }
}

/// The number of what an annotation tells.
fn annotation(what: &str) -> Option<u64> {
    let nth = ANNOTATIONS.iter().position(|name| *name == what)?;
    Some(nth as u64 + 1)
}

fn interned(number: u64, name: &str) -> InternedName {
    InternedName { iid: Some(number), name: Some(name.to_owned()) }
}

fn interned_string(number: u64, text: &str) -> InternedString {
    InternedString { iid: Some(number), str: Some(text.as_bytes().to_vec()) }
}
