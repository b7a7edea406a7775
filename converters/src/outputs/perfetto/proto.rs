//! The messages of Perfetto's traces, with the fields that waits can fill.
//!
//! Source: `protos/perfetto/trace/` of the repository google/perfetto:
//! `trace_packet.proto`, `clock_snapshot.proto`, `interned_data/interned_data.proto`,
//! `profiling/profile_common.proto` and `track_event/*.proto`. Fields that exclude each
//! other there (`oneof`) are optional here; a writer sets one of them. Lists of numbers
//! are not packed.

/// A trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// Its packets, here in the order of their times.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// A packet of a trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// Its time in ns, on the clock of [`TracePacketDefaults`].
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// What several clocks said at one moment.
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    /// Something that happened on a track.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Describes a track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    /// Who wrote the packet: numbers of [`InternedData`] are valid within one sequence.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// What numbers stand for from this packet on.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`sequence_flag`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// What holds for the later packets of the sequence.
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
}

/// Values of [`TracePacket::sequence_flags`].
pub mod sequence_flag {
    /// The sequence refers to nothing that was told before this packet.
    pub const STATE_CLEARED: u32 = 1;
    /// The packet refers to what was told before.
    pub const NEEDS_STATE: u32 = 2;
}

/// What holds for the later packets of a sequence.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct TracePacketDefaults {
    /// The clock of the times, one of [`clock`].
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
}

/// Clocks of the system.
pub mod clock {
    /// `CLOCK_REALTIME`.
    pub const REALTIME: u32 = 1;
    /// `CLOCK_MONOTONIC`.
    pub const MONOTONIC: u32 = 3;
}

/// What several clocks said at one moment.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClockSnapshot {
    /// The clocks.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
    /// The clock that the trace is shown with.
    #[prost(uint32, optional, tag = "2")]
    pub primary_trace_clock: Option<u32>,
}

/// What a clock said.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Clock {
    /// One of [`clock`].
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    /// In ns.
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
}

/// Describes a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// What it is called by events; never 0.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// The track that it belongs to.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Its name; tracks of processes and threads have theirs.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// It is the track of a process.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// It is the track of a thread.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    /// It has the values of a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A process.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessDescriptor {
    /// Its id.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A thread.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ThreadDescriptor {
    /// The id of its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its id.
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// A counter.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CounterDescriptor {
    /// [`UNIT_COUNT`].
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
}

/// The unit of what is counted.
pub const UNIT_COUNT: i32 = 2;

/// Something that happened on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// Its categories ([`InternedData::event_categories`]).
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub category_iids: Vec<u64>,
    /// More about it.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// One of [`event_type`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its name ([`InternedData::event_names`]).
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Its name, where that has no number.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// A counter's new value.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// The flows that begin here, or go on.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// The flows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
    /// The stack ([`InternedData::callstacks`]).
    #[prost(uint64, optional, tag = "56")]
    pub callstack_iid: Option<u64>,
}

/// Values of [`TrackEvent::type`](TrackEvent).
pub mod event_type {
    /// A slice begins.
    pub const SLICE_BEGIN: i32 = 1;
    /// The slice that began last ends.
    pub const SLICE_END: i32 = 2;
    /// Something without a duration.
    pub const INSTANT: i32 = 3;
    /// A counter has a new value.
    pub const COUNTER: i32 = 4;
}

/// More about an event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// What it tells ([`InternedData::debug_annotation_names`]).
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Its value if that is a number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// Its value if that is a text.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// Its value if that is a text with a number
    /// ([`InternedData::debug_annotation_string_values`]).
    #[prost(uint64, optional, tag = "17")]
    pub string_value_iid: Option<u64>,
}

/// What numbers stand for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedData {
    /// Categories of events.
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedName>,
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// What annotations tell.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
    /// Names of functions.
    #[prost(message, repeated, tag = "5")]
    pub function_names: Vec<InternedString>,
    /// Frames of stacks.
    #[prost(message, repeated, tag = "6")]
    pub frames: Vec<Frame>,
    /// Stacks.
    #[prost(message, repeated, tag = "7")]
    pub callstacks: Vec<Callstack>,
    /// Texts of annotations.
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<InternedString>,
}

/// A category, an event's name or an annotation's.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedName {
    /// Its number, never 0.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The text.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// A text.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedString {
    /// Its number, never 0.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The text.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub str: Option<Vec<u8>>,
}

/// A frame.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Frame {
    /// Its number, never 0.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// Its function ([`InternedData::function_names`]).
    #[prost(uint64, optional, tag = "2")]
    pub function_name_id: Option<u64>,
    /// The line.
    #[prost(uint32, optional, tag = "6")]
    pub line_number: Option<u32>,
}

/// A stack.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Callstack {
    /// Its number, never 0.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// Its frames, the outermost first.
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    pub frame_ids: Vec<u64>,
}
