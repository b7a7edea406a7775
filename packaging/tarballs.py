"""Tarballs: unpacked anywhere they work, also over /usr/local. And the debug
information, apart."""

from files import (ARCHES, STAGE, File, completions, documents, manual, programs, tar, version,
                   write, zipped)


def tree(arch):
    """What an installation has, below a folder such as /usr/local."""
    files = programs(arch)
    shells = completions()
    files["share/man/man1/tyrion.1"] = File(manual())
    files["share/bash-completion/completions/tyrion"] = shells["bash"]
    files["share/zsh/site-functions/_tyrion"] = shells["zsh"]
    files["share/fish/vendor_completions.d/tyrion.fish"] = shells["fish"]
    files |= {f"share/doc/tyrion/{name}": file for name, file in documents(arch).items()}
    return files


def debug(arch):
    """Debuggers look for it beside a program, and in /usr/lib/debug below its path."""
    folder = STAGE / arch / "debug"
    return {str(path.relative_to(folder)): File(path) for path in sorted(folder.rglob("*.debug"))}


def make():
    for arch in ARCHES:
        name = f"tyrion-{version()}-{arch}-linux"
        # Files alone: a folder that is there, such as /usr/local/bin, stays as it is.
        write(f"{name}.tar.gz", zipped(tar(tree(arch), f"{name}/", {})))
        write(f"{name}-debug.tar.gz", zipped(tar(debug(arch), f"{name}-debug/", {})))
