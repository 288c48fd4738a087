"""Several files are read from git at once, whatever they are called and hold."""

from __future__ import annotations

import sys

import pytest

from memsync.store.checkout import Checkout, read_blobs


@pytest.fixture
def files(repo) -> dict[str, bytes]:
    """Return files that the repository has staged, by name."""
    found = {"plain": b"one\n", "empty": b"", "a blob 3": b"abc blob 3\n" * 9, "no newline": b"\0\xff", "ü": b"\n\n"}
    for name, data in found.items():
        (repo.root / name).write_bytes(data)
    repo.git("add", "-A")
    return found


def test_each_file_comes_back_in_the_order_asked(repo, files):
    assert read_blobs(Checkout(repo.root), [f":{name}" for name in files]) == list(files.values())


def test_what_is_no_file_of_git_is_none_and_moves_no_other(repo, files):
    (repo.root / "folder").mkdir()
    (repo.root / "folder" / "x").write_text("x")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "more")
    names = ["HEAD:plain", "HEAD:folder", "HEAD:is not there", "HEAD:is missing", "HEAD", "0" * 40, ":plain"]
    assert read_blobs(Checkout(repo.root), names) == [b"one\n", None, None, None, None, None, b"one\n"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such name there")
def test_a_name_of_two_lines_is_found(repo, files):
    (repo.root / "two\nlines").write_text("both")
    repo.git("add", "-A")
    assert read_blobs(Checkout(repo.root), [":plain", ":two\nlines"]) == [b"one\n", b"both"]


def test_a_damaged_object_hides_no_other(repo, files):
    name = repo.git("rev-parse", ":plain").strip()
    path = repo.root / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"nothing that git wrote")
    assert read_blobs(Checkout(repo.root), [":plain", ":a blob 3"]) == [None, files["a blob 3"]]


def test_without_a_repository_nothing_is_found(tmp_path):
    assert read_blobs(Checkout(tmp_path), [":plain", ":other"]) == [None, None]
