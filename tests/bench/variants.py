"""Trace mode's variants: how the agent is told to record."""

import peers

# The agent's options, by the name that a table has.
VARIANTS = {
    "contention": "mode=contention",
    "counts": "mode=trace,hold=none,identity=false",
    "default": "mode=trace",
    "hold=all": "mode=trace,hold=all",
    "events=all": "mode=trace,events=all",
}


def tools(asked, usual, beside=None):
    """No agent, and then the variants asked for, or the usual ones, of another build, too."""
    chosen = [tool(name) for name in asked or usual]
    if beside is not None:
        chosen += [tool(name, beside) for name in asked or usual]
    return [peers.NONE, *chosen]


def tool(name, beside=None):
    # An equals sign alone does not tell: hold=all is a name.
    if name in VARIANTS:
        title = f"other {name}" if beside else name
        return peers.tyrion_with(title, VARIANTS[name], beside)
    if "=" not in name:
        raise ValueError(f"no such variant: {name} (of {', '.join(VARIANTS)}, or the agent's "
                         "options like mode=trace,hold=1/256)")
    return peers.tyrion_with(f"other {name}" if beside else name, name, beside)
