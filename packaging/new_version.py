"""Gives the repository another version: in Cargo.toml, Cargo.lock and CHANGELOG.md.

packaging/new_version.py VERSION DATE
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNRELEASED = "## Unreleased\n"


def numbers(version):
    return [int(number) for number in version.split(".")]


def changelog(text, version, date):
    """What was not released becomes the section of this version."""
    if text.count(UNRELEASED) != 1:
        raise SystemExit("CHANGELOG.md: there must be one section Unreleased")
    before, after = text.split(UNRELEASED)
    if not after.partition("\n## ")[0].strip():
        raise SystemExit("CHANGELOG.md: nothing is in the section Unreleased")
    return f"{before}{UNRELEASED}\n## {version} ({date})\n{after}"


def manifest(text, old, version):
    """The version of the workspace, and of its crates where they need each other."""
    own = re.compile(rf'^((?:tyrion-[a-z]+ = {{ )?version = "){re.escape(old)}"', re.MULTILINE)
    return own.sub(rf'\g<1>{version}"', text)


def lock(text, old, version):
    """The crates of this repository have no source."""
    own = re.compile(rf'(name = "tyrion(?:-[a-z]+)?"\nversion = "){re.escape(old)}"\n(?!source)')
    return own.sub(rf'\g<1>{version}"\n', text)


def main():
    version, date = sys.argv[1:]
    files = {name: (ROOT / name).read_text() for name in ["Cargo.toml", "Cargo.lock", "CHANGELOG.md"]}
    old = re.search(r'^version = "(.*)"', files["Cargo.toml"], re.MULTILINE)[1]
    # The first release may have the version that is there.
    if numbers(version) < numbers(old):
        raise SystemExit(f"{version} is before {old}")
    changed = {
        "Cargo.toml": manifest(files["Cargo.toml"], old, version),
        "Cargo.lock": lock(files["Cargo.lock"], old, version),
        "CHANGELOG.md": changelog(files["CHANGELOG.md"], version, date),
    }
    for name, text in changed.items():
        (ROOT / name).write_text(text)


main()
