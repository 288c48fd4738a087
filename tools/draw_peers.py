"""Draw what a cold recall and a durable write cost beside peers, from the table of the documented figures."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from tools.draw_chart import IMAGES, ROOT, THEMES, text

_TABLE: Final = re.compile(r"^## Beside peers,[\s\S]*?^\| what \|(.+)\|\n\|[-|]+\|\n((?:\| .+ \|\n)+)", re.MULTILINE)
_COLUMNS: Final = {"cold recall, ms of CPU": "a cold recall", "write of 36 words, ms": "a durable write of 36 words"}

_NAMES, _BAR, _GAP, _ROW, _TOP = 200, 210, 80, 26, 56


class Row(NamedTuple):
    """One program, and the milliseconds of CPU of each column."""

    name: str
    times: list[float]


def read_rows() -> list[Row]:
    """Return the programs that were compared, as the table has them."""
    found = _TABLE.search((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert found
    columns = [name.strip() for name in found[1].split(" | ")]
    at = [columns.index(name) for name in _COLUMNS]
    cells = [row.strip("| ").split(" | ") for row in found[2].splitlines()]
    return [
        Row(name, [float(rest[column].replace(",", "")) for column in at])
        for name, *rest in cells
        if len(rest) == len(columns)
    ]


def draw(rows: list[Row], theme: str) -> str:
    """Return the chart as an SVG of *theme*: bars by the logarithm, from the power of ten below the least."""
    colours = THEMES[theme]
    width, height = _NAMES + len(_COLUMNS) * (_BAR + _GAP), _TOP + _ROW * len(rows) + 12
    parts = []
    for column, said in enumerate(_COLUMNS.values()):
        x = _NAMES + column * (_BAR + _GAP)
        parts.append(text(x, 20, said, colours["text"], bold=True))
        parts.append(text(x, 38, "ms of CPU, logarithmic; less is better", colours["dim"]))
        logs = [math.log10(row.times[column]) for row in rows]
        least, most = math.floor(min(logs)), max(logs)
        for number, (row, log) in enumerate(zip(rows, logs, strict=True)):
            y, kind = _TOP + number * _ROW, "ours" if row.name.startswith("memsync") else "other"
            if not column:
                parts.append(text(_NAMES - 10, y + 14, row.name, colours["text"], bold=kind == "ours", end=True))
            length = max(round(_BAR * (log - least) / (most - least)), 2)
            parts.append(f'<rect x="{x}" y="{y}" width="{length}" height="18" rx="3" fill="{colours[kind]}"/>')
            parts.append(text(x + length + 8, y + 14, _spell(row.times[column]), colours["dim"]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-label="Cost of a cold recall and of a durable write, of memsync and of others; the table below has the figures">\n'
        '<g font-family="system-ui, sans-serif" font-size="13">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def _spell(ms: float) -> str:
    return f"{ms:,.0f}" if ms >= 10 else f"{ms:.1f}"


if __name__ == "__main__":
    for name in THEMES:
        (IMAGES / f"peers-{name}.svg").write_text(draw(read_rows(), name), encoding="utf-8")
