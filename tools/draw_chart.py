"""Draw the chart of the README: what a cold recall costs and what two writers keep, ours and others', from the documents' tables."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
IMAGES: Final = ROOT / "docs" / "images"
_OURS: Final = re.compile(r"^\| recall \| [\d,]+ \| [\d.]+ \| ([\d.]+) \|", re.MULTILINE)
_PEER: Final = re.compile(
    r"^\| \[?([\w ,-]+?)\]?(?:\([^)]*\))? \| [^|]+ \| [^|]+ \| ([\d.]+)[^|]* \| ([^|]+) \|", re.MULTILINE
)
_KEPT: Final = re.compile(r"all acknowledged, (\d+)–(\d+) there")
_WRITTEN: Final = 1000

_NAMES, _BAR, _GAP, _ROW = 165, 220, 120, 26
THEMES: Final = {
    "light": {"text": "#1f2328", "dim": "#6e7781", "ours": "#1a7f37", "other": "#8c959f"},
    "dark": {"text": "#e6edf3", "dim": "#8b949e", "ours": "#3fb950", "other": "#6e7681"},
}


class Row(NamedTuple):
    """One program: its recall in multiples of starting Python, how many of 1,000 writes it kept, and that in words."""

    name: str
    cost: float
    kept: int
    said: str


def read_rows() -> list[Row]:
    """Return the programs whose recall was measured, the quickest first."""
    ours = _OURS.search((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert ours
    found = _PEER.findall((ROOT / "docs" / "compare" / "README.md").read_text(encoding="utf-8"))
    rows = [Row(name, float(ours[1] if name == "memsync" else cost), *_count(kept)) for name, cost, kept in found]
    return sorted(rows, key=lambda row: row.cost)


def _count(kept: str) -> tuple[int, str]:
    if found := _KEPT.search(kept):
        low, high = int(found[1]), int(found[2])
        return (low + high) // 2, f"{low}–{high}, all acknowledged"
    if "cannot open" in kept:
        return 0, "the second is refused"
    return _WRITTEN, f"{_WRITTEN:,}"


def draw(rows: list[Row], theme: str) -> str:
    """Return the chart as an SVG of *theme*."""
    colours = THEMES[theme]
    right = _NAMES + _BAR + _GAP
    width, height = right + _BAR + 100, 56 + _ROW * len(rows) + 12
    most = max(row.cost for row in rows)
    parts = [
        text(_NAMES, 20, "a recall in a new process, 10,000 memories", colours["text"], bold=True),
        text(_NAMES, 38, "× starting Python; less is better", colours["dim"]),
        text(right, 20, "two processes write 500 memories each", colours["text"], bold=True),
        text(right, 38, "of 1,000, there afterwards; more is better", colours["dim"]),
    ]
    for number, row in enumerate(rows):
        y, is_ours = 56 + number * _ROW, row.name == "memsync"
        colour = colours["ours" if is_ours else "other"]
        parts.append(text(_NAMES - 10, y + 14, row.name, colours["text"], bold=is_ours, end=True))
        for x, share, said in ((_NAMES, row.cost / most, f"{row.cost:.0f}"), (right, row.kept / _WRITTEN, row.said)):
            length = max(round(_BAR * share), 2)
            parts.append(f'<rect x="{x}" y="{y}" width="{length}" height="18" rx="3" fill="{colour}"/>')
            parts.append(text(x + length + 8, y + 14, said, colours["dim"]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-label="Cold recall and lost writes of memsync and others; the table on the page of comparisons has the figures">\n'
        '<g font-family="system-ui, sans-serif" font-size="13">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def text(x: int, y: int, said: str, colour: str, *, bold: bool = False, end: bool = False) -> str:
    """Return *said* as an element of an SVG, from *x* on or up to there."""
    how = (' font-weight="600"' if bold else "") + (' text-anchor="end"' if end else "")
    return f'<text x="{x}" y="{y}" fill="{colour}"{how}>{escape(said)}</text>'


if __name__ == "__main__":
    for name in THEMES:
        (IMAGES / f"compared-{name}.svg").write_text(draw(read_rows(), name), encoding="utf-8")
