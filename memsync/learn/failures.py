"""Which failures of recorded sessions are the same: classes by what identifies them, as a reader can check. Pure.

A class is a name that is wrong, a rule of a linter, a flag, a program or module that is not there. Tests and compilers
that fail over the code of the hour are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from memsync.clients.transcript_events import IS_MISSING, LINTERS, RULES, Call, Result, Rule, find_named, list_missing
from memsync.errors import ImportFailed
from memsync.store import files
from memsync.system.limits import read_json

KINDS: Final = ("wrong name", "rule", "command", "decision", "environment")


class Failure(NamedTuple):
    """A class that a call failed by, its kind, and the words of which a memory about it has at least one."""

    name: str
    kind: str
    words: tuple[str, ...]


PATHS: Final = ("file_path", "path", "absolute_path", "notebook_path", "filePath", "dir_path")
_MOST: Final = 6  # classes of one output


def classify(call: Call, result: Result, find_missing: Callable[[str], str]) -> list[Failure]:
    """Return the classes by which *call* failed with *result*; none where nothing identifies them.

    *find_missing* takes a path as the call named it, and returns the first part of it that the repository does not
    have, relative to its root; "" if it has all of it, or the path leads elsewhere. What a linter prints counts also
    where a pipe hides how it ended.
    """
    if result.refusal or not (result.failed or program_of(call)):
        return []
    missing = _missing_paths(call, result.text, find_missing) if result.failed else ()
    found = [*missing, *_by_rules(call, result.text, RULES if result.failed else LINTERS)]
    return list({one.name: one for one in found}.values())[:_MOST]


def _missing_paths(call: Call, text: str, find_missing: Callable[[str], str]) -> Iterator[Failure]:
    if not IS_MISSING.search(text):
        return
    named = [str(call.given[key]) for key in PATHS if isinstance(call.given.get(key), str)]
    for path in dict.fromkeys((*named, *list_missing(text))):
        if missing := find_missing(path):
            tail = "/".join(missing.split("/")[-2:])
            yield Failure(f"path {missing}", "wrong name", tuple(dict.fromkeys((missing, tail))))


def _by_rules(call: Call, text: str, rules: Iterable[Rule]) -> Iterator[Failure]:
    program = program_of(call)
    for rule, named in find_named(text, rules):
        of = f"{program} " if rule.what == "flag" and program else ""
        yield Failure(f"{rule.what} {of}{named}", rule.kind, (named,))


def program_of(call: Call) -> str:
    """Return the program that a command runs first; "" if *call* is no command."""
    from memsync.memories import commands

    stripped = map(commands.strip, commands.split(call.command))
    words = next((words for words in stripped if words and words[0] != "cd"), ())
    return words[0].rpartition("/")[2] if words else ""


class Label(NamedTuple):
    """A class that a person has defined: what a call and its output match, and which memories are about it.

    `failed`: only where the call failed by the client's word; else the output alone tells.
    """

    name: str
    kind: str
    tool: re.Pattern[str]
    given: re.Pattern[str]
    output: re.Pattern[str]
    failed: bool
    words: tuple[str, ...]
    memories: tuple[str, ...]


def read_labels(path: Path) -> list[Label]:
    """Return the classes in *path*: JSON lines with `class` and `kind`.

    Beside these a line may have `tool`, `input` and `output` (regular expressions that are searched for), `failed`
    (false: the output alone tells), `memories` (the ids of those about it) and `words` (else one of which they have).

    Raises:
        ImportFailed: a line is not such an object.
    """
    labels = []
    for number, line in enumerate(files.read(path)[0].splitlines(), start=1):
        try:
            if line.strip():
                labels.append(_read_label(read_json(line)))
        except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
            raise ImportFailed(f'{path}:{number}: not a label ({error}); write {{"class": …, "kind": …}}') from None
    return labels


def _read_label(row: Mapping[str, Any]) -> Label:
    kind = row.get("kind", "wrong name")
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}; choose one of {', '.join(KINDS)}")
    tool, given, output = (re.compile(row.get(key, "")) for key in ("tool", "input", "output"))
    words, memories = (tuple(map(str, row.get(key, ()))) for key in ("words", "memories"))
    return Label(str(row["class"]), kind, tool, given, output, bool(row.get("failed", True)), words, memories)


def classify_by(labels: Sequence[Label], call: Call, result: Result) -> list[Failure]:
    """Return the classes of *labels* by which *call* failed with *result*."""
    if result.refusal:
        return []
    given = orjson.dumps(call.given).decode()
    return [
        Failure(label.name, label.kind, label.words)
        for label in labels
        if (result.failed or not label.failed)
        and label.tool.search(call.tool)
        and label.given.search(given)
        and label.output.search(result.text)
    ]
