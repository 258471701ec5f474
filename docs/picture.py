"""The chart of speeds beside other engines, as SVG: of each work the engines' shares of cpunmt's speed.

It has no ground of its own and two sets of colours, for light and dark pages, and is legible on a narrow screen.
"""

from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 560, 104, 150  # pixels: all, before the bars, after them
BAR, GAP, GROUP, TITLE = 20, 4, 18, 24  # pixels: a bar, below it, between two groups, a group's title

_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #222 } .title { font-weight: 600 } .ours { fill: #0b6b5d }
.theirs { fill: #9aa3a0 } .of-ours { font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #e6e6e3 } .ours { fill: #3fb8a5 } .theirs { fill: #6d7673 } }
"""


class Group(NamedTuple):
    """Bars of one work: speeds in `unit` by engine, cpunmt first, and how much faster than each other one it is."""

    title: str
    unit: str
    speeds: dict[str, int]
    faster: dict[str, float]


def picture(groups: list[Group]) -> bytes:
    """Draws the groups, with the same bytes for the same figures. Speeds are more than 0."""
    parts, y = [], 0
    for title, unit, speeds, faster in groups:
        parts.append(_text(0, y + 16, title, "title"))
        y += TITLE
        scale = (WIDTH - LEFT - RIGHT) / max(speeds.values())
        for place, (engine, speed) in enumerate(speeds.items()):
            kind = "theirs" if place else "ours"
            told = f"{speed:,}, cpunmt {faster[engine]:.1f} x" if place else f"{speed:,} {unit}"
            parts.append(_text(LEFT - 8, y + 15, engine, "" if place else "of-ours", ' text-anchor="end"'))
            parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{speed * scale:.1f}" height="{BAR}" rx="2"/>')
            parts.append(_text(LEFT + speed * scale + 6, y + 15, told, "" if place else "of-ours"))
            y += BAR + GAP
        y += GROUP
    size = f'viewBox="0 0 {WIDTH} {y - GROUP}" width="{WIDTH}" height="{y - GROUP}"'
    told = "; ".join(
        f"{title}: " + ", ".join(f"{e} {s:,}" for e, s in speeds.items()) for title, _, speeds, _ in groups
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{escape(told)}</title>'
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>", ""]).encode()


def _text(x: float, y: int, text: str, kind: str, more: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y}"{more}>{escape(text)}</text>'
