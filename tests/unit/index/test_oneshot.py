"""A query over the mapped cache: what it reads of it. That it answers as the warm index does is in the laws."""

from __future__ import annotations

import pytest
from searching import index

from memsync.index import cache
from memsync.index.oneshot import OneShot
from memsync.index.scale import KEPT
from memsync.memories.known import name_arrays

WORDS = [f"record{number}" for number in range(3_000)]


@pytest.fixture
def words_read(tmp_path, monkeypatch) -> list[int]:
    read, word_of = [], OneShot._word
    monkeypatch.setattr(OneShot, "_word", lambda self, place: read.append(place) or word_of(self, place))
    return read


@pytest.fixture
def oneshot(tmp_path) -> OneShot:
    records, arrays = index(*WORDS).snapshot()
    path = tmp_path / "index.bin"
    cache.save(path, name_arrays(records, [0] * 3 * len(records), [0] * len(records), arrays), {}, private=False)
    return OneShot(cache.load(path), None, stop_words=True)


def test_of_thousands_of_words_that_are_alike_few_are_read(oneshot, words_read):
    found = oneshot._alike("record1234", known=True)
    assert len(found) == KEPT
    assert len(words_read) < len(WORDS) / 10


def test_words_alike_are_those_of_the_warm_index(oneshot):
    warm = index(*WORDS)
    for word in ("record1234", "recrod77", "records2999"):
        known = word in WORDS
        assert oneshot._alike(word, known=known) == warm._spelling.alike(word, warm._lexical.frequency)
