"""What git's patches say of a commit, and of the work tree, is what a look at whole versions says."""

from __future__ import annotations

import pytest

from memsync import Memsync
from memsync.git import history
from memsync.history.events import differences_now, find_uncommitted
from memsync.history.lines import files_of, lines_known, read_live


@pytest.fixture
def told(repo, line):
    """Return a repository whose file was brought, renamed, edited, merged with both sides changed, and emptied of a memory."""
    old = repo.root / "was.jsonl"
    rows = {f"mm-{n:06}": line(f"mm-{n:06}", f"the {n}th thing, --- and +++ and @@ of it") for n in range(30)}

    def commit(path, subject):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(rows.values()))
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", subject)

    commit(old, "bring")
    (repo.root / ".gobby").mkdir(exist_ok=True)
    repo.git("mv", "was.jsonl", ".gobby/memories.jsonl")
    rows["mm-000003"] = line("mm-000003", "another third thing\u2028 on\r two lines")
    commit(repo.memories, "rename and edit")
    repo.git("checkout", "-q", "-b", "side")
    rows["mm-000007"] = line("mm-000007", "their seventh")
    commit(repo.memories, "side")
    repo.git("checkout", "-q", "main")
    rows["mm-000007"] = line("mm-000007", "our seventh")
    del rows["mm-000011"]
    commit(repo.memories, "ours")
    repo.git("merge", "-q", "-s", "ours", "--no-commit", "side")
    rows["mm-000007"] = line("mm-000007", "both sevenths")
    commit(repo.memories, "merge")
    repo.memories.write_text("".join([*list(rows.values())[5:], *list(rows.values())[:5]]).removesuffix("\n"))
    repo.git("commit", "-q", "-am", "moved about, without a last newline")
    repo.git("config", "diff.external", "false")
    repo.git("config", "color.ui", "always")
    repo.git("config", "diff.noprefix", "true")
    repo.git("config", "diff.context", "9")
    return repo


def test_a_commit_did_what_its_two_versions_differ_in(told):
    names = [".gobby/memories.jsonl", "was.jsonl"]
    commits = told.git("log", "--format=%H", "--", *names).split()
    assert len(commits) == 6
    for commit in commits:
        seen = history.read_commit(told.root, commit, tuple(names)).step
        whole = next(history.steps(told.root, names, revs=["--no-walk=unsorted", commit]), None)
        assert seen.commit == whole.commit if whole else not seen.added
        for name in ("added", "removed", "replaced"):
            assert sorted(getattr(seen, name)) == sorted(getattr(whole, name) if whole else ())


def test_of_a_commit_that_brings_much_some_rows_are_read_and_the_others_counted(repo, line):
    repo.write_memories("".join(line(f"mm-{n:06}", f"number {n}") for n in range(500)))
    repo.git("add", ".gobby")
    repo.git("commit", "-q", "-m", "all")
    patch = history.read_commit(repo.root, repo.git("rev-parse", "HEAD").strip(), (".gobby/memories.jsonl",))
    assert len(patch.step.added) + patch.left == 500
    assert patch.left


@pytest.mark.parametrize(
    "change", ["nothing", "edit", "add", "remove", "log", "untracked", "without an id", "torn", "blind", "all"]
)
def test_the_work_tree_differs_in_what_a_look_at_all_lines_finds(told, line, change):
    text = told.memories.read_text() + "\n"
    told.memories.write_text(
        {
            "edit": text.replace("the 9th thing", "the ninth thing"),
            "add": text + line("mm-900000", "new, and it names mm-000001"),
            "remove": "".join(one for one in text.splitlines(keepends=True) if "mm-000001" not in one),
            "log": text + line("mm-000001", "said again", updated_at="2030-01-01T00:00:00.000Z"),
            "without an id": text + '{"content": "by hand"}\n',
            "torn": text[:-9],
            "blind": text.replace("the 9th thing", "the ninth thing"),
            "all": text.replace('"id"', ' "id"'),
        }.get(change, text)
    )
    if change == "untracked":
        told.git("rm", "-q", "--cached", ".gobby/memories.jsonl")
    if change == "blind":
        told.git("update-index", "--assume-unchanged", ".gobby/memories.jsonl")
    with Memsync.open(told.root) as project:
        files, head = files_of(project), told.git("rev-parse", "HEAD").strip()
        whole = differences_now(project, read_live(files.root, files.path, head, lines_known(project)))
        found = find_uncommitted(project, files, head)
    assert [(one.id, one.kind, one.before, one.after) for one in found] == [
        (one.id, one.kind, one.before, one.after) for one in whole
    ]
