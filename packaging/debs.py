"""Packages of Debian and its kin. They depend on nothing and run nothing while they are
installed."""

import hashlib

from files import (LICENCES, SUMMARY, File, ar, completions, documents, manual, programs, tar,
                   version, write, zipped)

ARCHES = {"x86_64": "amd64", "aarch64": "arm64"}


def copyright():
    """Says where the texts are: Debian's machines cannot read those of so many parts."""
    head = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tyrion

Files: *
Copyright: the Tyrion contributors
License: Apache-2.0 or MIT
 The texts are in LICENSE-APACHE and LICENSE-MIT in this folder. tyrion and its agents
 contain code of others: THIRD-PARTY-LICENSES has the licences of all of it, and NOTICE
 says what some of them ask for.
"""
    return File(head.encode())


def tree(arch):
    files = {f"usr/{name}": file for name, file in programs(arch).items()}
    shells = completions()
    files["usr/share/man/man1/tyrion.1.gz"] = File(zipped(manual()))
    files["usr/share/bash-completion/completions/tyrion"] = shells["bash"]
    files["usr/share/zsh/vendor-completions/_tyrion"] = shells["zsh"]
    files["usr/share/fish/vendor_completions.d/tyrion.fish"] = shells["fish"]
    of = documents(arch)
    kept = {"copyright": copyright(), "README.md": of["README.md"], "sbom.cdx.json": of["sbom.cdx.json"]}
    kept["changelog.gz"] = File(zipped(of["CHANGELOG.md"].content))
    kept["THIRD-PARTY-LICENSES.gz"] = File(zipped(of["THIRD-PARTY-LICENSES"].content))
    kept |= {name: of[name] for name in LICENCES}
    return files | {f"usr/share/doc/tyrion/{name}": file for name, file in kept.items()}


def control(arch, files):
    kilobytes = sum((len(file.content) + 1023) // 1024 for file in files.values())
    fields = {
        "Package": "tyrion",
        "Version": version(),
        "Architecture": ARCHES[arch],
        "Maintainer": "The Tyrion contributors <maintainers@users.noreply.example>",
        "Installed-Size": kilobytes,
        "Section": "java",
        "Priority": "optional",
        "Description": SUMMARY
        + "\n Records a JVM with an agent, and turns what was recorded into reports, flame"
        + "\n graphs, and files for KCacheGrind, pprof, Perfetto and others. It has the agents"
        + "\n for JVMs on glibc 2.17 or newer and on musl.",
    }
    return "".join(f"{key}: {value}\n" for key, value in fields.items()).encode()


def make():
    for arch, debian in ARCHES.items():
        files = tree(arch)
        sums = "".join(f"{hashlib.md5(files[name].content).hexdigest()}  {name}\n" for name in sorted(files))
        info = {"control": File(control(arch, files)), "md5sums": File(sums.encode())}
        members = [
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", zipped(tar(info, "./"))),
            ("data.tar.gz", zipped(tar(files, "./"))),
        ]
        write(f"tyrion_{version()}_{debian}.deb", ar(members))
