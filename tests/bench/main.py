"""The command line of the benchmarks: see README.md."""

import argparse
import sys
from pathlib import Path

import project
from choice import add_options, choice
from processes import Failed
from sections import (applications, attach, auto, contended, conversion, fleet, jfr, latency,
                      left_behind, own_cost, resting, sampling, soak, startup, trace,
                      trace_applications, uncontended, virtual_threads, wakers)

SECTIONS = {
    "uncontended": uncontended,
    "contended": contended,
    "wakers": wakers,
    "virtual-threads": virtual_threads,
    "applications": applications,
    "latency": latency,
    "resting": resting,
    "auto": auto,
    "trace": trace,
    "trace-applications": trace_applications,
    "own-cost": own_cost,
    "left-behind": left_behind,
    "attach": attach,
    "sampling": sampling,
    "conversion": conversion,
    "jfr": jfr,
    "fleet": fleet,
    "startup": startup,
    "soak": soak,
}
# What can be narrowed down by options.
NARROWED = ("contended", "applications", "latency", "resting", "auto", "trace", "trace-applications",
            "own-cost", "left-behind", "attach", "sampling")


def main():
    arguments = parse_arguments()
    try:
        if not arguments.no_build:
            project.build()
        project.copy_binaries(arguments.binaries)
    except Failed as problem:
        sys.exit(f"run.sh: {problem}")
    failed = False
    for name in arguments.sections or SECTIONS:
        try:
            report(name, choice(arguments))
        except (Failed, ValueError) as problem:
            failed = True
            project.say(f"run.sh: {name}: {problem}")
    sys.exit(1 if failed else 0)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run.sh", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION",
                        help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--quick", action="store_true",
                        help="few and short runs, to see that all works; not to be quoted")
    parser.add_argument("--no-build", action="store_true",
                        help="measure what target/release has")
    parser.add_argument("--binaries", type=Path, metavar="FOLDER",
                        help="measure the tyrion and the agent of this folder; implies --no-build")
    add_options(parser, NARROWED)
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))} (of {', '.join(SECTIONS)})")
    whole = [name for name in arguments.sections or SECTIONS if name not in NARROWED]
    if choice(arguments).narrowed() and whole:
        parser.error(f"{', '.join(whole)}: only {', '.join(NARROWED)} take these options")
    arguments.no_build = arguments.no_build or arguments.binaries is not None
    return arguments


def report(name, asked):
    """Prints a section's tables as they come, and keeps them under target/bench."""
    # What was narrowed down for tuning must not replace the tables of a whole section.
    kept_as = f"{name}-part.txt" if asked.narrowed() or asked.quick else f"{name}.txt"
    with open(project.BENCH / kept_as, "w", encoding="utf-8") as kept:
        def show(text):
            print(text, flush=True)
            print(text, file=kept, flush=True)

        # The machine once more at the end: the load tells what else was done meanwhile.
        show(f"\n{name}: {project.machine()}")
        tables = SECTIONS[name].tables(asked if name in NARROWED else asked.quick)
        for table in tables:
            show(table)
        show(f"\n{name}: {project.machine()}")


main()
