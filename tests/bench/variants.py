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


def tools(asked, usual):
    """No agent, and then the variants asked for, or the usual ones."""
    return [peers.NONE, *(tool(name) for name in asked or usual)]


def tool(name):
    # An equals sign alone does not tell: hold=all is a name.
    if name in VARIANTS:
        return peers.tyrion_with(name, VARIANTS[name])
    if "=" not in name:
        raise ValueError(f"no such variant: {name} (of {', '.join(VARIANTS)}, or the agent's "
                         "options like mode=trace,hold=1/256)")
    return peers.tyrion_with(name, name)
