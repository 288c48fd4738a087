"""Quantised vectors by slot: what is kept, and that likeness hangs on no order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.index import vectors as vectors_module
from memsync.index.embed import whole
from memsync.index.vectors import Rows, Vectors, quantise


def unit(count: int, dim: int = 32, seed: int = 1):
    made = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def restored(rows: Rows):
    return rows.numbers.astype(np.float32) * rows.scales[:, None]


def same(one: Rows, other: Rows) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Rows.__dataclass_fields__)


def likeness(made: Vectors, vector, count: int, wordy=None) -> list[float]:
    asked = whole(vector.tolist())
    return made.likeness(*asked, np.zeros(count) if wordy is None else wordy).tolist()


def test_eight_bits_a_dimension_lose_less_than_a_hundredth():
    vectors = unit(50)
    assert np.abs(restored(quantise(vectors)) - vectors).max() < 0.01


def test_a_zero_vector_stays_zero_and_no_vectors_stay_none():
    rows = quantise(np.zeros((2, 16), np.float32))
    assert (restored(rows).any(), rows.scales.tolist(), rows.signs.any()) == (False, [0.0, 0.0], False)
    assert quantise(np.zeros((0, 16), np.float32)).numbers.shape == (0, 16)


def test_rows_are_cut_and_joined():
    rows = quantise(unit(4))
    assert same(rows.cut(3), quantise(unit(4)[:3]))
    assert same(rows.cut(2).joined(quantise(unit(4)[2:])), rows)


@pytest.mark.parametrize("dim", [8, 12, 64])
def test_rows_that_came_one_by_one_are_those_of_one_go(dim):
    vectors = unit(150, dim)
    made = Vectors(quantise(vectors[:2]))
    for vector in vectors[2:]:
        made.append(vector)
    assert same(made.rows(), quantise(vectors))
    assert likeness(made, vectors[77], 150) == likeness(Vectors(quantise(vectors)), vectors[77], 150)


def test_a_text_is_most_like_itself_and_unlike_its_opposite():
    vectors = unit(20)
    found = likeness(Vectors(quantise(vectors)), vectors[7], 20)
    assert (int(np.argmax(found)), found[7]) == (7, pytest.approx(1, abs=0.01))
    assert likeness(Vectors(quantise(-vectors[7:8])), vectors[7], 1) == [0.0]


def test_the_usual_likeness_of_an_embedder_counts_as_none():
    vectors = unit(6)
    plain, shifted = (likeness(Vectors(quantise(vectors), unrelated), vectors[0], 6) for unrelated in (0.0, 0.25))
    assert shifted == [max((x - 0.25) / 0.75, 0.0) for x in plain]


def test_a_cleared_row_is_like_nothing_and_a_mapped_one_is_not_written_to():
    rows = quantise(unit(3))
    for name in Rows.__dataclass_fields__:
        getattr(rows, name).flags.writeable = False
    made = Vectors(rows)
    made.clear(1)
    made.append(unit(1, seed=2)[0])
    found = likeness(made, unit(3)[1], 4)
    assert (found[1], rows.scales[1] > 0, max(found) < 0.9) == (0.0, True, True)


@pytest.mark.parametrize("sieved", [1, 3, 256])
@given(st.permutations(range(40)), st.lists(st.integers(0, 39), unique=True, max_size=30))
def test_likeness_does_not_hang_on_the_order_of_slots_nor_on_what_was_cleared(sieved, order, gone):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors_module, "SIEVED", sieved)
        vectors, wordy = np.repeat(unit(20), 2, axis=0), np.linspace(0, 1, 40).round(1)
        kept = [n for n in range(40) if n not in gone]
        shuffled = Vectors(quantise(vectors[list(order)]))
        for slot, n in enumerate(order):
            if n in gone:
                shuffled.clear(slot)
        alive = np.array([n not in gone for n in order])
        ours = likeness(shuffled, vectors[5], 40, wordy[list(order)] * alive)
        fresh = likeness(Vectors(quantise(vectors[kept])), vectors[5], len(kept), wordy[kept])
        assert {n: x for n, x in zip(order, ours, strict=True) if n not in gone} == dict(zip(kept, fresh, strict=True))


def test_the_best_by_words_are_looked_at_even_if_they_are_far(monkeypatch):
    monkeypatch.setattr(vectors_module, "SIEVED", 1)
    vectors = np.eye(8, dtype=np.float32)
    asked = np.array([0.9, 0.4, 0.3, 0, 0, 0, 0, 0], np.float32)
    found = likeness(Vectors(quantise(vectors)), asked, 8, np.array([0, 0, 1.0, 0, 0, 0, 0, 0]))
    assert [slot for slot, x in enumerate(found) if x] == [0, 1, 2]  # 0 and 1 are equally near by their signs
