"""The jars that are written in Java beside the API, compiled for Java 8, and that for Spring for 17.

packaging/java_jars.py OUT PLATFORM=LIBRARY...      tyrion-agent.jar, with these libraries
packaging/java_jars.py OUT jmh                      tyrion-jmh.jar
packaging/java_jars.py OUT junit                    tyrion-junit.jar
packaging/java_jars.py OUT otel                     tyrion-otel.jar
packaging/java_jars.py OUT spring                   tyrion-spring-boot-starter.jar

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
JAVA = 8
JMH = "org.openjdk.jmh:jmh-core:1.37"
JUNIT = ["org.junit.jupiter:junit-jupiter-api:5.11.4", "junit:junit:4.13.2"]
# What these are compiled with, which a jar's own pom would bring.
UNDER_JUNIT = ["org.junit.platform:junit-platform-commons:1.11.4", "org.opentest4j:opentest4j:1.3.0",
               "org.apiguardian:apiguardian-api:1.1.2", "org.hamcrest:hamcrest-core:1.3"]
# What all versions of Spring Boot from 3.0 on have.
SPRING = ["org.springframework.boot:spring-boot-autoconfigure:3.5.0",
          "org.springframework.boot:spring-boot-actuator-autoconfigure:3.5.0"]
UNDER_SPRING = ["org.springframework.boot:spring-boot:3.5.0",
                "org.springframework.boot:spring-boot-actuator:3.5.0",
                "org.springframework:spring-context:6.2.7",
                "org.springframework:spring-beans:6.2.7",
                "org.springframework:spring-core:6.2.7",
                "io.micrometer:micrometer-core:1.15.0"]
SPRING_JAVA = 17
OTEL = [f"io.opentelemetry:opentelemetry-{name}:1.51.0" for name in [
    "api", "context", "sdk-common", "sdk-trace", "sdk-extension-autoconfigure-spi"]]
API = ROOT / "agent/java/tyrion-api.jar"


def sources(name):
    """The folder of a jar's sources."""
    return ROOT / "java" / name / "src"


def library(coordinates):
    """A jar that is compiled against, from Maven's repository."""
    path = ROOT / "target/java-libraries" / f"{coordinates.replace(':', '-')}.jar"
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([ROOT / "tests/setup/maven.sh", path, coordinates], check=True)
    return path


def compiled(name, class_path=(), java=JAVA):
    """The classes of a jar, by their names in it. They may use the agent's."""
    files = sorted(str(path) for path in sources(name).rglob("*.java"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [JDK / "javac", "--release", str(java), "-g:source,lines", "-encoding", "UTF-8",
             "-parameters",
             "-Xlint:all,-options,-processing", "-Werror", "-proc:none", "-implicit:none",
             "-sourcepath", sources("agent"),
             "-cp", ":".join(map(str, class_path)), "-d", folder, *files],
            check=True,
        )
        found = sorted(pathlib.Path(folder).rglob("*.class"))
        classes = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    for path, content in classes.items():
        if int.from_bytes(content[6:8], "big") != 44 + java:
            raise SystemExit(f"{path} is not for Java {java}")
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


def junit_jar():
    """tyrion-junit.jar."""
    files = compiled("junit", [API, *map(library, JUNIT + UNDER_JUNIT)])
    manifest = {
        "Automatic-Module-Name": "tyrion.junit",
        "Implementation-Title": "Tyrion's extension for JUnit",
    }
    return jar(manifest, files)


def spring_jar():
    """tyrion-spring-boot-starter.jar."""
    files = compiled("spring", [API, *map(library, SPRING + UNDER_SPRING)], SPRING_JAVA)
    manifest = {
        "Automatic-Module-Name": "tyrion.spring",
        "Implementation-Title": "Tyrion's starter for Spring Boot",
    }
    return jar(manifest, files | resources("spring"))


def otel_jar():
    """tyrion-otel.jar."""
    files = compiled("otel", map(library, OTEL))
    manifest = {
        "Automatic-Module-Name": "tyrion.otel",
        "Implementation-Title": "Tyrion's extension for OpenTelemetry",
    }
    return jar(manifest, files | resources("otel"))


# By the names of their sources' folders.
OTHERS = {"jmh": jmh_jar, "junit": junit_jar, "otel": otel_jar, "spring": spring_jar}

if __name__ == "__main__":
    out, *what = sys.argv[1:]
    make = OTHERS.get(what[0]) if len(what) == 1 else None
    made = make() if make else agent_jar(dict(given.split("=", 1) for given in what))
    pathlib.Path(out).write_bytes(made)
