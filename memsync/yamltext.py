"""YAML text to values, by YAML 1.2, with the line of a mistake.

Importing a YAML parser takes 17 ms, as long as all else that a hook imports together. So what most
settings consist of is read here: nested mappings of words, numbers and simple quotes. For
anything more, and for every mistake, the parser is asked.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from memsync.errors import ConfigError

# No tabs, and no line ends but one: where these may stand is for the parser to know.
_LETTERS: Final = re.compile("[\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*")
_BLANK: Final = re.compile(r"[ ]*(?:#.*)?")
_ROW: Final = re.compile(r"( *)([A-Za-z_][\w.-]*):(?: +(\S.*?))??(?: +#.*| *)", re.ASCII)
_WORDS: Final = re.compile(r"[A-Za-z][\w./-]*(?::[\w./-]+)*(?: [A-Za-z][\w./-]*(?::[\w./-]+)*)*", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?", re.ASCII)
_QUOTED: Final = re.compile(r"\"([ !#-\[\]-~]*)\"|'([ -&(-~]*)'")
_TRUTHS: Final = {"true": True, "false": False}
_NO_WORDS: Final = frozenset({"true", "false", "null"})  # in whatever case


def load(data: bytes, path: Path) -> Any:
    """Return what *data*, the content of the file *path*, says; None if nothing.

    Raises:
        ConfigError: it is not YAML.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong(path, error) from None
    plain = read_plain(text)
    return _parsed(text, path) if plain is None else plain or None


def _parsed(text: str, path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError) as error:
        raise _wrong(path, error) from None


def _wrong(path: Path, error: Exception) -> ConfigError:
    mark = getattr(error, "problem_mark", None)
    where = f"{path}:{mark.line + 1}" if mark else str(path)
    return ConfigError(f"{where}: not YAML ({getattr(error, 'problem', None) or error}); mend or remove it")


def read_plain(text: str) -> dict[str, Any] | None:
    """Return the mapping that *text* holds; None if it takes a parser to say."""
    tree = _Tree()
    rows = [row for row in text.split("\n") if not _BLANK.fullmatch(row)]
    is_plain = _LETTERS.fullmatch(text) and all(map(tree.take, map(_ROW.fullmatch, rows)))
    return tree.root if is_plain and tree.begun is None else None


class _Tree:
    """Nested mappings, row by row."""

    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self.begun: dict[str, Any] | None = None  # that of the key before, if it had no value: its rows stand deeper
        self._open = [(0, self.root)]  # the mappings that the next row may belong to, and their columns

    def take(self, row: re.Match[str] | None) -> bool:
        """Take in the next row; False if it takes a parser to say what it means."""
        if row is None:
            return False
        column, key, said = len(row[1]), row[2], row[3]
        inside = self._at(column)
        value = {} if said is None else _value(said)
        if inside is None or value is None or key in inside or key.lower() in _NO_WORDS:
            return False
        inside[key] = value
        self.begun = value if said is None else None
        return True

    def _at(self, column: int) -> dict[str, Any] | None:
        """Return the mapping whose keys stand in *column*."""
        if self.begun is not None:
            if column <= self._open[-1][0]:
                return None  # a key without a value
            self._open.append((column, self.begun))
        while column < self._open[-1][0]:
            self._open.pop()
        return self._open[-1][1] if column == self._open[-1][0] else None


def _value(said: str) -> Any:
    """Return the value that *said* spells; None if it takes a parser to say."""
    if (number := _NUMBER.fullmatch(said)) and said != "-0":
        return float(said) if number[1] else int(said)
    if quoted := _QUOTED.fullmatch(said):
        return quoted[1] if quoted[1] is not None else quoted[2]
    if _WORDS.fullmatch(said) and said.lower() not in _NO_WORDS:
        return said
    return _TRUTHS.get(said)
