"""Checks what is handed on, file by file: what it needs, what it offers, how large it is.

packaging/check_binaries.py target/dist-stage
"""

import pathlib
import re
import subprocess
import sys

from files import AGENT, ARCHES, LIBCS, ROOT, WINDOWS

OLDEST_GLIBC = (2, 17)
LARGEST = {"agent": 2_000_000, "tyrion": 16_000_000}
# What every Windows has since 10.
OF_WINDOWS = {"advapi32", "bcrypt", "bcryptprimitives", "kernel32", "ntdll", "user32", "userenv", "ws2_32"}
MACHINES = {"x86_64": "X86-64", "aarch64": "AArch64"}
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}
OF_GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}


def readelf(*words):
    command = ["readelf", "--wide", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(file):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", file)))


def exported(file):
    symbols = (line.split() for line in readelf("--dyn-syms", file).splitlines())
    return {words[7] for words in symbols if len(words) == 8 and words[4] == "GLOBAL" and words[6] != "UND"}


def natives():
    """What JVMs find by its name."""
    sources = (path.read_text() for path in (ROOT / "agent/src").rglob("*.rs"))
    return {name for text in sources for name in re.findall(r'export_name = "(\w+)"', text)}


def require(holds, what):
    if not holds:
        raise SystemExit(f"check_binaries.py: {what}")


def check_agent(file, arch, libc):
    require(MACHINES[arch] in readelf("-h", file), f"{file}: not for {arch}")
    needs = needed(file)
    if libc == "musl":
        require(needs == {"libc.so"}, f"{file} needs {needs}")
        newest = None
    else:
        require(needs <= OF_GLIBC | {LOADERS[arch]}, f"{file} needs {needs}")
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", readelf("-V", file))}
        require(versions, f"{file}: no versions: this test tells nothing")
        newest = max(versions)
        require(newest <= OLDEST_GLIBC, f"{file} needs glibc {newest}")
    offers = exported(file)
    wanted = natives() | {"Agent_OnLoad", "Agent_OnAttach"}
    require(len(wanted) > 10, f"only {wanted}: this test tells nothing")
    require(wanted <= offers, f"{file} lacks {wanted - offers}")
    require(offers == wanted, f"{file} also offers {offers - wanted}")
    told = f", glibc {newest[0]}.{newest[1]}" if newest else ""
    return f"needs {' '.join(sorted(needs))}{told}; offers {len(offers)} symbols"


def check_tyrion(file, arch):
    require(MACHINES[arch] in readelf("-h", file), f"{file}: not for {arch}")
    require(not needed(file), f"{file} needs {needed(file)}")
    require("INTERP" not in readelf("-l", file), f"{file} needs a loader")
    return "needs nothing"


def check_windows(file):
    command = ["objdump", "--private-headers", file]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    require("pei-x86-64" in told, f"{file}: not for Windows")
    needs = {name.lower() for name in re.findall(r"DLL Name: (.*)\.dll", told, re.IGNORECASE)}
    others = {name for name in needs - OF_WINDOWS if not name.startswith("api-ms-win-")}
    require(needs and not others, f"{file} needs {others}")
    return "needs nothing but Windows"


def main():
    stage = pathlib.Path(sys.argv[1])
    for arch in ARCHES:
        of = stage / arch
        files = [(of / "bin/tyrion", "tyrion", check_tyrion(of / "bin/tyrion", arch))]
        for libc in LIBCS:
            agent = of / "lib/tyrion" / libc / AGENT
            files.append((agent, "agent", check_agent(agent, arch, libc)))
        if arch == "x86_64":
            exe = stage / WINDOWS / "tyrion.exe"
            files.append((exe, "tyrion", check_windows(exe)))
        for file, kind, told in files:
            size = file.stat().st_size
            require(size <= LARGEST[kind], f"{file} has {size} bytes, and may have {LARGEST[kind]}")
            text = file.read_bytes()
            require(str(ROOT).encode() not in text, f"{file} has the path of this folder in it")
            print(f"ok  {file.relative_to(stage)}: {size} bytes, {told}")


main()
