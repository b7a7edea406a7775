use crate::ClassError;

type Result<T> = core::result::Result<T, ClassError>;

/// A cursor over part of a class file that never reads past its end.
///
/// It remembers where its part starts in the whole file, so that errors carry offsets that mean
/// the same everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Reads `data`, which start at `offset` of the class file.
    pub(crate) fn new(data: &'a [u8], offset: usize) -> Self {
        Self { rest: data, offset }
    }

    /// Offset of the next byte from the start of the class file.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let truncated = ClassError::Truncated { offset: self.offset, wanted: count };
        let (head, tail) = self.rest.split_at_checked(count).ok_or(truncated)?;
        self.rest = tail;
        self.offset += count;
        Ok(head)
    }

    /// Splits off a reader of the next `count` bytes.
    pub(crate) fn sub(&mut self, count: usize) -> Result<Reader<'a>> {
        let offset = self.offset;
        Ok(Reader::new(self.bytes(count)?, offset))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let truncated = ClassError::Truncated { offset: self.offset, wanted: N };
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(truncated)?;
        self.rest = tail;
        self.offset += N;
        Ok(*head)
    }

    pub(crate) fn u1(&mut self) -> Result<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u2(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u4(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn i2(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn i4(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// A `u4` that counts bytes of this file.
    pub(crate) fn length(&mut self) -> Result<usize> {
        // A length that does not fit the address space is certainly past the end of the data.
        let length = self.u4()?;
        Ok(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Fails unless everything has been read.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(ClassError::TrailingBytes { offset: self.offset, count }),
        }
    }
}
