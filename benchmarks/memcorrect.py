"""MemCorrect: whether a correction sticks and what it replaced stays away, without a model.

The environment variable MEMSYNC_DATA names a folder that has `memcorrect/corpus.json`: what `generateMemCorrectCorpus`
of https://github.com/joshuaswarren/remnic returns for its full options (40 scenarios). Each turn is a session whose
candidates are all approved; a namespace is a project. Its own `false_apply` looks for the value that the correction
brought, and so counts each correction that was taken up: here it is whether a rumour was stored.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from memsync import Memsync
from memsync.janitor.run import apply
from memsync.janitor.survey import survey
from memsync.learn.candidates import Candidates
from memsync.learn.extract import extract

_CYCLES = 5
_LIMIT = 10
_MEANS = {
    "uptake": "the next recall has the new value and not the old one",
    "stays away": "nor is the old one back after 5 runs of the janitor and after it was said again as at first",
    "other scope": "the same text in another project stays",
    "rumours stored": "what others said, or what might be",
    "taken back": "what the user goes back to is recalled again",
}


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "means", "of", "done")
    path = Path(os.environ.get("MEMSYNC_DATA", "")) / "memcorrect" / "corpus.json"
    if not path.is_file():
        return
    asked, done = Counter[str](), Counter[str]()
    for scenario in json.loads(path.read_text("utf-8"))["scenarios"]:
        with tempfile.TemporaryDirectory() as name:
            for what, is_so in _play(scenario, Path(name)):
                asked[what] += 1
                done[what] += is_so
    for what, means in _MEANS.items():
        yield (what, means, str(asked[what]), str(done[what]))


def _play(scenario: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield what is measured, and whether it is so, in the order of the benchmark's own protocol."""
    query, correction = scenario["probe"]["query"], scenario["correction"]
    (old,), (new,) = correction["retiredContent"], correction["correctedContent"]
    twin, back = scenario.get("scopedTwin"), scenario.get("reassertion")
    with ExitStack() as stack:
        here, there = (stack.enter_context(_open(folder / name)) for name in ("here", "there"))
        _say(here, scenario["establishingTurns"])
        if twin:
            _say(there, twin["establishingTurns"])
        _say(here, [correction["turn"]])
        found = _recall(here, query)
        yield "uptake", new in found and old not in found
        before = len(here.memories())
        _say(here, [one["turn"] for one in scenario["antiEvents"]])
        yield "rumours stored", len(here.memories()) > before
        if twin:
            yield "other scope", old in _recall(there, query)
        for _ in range(_CYCLES):
            apply(here, survey(here, ("dedup", "decay")).steps)
        is_away = old not in _recall(here, query)
        _say(here, scenario["establishingTurns"])
        yield "stays away", is_away and old not in _recall(here, query)
        if back:
            _say(here, [back["turn"]])
            yield "taken back", old in _recall(here, query)


def _open(root: Path) -> Memsync:
    (root / ".gobby").mkdir(parents=True)
    return Memsync.open(root, env={**os.environ, "MEMSYNC_HOME": str(root / "home")})


def _say(project: Memsync, turns: Sequence[Mapping[str, str]]) -> None:
    """Have a session with these *turns*, and approve all that is learned from it."""
    messages = [{"role": turn["role"], "content": turn["text"]} for turn in turns]
    lines = [{"type": one["role"], "sessionId": "s", "message": one} for one in messages]
    path = project.store("project").place.directory / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    proposed = extract(project, path, use_model=False).proposed
    Candidates(project).approve([one.memory.id for one in proposed])


def _recall(project: Memsync, query: str) -> set[str]:
    """Return the words of what is recalled, as the benchmark splits them."""
    said = " ".join(hit.content for hit in project.search(query, limit=_LIMIT))
    return set(re.findall(r"[a-z0-9][a-z0-9-]*", said.lower()))
