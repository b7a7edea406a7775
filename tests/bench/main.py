"""The command line of the benchmarks: see README.md."""

import argparse
import sys

import project
from processes import Failed
from sections import applications, contended, conversion, startup, uncontended

SECTIONS = {
    "uncontended": uncontended,
    "contended": contended,
    "applications": applications,
    "conversion": conversion,
    "startup": startup,
}


def main():
    arguments = parse_arguments()
    try:
        if not arguments.no_build:
            project.build()
        project.copy_binaries()
    except Failed as problem:
        sys.exit(f"run.sh: {problem}")
    failed = False
    for name in arguments.sections or SECTIONS:
        try:
            report(name, arguments.quick)
        except Failed as problem:
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
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))} (of {', '.join(SECTIONS)})")
    return arguments


def report(name, quick):
    """Prints a section's tables as they come, and keeps them under target/bench."""
    with open(project.BENCH / f"{name}.txt", "w", encoding="utf-8") as kept:
        def show(text):
            print(text, flush=True)
            print(text, file=kept, flush=True)

        # The machine once more at the end: the load tells what else was done meanwhile.
        show(f"\n{name}: {project.machine()}")
        for table in SECTIONS[name].tables(quick):
            show(table)
        show(f"\n{name}: {project.machine()}")


main()
