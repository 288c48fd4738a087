"""How much a file may ask of us, with the readers of JSON and TOML that hold it (`yamltext` holds it for YAML), and how long we may work.

A file of a repository is a stranger's. Without limits a few hundred bytes of it
take minutes or end the process: nesting, copies of copies, endless scalars.
Whatever git or an agent waits for has a clock: when it has run out the process says so and ends.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any, Final, TypeVar

T = TypeVar("T")
LARGEST_YAML: Final = 128 * 1024  # characters; the parser reads about 100 a millisecond at its slowest
LARGEST_SETTINGS: Final = 512 * 1024  # characters of JSON or TOML in the settings of programs
LARGEST_IMPORT: Final = 256 * 1024 * 1024  # bytes of a file with memories of others
LARGEST_MESSAGE: Final = 16 * 1024 * 1024  # bytes that another program may send at once
DEEPEST: Final = 64  # levels of nesting; what people write by hand has six
TOO_DEEP: Final = f"nested more than {DEEPEST} levels deep"
MOST_NODES: Final = 5_000  # values in a YAML file, each alias counted as what it stands for

_BRACKETS: Final = r'(?s)"(?:[^"\\]++|\\.)*+"?|[\[\]{}]'
_DOTTED: Final = rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}"""  # a TOML key that tomllib takes gigabytes for: `a.a.a.a…`
_PAUSE = 0.02  # seconds between two looks at what was done, at least
_GRACE = 0.5  # seconds after which the process ends without a word
GIT: Final = {"hook": 30.0, "merge": 120.0}  # seconds; a merge is worth waiting for, and has more to read


class TooMuch(ValueError):
    """A text asks for more than a limit allows; `line` is where, counted from 1."""

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.line = line


def check_size(text: str | bytes, most: int) -> None:
    """Refuse *text* that is longer than *most*.

    Raises:
        TooMuch
    """
    if len(text) > most:
        unit = "bytes" if isinstance(text, bytes) else "characters"
        raise TooMuch(f"{len(text):,} {unit}, more than {most:,}")


def check_depth(text: str) -> None:
    """Refuse JSON *text* whose brackets are nested deeper than DEEPEST; whether they match is for the parser.

    Raises:
        TooMuch
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for token in re.finditer(_BRACKETS, text):
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        if depth > DEEPEST:
            raise TooMuch(TOO_DEEP, text.count("\n", 0, token.start()) + 1)


def is_deep(value: Any) -> bool:
    """Tell whether the JSON *value*, which is built already, is nested deeper than DEEPEST."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True


def read_json(data: str | bytes, most: int = LARGEST_MESSAGE) -> Any:
    """Return what the JSON *data* says.

    Raises:
        ValueError: it is not JSON, not UTF-8, or a limit is passed (TooMuch).
    """
    check_size(data, most)
    text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    check_depth(text)
    return json.loads(text)


def read_object(data: str | bytes, most: int = LARGEST_MESSAGE) -> dict[str, Any]:
    """Return the object that the JSON *data* says; an empty one if it says another thing, or nothing that can be read."""
    try:
        found = read_json(data, most)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def list_only(value: object, kind: type[T]) -> list[T]:
    """Return what of the list *value* is of that *kind*; nothing if it is no list."""
    return [one for one in value if isinstance(one, kind)] if isinstance(value, list) else []


def read_toml(text: str) -> dict[str, Any]:
    """Return what the TOML *text* says.

    Raises:
        ValueError: it is not TOML, or a limit is passed (TooMuch).
    """
    import tomllib

    check_size(text, LARGEST_SETTINGS)
    check_depth(text)
    if found := re.search(_DOTTED, text):
        raise TooMuch(TOO_DEEP, text.count("\n", 0, found.start()) + 1)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TooMuch("nested too deeply") from None


def start_clock(
    seconds: float, last_words: Callable[[], int], *, own: float | None = None, will_fork: bool = False
) -> None:
    """End the process after *seconds* with the code that *last_words* returns, whatever it is doing.

    With *own* also after so many seconds of its own work, its start included: beside others it may be waiting for its turn.
    """
    Thread(target=_end, args=(seconds, own, last_words), daemon=True).start()
    if not will_fork:  # a child could never set this clock again
        import faulthandler

        # Code in C may keep every thread of Python from running, but not this one, which ends with code 1.
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=2)


def _end(seconds: float, own: float | None, last_words: Callable[[], int]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and (own is None or (rest := own - time.process_time()) > 0):
        time.sleep(left if own is None else min(left, max(rest, _PAUSE)))
    code = 0
    try:
        if sys.platform != "win32":
            os.set_blocking(2, False)  # whoever does not read what is said must not keep us
        code = last_words()
    finally:
        os._exit(code)


def seconds_of(env: Mapping[str, str], name: str, default: float) -> float:
    """Return how many seconds the variable *name* allows, from a tenth of one to an hour; *default* without a number."""
    try:
        return min(max(0.1, float(env.get(name, default))), 3600.0)
    except ValueError:
        return default


def count_git_seconds(kind: str, env: Mapping[str, str]) -> float:
    """Return how long what git runs may take, a hook or a merge."""
    return seconds_of(env, "MEMSYNC_GIT_SECONDS", GIT[kind])


def start_git_clock(kind: str, env: Mapping[str, str], last_words: Callable[[str], int]) -> None:
    """Start the clock of what git runs, a hook or a merge; *last_words* is told after how many seconds."""
    seconds = count_git_seconds(kind, env)
    start_clock(seconds, lambda: last_words(f"{seconds:g} seconds; MEMSYNC_GIT_SECONDS allows more"))
