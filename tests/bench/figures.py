"""Statistics of interleaved runs, and tables."""

import math
import statistics


def interleaved(variants, rounds, measure, progress):
    """Measures every variant once a round; returns the samples by the variant's name.

    The order is reversed in every other round, so that a machine that gets
    slower or faster meanwhile favours none.
    """
    samples = {variant.name: [] for variant in variants}
    for nth in range(rounds):
        order = variants if nth % 2 == 0 else list(reversed(variants))
        for variant in order:
            progress(f"round {nth + 1} of {rounds}: {variant.name}")
            samples[variant.name].append(measure(variant))
    return samples


def median(values):
    return statistics.median(values)


def ratios(values, base):
    """Of each pair, what was measured with the tool over what was without."""
    return [value / other for value, other in zip(values, base)]


def differences(values, base):
    """Of each pair, what was measured with the tool less what was without."""
    return [value - other for value, other in zip(values, base)]


def interval(values, confidence=0.95):
    """Limits that hold the true median with at least this confidence.

    Order statistics: nothing is assumed of the distribution, and one run that
    was disturbed does not widen the interval as it would one by Student's t.
    None when there are too few values, which is below six at 95 %.
    """
    ordered = sorted(values)
    count = len(ordered)
    outside = 0.0
    rank = 0
    while rank < count // 2:
        outside += 2 * math.comb(count, rank) / 2**count
        if outside > 1 - confidence:
            break
        rank += 1
    return (ordered[rank - 1], ordered[count - rank]) if rank else None


def interval_text(values, pattern):
    """The interval as text, or a dash."""
    limits = interval(values)
    return "-" if limits is None else " … ".join(format(limit, pattern) for limit in limits)


class Table:
    """Aligned columns: the first to the left, numbers to the right."""

    def __init__(self, title, columns):
        self.title = title
        self.rows = [list(columns)]

    def add(self, *cells):
        self.rows.append([str(cell) for cell in cells])

    def __str__(self):
        widths = [max(map(len, column)) for column in zip(*self.rows)]
        lines = [f"\n{self.title}"]
        for row in self.rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            lines.append("  " + "  ".join(cells).rstrip())
        return "\n".join(lines)
