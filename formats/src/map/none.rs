//! Where no file can be mapped, as in a page of a browser: what is read is in memory.

use std::{fs::File, io};

/// A mapped file, of which there is none.
#[derive(Debug)]
pub(crate) enum Map {}

impl Map {
    pub(crate) fn new(_file: &File, _len: usize) -> io::Result<Map> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn may_search(&self, _bytes: u64) -> bool {
        match *self {}
    }

    pub(crate) fn len(&self) -> usize {
        match *self {}
    }

    pub(crate) fn word(&self, _at: usize) -> Option<[u8; 8]> {
        match *self {}
    }

    pub(crate) fn settled(&self, _at: usize, _len: usize) -> Option<&[u8]> {
        match *self {}
    }

    pub(crate) fn read_now(&self, _at: usize, _len: usize) {
        match *self {}
    }

    pub(crate) fn populate(&self, _at: usize, _len: usize) {
        match *self {}
    }
}
