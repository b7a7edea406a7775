//! Records of an events chunk.
//!
//! Two little-endian bytes, the control word, say what follows:
//!
//! ```text
//! bit   15 14  13     12   11 10    9 8        7 5        4 2      1 0
//!       zero   owner  ext  outcome  site len   duration   delta    type = 1
//!                                   less one   len        len
//! ```
//!
//! and then come, each in as many bytes as its length says, least significant
//! first: the time since the previous record of the chunk (its header's
//! `first_ns` for the first one) to the *end* of this wait, the wait's
//! duration, its site. With `ext` two varints follow: the owner's thread id
//! and the number of parks; with `owner` only the first of them. Lengths beside the values instead of stop bits
//! within them let a reader decode without branches.
//!
//! A record of type 2 is one byte `code << 2 | 2`, a varint length and so many
//! bytes; readers skip codes they do not know. Those of trace mode are in [`crate::trace`],
//! that of sampling in [`crate::sample`], who ended a wait in [`crate::wake`], and what the
//! owner of the lock did in [`crate::holder`]. One of type 3 is a span, see [`crate::span`].

use crate::{
    fields::TYPE_MISC,
    holder::Holder,
    kind::Outcome,
    le,
    sample::{Sample, Snapshot},
    span::{Operation, Span},
    trace::{self, Blame, Hold, Holds, Instance, Nest},
    varint,
    wake::Wake,
};

/// The longest encoding of a [`WaitRecord`], in bytes.
pub const MAX_WAIT_LEN: usize = 2 + 7 + 7 + 4 + 5 + varint::MAX_LEN;
/// The longest time or duration, in ns: 833 days. Longer ones are cut to it.
pub const MAX_NS: u64 = (1 << 56) - 1;

const TYPE_WAIT: u16 = 1;
const EXT: u16 = 1 << 12;
const OWNER: u16 = 1 << 13;
/// Bits of the control word that say what the record is, and the reserved ones.
const SORT: u16 = 0xc003;
/// The high bit of each byte; clear in the last one of a varint.
const MORE: u64 = 0x8080_8080_8080_8080;
/// Code of the record that names the thread of the records after it.
const CODE_THREAD: u8 = 1;

/// One wait that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRecord {
    /// From the end of the chunk's previous wait to the end of this one, in ns.
    pub delta_ns: u64,
    /// How long the thread waited, in ns.
    pub wait_ns: u64,
    /// Kind, stack and lock, by the site's id.
    pub site: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Thread id of the lock's owner when the wait began, 0 when unknown.
    pub owner: u32,
    /// How often the thread parked, where that is known (else 0).
    pub parks: u64,
}

/// A record of an events chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// One wait.
    Wait(WaitRecord),
    /// The records after this one belong to another thread.
    Thread(u32),
    /// Trace mode: holds that have ended, one after another.
    Holds(Holds<'a>),
    /// What is neither a wait nor about how the chunk is written.
    Note(Note<'a>),
    /// A record of a kind that this code does not know.
    Unknown(u8),
}

/// Makes the list of all notes. Those that are `timed` have a `delta_ns`: from the chunk's
/// previous record with a time, in ns. A mode behind a colon alone has them.
macro_rules! notes {
    (@delta $note:ident timed) => { $note.delta_ns };
    (@delta $note:ident) => { { let _ = $note; 0 } };
    (@with $note:ident, $delta_ns:ident, timed) => { $note.delta_ns = $delta_ns };
    (@with $note:ident, $delta_ns:ident,) => { let _ = (&mut $note, $delta_ns); };
    (@is) => { false };
    (@is timed) => { true };
    (@is trace) => { true };
    ($($(#[$about:meta])* $name:ident($record:ty) $($timed:ident)? $(: $mode:ident)?),* $(,)?) => {
        /// A record of an events chunk other than a wait, and of a kind that is known.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Note<'a> {
            $($(#[$about])* $name($record),)*
        }

        impl<'a> Note<'a> {
            /// The record with this code; `Some(None)` if no note has it, and `None` if
            /// these bytes are none with it.
            fn decode(code: u8, payload: &'a [u8]) -> Option<Option<Note<'a>>> {
                $(if code == <$record>::CODE {
                    return Some(Some(Note::$name(<$record>::decode(payload)?)));
                })*
                Some(None)
            }

            /// From the chunk's previous record with a time, in ns; 0 if it has none of its
            /// own.
            pub fn delta_ns(&self) -> u64 {
                match self {
                    $(Note::$name(note) => notes!(@delta note $($timed)?),)*
                }
            }

            /// Whether it has a time of its own.
            pub fn is_timed(&self) -> bool {
                match self {
                    $(Note::$name(_) => notes!(@is $($timed)?),)*
                }
            }

            /// Whether trace mode alone has such records.
            pub fn is_of_trace(&self) -> bool {
                match self {
                    $(Note::$name(_) => notes!(@is $($mode)?),)*
                }
            }

            /// The same so long after the chunk's previous record with a time, in ns.
            #[must_use]
            pub fn after(self, delta_ns: u64) -> Note<'a> {
                match self {
                    $(Note::$name(mut note) => {
                        notes!(@with note, delta_ns, $($timed)?);
                        Note::$name(note)
                    })*
                }
            }

            /// Appends the whole record, code and length included.
            pub fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $(Note::$name(note) => note.encode(out),)*
                }
            }
        }

        $(impl<'a> From<$record> for Note<'a> {
            fn from(note: $record) -> Note<'a> {
                Note::$name(note)
            }
        })*
    };
}

notes! {
    /// A hold that has ended.
    Hold(Hold) timed: trace,
    /// A thread has taken an instance for the first time.
    Instance(Instance): trace,
    /// Who made another thread wait.
    Blame(Blame) timed: trace,
    /// A lock was taken while others were held.
    Nest(Nest<'a>) timed: trace,
    /// Sampling: what a thread was doing.
    Sample(Sample) timed,
    /// What a thread was doing, where nobody asked for samples.
    Snapshot(Snapshot) timed,
    /// Another thread has ended the wait before it.
    Wake(Wake),
    /// What the owner of a lock did while a thread waited.
    Holder(Holder) timed,
    /// The wait or hold before it was in a span.
    Span(Span),
    /// In which group the owner of a lock was when the wait before it began.
    Operation(Operation),
}

fn byte_len(value: u64) -> u16 {
    (8 - value.leading_zeros() / 8) as u16
}

impl WaitRecord {
    /// Writes the record at the front of `out`: the number of bytes.
    #[inline]
    pub fn encode(&self, out: &mut [u8; MAX_WAIT_LEN]) -> usize {
        let delta = self.delta_ns.min(MAX_NS);
        let wait = self.wait_ns.min(MAX_NS);
        let (delta_len, wait_len) = (byte_len(delta), byte_len(wait));
        let site_len = byte_len(u64::from(self.site)).max(1);
        let ext = match (self.owner, self.parks) {
            (0, 0) => 0,
            (_, 0) => OWNER,
            _ => EXT,
        };
        let control = TYPE_WAIT
            | delta_len << 2
            | wait_len << 5
            | (site_len - 1) << 8
            | (self.outcome as u16) << 10
            | ext;
        let mut at = 0;
        let mut put = |value: u64, len: u16| {
            // Eight bytes are always within `out`: 2 + 7 + 7 + 8 < MAX_WAIT_LEN.
            le::put(out, at, &value.to_le_bytes());
            at += usize::from(len);
        };
        put(u64::from(control), 2);
        put(delta, delta_len);
        put(wait, wait_len);
        put(u64::from(self.site), site_len);
        if ext != 0 {
            at += varint::write(&mut out[at..], u64::from(self.owner)).unwrap_or(0);
        }
        if ext == EXT {
            at += varint::write(&mut out[at..], self.parks).unwrap_or(0);
        }
        at
    }
}

/// Writes a record that names the thread of the records after it.
pub fn encode_thread(thread: u32, out: &mut [u8; MAX_WAIT_LEN]) -> usize {
    let len = varint::write(&mut out[2..], u64::from(thread)).unwrap_or(0);
    out[0] = CODE_THREAD << 2 | TYPE_MISC;
    out[1] = len as u8;
    2 + len
}

/// How many bytes of a wait [`usual_wait`] looks at.
pub const WINDOW: usize = 32;

/// Reads the record at the front of `bytes`: the record and its length, or
/// `None` when the bytes are no record.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<(Record<'_>, usize)> {
    let first = *bytes.first()?;
    if first & 3 == TYPE_WAIT as u8 {
        let (wait, len) = decode_wait(bytes)?;
        return Some((Record::Wait(wait), len));
    }
    if let Some((span, len)) = Span::decode_record(bytes) {
        return Some((Record::Note(span.into()), len));
    }
    decode_misc(first, bytes)
}

/// What is at the same place in all waits, with the control word and the length so far.
/// `None` for all other records.
#[inline(always)]
fn front(bytes: &[u8; WINDOW]) -> Option<(WaitRecord, u16, usize)> {
    let control = u16::from_le_bytes([bytes[0], bytes[1]]);
    let delta_len = usize::from(control >> 2 & 7);
    let wait_len = usize::from(control >> 5 & 7);
    let site_len = usize::from(control >> 8 & 3) + 1;
    let wait_at = 2 + delta_len;
    let site_at = wait_at + wait_len;
    let wait = WaitRecord {
        delta_ns: load(bytes, 2) & low_bytes(delta_len),
        wait_ns: load(bytes, wait_at) & low_bytes(wait_len),
        site: (load(bytes, site_at) & low_bytes(site_len)) as u32,
        outcome: Outcome::from_bits((control >> 10) as u8),
        owner: 0,
        parks: 0,
    };
    // At most 2 + 7 + 7 + 4: eight more bytes are always within the window.
    (control & SORT == TYPE_WAIT).then_some((wait, control, site_at + site_len))
}

/// Reads the wait at the front of `bytes` without a call, a loop or a bounds check: the
/// record and its length. `None` for all other records, and for a wait with an owner or
/// parks of more than four bytes, which are left to [`decode`].
///
/// Owner and parks are read, or skipped, without a branch: of two waits, one may have been
/// for a lock and the other not.
#[inline(always)]
pub fn usual_wait(bytes: &[u8; WINDOW]) -> Option<(WaitRecord, usize)> {
    let (mut wait, control, end) = front(bytes)?;
    let word = load(bytes, end);
    let ends = !word & MORE;
    let first_bits = ends.trailing_zeros() + 1;
    let both_bits = (ends & ends.wrapping_sub(1)).trailing_zeros() + 1;
    let is_ext = control & EXT != 0;
    let is_owned = control & (EXT | OWNER) != 0;
    let is_long = both_bits > first_bits + 32 || both_bits > 64;
    if is_owned && first_bits > 32 || is_ext && is_long {
        return None;
    }
    let owner_bits = if is_owned { first_bits } else { 0 };
    let all_bits = if is_ext { both_bits } else { owner_bits };
    wait.owner = varint::squeeze(word & low_bits(owner_bits)) as u32;
    wait.parks = varint::squeeze((word & low_bits(all_bits)) >> (owner_bits % 64));
    Some((wait, end + all_bits as usize / 8))
}

/// Any wait.
fn decode_wait(bytes: &[u8]) -> Option<(WaitRecord, usize)> {
    // Near the end, what is loaded is more than there is.
    let mut padded = [0; WINDOW];
    let window = bytes.first_chunk().unwrap_or_else(|| {
        padded[..bytes.len()].copy_from_slice(bytes);
        &padded
    });
    let (mut wait, control, mut len) = front(window)?;
    if control & (EXT | OWNER) != 0 {
        let (owner, owner_len) = varint::read(bytes.get(len..)?)?;
        wait.owner = u32::try_from(owner).ok()?;
        len += owner_len;
    }
    if control & EXT != 0 {
        let (parks, parks_len) = varint::read(bytes.get(len..)?)?;
        wait.parks = parks;
        len += parks_len;
    }
    (len <= bytes.len()).then_some((wait, len))
}

/// A mask of at most 64 bits.
#[inline(always)]
fn low_bits(bits: u32) -> u64 {
    1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1)
}

/// A mask of fewer than eight bytes.
#[inline(always)]
fn low_bytes(bytes: usize) -> u64 {
    (1 << (8 * bytes)) - 1
}

#[inline(always)]
fn load(bytes: &[u8; WINDOW], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn decode_misc(first: u8, bytes: &[u8]) -> Option<(Record<'_>, usize)> {
    if first & 3 != TYPE_MISC {
        return None;
    }
    let (len, len_len) = varint::read(&bytes[1..])?;
    let start = 1 + len_len;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    let payload = bytes.get(start..end)?;
    let record = match first >> 2 {
        CODE_THREAD => Record::Thread(u32::try_from(varint::read(payload)?.0).ok()?),
        trace::CODE_HOLDS => Record::Holds(Holds::decode(payload)?),
        code => match Note::decode(code, payload)? {
            Some(note) => Record::Note(note),
            None => Record::Unknown(code),
        },
    };
    Some((record, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn waits()(delta: u64, wait: u64, cuts in (8u32..64, 8u32..64, 0u32..32), site: u32,
                   outcome in 0u8..4, owner: u32, parks: u64, ext: bool) -> WaitRecord {
            WaitRecord {
                delta_ns: delta >> cuts.0,
                wait_ns: wait >> cuts.1,
                site: site >> cuts.2,
                outcome: Outcome::from_bits(outcome),
                owner: if ext { owner } else { 0 },
                parks: if ext { parks } else { 0 },
            }
        }
    }

    proptest! {
        #[test]
        fn waits_round_trip(wait in waits(), tail in 0usize..40) {
            let mut out = [0; MAX_WAIT_LEN];
            let len = wait.encode(&mut out);
            let mut bytes = out[..len].to_vec();
            for cut in 0..len {
                prop_assert_eq!(decode(&bytes[..cut]), None);
            }
            bytes.resize(len + tail, 0xff);
            prop_assert_eq!(decode(&bytes), Some((Record::Wait(wait), len)));
        }

        #[test]
        fn usual_waits_are_what_any_are(
            mut bytes: [u8; WINDOW], likely: bool, high in 0u32..9
        ) {
            if likely {
                bytes[0] = bytes[0] & !3 | 1;
                bytes[1] &= 0x3f;
                // Make varints of all lengths.
                bytes[2..].iter_mut().for_each(|byte| if *byte as u32 % 8 >= high { *byte &= 0x7f });
            }
            if let Some((wait, len)) = usual_wait(&bytes) {
                prop_assert_eq!(decode(&bytes), Some((Record::Wait(wait), len)));
            }
        }

        #[test]
        fn usual_waits_are_recognised(
            delta_ns in 0u64..1 << 56, wait_ns in 0u64..1 << 56, site: u32,
            owner in 0u32..1 << 28, parks in 0u64..1 << 28, outcome in 0u8..4,
        ) {
            let outcome = Outcome::from_bits(outcome);
            let wait = WaitRecord { delta_ns, wait_ns, site, outcome, owner, parks };
            let mut out = [0; MAX_WAIT_LEN];
            let len = wait.encode(&mut out);
            prop_assert_eq!(usual_wait(out.first_chunk().unwrap()), Some((wait, len)));
        }

        #[test]
        fn threads_round_trip(thread: u32) {
            let mut out = [0; MAX_WAIT_LEN];
            let len = encode_thread(thread, &mut out);
            prop_assert_eq!(decode(&out[..len]), Some((Record::Thread(thread), len)));
            prop_assert_eq!(decode(&out[..len - 1]), None);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            if let Some((_, len)) = decode(&bytes) {
                prop_assert!(len > 0 && len <= bytes.len());
            }
        }
    }

    #[test]
    fn a_steady_wait_takes_eight_bytes() {
        let wait = WaitRecord {
            delta_ns: 40_000,
            wait_ns: 30_000,
            site: 300,
            outcome: Outcome::Granted,
            owner: 0,
            parks: 0,
        };
        assert_eq!(wait.encode(&mut [0; MAX_WAIT_LEN]), 8);
        let owned = WaitRecord { owner: 100, ..wait };
        assert_eq!(owned.encode(&mut [0; MAX_WAIT_LEN]), 9);
    }

    #[test]
    fn rejects_zeros_and_reserved_bits() {
        assert_eq!(decode(&[0; 32]), None);
        assert_eq!(decode(&[1, 0x40, 0, 0, 0, 0]), None);
        assert_eq!(decode(&[3, 0]), None);
    }

    #[test]
    fn skips_unknown_records() {
        assert_eq!(decode(&[62 << 2 | 2, 2, 0, 0, 7]), Some((Record::Unknown(62), 4)));
    }
}
