"""The merge: 1,000 random merges of two and three branches, with the driver and without; and what the driver costs.

A text is lost if one branch wrote it and the merged file has it nowhere; a removal is undone if a record that one
branch removed and no other touched is back. MEMSYNC_DATA=DIR with gobby/corpus.jsonl merges real records.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.corpus import records
from benchmarks.timing import paired
from memsync.format import codec, jsonl, merge
from memsync.records import format_time
from memsync.store.checkout import merge_text

MERGES = 1_000
SIDE = 10_000
_SEED = 20261121
_START = datetime(2026, 2, 1, tzinfo=UTC)

File = list[bytes]
Merge = Callable[[bytes, bytes, bytes], tuple[bool, bytes]]


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "conflicts", "texts lost", "removals undone", "ids twice", "ms p50", "ratio")
    for name, how, is_sorted in (
        ("driver", by_driver, True),
        ("sorted by id, merged as text, then the reader of conflicts", by_text_and_reader, True),
        ("plain JSONL sorted by id, merged as text", by_text, True),
        ("plain JSONL in the order written, merged as text", by_text, False),
    ):
        yield _simulated(name, how, is_sorted=is_sorted)
    yield from _timed()


# simulation


@dataclass
class Branch:
    """A file as one branch has it, and what was done there."""

    lines: File
    written: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)


def _corpus() -> File:
    path = Path(os.environ.get("MEMSYNC_DATA", "")) / "gobby" / "corpus.jsonl"
    if not path.is_file():
        return records(4_000)
    lines = {line.id: line.raw for line in jsonl.read_lines(path.read_bytes()) if line.id and line.memory}
    return list(lines.values())


def _branch(pick: random.Random, base: File, imports: File, texts: Sequence[str], name: str) -> Branch:
    """Add, edit, remove and import as a week on a branch would."""
    branch = Branch(list(base))
    when = _START

    def now() -> str:
        nonlocal when
        when += timedelta(minutes=pick.randint(1, 500))
        return format_time(when)

    for number in range(pick.randint(0, 6)):
        at = pick.randrange(len(branch.lines))
        old = codec.decode(branch.lines[at])
        branch.touched.add(old.id or "")
        fate = pick.random()
        if fate < 0.3:
            branch.removed.add(old.id or "")
            del branch.lines[at]
        elif fate < 0.5:
            fields = {"tags": pick.sample("abcdef", 3), "importance": pick.randint(1, 10) / 10, "updated_at": now()}
            branch.lines[at] = codec.edit(branch.lines[at], fields)
        else:
            text = f"{pick.choice(texts)} edited on {name}, number {number}"
            branch.written.add(text)
            branch.lines[at] = codec.edit(branch.lines[at], {"content": text, "updated_at": now()})
    for number in range(pick.randint(0, 6)):
        text = f"{pick.choice(texts)} added on {name}, number {number}"
        letters = "".join(pick.choices("abcdefghijklmnopqrstuvwxyz234567", k=8))
        fields = {"id": f"mm-{letters}", "content": text, "created_at": now(), "updated_at": now()}
        branch.written.add(text)
        branch.lines.append(codec.edit(b"{}", fields))
    if pick.random() < 0.2:
        branch.lines += imports
        branch.written |= {_text(raw) for raw in imports}
    branch.written &= {_text(raw) for raw in branch.lines}
    return branch


def _text(raw: bytes) -> str:
    memory = codec.decode(raw).memory
    return memory.content if memory else ""


def _file(lines: File, *, is_sorted: bool) -> bytes:
    data = b"".join(raw + b"\n" for raw in lines)
    return jsonl.export(jsonl.read_lines(data)) if is_sorted else data


def _simulated(name: str, how: Merge, *, is_sorted: bool) -> tuple[str, ...]:
    pick = random.Random(_SEED)
    corpus = _corpus()
    texts = [_text(raw) for raw in corpus]
    counts: Counter[str] = Counter()
    for number in range(MERGES):
        lines = pick.sample(corpus, 220)
        base, imports = lines[:200], lines[200:]
        names = ("a", "b", "c")[: pick.choice((2, 2, 3))]
        branches = [_branch(pick, base, imports, texts, f"{branch}{number}") for branch in names]
        counts.update(_one(how, base, branches, is_sorted=is_sorted))
    return (
        f"{MERGES:,} merges: {name}",
        f"{100 * counts['conflicts'] / MERGES:.1f} %",
        f"{counts['lost']} of {counts['written']:,}",
        f"{counts['undone']} of {counts['removed']:,}",
        f"{counts['twice']}",
        "–",
        "–",
    )


def _one(how: Merge, base: File, branches: list[Branch], *, is_sorted: bool) -> dict[str, int]:
    before, merged = _file(base, is_sorted=is_sorted), _file(branches[0].lines, is_sorted=is_sorted)
    conflict = False
    for branch in branches[1:]:
        found, merged = how(before, merged, _file(branch.lines, is_sorted=is_sorted))
        conflict |= found
    lines = [line for line in jsonl.read_lines(merged) if line.memory]
    texts, ids = {line.memory.content for line in lines if line.memory}, {line.id for line in lines}
    written = {text for branch in branches for text in branch.written}
    touched = Counter(id_ for branch in branches for id_ in branch.touched)
    removed = {id_ for branch in branches for id_ in branch.removed if touched[id_] == 1}
    return {
        "conflicts": conflict,
        "written": len(written),
        "lost": len(written - texts),
        "removed": len(removed),
        "undone": len(removed & ids),
        "twice": len(lines) - len(ids),
    }


def by_driver(base: bytes, ours: bytes, theirs: bytes) -> tuple[bool, bytes]:
    done = merge.merge(base, ours, theirs)
    return done.unsettled > 0, done.data


def by_text(base: bytes, ours: bytes, theirs: bytes) -> tuple[bool, bytes]:
    """Merge as git does; a person who takes the markers out and keeps all lines is the kindest end of a conflict."""
    count, data = merge_text(Path.cwd(), (base, ours, theirs))
    kept, in_base = [], False
    for line in jsonl.read_lines(data):
        if line.is_marker:
            in_base = line.raw.startswith(b"|")
        elif not in_base:
            kept.append(line.raw + b"\n")
    return count > 0, b"".join(kept)


def by_text_and_reader(base: bytes, ours: bytes, theirs: bytes) -> tuple[bool, bytes]:
    count, data = merge_text(Path.cwd(), (base, ours, theirs))
    return count > 0, jsonl.export(merge.settle(jsonl.read_lines(data)))


# cost


def _timed() -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for part, data in zip(("base", "ours", "theirs"), _sides(), strict=True):
            (directory / part).write_bytes(data)

        def run(*words: str) -> Callable[[], object]:
            return lambda: subprocess.run(words, cwd=directory, capture_output=True, check=False)

        def driver() -> None:
            (directory / "result").write_bytes((directory / "ours").read_bytes())
            run(sys.executable, "-m", "memsync", "git", "merge-driver", "base", "result", "theirs")()

        for what, base in (
            ("python -c pass", run(sys.executable, "-c", "pass")),
            ("git merge-file", run("git", "merge-file", "-p", "ours", "base", "theirs")),
        ):
            times = paired(driver, base, 7)
            row = f"driver, a process, {SIDE:,} records a side, 15 % edited on each ÷ {what}"
            yield (row, "–", "–", "–", "–", f"{times.ms():.0f}", f"{times.ratio:.1f}")


def _sides() -> Iterator[bytes]:
    lines = records(SIDE)
    yield _file(lines, is_sorted=True)
    for seed in (1, 2):
        pick = random.Random(seed)
        yield _file([_edited(raw, pick, seed) for raw in lines if pick.random() > 0.05], is_sorted=True)


def _edited(raw: bytes, pick: random.Random, seed: int) -> bytes:
    if pick.random() > 0.15:
        return raw
    when = format_time(_START + timedelta(minutes=pick.randint(0, 9_999)))
    return codec.edit(raw, {"content": f"edited on {seed}: {pick.random()}", "updated_at": when})
