"""The jars that are written in Java beside the API, compiled for Java 8.

packaging/java_jars.py OUT PLATFORM=LIBRARY...      tyrion-agent.jar, with these libraries
packaging/java_jars.py OUT jmh|otel                 tyrion-jmh.jar, tyrion-otel.jar

A platform is such as x86_64-glibc. Tests make jars with the library that they have built;
packaging/maven.py makes those which are handed on.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

# Without a time of its own a jar that tests make has the oldest that there is.
os.environ.setdefault("SOURCE_DATE_EPOCH", "0")

from files import AGENT, ROOT, File, zip_of

# What is handed on is compiled by that of 17; tests make do with any that the set-up has found.
JDK = ROOT / "target/jdks/17/bin"
if not (JDK / "javac").exists():
    JDK = (ROOT / "target/jdks/javac").resolve().parent
JAVA = 52
JMH = "org.openjdk.jmh:jmh-core:1.37"
OTEL = [f"io.opentelemetry:opentelemetry-{name}:1.51.0" for name in [
    "api", "context", "sdk-common", "sdk-trace", "sdk-extension-autoconfigure-spi"]]


def sources(name):
    """The folder of a jar's sources."""
    return ROOT / "java" / name / "src"


def library(coordinates):
    """A jar that is compiled against, from Maven's repository."""
    path = ROOT / "target/java-libraries" / f"{coordinates.replace(':', '-')}.jar"
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([ROOT / "tests/setup/maven.sh", path, coordinates], check=True)
    return path


def compiled(name, class_path=()):
    """The classes of a jar, by their names in it. They may use the agent's."""
    files = sorted(str(path) for path in sources(name).rglob("*.java"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [JDK / "javac", "--release", "8", "-g:source,lines", "-encoding", "UTF-8",
             "-Xlint:all,-options,-processing", "-Werror", "-proc:none", "-implicit:none",
             "-sourcepath", sources("agent"),
             "-cp", ":".join(map(str, class_path)), "-d", folder, *files],
            check=True,
        )
        found = sorted(pathlib.Path(folder).rglob("*.class"))
        classes = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    for path, content in classes.items():
        if int.from_bytes(content[6:8], "big") != JAVA:
            raise SystemExit(f"{path} is not for Java 8")
    return {path: File(content) for path, content in classes.items()}


def resources(name):
    """What else is in a jar, by names in it."""
    folder = ROOT / "java" / name / "resources"
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): File(path) for path in found}


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


def jmh_jar():
    """tyrion-jmh.jar. It has a class without a package, and so is no module."""
    files = compiled("jmh", [library(JMH)]) | resources("jmh")
    return jar({"Implementation-Title": "Tyrion's profiler for JMH"}, files)


def otel_jar():
    """tyrion-otel.jar."""
    files = compiled("otel", map(library, OTEL)) | resources("otel")
    manifest = {
        "Automatic-Module-Name": "tyrion.otel",
        "Implementation-Title": "Tyrion's extension for OpenTelemetry",
    }
    return jar(manifest, files)


# By what they are made for.
OTHERS = {"jmh": jmh_jar, "otel": otel_jar}

if __name__ == "__main__":
    out, *what = sys.argv[1:]
    other = OTHERS.get(what[0])
    made = other() if other else agent_jar(dict(given.split("=", 1) for given in what))
    pathlib.Path(out).write_bytes(made)
