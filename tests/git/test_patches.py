"""`git diff` of the memory file is a patch: tools that put parts of files aside and back keep every byte."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from doing import edit, forget, remember

from memsync.git import attributes

if TYPE_CHECKING:
    from helpers import GitRepo

TEXTCONV = f"{shlex.quote(sys.executable)} -m memsync git textconv"
FILE = ".gobby/memories.jsonl"
# How lint-staged 16.4 and lefthook 2.2 put what is not staged aside, word for word.
PUT_ASIDE = "diff --binary --unified=0 --no-color --no-ext-diff --src-prefix=a/ --dst-prefix=b/ --patch --submodule=short".split()
TAKE_BACK = "apply -v --whitespace=nowarn --recount --unidiff-zero".split()


@pytest.fixture
def plain(hooked) -> GitRepo:
    """Return a repository whose attributes are committed and whose clone is set up by us."""
    (hooked.root / ".gitattributes").write_bytes(attributes.add_lines(b""))
    hooked.git("add", "-A")
    hooked.git("commit", "-qm", "attributes")
    return hooked


def change(repo: GitRepo, kind: str) -> None:
    """Change the memories as an agent does between `git add` and `git commit`."""
    if kind == "add":
        remember(repo.root, "Staging lives in the Dublin region", "The build uses Node twenty two")
    elif kind == "edit":
        edit(repo.root, "mm-aaaaaa", "first, as it is now")
    else:
        forget(repo.root, "mm-aaaaaa")


@pytest.mark.parametrize("kind", ["add", "edit", "remove"])
@pytest.mark.parametrize("words", [PUT_ASIDE, ["diff"], ["diff", "--binary"], ["diff", "-U0"]])
def test_what_git_diff_says_of_memories_can_be_put_aside_and_taken_back(plain, tmp_path, kind, words):
    change(plain, kind)
    before = plain.memories.read_bytes()
    patch = tmp_path / "patch"
    plain.git(*words, f"--output={patch}", "--", FILE)
    plain.git("checkout", "--force", "--", FILE)
    plain.git(*TAKE_BACK, str(patch))
    assert plain.memories.read_bytes() == before


def test_a_commit_can_be_taken_back_with_what_git_show_says(plain):
    before = plain.memories.read_bytes()
    change(plain, "edit")
    plain.git("commit", "-qam", "edited")
    patch = subprocess.run(["git", "show"], cwd=plain.root, capture_output=True, check=True).stdout
    subprocess.run(["git", "apply", "-R"], cwd=plain.root, input=patch, check=True)
    assert plain.memories.read_bytes() == before


def test_the_alias_shows_memories_as_people_read_them_from_any_directory(plain):
    change(plain, "edit")
    (plain.root / "docs").mkdir()
    here = subprocess.run(
        ["git", "memories", "diff", "--", "../.gobby"],
        cwd=plain.root / "docs",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "-  first\n" in here.stdout
    assert "+  first, as it is now\n" in here.stdout
    plain.git("commit", "-qam", "edited")
    assert "+  first, as it is now\n" in plain.git("memories", "log", "-p", "-1", "--format=")
    assert '"id"' not in plain.git("memories", "show", "--format=")


def test_an_alias_of_the_user_stays_his(repo):
    repo.git("config", "alias.memories", "log")
    attributes.install(repo.root)
    attributes.uninstall(repo.root)
    assert repo.git("config", "alias.memories") == "log\n"
