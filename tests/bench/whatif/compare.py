"""What was predicted beside what was measured."""

from figures import median


def table(subjects, predictions, truth):
    """The table of docs/whatif.md, and what it comes down to."""
    lines = [
        "| program | change | predicted | interval | measured | off | within |",
        "|---|---|---|---|---|---|---|",
    ]
    errors, pairs = [], []
    for subject in subjects:
        predicted, measured = predictions.get(subject.name), truth.get(subject.name)
        if predicted is None or measured is None:
            continue
        change = " ".join(subject.change[:2]).replace(" --reads", "")
        name = f"`{subject.name}`: {subject.what}"
        if "refused" in predicted:
            lines.append(f"| {name} | `{change}` | refused | | {times(measured['ratio'])} | | |")
            continue
        ratio, actual = predicted["throughput_ratio"], measured["ratio"]
        low, high = predicted["low_ratio"], predicted["high_ratio"]
        off = ratio / actual - 1
        errors.append(abs(off))
        pairs.append((ratio, actual))
        within = "yes" if low <= actual <= high else "**no**"
        mark = "" if predicted["method"] == "replay" else " (coarse)"
        lines.append(
            f"| {name} | `{change}` | {times(ratio)}{mark} | {times(low)} to {times(high)} "
            f"| {times(actual)} | {100 * off:+.0f} % | {within} |")
    if errors:
        lines += ["", f"Median error {100 * median(errors):.1f} %, largest "
                      f"{100 * max(errors):.1f} %; ranked alike: {ranked(pairs)}.",
                  "", truth.get("machine", "")]
    return "\n".join(lines)


def times(ratio):
    return f"×{ratio:.2f}"


def ranked(pairs):
    """Of how many pairs of programs it was said rightly which one gains more.

    Pairs whose gains differ by less than a tenth do not count.
    """
    right = wrong = 0
    for nth, (predicted, actual) in enumerate(pairs):
        for other_predicted, other_actual in pairs[nth + 1:]:
            is_close = max(actual, other_actual) < 1.1 * min(actual, other_actual)
            is_alike = (predicted > other_predicted) == (actual > other_actual)
            right += is_alike and not is_close
            wrong += not is_alike and not is_close
    return f"{right} of {right + wrong} pairs"
