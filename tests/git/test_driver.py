"""Our drivers under the real git: what it runs, what it gets, and what it does without us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync.format.jsonl import in_conflict, read_lines
from memsync.format.merge import merge
from memsync.format.textdiff import readable
from memsync.git import attributes

OLD, EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"


def lines(**texts: str) -> str:
    return "".join(
        memory_line(f"mm-{id_}", text, created_at=OLD, updated_at=EARLY) for id_, text in sorted(texts.items())
    )


BASE = lines(a="one", b="two", c="three")
OURS = lines(a="one, ours", b="two", c="three", d="new of ours")
THEIRS = lines(a="one, theirs", b="two", d2="new of theirs")


@pytest.fixture
def installed(repo: GitRepo) -> GitRepo:
    """Return a repository whose clone knows our drivers and whose files have our attributes."""
    (repo.root / ".gitattributes").write_bytes(attributes.add_lines(b""))
    attributes.install(repo.root)
    return repo


def branches(repo: GitRepo, base: str, ours: str, theirs: str, path: str = ".gobby/memories.jsonl") -> None:
    """Commit three versions of a file: `main` and `other` came from the same commit. main is checked out."""
    file = repo.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    for branch, text in (("main", base), ("other", theirs), ("main", ours)):
        if branch == "other":
            repo.git("switch", "-qc", "other")
        elif repo.git("branch", "--show-current") != "main\n":
            repo.git("switch", "-q", "main")
        file.write_text(text)
        repo.git("add", "-A")
        repo.git("commit", "-qm", f"on {branch}", "--allow-empty")


def git(repo: GitRepo, *words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run git, which may fail; *path* is where it looks for commands."""
    env = {**os.environ, "PATH": path if path is not None else os.environ["PATH"]}
    return subprocess.run(["git", *words], cwd=repo.root, capture_output=True, text=True, env=env, check=False)


def without_memsync(repo: GitRepo) -> str:
    """Configure the clone as if memsync had been removed from this machine, and return a path without it."""
    for name, value in attributes.settings("/nowhere/memsync").items():
        repo.git("config", name, value)
    return "/usr/bin:/bin"


@pytest.mark.skipif(os.name != "posix", reason="a script, and entries of PATH between colons")
@pytest.mark.parametrize("form", [":{}", "{}:", ".:{}", "bin:{}"])
def test_a_merge_runs_no_memsync_of_the_repository_itself(installed, tmp_path, form):
    """An empty or relative entry of PATH finds what a clone has brought."""
    branches(installed, BASE, OURS, THEIRS)
    for planted in (installed.root / "memsync", installed.root / "bin" / "memsync"):
        planted.parent.mkdir(exist_ok=True)
        planted.write_text(f"#!/bin/sh\ntouch '{tmp_path}/mark'\n")
        planted.chmod(0o755)
    done = git(installed, "merge", "-q", "other", "-m", "merged", path=form.format(os.environ["PATH"]))
    assert not (tmp_path / "mark").exists()
    expected = merge(BASE.encode(), OURS.encode(), THEIRS.encode())
    assert (done.returncode, installed.memories.read_bytes()) == (0, expected.data)


def test_git_merges_with_the_driver_to_what_merge_gives(installed):
    branches(installed, BASE, OURS, THEIRS)
    done = git(installed, "merge", "-q", "other", "-m", "merged")
    expected = merge(BASE.encode(), OURS.encode(), THEIRS.encode())
    assert (done.returncode, installed.memories.read_bytes()) == (0, expected.data)
    assert "the other one is kept as mm-" in done.stdout + done.stderr
    assert installed.status() == ""


def test_both_directions_and_a_rebase_give_the_same_bytes(installed):
    branches(installed, BASE, OURS, THEIRS)
    results = set()
    for start, words in (("main", ("merge", "other")), ("other", ("merge", "main")), ("other", ("rebase", "main"))):
        installed.git("switch", "-q", "--detach", start)
        installed.git(words[0], "-q", words[1])
        results.add(installed.memories.read_bytes())
    assert len(results) == 1


def test_unreadable_lines_that_differ_are_a_conflict_around_them_alone(installed):
    branches(installed, "note\n" + BASE, "note of ours\n" + OURS, "note of theirs\n" + THEIRS)
    assert git(installed, "merge", "other").returncode == 1
    assert installed.status() == "UU .gobby/memories.jsonl\n"
    text = installed.memories.read_text()
    start, end = text.index("<<<<<<<"), text.index(">>>>>>>")
    assert "note of ours" in text[start:end]
    assert "note of theirs" in text[start:end]
    assert '"id"' not in text[start:end]


def test_without_memsync_git_merges_as_text_and_leaves_both_sides(installed):
    branches(installed, BASE, OURS, THEIRS)
    done = git(installed, "merge", "other", path=without_memsync(installed))
    assert done.returncode == 1
    data = installed.memories.read_bytes()
    assert in_conflict(read_lines(data))
    assert b"one, ours" in data
    assert b"one, theirs" in data


def test_without_memsync_what_text_can_merge_is_merged(installed):
    far = {f"x{number}": "filler" for number in range(9)}
    branches(installed, lines(a="1", z="2", **far), lines(a="ours", z="2", **far), lines(a="1", z="theirs", **far))
    assert git(installed, "merge", "-q", "other", path=without_memsync(installed)).returncode == 0
    assert installed.memories.read_text() == lines(a="ours", z="theirs", **far)


@pytest.mark.parametrize("code", [1, 2, 3, 127])
def test_a_memsync_that_breaks_before_it_wrote_leaves_both_sides(installed, tmp_path, code):
    """git would take ours alone for the result, without a word."""
    broken = tmp_path / "bin" / "memsync"
    broken.parent.mkdir()
    broken.write_text(f"#!/bin/sh\nexit {code}\n")
    broken.chmod(0o755)
    branches(installed, BASE, OURS, THEIRS)
    done = git(installed, "merge", "other", path=f"{broken.parent}:/usr/bin:/bin")
    assert done.returncode == 1
    assert b"one, theirs" in installed.memories.read_bytes()


def test_without_the_configuration_git_merges_as_text(repo):
    (repo.root / ".gitattributes").write_bytes(attributes.add_lines(b""))
    branches(repo, BASE, OURS, THEIRS)
    assert git(repo, "merge", "other").returncode == 1
    assert in_conflict(read_lines(repo.memories.read_bytes()))


def test_the_configuration_is_taken_out_again_byte_for_byte(repo):
    config = repo.root / ".git" / "config"
    before = config.read_bytes()
    assert attributes.install(repo.root) == [attributes.CONFIGURED]
    assert (attributes.install(repo.root), attributes.list_missing(repo.root)) == ([], {})
    assert len(attributes.uninstall(repo.root)) == 2
    assert (config.read_bytes(), attributes.uninstall(repo.root)) == (before, [])


def test_without_memsync_a_diff_shows_the_lines(installed):
    branches(installed, BASE, OURS, THEIRS)
    shown = git(installed, "memories", "diff", "other", "main", "--", ".gobby", path=without_memsync(installed))
    assert (shown.returncode, '"id": "mm-d"' in shown.stdout) == (0, True)


def test_what_is_shown_names_every_field_and_hides_no_line():
    text = memory_line("mm-a", "first\nsecond", tags=["x", "y"], importance=0.8, zeta={"b": 1}, type="pattern")
    shown = readable(text.encode() + b'{"deleted_at":"2026-01-01T00:00:00Z","id":"mm-b"}\nno json \xff\n').decode()
    assert shown == (
        "mm-a (pattern)\n  first\n  second\n    importance: 0.8\n    tags: x, y\n"
        '    zeta: {"b":1}\n\nmm-b removed 2026-01-01T00:00:00+00:00\n\nno json \\xff\n\n'
    )


def merge_here(directory: Path, base: bytes, ours: bytes, theirs: bytes, *more: str, name: str = "merge-driver"):
    """Run the driver as git does, and return how it ended and what stands in the file of ours."""
    for part, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (directory / part).write_bytes(data)
    ran = memsync("git", name, "base", "ours", "theirs", *more, cwd=directory)
    return ran, (directory / "ours").read_bytes()


@pytest.mark.parametrize("name", ["memsync", "memsync-skill"])
@pytest.mark.parametrize(("old", "new"), [("end = 1", "end = 3"), ("import b", "import c")])
def test_a_file_that_is_not_ours_is_merged_as_git_merges_it_whatever_the_attributes_say(installed, name, old, new):
    text = "import b\nimport a\n\n\ndef f():\n    return 1\n\n\nend = 1\n"
    branches(installed, text, text.replace("end = 1", "end = 2"), text.replace(old, new), "app.py")
    git(installed, "merge", "-q", "--no-edit", "other")
    expected = (installed.root / "app.py").read_bytes()
    installed.git("reset", "-q", "--hard", "main@{1}" if old == "import b" else "main")
    with (installed.root / ".gitattributes").open("a") as lines_of_git:
        lines_of_git.write(f"*.py merge={name}\n* merge={name}\n")
    git(installed, "merge", "-q", "--no-edit", "other")
    merged = (installed.root / "app.py").read_bytes()
    assert _without_labels(merged) == _without_labels(expected)
    assert ("UU" in installed.status()) == (old == "end = 1")


def _without_labels(data: bytes) -> list[bytes]:
    return [line[:7] if line.startswith((b"<<<<<<<", b">>>>>>>")) else line for line in data.splitlines()]


def test_of_two_binary_files_that_are_not_ours_our_side_stays_and_is_a_conflict(tmp_path):
    paths = [tmp_path / name for name in ("base", "ours", "theirs")]
    for number, path in enumerate(paths):
        path.write_bytes(b"\0binary %d\n" % number)
    ran = memsync("git", "merge-driver", *map(str, paths), "picture.png", cwd=tmp_path)
    assert (ran.code, paths[1].read_bytes()) == (1, b"\0binary 1\n")


def test_the_driver_leaves_nothing_but_the_result(tmp_path):
    ran, data = merge_here(tmp_path, BASE.encode(), OURS.encode(), THEIRS.encode(), ".gobby/memories.jsonl", "7")
    assert (ran.code, ran.out) == (0, "")
    assert data == merge(BASE.encode(), OURS.encode(), THEIRS.encode()).data
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "ours", "theirs"]


def test_the_driver_writes_markers_as_long_as_git_asks(tmp_path):
    ran, data = merge_here(tmp_path, b"", b"ours\n", b"theirs\n", "x", "9")
    assert ran.code == 1
    assert data.startswith(b"<<<<<<<<< ")
    assert b"\n=========\n" in data


def test_a_driver_that_cannot_write_makes_git_give_up(tmp_path):
    ran = memsync("git", "merge-driver", "base", "ours", "theirs", cwd=tmp_path)
    assert ran.code > 128
    assert "base" in ran.err


def test_the_driver_called_wrongly_says_how(tmp_path):
    ran = memsync("git", "merge-driver", "base", cwd=tmp_path)
    assert (ran.code, ran.err.startswith("usage: memsync git merge-driver BASE OURS THEIRS")) == (2, True)
    assert memsync("git", "textconv", cwd=tmp_path).code == 2
    assert memsync("git", "textconv", "missing", cwd=tmp_path).code == 1


def test_the_driver_loads_nothing_heavy(tmp_path):
    for part in ("base", "ours", "theirs"):
        (tmp_path / part).write_text(lines(**{part: part}))
    code = (
        "import sys, atexit; sys.argv[0] = 'memsync'\n"
        "atexit.register(lambda: print(' '.join(sorted(sys.modules)), file=sys.stderr))\n"
        "from memsync.cli import main; main()"
    )
    words = [sys.executable, "-c", code, "git", "merge-driver", "base", "ours", "theirs"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    loaded = {name.split(".")[0] for name in done.stderr.splitlines()[-1].split()}
    heavy = {"git", "numpy", "click", "watchdog", "pydantic", "mcp", "filelock", "subprocess", "frontmatter", "ruamel"}
    assert loaded & heavy == set()


# skills

HEAD = (
    "---\nname: deploy\ndescription: {description}\nmetadata:\n  id: sk-a\n  tags: {tags}\n---\n\n# Deploy\n\n{body}\n"
)


def skill(description: str = "Ship it", tags: str = "ops", body: str = "Push the button.") -> str:
    return HEAD.format(description=description, tags=tags, body=body)


def test_a_conflict_in_the_front_matter_alone_is_resolved_field_by_field(installed):
    path = ".claude/skills/deploy/SKILL.md"
    branches(installed, skill(), skill(description="Ship it well"), skill(tags="ops, ci"), path)
    assert git(installed, "merge", "-q", "other").returncode == 0
    assert (installed.root / path).read_text() == skill(description="Ship it well", tags="ops, ci")


def test_a_conflict_in_the_text_of_a_skill_keeps_its_markers(installed):
    path = ".claude/skills/deploy/SKILL.md"
    branches(installed, skill(), skill(tags="a", body="Press it."), skill(tags="b", body="Hit it."), path)
    assert git(installed, "merge", "other").returncode == 1
    text = (installed.root / path).read_text()
    assert text.startswith("---\nname: deploy\ndescription: Ship it\nmetadata:\n  id: sk-a\n  tags: a, b\n---\n")
    assert "<<<<<<< ours\nPress it.\n=======\nHit it.\n>>>>>>> theirs\n" in text
