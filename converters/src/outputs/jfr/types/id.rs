//! Ids of types.

pub(in super::super) const BOOLEAN: u64 = 4;
pub(in super::super) const INT: u64 = 10;
pub(in super::super) const LONG: u64 = 11;
pub(in super::super) const CLASS: u64 = 20;
pub(in super::super) const STRING: u64 = 21;
pub(in super::super) const THREAD: u64 = 22;
pub(in super::super) const STACK: u64 = 23;
pub(in super::super) const LOADER: u64 = 24;
pub(in super::super) const METHOD: u64 = 25;
pub(in super::super) const SYMBOL: u64 = 26;
pub(in super::super) const STATE: u64 = 27;
pub(in super::super) const GROUP: u64 = 28;
pub(in super::super) const FRAME: u64 = 29;
pub(in super::super) const FRAME_TYPE: u64 = 30;
pub(in super::super) const PACKAGE: u64 = 31;
pub(in super::super) const KIND: u64 = 32;
pub(in super::super) const MODULE: u64 = 33;

pub(in super::super) const LABEL: u64 = 50;
pub(in super::super) const CATEGORY: u64 = 51;
pub(in super::super) const DESCRIPTION: u64 = 52;
pub(in super::super) const TIMESTAMP: u64 = 53;
pub(in super::super) const TIMESPAN: u64 = 54;
pub(in super::super) const ADDRESS: u64 = 55;
pub(in super::super) const CONTENT_TYPE: u64 = 56;
pub(in super::super) const UNSIGNED: u64 = 57;

pub(in super::super) const ENTER: u64 = 100;
pub(in super::super) const WAIT: u64 = 101;
pub(in super::super) const PARK: u64 = 102;
pub(in super::super) const SAMPLE: u64 = 103;
pub(in super::super) const NATIVE_SAMPLE: u64 = 104;
pub(in super::super) const THREAD_START: u64 = 105;
pub(in super::super) const THREAD_END: u64 = 106;
pub(in super::super) const GC: u64 = 107;
pub(in super::super) const GC_PAUSE: u64 = 108;
pub(in super::super) const SETTING: u64 = 109;
pub(in super::super) const JVM: u64 = 110;
pub(in super::super) const CPU: u64 = 111;
pub(in super::super) const FOLDED: u64 = 120;
pub(in super::super) const HOLD: u64 = 121;
pub(in super::super) const ACQUISITIONS: u64 = 122;
pub(in super::super) const HELD: u64 = 123;
pub(in super::super) const LOCK_NAME: u64 = 124;
pub(in super::super) const THREAD_SAMPLE: u64 = 125;
/// No type has it.
pub(in super::super) const NONE: u64 = 127;
