"""YAML text to values, by YAML 1.2, within limits and with the line of a mistake; and one value of a text changed.

The only place with a YAML parser.

Importing the parser takes 17 ms, as long as all else that a hook imports together. So what most
files consist of is read here: nested mappings of words, numbers and simple quotes. For
anything more, and for every mistake, the parser is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from memsync.errors import ConfigError
from memsync.system.limits import DEEPEST, LARGEST_YAML, MOST_NODES, TOO_DEEP, TooMuch, check_size

# No tabs, and no line ends but one: where these may stand is for the parser to know.
_ASCII: Final = re.compile(r"[\n -~]*")
_LETTERS: Final = "[\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*"  # takes 2 ms to compile: when needed
_CONTROL: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
# So many brackets in a row take the parser more than a second before it hands on the first of them.
_STEEP: Final = re.compile(rf"(?:[\[{{][^\[\]{{}}]{{0,8}}+){{{DEEPEST + 1}}}")
_LONGEST_NUMBER: Final = 100  # digits; Python does not print ten thousand
_KEY: Final = re.compile(r"( *)([A-Za-z_][\w.-]*):(?: |$)", re.ASCII)
_WORDS: Final = re.compile(r"[A-Za-z](?:[^:]|:(?! |$))*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?", re.ASCII)
_QUOTED: Final = re.compile(r"\"([ !#-\[\]-~]*)\"|'([ -&(-~]*)'")
_TRUTHS: Final = {"true": True, "false": False}
_NO_WORDS: Final = frozenset({"true", "false", "null"})  # in whatever case


class NotYaml(ValueError):
    """The text is not YAML, or passes a limit; `line` counts from 1, None where nothing says."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


def load(data: bytes, path: Path) -> Any:
    """Return what *data*, the content of the file *path*, says; None if nothing.

    Raises:
        ConfigError: it is not YAML, or passes a limit.
    """
    try:
        return read(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line, why = data.count(b"\n", 0, error.start) + 1, f"byte 0x{data[error.start]:02x} is not UTF-8"
    except NotYaml as error:
        line, why = error.line or 0, str(error)
    raise ConfigError(f"{path}{f':{line}' if line else ''}: not YAML that can be read ({why}); fix or remove it")


def read(text: str) -> Any:
    """Return what *text* says; None if nothing.

    Raises:
        NotYaml: it is not YAML, or passes a limit.
    """
    check(text)
    plain = read_plain(text)
    return _ask_parser(text, "load", "safe") if plain is None else plain or None


def check(text: str) -> None:
    """Refuse *text* that is too long, or has characters that no YAML may have.

    Raises:
        NotYaml
    """
    try:
        check_size(text, LARGEST_YAML)
    except TooMuch as error:
        raise NotYaml(str(error)) from None
    if found := _CONTROL.search(text):
        raise NotYaml(f"a control character, U+{ord(found[0]):04X}", text.count("\n", 0, found.start()) + 1)
    if found := _STEEP.search(text):
        raise NotYaml(TOO_DEEP, text.count("\n", 0, found.start()) + 1)


def compose(text: str) -> Any:
    """Return the nodes of *text* with their places in it; None if it is empty."""
    check(text)
    return _ask_parser(text, "compose", "rt")


def _ask_parser(text: str, verb: str, kind: str) -> Any:
    return _run(getattr(_parser(kind), verb), text)


def _run(parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except Exception as error:  # noqa: BLE001 - the parser meets odd values with KeyError, AttributeError and more
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).partition("\n")[0] or type(error).__name__
        raise NotYaml(why, mark.line + 1 if mark else getattr(error, "line", None)) from None


def _parser(kind: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.events import AliasEvent

    class Bounded(Composer):
        """Builds nodes while they are few and flat, counting an alias as all that it stands for."""

        def __init__(self, loader: Any = None) -> None:
            super().__init__(loader)
            self._depth = self._count = 0
            self._sizes: dict[int, int] = {}

        def compose_node(self, parent: Any, index: int) -> Any:
            event = self.parser.peek_event()
            before = self._count
            self._count += 1
            self._depth += 1
            if self._depth > DEEPEST:
                raise NotYaml(TOO_DEEP, event.start_mark.line + 1)
            node = super().compose_node(parent, index)
            self._depth -= 1
            if len(getattr(event, "value", "")) > _LONGEST_NUMBER and str(node.tag).endswith(":int"):
                raise NotYaml("a number that is too long", event.start_mark.line + 1)
            if isinstance(event, AliasEvent):
                self._count += self._sizes.get(id(node), MOST_NODES)  # unknown: it stands within itself
            else:
                self._sizes[id(node)] = self._count - before
            if self._count > MOST_NODES:
                raise NotYaml(f"more than {MOST_NODES:,} values, aliases counted", event.start_mark.line + 1)
            return node

    yaml = YAML(typ=kind, pure=True)
    yaml.Composer = Bounded
    return yaml


def read_plain(text: str) -> dict[str, Any] | None:
    """Return the mapping that *text* holds; None if only a parser can tell."""
    tree = _Tree()
    rows = [row for row in text.split("\n") if row.strip(" ") and not row.lstrip(" ").startswith("#")]
    is_plain = (_ASCII.fullmatch(text) or re.fullmatch(_LETTERS, text)) and all(map(tree.take, rows))
    return tree.root if is_plain and tree.begun is None else None


class _Tree:
    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self.begun: dict[str, Any] | None = None  # that of the key before, if it had no value: its rows stand deeper
        self._open = [(0, self.root)]  # the mappings that the next row may belong to, and their columns

    def take(self, row: str) -> bool:
        """Take in the next row; False if only a parser can tell what it means."""
        found = _KEY.match(row)
        if found is None:
            return False
        column, key, text = len(found[1]), found[2], _drop_comment(row[found.end() :])
        inside = self._find_mapping(column)
        value = _parse_value(text) if text else {}
        if inside is None or value is None or key in inside or key.lower() in _NO_WORDS:
            return False
        inside[key] = value
        self.begun = None if text else value
        return True

    def _find_mapping(self, column: int) -> dict[str, Any] | None:
        if self.begun is not None:
            if column <= self._open[-1][0] or len(self._open) >= DEEPEST:
                return None  # a key without a value, or too deep
            self._open.append((column, self.begun))
        while column < self._open[-1][0]:
            self._open.pop()
        return self._open[-1][1] if column == self._open[-1][0] else None


def _drop_comment(text: str) -> str:
    return "" if text.lstrip(" ").startswith("#") else text.partition(" #")[0].strip(" ")


def _parse_value(text: str) -> Any:
    """Return the value that *text* spells; None if only a parser can tell."""
    if (number := _NUMBER.fullmatch(text)) and text != "-0":
        return float(text) if number[1] else int(text)
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] if quoted[1] is not None else quoted[2]
    if _WORDS.fullmatch(text) and text.lower() not in _NO_WORDS:
        return text
    return _TRUTHS.get(text)


def load_tree(text: str) -> tuple[Any, Any]:
    """Return the tree of *text* with its comments and quotes, and the YAML that writes it back."""
    check(text)
    yaml = _parser("rt")
    yaml.preserve_quotes = True
    yaml.width = 10**9
    return _run(yaml.load, text), yaml


def set_value(text: str, key: str, *aliases: str, value: Any) -> str:
    """Return the YAML *text* with the dotted *key* set, which other spellings of it no longer contradict."""
    root, yaml = load_tree(text)
    value = list(value) if isinstance(value, tuple) else value
    comments = "" if root else text
    root = root or yaml.map()
    spelled = [place for name in (*aliases, key) for place in _find_spellings(root, name)]
    for node, name in spelled[:-1]:
        del node[name]
    if spelled and key.endswith(spelled[-1][1]):
        spelled[-1][0][spelled[-1][1]] = value
    else:
        for node, name in spelled[-1:]:
            del node[name]
        _put(root, key, value, yaml.map)
    return (comments.rstrip() + "\n" if comments.strip() else "") + _dump(yaml, root)


def drop_value(text: str, key: str, *aliases: str) -> str:
    """Return the YAML *text* without the dotted *key*, in any spelling."""
    root, yaml = load_tree(text)
    for name in (*aliases, key):
        for node, spelled in list(_find_spellings(root, name)):
            del node[spelled]
    for name in [name for name, inner in root.items() if inner == {}]:
        del root[name]
    return _dump(yaml, root) if root else ""


def _dump(yaml: Any, root: Any) -> str:
    from io import StringIO

    out = StringIO()
    yaml.dump(root, out)
    return out.getvalue()


def _find_spellings(node: Any, key: str) -> Iterator[tuple[Any, str]]:
    """Yield each mapping and name that say the dotted *key*: `a.b: 1` as well as `a: {b: 1}`."""
    if key in node:
        yield node, key
    for name, inner in node.items():
        if key.startswith(f"{name}.") and isinstance(inner, dict):
            yield from _find_spellings(inner, key.removeprefix(f"{name}."))


def _put(node: Any, key: str, value: Any, new_map: Callable[[], Any]) -> None:
    """Set the dotted *key* in the group that is there already, else in new ones."""
    group, _, rest = key.partition(".")
    for name, inner in node.items():
        if key.startswith(f"{name}.") and isinstance(inner, dict):
            group, rest = name, key.removeprefix(f"{name}.")
    if not rest:
        node[group] = value
        return
    if not isinstance(node.get(group), dict):
        node[group] = new_map()
    _put(node[group], rest, value, new_map)
