"""A cache that somebody wrote: it is of use, or it is made anew; never an error, never an empty answer."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers import memory_line

from memsync import Memsync
from memsync.index import cache
from memsync.index.sound import KINDS, is_sound

TEXTS = [f"the {name} service listens on port {4000 + number}" for number, name in enumerate(("staging", "billing", "search", "login"))]  # fmt: skip


@pytest.fixture
def cached(repo) -> Path:
    """Return the cache of a repository with four memories."""
    repo.write_memories("".join(memory_line(f"mm-aaaaa{number}", text) for number, text in enumerate(TEXTS)))
    with Memsync.open(repo.root) as project:
        assert ports(project) == "4001"
    return repo.root / ".gobby" / "local" / "index" / "index.bin"


def ports(project: Memsync) -> str:
    return project.recall("which port does billing use?").hits[0].content[-4:]


def forge(path: Path, change) -> None:
    """Write the cache at *path* again as *change* makes its header and arrays, with right checksums."""
    found = cache.load(path)
    arrays = {name: np.array(found.array(name)) for name in found.views}
    about = dict(found.about)
    change(arrays, about)
    cache.save(path, arrays, about, private=True)


def test_what_we_write_is_sound(cached):
    assert is_sound(cache.load(cached).views)


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("keys", "texts", "vectors.signs")])
@pytest.mark.parametrize("how", ["zero", "shorten", "retype", "remove", "huge"])
def test_an_array_that_cannot_be_is_made_anew(repo, cached, name, how):
    def change(arrays, _about):
        old = arrays[name]
        changes = {
            "zero": lambda: np.zeros_like(old),
            "shorten": lambda: old[:-1],
            "retype": lambda: old.astype(np.float32 if old.dtype != np.float32 else np.int64),
            "huge": lambda: np.full_like(
                old, 127 if old.dtype == np.int8 else 2**7 if old.dtype == np.uint8 else 2**30
            ),
        }
        if how == "remove":
            del arrays[name]
        else:
            arrays[name] = changes[how]()

    forge(cached, change)
    with Memsync.open(repo.root) as project:
        assert ports(project) == "4001"


def test_a_cache_in_which_some_records_say_nothing_is_refused(repo, cached):
    repo.write_memories("".join(memory_line(f"mm-{number:06}", f"rule {number} of many") for number in range(130)))
    with Memsync.open(repo.root) as project:
        project.finder.rebuild()
    assert is_sound(cache.load(cached).views)

    def zero_some(arrays, _about):
        arrays["forward.starts"][23:43] = 0  # as by a page that was lost; those around it are not looked at

    forge(cached, zero_some)
    assert not is_sound(cache.load(cached).views)


@pytest.mark.parametrize("missing", ["stamps", "problems", "unrelated", "made"])
@pytest.mark.parametrize("value", [None, 7, "x", {}])
def test_a_head_that_says_something_odd_is_made_anew(repo, cached, missing, value):
    forge(cached, lambda _arrays, about: about.pop(missing) if value is None else about.update({missing: value}))
    with Memsync.open(repo.root) as project:
        assert ports(project) == "4001"


@pytest.mark.parametrize(
    "head", [b"[" * 100_000, b"7", b"{}", b'{"about":{},"table":[[1]],"bytes":0,"check":1}', b"\xff"]
)
def test_a_header_of_another_kind_is_no_cache(cached, head):
    data = cache.MAGIC + len(head).to_bytes(4, "little") + zlib.crc32(head).to_bytes(4, "little") + head
    cached.write_bytes(data + bytes(-len(data) % 64))
    assert cache.load(cached) is None


@pytest.mark.parametrize("kind", ["<c16", "<f2", "", 7, None])
def test_an_array_of_an_unknown_kind_is_no_cache(cached, kind):
    data = cached.read_bytes()
    size = int.from_bytes(data[8:12], "little")
    header = json.loads(data[16 : 16 + size])
    body = data[-(-(16 + size) // 64) * 64 :]
    header["table"][0][1] = kind
    head = json.dumps(header).encode()
    start = cache.MAGIC + len(head).to_bytes(4, "little") + zlib.crc32(head).to_bytes(4, "little") + head
    cached.write_bytes(start + bytes(-len(start) % 64) + body)
    assert cache.load(cached) is None
