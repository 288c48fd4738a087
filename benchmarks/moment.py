"""The moment: what a session is given for a prompt, on our own suites and on those of MEMSYNC_DATA.

A suite of MEMSYNC_DATA takes part if it says what has no answer (kinds that begin with na_) or which facts there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from memsync.agents.memory_tests import open_session
from memsync.agents.recall_suite import FACETS, Suite, ask, objects, read_suite, together
from memsync.index.embedders import choose
from memsync.records import parse_time
from memsync.store.config import Loaded
from memsync.store.settings import Settings

_OWN = Path(__file__).with_name("suites")
_NOW = parse_time("2026-11-21")
_COLUMNS = ("injected", "injected hit@5", "facts", "repeats", "off", "fact recall")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("suite", "kind", "questions", *_COLUMNS)
    groups: dict[str, list[Suite]] = {}
    for path in sorted(path for path in _OWN.iterdir() if path.is_dir()):
        suite = read_suite(path)
        groups |= {path.name: [suite], f"{path.name}, with cues": [add_cues(suite, path / "cues.jsonl")]}
    if data := os.environ.get("MEMSYNC_DATA"):
        for path in sorted(path.parent for path in Path(data).rglob("queries.jsonl")):
            suite = read_suite(path)
            if (path / FACETS).exists() or any(query.is_unanswerable for query in suite.queries):
                name = (*path.relative_to(data).parts, path.name)[0]
                groups.setdefault(name, []).append(suite)
    for name, suites in groups.items():
        found = together([_ask(suite) for suite in suites]).as_dict()
        kinds = {**found["kinds"], "all with an answer": found["answerable"], "all without": found["unanswerable"]}
        for kind, figures in kinds.items():
            yield (name, kind, str(figures["n"]), *(_shown(figures.get(column)) for column in _COLUMNS))


def add_cues(suite: Suite, path: Path) -> Suite:
    """Return *suite* with the cues that a writer gave its records, who saw nothing else."""
    cues = {value["id"]: tuple(value["cues"]) for _, value in objects(path)}
    return replace(suite, records=[memory._replace(cues=cues.get(memory.id, ())) for memory in suite.records])


def _ask(suite: Suite) -> Any:
    now = _NOW
    assert now is not None
    with open_session(suite, Loaded(Settings(), {}, ()), lambda: now) as inject:
        return ask(suite, choose("builtin"), inject=inject)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
