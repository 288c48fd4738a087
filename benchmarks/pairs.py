"""How well dedup treats pairs of texts that somebody has labelled: `python -m benchmarks.pairs FILE.jsonl…`.

A line has k, a (stored), b (new), label and perhaps richer, which says what text should be kept: "a" or "b". Pairs with the label dup
or subsumes may be merged, all others must not be.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal

from memsync.agents.recall_suite import objects, text_of
from memsync.errors import ImportFailed, SecretFound
from memsync.index.dedup import decide
from memsync.memories.results import Remembered, Status

if TYPE_CHECKING:
    from memsync.memories.project import Project

SAME: Final = frozenset({"dup", "subsumes"})  # labels of pairs that may be merged; all others must not be
MERGED: Final = frozenset({"exists", "updated"})
STATUSES: Final = ("created", "exists", "updated", "superseded")
_BATCH: Final = 200  # pairs between two exports of the store that they are tried in


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A stored text and a new one; `richer` says which of the two says more, where that is known."""

    k: str
    old: str
    new: str
    label: str
    richer: Literal["a", "b"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What became of one pair: which text is kept (a, b or both), and what the new one was said to be."""

    pair: Pair
    status: Status
    kept: Literal["a", "b", "both"]
    relation: str
    reported: bool

    @property
    def is_merged(self) -> bool:
        """Whether only one text is left."""
        return self.status in MERGED

    def as_dict(self) -> dict[str, str]:
        """Return the line of a run."""
        return {"k": self.pair.k, "status": self.status, "kept": self.kept, "relation": self.relation}


def read_pairs(path: Path) -> list[Pair]:
    """Read JSON lines of pairs: k, a, b, label, and perhaps richer (a or b).

    Raises:
        ImportFailed: the file is missing, or a line is no such pair.
        StoreUnreadable: it may not be read.
    """
    found: dict[str, Pair] = {}
    for where, value in objects(path, "pairs are JSON lines with k, a, b and label"):
        k, old, new, label = (text_of(where, value, name) for name in ("k", "a", "b", "label"))
        if k in found:
            raise ImportFailed(f"{where}: pair {k!r} is there twice; give each its own k")
        richer = value.get("richer")
        if richer not in (None, "a", "b"):
            raise ImportFailed(f"{where}: richer is {richer!r}, neither a nor b; mend the line")
        found[k] = Pair(k=k, old=old, new=new, label=label, richer=richer)
    return list(found.values())


def try_all(
    pairs: Sequence[Pair], settings: dict[str, Any], track: Callable[[Sequence[Pair]], Iterable[Pair]] = iter
) -> Iterator[Tried]:
    """Remember the second text of each pair in a store that holds the first alone, with *settings* by key."""
    with _empty_project(settings) as project:
        for number, pair in enumerate(track(pairs), 1):
            yield _try(project, pair)
            if number % _BATCH == 0:
                project.export("project")


@contextmanager
def _empty_project(settings: dict[str, Any]) -> Iterator[Project]:
    from memsync.memories.project import Project
    from memsync.store import config

    with TemporaryDirectory(prefix="memsync-pairs-") as name:
        root = Path(name)
        (root / ".gobby").mkdir()
        env = {**os.environ, "MEMSYNC_HOME": str(root / "home")}
        with Project.open(root, env=env) as project:
            place = project.layout.place("global")
            with project.store("global").writing():
                for key, value in settings.items():
                    config.store(place, key, value)
            project.reload()
            yield project


def _try(project: Project, pair: Pair) -> Tried:
    try:
        project.remember(pair.old)
        result: Remembered | None = project.remember(pair.new)
    except SecretFound:
        result = None
    store = project.store("project")
    with store.writing():
        store.remove(list(store.memories()), project.clock(), keep=False)
    return _judged(pair, result)


def _judged(pair: Pair, result: Remembered | None) -> Tried:
    if result is None:
        return Tried(pair=pair, status="blocked", kept="a", relation="different", reported=False)
    if result.status in MERGED:
        kept: Literal["a", "b"] = "b" if result.entry.content.strip() == pair.new.strip() != pair.old.strip() else "a"
        relation = decide(pair.new, pair.old, 1.0).relation
        return Tried(pair=pair, status=result.status, kept=kept, relation=relation, reported=True)
    relation = result.similar[0].relation if result.similar else "different"
    return Tried(pair=pair, status=result.status, kept="both", relation=relation, reported=bool(result.similar))


def figures(tried: Sequence[Tried]) -> dict[str, Any]:
    """Return what happened by label, and precision and recall of merging; a figure of nothing is None."""
    labels = dict.fromkeys(each.pair.label for each in tried)
    merged = [each for each in tried if each.is_merged]
    same = [each for each in tried if each.pair.label in SAME]
    right = sum(each.pair.label in SAME for each in merged)
    return {
        "pairs": len(tried),
        "labels": {label: _shares([each for each in tried if each.pair.label == label]) for label in sorted(labels)},
        "precision": _share(right, len(merged)),
        "recall": _share(right, len(same)),
    }


def _shares(tried: Sequence[Tried]) -> dict[str, Any]:
    known = [each for each in tried if each.is_merged and each.pair.richer]
    shares = {status: _share(sum(each.status == status for each in tried), len(tried)) for status in STATUSES}
    return {
        "n": len(tried),
        **shares,
        "reported": _share(sum(each.reported for each in tried), len(tried)),
        "contradicts": _share(sum(each.relation == "contradicts" for each in tried), len(tried)),
        "richer kept": _share(sum(each.kept == each.pair.richer for each in known), len(known)),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def main() -> None:
    """Print what became of the pairs of each file that is named, by label."""
    for name in sys.argv[1:]:
        print(
            json.dumps(
                {"file": name, **figures([*try_all(read_pairs(Path(name)), {"memory.author": "nobody"})])}, indent=2
            )
        )


if __name__ == "__main__":
    main()
