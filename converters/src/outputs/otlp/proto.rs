//! The messages of OpenTelemetry's profiles, as far as they are used: those of
//! `opentelemetry/proto/profiles/v1development/profiles.proto` of version 1.11, and of
//! `common.proto` and `resource.proto` beside it.
//!
//! `*_strindex`, `*_index` and `*_indices` point into the tables of the
//! [`ProfilesDictionary`]; 0 stands for nothing.

/// A file, and the body of a request to a collector: both have the same bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProfilesData {
    /// The profiles of each process.
    #[prost(message, repeated, tag = "1")]
    pub resource_profiles: Vec<ResourceProfiles>,
    /// What all of them refer to.
    #[prost(message, optional, tag = "2")]
    pub dictionary: Option<ProfilesDictionary>,
}

/// The tables. The first row of each is empty and stands for nothing.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProfilesDictionary {
    /// Binaries; only the first, empty one.
    #[prost(message, repeated, tag = "1")]
    pub mapping_table: Vec<Mapping>,
    /// The lines of source that stand in stacks.
    #[prost(message, repeated, tag = "2")]
    pub location_table: Vec<Location>,
    /// The functions that these belong to.
    #[prost(message, repeated, tag = "3")]
    pub function_table: Vec<Function>,
    /// Spans of traces.
    #[prost(message, repeated, tag = "4")]
    pub link_table: Vec<Link>,
    /// All strings, each once.
    #[prost(string, repeated, tag = "5")]
    pub string_table: Vec<String>,
    /// What tells samples from others of the same stack.
    #[prost(message, repeated, tag = "6")]
    pub attribute_table: Vec<KeyValueAndUnit>,
    /// Stacks.
    #[prost(message, repeated, tag = "7")]
    pub stack_table: Vec<Stack>,
}

/// A process and its profiles.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceProfiles {
    /// The process.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its profiles, by the program that took them.
    #[prost(message, repeated, tag = "2")]
    pub scope_profiles: Vec<ScopeProfiles>,
}

/// A process.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Resource {
    /// What is known of it.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// The profiles that one program took.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ScopeProfiles {
    /// The program.
    #[prost(message, optional, tag = "1")]
    pub scope: Option<InstrumentationScope>,
    /// The profiles, the one to show first in front.
    #[prost(message, repeated, tag = "2")]
    pub profiles: Vec<Profile>,
}

/// A program that takes profiles.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InstrumentationScope {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its version.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// A profile: one number for each sample.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    /// What the numbers are.
    #[prost(message, optional, tag = "1")]
    pub sample_type: Option<ValueType>,
    /// The samples, in any order.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
    /// When recording began: Unix time in ns.
    #[prost(fixed64, tag = "3")]
    pub time_unix_nano: u64,
    /// How long it went on, in ns.
    #[prost(uint64, tag = "4")]
    pub duration_nano: u64,
    /// What `period` counts.
    #[prost(message, optional, tag = "5")]
    pub period_type: Option<ValueType>,
    /// How much lies between two samples, in units of `period_type`; 1 where all is there.
    #[prost(int64, tag = "6")]
    pub period: i64,
}

/// What a number is.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ValueType {
    /// What is counted: `delay`.
    #[prost(int32, tag = "1")]
    pub type_strindex: i32,
    /// Its unit: `nanoseconds`.
    #[prost(int32, tag = "2")]
    pub unit_strindex: i32,
}

/// The sum for one stack with one set of attributes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// The stack.
    #[prost(int32, tag = "1")]
    pub stack_index: i32,
    /// The attributes, each key at most once.
    #[prost(int32, repeated, tag = "2")]
    pub attribute_indices: Vec<i32>,
    /// The span, 0 for none.
    #[prost(int32, tag = "3")]
    pub link_index: i32,
    /// The sum, one number.
    #[prost(int64, repeated, tag = "4")]
    pub values: Vec<i64>,
}

/// A binary.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Mapping {}

/// A stack.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Stack {
    /// Its locations, the innermost first.
    #[prost(int32, repeated, tag = "1")]
    pub location_indices: Vec<i32>,
}

/// A place in a program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    /// Its line of source.
    #[prost(message, repeated, tag = "3")]
    pub lines: Vec<Line>,
}

/// A line of source.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Line {
    /// Its function.
    #[prost(int32, tag = "1")]
    pub function_index: i32,
    /// The line's number from 1, 0 when unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Function {
    /// Its name for people: `com.acme.Foo.bar`.
    #[prost(int32, tag = "1")]
    pub name_strindex: i32,
    /// Its name for machines: with the descriptor.
    #[prost(int32, tag = "2")]
    pub system_name_strindex: i32,
    /// Its source file.
    #[prost(int32, tag = "3")]
    pub filename_strindex: i32,
    /// Its first line, 0 when unknown.
    #[prost(int64, tag = "4")]
    pub start_line: i64,
}

/// A span of a trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Link {
    /// The trace, 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    /// The span, 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
}

/// An attribute of samples.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValueAndUnit {
    /// Its key.
    #[prost(int32, tag = "1")]
    pub key_strindex: i32,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// An attribute of a process.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValue {
    /// Its key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// A value of an attribute.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AnyValue {
    /// What it is; `None` is an empty value.
    #[prost(oneof = "Value", tags = "1, 3")]
    pub value: Option<Value>,
}

/// The types of values that are used.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Value {
    /// A text.
    #[prost(string, tag = "1")]
    Text(String),
    /// A whole number.
    #[prost(int64, tag = "3")]
    Number(i64),
}

impl From<String> for AnyValue {
    fn from(text: String) -> AnyValue {
        AnyValue { value: Some(Value::Text(text)) }
    }
}

impl From<u32> for AnyValue {
    fn from(number: u32) -> AnyValue {
        AnyValue { value: Some(Value::Number(i64::from(number))) }
    }
}
