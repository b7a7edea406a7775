"""What of the benchmarks is to be run, as the command line says."""

from typing import NamedTuple, Optional


class Choice(NamedTuple):
    # Few and short runs, to see that all works.
    quick: bool = False
    # Of the sections of trace mode and of sampling alone; empty stands for what a section has by itself.
    majors: tuple = ()
    kinds: tuple = ()
    variants: tuple = ()
    databases: tuple = ()
    rounds: Optional[int] = None
    seconds: Optional[float] = None
    warmup: Optional[float] = None

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


def add_options(parser):
    """The options that narrow the sections of trace mode and of sampling down, for tuning."""
    trace = parser.add_argument_group(
        "for the sections trace, trace-applications, trace-stop and sampling")
    trace.add_argument("--jdk", action="append", type=int, default=[], metavar="MAJOR",
                       help="17 or 25; may be repeated, as may the next three")
    trace.add_argument("--kind", action="append", default=[],
                       help="of lock: monitor-block, monitor-method, monitor-static, lock, ...; "
                            "of sampling: so many threads")
    trace.add_argument("--variant", action="append", default=[],
                       help="of the agent: a name (README.md has them) or its options themselves, "
                            "like mode=trace,hold=1/256")
    trace.add_argument("--database", action="append", default=[], help="HSQLDB or Derby")
    trace.add_argument("--rounds", type=int)
    trace.add_argument("--seconds", type=float, help="measured in each run")
    trace.add_argument("--warmup", type=float, help="seconds before that")


def choice(arguments):
    return Choice(arguments.quick, tuple(arguments.jdk), tuple(arguments.kind),
                  tuple(arguments.variant), tuple(arguments.database), arguments.rounds,
                  arguments.seconds, arguments.warmup)
