"""All rows of the database at once: made of many memories, and loaded as the arrays of a warm index."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from memsync.index.core import Arrays, Index
from memsync.index.database import (
    PAIR,
    Database,
    Row,
    Shapes,
    Vector,
    line_row,
    record_row,
    seal_all,
    signed,
    unseal,
    unseal_all,
)
from memsync.index.lexical import Base, Forward, Grams, build_grams, shrink
from memsync.index.places import place_terms
from memsync.index.terms import embedding_text, is_word, live_anchors, term_key, text_key
from memsync.index.tokens import Tokenizer
from memsync.index.vectors import Rows, quantise
from memsync.system.logs import follow_progress
from memsync.system.texts import Memo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memsync.index.embed import Meaning
    from memsync.index.rank import Record
    from memsync.records import Memory

_KEY: Final = 8  # bytes of a term's number
_CHUNK: Final = 1_000  # rows that are written at once
_CACHE: Final = 1 << 16  # KiB of pages that are held; else they go to the disk and come back


def fill(
    database: Database,
    rows: Sequence[Row],
    tokenizer: Tokenizer,
    meaning: Meaning | None,
    known: Mapping[int, Vector] = MappingProxyType({}),
) -> None:
    """Have *database* hold *rows* and nothing else; the vectors of texts that are *known* by their numbers are not made again."""
    embedding = _Embedding(meaning, known)
    database.ask(f"PRAGMA cache_size = -{_CACHE}")
    database.clear()
    numbers, found = _number_terms(rows, tokenizer)
    keys = np.fromiter(map(term_key, numbers), np.uint64, len(numbers))
    raw, ends = keys[found.flat].tobytes(), [0, *(_KEY * np.cumsum(found.sizes)).tolist()]
    sizes = found.sizes.reshape(-1, 3).tolist()
    for at in range(0, len(rows), _CHUNK):
        some = list(enumerate(rows[at : at + _CHUNK], at))
        vectors = embedding.embed([row.memory for _, row in some])
        terms = seal_all([raw[ends[3 * slot] : ends[3 * slot + 2]] for slot, _ in some])
        places = seal_all([raw[ends[3 * slot + 2] : ends[3 * slot + 3]] for slot, _ in some])
        sealed = seal_all([made.numbers for _, made in vectors])
        said, shapes = [], []
        for (slot, _), (text, vector), own, there in zip(some, vectors, terms, places, strict=True):
            spoken, hidden, placed = sizes[slot]
            shapes.append((slot, spoken + hidden or min(placed, 1), vector))
            said.append((slot, text, spoken, own, there))
        database.insert("record", [record_row(*one) for one in some])
        database.add_shapes(shapes)
        database.insert("line", [line_row(*one) for one in some])
        database.insert("said", said)
        database.insert("vector", [(slot, made) for (slot, _), made in zip(some, sealed, strict=True)])
    database.insert("term", _seal_pairs(keys.view(np.int64), *_post(found, len(numbers))))
    words = sorted(filter(is_word, numbers))
    grams = build_grams(words)
    database.insert("word", [(number, signed(term_key(word)), word) for number, word in enumerate(words)])
    pairs = _pair(grams.places, grams.sizes[grams.places])
    database.insert("gram", _seal_pairs(grams.keys, pairs, grams.starts))


def make_index(records: Sequence[Record], meaning: Meaning | None, *, stop_words: bool = True) -> Index:
    """Return a warm index of *records*, whatever files they are of."""
    rows = Database(sqlite3.connect(":memory:"))
    made = [Row(scope, memory, b"", is_plain=True) for scope, memory in records]
    fill(rows, made, Tokenizer(stop_words=stop_words), meaning)
    return Index(records, load_arrays(rows, has_vectors=meaning is not None), meaning, stop_words=stop_words)


class _Found(NamedTuple):
    """The numbers of the terms of all records, and how many of them each record says, hides and has of its places."""

    flat: NDArray[np.int32]
    sizes: NDArray[np.int32]


class _Numbers(dict[str, int]):
    """A number for each term that is asked for, from 0."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def _number_terms(rows: Sequence[Row], tokenizer: Tokenizer) -> tuple[_Numbers, _Found]:
    numbers, flat, sizes = _Numbers(), array("i"), array("i")
    number = numbers.__getitem__
    numbered: Memo[str, list[int]] = Memo(lambda chunk: [*map(number, tokenizer.chunk_terms(chunk))])  # most come again
    chunks = numbered.__getitem__
    for row in follow_progress(rows, "indexing"):
        memory = row.memory
        said = [*chain.from_iterable(map(chunks, memory.content.split())), *map(number, tokenizer.tag_terms(memory))]
        hidden, places = tokenizer.hidden_terms(memory), place_terms(live_anchors(memory))
        flat.fromlist(said)
        flat.extend(map(number, hidden + places))
        sizes.extend((len(said), len(hidden), len(places)))
    return numbers, _Found(np.frombuffer(flat, np.int32), np.frombuffer(sizes, np.int32))


def _post(found: _Found, terms: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return for each of so many *terms* the slots that have it, each with how often, and where those of each begin."""
    count = max(len(found.sizes) // 3, 1)
    pairs = found.flat.astype(np.int64)  # in place from here on: of 100,000 records they are 40 MB
    pairs *= count
    pairs += np.repeat(np.arange(len(found.sizes) // 3), found.sizes.reshape(-1, 3).sum(1))
    pairs.sort()
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.diff(first, append=len(pairs))
    pairs = pairs[first]
    starts = pairs.searchsorted(np.arange(terms + 1) * count)
    pairs %= count
    return _pair(pairs, counts), starts


def _pair(numbers: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int32]:
    return np.stack((numbers, counts), 1).astype(np.int32)


def _seal_pairs(
    keys: NDArray[np.int64], pairs: NDArray[np.int32], starts: NDArray[np.int64]
) -> list[tuple[int, bytes]]:
    """Return the rows of a table of pairs, in the order of their *keys*."""
    raw, at = pairs.tobytes(), (PAIR * starts).tolist()
    order = np.argsort(keys)
    sealed = seal_all([raw[at[n] : at[n + 1]] for n in order.tolist()])
    return [*zip(keys[order].tolist(), sealed, strict=True)]


class _Embedding:
    """Embeds texts, but for those *known* by their numbers; a vector of another length than the first one is none."""

    def __init__(self, meaning: Meaning | None, known: Mapping[int, Vector]) -> None:
        self._meaning, self._known = meaning, known
        self._length = len(next(iter(known.values())).numbers) if known else 0

    def embed(self, memories: Sequence[Memory]) -> list[tuple[int, Vector]]:
        """Return the number of the text of each memory with its vector, 0 and an empty one where there is none."""
        if self._meaning is None:
            return [(0, Vector())] * len(memories)
        keys = [signed(text_key(memory)) for memory in memories]
        pairs = zip(keys, memories, strict=True)
        new = {key: embedding_text(memory) for key, memory in pairs if key not in self._known}
        made = self._make(new) if new else {}
        found = [made.get(key) or self._known.get(key) for key in keys]
        return [(key, one) if one else (0, Vector()) for key, one in zip(keys, found, strict=True)]

    def _make(self, texts: Mapping[int, str]) -> dict[int, Vector]:
        assert self._meaning is not None
        made = self._meaning.embed([*texts.values()])
        self._length = self._length or (0 if made is None else made.shape[1])
        if made is None or made.shape[1] != self._length:  # another model under the same name
            return {}
        rows = quantise(made)
        parts = zip(texts, rows.numbers, rows.scales.tolist(), rows.signs, strict=True)
        return {key: Vector(numbers.tobytes(), scale, signs.tobytes()) for key, numbers, scale, signs in parts}


def read_vectors(database: Database) -> dict[int, Vector]:
    """Return each vector of *database*, by the number of its text."""
    made = database.read_shapes().list_vectors()
    rows = database.ask("SELECT slot, text, numbers FROM said JOIN vector USING (slot) WHERE text")
    return {text: Vector(unseal(numbers), *made.get(slot, ())) for slot, text, numbers in rows}


def list_vectors(index: Index) -> dict[int, Vector]:
    """Return the vectors that *index* has, by the numbers of their texts."""
    records, rows = index.vectors()
    if rows is None:
        return {}
    parts = zip(records, rows.numbers, rows.scales.tolist(), rows.signs, strict=True)
    return {
        signed(text_key(record[1])): Vector(numbers.tobytes(), scale, signs.tobytes())
        for record, numbers, scale, signs in parts
        if record and scale
    }


def load_arrays(database: Database, *, has_vectors: bool, is_lean: bool = False) -> Arrays:
    """Return the arrays of all rows, in the order of their slots and without gaps; one that `is_lean` goes without what the records say.

    Raises:
        ValueError: the rows do not fit together.
    """
    shapes = database.read_shapes()
    vectors = _load_vectors(database, shapes) if has_vectors else None
    if is_lean:
        hashes = array("q", (text for (text,) in database.ask("SELECT text FROM said ORDER BY slot")))
        texts, forward = np.asarray(hashes), None
    else:
        texts, forward = _load_forward(database)
    if len(texts) != len(shapes.slots) or (vectors and len(vectors.numbers) != len(texts)):
        raise ValueError("records, their vectors and what they say differ in number")
    keys, slots, counts, starts = _join(  # in the order of numbers without a sign, as which they are used
        np.array(shapes.slots, np.int64),
        database.ask("SELECT key, pairs FROM term WHERE key >= 0 ORDER BY key"),
        database.ask("SELECT key, pairs FROM term WHERE key < 0 ORDER BY key"),
    )
    base = Base(
        keys=keys.view(np.uint64),
        starts=starts,
        slots=slots,
        counts=counts,
        lengths=np.array(shapes.lengths, np.float32),
    )
    return Arrays(
        texts=texts.view(np.uint64),
        base=base,
        forward=forward,
        grams=_load_grams(database),
        vectors=vectors,
    )


def _read_columns(rows: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
    """Yield the columns of some *rows* at once: memory that all of them take would stay with the process."""
    while some := rows.fetchmany(_CHUNK):
        yield [*zip(*some, strict=True)]


def _join(
    known: NDArray[np.int64], *parts: sqlite3.Cursor
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """Return the keys of the rows of all *parts*, of all their pairs the places of the firsts among those *known*, the seconds, and where those of each key begin."""
    places = np.zeros(int(known[-1]) + 1 if len(known) else 0, np.int32)
    places[known] = np.arange(len(known))
    keys, sizes, firsts, seconds = array("q"), array("q"), bytearray(), [shrink(np.zeros(0, np.int32))]
    for own, sealed in chain.from_iterable(map(_read_columns, parts)):
        raws = unseal_all(sealed)
        keys.extend(own)
        sizes.extend(map(len, raws))
        pairs = np.frombuffer(b"".join(raws), np.int32).reshape(-1, 2)
        firsts += places[pairs[:, 0]].tobytes()  # some after the other: all pairs would take more than all else
        seconds.append(shrink(pairs[:, 1]))
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes) // PAIR))
    return np.asarray(keys), np.frombuffer(firsts, np.int32), np.concatenate(seconds), starts


def _load_forward(database: Database) -> tuple[NDArray[np.int64], Forward]:
    texts, sizes, joined = array("q"), array("q"), bytearray()
    for own, spoken, sealed in _read_columns(database.ask("SELECT text, spoken, terms FROM said ORDER BY slot")):
        raws = unseal_all(sealed)
        texts.extend(own)
        sizes.extend(
            chain.from_iterable((said, len(raw) // _KEY - said) for said, raw in zip(spoken, raws, strict=True))
        )
        joined += b"".join(raws)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    return np.asarray(texts), Forward(terms=np.frombuffer(joined, np.uint64), starts=starts)


def _load_grams(database: Database) -> Grams:
    numbers, letters = array("q"), list[bytes]()
    for own, words in _read_columns(database.ask("SELECT number, CAST(word AS BLOB) FROM word ORDER BY number")):
        numbers.extend(own)
        letters += words
    keys, places, counts, starts = _join(np.asarray(numbers), database.ask("SELECT key, pairs FROM gram ORDER BY key"))
    sizes = np.zeros(len(letters), np.float32)
    sizes[places] = counts
    return Grams(
        keys=keys,
        starts=starts,
        places=places,
        sizes=sizes,
        letters=np.frombuffer(b"".join(letters), np.uint8),
        ends=np.array([*accumulate(map(len, letters))], np.int32),
    )


def _load_vectors(database: Database, shapes: Shapes) -> Rows | None:
    (width,) = database.ask("SELECT max(length(numbers)) - 4 FROM vector").fetchone()
    if not width:
        return None
    numbers = bytearray()
    for (sealed,) in _read_columns(database.ask("SELECT numbers FROM vector ORDER BY slot")):
        numbers += b"".join([raw or bytes(width) for raw in unseal_all(sealed)])
    scales = np.array(shapes.scales, np.float32)
    signs = np.zeros((len(scales), -(-width // 8)), np.uint8)
    signs[scales != 0] = np.frombuffer(shapes.signs, np.uint8).reshape(-1, signs.shape[1])
    return Rows(
        numbers=np.frombuffer(numbers, np.int8).reshape(-1, width),
        scales=scales,
        signs=signs,
    )
