"""Wheels, whose command is the program itself: `pip install` puts it where commands are,
and the agents into the lib folder beside."""

import base64
import hashlib

from files import (ARCHES, LICENCES, ROOT, SUMMARY, File, completions, documents, manual, programs,
                   version, write, zip_of)


def tags(arch):
    # tyrion itself is static; agents are chosen by the JVM.
    return f"manylinux_2_17_{arch}.manylinux2014_{arch}.musllinux_1_2_{arch}"


def metadata():
    head = f"""Metadata-Version: 2.1
Name: tyrion
Version: {version()}
Summary: {SUMMARY}
License: Apache-2.0 OR MIT
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Java
Classifier: Topic :: Software Development :: Debuggers
Requires-Python: >=3.7
Description-Content-Type: text/markdown

"""
    # Pictures of the repository are not in the wheel.
    lines = (ROOT / "README.md").read_text().splitlines(keepends=True)
    return (head + "".join(line for line in lines if not line.lstrip().startswith("!["))).encode()


def record(files, name):
    lines = []
    for path, file in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.content).digest()).rstrip(b"=")
        lines.append(f"{path},sha256={digest.decode()},{len(file.content)}\n")
    return "".join(lines + [f"{name},,\n"]).encode()


def make():
    for arch in ARCHES:
        base = f"tyrion-{version()}"
        info, data = f"{base}.dist-info", f"{base}.data"
        programs_of = programs(arch)
        files = {f"{data}/scripts/tyrion": programs_of.pop("bin/tyrion")}
        files |= {f"{data}/data/{name}": file for name, file in programs_of.items()}
        shells = completions()
        files[f"{data}/data/share/man/man1/tyrion.1"] = File(manual())
        files[f"{data}/data/share/bash-completion/completions/tyrion"] = shells["bash"]
        files[f"{data}/data/share/zsh/site-functions/_tyrion"] = shells["zsh"]
        files[f"{data}/data/share/fish/vendor_completions.d/tyrion.fish"] = shells["fish"]
        of = documents(arch)
        for name in [*LICENCES, "THIRD-PARTY-LICENSES"]:
            files[f"{info}/licenses/{name}"] = of[name]
        files[f"{info}/sboms/tyrion.cdx.json"] = of["sbom.cdx.json"]
        wheel = "Wheel-Version: 1.0\nGenerator: tyrion\nRoot-Is-Purelib: false\n"
        wheel += "".join(f"Tag: py3-none-{tag}\n" for tag in tags(arch).split("."))
        files[f"{info}/METADATA"] = File(metadata())
        files[f"{info}/WHEEL"] = File(wheel.encode())
        files[f"{info}/RECORD"] = File(record(files, f"{info}/RECORD"))
        write(f"{base}-py3-none-{tags(arch)}.whl", zip_of(files))
