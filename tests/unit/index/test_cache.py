"""The file of the index: whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from memsync.index import cache

ARRAYS = {
    "keys": np.array([3, 2**64 - 1], np.uint64),
    "starts": np.array([-1, 2**62], np.int64),
    "slots": np.array([[1, 2, 3], [4, 5, 6]], np.int32),
    "counts": np.array([0.5, np.inf], np.float32),
    "numbers": np.array([-127, 127], np.int8),
    "letters": np.frombuffer(b"\0abc\xff", np.uint8),
    "nothing": np.zeros((0, 7), np.int8),
}
ABOUT = {"embedder": "é", "stamps": {"project": [1, 2, 3, 2**62]}, "nothing": None}


@pytest.fixture
def path(tmp_path) -> Path:
    made = tmp_path / "index.bin"
    cache.save(made, ARRAYS, ABOUT, private=True)
    return made


def shown(path: Path) -> tuple[object, dict[str, tuple[str, object]]] | None:
    found = cache.load(path)
    return found and (found.about, {name: (found.array(name).dtype.str, found.array(name).tolist()) for name in ARRAYS})


SAVED = (ABOUT, {name: (array.dtype.str, array.tolist()) for name, array in ARRAYS.items()})


def test_what_was_saved_is_loaded_with_its_types_and_shapes(path):
    assert shown(path) == SAVED
    found = cache.load(path)
    assert {name: found.array(name).shape for name in ARRAYS} == {name: array.shape for name, array in ARRAYS.items()}


def test_views_are_flat_numbers_that_need_no_numpy(path):
    views = cache.load(path).views
    assert {name: view.tolist() for name, view in views.items()} == {
        name: array.ravel().tolist() for name, array in ARRAYS.items()
    }
    script = (
        "import sys; from pathlib import Path; from memsync.index import cache;"
        "cache.load(Path(sys.argv[1])); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_mapped_array_cannot_be_written_to(path):
    with pytest.raises(ValueError, match="read-only"):
        cache.load(path).array("keys")[0] = 7


def test_no_arrays_at_all_are_saved_too(tmp_path):
    cache.save(tmp_path / "empty.bin", {}, {}, private=False)
    found = cache.load(tmp_path / "empty.bin")
    assert (found.about, found.views, found.shapes) == ({}, {}, {})


def test_a_missing_file_a_directory_and_an_empty_file_are_no_cache(tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "empty").touch()
    assert [cache.load(tmp_path / name) for name in ("missing", "directory", "empty", "empty/below")] == [None] * 4


def test_a_file_cut_off_anywhere_is_no_cache(path):
    length = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"\0")
    while length >= 0:
        assert cache.load(path) is None, length
        length -= 1
        os.truncate(path, max(length, 0))


def test_a_file_of_zeros_behind_its_head_is_no_cache(path):
    data = path.read_bytes()
    for length in range(17):
        path.write_bytes(data[:length] + bytes(len(data) - length))
        assert cache.load(path) is None, length


def test_a_flipped_bit_anywhere_is_no_cache_or_changes_nothing(path):
    data, harmless = path.read_bytes(), 0
    with path.open("r+b", buffering=0) as file:
        for at in range(len(data)):
            os.pwrite(file.fileno(), bytes([data[at] ^ 1 << at % 8]), at)
            found = shown(path)
            assert found in (None, SAVED), at
            harmless += found is not None
            os.pwrite(file.fileno(), data[at : at + 1], at)
    assert harmless < 64  # the gap between the header and the arrays


def test_a_cache_of_another_version_is_no_cache(path):
    path.write_bytes(path.read_bytes().replace(cache.MAGIC, b"MSIDX001", 1))
    assert cache.load(path) is None


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_private_cache_is_for_its_owner_only(tmp_path, private, mode):
    before = os.umask(0o022)
    try:
        cache.save(tmp_path / "index.bin", ARRAYS, ABOUT, private=private)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "index.bin").stat().st_mode) == mode


def test_a_new_cache_takes_the_place_of_the_old_and_who_has_that_open_keeps_it(path):
    old = cache.load(path)
    cache.save(path, {"keys": np.array([9], np.uint64)}, {}, private=True)
    assert (old.views["keys"].tolist(), cache.load(path).views["keys"].tolist()) == ([3, 2**64 - 1], [9])
    assert [found.name for found in path.parent.iterdir()] == ["index.bin"]


def test_a_cache_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path):
    (tmp_path / "index.bin").mkdir()
    with pytest.raises(OSError, match=r"index\.bin"):
        cache.save(tmp_path / "index.bin", ARRAYS, ABOUT, private=False)
    assert [(found.name, found.is_dir()) for found in tmp_path.iterdir()] == [("index.bin", True)]


def test_of_two_writers_in_one_process_one_wins_and_what_is_there_is_whole(tmp_path):
    path, turns = tmp_path / "index.bin", threading.Barrier(4)

    def write(number: int) -> None:
        big = np.full(200_000, number, np.int64)
        turns.wait()
        for _ in range(5):
            try:
                cache.save(path, {"big": big}, {"by": number}, private=False)
            except OSError:
                continue  # the other was quicker; the caller does without a cache

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = cache.load(path)
    assert found is not None
    assert set(found.views["big"].tolist()) == {found.about["by"]}
    assert {left.name for left in tmp_path.iterdir()} - {"index.checked"} == {"index.bin"}


TELLS_PAGES = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells what is in memory")


def resident() -> int:
    """Return how many pages of files are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[2])


@TELLS_PAGES
def test_a_large_file_that_was_checked_is_not_kept_in_memory(tmp_path):
    cache.save(tmp_path / "large.bin", {"many": np.zeros(4_500_000, np.int64)}, {}, private=True)
    before = resident()
    found = cache.load(tmp_path / "large.bin")
    assert resident() - before < 1_000
    assert found.array("many").sum() == 0
    assert resident() - before > 4_000
    found.let_go()
    assert resident() - before < 1_000


@TELLS_PAGES
def test_a_file_of_some_megabytes_is_let_go_by_who_asks_once_and_held_by_who_stays(tmp_path):
    cache.save(tmp_path / "some.bin", {"many": np.zeros(1_200_000, np.int64)}, {}, private=True)
    before = resident()
    found = cache.load(tmp_path / "some.bin")
    assert found.array("many").sum() == 0
    assert resident() - before > 2_000
    found.let_go(1 << 24)
    assert resident() - before > 2_000
    found.let_go()
    assert resident() - before < 500


@pytest.fixture
def sums(monkeypatch) -> list[int]:
    """Return a list that grows each time when somebody looks at all of a file; small ones are marked, too."""
    looks, sum_up = [], cache._sum_up
    monkeypatch.setattr(cache, "_MARKED", 1)
    monkeypatch.setattr(cache, "_sum_up", lambda file, body: looks.append(len(body)) or sum_up(file, body))
    return looks


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing names the start of the system")
def test_a_file_that_somebody_looked_at_is_not_looked_at_again_until_it_is_another(path, sums):
    first = shown(path)
    assert (shown(path), len(sums)) == (first, 1)
    os.utime(path, ns=(0, path.stat().st_mtime_ns))
    assert (shown(path), len(sums)) == (first, 2)
    cache.save(path, ARRAYS, ABOUT, private=True)
    assert (shown(path), len(sums)) == (first, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing names the start of the system")
def test_after_a_start_of_the_system_a_file_is_looked_at_again(path, sums, monkeypatch):
    shown(path)
    monkeypatch.setattr(cache, "_read_boot", lambda: b"another")
    shown(path)
    assert len(sums) == 2


@pytest.mark.parametrize("mark", [b"", b"x" * 9_000, None])
def test_a_mark_that_says_something_else_or_cannot_be_left_costs_a_look(path, sums, mark):
    place = path.with_suffix(".checked")
    if mark is None:
        place.mkdir()
    else:
        place.write_bytes(mark)
    assert shown(path)
    assert len(sums) == 1


def test_a_damaged_file_leaves_no_mark(path, sums):
    raw = bytearray(path.read_bytes())
    raw[-70] ^= 1
    path.write_bytes(raw)
    assert (shown(path), shown(path), len(sums)) == (None, None, 2)


def test_where_nothing_names_the_start_of_the_system_there_are_no_marks(path, sums, monkeypatch):
    monkeypatch.setattr(cache, "_read_boot", bytes)
    assert shown(path) == shown(path)
    assert len(sums) == 2
    assert [found.name for found in path.parent.iterdir()] == ["index.bin"]
