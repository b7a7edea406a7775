"""The library by which programs name what they do, as Maven repositories have it."""

import hashlib
import pathlib
import subprocess
import tempfile

from files import ROOT, File, version, write, zip_of

GROUP = "io.github.tyrion-profiler"
ARTIFACT = "tyrion-api"
SOURCES = ROOT / "agent/java/src"
JDK = ROOT / "target/jdks/17/bin"


def pom():
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{GROUP}</groupId>
  <artifactId>{ARTIFACT}</artifactId>
  <version>{version()}</version>
  <name>Tyrion's API for programs</name>
  <description>Says what a program is doing, for Tyrion, a lock profiler for the JVM. Without Tyrion's agent it does nothing.</description>
  <url>https://github.com/tyrion-profiler/tyrion</url>
  <licenses>
    <license><name>Apache-2.0</name><url>https://www.apache.org/licenses/LICENSE-2.0.txt</url></license>
    <license><name>MIT</name><url>https://opensource.org/license/mit</url></license>
  </licenses>
  <developers><developer><name>The Tyrion contributors</name></developer></developers>
  <scm><url>https://github.com/tyrion-profiler/tyrion</url></scm>
</project>
""".encode()


def jar(folder):
    """A jar of the files below a folder, and the licences."""
    head = b"Manifest-Version: 1.0\r\nCreated-By: Tyrion\r\n\r\n"
    files = {"META-INF/MANIFEST.MF": File(head)}
    files |= {f"META-INF/{name}": File(ROOT / name) for name in ["LICENSE-APACHE", "LICENSE-MIT"]}
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return zip_of(files | {path.relative_to(folder).as_posix(): File(path) for path in found})


def javadoc(folder):
    sources = sorted(str(path) for path in SOURCES.rglob("*.java"))
    subprocess.run(
        [JDK / "javadoc", "-quiet", "-notimestamp", "-Xdoclint:all", "-Werror", "--release", "8",
         "-encoding", "UTF-8", "-charset", "UTF-8", "-windowtitle", "Tyrion's API for programs",
         "-d", folder, *sources],
        check=True,
    )


def make():
    if not (JDK / "javadoc").exists():
        raise SystemExit("no JDK 17 with javadoc; run tests/setup/jdks.sh 17")
    folder = f"maven/{GROUP.replace('.', '/')}/{ARTIFACT}"
    base = f"{folder}/{version()}/{ARTIFACT}-{version()}"
    with tempfile.TemporaryDirectory() as documentation:
        javadoc(documentation)
        artifacts = {
            ".jar": (ROOT / "agent/java/tyrion-api.jar").read_bytes(),
            "-sources.jar": jar(SOURCES),
            "-javadoc.jar": jar(pathlib.Path(documentation)),
            ".pom": pom(),
        }
    for end, content in artifacts.items():
        write(base + end, content)
        # What Maven's repositories want beside each file.
        for kind in ["md5", "sha1", "sha256"]:
            write(f"{base}{end}.{kind}", hashlib.new(kind, content).hexdigest().encode())
