"""`git diff` of the memory file is a patch: tools that put parts of files aside and back keep every byte."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest
from doing import edit, forget, remember, shown
from helpers import GitRepo, memsync

from memsync.format import codec, jsonl
from memsync.format.blocks import mend, readable
from memsync.format.jsonl import export, read_lines
from memsync.git import attributes, driver

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
    driver.install(repo.root)
    driver.uninstall(repo.root)
    assert repo.git("config", "alias.memories") == "log\n"


@pytest.fixture
def misled(plain) -> GitRepo:
    """Return a clone that an older memsync has set up."""
    plain.git("config", "diff.memsync.textconv", TEXTCONV)
    plain.git("config", "diff.memsync.cachetextconv", "true")
    plain.git("config", "diff.memsync.xfuncname", "^([^ ].*)$")
    return plain


@pytest.mark.parametrize(
    "words", [("git", "install"), ("git", "install", "--no-hooks"), ("init", "--agent", "none"), ("doctor", "--fix")]
)
def test_a_clone_that_an_older_version_set_up_gets_patches_again(misled, words):
    assert "is a patch again" in memsync(*words, cwd=misled.root).out
    change(misled, "edit")
    assert '"id":"mm-aaaaaa"' in misled.git("diff")
    assert "diff" not in misled.git("config", "--local", "--list").replace("diff.memsync.textconv=", "")
    assert "is a patch again" not in memsync(*words, cwd=misled.root).out


def test_doctor_says_that_the_diff_is_no_patch_and_writes_nothing(misled):
    config = (misled.root / ".git" / "config").read_bytes()
    ran = memsync("doctor", cwd=misled.root)
    assert (ran.code, "no patch" in ran.out) == (1, True)
    assert (misled.root / ".git" / "config").read_bytes() == config


def test_doctor_mends_a_file_that_such_a_patch_has_damaged(misled, tmp_path):
    remember(misled.root, "The tests need docker")
    misled.git("add", "-A")
    change(misled, "add")
    remember(misled.root, "Two lines:\n\n    indented: yes\nend")
    expected = shown(misled.root)
    whole = read_lines(misled.memories.read_bytes())
    misled.git(*PUT_ASIDE, f"--output={tmp_path / 'patch'}", "--", FILE)
    misled.git("checkout", "--force", "--", FILE)
    misled.git(*TAKE_BACK, str(tmp_path / "patch"))
    assert shown(misled.root) != expected
    ran = memsync("doctor", cwd=misled.root)
    assert "put here by a patch" in ran.out
    assert "not JSON" not in ran.out
    assert "made 3 memories again" in memsync("doctor", "--fix", cwd=misled.root).out
    assert [line.memory for line in read_lines(misled.memories.read_bytes())] == [line.memory for line in whole]


def test_every_record_can_be_read_back_from_its_block():
    raws = [
        b'{"content":"first\\nsecond","id":"mm-a","importance":0.8,"tags":["x","y"],"zeta":{"b":1}}',
        b'{"anchors":["src/a.py"],"author":"dev","content":"text","created_at":"2026-01-01T00:00:00.000Z","id":"b-2","memory_type":"pattern","supersedes":["mm-a"]}',
        b'{"content":"  key: value\\n\\nend","id":"mm-c","updated_at":"2026-01-01T00:00:00.000Z"}',
    ]
    data = b"".join(raw + b"\n" for raw in raws)
    back = mend(jsonl.read_lines(b"\n".join(readable(data).split(b"\n"))))
    assert [line.memory for line in sorted(back, key=lambda line: line.raw)] == [
        codec.decode(raw).memory for raw in sorted(raws)
    ]


def test_a_block_of_a_memory_that_is_there_too_adds_nothing_and_notes_of_people_stay():
    raw = b'{"content":"first","id":"mm-a","updated_at":"2026-01-01T00:00:00.000Z"}\n'
    note = b"a note (really)\n  with two lines\n"
    assert export(mend(read_lines(note + readable(raw) + raw))) == note + raw
