"""Edits of JSON text that keep every byte that is not theirs: order, indentation, comments, line ends.

Reads what `JSON.parse` reads, comments, and a comma after the last of a container; what it cannot read it refuses.
`drop` takes out exactly what `add` put in.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_STRING_OR_COMMENT: Final = re.compile(rf"{_STRING.pattern}|({_COMMENT.pattern})", re.DOTALL)
_LOOSE_COMMA: Final = re.compile(rf"{_STRING.pattern}|{_COMMENT.pattern}|(,{_SPACE.pattern}(?=[}}\]]))", re.DOTALL)
_SCALAR: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_BLANKS: Final = " \t\r\n"
_DEEPEST: Final = 100


class EditRefused(ValueError):
    """The text cannot be edited without destroying something; `line` counts from 1."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.line = line


class NotJson(EditRefused):
    """The text is not JSON that can be edited."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands in the text. Of a container the children, else the plain value."""

    start: int
    end: int
    kind: str  # "{", "[" or "" for a scalar
    children: tuple[Child, ...] = ()
    scalar: Any = None

    @property
    def value(self) -> Any:
        """What `json.loads` would make of it; of repeated keys the last counts."""
        if self.kind == "{":
            return {child.key: child.node.value for child in self.children}
        return [child.node.value for child in self.children] if self.kind else self.scalar

    def get(self, key: str) -> Node | None:
        """Return the member *key* of an object."""
        found = [child.node for child in self.children if child.key == key]
        return found[-1] if found and self.kind == "{" else None


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object, or an element (without a key) of an array."""

    key: str | None
    start: int
    node: Node


def parse(text: str) -> Node:
    """Return the tree of *text*; a BOM at its head is passed over.

    Raises:
        NotJson
    """
    node = _read_value(text, _skip(text, 1 if text.startswith("\ufeff") else 0), 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise _make_error(text, end, "something follows the value")
    return node


def _make_error(text: str, at: int, why: str) -> NotJson:
    return NotJson(why, text.count("\n", 0, at) + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _read_value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _make_error(text, at, "nested too deeply")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _read_container(text, at, opening, depth)
    found = _read_string(text, at) if opening == '"' else _SCALAR.match(text, at)
    if found is None:
        raise _make_error(text, at, f"a value is missing before {opening!r}" if opening else "it ends too early")
    return Node(at, found.end(), "", scalar=json.loads(found[0], parse_int=_read_number))


def _read_number(digits: str) -> float:
    return int(digits) if len(digits) < 1000 else float(digits)  # Python refuses to read longer ones


def _read_string(text: str, at: int) -> re.Match[str]:
    found = _STRING.match(text, at)
    if found is None:
        raise _make_error(text, at, "a string in double quotes is missing or has no end")
    try:
        json.loads(found[0])
    except ValueError:
        raise _make_error(text, at, "a string with a wrong escape") from None
    return found


def _read_container(text: str, start: int, opening: str, depth: int) -> Node:
    closing = "}" if opening == "{" else "]"
    children: list[Child] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        child = _read_child(text, at, opening, depth)
        children.append(child)
        at = _skip(text, child.node.end)
        if text[at : at + 1] == closing:
            break
        if text[at : at + 1] != ",":
            raise _make_error(text, at, f"a comma or {closing!r} is missing")
        at = _skip(text, at + 1)
    return Node(start, at + 1, opening, tuple(children))


def _read_child(text: str, at: int, opening: str, depth: int) -> Child:
    if opening == "[":
        return Child(None, at, _read_value(text, at, depth + 1))
    found = _read_string(text, at)
    colon = _skip(text, found.end())
    if text[colon : colon + 1] != ":":
        raise _make_error(text, colon, "a colon is missing")
    return Child(json.loads(found[0]), at, _read_value(text, _skip(text, colon + 1), depth + 1))


def add(text: str, container: Node, key: str | None, value: Any) -> str:
    """Return *text* with *value* as the last child of *container*, spelled as the rest of the text is."""
    newline, step = _find_style(text)
    outer = _find_indent(text, container.start)
    last = container.children[-1] if container.children else None
    head = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    tail_start = last.node.end if last else container.start + 1
    has_comma = bool(last) and text[_skip(text, tail_start)] == ","
    if has_comma:
        tail_start = _skip(text, tail_start) + 1
    at = max((one.end() for one in _COMMENT.finditer(text, tail_start, container.end - 1)), default=tail_start)
    first = container.children[0] if last else None
    inner = outer + step
    if first and "\n" not in text[container.start : first.start] and at == tail_start:
        new = f" {head}{json.dumps(value, ensure_ascii=False)}"
    else:
        if first and "\n" in text[container.start : first.start]:
            inner = _find_indent(text, first.start)
        spelled = json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{inner}")
        new = f"\n{inner}{head}{spelled}" + ("" if last else f"\n{outer}")
        new = new.replace("\n", newline)
    if has_comma:  # then there is one behind the new one too
        return f"{text[:at]}{new},{text[at:]}"
    comma = "," if last else ""
    return text[:tail_start] + comma + text[tail_start:at] + new + text[at:]


def _find_style(text: str) -> tuple[str, str]:
    found = _INDENT.search(text)
    return ("\r\n" if "\r\n" in text else "\n"), (found[1] if found else "  ")


def _find_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def drop(text: str, container: Node, index: int) -> str:
    """Return *text* without one child of *container*; the comments around it stay."""
    children = container.children
    child = children[index]
    start, end = len(text[: child.start].rstrip(_BLANKS)), child.node.end
    before, after = text[:start], text[end:]
    if index + 1 < len(children) or (index and text[_skip(text, end)] == ","):
        comma = _skip(text, end)
        after = text[end:comma] + text[comma + 1 :]
    elif index:
        comma = _skip(text, children[index - 1].node.end)
        before = text[:comma] + text[comma + 1 : start]
    else:
        comma = _skip(text, end)
        after = text[end:comma] + text[comma + 1 :] if text[comma] == "," else after
        after = _drop_line_end(after, _find_indent(text, container.start))
    since = children[index - 1].node.end if index else container.start + 1
    comments = [found for found in _COMMENT.finditer(text, since, start) if found[0].startswith("//")]
    is_behind_comment = bool(comments) and comments[-1].end() == start
    if is_behind_comment and not after.lstrip(" \t").startswith(("\r", "\n")):
        before += "\n"
    return before + after


def _drop_line_end(after: str, outer: str) -> str:
    """Take off what `add` puts behind the first child of a container."""
    for newline in ("\r\n", "\n"):
        if after.startswith(newline + outer):
            return after[len(newline + outer) :]
    return after


def first_comment(text: str) -> int | None:
    """Return the line of the first comment in *text*, counted from 1; None without one."""
    for found in _STRING_OR_COMMENT.finditer(text):
        if found[1]:
            return text.count("\n", 0, found.start()) + 1
    return None


def first_loose_comma(text: str) -> int | None:
    """Return the line, counted from 1, of the first bracket in *text* that a comma stands before; None without one."""
    for found in _LOOSE_COMMA.finditer(text):
        if found[1]:
            return text.count("\n", 0, found.end()) + 1
    return None
