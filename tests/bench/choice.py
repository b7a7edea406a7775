"""What of the benchmarks is to be run, as the command line says."""

from pathlib import Path
from typing import NamedTuple, Optional


class Choice(NamedTuple):
    # Few and short runs, to see that all works.
    quick: bool = False
    # Of some sections alone; empty stands for what a section has by itself.
    majors: tuple = ()
    kinds: tuple = ()
    variants: tuple = ()
    databases: tuple = ()
    rounds: Optional[int] = None
    seconds: Optional[float] = None
    warmup: Optional[float] = None
    # The folder of another build, to be measured in the same rounds.
    beside: Optional[Path] = None

    def narrowed(self):
        """Whether anything but `quick` was asked for."""
        return self != Choice(quick=self.quick)

    def numbers(self, usual, quick):
        """Rounds, warm-up and seconds: a section's own, each unless told otherwise."""
        rounds, warmup, seconds = quick if self.quick else usual
        return (self.rounds or rounds,
                warmup if self.warmup is None else self.warmup,
                self.seconds or seconds)


def pick(asked, known, what):
    """What was asked for of the known; all of it when nothing was."""
    unknown = [str(name) for name in asked if name not in known]
    if unknown:
        raise ValueError(f"no such {what}: {', '.join(unknown)} (of {', '.join(map(str, known))})")
    return list(asked or known)


def add_options(parser, sections):
    """The options that narrow some sections down, for tuning."""
    group = parser.add_argument_group(f"for the sections {', '.join(sections)}")
    group.add_argument("--jdk", action="append", type=int, default=[], metavar="MAJOR",
                       help="17 or 25, for attach also 11 and 21, for contended any; may be "
                            "repeated, as may the next three")
    group.add_argument("--kind", action="append", default=[],
                       help="of lock: monitor-block, monitor-method, monitor-static, lock, ...; "
                            "of contended: monitor, lock, monitor-deep, lock-cold, lock-cold-16, "
                            "lock-cold-16-free, ...; "
                            "of sampling: so many threads")
    group.add_argument("--variant", action="append", default=[],
                       help="of the agent: a name (README.md has them) or its options themselves, "
                            "like mode=trace,hold=1/256; of attach: a tool, and for tyrion more "
                            "options behind it; of applications and latency: README.md")
    group.add_argument("--database", action="append", default=[],
                       help="H2, HSQLDB or Derby; of own-cost also ActiveMQ; of applications, "
                            "latency and resting Lucene and Tomcat, too")
    group.add_argument("--rounds", type=int)
    group.add_argument("--seconds", type=float, help="measured in each run; of attach: recorded")
    group.add_argument("--warmup", type=float, help="seconds before that")
    group.add_argument("--beside", type=Path, metavar="FOLDER",
                       help="of contended and trace: measure the agent of this folder, too")


def choice(arguments):
    return Choice(arguments.quick, tuple(arguments.jdk), tuple(arguments.kind),
                  tuple(arguments.variant), tuple(arguments.database), arguments.rounds,
                  arguments.seconds, arguments.warmup,
                  arguments.beside and arguments.beside.resolve())
