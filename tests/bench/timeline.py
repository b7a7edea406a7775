"""A picture of what a program did over time, and of what was recorded when."""

from html import escape

WIDTH, HEIGHT = 960, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 48, 40
# A label has room in what is as wide as this.
LABEL = 64
FILLS = {"off": "#f4f4f4", "contention": "#dcebf7", "aimed": "#fbe3c8"}
NS = 1_000_000_000


def picture(title, windows, spans, known):
    """An SVG: per window, what a CPU second did over the median without recording; and what was
    known after that, in lines."""
    first, last = windows[0][0], windows[-1][1]
    off = sorted(it[3].per_cpu_second() for it in windows if it[2] is None)
    base = off[len(off) // 2]
    top = 1.25 * max(it[3].per_cpu_second() for it in windows) / base

    def x(at):
        return LEFT + (WIDTH - LEFT - RIGHT) * (at - first) / (last - first)

    def y(ratio):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ratio / top

    # What was recorded goes on being told while recording is off.
    on = min((it[0] for it in windows if it[2] is not None), default=last)
    shapes = [rectangle(x(first), x(on), "off", "off")]
    for start, end, mode in spans:
        start, end = max(start, on), min(end, last)
        if start < end:
            shapes.append(rectangle(x(start), x(end), mode, mode))
    points = " ".join(f"{x((begun + ended) / 2):.1f},{y(it.per_cpu_second() / base):.1f}"
                      for begun, ended, _, it in windows)
    shapes.append(f'<polyline points="{points}" fill="none" stroke="#1b5e9e" stroke-width="2"/>')
    for ratio in (0, 0.5, 1):
        shapes.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(ratio):.1f}" '
                      f'y2="{y(ratio):.1f}" stroke="#999" stroke-dasharray="2 3"/>'
                      f'<text x="{LEFT - 6}" y="{y(ratio) + 4:.1f}" text-anchor="end">{ratio}</text>')
    for second in range(0, int((last - first) / NS) + 1, 10):
        at = x(first + second * NS)
        shapes.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                      f'{second} s</text>')
    shapes += [f'<text x="{LEFT}" y="{HEIGHT + 16 * nth}">{escape(line)}</text>'
               for nth, line in enumerate(known)]
    body = "\n".join(shapes)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 16 * len(known)}" '
            f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" '
            f'fill="#fff"/>\n<text x="{LEFT}" y="20" font-size="14">{escape(title)}: what a CPU '
            f'second does, over without recording</text>\n{body}\n</svg>\n')


def rectangle(begin, end, mode, label):
    fill = FILLS.get(mode, "#eee")
    shape = (f'<rect x="{begin:.1f}" y="{TOP}" width="{end - begin:.1f}" '
             f'height="{HEIGHT - TOP - BOTTOM}" fill="{fill}"/>')
    if end - begin < LABEL:
        return shape
    return shape + f'<text x="{begin + 4:.1f}" y="{TOP - 6}">{escape(label)}</text>'
