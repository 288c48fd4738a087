"""PrecisionMemBench: what must and must not be answered, beside what its authors report of others.

The environment variable MEMSYNC_DATA names a folder that has `pmb`: beliefs.seed.json, retrieval.cases.json and its
score.py. A belief is a memory, its aliases are tags; user, scope, what is superseded or resolved are filters, as they
are in any store; pinned beliefs and open questions are the host's to hand out, as in the benchmark's own host.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from memsync import Memsync

_LIMIT = 20  # beliefs that the benchmark hands out at most
# passes of 77 and precision, as its authors report them: https://github.com/tenurehq/precisionMemBench
_REPORTED = (("okf", 36, 0.47), ("mem0", 9, 0.06), ("zep", 9, 0.09), ("hindsight", 9, 0.06))
_SCORE = re.compile(r"passed (\d+)/(\d+).*precision ([\d.]+), recall ([\d.]+)")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("system", "model", "passed of 77", "precision", "recall")
    data = Path(os.environ.get("MEMSYNC_DATA", "")) / "pmb"
    if data.is_dir():
        with tempfile.TemporaryDirectory() as name:
            passed, _, precision, recall = _run(data, Path(name))
            yield ("memsync, above the gate", "none", passed, precision, recall)
    for name, passes, share in _REPORTED:
        yield (f"{name} (reported)", "", str(passes), f"{share:.2f}", "")


def _run(data: Path, folder: Path) -> tuple[str, ...]:
    beliefs = json.loads((data / "beliefs.seed.json").read_text(encoding="utf-8"))
    cases = json.loads((data / "retrieval.cases.json").read_text(encoding="utf-8"))
    with ExitStack() as stack:
        stores: dict[tuple[str, ...], Memsync] = {}
        lines = []
        for case in cases:
            live = [belief for belief in beliefs if _is_live(belief, case)]
            key = tuple(belief["_id"] for belief in live)
            if key not in stores:
                stores[key] = stack.enter_context(_stored(live, folder / str(len(stores))))
            lines.append(json.dumps({"caseId": case["caseId"], "relevant": _ask(stores[key], case["query"], live)}))
    run = folder / "run.jsonl"
    run.write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = subprocess.run([sys.executable, data / "score.py", run], capture_output=True, text=True, check=True).stdout
    found = _SCORE.search(told)
    assert found, told
    return found.groups()


def _is_live(belief: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    return (
        belief["user_id"] == case.get("userId", "test-user")
        and bool({*belief["scope"]} & {*case["scope"]})
        and not (belief["superseded_by"] or belief["resolved_at"] or belief["pinned"])
        and belief["type"] != "open_question"
    )


def _stored(beliefs: Sequence[Mapping[str, Any]], root: Path) -> Memsync:
    (root / ".gobby").mkdir(parents=True)
    records = (
        {"id": b["_id"], "content": b["content"], "tags": b["aliases"], "created_at": b["created_at"]} for b in beliefs
    )
    text = "".join(json.dumps(record) + "\n" for record in records)
    (root / ".gobby" / "memories.jsonl").write_text(text, encoding="utf-8")
    return Memsync.open(root, env={**os.environ, "MEMSYNC_HOME": str(root / "home")})


def _ask(memsync: Memsync, query: str, live: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of what is not a weak match, and of what a relation among them is about."""
    if not query.strip():
        return []
    found = memsync.search(query, limit=_LIMIT)
    ids = [hit.id for hit in found if not found.is_weak(hit)]
    related = [other for b in live if b["_id"] in ids for other in b.get("participants", ())]
    return [*ids, *(other for other in related if other not in ids and any(b["_id"] == other for b in live))]
