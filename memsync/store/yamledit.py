"""One value of YAML text changed, and every comment, order and quote of the rest kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from memsync.store import yamltext


def set_value(text: str, key: str, *aliases: str, value: Any) -> str:
    """Return the YAML *text* with the dotted *key* set, which other spellings of it no longer contradict.

    Raises:
        NotYaml
    """
    root, yaml = yamltext.edit(text)
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
    """Return the YAML *text* without the dotted *key*, in any spelling.

    Raises:
        NotYaml
    """
    root, yaml = yamltext.edit(text)
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
