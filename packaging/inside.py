"""Writes what is inside of what is handed on: an SBOM for each architecture, and one for
Windows (CycloneDX, target/dist-stage/tyrion-ARCH.cdx.json), and the licences with their texts
(target/dist-stage/THIRD-PARTY-LICENSES).

packaging/inside.py TOOLS      where packaging/tools.sh has put what it got
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

from files import ARCHES, EPOCH, ROOT, STAGE, WINDOWS, version

TOOLS = pathlib.Path(sys.argv[1])
CARGO = os.environ.get("CARGO", "cargo")
# What is made for each, and for which target of Rust's.
OWN = {arch: ["tyrion", "tyrion-agent"] for arch in ARCHES} | {WINDOWS: ["tyrion"]}
TARGETS = {arch: f"{arch}-unknown-linux-musl" for arch in ARCHES}
TARGETS[WINDOWS] = "x86_64-pc-windows-gnu"
# What crates call the files with their terms.
TERMS = re.compile(r"^(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def metadata(arch):
    """What Cargo knows of all packages on a target."""
    command = [CARGO, "metadata", "--locked", "--format-version", "1"]
    command += ["--filter-platform", TARGETS[arch]]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def inside(known, own):
    """The packages that are compiled into these of ours, and for each those that
    it needs: not what tests and builds need, nor what runs while compiling."""
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    runs_here = {
        id for id, package in packages.items()
        if any("proc-macro" in target["kind"] for target in package["targets"])
    }
    open_ids = [id for id, package in packages.items() if package["name"] in own and package["source"] is None]
    found = {}
    while open_ids:
        id = open_ids.pop()
        if id in found:
            continue
        found[id] = [
            dep["pkg"] for dep in nodes[id]["deps"]
            if any(kind["kind"] is None for kind in dep["dep_kinds"]) and dep["pkg"] not in runs_here
        ]
        open_ids += found[id]
    return {id: (packages[id], needed) for id, needed in found.items()}


def compilers(target):
    """What the compilers put into every program: name, version, licence, file of terms."""
    documents = TOOLS / "root/usr/share/doc"
    unpacked = (TOOLS / "root/packages").read_text().split()
    of_rust = next(name for name in unpacked if name.startswith("libstd-rust-web-dev_"))
    rust = of_rust.split("_")[1].split("+")[0]
    wheel = next((TOOLS / "py").glob("ziglang-*.dist-info")).name
    zig = wheel.removeprefix("ziglang-").removesuffix(".dist-info")
    library = TOOLS / "py/ziglang/lib"
    libc = ("musl", f"of zig {zig}", "MIT", library / "libc/musl/COPYRIGHT")
    if target == TARGETS[WINDOWS]:
        terms = library / "libc/mingw/COPYING"
        libc = ("mingw-w64", f"of zig {zig}", "ZPL-2.1", terms)
    return [
        ("rust-std", rust, "Apache-2.0 OR MIT", documents / "libstd-rust-web-dev/copyright"),
        libc,
        ("libunwind", f"of zig {zig}", "Apache-2.0 WITH LLVM-exception", None),
        ("zig", zig, "MIT", TOOLS / "py/ziglang/LICENSE"),
    ]


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package):
    made = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
        "purl": purl(package),
    }
    if package.get("repository"):
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def sbom(arch, found):
    others = [package for package, _ in found.values() if package["name"] != "tyrion"]
    components = [component(package) for package in sorted(others, key=lambda it: (it["name"], it["version"]))]
    for name, number, licence, _ in compilers(TARGETS[arch]):
        components.append({
            "type": "library", "bom-ref": name, "name": name, "version": number,
            "licenses": [{"expression": licence}],
        })
    needs = [
        {"ref": purl(package), "dependsOn": sorted(purl(found[id][0]) for id in needed)}
        for package, needed in found.values()
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)),
            "component": {
                "type": "application", "bom-ref": f"pkg:cargo/tyrion@{version()}",
                "name": "tyrion", "version": version(),
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
                "properties": [{"name": "architecture", "value": arch}],
            },
        },
        "components": components,
        "dependencies": sorted(needs, key=lambda need: need["ref"]),
    }


def terms_in(folder):
    """The texts in a crate, by the names of their files."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and TERMS.match(path.name)]
    return [path for path in found if path.suffix not in {".rs", ".py", ".sh", ".toml"}]


def canonical(texts):
    """For crates that name licences but carry no text: that of another crate."""
    known = {"Apache-2.0": (ROOT / "LICENSE-APACHE").read_text(errors="replace")}
    known["MIT"] = (ROOT / "LICENSE-MIT").read_text(errors="replace").partition("\n\n")[2]
    for path, text in texts:
        if "Zlib" in text or "zlib" in path.name.lower():
            known.setdefault("Zlib", text)
        if "Community Data License Agreement" in text:
            known.setdefault("CDLA-Permissive-2.0", text)
        if "LLVM Exceptions to the Apache" in text:
            known.setdefault("Apache-2.0 WITH LLVM-exception", text)
    return known


def licences(packages):
    """One document: each part with its licence, and then each text, once."""
    texts = []
    for package in packages:
        folder = pathlib.Path(package["manifest_path"]).parent
        package["terms"] = terms_in(folder)
        texts += [(path, path.read_text(errors="replace")) for path in package["terms"]]
    known = canonical(texts)
    numbers, parts = {}, []

    def number(text):
        return numbers.setdefault("\n".join(line.rstrip() for line in text.strip().splitlines()), len(numbers) + 1)

    for package in packages:
        found = [path.read_text(errors="replace") for path in package["terms"]]
        licence = package["license"].replace("/", " OR ")
        if not found:
            # Of several to choose from, one.
            chosen = next((each for each in re.split(r" OR |[()]", licence) if each in known), None)
            if chosen is None:
                raise SystemExit(f"no text of {licence} for {package['name']}")
            found = [known[chosen]]
        parts.append((f"{package['name']} {package['version']}", licence, sorted({number(text) for text in found})))
    every = dict.fromkeys(part for target in TARGETS.values() for part in compilers(target))
    for name, release, licence, path in every:
        text = path.read_text(errors="replace") if path else known[licence]
        parts.append((f"{name} {release}", licence, [number(text)]))
    lines = ["What tyrion and its agents contain of others: each part, its licence, and the numbers of",
             "the texts that it comes with, which follow.", ""]
    lines += [f"{name}: {licence} ({', '.join(map(str, at))})" for name, licence, at in parts]
    for text, at in numbers.items():
        lines += ["", "=" * 78, f"({at})", "", text]
    return "\n".join(lines) + "\n"


def main():
    every = {}
    for arch in TARGETS:
        found = inside(metadata(arch), OWN[arch])
        for package, _ in found.values():
            every[purl(package)] = package
        text = json.dumps(sbom(arch, found), indent=1, sort_keys=True)
        (STAGE / f"tyrion-{arch}.cdx.json").write_text(text + "\n")
    others = [every[key] for key in sorted(every) if every[key]["source"] is not None]
    (STAGE / "THIRD-PARTY-LICENSES").write_text(licences(others))
    print(f"{len(others)} crates of others, {len(every) - len(others)} of this repository")


main()
