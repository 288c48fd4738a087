"""The lookup file: small, sure where nothing is anchored, and never believed once a store has changed."""

from __future__ import annotations

import os

import pytest

from memsync.memories import lookup
from memsync.memories.anchored import fits_glob


def saved(tmp_path, keys):
    store = tmp_path / "memories.jsonl"
    store.write_text("")
    path = str(tmp_path / "run" / "x.anchors")
    lookup.save(path, keys, [lookup.stamp_of(str(store)), lookup.stamp_of(str(tmp_path / "absent"))])
    return lookup.Lookup(path), store, path


def test_it_finds_what_is_there_and_nothing_else(tmp_path):
    known, _, _ = saved(tmp_path, ["src/a.py", "$ git push"])
    assert known.fresh
    assert [known.has_any([key]) for key in ("src/", "src/a.py", "$ git", "$ git push")] == [False, True, False, True]


def test_it_is_not_believed_once_a_file_has_changed_or_come(tmp_path):
    _, store, path = saved(tmp_path, ["a"])
    store.write_text("x")
    assert not lookup.Lookup(path).fresh
    _, _, path = saved(tmp_path, ["a"])
    (tmp_path / "absent").touch()
    assert not lookup.Lookup(path).fresh


@pytest.mark.parametrize(
    "text", [b"", b"{}\n", b"[1]\n", b'{"format":1,"files":7}\n', b"\xff\xfe\n123", b'{"format":1']
)
def test_a_broken_file_is_not_believed(tmp_path, text):
    (tmp_path / "x").write_bytes(text)
    assert not lookup.Lookup(str(tmp_path / "x")).fresh
    assert not lookup.Lookup(str(tmp_path)).fresh


def test_ten_thousand_memories_with_five_anchors_each_take_less_than_256_kb(tmp_path):
    _, _, path = saved(tmp_path, [f"src/module{n}/file{n * m}.py" for n in range(10_000) for m in range(6)])
    assert os.path.getsize(path) <= 256 * 1024


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "lib/a.py", False),
        ("src/*.py", "src/a/b.py", False),
        ("api/**/*.proto", "api/v1/x.proto", True),
        ("api/**/*.proto", "api/x.proto", True),
        ("*.ipynb", "notes/a.ipynb", True),
        ("**/test_*", "a/b/test_c.py", True),
        ("app/[id]/*", "app/[id]/page.tsx", True),
        ("*a" * 90, "a" * 4_000 + "b", False),
        ("**/" * 60 + "x", "a/" * 200 + "y", False),
    ],
)
def test_a_glob_stands_under_a_key_of_each_file_that_it_names(glob, path, fits):
    assert fits_glob(glob, path) is fits
    assert not fits or lookup.key_of_glob(glob) in lookup.keys_of([path], [])


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a\0b", "x" * 5_000, "~/x"])
def test_what_is_outside_of_the_root_or_no_path_has_no_keys(tmp_path, path):
    assert lookup.below(path, str(tmp_path), os.path.realpath(tmp_path)) == ""
