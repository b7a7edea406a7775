"""What `mode=auto` costs over time, within one JVM: before locks are aimed at, meanwhile, and after.

In each round recording is off, and then on for as long as it takes to find the guilty locks, to
trace them and to go on. Windows are told apart by what the log says was recorded when; what a CPU
second does in all windows of a state is compared with what it does in those without recording.
"""

import json
import time

import peers
import project
from figures import Table, interval_text, median
from sections.applications import prepared
from switched import Running, loaded
from timeline import picture

OPTIONS = "mode=auto,auto-after=5s,auto-for=20s"
# Seconds without recording, and with it: five to find the locks, twenty to trace them.
OFF_S, ON_S = 10, 55
# After recording the JVM may compile again what had probes.
RESTS_S = 6
# For so long it compiles what has changed anew; then states are told apart from that.
COMPILES_S = 6
COMPILED = f", without its first {COMPILES_S} s"
STATES = ("contention", "aimed", "aimed" + COMPILED, "after", "after" + COMPILED)
NS = 1_000_000_000


def tables(choice):
    rounds, _, seconds = choice.numbers((6, 0, 1), (1, 0, 1))
    for major, name in prepared(choice):
        for options in choice.variants or (OPTIONS,):
            yield table(name, major, options, rounds, seconds)


def table(name, major, options, rounds, seconds):
    project.say(f"{name}, JDK {major}: {options}")
    tool = loaded("auto", options)
    with Running(name, major, tool) as running:
        running.turn_on(tool)
        running.turn_off(tool)
        spread, warmup_s = running.become_steady(3)
        taken = [one_round(running, tool, seconds)]
        known = known_of(running.folder / "a.log")
        taken += [one_round(running, tool, seconds) for _ in range(rounds - 1)]
        told = said("info", running.folder / "a.log")
    begun_ns = beginning(told)
    spans = [(begun_ns + it["start_ns"], begun_ns + it["start_ns"] + it["duration_ns"], it["mode"])
             for it in told["mode_spans"]]
    aimed = {it["value"] for it in told["option_changes"] if it["option"] == "aimed"}
    result = Table(
        f"{name}, JDK {major}, {options}: what a CPU second does over without recording, by "
        f"state, medians of {rounds} rounds; steady after {warmup_s:.0f} s to {100 * spread:.0f} %; "
        f"aimed at {', '.join(sorted(filter(None, aimed))) or 'nothing'}",
        ("state", "rounds", "seconds", "ratio", "95 % interval", "load"))
    rated = [ratios_of(windows, spans) for windows in taken]
    for state in STATES:
        found = [it[state] for it in rated if state in it]
        if found:
            values = [ratio for ratio, _ in found]
            result.add(state, len(values), f"{median([s for _, s in found]):.0f}",
                       f"{median(values):.3f}", interval_text(values, ".3f"),
                       f"{project.load():.1f}")
    drawn = project.BENCH / f"auto-{name}-{major}.svg"
    drawn.write_text(picture(f"{name}, JDK {major}, {options}", taken[0], spans, known))
    return result


def said(command, log, *options):
    return json.loads(peers.output([str(project.tyrion()), command, "--json", *options, str(log)]))


def known_of(log):
    """What a recording knows of the locks that were traced, in words."""
    locks = said("report", log, "--section", "contended")["sections"]["contended"]["locks"]
    return [f"{it['lock']['name'] or it['lock']['class']}: taken {it['acquisitions']:,} times, held "
            f"{(it['mean_hold_ns'] or 0) / 1000:.1f} µs on average"
            for it in locks if it["acquisitions"]]


def one_round(running, tool, seconds):
    """Windows, each with when it began and ended, and since when recording was on, monotonic ns;
    None while it was off."""
    windows = []

    def go(on_since, for_s):
        until = time.monotonic() + for_s
        while time.monotonic() < until:
            begun = time.monotonic_ns()
            window = running.window(seconds)
            windows.append((begun, time.monotonic_ns(), on_since, window))

    time.sleep(RESTS_S)
    go(None, OFF_S)
    on_since = time.monotonic_ns()
    running.turn_on(tool)
    go(on_since, ON_S)
    running.turn_off(tool)
    return windows


def beginning(told):
    """When the log began, by the monotonic clock."""
    since_wall_ns = time.time_ns() - told["start_wall_ns"]
    return time.monotonic_ns() - since_wall_ns


def states_of(window, spans):
    """What was recorded all through a window; nothing if that changed meanwhile."""
    begun, ended, on_since, _ = window
    if on_since is None:
        return ["off"]
    of_window = [span for span in spans if span[0] <= begun and ended <= span[1]]
    if not of_window:
        return []
    start, _, mode = of_window[0]
    was_aimed = any(on_since < start and end <= begun and mode == "aimed"
                    for start, end, mode in spans)
    state = "after" if mode == "contention" and was_aimed else mode
    return [state, state + COMPILED] if begun - start >= COMPILES_S * NS else [state]


def ratios_of(windows, spans):
    """By state, what a CPU second does over without recording, and for how many seconds."""
    sums = {}
    for window in windows:
        for state in states_of(window, spans):
            count, cpu_ns, wall_ns = sums.get(state, (0, 0, 0))
            done = window[3]
            sums[state] = (count + done.count, cpu_ns + done.cpu_ns, wall_ns + done.wall_ns)
    count, cpu_ns, _ = sums["off"]
    base = count / cpu_ns
    return {state: (count / cpu_ns / base, wall_ns / NS)
            for state, (count, cpu_ns, wall_ns) in sums.items() if state in STATES}
