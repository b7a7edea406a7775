//! Where the program takes locks.

use crate::taking::Taken;

/// Where the program takes a lock: an instruction of one version of a method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Internal name of the class.
    pub class: String,
    /// Name of the file it was compiled from.
    pub source_file: Option<String>,
    /// Name of the method.
    pub method: String,
    /// Its descriptor.
    pub descriptor: String,
    /// The smallest line number in the method; 0 unknown.
    pub first_line: u32,
    /// The line where the lock is taken; 0 unknown.
    pub line: u32,
    /// The offset of the instruction in the class file, without probes; that of the first
    /// one of a synchronized method. `None` unknown.
    pub bytecode: Option<u16>,
    /// What is taken there.
    pub taken: Taken,
}
