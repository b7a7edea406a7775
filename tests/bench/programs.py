"""The real programs that are measured: databases, a broker of messages, a search engine and a web
server, all in memory."""

import peers
import project
from processes import Failed

URLS = {
    "H2": "jdbc:h2:mem:bank",
    "HSQLDB": "jdbc:hsqldb:mem:bank",
    "Derby": "jdbc:derby:memory:bank;create=true",
}
# The databases that Debian has. Its HSQLDB needs Java 17.
DEBIANS = tuple(project.DATABASE_JARS)
# On Maven Central.
H2_VERSION = "2.2.224"
BROKER, INDEXER, SHOP = "ActiveMQ", "Lucene", "Tomcat"
# Those of tests/verdicts, and what follows their class path. With little room for messages the
# broker soon does what it will go on doing: with its usual gigabyte producers are ahead for most of
# a minute, and all of that is copied.
OF_VERDICTS = {
    BROKER: ("-Dbroker.room=32", "Broker"),
    INDEXER: ("Indexer",),
    SHOP: ("Shop",),
}
NAMES = (*URLS, *OF_VERDICTS)
# Clients of a database, each with a thread; the broker has four producers and four consumers.
THREADS = 8
# For where a JVM's pauses, or how much memory it has just then, would be taken for the work of a
# tool. The databases keep every row, and by default each collection of the young generation copies
# again what came in the fifteen before it: H2 stood still for a second or two every few seconds.
# Here rows are copied twice and then lie in an old generation with room for all of them; the young
# one is small, so that stops are short; and the heap has its full size, in memory, from the start.
# On two processors the parallel collector takes the least, and every JDK has it.
STEADY_HEAP = ("-XX:+UseParallelGC", "-XX:-UseAdaptiveSizePolicy", "-Xms4g", "-Xmx4g", "-Xmn512m",
               "-XX:MaxTenuringThreshold=1", "-XX:+AlwaysPreTouch")


def prepare(names):
    """Gets what these programs need besides Java."""
    if any(name in project.DATABASE_JARS for name in names):
        project.prepare([project.ROOT / "tests/setup/tools.sh", "subjects"])
    if "H2" in names:
        h2()
    if any(name in OF_VERDICTS for name in names):
        project.prepare([project.ROOT / "tests/verdicts/programs.sh"])


def command(name, major, warmup_s, seconds, options=()):
    """A program's command line, with more options of the JVM."""
    if name in OF_VERDICTS:
        path, program = f"{project.VERDICTS}/classes:{project.VERDICTS}/jars/*", OF_VERDICTS[name]
    else:
        path, *program = bank(name)
    return [project.java(major), *options, "-cp", f"{project.CLASSES}:{path}", *program,
            str(seconds), str(warmup_s)]


def bank(name):
    """Clients that transfer money: the class path, the program and its first arguments."""
    jar = h2() if name == "H2" else project.DATABASE_JARS[name]
    return jar, "tyrion.subjects.JdbcBank", URLS[name], str(THREADS)


def h2():
    return peers.from_maven_central("h2", H2_VERSION, "com.h2database")


def per_cpu_second(name, said):
    """What was done in a second of CPU time, transactions or messages."""
    if name == BROKER:
        return said["messages_per_cpu_second"]
    if not said["balanced"]:
        raise Failed(f"{name} computed wrong sums")
    return said["tx_per_cpu_second"]
