"""What the Agent Skills specification and the clients require of a SKILL.md, and fixing it.

Measured: the specification's validator refuses unknown keys and flow style; Codex and Gemini
load no file with a BOM or without a description; all clients accept the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from memsync.errors import InvalidSkill, Remedy
from memsync.format.jsonl import Problem
from memsync.skills.file import (
    BOM,
    PLACES,
    Entry,
    Parts,
    SkillFile,
    as_tags,
    as_text,
    compose,
    edit,
    entries_of,
    find_place,
    get,
    is_described_again,
    read,
    set_value,
    split,
    tag_text,
)
from memsync.system.texts import read_utf8

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1024
MAX_COMPATIBILITY: Final = 500
MAX_LINES: Final = 500
# Seconds that a trigger may take on a prompt; a pattern that backtracks badly never ends.
TRIGGER_TIME: Final = 0.1

_KEYS: Final = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RESERVED: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
_PROBE: Final = "a" * 2_000 + " " + "0 " * 500 + "_!"
_STEP: Final = re.compile(r"\d+[.)]\s|[-*+]\s")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NO_SENTENCE: Final = ("```", "~~~", "---", "+++", "<", "|")  # code, rules, HTML, tables
_FOR_PEOPLE: Final = ("a git conflict", "a second front matter", "no front matter: what")
_MOST_QUOTED: Final = 20  # each takes another look at all of it
# "mapping values are not allowed" and the like: a value that ends where YAML sees the beginning of another.
_UNQUOTED: Final = re.compile(r"^(\s*[A-Za-z][\w-]*:[ \t]+)([^\s\"'\[{|>#].*?)(\r?)$")


def clean_name(name: str) -> str:
    """Return *name* if it is valid as the name of a folder and by the specification.

    Raises:
        InvalidSkill
    """
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise InvalidSkill(
            f"{name!r} is not a valid skill name: use 1 to {MAX_NAME} of a-z, 0-9 and single hyphens between them, as in run-tests"
        )
    if name in _RESERVED:
        raise InvalidSkill(f"{name!r} is a device name on Windows, where no folder can have it; choose another name")
    return name


def clean_description(text: str) -> str:
    """Return *text* on one line.

    Raises:
        InvalidSkill: it is empty, too long or has control characters.
    """
    text = as_text(text)
    if not text:
        raise InvalidSkill("the description is empty; say what the skill does and when to use it")
    if len(text) > MAX_DESCRIPTION:
        raise InvalidSkill(f"the description has {len(text):,} characters, more than {MAX_DESCRIPTION:,}")
    if not text.isprintable():
        raise InvalidSkill("the description has control characters")
    return text


def clean_trigger(pattern: str) -> str:
    """Return *pattern*, a regular expression that answers in time.

    Raises:
        InvalidSkill
    """
    if why := _explain_trigger(pattern):
        raise InvalidSkill(f"the trigger pattern {why}")
    return pattern


def _explain_trigger(pattern: str) -> str:
    import regex

    try:
        regex.search(pattern, _PROBE, timeout=TRIGGER_TIME)
    except regex.error as error:
        return f"{pattern!r} is not a valid regular expression: {error}"
    except TimeoutError:
        return f"{pattern!r} takes too long on ordinary text; avoid repetitions inside repetitions"
    return ""


def is_triggered(pattern: str, text: str) -> bool:
    """Tell whether the trigger *pattern* is found in *text*; one that is broken or too slow is not."""
    import regex

    try:
        return bool(pattern and regex.search(pattern, text, flags=regex.IGNORECASE, timeout=TRIGGER_TIME))
    except (regex.error, TimeoutError):
        return False


def refuse(data: bytes, folder: str, what: str) -> None:
    """Refuse the file of the skill in *folder*, which is called *what*, if something other than harmless is wrong with it.

    Raises:
        InvalidSkill
    """
    wrong = [problem for problem in check(data, folder) if not problem.harmless]
    if wrong:
        raise InvalidSkill(f"line {wrong[0].number} of the {what}: {wrong[0].why}")


def check(data: bytes, folder: str) -> list[Problem]:
    """Return what is wrong with the file of the skill in *folder*, by line. Harmless: every client and the validator accept it."""
    file = read(data, folder)
    if file.problems:
        is_loose = all(problem.why.startswith("not YAML") for problem in file.problems)
        quoted = _quote(data.decode()).encode() if is_loose else data
        return sorted({*file.problems, *(check(quoted, folder) if quoted != data else ())})
    text = data.decode()
    parts = split(text)
    assert parts is not None
    try:
        places = entries_of(compose(parts.head))
    except InvalidSkill as error:
        return [Problem(parts.line, str(error))]

    def line(*path: str) -> int:
        found = places.get(path) or places.get(path[:1])
        return parts.head.count("\n", 0, found.key) + parts.line if found else 1

    found = [Problem(line(*path), why) for path, why in _check_front(file, folder)]
    if BOM in parts.above:
        found.append(Problem(1, "begins with a byte order mark; Codex and Gemini do not load it"))
    if parts.above.strip(BOM):
        found.append(Problem(1, "comments or blank lines stand above the front matter; clients look for it in line 1"))
    if is_described_again(parts.body):
        number = text.count("\n") - parts.body.count("\n") + 1
        found.append(Problem(number, "a second front matter begins the text; keep one of the two"))
    found += [
        Problem(line(*path), f"{'.'.join(path)} is in flow style; the specification's validator takes block style only")
        for path, entry in places.items()
        if entry.is_flow
    ]
    if (count := parts.body.count("\n")) > MAX_LINES:
        why = f"{count} lines of instructions; above {MAX_LINES}, move parts to files beside it"
        found.append(Problem(text.count("\n") - count + MAX_LINES, why, harmless=True))
    return sorted(found)


def _check_front(file: SkillFile, folder: str) -> Iterator[tuple[tuple[str, ...], str]]:
    front = file.front
    yield from _check_name(front, folder)
    description = front.get("description")
    if not as_text(description):
        yield ("description",), "no description; Codex and Gemini do not load the skill"
    elif not isinstance(description, str):
        yield ("description",), "the description is not text; quote it"
    elif len(description) > MAX_DESCRIPTION:
        yield ("description",), f"the description has more than {MAX_DESCRIPTION:,} characters"
    if len(as_text(front.get("compatibility"))) > MAX_COMPATIBILITY:
        yield ("compatibility",), f"compatibility has more than {MAX_COMPATIBILITY} characters"
    for key in front.keys() - set(_KEYS):
        ours = any((key,) in places for places in PLACES.values())
        yield (str(key),), f"{key} is not a key of the specification" + ("; it belongs under metadata" if ours else "")
    yield from _check_metadata(front.get("metadata"))
    if file.skill.trigger_pattern and (why := _explain_trigger(file.skill.trigger_pattern)):
        yield find_place(front, "trigger_pattern"), why


def _check_name(front: Mapping[str, Any], folder: str) -> Iterator[tuple[tuple[str, ...], str]]:
    name = front.get("name")
    if name is None:
        yield ("name",), "no name"
    elif as_text(name) != folder:
        yield ("name",), f"the name {as_text(name)!r} is not that of the folder, {folder}"
    if not _NAME.fullmatch(folder) or len(folder) > MAX_NAME:
        yield (
            ("name",),
            f"the folder {folder!r} is not a valid skill name: 1 to {MAX_NAME} of a-z, 0-9 and single hyphens",
        )
    if folder in _RESERVED:
        yield ("name",), f"the folder {folder!r} is a device name on Windows and cannot be checked out there"


def _check_metadata(metadata: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    if metadata is None:
        return
    if not isinstance(metadata, Mapping):
        yield ("metadata",), "metadata is not a mapping"
        return
    for key, value in metadata.items():
        if not isinstance(value, str):
            yield ("metadata", str(key)), f"metadata.{key} is not text; quote it"


def fix(data: bytes, folder: str) -> bytes:
    """Return *data* with everything fixed that can be fixed safely: nothing is dropped but a BOM and blank lines.

    Comments above the front matter go below it, values that YAML refuses are quoted, the seeds' top-level keys go
    under `metadata`, the name becomes the folder's, and a missing description is taken from the first line of the text.

    Raises:
        InvalidSkill: there is something that only a person can fix.
    """
    text = _quote(read_utf8(data, "SKILL.md", InvalidSkill).lstrip(BOM))
    for problem in check(text.encode(), folder):
        if problem.why.startswith(_FOR_PEOPLE):
            raise InvalidSkill(f"line {problem.number}: {problem.why}")
    file = read(text.encode(), folder)
    clean_name(folder)
    changes: dict[str, Any] = {}
    if as_text(file.front.get("name")) != folder:
        changes["name"] = folder
    if not file.skill.description:
        changes["description"] = _take_first_line(file.skill.instructions)
    parts = split(edit(text.encode(), changes).decode())
    assert parts is not None
    if comments := parts.above.replace(BOM, "").strip():
        fence = parts.fence.rstrip("\r\n") + parts.newline
        parts = parts._replace(fence=fence, body=comments + parts.newline + parts.body)
    return _put_in_place(parts._replace(above="")).text().encode()


def _take_first_line(text: str) -> str:
    lines = (line.strip() for line in _COMMENT.sub("", text).splitlines())
    found = next(filter(None, lines), "")
    if not found.strip("#*- ") or found.startswith(_NO_SENTENCE):
        raise InvalidSkill("no description, and no text to take one from; write one, or give ", Remedy("--description"))
    if _STEP.match(found):
        raise InvalidSkill(
            "no description, and the text begins with a step; say what the skill does and when to use it: ",
            Remedy("--description"),
        )
    found = found.strip("#* ")
    return as_text(found)[:MAX_DESCRIPTION]


def _quote(text: str) -> str:
    """Quote the values of the front matter that YAML refuses, as the clients read them: to the end of the line."""
    for _ in range(_MOST_QUOTED):
        parts = split(text)
        wrong = [p for p in read(text.encode(), "").problems if p.why.startswith("not YAML")]
        if not parts or not wrong:
            break
        rows = parts.head.split("\n")
        number = min(wrong[0].number - parts.line, len(rows) - 1)
        row = _UNQUOTED.match(rows[number])
        if not row or not row[2].isprintable():
            break
        rows[number] = row[1] + json.dumps(row[2], ensure_ascii=False) + row[3]
        text = parts._replace(head="\n".join(rows)).text()
    return text


def _put_in_place(parts: Parts) -> Parts:
    """Move what is ours under `metadata`, as text, in block style; what would lose something by that stays."""
    if not isinstance(parts.front.get("metadata"), Mapping | None):
        return parts
    parts = _unfold(parts)
    for field, places in PLACES.items():
        paths = [path for path in places if get(parts.front, path) is not None]
        found = {_spell(parts, path, is_list=field == "tags") for path in paths}
        if len(places) > 1 and len(found) == 1 and (text := found.pop()) is not None:
            parts = _move(parts, places, text)
    for key, value in dict(parts.front.get("metadata") or {}).items():
        path = ("metadata", str(key))
        if not isinstance(value, str) and (spelled := _spell(parts, path)) is not None:
            parts = set_value(parts, path, spelled)
    return parts


def _unfold(parts: Parts) -> Parts:
    texts = {str(key): _spell(parts, ("metadata", str(key)), is_list=True) for key in parts.front.get("metadata") or {}}
    entry = _find(parts, ("metadata",))
    if not texts or not entry or not entry.is_flow or None in texts.values():
        return parts
    if "#" in parts.head[entry.start : entry.end] + _read_rest(parts, entry):
        return parts
    parts = set_value(parts, ("metadata",), None)
    for key, text in texts.items():
        parts = set_value(parts, ("metadata", key), text)
    return parts


def _spell(parts: Parts, path: tuple[str, ...], *, is_list: bool = False) -> str | None:
    """Return the value at *path* as one line of text, a number as the file spells it; None if that would not be all of it."""
    value, entry = get(parts.front, path), _find(parts, path)
    if not entry or isinstance(value, str):
        return as_text(value) if entry else None
    raw = parts.head[entry.start : entry.end]
    if is_list and isinstance(value, list) and "#" not in raw:
        return tag_text(as_tags(value)) if all(isinstance(one, str | int | float) for one in value) else None
    return raw.strip() if isinstance(value, bool | int | float) else None


def _move(parts: Parts, places: Sequence[tuple[str, ...]], text: str) -> Parts:
    """Put *text* at the first of *places* with the comments that stood behind the values at all of them."""
    comments = ""
    for path in places:
        old = get(parts.front, path)
        if old is not None and (path != places[0] or isinstance(old, list)):
            entry = _find(parts, path)
            behind = _read_rest(parts, entry).rstrip() if entry else ""
            comments += behind if behind.lstrip().startswith("#") else ""
            parts = set_value(parts, path, None)
    return set_value(parts, places[0], text, comment=comments)


def _find(parts: Parts, path: tuple[str, ...]) -> Entry | None:
    return entries_of(compose(parts.head)).get(path)


def _read_rest(parts: Parts, entry: Entry) -> str:
    return parts.head[entry.end :].partition("\n")[0]
