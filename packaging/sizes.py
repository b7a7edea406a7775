"""Prints what takes the room in a program or library that has its symbols: by crate.

packaging/sizes.py FILE [HOW MANY]
"""

import collections
import re
import subprocess
import sys

# Of `<a::B as c::D>::e` the first path tells where the code comes from; of a generic
# function of another crate it tells where it is written, not who uses it.
CRATE = re.compile(r"^[<&*\[( ]*(?:mut |dyn |impl )*([a-z_][a-z0-9_]*)(?:\[[0-9a-f]+\])?::")


def symbols(file):
    command = ["nm", "--print-size", "--demangle", "--defined-only", file]
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        fields = line.split(maxsplit=3)
        # Addresses of what takes no room in the file are left out.
        if len(fields) == 4 and fields[2] not in "bB":
            yield int(fields[1], 16), fields[3]


def main():
    sizes, counts = collections.Counter(), collections.Counter()
    for size, name in symbols(sys.argv[1]):
        match = CRATE.match(name)
        crate = match[1] if match else "C and others"
        sizes[crate] += size
        counts[crate] += 1
    total = sum(sizes.values())
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    print(f"{'bytes':>10} {'share':>6} {'symbols':>8}  crate")
    for crate, size in sizes.most_common(most):
        print(f"{size:>10} {size / total:>6.1%} {counts[crate]:>8}  {crate}")
    print(f"{total:>10} {1:>6.0%} {sum(counts.values()):>8}  all that has a symbol")


main()
