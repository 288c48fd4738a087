"""Files below `.gobby/local` are put in one step, and nothing of a step that was never ended stays."""

from __future__ import annotations

import os

from memsync.system import local


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    path, other = tmp_path / "index.bin", tmp_path / "index.bin.notes"
    left, now = tmp_path / "index.bin.4711", tmp_path / "index.bin.4712"
    for one in (left, now, other):
        one.write_bytes(b"half")
    for one in (left, other):
        os.utime(one, (1_000_000_000, 1_000_000_000))
    local.put(path, [b"who", b"le"])
    assert path.read_bytes() == b"whole"
    assert not left.exists()
    assert now.exists(), "another process may be writing it"
    assert other.exists()
