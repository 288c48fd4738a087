"""A conflict in a clone without our driver ends as the driver would have ended it, whatever git did and a hand did since."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync import Memsync
from memsync.format.jsonl import in_conflict, read_lines
from memsync.format.merge import merge
from memsync.git.conflict import resolve

BORN = "2026-01-01T00:00:00.000Z"
STYLES = ("merge", "diff3", "zdiff3")


def record(number: int, text: str, minute: int = 0) -> str:
    at = f"2026-01-02T00:{minute:02}:00.000Z" if minute else BORN
    return memory_line(f"mm-{number:04x}", text, created_at=BORN, updated_at=at)


def begin(rng: random.Random) -> dict[int, str]:
    """Draw a file in whatever order: records by number."""
    numbers = rng.sample(range(400), 18)
    return {number: record(number, f"base {number}") for number in numbers}


def branch(rng: random.Random, base: dict[int, str], name: str) -> str:
    """Draw what somebody made of a file: edited, removed, added, and perhaps put in another order."""
    rows = dict(base)
    for number in rng.sample(sorted(base), 6):
        rows[number] = record(number, f"{name} {number}", rng.randrange(1, 50))
    for number in rng.sample(sorted(base), 2):
        del rows[number]
    rows |= {number: record(number, f"{name} {number}", 50) for number in rng.sample(range(400, 600), 3)}
    lines = list(rows.values())
    order = rng.choice(("kept", "sorted", "shuffled", "moved"))
    if order == "sorted":
        lines.sort()
    elif order == "shuffled":
        rng.shuffle(lines)
    elif order == "moved":
        lines.insert(rng.randrange(9), lines.pop(rng.randrange(9, 18)))
    return "".join(lines)


def commit(repo: GitRepo, branch: str, text: str) -> None:
    repo.git("switch", "-q", branch)
    repo.write_memories(text)
    repo.git("add", "-A")
    repo.git("commit", "-qm", branch)


def meet(repo: GitRepo, way: str, base: str, ours: str, theirs: str) -> bool:
    """Bring two branches together in a clone without our driver; return whether that left a conflict in the file."""
    commit(repo, "main", base)
    repo.git("branch", "other")
    commit(repo, "main", ours)
    if way == "stash":
        repo.git("switch", "-q", "other")
        repo.write_memories(theirs)
        repo.git("stash", "-q")
        repo.git("switch", "-q", "main")
        words = ["stash", "pop"]
    elif way == "am":
        commit(repo, "other", theirs)
        patch = repo.git("format-patch", "-1", "--stdout", "other")
        (repo.root.parent / "patch").write_text(patch)
        repo.git("switch", "-q", "main")
        words = ["am", "-3", str(repo.root.parent / "patch")]
    else:
        commit(repo, "other", theirs)
        repo.git("switch", "-q", "main")
        words = [*way.split(), "other"]
    subprocess.run(["git", *words], cwd=repo.root, capture_output=True, check=False)
    return in_conflict(read_lines(repo.memories.read_bytes())) and bool(repo.git("ls-files", "-u"))


def stages(repo: GitRepo) -> list[bytes]:
    """Return base, ours and theirs as git holds them."""
    return [
        subprocess.run(
            ["git", "cat-file", "blob", f":{stage}:.gobby/memories.jsonl"],
            cwd=repo.root, capture_output=True, check=False,
        ).stdout
        for stage in (1, 2, 3)
    ]  # fmt: skip


WAYS = (
    "merge", "merge -s recursive", "merge -Xpatience", "merge -Xdiff-algorithm=minimal", "merge -Xignore-space-change",
    "rebase", "rebase --apply", "cherry-pick", "stash", "am",
)  # fmt: skip


def conflicts(repo: GitRepo, way: str, seed: int) -> Callable[[], random.Random] | None:
    """Leave a drawn conflict in *repo*; return what goes on drawing, None where git merged without one."""
    rng = random.Random(f"{way} {seed}")
    repo.git("config", "merge.conflictStyle", STYLES[seed % 3])
    repo.git("config", "rerere.enabled", str(seed % 2 == 0).lower())
    base = begin(rng)
    sides = [branch(rng, base, name) for name in ("ours", "theirs")]
    return (lambda: rng) if meet(repo, way, "".join(base.values()), *sides) else None


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("way", WAYS)
def test_whatever_git_merged_as_text_ends_as_the_driver_ends_it(repo, way, seed):
    assert conflicts(repo, way, seed), "the drawn branches differ in most places"
    expected = merge(*stages(repo)).data
    with Memsync.open(repo.root) as project:
        assert resolve(project.store("project")).held is None
    assert repo.memories.read_bytes() == expected


def edit_by_hand(rng: random.Random, lines: list[str]) -> tuple[list[str], set[str], set[int]]:
    """Edit, add and take out lines of a file in conflict; return it, the texts written, and the numbers taken out."""
    written, gone = set(), set()
    numbers = [number for number in range(600) if any(f'"mm-{number:04x}"' in line for line in lines)]
    removed, edited, doubled, added = (
        rng.sample(numbers, 2), rng.sample(numbers, 4), rng.choice(numbers), rng.randrange(600, 700)
    )  # fmt: skip
    for number in set(removed) - {*edited, doubled}:
        lines = [line for line in lines if f'"mm-{number:04x}"' not in line]
        gone.add(number)
    for number in edited:
        places = [at for at, line in enumerate(lines) if f'"mm-{number:04x}"' in line]
        at = rng.choice(places)
        lines[at] = record(number, f"hand {number}", rng.choice((1, 55)))
        written.add(f"hand {number}")
    lines.insert(rng.randrange(len(lines)), record(doubled, f"hand twice {doubled}", 56))
    lines.append(record(added, f"hand {added}", 57))
    written |= {f"hand twice {doubled}", f"hand {added}"}
    return lines, written, gone


def texts(data: bytes) -> set[str]:
    return {line.memory.content for line in read_lines(data) if line.memory}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("way", WAYS)
def test_a_conflict_that_a_hand_has_edited_loses_neither_a_side_nor_the_edits(repo, way, seed):
    rng = conflicts(repo, way, seed + 10)
    assert rng
    base, ours, theirs = stages(repo)
    left = repo.memories.read_text().splitlines(keepends=True)
    lines, written, gone = edit_by_hand(rng(), left)
    repo.write_memories("".join(lines))
    taken_out = (texts(ours) | texts(theirs)) - texts("".join(lines).encode())
    with Memsync.open(repo.root) as project:
        resolve(project.store("project"))
    after = repo.memories.read_bytes()
    assert written <= texts(after)
    assert (texts(ours) | texts(theirs)) - texts(base) - taken_out <= texts(after)
    assert not [number for number in gone if f'"mm-{number:04x}"' in after.decode()]
    driven = texts(merge(base, ours, theirs).data)
    assert texts(after) <= driven | written | texts("".join(lines).encode())


def test_sync_keeps_the_later_edits_of_the_other_side_where_somebody_sorted_the_lines(repo):
    """Two ways to compare the texts leave other lines outside of the markers; neither is an edit by hand."""
    rng = random.Random(12)
    base = begin(rng)
    mine = sorted({**base, **{n: record(n, f"mine {n}", 9) for n in sorted(base)[3:6]}}.values())
    others = {**base, **{n: record(n, f"upstream {n}", 10 + n % 7) for n in list(base)[6:14]}}
    assert meet(repo, "merge", "".join(base.values()), "".join(mine), "".join(others.values()))
    expected = merge(*stages(repo)).data
    done = memsync("sync", cwd=repo.root)
    assert (done.code, "resolved the conflict" in done.out) == (0, True)
    assert repo.memories.read_bytes() == expected
    assert {f"upstream {n}" for n in list(base)[6:14]} <= texts(expected)


@pytest.mark.parametrize("is_server", [False, True])
def test_what_an_edit_by_hand_replaced_is_no_side_of_a_conflict_and_stays_away(repo, is_server):
    """Its time is that of what it replaced, and git alone knows which of the two the other side came from."""
    base = {number: record(number, f"base {number}") for number in range(2)}
    ours, theirs = {**base, 1: record(1, "ours", 5)}, {0: record(0, "by hand"), 1: record(1, "theirs", 6)}
    server = Memsync.open(repo.root)
    assert meet(repo, "merge", *("".join(rows.values()) for rows in (base, ours, theirs)))
    with server if is_server else Memsync.open(repo.root) as project:
        assert {entry.content for entry in project.memories()} == {"by hand", "ours", "theirs"}
        project.update("mm-0000", content="by an agent")
        assert {entry.content for entry in project.memories()} == {"by an agent", "ours", "theirs"}
        project.forget("mm-0000")
        assert {entry.content for entry in project.memories()} == {"ours", "theirs"}
    assert memsync("sync", cwd=repo.root).code == 0
    repo.git("commit", "-qm", "merged")
    assert memsync("sync", cwd=repo.root).code == 0
    assert texts(repo.memories.read_bytes()) == {"ours", "theirs"}


def test_a_record_that_a_hand_put_back_while_it_resolved_the_conflict_stays(repo):
    """Without markers each record stands once: somebody has chosen."""
    base = {number: record(number, f"base {number}") for number in range(4)}
    ours = {**base, 1: record(1, "ours", 5)}
    theirs = {0: base[0], 1: record(1, "theirs", 6), 3: base[3]}
    assert meet(repo, "merge", *("".join(rows.values()) for rows in (base, ours, theirs)))
    repo.write_memories("".join(base.values()))
    assert memsync("sync", cwd=repo.root).code == 0
    assert texts(repo.memories.read_bytes()) == {f"base {number}" for number in range(4)}


def test_markers_that_were_taken_out_and_nothing_else_leave_the_merge_to_us(repo):
    base = {number: record(number, f"base {number}") for number in range(4)}
    ours = {**base, 1: record(1, "ours", 5)}
    theirs = {0: base[0], 1: record(1, "theirs", 6), 3: base[3]}
    assert meet(repo, "merge", *("".join(rows.values()) for rows in (base, ours, theirs)))
    left = repo.memories.read_text().splitlines(keepends=True)
    repo.write_memories("".join(line for line in left if line.startswith("{")))
    expected = merge(*stages(repo)).data
    assert memsync("sync", cwd=repo.root).code == 0
    assert repo.memories.read_bytes() == expected


def test_a_file_that_one_side_removed_keeps_what_the_other_made_of_it(repo):
    """git then holds one side alone, and leaves that in the work tree without a marker."""
    base = {number: record(number, f"base {number}") for number in range(3)}
    commit(repo, "main", "".join(base.values()))
    repo.git("switch", "-qc", "other")
    repo.git("rm", "-q", ".gobby/memories.jsonl")
    repo.git("commit", "-qm", "no memories")
    commit(repo, "main", "".join({**base, 1: record(1, "edited", 5)}.values()))
    assert subprocess.run(["git", "merge", "other"], cwd=repo.root, capture_output=True, check=False).returncode == 1
    assert memsync("sync", cwd=repo.root).code == 0
    assert texts(repo.memories.read_bytes()) == {"base 0", "edited", "base 2"}
    assert repo.git("ls-files", "-u") == ""
