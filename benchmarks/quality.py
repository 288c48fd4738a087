"""What is found: judged suites of MEMSYNC_DATA, beside SQLite FTS5 (porter unicode61, any of the words).

The environment variable names a folder that has suites (docs/recall.md) at any depth; those in one folder are taken together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.recall import Fts5, text_of
from memsync.agents.recall_suite import Answer, Report, Suite, ask, read_suite, together
from memsync.index.embedders import choose


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "questions", "ours", "FTS5", "ratio")
    if data := os.environ.get("MEMSYNC_DATA"):
        yield from _measure(Path(data))


def _measure(data: Path) -> Iterator[tuple[str, ...]]:
    """Yield what memsync and FTS5 find of the same suites, those in one folder taken together."""
    groups: dict[str, list[Suite]] = {}
    for path in sorted(path.parent for path in data.rglob("queries.jsonl")):
        groups.setdefault((*path.relative_to(data).parts, data.name)[0], []).append(read_suite(path))
    meaning = choose("builtin")
    for name, suites in groups.items():
        ours = together([ask(suite, meaning) for suite in suites]).as_dict()["answerable"]
        base = together([_ask_fts5(suite) for suite in suites]).as_dict()["answerable"]
        for metric in ("hit@1", "hit@5", "hit@10", "nDCG@5", "MRR"):
            values = (ours[metric], base[metric])
            if None not in values:
                ratio = f"{values[0] / values[1]:.2f}" if values[1] else "–"
                yield (f"{metric} of {name}", f"{ours['n']:,}", f"{values[0]:.3f}", f"{values[1]:.3f}", ratio)


def _ask_fts5(suite: Suite) -> Report:
    fts = Fts5(map(text_of, suite.records))
    found = [(query, fts.search(query.text)) for query in suite.queries]
    ids = [memory.id for memory in suite.records]
    answers = [Answer(query=query, ranked=[(ids[row], score) for row, score in hits]) for query, hits in found]
    return Report(name=suite.name, records=len(ids), answers=answers)
