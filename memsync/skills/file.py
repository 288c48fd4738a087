"""SKILL.md: reading it and the front matter of any note, and changing single lines of a file that somebody wrote by hand.

The format is that of the Agent Skills specification (agentskills.io); what it has no
key for lives under `metadata`. Works on bytes; knows nothing of directories.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from memsync.errors import InvalidSkill, Remedy
from memsync.format import scopes
from memsync.format.jsonl import MARKER_SIZE, Problem, read_marker
from memsync.records import Skill, derive_skill_id
from memsync.store import yamltext

BOM: Final = "\ufeff"
FENCE: Final = re.compile(r"^-{3,}[ \t]*\r?$", re.MULTILINE)
_ROW: Final = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")
# Skill field -> where the file has it: our place first, then where else it is read (older files have them at the top).
PLACES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "name": (("name",),),
    "description": (("description",),),
    "id": (("metadata", "id"), ("id",)),
    "scope": (("metadata", scopes.KEY),),  # of a copy only, where it is not the project's own
    "tags": (("metadata", "tags"), ("tags",)),
    "trigger_pattern": (
        ("metadata", "trigger-pattern"),
        ("metadata", "trigger_pattern"),
        ("trigger_pattern",),
        ("trigger-pattern",),
    ),
    "source_session_id": (("metadata", "source-session-id"), ("metadata", "source_session_id"), ("source_session_id",)),
}
# Text to YAML 1.2 and to us; a client that reads YAML 1.1 takes it for a truth or a number.
_OLD_TRUTH: Final = re.compile(r"y|n|yes|no|on|off|[0-9][0-9_:]*", re.IGNORECASE)
# Longer rows of these are underlines of headings.
_MARKERS: Final = frozenset((kind, MARKER_SIZE) for kind in "<=>")
# What people put above the front matter, where no client looks for it.
_ABOVE: Final = re.compile(rf"(?:[\s{BOM}]|<!--.*?-->)*+", re.DOTALL)
_NAMES_SKILL: Final = re.compile(r"^(?:name|description):", re.MULTILINE)
_STRAY: Final = re.compile(r"^[ \t\ufeff]*(?:-{3,}|\+{3})[ \t]*\r?\n[ \t]*\w[\w-]*[ \t]*[:=]", re.MULTILINE)

Value = str | list[str]


class SkillFile(NamedTuple):
    """What a SKILL.md says, as far as it can be read, and the problems of the rest."""

    skill: Skill
    front: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()


class Parts(NamedTuple):
    """A decoded file: `head` is the YAML between the fences, `body` all behind the second one, `above` a BOM or comments."""

    above: str
    before: str
    head: str
    fence: str
    body: str

    @property
    def front(self) -> Mapping[str, Any]:
        """What the front matter says, as far as it can be read."""
        return load_yaml(self.head)[0]

    @property
    def newline(self) -> str:
        """How the file ends its lines, going by the first one."""
        first, _, _ = (self.before + self.head + self.body).partition("\n")
        return "\r\n" if first.endswith("\r") else "\n"

    def text(self) -> str:
        """Return the file again."""
        return self.above + self.before + self.head + self.fence + self.body

    @property
    def line(self) -> int:
        """The number of the first line of `head`."""
        return (self.above + self.before).count("\n") + 1


def split(text: str) -> Parts | None:
    """Cut *text* at its fences; None where it has no front matter. Comments may stand above one that says whose it is."""
    start = _ABOVE.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    above, bare = text[:start], text[start:]
    first = FENCE.match(bare)
    if not first or not (second := FENCE.search(bare, min(first.end() + 1, len(bare)))):
        return None
    begin, end, after = first.end() + 1, second.start(), second.end() + 1
    if above not in ("", BOM) and not _NAMES_SKILL.search(bare, begin, end):  # two rules across the page
        return None
    return Parts(above, bare[:begin], bare[begin:end], bare[end:after], bare[after:])


def is_described_again(body: str) -> bool:
    """Tell whether the text of a skill begins with another front matter."""
    return split(f"\n{body}") is not None


def read(data: bytes, folder: str) -> SkillFile:
    """Read the file of the skill in *folder*; never raises.

    A value that YAML does not take (`description: Use when: …`) is read as the clients do, as the rest of its line.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _make_file({}, "", folder, [Problem(line, f"not UTF-8 at byte {error.start + 1} of the file")])
    problems = [
        Problem(number, "a git conflict marker")
        for number, row in enumerate(data.split(b"\n"), 1)
        if read_marker(row) in _MARKERS
    ]
    parts = split(text)
    if parts is None:
        stray, line, why = _STRAY.search(text), 1, "the file must begin with `---`, name, description and `---`"
        if stray:
            line = text.count("\n", 0, stray.start()) + 1
            why = "what looks like one is not at the beginning of the file, or not between two lines of `---`"
        problems.append(Problem(line, f"no front matter: {why}"))
        return _make_file({}, text.removeprefix(BOM), folder, problems)
    front, wrong = load_front(text[len(parts.above) :])
    wrong = [problem._replace(number=problem.number + parts.line - 2) for problem in wrong]
    return _make_file(front, parts.body, folder, [*problems, *wrong])


def _make_file(front: Mapping[str, Any], body: str, folder: str, problems: list[Problem]) -> SkillFile:
    values = {field: value_of(front, field) for field in PLACES}
    skill = Skill(
        id=as_text(values["id"]) or derive_skill_id(folder),
        name=folder,
        description=as_text(values["description"]),
        instructions=body.replace("\r\n", "\n").strip("\n"),
        trigger_pattern=as_text(values["trigger_pattern"]),
        tags=as_tags(values["tags"]),
        source_session_id=as_text(values["source_session_id"]) or None,
    )
    return SkillFile(skill, front, tuple(problems))


def value_of(front: Mapping[str, Any], field: str) -> Any:
    """Return the value of a Skill field, wherever the file has it; None if it has none."""
    return get(front, find_place(front, field))


def find_place(front: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """Return where the file has the value of a Skill field, or else should have it."""
    return next((path for path in PLACES[field] if get(front, path) is not None), PLACES[field][0])


def get(front: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at *path*; None if there is none."""
    found: Any = front
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def as_text(value: Any) -> str:
    """Return a YAML value as one line of text."""
    return "" if value is None else " ".join(str(value).split())


def as_tags(value: Any) -> tuple[str, ...]:
    """Return tags from a list, or from text with commas or, without any, spaces between them."""
    words = value if isinstance(value, list) else as_text(value).split("," if "," in as_text(value) else None)
    return tuple(dict.fromkeys(tag for word in words if (tag := as_text(word))))


def anchors_of(front: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the skill says that it is for, as anchors of memories are spelled: a list, or text with commas."""
    said = get(front, ("metadata", "anchors"))
    words = said if isinstance(said, list) else as_text(said).split(",")
    return tuple(dict.fromkeys(anchor for word in words if (anchor := as_text(word))))


def tag_text(tags: Sequence[str]) -> str:
    """Return *tags* as `as_tags` reads them: with spaces between them, or with commas if one has a space."""
    if any(" " in tag for tag in tags):
        return ", ".join(tags) + "," * (len(tags) == 1)
    return " ".join(tags)


def make(instructions: str, fields: Mapping[str, Any]) -> bytes:
    """Return the file of a new skill; *instructions* may be a whole one, of which only *fields* change."""
    if split(instructions) is None:
        blank = f"---\nname: {fields['name']}\n---\n".encode()
        return edit(blank, {**fields, "instructions": instructions})
    return edit(f"{instructions}\n".encode(), fields)


def edit(data: bytes, changes: Mapping[str, Any]) -> bytes:
    """Return *data* with the given Skill fields set; empty ones are taken out.

    Only the lines of these fields change: comments, quotes, order, line ends, BOM and
    the end of the file stay. A value stays where the file has it, in its style.

    Raises:
        InvalidSkill: the file cannot be read, or not be changed without touching more.
    """
    text = data.decode("utf-8")
    parts = split(text)
    if parts is None:
        newline = "\r\n" if "\r\n" in text else "\n"
        fence = f"---{newline}"
        parts = Parts(BOM * text.startswith(BOM), fence, "", fence, newline + text.removeprefix(BOM))
    _, problems = load_yaml(parts.head)
    if problems:
        where = f"line {problems[0].number + parts.line - 2}"
        raise InvalidSkill(f"{where}: {problems[0].why}; fix it, or try ", Remedy("skill validate --fix"))
    for field in (field for field in changes if field != "instructions"):
        path = find_place(parts.front, field)
        parts = set_value(parts, path, _spell(field, changes[field], get(parts.front, path)))
    if "instructions" in changes:
        body = changes["instructions"].strip("\n").replace("\n", parts.newline)
        fence = parts.fence if parts.fence.endswith("\n") else parts.fence + parts.newline
        parts = parts._replace(fence=fence, body=parts.newline + body + parts.newline)
    return parts.text().encode("utf-8")


def _spell(field: str, value: Any, old: Any) -> Value | None:
    if field == "tags":
        value = list(value) if isinstance(old, list) else tag_text(value)
    return value or None


def set_value(parts: Parts, path: tuple[str, ...], value: Value | None, *, comment: str = "") -> Parts:
    """Set or, with None, take out the value at *path*; a new line gets *comment* behind its value.

    Raises:
        InvalidSkill: other values would change with it.
    """
    front = parts.front
    wanted = _set(front, path, value)
    if wanted == front:
        return parts
    parts = parts._replace(head=_edit_head(parts.head, path, value, parts.newline, comment))
    if load_yaml(parts.head) != (wanted, []):
        raise InvalidSkill(f"{'.'.join(path)} cannot be changed without touching other lines; edit it by hand")
    return parts


def _set(front: Mapping[str, Any], path: tuple[str, ...], value: Value | None) -> dict[str, Any]:
    made: dict[str, Any] = deepcopy(dict(front))
    inner = made
    for key in path[:-1]:
        if not isinstance(inner.get(key), dict):
            if value is None:
                return made
            inner[key] = {}
        inner = inner[key]
    if value is None:
        inner.pop(path[-1], None)
        if len(path) > 1 and not inner:
            made.pop(path[0], None)
    else:
        inner[path[-1]] = value
    return made


def _edit_head(head: str, path: tuple[str, ...], value: Value | None, newline: str, comment: str = "") -> str:
    """Return the YAML *head* with one value changed: found by its place in the text, so that the rest keeps its bytes."""
    entries = entries_of(compose(head))
    found, parent = entries.get(path), entries.get(path[:-1])
    if value is None:
        beside = [other for other in entries if other[:-1] == path[:-1]]
        return _cut(head, parent if parent and len(beside) == 1 else found)
    if found:
        return head[: found.start] + _put(head, found, value, newline) + head[found.end :]
    return _insert(head, path, f"{path[-1]}: {_scalar(value)}{comment}", entries, newline)


def _insert(head: str, path: tuple[str, ...], row: str, entries: Mapping[tuple[str, ...], Entry], newline: str) -> str:
    """Put *row* at the end of its mapping; one of the top level before `metadata`, which is long."""
    parent, metadata = entries.get(path[:-1]), entries.get(("metadata",))
    if parent and parent.kind == "mapping" and parent.is_flow:
        close = parent.end - 1
        comma = "" if head[parent.start + 1 : close].strip() in ("", ",") else ", "
        return head[:close].rstrip().rstrip(",") + comma + row + head[close:]
    if parent and parent.kind == "mapping":
        place = _line_end(head, parent.end)
        return f"{head[:place]}{newline}{' ' * parent.column}{row}{head[place:]}"
    if parent:  # `metadata:` without a value
        return f"{head[: parent.start]}{newline}  {row}{head[parent.end :]}"
    if len(path) > 1:
        row = f"{path[0]}:{newline}  {row}"
    start = head if not head or head.endswith("\n") else head + newline
    place = metadata.key if metadata else len(start)
    return f"{start[:place]}{row}{newline}{start[place:]}"


class Entry(NamedTuple):
    """Where a value is in the text: its key begins at `key`, it is `[start:end]`; `column`: of its keys or items."""

    key: int
    start: int
    end: int
    kind: str
    is_flow: bool
    style: str | None
    column: int


def compose(head: str) -> Any:
    """Return the node tree of *head* with its places; None if it is empty.

    Raises:
        InvalidSkill: it is not YAML.
    """
    try:
        return yamltext.compose(head)
    except yamltext.NotYaml as error:
        raise InvalidSkill(f"the front matter is not YAML: {error}") from None


def entries_of(node: Any) -> dict[tuple[str, ...], Entry]:
    """Return the values of a mapping and of the mappings in it, by path."""
    found: dict[tuple[str, ...], Entry] = {}

    def walk(inside: Any, path: tuple[str, ...]) -> None:
        for key, value in inside.value if getattr(inside, "id", "") == "mapping" else ():
            here = (*path, str(key.value))
            found[here] = _entry(key, value)
            if len(here) < 2:
                walk(value, here)

    walk(node, ())
    return found


def _entry(key: Any, value: Any) -> Entry:
    start, end = value.start_mark.index, value.end_mark.index
    buffer = value.start_mark.buffer or ""
    if start == end:  # no value: the mark is at the next key
        start = end = buffer.find(":", key.end_mark.index) + 1 or key.end_mark.index
    text = buffer[start:end]
    is_flow = bool(getattr(value, "flow_style", False))
    column = value.value[0][0].start_mark.column if value.id == "mapping" and value.value else value.start_mark.column
    if not is_flow and value.id != "scalar":
        end = max(start, max((_last(item) for item in value.value), default=end))
    elif getattr(value, "style", None) in ("|", ">"):
        end = start + len(text.rstrip())
    return Entry(key.start_mark.index, start, end, value.id, is_flow, getattr(value, "style", None), column)


def _last(item: Any) -> int:
    """Return where the last value in *item* ends: a collection itself reaches to the next token, over comments."""
    node = item[1] if isinstance(item, tuple) else item
    if node.id == "scalar" or getattr(node, "flow_style", False) or not node.value:
        start: int = node.start_mark.index
        return start + len((node.start_mark.buffer or "")[start : node.end_mark.index].rstrip())
    return max(map(_last, node.value))


def _put(head: str, found: Entry, value: Value, newline: str) -> str:
    space = " " if found.start and head[found.start - 1] == ":" else ""
    if isinstance(value, list) and found.kind == "sequence" and not found.is_flow:
        return f"{newline}{' ' * found.column}".join(f"- {_scalar(item)}" for item in value)
    if isinstance(value, str) and found.kind == "scalar" and found.style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, str) and found.style == '"':
        return json.dumps(value, ensure_ascii=False)
    return space + _scalar(value)


def _scalar(value: Value, *, flow: bool = False) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_scalar(item, flow=True) for item in value)}]"
    is_plain = re.fullmatch(r"[\w ./|-]+", value) if flow else value.isprintable() and value[:1].isalnum()
    if (
        is_plain
        and not _OLD_TRUTH.fullmatch(value)
        and load_yaml(f"k: {value}\n") == ({"k": value}, [])
        and load_yaml(value)[0] in ({}, value)
    ):
        return value
    return json.dumps(value, ensure_ascii=False)


def _cut(head: str, found: Entry | None) -> str:
    if found is None or (found.key and head[found.key - 1] not in "\n "):
        raise InvalidSkill("a value inside braces cannot be removed; edit it by hand")
    start = head.rfind("\n", 0, found.key) + 1
    end = _line_end(head, found.end)
    return head[:start] + head[end + 1 + head.startswith("\r\n", end) :]


def _line_end(head: str, place: int) -> int:
    end = head.find("\n", place)
    end = len(head) if end < 0 else end
    return end - 1 if end > place and head[end - 1] == "\r" else end


def load_front(text: str) -> tuple[Mapping[str, Any], list[Problem]]:
    """Return what the front matter of *text* says and what is wrong with it: python-frontmatter, with our fences and YAML.

    Its `parse`, because `loads` fails on the keys `content` and `handler`; the body that it gives has lost its indentation.
    """
    from frontmatter import parse
    from frontmatter.default_handlers import BaseHandler

    wrong: list[Problem] = []

    class Handler(BaseHandler):
        FM_BOUNDARY = FENCE

        def load(self, fm: str) -> dict[str, Any]:
            front, problems = load_yaml(fm.removeprefix("\n"))
            wrong.extend(problems)
            return dict(front)

    front, _ = parse(text.removeprefix(BOM), handler=Handler())
    return front, wrong


def load_yaml(head: str) -> tuple[Mapping[str, Any], list[Problem]]:
    """Return what *head*, the YAML between the fences, says, and what is wrong with it; then row by row, as clients do."""
    try:
        front = yamltext.read(head)
    except yamltext.NotYaml as error:
        return _loose(head), [Problem((error.line or 1) + 1, f"not YAML: {error}")]
    if front is None:
        return {}, []
    if not isinstance(front, dict):
        return {}, [Problem(2, "the front matter is not a mapping of keys to values")]
    return front, []


def _loose(head: str) -> dict[str, Any]:
    rows = (_ROW.match(line.rstrip("\r")) for line in head.split("\n"))
    return {row[1]: row[2].strip().strip("\"'") for row in rows if row and row[2].strip()}
