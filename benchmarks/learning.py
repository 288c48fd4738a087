"""Learning: what is proposed of sessions, by rules.

Eight realistic sessions with labels, in tests/unit/learn/sessions; the rules were written from four of them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from memsync import Memsync
from memsync.learn.extract import extract

_TESTS = Path(__file__).parents[1] / "tests"
_WRITTEN_FROM = {"firmware", "frontend", "gosvc", "rustcli"}


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    sys.path.insert(0, str(_TESTS))
    sessions = import_module("sessions")
    yield (
        "session",
        "client",
        "rules written from it",
        "lasting facts",
        "proposed of them",
        "proposals",
        "noise",
        "wrong",
    )
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / ".gobby").mkdir()
        with Memsync.open(name, env={"MEMSYNC_HOME": f"{name}/home"}) as project:
            for path in sorted((_TESTS / "unit" / "learn" / "sessions").glob("*.txt")):
                title, client, _ = path.name.split(".")
                parts, labels = sessions.read(path)
                transcript = sessions.write(parts, client, Path(name) / "session.jsonl")
                proposed = extract(project, transcript, use_model=False, dry_run=True).proposed
                score = sessions.judge([one.memory.content for one in proposed], labels)
                found = score.facts - len(score.missed)
                counts = (score.facts, found, score.proposed, len(score.noise), len(score.wrong))
                yield (title, client, "yes" if title in _WRITTEN_FROM else "no", *map(str, counts))
