"""Bundles of the Open Knowledge Format that teams have published: `MEMSYNC_PUBLIC` names a folder with clones of their repositories.

Nothing of them is in this project. A repository is read by git at HEAD; nothing of it is run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import memsync

from memsync.skills.file import load_front

INDEX = re.compile(r"(?:.*/)?index\.md")
WHOLE = 2_000  # characters of a concept that is one memory
TURNS = 3


def git(git_dir: Path, *words: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={git_dir}", *words], capture_output=True, check=True).stdout


def list_bundles() -> Iterator[tuple[Path, str]]:
    root = os.environ.get("MEMSYNC_PUBLIC", "")
    heads = [head for depth in ("*", "*/*") for head in Path(root).glob(f"{depth}/HEAD")] if root else []
    for git_dir in sorted(head.parent for head in heads):
        found = subprocess.run(
            ["git", f"--git-dir={git_dir}", "grep", "-lzE", "^okf_version:", "HEAD", "--", "*index.md"],
            check=False,
            capture_output=True,
        )
        folders = {os.path.dirname(name.removeprefix("HEAD:")) for name in found.stdout.decode().split("\0") if name}
        for folder in sorted(folders):
            if folder and not any(folder.startswith(f"{other}/") for other in folders - {folder}):
                yield git_dir, folder


BUNDLES = list(list_bundles())


def write_bundle(git_dir: Path, folder: str, to: Path) -> None:
    names = git(git_dir, "ls-tree", "-rz", "--name-only", f"HEAD:{folder}").decode().split("\0")
    for name in names:
        if name.endswith(".md"):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(git(git_dir, "cat-file", "blob", f"HEAD:{folder}/{name}"))


def read_concepts(bundle: Path, most: int = 1 << 20) -> dict[str, tuple[dict[str, Any], str]]:
    """Return front matter and body of each concept with at most *most* characters."""
    found = {}
    for path in bundle.rglob("*.md"):
        text = path.read_text(encoding="utf-8", errors="replace")
        front = json.loads(json.dumps(load_front(text)[0], default=str))
        body = re.sub(r"\A---\n.*?\n---(?:\n|\Z)", "", text, count=1, flags=re.DOTALL).strip()
        if not INDEX.fullmatch(path.name) and path.name != "log.md" and front.get("type") and 0 < len(body) <= most:
            found[path.relative_to(bundle).as_posix()] = {key: front[key] for key in front if front[key]}, body
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not BUNDLES, reason="MEMSYNC_PUBLIC names no folder with repositories that have a bundle")
@pytest.mark.parametrize(("git_dir", "folder"), BUNDLES, ids=[f"bundle-{number}" for number in range(len(BUNDLES))])
def test_published_concepts_come_back_as_they_were_through_edits_on_both_sides(git_dir, folder, repo):
    theirs, ours = repo.root / "theirs", repo.root / "ours"
    write_bundle(git_dir, folder, theirs)
    concepts = read_concepts(theirs, WHOLE)
    first = json.loads(memsync("import", "theirs", "--from", "okf", "--json", cwd=repo.root).out)
    told = {one["where"].partition("theirs/")[2] for one in first["items"] if one["status"] != "created"}
    exported = ("export", "--format", "okf", "--archived", "-o", "ours", "--force")
    for turn in range(TURNS):
        assert memsync(*exported, cwd=repo.root).code == 0
        back = read_concepts(ours)
        for name in concepts.keys() & back.keys():
            front, body = concepts[name]
            assert back[name][1] == body
            assert {key: back[name][0].get(key) for key in front.keys() - {"tags"}} == {
                key: front[key] for key in front.keys() - {"tags"}
            }
        again = json.loads(memsync("import", "ours", "--json", cwd=repo.root).out)
        assert (again["created"], again["updated"]) == (0, 0)
        for name in sorted(concepts.keys() & back.keys())[turn::TURNS]:  # by hand, in the bundle
            front, body = concepts[name]
            path = ours / name
            path.write_text(path.read_text().replace(f"\n{body}\n", f"\n{body} And more, {turn}.\n"))
            concepts[name] = front, f"{body} And more, {turn}."
        assert memsync("import", "ours", cwd=repo.root).code == 0
    assert concepts.keys() - back.keys() <= told  # another one says the same, or it says why not
