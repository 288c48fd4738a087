"""What a tool that failed complains of: the names that identify it, else the lines that can be asked; and the memories that speak of it."""

from __future__ import annotations

import errno
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from memsync.agents.injection import Injection, drop_copies
from memsync.agents.session import RecallSession
from memsync.agents.toolcall import ToolCall
from memsync.clients.transcript_events import IS_MISSING, RULES, find_named, is_about, list_missing
from memsync.memories.filters import Filters
from memsync.memories.lookup import name_missing
from memsync.memories.reach import search_all
from memsync.memories.results import Entry, Hit
from memsync.memories.triggers import fails
from memsync.safety.guard import quoted

LINES: Final = 2  # after one failure
_NAMES: Final = 8  # of one output that are looked for
_FEW: Final = 2  # memories that have a word, up to which it is a name
_POOL: Final = 40  # memories that are looked at for them
_SURE: Final = 0.9  # confidence in a memory about a line without a name: what is right has more, and what is not less
_ROWS: Final = 4  # lines of one output that are asked, each by itself
_LONGEST: Final = 400  # characters of one that are read
_CODES: Final = frozenset(errno.errorcode.values())
_CODE: Final = re.compile(r"(?:^|[\s:(\[])([A-Z]{1,5}-?\d{3,5})(?=[\s:)\],]|$)|\b(E[A-Z]{3,14})\b", re.MULTILINE)
_SYMBOL: Final = re.compile(
    r"(?:undefined: |undeclared name: |[Cc]annot find name ['\"`]|has no (?:attribute|member) ['\"`])([\w.]+)|name '(\w+)' is not defined"
)
_MARKS: Final = (
    "error", "exception", "fatal", "panic", "failed", "failure", "cannot", "can't", "denied", "refused", "not found", "no such",
    "timed out", "timeout", "unable", "out of", "exhausted", "killed", "undefined", "missing", "warning:", "unknown",
)  # fmt: skip
_NOISE: Final = re.compile(
    r"\x1b\[[\d;]*[A-Za-z]"  # colours
    r"|(?:[A-Za-z]:)?[\w.@~-]*[/\\][\w.@~/\\-]*(?::\d+)*|\b[\w-]+\.\w{1,5}(?::\d+)+"  # paths and positions
    r"|\b0x[0-9a-f]+\b|\b\d[\d:.T-]*(?:m?s|Z|%)?(?=\W|$)"
)
_RUNNERS: Final = frozenset(
    """err error errors exception fail failed failing failure failures fatal warning warnings passed passing pass skipped ok exit exited code status
    task tasks test tests testing suite suites lint build run running command script make npm pnpm yarn issue issues problem problems found
    total took cached recipe target lifecycle elifecycle with for the and not""".split()
)
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_PLACED: Final = re.compile(r"\s*\S+\.\w+:\d+(?::\d+)?:")  # what a compiler or a test says of the code of the hour


def after_failure(session: RecallSession, call: ToolCall, cwd: str, due: Collection[str] = ()) -> Injection:
    """Return the memories that surely speak of what *call*, made in *cwd*, failed by: two lines at most.

    Where a memory waited for the failure, by one of the triggers *due*, only names in the other lines are looked for.

    Raises:
        ConfigError, StoreUnreadable, OutsideTree
    """
    rows = (row[:_LONGEST] for row in call.error.splitlines())
    output = "\n".join(row for row in rows if not any(fails(text, row) for text in due))
    if names := list_names(output, call, cwd, session.project.layout.root):
        return _find_named(session, names, output)
    if due:
        return Injection(reason="a memory waited for this failure")
    floor = max(_SURE, session.project.settings.recall_threshold)
    asked = [session.at_prompt(row, limit=1, typed=False) for row in list_rows(output)] if call.is_free else []
    sure = sorted((one for one in asked if one.entries and one.gate >= floor), key=lambda one: -one.gate)
    if not sure:
        surest = max((one.gate for one in asked), default=0.0)
        why = "not sure enough" if surest else "no error is told that a memory speaks of"
        return Injection(reason=why, gate=surest, floor=floor)
    entries = drop_copies((entry for one in sure for entry in one.entries), {})
    found = session.build(entries, 0, limit=LINES)
    return found._replace(gate=sure[0].gate, floor=floor, reason="a call failed with what it speaks of")


def list_names(output: str, call: ToolCall, cwd: str, root: Path | None) -> list[str]:
    """Return what identifies the failure of *call*, made in *cwd*, in its *output*, in the order in which it is told."""
    found = [(output.find(name), name) for _, name in find_named(output, RULES)]
    found += [
        (one.start(), code)
        for one in _CODE.finditer(output)
        if (code := one[1] or one[2]) and (one[1] or code in _CODES)
    ]
    told = [(one.start(), one[1] or one[2]) for one in _SYMBOL.finditer(output)]
    if IS_MISSING.search(output):
        paths = (*list_missing(output), *call.paths, *call.reads, *call.looks)
        told += [(len(output), name) for path in paths for name in name_missing(path, cwd, root)]
    found += [(at, name) for at, name in told if not (name.isalpha() and name.islower())]  # a word, and no name
    return list(dict.fromkeys(name for _, name in sorted(found) if len(name) > 1))[:_NAMES]


def _find_named(session: RecallSession, names: list[str], output: str) -> Injection:
    """Return for the first of *names* that a memory has the one that has most in common with *output* as well."""
    rules = session.rules(asked=True)
    kept: dict[str, str] = {}

    def keep(entry: Entry) -> bool:
        kept[entry.id] = refusal = rules.refusal(entry)
        return not refusal

    found = search_all(session.project, " ".join(names), Filters(archived=True, keep=keep), limit=_POOL)
    chosen: list[Hit] = []
    words = set(_WORD.findall(output.lower()))
    for name in names:
        having = [hit for hit in found.hits if is_about(hit.content, (name,))]
        having = having if len(having) <= _FEW else [hit for hit in having if _is_named(name, hit.content)]
        having.sort(key=lambda hit: (-len(words.intersection(_WORD.findall(hit.content.lower()))), hit.id))
        chosen += [hit for hit in having if hit not in chosen and not session.why_withheld(hit)][:1]
    had = sum(why == "ledger" for why in kept.values())
    new = drop_copies((session.project.mark(hit) for hit in chosen), rules.ledger)
    by = {hit.id: f"for {quoted(next(name for name in names if is_about(hit.content, (name,))))}" for hit in chosen}
    done = session.build(new, had, limit=LINES, notes=by)
    return done._replace(reason="a call failed with a name that it has") if done.entries else done


def _is_named(name: str, text: str) -> bool:
    """Tell whether *text* has *name*, and as a name: any word may be one of a rule, and most texts that have it mean the word."""
    word = re.escape(name)
    marked = (
        rf"^\W*{word}\W*[:(–-]|[`'\"(/:]{word}[`'\"):]|{word} (?:fails|complains|rule|check)|(?:named|called) {word}\b"
    )
    return not (name.isalpha() and name.islower()) or re.search(marked, text) is not None


def list_rows(output: str) -> Iterator[str]:
    """Yield the last lines of *output* that tell what went wrong, without places, numbers and the words of runners."""
    rows = [row for row in output.splitlines() if row.strip() and not _PLACED.match(row)]
    rows = [row for row in rows if not row.startswith(("Exit code ", "Wall time"))]
    telling = [row for row in rows if any(mark in row.lower() for mark in _MARKS)]
    asked = dict.fromkeys(" ".join(_NOISE.sub(" ", row).split()) for row in reversed(telling or rows[-3:]))
    worth = [row for row in asked if len(set(_WORD.findall(row.lower())) - _RUNNERS) > 1]
    yield from worth[:_ROWS]
