"""All rows of the database at once, as arrays of the warm index and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memsync.index.core import Arrays
from memsync.index.database import PAIR, Row, Vector, line_row, pack, record_row, seal, signed, unseal
from memsync.index.lexical import Base, Forward
from memsync.index.places import place_terms
from memsync.index.spelling import Grams
from memsync.index.terms import live_anchors, term_key
from memsync.index.vectors import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memsync.index.database import Database

_KEY: Final = 8  # bytes of a term's number


def split_arrays(rows: Sequence[Row], arrays: Arrays) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each table for *rows*, whose slots are their places in *arrays*."""
    base, forward, vectors = arrays.base, arrays.forward, arrays.vectors
    made = _split_vectors(vectors) if vectors else [Vector()] * len(rows)
    terms, starts = base.keys[forward.terms].tobytes(), forward.starts.tolist()
    lengths, keys, texts = base.lengths.astype(int).tolist(), arrays.keys.tolist(), arrays.texts.tolist()
    said = []
    for slot, row in enumerate(rows):
        start, middle, end = starts[2 * slot : 2 * slot + 3]
        places = pack("Q", map(term_key, place_terms(live_anchors(row.memory))))
        spoken = seal(terms[_KEY * start : _KEY * end])
        said.append((slot, signed(keys[slot]), signed(texts[slot]), middle - start, spoken, places))
    postings = _pair(base.slots, base.counts)
    cuts = [PAIR * at for at in base.starts.tolist()]
    words = [arrays.grams.word(place) for place in range(len(arrays.grams.sizes))]
    grams = _pair(arrays.grams.places, arrays.grams.sizes[arrays.grams.places])
    grams_at = [PAIR * at for at in arrays.grams.starts.tolist()]
    return {
        "record": [record_row(slot, row, lengths[slot], made[slot]) for slot, row in enumerate(rows)],
        "line": [line_row(slot, row) for slot, row in enumerate(rows)],
        "said": said,
        "vector": [(slot, seal(one.numbers)) for slot, one in enumerate(made)],
        "term": [(signed(key), seal(postings[cuts[at] : cuts[at + 1]])) for at, key in enumerate(base.keys.tolist())],
        "word": [(place, signed(term_key(word)), word) for place, word in enumerate(words)],
        "gram": [
            (gram, seal(grams[grams_at[at] : grams_at[at + 1]])) for at, gram in enumerate(arrays.grams.keys.tolist())
        ],
    }


def _split_vectors(rows: Rows) -> list[Vector]:
    """Return the vector of each slot; an empty one where its row is blank."""
    numbers, signs = rows.numbers.tobytes(), rows.signs.tobytes()
    width, step = rows.numbers.shape[1], rows.signs.shape[1]
    return [
        Vector(numbers[slot * width : (slot + 1) * width], scale, signs[slot * step : (slot + 1) * step])
        for slot, scale in enumerate(rows.scales.tolist())
    ]


def _pair(numbers: NDArray[Any], counts: NDArray[Any]) -> bytes:
    pairs = np.empty((len(numbers), 2), np.int32)
    pairs[:, 0], pairs[:, 1] = numbers, counts
    return pairs.tobytes()


def load_arrays(database: Database, *, has_vectors: bool) -> Arrays:
    """Return the arrays of all rows, in the order of their slots and without gaps.

    Raises:
        ValueError: the rows do not fit together.
    """
    ask = database.ask
    records = ask("SELECT slot, length, scale, signs FROM record ORDER BY slot").fetchall()
    slots = np.array([slot for slot, *_ in records], np.int64)
    said = ask("SELECT key, text, spoken, terms FROM said ORDER BY slot").fetchall()
    terms = ask("SELECT key, postings FROM term ORDER BY key < 0, key").fetchall()  # as numbers without a sign
    keys = np.array([key for key, _ in terms], np.int64).view(np.uint64)
    pairs, starts = _join([postings for _, postings in terms])
    base = Base(
        keys=keys,
        starts=starts,
        slots=slots.searchsorted(pairs[:, 0]).astype(np.int32),
        counts=pairs[:, 1].astype(np.float32),
        lengths=np.array([length for _, length, *_ in records], np.float32),
    )
    if len(said) != len(records):
        raise ValueError("records and what they say differ in number")
    return Arrays(
        keys=np.array([key for key, *_ in said], np.int64).view(np.uint64),
        texts=np.array([text for _, text, *_ in said], np.int64).view(np.uint64),
        base=base,
        forward=_load_forward(said, keys),
        grams=_load_grams(database),
        vectors=_load_vectors(database, records) if has_vectors else None,
    )


def _join(blobs: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all pairs of *blobs*, one after the other, and where those of each begin."""
    found = [unseal(blob) for blob in blobs]
    pairs = np.frombuffer(b"".join(found), np.int32).reshape(-1, 2)
    return pairs, np.array([0, *accumulate(len(blob) // PAIR for blob in found)], np.int64)


def _load_forward(said: Sequence[tuple[Any, ...]], keys: NDArray[np.uint64]) -> Forward:
    found = [(spoken, unseal(terms)) for _, _, spoken, terms in said]
    numbers = np.frombuffer(b"".join(terms for _, terms in found), np.uint64)
    sizes = np.array([(spoken, len(terms) // _KEY - spoken) for spoken, terms in found], np.int64).reshape(-1)
    return Forward(
        terms=keys.searchsorted(numbers).astype(np.int32),
        starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
    )


def _load_grams(database: Database) -> Grams:
    words = database.ask("SELECT number, word FROM word ORDER BY number").fetchall()
    grams = database.ask("SELECT gram, words FROM gram ORDER BY gram").fetchall()
    pairs, starts = _join([one for _, one in grams])
    numbers = np.array([number for number, _ in words], np.int64)
    places = numbers.searchsorted(pairs[:, 0])
    sizes = np.zeros(len(words), np.float32)
    sizes[places] = pairs[:, 1]
    letters = [word.encode() for _, word in words]
    return Grams(
        keys=np.array([gram for gram, _ in grams], np.int64),
        starts=starts,
        places=places.astype(np.int32),
        sizes=sizes,
        letters=np.frombuffer(b"".join(letters), np.uint8),
        ends=np.array([*accumulate(map(len, letters))], np.int32),
    )


def _load_vectors(database: Database, records: Sequence[tuple[Any, ...]]) -> Rows | None:
    numbers = [unseal(row[0]) for row in database.ask("SELECT numbers FROM vector ORDER BY slot")]
    if not (width := max(map(len, numbers), default=0)):
        return None
    step = max(len(signs) for *_, signs in records)
    return Rows(
        numbers=np.frombuffer(b"".join(one or bytes(width) for one in numbers), np.int8).reshape(-1, width),
        scales=np.array([scale for _, _, scale, _ in records], np.float32),
        signs=np.frombuffer(b"".join(signs or bytes(step) for *_, signs in records), np.uint8).reshape(-1, step),
    )
