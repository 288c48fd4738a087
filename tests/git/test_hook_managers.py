"""The real husky, lint-staged, lefthook and pre-commit beside our hook, with a memory file that is staged in part."""

from __future__ import annotations

import pytest
from doing import committed, edit, remember, shown
from helpers import until
from managers import environment, run, set_up_lefthook, set_up_lint_staged, set_up_pre_commit, why_missing

MANAGERS = {
    "lint-staged": (set_up_lint_staged, ("husky", "lint-staged")),
    "lefthook": (set_up_lefthook, ("lefthook",)),
    "pre-commit": (set_up_pre_commit, ("pre-commit",)),
}


@pytest.fixture(params=list(MANAGERS))
def managed(request, repo, home):
    """Return a repository with a hook manager, and the environment that finds it."""
    set_up, programs = MANAGERS[request.param]
    if why := why_missing(*programs):
        pytest.skip(why)
    env = environment(home)
    set_up(repo, env)
    return repo, env


@pytest.mark.parametrize("kind", ["add", "edit"])
def test_memories_that_are_staged_in_part_survive_the_hook_manager(managed, kind):
    repo, env = managed
    (repo.root / "a.js").write_text("b\n")
    (first,) = remember(repo.root, "The build uses Node twenty two")
    repo.git("add", "-A")
    if kind == "add":
        remember(repo.root, "Staging lives in the Dublin region")
    else:
        edit(repo.root, first, "The build uses Node twenty four")
    before, texts = repo.memories.read_bytes(), shown(repo.root)
    done = run(repo, "git", "commit", "-m", "feature", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (repo.memories.read_bytes(), shown(repo.root)) == (before, texts)
    assert "twenty two" in committed(repo)


def test_a_commit_that_the_hook_manager_refuses_leaves_nothing_of_ours_staged(managed):
    repo, env = managed
    (repo.root / ".git" / "lint.sh").write_text("exit 1\n")
    (repo.root / "a.js").write_text("b\n")
    repo.git("add", "a.js")
    remember(repo.root, "The build uses Node twenty two")
    before, texts = repo.memories.read_bytes(), shown(repo.root)
    done = run(repo, "git", "commit", "-m", "feature", env=env)
    assert done.returncode != 0, done.stdout + done.stderr
    until(lambda: repo.git("diff", "--cached", "--name-only") == "a.js\n")
    assert (repo.memories.read_bytes(), shown(repo.root)) == (before, texts)
    (repo.root / ".git" / "lint.sh").write_text("exit 0\n")
    done = run(repo, "git", "commit", "-m", "feature", env=env)
    assert (done.returncode, "twenty two" in committed(repo)) == (0, True)
