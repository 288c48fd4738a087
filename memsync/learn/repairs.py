"""What failed in a session and what made it work: a name, an option, a rule of a linter, a command that had to run before.

Only what the session itself shows to work is told. What fails over the code of the hour is no lesson.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from memsync.clients.transcript_events import Call, Event, Result
from memsync.learn.digest import is_look
from memsync.learn.failures import PATHS, Failure, classify
from memsync.learn.rules import has, pattern
from memsync.learn.said import Lesson, find_words, head_of
from memsync.learn.transcripts import EDITS
from memsync.system.texts import one_line

_NEAR: Final = 12  # calls behind a failure in which its repair is looked for
_SHORT: Final = 100  # characters of a command or a line of code that is told
_FILE: Final = re.compile(r"/[\w.-]*\.\w+\b")  # of the hour: what has to run before is for all of them
_ALIKE: Final = 0.8  # of two names
_ADDED: Final = 2  # words that a command lacked
_PATH: Final = re.compile(r"[/.:*]|\d{3}")
_OPERATOR: Final = re.compile(r"[|;&<>`$(]")
_PARTS: Final = frozenset("apps packages crates services libs modules plugins".split())  # folders of packages


class Tried(NamedTuple):
    """A call and how it ended."""

    call: Call
    result: Result

    @property
    def works(self) -> bool:
        """Whether it did what it was to do, by the client's word."""
        return not self.result.failed and not self.result.refusal

    @property
    def is_edit(self) -> bool:
        """Whether it changed a file."""
        return self.call.tool.lower() in EDITS


FindMissing = Callable[[str], str]


def repairs(recorded: Iterable[Event], find_missing: FindMissing) -> list[Lesson]:
    """Return what the session shows about its failures, one lesson for each class, in order.

    *find_missing* takes a path as a call named it, and returns the first part of it that the repository does not have,
    relative to its root; "" if it has all of it, or the path leads elsewhere.
    """
    tried = _pair(recorded)
    found: dict[str, Lesson] = {}
    counts: Counter[str] = Counter()
    for number, one in enumerate(tried):
        classes = classify(one.call, one.result, find_missing)
        for failure in classes:
            counts[failure.name] += 1
            if failure.name not in found and (lesson := explain(failure, tried, number, find_missing)):
                found[failure.name] = lesson
        if not classes and one.result.failed and (lesson := _find_way(tried, number)):
            found.setdefault(lesson.text, lesson)
    return [lesson._replace(times=lesson.times + max(counts[name], 1) - 1) for name, lesson in found.items()]


def _pair(recorded: Iterable[Event]) -> list[Tried]:
    """Return the calls of the session and its subagents that have an answer, in the order of the answers."""
    calls: dict[str, Call] = {}
    found = []
    for event in recorded:
        if isinstance(event, Call):
            calls[event.id] = event
        elif isinstance(event, Result) and event.id in calls:
            found.append(Tried(calls.pop(event.id), event))
    return found


def explain(failure: Failure, tried: Sequence[Tried], number: int, find_missing: FindMissing) -> Lesson | None:
    """Return what the calls behind *number* show about the class it failed by."""
    what, _, name = failure.name.partition(" ")
    one = tried[number]
    after = [later for later in tried[number + 1 :] if later.call.thread == one.call.thread]
    if what == "rule":
        return _explain_rule(name, one, after)
    if what == "path":
        return _explain_path(name, one, after[:_NEAR], find_missing)
    near = [later for later in after[:_NEAR] if later.works]
    if one.call.command:
        return _explain_option(failure.words[0], one, near) if what == "flag" else None
    return _explain_name(failure.words[0], one, near)


def _explain_rule(rule: str, one: Tried, after: Sequence[Tried]) -> Lesson | None:
    """Return what a linter refuses, if the same command passed it later, with the lines that were changed for it."""
    line = re.search(rf"(?m)^(\S+?):(\d+)(?::\d+)?:?\s+(.*)[(\[]{re.escape(rule)}[)\]]\s*$(?:\n(.*))?", one.result.text)
    is_found = not one.result.failed and is_look(
        " ".join(find_words(one.call.command)[:1])
    )  # by a search, not by a linter
    if line is None or is_found or has("trivial", rule):
        return None
    command = head_of(one.call.command.rpartition("&&")[2])
    passed = next(
        (at for at, later in enumerate(after) if command in later.call.command and f"{rule})" not in later.result.text),
        None,
    )
    if not command or passed is None:
        return None
    message = _generalize(line[3])
    mark = one.result.text[line.end(3) : line.end(3) + len(rule) + 2]
    told = f"`{command}` fails on {rule} ({message})"
    changed = _find_change(PurePosixPath(line[1]).name, (line[4] or "").strip(), after[:passed])
    text = f"{told}: write `{changed[1]}` instead of `{changed[0]}`." if changed else f"{told}."
    return Lesson(text, one.call.line, "failed", (), (f"fails: {mark}",))


def _generalize(message: str) -> str:
    """Return what a linter says without the names and numbers of the code of the hour."""
    text = re.sub(r"\s*\(line \d+\)", "", one_line(message))
    names = r"`[^`.]*`|\"[^\"\s]*(?:\s[^\"\s]*){0,2}\"|'[^']*'|(?<![\w.])[a-z]+[A-Z]\w*\b(?!:)"
    text = re.sub(names, "…", text)
    text = re.sub(r"\b\d+\b", "N", text)
    named = text.find(": ", 25)
    return text[: named if named > 0 else None][:_SHORT].strip(" :;.")


def _find_change(name: str, code: str, edits: Iterable[Tried]) -> tuple[str, str] | None:
    """Return the line *code* of the file *name* and what was written in its place; None if no edit shows that."""
    for one in edits:
        old, new = one.call.given.get("old_string"), one.call.given.get("new_string")
        path = str(one.call.given.get("file_path", ""))
        if not (
            one.works and isinstance(old, str) and isinstance(new, str) and code in old and path.endswith(name) and code
        ):
            continue
        before, now = ([row.strip() for row in text.splitlines()] for text in (old, new))
        for tag, first, last, begin, end in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
            if tag == "replace" and code in before[first:last]:
                added = max(now[begin:end], key=lambda row: (row.split()[:1] == code.split()[:1], _likeness(code, row)))
                if len(code) <= _SHORT and len(added) <= _SHORT and "`" not in code + added and added != code:
                    return code, added
    return None


def _explain_path(missing: str, one: Tried, after: Sequence[Tried], find_missing: FindMissing) -> Lesson | None:
    """Return what a path that is not there is really, if a call behind it found that."""
    name = PurePosixPath(missing)
    is_odd = "local" in name.name or name.name.endswith(".") or re.search(r"\d{4}-\d\d-\d\d", missing)
    if is_odd or ("/" not in missing and not name.suffix and not missing.startswith(".")):
        return None
    meant = re.search(r"[Dd]id you mean '?([\w./-]+\w)", one.result.text)
    if meant and not find_missing(near := str(name.with_name(PurePosixPath(meant[1]).name))):
        return _tell_name(missing, near, one)
    there = [
        PurePosixPath(path)
        for later in after
        if later.works
        for path in _list_paths(later.call)
        if not find_missing(path)
    ]
    if name.suffix and (found := _find_file(name, there)):
        return _tell_name(missing, found, one)
    parent = str(name.parent)
    if not name.suffix and parent != "." and any(f"/{parent}/" in f"/{path}" for path in there):
        text = f"There is no folder `{missing}`; look in `{parent}`."
        return _tell(text, one, (), f"not: {missing}")._replace(times=-1)
    return None


def _find_file(wanted: PurePosixPath, there: Iterable[PurePosixPath]) -> str:
    """Return the file that has the name of *wanted* in another folder, or nearly so in its own."""
    for path in there:
        is_beside = str(path.parent).endswith(str(wanted.parent))
        is_alike = _likeness(path.name, wanted.name) >= _ALIKE or path.name.endswith(wanted.name)
        is_near = path.stem == wanted.stem or (path.suffix == wanted.suffix and is_alike)
        if f"/{path}".endswith(f"/{wanted}"):
            return ""  # it was looked for from elsewhere
        if (path.name == wanted.name and _is_of_one_part(path, wanted)) or (is_beside and is_near):
            return str(path)
    return ""


def _is_of_one_part(path: PurePosixPath, wanted: PurePosixPath) -> bool:
    """Tell whether two files are not of different packages of one repository, which may have files of one name."""
    most = 2 if wanted.parts[0] in _PARTS else 1
    start = path.parts.index(wanted.parts[0]) if wanted.parts[0] in path.parts else 0
    return path.parts[start : start + most] == wanted.parts[:most]


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()


def _list_paths(call: Call) -> Iterator[str]:
    """Yield the files that *call* names."""
    yield from (str(call.given[key]) for key in PATHS if isinstance(call.given.get(key), str))
    for word in find_words(call.command)[1:]:
        if "/" in word and re.fullmatch(r"[\w./@-]+", word):
            yield word


def _tell_name(missing: str, path: str, one: Tried) -> Lesson:
    """Return that *missing* is *path*: once, a guess of the hour; met again, a lesson."""
    return _tell(f"There is no `{missing}`; it is `{path}`.", one, (path,), f"not: {missing}")._replace(times=0)


def _tell(text: str, one: Tried, anchors: tuple[str, ...], trigger: str) -> Lesson:
    return Lesson(text, one.call.line, "failed", anchors, (trigger,))


def _explain_name(name: str, one: Tried, near: Sequence[Tried]) -> Lesson | None:
    """Return what a tool calls that agent, skill or the like, for which it was given *name*."""
    key = next((key for key, value in one.call.given.items() if value == name), "")
    others = (str(later.call.given.get(key, "")) for later in near if later.call.tool == one.call.tool)
    last = re.split(r"[:/]", name)[-1]
    there = (*re.findall(r"[\w:.-]+", one.result.text), *others)
    works = next((text for text in there if text != name and re.split(r"[:/]", text)[-1] == last), "")
    text = f"There is no {'agent type' if 'agent' in key else key} `{name}`; it is `{works}`."
    return _tell(text, one, (), f"not: {name}") if key and works else None


def _explain_option(name: str, one: Tried, near: Sequence[Tried]) -> Lesson | None:
    """Return that a program has no option *name*, and what worked in its place."""
    failed = next((words for words in _split(one.call.command) if name in words and not is_look(words)), "")
    works = next((found for later in near if (found := _find_like(failed, name, later.call.command))), "")
    line = next((row.strip() for row in one.result.text.splitlines() if name in row), "")
    if not (failed and works and line) or max(map(len, (failed, works, line))) > _SHORT or failed.count('"') % 2:
        return None
    head = head_of(failed)
    return _tell(f"`{head}` has no `{name}`; `{works}` works.", one, (f"$ {head}",), f"fails: {line}")


def _split(line: str) -> Iterator[str]:
    yield from (" ".join(part.split()) for part in pattern("split").split(line) if part.strip())


def _find_like(failed: str, name: str, line: str) -> str:
    """Return the command of *line* that is for the same as *failed*, without *name*."""
    head = head_of(failed)
    for part in _split(line):
        words = part.split()
        if name not in words and part != failed and (head_of(part) == head or _share(failed, part) >= _ALIKE):
            return _strip_output(part)
    return ""


def _share(one: str, other: str) -> float:
    here, there = set(one.split()), set(other.split())
    return len(here & there) / max(len(here | there), 1)


def _find_way(tried: Sequence[Tried], number: int) -> Lesson | None:
    """Return what made a command work that failed, if nothing was edited in between: what had to run before, or what it lacked."""
    one = tried[number]
    failed = _strip_output(one.call.command)
    is_everywhere = next(iter(find_words(failed)), "git") == "git"
    if (
        has("of the hour", one.result.text)
        or len(failed) > _SHORT
        or "\n" in failed
        or is_everywhere
        or is_look(failed)
    ):
        return None
    rows = map(one_line, one.result.text.splitlines())
    line = next((row for row in rows if has("complaint", row) and len(row) <= _SHORT), "")
    between: list[str] = []
    for later in tried[number + 1 : number + 1 + _NEAR]:
        command = _strip_output(later.call.command)
        if later.is_edit or has("changes", command) or later.call.thread != one.call.thread:
            return None
        if not command or is_look(command) or not later.works:
            continue
        text = _tell_lack(failed, command, line)
        if command == failed:
            is_told = len(between) == 1 and not _FILE.search(between[0]) and (line or between[0].startswith(failed))
            text = f"`{failed}` fails until `{between[0]}` has run." if is_told else ""
        if text or command == failed:
            due = (f"fails: {line}",) if line else ()
            return Lesson(text, one.call.line, "failed", (f"$ {head_of(failed)}",), due, times=0) if text else None
        between.append(command)
    return None


def _tell_lack(failed: str, works: str, line: str) -> str:
    """Return that *failed* lacked an option, a variable or a word that *works* has; "" if that is not all, or nothing says so."""
    left, added = failed.split(), []
    for word in works.split():
        if left and word == left[0]:
            del left[0]
        else:
            added.append(word)
    if left or not line or not 0 < len(added) <= _ADDED or len(works) > _SHORT or _OPERATOR.search(works):
        return ""
    if added[0].startswith("-") or "=" in added[0]:
        return f"`{head_of(failed)}` fails without `{' '.join(added)}`: {line}."
    return "" if len(added) > 1 or _PATH.search(added[0]) else f"`{failed}` fails, `{works}` works: {line}."


def _strip_output(command: str) -> str:
    """Return *command* without the folder it runs in and without where its output goes."""
    command = re.sub(r"^cd \S+ && ", "", command)
    return re.sub(r"\s*\d?>(?:&\d|/dev/null)|\s*\| (?:head|tail)\b[^|]*$", "", command)


def find_missing_in(there: str, known: Callable[[str], bool]) -> FindMissing:
    """Return what finds the part of a path below *there* that the repository does not have; *known* tells whether it has a file or folder."""

    def find(path: str) -> str:
        path = path.removeprefix(f"{there.rstrip('/')}/") if there else path
        if path.startswith(("/", "~", "-")) or ".." in path.split("/") or re.search(r"[*?\s]|^\w+:", path):
            return ""
        parts = path.strip("/").removeprefix("./").split("/")
        return next(("/".join(parts[:end]) for end in range(1, len(parts) + 1) if not known("/".join(parts[:end]))), "")

    return find
