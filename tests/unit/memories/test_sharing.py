"""Moving memories into and out of what others see, and what git sees of it."""

from __future__ import annotations

import pytest
import secret_shapes as shapes
from helpers import memory_line, memsync

from memsync import Memsync
from memsync.errors import MemoryNotFound, NoStore, NotShared, SecretFound, UsageError
from memsync.memories import sharing
from memsync.records import SCOPES

SECRET = "the staging password is " + shapes.password(1)


def texts(project: Memsync) -> list[tuple[str, str]]:
    found = [(entry.scope, entry.content) for entry in project.memories()]
    return sorted(found, key=lambda each: (SCOPES.index(each[0]), each[1]))


def test_a_shared_memory_keeps_its_id_times_and_unknown_keys(project, repo):
    store = project.store_to_write("private")
    raw = memory_line(
        "mm-aaaaaa", "alpha", created_at="2025-01-01T00:00:00Z", importance=0.3, n=12345678901234567890123
    )
    store.path.parent.mkdir(parents=True, exist_ok=True)
    store.path.write_text(raw)
    (entry,) = sharing.share(project, ["aaa"])
    assert (entry.scope, entry.id) == ("project", "mm-aaaaaa")
    project.close()
    assert repo.memories.read_text() == raw
    assert store.path.read_text() == ""


def test_sharing_there_and_back_changes_nothing(project, repo):
    kept = project.remember("alpha", scope="private", tags=["a"]).entry.memory
    sharing.share(project, [kept.id])
    (entry,) = sharing.unshare(project, [kept.id])
    assert (entry.scope, entry.memory) == ("private", kept)
    project.close()
    assert repo.memories.read_text() == ""


def test_a_global_memory_can_be_shared_and_a_shared_one_be_global(project):
    one = project.remember("alpha", scope="global").entry
    sharing.share(project, [one.id])
    assert texts(project) == [("project", "alpha")]
    sharing.unshare(project, [one.id], "global")
    assert texts(project) == [("global", "alpha")]


def test_nothing_is_shared_when_one_of_them_would_leak(project):
    good = project.remember("alpha", scope="private").entry.id
    secret = project.remember(SECRET, scope="private").entry.id
    private = project.remember("gamma", scope="private", tags=["private"]).entry.id
    before = texts(project)
    with pytest.raises(SecretFound):
        sharing.share(project, [good, secret])
    with pytest.raises(NotShared, match="tag private"):
        sharing.share(project, [good, private])
    with pytest.raises(MemoryNotFound):
        sharing.share(project, [good, "mm-zzzzzz"])
    assert texts(project) == before


def test_a_home_path_that_came_in_by_hand_is_rewritten_on_sharing(project, home):
    store = project.store_to_write("private")
    store.path.parent.mkdir(parents=True, exist_ok=True)
    store.path.write_text(memory_line("mm-aaaaaa", f"logs are in {home}/logs"))
    assert sharing.share(project, ["mm-aaaaaa"])[0].content == "logs are in ~/logs"


def test_what_is_there_already_or_says_something_else_stays(project, repo):
    one = project.remember("alpha").entry.id
    with pytest.raises(UsageError, match="already"):
        sharing.share(project, [one])
    stealth = project.store_to_write("private")
    stealth.path.parent.mkdir(parents=True, exist_ok=True)
    stealth.path.write_text(memory_line(one, "another text"))
    with pytest.raises(NotShared, match="different text"):
        sharing.unshare(project, [one])
    assert texts(project) == [("project", "alpha"), ("private", "another text")]


def test_under_stealth_nothing_is_shared(project):
    from memsync.setup.installing import turn_stealth

    turn_stealth(project, True, move=True)
    one = project.remember("alpha").entry.id
    with pytest.raises(NoStore, match="stealth is on"):
        sharing.share(project, [one])
    assert texts(project) == [("private", "alpha")]


def seen(repo) -> dict[str, object]:
    """Return all that git, and a look at the work tree, show."""
    tracked = repo.git("ls-files", "-z").split("\0")[:-1]
    return {
        "status": repo.git("status", "--porcelain=v2", "--ignored", "--untracked-files=all"),
        "diff": repo.git("diff", "--no-textconv") + repo.git("diff", "--cached", "--no-textconv"),
        "refs": repo.git("for-each-ref") + repo.git("stash", "list"),
        "index": repo.git("ls-files", "--stage"),
        "bytes": {name: (repo.root / name).read_bytes() for name in tracked},
        "tree": sorted(str(p) for p in repo.root.rglob("*") if ".git" not in p.relative_to(repo.root).parts),
    }


def use_everything(repo) -> None:
    """Run what a user or an agent runs all day."""
    notes = repo.root.parent / "notes.md"
    notes.write_text("- from the notes\n")
    runs = [
        ("memory", "remember", "alpha", "--tag", "x"), ("memory", "update", "mm-", "-c", "alpha two"),
        ("memory", "recall", "alpha"), ("memory", "list"), ("memory", "stats"), ("memory", "import", str(notes)),
        ("memory", "export"), ("memory", "config", "memory.recall_limit", "7"), ("memory", "audit", "--history"),
        ("memory", "diff"), ("memory", "blame"), ("status",), ("doctor",), ("doctor", "--fix"), ("index", "rebuild"),
        ("memory", "forget", "mm-"), ("memory", "remember", "beta"), ("memory", "remember", "gamma", "--private"),
    ]  # fmt: skip
    for words in runs:
        done = memsync(*words, cwd=repo.root)
        assert done.code in (0, 1), (words, done.err)
        assert "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("start", ["fresh", "used", "committed", "committed, then written to"])
def test_under_stealth_git_sees_what_it_would_see_without_memsync(repo, start):
    expected = seen(repo)
    if start != "fresh":
        assert memsync("init", cwd=repo.root).code == 0
        memsync("memory", "remember", "zeta", cwd=repo.root)
        memsync("memory", "recall", "zeta", cwd=repo.root)
    if start.startswith("committed"):
        repo.git("add", "-A")
        repo.git("commit", "-qm", "memories")
        expected = {**seen(repo), "status": "", "tree": [p for p in seen(repo)["tree"] if "/local" not in p]}
    if start.endswith("written to"):
        memsync("memory", "remember", "eta", cwd=repo.root)
        expected = {**expected, "status": repo.git("status", "--porcelain=v2"), "diff": seen(repo)["diff"]}
        expected["bytes"] = seen(repo)["bytes"]
        repo.git("diff")  # of which git keeps the readable form, in a ref of its own
    assert memsync("memory", "config", "--stealth", "on", cwd=repo.root).code == 0
    use_everything(repo)
    now = seen(repo)
    assert {key: value for key, value in now.items() if value != expected[key]} == {}


def test_private_records_leave_no_trace_in_git_either(repo):
    before = seen(repo)
    for words in (("remember", "alpha", "--private"), ("recall", "alpha"), ("update", "mm-", "-c", "beta"), ("list",)):
        assert memsync("memory", *words, cwd=repo.root).code in (0, 1)
    assert seen(repo) == before


def test_stealth_off_again_brings_everything_back(repo):
    memsync("memory", "remember", "alpha", cwd=repo.root)
    before = repo.memories.read_bytes()
    memsync("memory", "config", "--stealth", "on", cwd=repo.root)
    assert not repo.memories.exists()
    memsync("memory", "config", "--stealth", "off", "--move", cwd=repo.root)
    assert repo.memories.read_bytes() == before
