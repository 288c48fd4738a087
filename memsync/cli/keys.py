"""What going through things at a terminal takes: single keys, and two texts with their differences marked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from memsync.cli import render
from memsync.format.worddiff import compare


@contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """Give out what takes one key without Enter; what is typed ahead counts."""
    if sys.platform == "win32":
        yield click.getchar
        return
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    try:
        yield lambda: os.read(keyboard, 1).decode("ascii", "replace")
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def mark_differences(one: tuple[str, str], two: tuple[str, str]) -> list[str]:
    """Return both texts, each with its name before it, on a line each, with what only one of them has marked."""
    pieces = compare(render.one_line(one[1]), render.one_line(two[1]))
    width = max(len(one[0]), len(two[0])) + 2
    lines = []
    for (name, _), mark, colour in ((one, "-", "red"), (two, "+", "green")):
        shown = (click.style(t, fg=colour, bold=True) if m == mark else t for m, t in pieces if m in (" ", mark))
        lines.append(f"  {f'{name}:':{width}}{''.join(shown)}")
    return lines
