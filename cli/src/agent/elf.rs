//! What a program or a library is built for, as the headers of its file tell. Anybody
//! may have written the file: whatever makes no sense tells nothing.

use clap::ValueEnum;
use std::{fmt, fs::File, os::unix::fs::FileExt, path::Path};

/// The longest name of a loader, or of a library, that is looked at.
const LONGEST_NAME: usize = 256;
/// The most program headers, and the most entries of the dynamic section, that are.
const MOST_ENTRIES: u64 = 1024;

/// The length of the file's header, of a program header, of an entry of the dynamic
/// section.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const DYNAMIC: usize = 16;

const MAGIC: &[u8] = b"\x7fELF";
/// In the header after that: 64 bits, little-endian.
const USUAL: [u8; 2] = [2, 1];
const BIG_ENDIAN: u8 = 2;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// A C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Libc {
    /// The GNU C Library, of most distributions
    Glibc,
    /// That of Alpine Linux
    Musl,
}

impl Libc {
    /// Its name, which is also that of a folder.
    pub fn name(self) -> &'static str {
        match self {
            Libc::Glibc => "glibc",
            Libc::Musl => "musl",
        }
    }
}

impl fmt::Display for Libc {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

/// A kind of processor, by its number in ELF files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElfMachine {
    number: u16,
    /// Whether its programs are those of the usual 64 bits, little-endian.
    is_usual: bool,
}

impl fmt::Display for ElfMachine {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.number, self.is_usual) {
            (3, _) => to.write_str("x86 with 32 bits"),
            (40, _) => to.write_str("ARM with 32 bits"),
            (62, true) => to.write_str("x86-64"),
            (62, false) => to.write_str("x86-64 with pointers of 32 bits"),
            (183, true) => to.write_str("aarch64"),
            (243, true) => to.write_str("RISC-V"),
            (other, _) => write!(to, "processor {other} of ELF"),
        }
    }
}

/// What a file is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elf {
    pub machine: ElfMachine,
    /// `None` for what needs no C library, or another one.
    pub libc: Option<Libc>,
}

impl Elf {
    /// What the file of this name is built for; `None` if it is not a file of ELF.
    pub fn of(path: &Path) -> Option<Elf> {
        // Whatever is no file may have us wait for it.
        if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        Elf::read(&File::open(path).ok()?)
    }

    /// What a file is built for; `None` if it is not a file of ELF.
    pub fn read(file: &File) -> Option<Elf> {
        let header: [u8; HEADER] = bytes(file, 0)?;
        if !header.starts_with(MAGIC) {
            return None;
        }
        let read = if header[5] == BIG_ENDIAN { u16::from_be_bytes } else { u16::from_le_bytes };
        let is_usual = header[4..6] == USUAL;
        let machine = ElfMachine { number: read(part(&header, 18)?), is_usual };
        if !is_usual {
            // No agent is for it: what C library it needs does not matter.
            return Some(Elf { machine, libc: None });
        }
        let segments = segments(file, &header);
        let by_loader = || {
            let loader = segments.iter().find(|segment| segment.kind == PT_INTERP)?;
            libc_of(&name(file, loader.offset)?)
        };
        Some(Elf { machine, libc: by_loader().or_else(|| by_needed(file, &segments)) })
    }
}

/// A program header: what lies where in the file, and where it comes into memory.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    length: u64,
}

fn segments(file: &File, header: &[u8; HEADER]) -> Vec<Segment> {
    let read = || {
        let at = u64::from_le_bytes(part(header, 32)?);
        let size = u16::from_le_bytes(part(header, 54)?);
        let count = u64::from(u16::from_le_bytes(part(header, 56)?)).min(MOST_ENTRIES);
        // A size of none would have the same one read again and again.
        (usize::from(size) >= PROGRAM_HEADER).then_some((at, u64::from(size), count))
    };
    let Some((at, size, count)) = read() else { return Vec::new() };
    let offsets = (0..count).map_while(|index| at.checked_add(index * size));
    offsets.map_while(|offset| segment(file, offset)).collect()
}

fn segment(file: &File, offset: u64) -> Option<Segment> {
    let header: [u8; PROGRAM_HEADER] = bytes(file, offset)?;
    Some(Segment {
        kind: u32::from_le_bytes(part(&header, 0)?),
        offset: u64::from_le_bytes(part(&header, 8)?),
        address: u64::from_le_bytes(part(&header, 16)?),
        length: u64::from_le_bytes(part(&header, 32)?),
    })
}

/// The C library among those that a library needs.
fn by_needed(file: &File, segments: &[Segment]) -> Option<Libc> {
    let dynamic = segments.iter().find(|segment| segment.kind == PT_DYNAMIC)?;
    let count = (dynamic.length / DYNAMIC as u64).min(MOST_ENTRIES);
    let entries: Vec<(u64, u64)> = (0..count)
        .map_while(|index| {
            let entry: [u8; DYNAMIC] =
                bytes(file, dynamic.offset.checked_add(index * DYNAMIC as u64)?)?;
            Some((u64::from_le_bytes(part(&entry, 0)?), u64::from_le_bytes(part(&entry, 8)?)))
        })
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let (_, names) = entries.iter().find(|(tag, _)| *tag == DT_STRTAB)?;
    let within = |segment: &&Segment| {
        segment.kind == PT_LOAD
            && names.checked_sub(segment.address).is_some_and(|from| from < segment.length)
    };
    let segment = segments.iter().find(within)?;
    let names = segment.offset.checked_add(names - segment.address)?;
    let needed = entries.iter().filter(|(tag, _)| *tag == DT_NEEDED);
    needed.filter_map(|(_, at)| libc_of(&name(file, names.checked_add(*at)?)?)).next()
}

/// The C library that a loader, or a library, belongs to.
fn libc_of(name: &[u8]) -> Option<Libc> {
    let name = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    match name {
        b"libc.so.6" => Some(Libc::Glibc),
        b"libc.so" => Some(Libc::Musl),
        _ if name.starts_with(b"ld-musl-") || name.starts_with(b"libc.musl-") => Some(Libc::Musl),
        _ if name.starts_with(b"ld-linux") => Some(Libc::Glibc),
        _ => None,
    }
}

/// The name at an offset, up to its NUL.
fn name(file: &File, offset: u64) -> Option<Vec<u8>> {
    let mut name = vec![0; LONGEST_NAME];
    let read = file.read_at(&mut name, offset).ok()?;
    name.truncate(read);
    let end = name.iter().position(|&byte| byte == 0)?;
    name.truncate(end);
    Some(name)
}

fn bytes<const N: usize>(file: &File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    // Beyond what the kernel takes for an offset it tells so.
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> Option<Elf> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Elf::read(&file)
    }

    /// A file with these program headers, and this behind them.
    fn file(segments: &[(u32, u64, u64, u64)], rest: &[u8]) -> Vec<u8> {
        let mut file = [MAGIC, &USUAL].concat();
        file.resize(HEADER, 0);
        file[18..20].copy_from_slice(&183u16.to_le_bytes());
        file[32..40].copy_from_slice(&(HEADER as u64).to_le_bytes());
        file[54..56].copy_from_slice(&(PROGRAM_HEADER as u16).to_le_bytes());
        file[56..58].copy_from_slice(&(segments.len() as u16).to_le_bytes());
        for (kind, offset, address, length) in segments {
            let mut header = [0; PROGRAM_HEADER];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            header[8..16].copy_from_slice(&offset.to_le_bytes());
            header[16..24].copy_from_slice(&address.to_le_bytes());
            header[32..40].copy_from_slice(&length.to_le_bytes());
            file.extend(header);
        }
        file.extend(rest);
        file
    }

    fn program(loader: &[u8]) -> Vec<u8> {
        let at = (HEADER + PROGRAM_HEADER) as u64;
        file(&[(PT_INTERP, at, 0, loader.len() as u64)], loader)
    }

    /// A library whose names come to other addresses than they have in the file.
    fn library(needed: &[u8]) -> Vec<u8> {
        let at = (HEADER + 2 * PROGRAM_HEADER) as u64;
        let entries = [(DT_NEEDED, 3), (DT_STRTAB, 0x5000 + at + 48), (0, 0)];
        let mut rest: Vec<u8> = entries
            .iter()
            .flat_map(|(tag, value): &(u64, u64)| [*tag, *value])
            .flat_map(u64::to_le_bytes)
            .collect();
        rest.extend(b"no\0");
        rest.extend(needed);
        file(&[(PT_LOAD, 0, 0x5000, 0x1000), (PT_DYNAMIC, at, 0, 48)], &rest)
    }

    #[test]
    fn a_loader_or_a_needed_library_tells_the_c_library() {
        for (bytes, libc) in [
            (program(b"/lib64/ld-linux-x86-64.so.2\0"), Some(Libc::Glibc)),
            (program(b"/lib/ld-musl-x86_64.so.1\0"), Some(Libc::Musl)),
            (program(b"/opt/loader\0"), None),
            (library(b"libc.so.6\0"), Some(Libc::Glibc)),
            (library(b"libc.musl-x86_64.so.1\0"), Some(Libc::Musl)),
            (library(b"libc.so\0"), Some(Libc::Musl)),
            (library(b"libm.so.6\0"), None),
            (file(&[], b""), None),
        ] {
            let machine = ElfMachine { number: 183, is_usual: true };
            assert_eq!(read(&bytes), Some(Elf { machine, libc }));
        }
        for (kind, at, number, named) in [
            ([1, 1], 18, 3, "x86 with 32 bits"),
            ([1, 1], 18, 62, "x86-64 with pointers of 32 bits"),
            ([2, 2], 19, 22, "processor 22 of ELF"),
        ] {
            let mut other = program(b"/lib/ld-linux.so.2\0");
            other[18] = 0;
            other[4..6].copy_from_slice(&kind);
            other[at] = number;
            let other = read(&other).unwrap();
            assert_eq!((other.libc, &*other.machine.to_string()), (None, named));
        }
        assert_eq!(read(b"#!/bin/sh\n"), None);
        assert_eq!(Elf::of(Path::new("/dev/zero")), None);
    }

    #[test]
    fn this_very_program_is_known() {
        let own = Elf::of(&std::env::current_exe().unwrap()).unwrap();
        let expected = if cfg!(target_arch = "x86_64") { "x86-64" } else { "aarch64" };
        assert_eq!(own.machine.to_string(), expected);
    }

    /// Cut anywhere, and with any byte of it the highest and the lowest.
    #[test]
    fn damaged_files_tell_little_and_harm_nothing() {
        for whole in [program(b"/lib/ld-musl-x86_64.so.1\0"), library(b"libc.so.6\0")] {
            for end in 0..whole.len() {
                let cut = read(&whole[..end]);
                assert!(end >= HEADER || cut.is_none(), "{end}");
            }
            for at in 0..whole.len() {
                for byte in [0, 0xff] {
                    let mut damaged = whole.clone();
                    damaged[at] = byte;
                    let seen = read(&damaged);
                    assert!(at < MAGIC.len() || seen.is_some(), "{at}");
                }
            }
        }
        // Offsets and counts as large as can be.
        let mut endless = library(b"libc.so.6\0");
        endless[32..58].fill(0xff);
        assert_eq!(read(&endless).unwrap().libc, None);
    }
}
