"""Archives that are the same bytes whenever and wherever they are made: entries in
order, of root, with the time of the commit; and what goes into every package."""

import gzip
import hashlib
import io
import os
import pathlib
import subprocess
import tarfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAGE = ROOT / "target/dist-stage"
DIST = ROOT / "dist"
ARCHES = ["x86_64", "aarch64"]
# What stands for the one without an agent.
WINDOWS = "x86_64-windows"
LIBCS = ["glibc", "musl"]
AGENT = "libtyrion_agent.so"
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])

SUMMARY = "A lock profiler for the JVM: who waits for which lock, how long, and where"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"]


def version():
    for line in (ROOT / "Cargo.toml").read_text().splitlines():
        if line.startswith("version = "):
            return line.split('"')[1]
    raise SystemExit("Cargo.toml has no version")


class File:
    """A file of a package: its bytes, and whether it is run."""

    def __init__(self, content, is_run=False):
        self.content = content if isinstance(content, bytes) else pathlib.Path(content).read_bytes()
        self.mode = 0o755 if is_run else 0o644


def zipped(content):
    """As gzip -n."""
    out = io.BytesIO()
    # No name, no time.
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as file:
        file.write(content)
    return out.getvalue()


def folders_of(names):
    """The folders that a list of files needs, outermost first."""
    found = {str(parent) for name in names for parent in pathlib.PurePosixPath(name).parents}
    return sorted(found - {"."})


def tar(files, prefix="", folders=None):
    """An archive of files by name, after the folders that they need, or these: names and
    modes."""
    if folders is None:
        folders = {folder: 0o755 for folder in folders_of(files)}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for folder, mode in sorted(folders.items()):
            entry = tarfile.TarInfo(prefix + folder)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, mode, EPOCH
            entry.uname = entry.gname = "root"
            archive.addfile(entry)
        for name in sorted(files):
            entry = tarfile.TarInfo(prefix + name)
            entry.size, entry.mode, entry.mtime = len(files[name].content), files[name].mode, EPOCH
            entry.uname = entry.gname = "root"
            archive.addfile(entry, io.BytesIO(files[name].content))
    return out.getvalue()


def ar(members):
    """An archive as `ar` makes it, which a .deb is."""
    out = b"!<arch>\n"
    for name, content in members:
        out += f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def zip_of(files):
    """A zip, and so a jar or a wheel, in the order of `files`."""
    out = io.BytesIO()
    # Zip knows no time before 1980, and none of odd seconds.
    when = time.gmtime(max(EPOCH, 315532800))[:6]
    with zipfile.ZipFile(out, "w") as archive:
        for name, file in files.items():
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr, entry.create_system = (0o100000 | file.mode) << 16, 3
            archive.writestr(entry, file.content, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def write(name, content):
    """A file that is handed on."""
    path = DIST / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"{len(content):>10}  {name}")


def said(*words):
    """What tyrion prints: all architectures say the same."""
    tyrion = STAGE / "x86_64/bin/tyrion"
    return subprocess.run([tyrion, *words], check=True, stdout=subprocess.PIPE).stdout


def programs(arch):
    """tyrion and its agents, as they lie to each other."""
    of = STAGE / arch
    files = {"bin/tyrion": File(of / "bin/tyrion", True)}
    for libc in LIBCS:
        name = f"lib/tyrion/{libc}/{AGENT}"
        files[name] = File(of / name)
    return files


def documents(arch):
    """What tells of tyrion: names without their folder."""
    files = {name: File(ROOT / name) for name in [*LICENCES, "README.md", "CHANGELOG.md"]}
    files["THIRD-PARTY-LICENSES"] = File(STAGE / "THIRD-PARTY-LICENSES")
    files["sbom.cdx.json"] = File(STAGE / f"tyrion-{arch}.cdx.json")
    return files


def manual():
    return said("man")


def completions():
    return {shell: File(said("completions", shell)) for shell in ["bash", "zsh", "fish"]}
