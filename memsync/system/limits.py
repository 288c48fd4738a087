"""How much a file may ask of us, and the readers of JSON and TOML that hold it; `yamltext` holds it for YAML.

A file of a repository is a stranger's. Without limits a few hundred bytes of it
take minutes or end the process: nesting, copies of copies, endless scalars.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

LARGEST_YAML: Final = 128 * 1024  # characters; the parser reads about 100 a millisecond at its slowest
LARGEST_SETTINGS: Final = 512 * 1024  # characters of JSON or TOML in the settings of programs
LARGEST_IMPORT: Final = 256 * 1024 * 1024  # bytes of a file with memories of others
LARGEST_MESSAGE: Final = 16 * 1024 * 1024  # bytes that another program may send at once
DEEPEST: Final = 64  # levels of nesting; what people write by hand has six
TOO_DEEP: Final = f"nested more than {DEEPEST} levels deep"
MOST_NODES: Final = 5_000  # values in a YAML file, each alias counted as what it stands for

_BRACKETS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_DOTTED: Final = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}"""
)  # a TOML key that tomllib takes gigabytes for: `a.a.a.a…`


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
    for token in _BRACKETS.finditer(text):
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


def read_toml(text: str) -> dict[str, Any]:
    """Return what the TOML *text* says.

    Raises:
        ValueError: it is not TOML, or a limit is passed (TooMuch).
    """
    import tomllib

    check_size(text, LARGEST_SETTINGS)
    check_depth(text)
    if found := _DOTTED.search(text):
        raise TooMuch(TOO_DEEP, text.count("\n", 0, found.start()) + 1)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TooMuch("nested too deeply") from None
