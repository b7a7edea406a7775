//! The messages of `profile.proto`, which `go tool pprof`, Pyroscope, Parca and
//! others read, with the fields that stacks of Java methods can fill.
//!
//! A string is an index into [`Profile::string_table`], whose first entry is the
//! empty string. Ids are given by the writer, never 0, and unique among messages
//! of one type; here they are 1, 2, 3, … in the order of the messages, which some
//! readers require.

/// A profile. Concatenated messages are one message, so that it can be written
/// in pieces; what is not repeated must stand in one piece only.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    /// What the values of each sample are, in their order.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// The samples, in any order.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// The binaries that the locations belong to; the first is the main one.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// The lines of source that stand in stacks.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// The functions that the locations belong to.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All strings, each once, the empty one first.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// When recording began: Unix time in ns.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// How long it went on, in ns.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What `period` counts.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// The number of events from one sampled event to the next; 1 for all.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Texts for people (strings).
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// The type of value (a string, as in [`ValueType`]) that viewers show at first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ValueType {
    /// What is counted (a string): `delay`.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// Its unit (a string): `nanoseconds`.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// Values of one stack with one set of labels.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// Ids of the stack's locations, the leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One value for each [`Profile::sample_type`], in its order.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What tells the sample from others of the same stack; each key at most
    /// once.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A label of a sample.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Label {
    /// Its key (a string).
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Its value (a string) if it is a text.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// Its value if it is a number.
    #[prost(int64, tag = "3")]
    pub num: i64,
    /// The unit (a string) of `num`.
    #[prost(int64, tag = "4")]
    pub num_unit: i64,
}

/// A binary.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Mapping {
    /// Its id.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its path (a string).
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Its locations have functions: no symbols need be looked up.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// Its locations have files.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// Its locations have lines.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Its locations have inlined functions resolved.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// A place in a program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    /// Its id.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The id of its mapping.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Its lines of source, more than one where functions are inlined, the
    /// innermost first.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// A line of source.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Line {
    /// The id of its function.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// The line's number from 1, 0 when unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Function {
    /// Its id.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name for people (a string): `com.acme.Foo.bar`.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Its name for machines (a string): with the descriptor.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Its source file (a string).
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// Its first line, 0 when unknown.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
