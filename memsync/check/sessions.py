"""How many recorded sessions fell for a wrong line: those in which a call that has its words failed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from memsync.check.report import Finding
from memsync.clients.transcript_events import Call, Result, Session
from memsync.clients.transcript_files import read_file
from memsync.errors import ImportFailed

_VAIN: Final = re.compile(
    r"(?i)no such|not exist|not found|cannot find|can't find|no task|missing script|no rule to make|unknown|no files found|^\s*$"
)


def count_sessions(findings: Sequence[Finding], transcripts: Iterable[Path]) -> list[Finding]:
    """Return *findings*, each with the number of sessions in *transcripts* that it misled."""
    words = {
        one.said: re.compile(rf"(?<![\w.-]){re.escape(one.said.strip('/').removeprefix('./'))}(?![\w-]|\.\w)")
        for one in findings
    }
    needles = [one.strip("/").removeprefix("./").encode() for one in words]
    misled: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path in transcripts if findings else ():
        try:
            data = path.read_bytes()
            session = read_file(path) if any(needle in data for needle in needles) else None
        except (OSError, ImportFailed):
            continue
        for said in find_misled(session, words) if session else ():
            misled[said].add((session.client, session.id or str(path)))  # type: ignore[union-attr]
    return [one._replace(sessions=len(misled[one.said])) for one in findings]


def find_misled(session: Session, words: dict[str, re.Pattern[str]]) -> set[str]:
    """Return those of *words* that a call of *session* used in vain."""
    calls = {event.id: event for event in session.events if isinstance(event, Call)}
    found: set[str] = set()
    for event in session.events:
        call = calls.get(event.id) if isinstance(event, Result) else None
        if call and isinstance(event, Result) and event.failed is not False and _VAIN.search(event.text):
            given = "\n".join(str(value) for value in call.given.values())
            found.update(said for said, pattern in words.items() if pattern.search(given))
    return found
