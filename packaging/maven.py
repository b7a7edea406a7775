"""What Java programs get of Tyrion, as Maven repositories have it: the library by which they
name what they do, and the agent in a jar."""

import hashlib
import pathlib
import subprocess
import tempfile

import java_jars
from files import AGENT, ARCHES, LIBCS, ROOT, STAGE, File, version, write
from java_jars import JDK, jar

# Whoever publishes claims it; no other file has it but packaging/maven-check and documents.
GROUP = "io.github.tyrion-profiler"
URL = "https://github.com/tyrion-profiler/tyrion"


class Artifact:
    """One of them: what it is, where its sources are, and its jar."""

    def __init__(self, name, title, description, sources, content, uses=(), compiled_with=(),
                 under=(), java=java_jars.JAVA):
        self.name, self.title, self.description = name, title, description
        self.sources, self.content = sources, content
        # Artifacts of ours that come with it, and libraries that whoever uses it has.
        self.uses, self.compiled_with = uses, compiled_with
        # What those bring, and for which Java it is.
        self.under, self.java = under, java


def agent_jar():
    """With the agent for all platforms, and the licences of what that is compiled from."""
    platforms = [(arch, libc) for arch in ARCHES for libc in LIBCS]
    libraries = {f"{arch}-{libc}": STAGE / arch / "lib/tyrion" / libc / AGENT
                 for arch, libc in platforms}
    extra = {"META-INF/THIRD-PARTY-LICENSES": File(STAGE / "THIRD-PARTY-LICENSES"),
             "META-INF/NOTICE": File(ROOT / "NOTICE")}
    return java_jars.agent_jar(libraries, extra)


ARTIFACTS = [
    Artifact(
        "tyrion-api", "Tyrion's API for programs",
        "Says what a program is doing, for Tyrion, a lock profiler for the JVM. Without Tyrion's agent it does nothing.",
        ROOT / "agent/java/src", lambda: (ROOT / "agent/java/tyrion-api.jar").read_bytes()),
    Artifact(
        "tyrion-agent", "Tyrion's agent in a jar",
        "The agent of Tyrion, a lock profiler for the JVM, for Linux on x86-64 and aarch64, and what loads it.",
        java_jars.sources("agent"), agent_jar),
    Artifact(
        "tyrion-jmh", "Tyrion's profiler for JMH",
        "Tells what locks cost a benchmark of JMH, by Tyrion, a lock profiler for the JVM.",
        java_jars.sources("jmh"), java_jars.jmh_jar, ["tyrion-agent"], [java_jars.JMH]),
    Artifact(
        "tyrion-junit", "Tyrion's extension for JUnit",
        "Tests fail when threads wait for locks, or could deadlock, by Tyrion, a lock profiler for the JVM.",
        java_jars.sources("junit"), java_jars.junit_jar, ["tyrion-agent", "tyrion-api"],
        java_jars.JUNIT, java_jars.UNDER_JUNIT),
    Artifact(
        "tyrion-spring-boot-starter", "Tyrion's starter for Spring Boot",
        "Meters of locks, and an actuator endpoint, by Tyrion, a lock profiler for the JVM.",
        java_jars.sources("spring"), java_jars.spring_jar, ["tyrion-agent", "tyrion-api"],
        java_jars.SPRING, java_jars.UNDER_SPRING, java_jars.SPRING_JAVA),
    Artifact(
        "tyrion-otel", "Tyrion's extension for OpenTelemetry",
        "Tells Tyrion, a lock profiler for the JVM, in which spans of OpenTelemetry threads wait for locks.",
        java_jars.sources("otel"), java_jars.otel_jar, (), java_jars.OTEL),
]


def dependencies(artifact):
    """Those of its pom."""
    ours = [(GROUP, name, version(), "compile") for name in artifact.uses]
    others = [(*coordinates.split(":"), "provided") for coordinates in artifact.compiled_with]
    lines = [
        f"    <dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{of}</version><scope>{scope}</scope></dependency>\n"
        for group, name, of, scope in ours + others
    ]
    return f"  <dependencies>\n{''.join(lines)}  </dependencies>\n" if lines else ""


def pom(artifact):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{GROUP}</groupId>
  <artifactId>{artifact.name}</artifactId>
  <version>{version()}</version>
  <name>{artifact.title}</name>
  <description>{artifact.description}</description>
  <url>{URL}</url>
  <licenses>
    <license><name>Apache-2.0</name><url>https://www.apache.org/licenses/LICENSE-2.0.txt</url></license>
    <license><name>MIT</name><url>https://opensource.org/license/mit</url></license>
  </licenses>
  <developers><developer><name>The Tyrion contributors</name></developer></developers>
  <scm><url>{URL}</url></scm>
{dependencies(artifact)}</project>
""".encode()


def files_of(folder):
    """The files below a folder, in a jar."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return jar({}, {path.relative_to(folder).as_posix(): File(path) for path in found})


def javadoc(artifact, folder):
    sources = sorted(str(path) for path in artifact.sources.rglob("*.java"))
    others = [*artifact.compiled_with, *artifact.under]
    libraries = [java_jars.API, *map(java_jars.library, others)]
    subprocess.run(
        [JDK / "javadoc", "-quiet", "-notimestamp", "-Xdoclint:all", "-Werror",
         "--release", str(artifact.java), "-encoding", "UTF-8", "-charset", "UTF-8", "-windowtitle", artifact.title,
         "-sourcepath", java_jars.sources("agent"), "-cp", ":".join(map(str, libraries)),
         "-d", folder, *sources],
        check=True,
    )


def make():
    if not (JDK / "javadoc").exists():
        raise SystemExit("no JDK 17 with javadoc; run tests/setup/jdks.sh 17")
    for artifact in ARTIFACTS:
        folder = f"maven/{GROUP.replace('.', '/')}/{artifact.name}"
        base = f"{folder}/{version()}/{artifact.name}-{version()}"
        with tempfile.TemporaryDirectory() as documentation:
            javadoc(artifact, documentation)
            contents = {
                ".jar": artifact.content(),
                "-sources.jar": files_of(artifact.sources),
                "-javadoc.jar": files_of(pathlib.Path(documentation)),
                ".pom": pom(artifact),
            }
        for end, content in contents.items():
            write(base + end, content)
            # What Maven's repositories want beside each file.
            for kind in ["md5", "sha1", "sha256"]:
                write(f"{base}{end}.{kind}", hashlib.new(kind, content).hexdigest().encode())
