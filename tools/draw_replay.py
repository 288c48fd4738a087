"""Draw how many failures of recorded sessions had met their memory in time, and at what price, from the table of the documented figures."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final, NamedTuple

from tools.draw_chart import IMAGES, ROOT, THEMES, text

_TABLE: Final = re.compile(r"^\| sessions \| arm \|(.+)\|\n\|[-|]+\|\n((?:\| .+ \|\n)+)", re.MULTILINE)
_NAMES, _BAR, _GAP, _ROW, _TOP = 280, 210, 110, 26, 46


class Row(NamedTuple):
    """One arm on some sessions: of how many failures that came back how many met their memory in time, and lines per 100 other calls."""

    sessions: str
    arm: str
    repeats: int
    in_time: int
    price: float


def read_rows() -> list[Row]:
    """Return the rows of the table, in its order."""
    found = _TABLE.search((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert found
    columns = [name.strip() for name in found[1].split(" | ")]
    repeats, in_time, price = (columns.index(name) for name in ("repeats", "in time", "lines per 100 calls"))
    cells = [row.strip("| ").split(" | ") for row in found[2].splitlines()]
    return [
        Row(sessions, arm, int(rest[repeats]), int(rest[in_time]), float(rest[price])) for sessions, arm, *rest in cells
    ]


def draw(rows: list[Row], theme: str) -> str:
    """Return the chart as an SVG of *theme*: a block for all arms on the same sessions, ours in their own colour."""
    colours = THEMES[theme]
    right = _NAMES + _BAR + _GAP
    most, parts, y = max(row.price for row in rows), list[str](), 0
    for sessions, arms in groupby(rows, key=lambda row: row.sessions):
        parts.append(text(10, y + 20, sessions, colours["text"], bold=True))
        parts.append(text(_NAMES, y + 38, "met their memory in time; more is better", colours["dim"]))
        parts.append(text(right, y + 38, "lines per 100 other calls; less is better", colours["dim"]))
        y += _TOP
        for row in arms:
            is_ours = row.arm.startswith(("lines by hand", "learned"))
            colour = colours["ours" if is_ours else "other"]
            parts.append(text(_NAMES - 10, y + 14, row.arm, colours["text"], bold=is_ours, end=True))
            met = row.in_time / row.repeats if row.repeats else 0.0
            for x, share, said in (
                (_NAMES, met, f"{row.in_time} of {row.repeats}"),
                (right, row.price / most if most else 0.0, f"{row.price:g}"),
            ):
                length = max(round(_BAR * share), 2)
                parts.append(f'<rect x="{x}" y="{y}" width="{length}" height="18" rx="3" fill="{colour}"/>')
                parts.append(text(x + length + 8, y + 14, said, colours["dim"]))
            y += _ROW
        y += 14
    width = right + _BAR + 60
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" role="img" '
        'aria-label="Failures that came back and had met their memory in time, by arm; the table below has the figures">\n'
        '<g font-family="system-ui, sans-serif" font-size="13">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


if __name__ == "__main__":
    for name in THEMES:
        (IMAGES / f"replay-{name}.svg").write_text(draw(read_rows(), name), encoding="utf-8")
