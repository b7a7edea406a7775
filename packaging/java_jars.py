"""The jars that are written in Java beside the API: compiled here, for Java 8.

packaging/java_jars.py OUT PLATFORM=LIBRARY...      tyrion-agent.jar, with these libraries

A platform is such as x86_64-glibc. Tests make one with the library that they have built;
packaging/maven.py makes that which is handed on.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

# Without a time of its own a jar that tests make has the oldest that there is.
os.environ.setdefault("SOURCE_DATE_EPOCH", "0")

from files import AGENT, ROOT, File, zip_of

JDK = ROOT / "target/jdks/17/bin"
JAVA = 52


def sources(name):
    """The folder of a jar's sources."""
    return ROOT / "java" / name / "src"


def compiled(name, class_path=()):
    """The classes of a jar, by their names in it."""
    files = sorted(str(path) for path in sources(name).rglob("*.java"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [JDK / "javac", "--release", "8", "-g:source,lines", "-encoding", "UTF-8",
             "-Xlint:all,-options,-processing", "-Werror", "-proc:none",
             "-cp", ":".join(map(str, class_path)), "-d", folder, *files],
            check=True,
        )
        found = sorted(pathlib.Path(folder).rglob("*.class"))
        classes = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    for path, content in classes.items():
        if int.from_bytes(content[6:8], "big") != JAVA:
            raise SystemExit(f"{path} is not for Java 8")
    return {path: File(content) for path, content in classes.items()}


def jar(manifest, files):
    """A jar of files, with the licences."""
    lines = {"Manifest-Version": "1.0", "Created-By": "Tyrion"} | manifest
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items()) + "\r\n"
    licences = {f"META-INF/{name}": File(ROOT / name) for name in ["LICENSE-APACHE", "LICENSE-MIT"]}
    return zip_of({"META-INF/MANIFEST.MF": File(head.encode())} | licences | files)


def agent_jar(libraries, extra=None):
    """tyrion-agent.jar: its classes, and libraries by platform."""
    files = compiled("agent")
    for platform, library in sorted(libraries.items()):
        files[f"tyrion/agent/lib/{platform}/{AGENT}"] = File(library)
    manifest = {
        "Automatic-Module-Name": "tyrion.agent",
        "Implementation-Title": "Tyrion's agent, and what loads it",
        "Premain-Class": "tyrion.agent.Tyrion",
        "Agent-Class": "tyrion.agent.Tyrion",
    }
    return jar(manifest, files | (extra or {}))


if __name__ == "__main__":
    given = dict(argument.split("=", 1) for argument in sys.argv[2:])
    pathlib.Path(sys.argv[1]).write_bytes(agent_jar(given))
