#!/usr/bin/env python3
"""Has programs run with a C library of their own.

  own_libc.py FOLDER LIBRARIES    all programs and libraries below FOLDER

Programs are started by the loader in LIBRARIES, an absolute path, and look for all
libraries there first; so do the libraries that they load. Nothing but their files
changes: the kernel runs the program itself, with no variable set that its children
would inherit.

Only what is needed of ELF is known here: 64 bits, little-endian.
"""

import struct
import sys
from pathlib import Path

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 5, 15, 29
# Type, flags, offset, address, physical address, size in the file and in memory, alignment.
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
DYNAMIC = struct.Struct("<QQ")


class Elf:
    """A file of ELF, in memory."""

    def __init__(self, data):
        self.data = bytearray(data)
        (self.table,) = struct.unpack_from("<Q", data, 32)
        (self.count,) = struct.unpack_from("<H", data, 56)

    def headers(self):
        """The program headers: where each is, and what it has."""
        for nth in range(self.count):
            at = self.table + nth * PROGRAM_HEADER.size
            yield at, list(PROGRAM_HEADER.unpack_from(self.data, at))

    def header(self, kind):
        """The first program header of a kind, or None."""
        return next((pair for pair in self.headers() if pair[1][0] == kind), None)

    def entries(self):
        """The entries of the dynamic section, up to the last one that is none."""
        _, dynamic = self.header(PT_DYNAMIC)
        for at in range(dynamic[2], dynamic[2] + dynamic[5], DYNAMIC.size):
            yield at, *DYNAMIC.unpack_from(self.data, at)

    def entry(self, tag):
        """The first entry with a tag, or None."""
        return next((entry for entry in self.entries() if entry[1] == tag), None)

    def address(self, offset):
        """Where a place of the file is in memory."""
        for _, (kind, _, begin, address, _, size, _, _) in self.headers():
            if kind == PT_LOAD and begin <= offset < begin + size:
                return address + offset - begin
        raise SystemExit("own_libc.py: a place that is not in memory")

    def add(self, text):
        """Adds a text behind a segment, where the file has room up to the next one, which
        is mapped with it: where the text is in the file."""
        loads = sorted((pair for pair in self.headers() if pair[1][0] == PT_LOAD),
                       key=lambda pair: pair[1][2])
        for (at, load), (_, following) in zip(loads, loads[1:]):
            end = load[2] + load[5]
            if load[5] == load[6] and following[2] - end > len(text):
                self.data[end:end + len(text) + 1] = text + b"\0"
                load[5] = load[6] = load[5] + len(text) + 1
                PROGRAM_HEADER.pack_into(self.data, at, *load)
                return end
        raise SystemExit("own_libc.py: no room for a text")

    def text(self, offset):
        """A text of the dynamic section."""
        strings = self.entry(DT_STRTAB)[2]
        for _, (kind, _, begin, address, _, size, _, _) in self.headers():
            if kind == PT_LOAD and address <= strings < address + size:
                at = strings - address + begin + offset
                return bytes(self.data[at:self.data.index(0, at)])
        raise SystemExit("own_libc.py: no texts")

    def search_through(self):
        """Has a library look where the program does: a RUNPATH would keep it from that."""
        entry = self.entry(DT_RUNPATH)
        if entry:
            DYNAMIC.pack_into(self.data, entry[0], DT_RPATH, entry[2])

    def run_with(self, libraries):
        """Has a program started by the loader in a folder, and search that first."""
        path = self.entry(DT_RUNPATH) or self.entry(DT_RPATH)
        searched = [libraries] + ([self.text(path[2])] if path else [])
        at = path[0] if path else self.entry(DT_NULL)[0]
        if not path and DYNAMIC.unpack_from(self.data, at + DYNAMIC.size)[0] != DT_NULL:
            raise SystemExit("own_libc.py: no room for an entry")
        strings = self.entry(DT_STRTAB)[2]
        offset = self.address(self.add(b":".join(searched))) - strings
        # From the begin of the texts, to either side.
        DYNAMIC.pack_into(self.data, at, DT_RPATH, offset % 2**64)
        interpreter, header = self.header(PT_INTERP)
        begin, size = header[2], header[5]
        name = bytes(self.data[begin:begin + size - 1]).rsplit(b"/", 1)[-1]
        loader = libraries + b"/" + name
        header[2] = self.add(loader)
        header[3] = header[4] = self.address(header[2])
        header[5] = header[6] = len(loader) + 1
        PROGRAM_HEADER.pack_into(self.data, interpreter, *header)


def main():
    folder, libraries = Path(sys.argv[1]), sys.argv[2].encode()
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":
            continue
        elf = Elf(data)
        if elf.header(PT_DYNAMIC) is None:
            continue
        if elf.header(PT_INTERP):
            elf.run_with(libraries)
        else:
            elf.search_through()
        path.write_bytes(elf.data)


main()
