"""What a terminal can do: its width, links, single keys. In a pipe nothing is cut, wrapped or linked."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import click

from memsync.errors import MemsyncError, UsageError
from memsync.system import programs

T = TypeVar("T")

_SIZE: Final = (100, 24)  # where there is no terminal
_EDITORS: Final = ("sensible-editor", "vim", "nano", "vi")
_STEERING: Final = r"(?!\x1b\[[\d;]*m|\x1b\]8;;|\x1b\\)[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
_LINKING: Final = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio")


def is_terminal() -> bool:
    """Return whether a person looks at the output as it comes."""
    return sys.stdout is not None and sys.stdout.isatty()


def choose_colour() -> bool | None:
    """Return whether the environment wants colours (https://no-color.org, https://force-color.org); None: on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE") or "0"
    return True if forced not in ("0", "false") else None


def _measure() -> os.terminal_size:
    import shutil  # which loads every compressor, and in a pipe nobody asks

    return shutil.get_terminal_size(_SIZE)


def page(text: str) -> None:
    """Print *text*, with nothing in it that steers a terminal but colours and links; where it has fewer lines, by the pager ($PAGER, else less)."""
    text = re.sub(_STEERING, lambda found: f"\\u{ord(found[0]):04x}", text)
    if is_terminal() and text.count("\n") >= _measure().lines - 1:
        os.environ.setdefault("LESS", "FRX")  # colours, and no waiting where it fits after all
        with suppress(FileNotFoundError):
            os.environ.setdefault("PAGER", programs.find("less"))  # not one of the working directory
        click.echo_via_pager(text)
    else:
        click.echo(text)


def edit(text: str = "", extension: str = ".md") -> str | None:
    """Return what somebody makes of *text* in their editor ($VISUAL, $EDITOR, or one that is there); None: nothing was saved."""
    return click.edit(text, editor=_find_editor(), extension=extension)


def edit_until(text: str, read: Callable[[str], T], extension: str = ".md") -> T | None:
    """Return what *read* makes of what somebody makes of *text*; a mistake is shown, and corrected in the editor; None: nothing was saved.

    Raises:
        UsageError: nobody corrects it; where what was written is kept.
    """
    while (saved := edit(text, extension)) is not None:
        try:
            return read(saved)
        except (MemsyncError, ValueError) as error:
            if not sys.stdin.isatty() or not click.confirm(f"{error}. Edit it again?", default=True, err=True):
                import tempfile

                with tempfile.NamedTemporaryFile(
                    "w", prefix="memsync-edit-", suffix=extension, delete=False, encoding="utf-8"
                ) as kept:
                    kept.write(saved)
                why = f"{error}; nothing was changed, and what you wrote is in {kept.name}"
                raise UsageError(why) from None
        text = saved
    return None


def _find_editor() -> str | None:
    """Return the command line of an editor, by its whole path: none is taken from the working directory."""
    said = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if os.name == "nt":
        return said
    if not said and not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageError("there is no terminal for an editor; set EDITOR to one that needs none")
    for line in [said] if said else _EDITORS:
        with suppress(FileNotFoundError):
            program, *more = shlex.split(line)
            return shlex.join([programs.find(os.path.expanduser(program)), *more])
    raise UsageError(f"no editor: {said or ', '.join(_EDITORS)} is not on PATH; set EDITOR")


def flow(head: str, text: str, facts: str = "") -> str:
    """Return *head*, *text* and the dim *facts* in a line; on a terminal in as many as it takes, below each other."""
    if not is_terminal():
        return f"{head} {text} {click.style(facts, dim=True)}" if facts else f"{head} {text}"
    width = _measure().columns
    indent = min(len(click.unstyle(head)) + 1, 16)
    rows, used = [(head, "")], len(click.unstyle(head))
    for word, is_fact in [*((word, False) for word in text.split()), *((word, True) for word in facts.split())]:
        if used + 1 + len(word) > width and used > indent:
            rows.append((" " * (indent - 1), ""))
            used = indent - 1
        said, told = rows[-1]
        rows[-1] = (said, f"{told} {word}") if is_fact else (f"{said} {word}", told)
        used += 1 + len(word)
    return "\n".join(said + (click.style(told, dim=True) if told else "") for said, told in rows)


def link(text: str, path: Path) -> str:
    """Return *text* as a link to the file *path*, where the terminal shows links (OSC 8)."""
    return f"\033]8;;{path.absolute().as_uri()}\033\\{text}\033]8;;\033\\" if _shows_links(os.environ) else text


def _shows_links(env: os._Environ[str]) -> bool:
    if forced := env.get("FORCE_HYPERLINK"):
        return forced != "0"
    if not is_terminal() or env.get("NO_COLOR") or env.get("TERM") in (None, "dumb", "linux"):
        return False
    marks: Iterable[str] = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "DOMTERM")
    vte = env.get("VTE_VERSION", "0")
    is_vte = vte.isdecimal() and int(vte) >= 5000
    return is_vte or env.get("TERM_PROGRAM") in _LINKING or any(env.get(mark) for mark in marks)


def track(items: Sequence[T], label: str, *, least: int) -> Iterable[T]:
    """Return *items* with a progress bar on stderr, if they are at *least* so many and somebody watches."""
    return _bar(items, label) if len(items) >= least and sys.stderr.isatty() else items


def _bar(items: Sequence[T], label: str) -> Iterator[T]:
    with click.progressbar(items, label=label, file=sys.stderr, update_min_steps=len(items) // 200 + 1) as bar:
        yield from bar


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


def press(key: Callable[[], str], wanted: Collection[str]) -> str:
    """Return the first of the *wanted* keys that *key* takes, and show it; those that are no letter end all."""
    while (pressed := _read_whole(key).lower()) not in wanted:
        pass
    click.echo(pressed if pressed.isalpha() else "q")
    return pressed


def _read_whole(key: Callable[[], str]) -> str:
    """Return the next key; what a cursor or function key sends ends with a letter that is none: ESC [ A."""
    if (pressed := key()) != "\x1b" or (pressed := key()) not in ("[", "O"):
        return pressed
    while (last := key()) and not (last.isalpha() or last == "~"):
        pass
    return "\x1b" if last else ""
