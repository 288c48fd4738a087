"""Draw how often a hit of a given confidence is relevant, a panel a suite, from the table of the documented figures."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tools.draw_chart import IMAGES, ROOT, THEMES, text

_HEAD: Final = re.compile(r"^\| confidence \| (.+) \|\n\|[-|]+\|\n((?:\| .+ \|\n)+)", re.MULTILINE)

_LEFT, _TOP, _WIDE, _HIGH, _GAP, _BELOW, _COLUMNS = 40, 72, 320, 120, 36, 62, 2


class Panel(NamedTuple):
    """A suite: of each tenth of confidence, how many hits lie in it and how many of them are relevant."""

    name: str
    bins: list[tuple[int, int]]


def read_panels() -> list[Panel]:
    """Return the suites of the table in the documented figures."""
    found = _HEAD.search((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert found
    rows = [row.strip("| ").split(" | ")[1:] for row in found[2].splitlines()]
    counts = [[tuple(int(n.replace(",", "")) for n in cell.split(" of ")) for cell in row] for row in rows]
    return [Panel(name, [(row[at][1], row[at][0]) for row in counts]) for at, name in enumerate(found[1].split(" | "))]


def draw(panels: list[Panel], theme: str) -> str:
    """Return the chart as an SVG of *theme*."""
    colours = THEMES[theme]
    width = _LEFT + _COLUMNS * (_WIDE + _GAP)
    height = _TOP + -(-len(panels) // _COLUMNS) * (_HIGH + _BELOW)
    parts = [
        text(_LEFT, 20, "how many of the hits of a confidence are relevant, by tenths", colours["text"], bold=True),
        text(_LEFT, 38, "the line is what the confidence says; below each tenth: how many hits it has", colours["dim"]),
    ]
    for number, panel in enumerate(panels):
        row, column = divmod(number, _COLUMNS)
        parts += _draw_panel(panel, _LEFT + column * (_WIDE + _GAP), _TOP + row * (_HIGH + _BELOW), colours)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-label="Share of relevant hits by confidence, a panel a suite; the table on the page of benchmarks has the figures">\n'
        '<g font-family="system-ui, sans-serif" font-size="13">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def _draw_panel(panel: Panel, left: int, top: int, colours: dict[str, str]) -> list[str]:
    bottom, step = top + _HIGH, _WIDE // len(panel.bins)
    parts = [text(left, top - 8, panel.name, colours["text"])]
    parts += [text(left - 6, y, said, colours["dim"], end=True) for y, said in ((bottom, "0"), (top + 10, "1"))]
    for number, (hits, relevant) in enumerate(panel.bins):
        x, high = left + number * step, max(round(_HIGH * relevant / hits), 1) if hits else 0
        parts.append(
            f'<rect x="{x + 1}" y="{bottom - high}" width="{step - 3}" height="{high}" fill="{colours["ours"]}"/>'
        )
        parts.append(
            f'<text x="{x + step // 2}" y="{bottom + 14}" fill="{colours["dim"]}" font-size="10" text-anchor="middle">{hits:,}</text>'
        )
    parts.append(
        f'<line x1="{left}" y1="{bottom}" x2="{left + _WIDE}" y2="{top}" stroke="{colours["other"]}" stroke-dasharray="4 4"/>'
    )
    return parts


if __name__ == "__main__":
    for name in THEMES:
        (IMAGES / f"calibrated-{name}.svg").write_text(draw(read_panels(), name), encoding="utf-8")
