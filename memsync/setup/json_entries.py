"""Our entries in a client's settings: put in, take out, look. Text in, text out; what is not ours keeps its bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple

from memsync.clients.facts import Entry
from memsync.setup import jsonedit
from memsync.setup.entries import Look, hook_of, is_server, look
from memsync.setup.jsonedit import Child, Node

BLANK: Final = "\ufeff \t\r\n"
_EMPTY: Final = "{}\n"
Keys = tuple[str, ...]


class Misfit(jsonedit.EditRefused):
    """The settings hold something else where our entry belongs."""


class Own(NamedTuple):
    """An entry of ours in a file: where, the node that holds it, its place there, and what it does."""

    keys: Keys
    container: Node
    at: int
    does: tuple[str, str] | None  # name and client of a hook; None for the server, and for a word in a list
    word: str = ""


def add(text: str, wanted: Sequence[Entry]) -> str:
    """Return *text* with every entry of *wanted*, and without hooks of ours that are not wanted any more.

    An entry that is there keeps its spelling: somebody may have given it a path or a longer time limit. Only the
    command that was once written without a guard gets one.

    Raises:
        NotJson, Misfit: it cannot be done without destroying something.
    """
    text = text if text.strip(BLANK) else _EMPTY
    text = _drop(
        text, lambda own: own.does is not None and not any(_is_wanted_by(own, one) for one in wanted), (), wanted
    )
    for one in wanted:
        text = _add(text, one)
    return text


def _add(text: str, wanted: Entry) -> str:
    nodes = _walk(jsonedit.parse(text), wanted.keys)
    for depth, node in enumerate(nodes):
        is_list = depth == len(wanted.keys)
        if node.kind != ("[" if is_list else "{") and (wanted.is_element or not is_list):
            what = f"{'.'.join(wanted.keys[:depth]) or 'the file'} is not {'a list' if is_list else 'an object'}"
            raise Misfit(what, text.count("\n", 0, node.start) + 1)
    if len(nodes) > len(wanted.keys):
        is_there = not wanted.is_element or any(_is_wanted_by(own, wanted) for own in find_owned(nodes[0], [wanted]))
        return text if is_there else jsonedit.add(text, nodes[-1], None, wanted.value)
    value = [wanted.value] if wanted.is_element else wanted.value
    for outer in reversed(wanted.keys[len(nodes) :]):
        value = {outer: value}
    return jsonedit.add(text, nodes[-1], wanted.keys[len(nodes) - 1], value)


def _is_wanted_by(own: Own, wanted: Entry) -> bool:
    if not wanted.is_element:
        return own.keys == wanted.keys[:-1] and own.does is None
    if isinstance(wanted.value, str):
        return own.keys == wanted.keys and own.word == wanted.value
    handler = wanted.value["hooks"][0] if "hooks" in wanted.value else wanted.value
    return own.keys == wanted.keys and own.does == hook_of(handler)


def remove(text: str, wanted: Sequence[Entry], kept: Collection[Keys] = ()) -> str:
    """Return *text* without anything of ours, nor the containers that this empties, except those *kept*.

    Ours are hooks where *wanted* has some, the server, and the words of *wanted* in lists, such as permissions.
    """
    return _drop(text, lambda _: True, kept, wanted)


def _drop(text: str, is_meant: Callable[[Own], bool], kept: Collection[Keys], wanted: Sequence[Entry]) -> str:
    while own := next(filter(is_meant, find_owned(jsonedit.parse(text), wanted)), None):
        text = _prune(jsonedit.drop(text, own.container, own.at), own.keys, kept)
    return text


def _prune(text: str, keys: Keys, kept: Collection[Keys]) -> str:
    """Take out the container that a dropped entry was in, and those around it, as far as they are empty now."""
    for depth in range(len(keys), 0, -1):
        *_, parent, node = _walk(jsonedit.parse(text), keys[:depth])
        if node.children or keys[:depth] in kept:
            break
        index = max(at for at, child in enumerate(parent.children) if child.key == keys[depth - 1])
        text = jsonedit.drop(text, parent, index)
    return text


def _walk(node: Node, keys: Keys) -> list[Node]:
    nodes = [node]
    for key in keys:
        found = nodes[-1].get(key)
        if found is None:
            break
        nodes.append(found)
    return nodes


def empty_containers(text: str, wanted: Sequence[Entry]) -> list[Keys]:
    """Return which of the containers that our entries go to are there, and empty: they are the user's."""
    found: list[Keys] = []
    root = jsonedit.parse(text) if wanted else None
    for keys in {one.keys[:depth] for one in wanted for depth in range(1, len(one.keys) + 1)}:
        node = _reach(root, keys) if root else None
        if node and node.kind and not node.children:
            found.append(keys)
    return sorted(found)


def find_owned(root: Node, wanted: Sequence[Entry]) -> Iterator[Own]:
    """Yield every entry of ours in the settings *root*, in the places of *wanted*: hooks, the server, words."""
    for keys, event in _find_events(root, wanted):
        for at, item in enumerate(_children(event, "[")):
            yield from _find_owned_in_item(keys, event, at, item.node)
    for one in wanted:
        place, name = (one.keys, "") if one.is_element else (one.keys[:-1], one.keys[-1])
        if node := _reach(root, place):
            yield from _find_owned_value(one, Own(place, node, 0, None), name)


def _find_owned_value(one: Entry, own: Own, name: str) -> Iterator[Own]:
    for at, child in enumerate(own.container.children):
        if not one.is_element and child.key == name and is_server(child.node.value):
            yield own._replace(at=at)
        elif one.is_word and child.key is None and child.node.scalar == one.value:
            yield own._replace(at=at, word=one.value)


def _find_events(root: Node, wanted: Sequence[Entry]) -> Iterator[tuple[Keys, Node]]:
    """Yield every event, with its keys, of the objects in which *wanted* has hooks."""
    for place in dict.fromkeys(one.keys[:-1] for one in wanted if one.kind == "hooks"):
        for event in _children(_reach(root, place), "{"):
            yield (*place, event.key or ""), event.node


def list_words(text: str, wanted: Sequence[Entry]) -> list[str]:
    """Return which of the words that are *wanted* are in *text*."""
    root = jsonedit.parse(text) if wanted and text.strip(BLANK) else None
    return [own.word for own in find_owned(root, wanted) if own.word] if root else []


def _reach(root: Node, keys: Keys) -> Node | None:
    nodes = _walk(root, keys)
    return nodes[-1] if len(nodes) == len(keys) + 1 else None


def _children(node: Node | None, kind: str) -> tuple[Child, ...]:
    return node.children if node and node.kind == kind else ()


def _find_owned_in_item(keys: Keys, event: Node, at: int, item: Node) -> Iterator[Own]:
    """Yield what is ours of *item*: a handler, or a group of them, of which it may hold others too."""
    if does_itself := hook_of(item.value):
        yield Own(keys, event, at, does_itself)
    handlers = item.get("hooks")
    does = [hook_of(child.node.value) for child in _children(handlers, "[")]
    if handlers and all(does):
        yield from (Own(keys, event, at, one) for one in does if one)
    elif handlers:
        yield from (Own(keys, handlers, index, one) for index, one in enumerate(does) if one)


def compare(text: str, wanted: Sequence[Entry]) -> Look:
    """Compare *text* with *wanted*."""
    root = jsonedit.parse(text if text.strip(BLANK) else _EMPTY)
    found = list(find_owned(root, wanted))
    present = [one for one in wanted if any(_is_wanted_by(own, one) for own in found)]
    stale = [own.keys[-1] for own in found if not any(_is_wanted_by(own, one) for one in wanted)]
    return look(wanted, present, stale)
