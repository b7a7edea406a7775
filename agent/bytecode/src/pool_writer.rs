use std::borrow::Cow;
use std::collections::HashMap;

use crate::jstr;
use crate::plan::{Member, Reason};
use crate::pool::{ConstantPool, tag};

/// The constant pool has no free index left, or a string is longer than 65535 bytes.
#[derive(Debug)]
pub(crate) struct PoolFull;

impl From<PoolFull> for Reason {
    fn from(_: PoolFull) -> Self {
        Reason::ConstantPoolFull
    }
}

type Result<T> = core::result::Result<T, PoolFull>;

/// Appends constants to a pool, reusing those that it holds already.
pub(crate) struct PoolWriter<'a> {
    /// The pool being extended, until its entries are indexed.
    unindexed: Option<&'a ConstantPool<'a>>,
    strings: HashMap<Cow<'a, [u8]>, u16>,
    /// Every other constant by its tag and payload.
    others: HashMap<(u8, u64), u16>,
    appended: Vec<u8>,
    count: usize,
}

/// A state of a [`PoolWriter`] to return to.
pub(crate) struct Mark {
    appended: usize,
    count: usize,
}

impl<'a> PoolWriter<'a> {
    /// A pool of its own.
    pub(crate) fn empty() -> Self {
        Self {
            unindexed: None,
            strings: HashMap::new(),
            others: HashMap::new(),
            appended: Vec::new(),
            count: 1,
        }
    }

    /// The pool of an existing class.
    pub(crate) fn extending(pool: &'a ConstantPool<'a>) -> Self {
        Self { unindexed: Some(pool), count: pool.count(), ..Self::empty() }
    }

    /// `constant_pool_count` of the pool with what was appended.
    pub(crate) fn count(&self) -> u16 {
        // `push` keeps the count in range.
        u16::try_from(self.count).unwrap_or(u16::MAX)
    }

    /// The appended entries.
    pub(crate) fn appended(&self) -> &[u8] {
        &self.appended
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { appended: self.appended.len(), count: self.count }
    }

    /// Forgets everything appended since `mark`.
    pub(crate) fn roll_back(&mut self, mark: &Mark) {
        self.appended.truncate(mark.appended);
        self.count = mark.count;
        self.strings.retain(|_, index| usize::from(*index) < mark.count);
        self.others.retain(|_, index| usize::from(*index) < mark.count);
    }

    /// Indexes the entries of the extended pool. Most classes need no constant of ours, so this
    /// waits for the first.
    fn index_existing(&mut self) {
        let Some(pool) = self.unindexed.take() else { return };
        for (index, tag, payload) in pool.entries() {
            let Ok(index) = u16::try_from(index) else { break };
            match (tag, payload) {
                (tag::UTF8, [_, _, text @ ..]) => {
                    self.strings.entry(Cow::Borrowed(text)).or_insert(index);
                }
                _ => {
                    self.others.entry((tag, payload_key(payload))).or_insert(index);
                }
            }
        }
    }

    /// Takes the next index for an entry of `slots` indices.
    fn push(&mut self, tag: u8, payload: &[&[u8]], slots: usize) -> Result<u16> {
        let index = u16::try_from(self.count).map_err(|_| PoolFull)?;
        let count = self.count + slots;
        if count > usize::from(u16::MAX) {
            return Err(PoolFull);
        }
        self.count = count;
        self.appended.push(tag);
        payload.iter().for_each(|part| self.appended.extend_from_slice(part));
        Ok(index)
    }

    fn other(&mut self, tag: u8, payload: &[u8]) -> Result<u16> {
        self.index_existing();
        let key = (tag, payload_key(payload));
        if let Some(&index) = self.others.get(&key) {
            return Ok(index);
        }
        let slots = if tag == tag::LONG { 2 } else { 1 };
        let index = self.push(tag, &[payload], slots)?;
        self.others.insert(key, index);
        Ok(index)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> Result<u16> {
        let [a, b] = first.to_be_bytes();
        let [c, d] = second.to_be_bytes();
        self.other(tag, &[a, b, c, d])
    }

    /// A string given in modified UTF-8.
    pub(crate) fn utf8_bytes(&mut self, text: &[u8]) -> Result<u16> {
        self.index_existing();
        if let Some(&index) = self.strings.get(text) {
            return Ok(index);
        }
        let length = u16::try_from(text.len()).map_err(|_| PoolFull)?;
        let index = self.push(tag::UTF8, &[&length.to_be_bytes(), text], 1)?;
        self.strings.insert(Cow::Owned(text.to_vec()), index);
        Ok(index)
    }

    pub(crate) fn utf8(&mut self, text: &str) -> Result<u16> {
        self.utf8_bytes(&jstr::encode(text))
    }

    /// A class whose name is given in modified UTF-8.
    pub(crate) fn class_bytes(&mut self, name: &[u8]) -> Result<u16> {
        let name = self.utf8_bytes(name)?;
        self.other(tag::CLASS, &name.to_be_bytes())
    }

    pub(crate) fn class(&mut self, name: &str) -> Result<u16> {
        self.class_bytes(&jstr::encode(name))
    }

    pub(crate) fn integer(&mut self, value: i32) -> Result<u16> {
        self.other(tag::INTEGER, &value.to_be_bytes())
    }

    pub(crate) fn long(&mut self, value: i64) -> Result<u16> {
        self.other(tag::LONG, &value.to_be_bytes())
    }

    pub(crate) fn method(&mut self, member: &Member) -> Result<u16> {
        self.member(tag::METHODREF, member)
    }

    pub(crate) fn field(&mut self, member: &Member) -> Result<u16> {
        self.member(tag::FIELDREF, member)
    }

    fn member(&mut self, tag: u8, member: &Member) -> Result<u16> {
        let owner = self.class(&member.owner)?;
        let name = self.utf8(&member.name)?;
        let descriptor = self.utf8(&member.descriptor)?;
        let name_and_type = self.pair(tag::NAME_AND_TYPE, name, descriptor)?;
        self.pair(tag, owner, name_and_type)
    }
}

/// The payload of a constant other than a string (at most eight bytes) as a number.
fn payload_key(payload: &[u8]) -> u64 {
    payload.iter().fold(0, |key, &byte| key << 8 | u64::from(byte))
}
