"""What tests of the index share: records, stores on disk, a finder over them, and answers as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from memsync.format import codec
from memsync.index.bulk import make_index
from memsync.index.core import Index
from memsync.index.embed import Meaning
from memsync.index.embedders import choose
from memsync.index.lexical import Base
from memsync.index.rank import Ranking, Record
from memsync.index.terms import term_key
from memsync.memories.finder import Finder
from memsync.memories.index_file import IndexFile
from memsync.records import SCOPES, Change, Memory, Scope
from memsync.store.places import Place
from memsync.store.store import Store

BUILTIN = choose("builtin")
Stores = dict[Scope, Store]


def record(id_: str, content: str, scope: Scope = "project", **fields: Any) -> Record:
    return scope, Memory(id=id_, content=content, **fields)


def change(id_: str, content: str | None, **fields: Any) -> Change:
    return Change(
        id_, Memory(id=id_, content="before"), None if content is None else Memory(id=id_, content=content, **fields)
    )


def everything(_scope: Scope, _memory: Memory) -> float:
    return 0.5


def nobody(_memory: Memory) -> bool:
    return False


class Answer(NamedTuple):
    """A ranking as values that compare: the matches with every part of their scores, and the verdict on them."""

    matches: tuple[tuple[object, ...], ...]
    gate: float
    degraded: str

    @property
    def ids(self) -> list[object]:
        return [match[1] for match in self.matches]


def values(ranking: Ranking) -> Answer:
    matches = tuple(
        (m.scope, m.memory.id, m.memory, m.parts, m.boost, m.copy_of, m.confidence) for m in ranking.matches
    )
    return Answer(matches, ranking.gate, ranking.degraded)


def ask(searched: Index | Finder, query: str, limit: int = 15, **how: Any) -> Answer:
    return values(searched.search(query, **{"limit": limit, "allow": everything, "is_mine": nobody, **how}))


def index(*contents: str, meaning: Meaning | None = None, **how: Any) -> Index:
    """Return an index of *contents* with the ids "0", "1", …"""
    return make_index([record(str(n), content) for n, content in enumerate(contents)], meaning, **how)


def found(query: str, *contents: str, meaning: Meaning | None = None) -> list[int]:
    """Return the numbers of the *contents* that *query* finds, best first."""
    return [int(str(id_)) for id_ in ask(index(*contents, meaning=meaning), query).ids]


def base_of(documents: Sequence[Sequence[str]]) -> Base:
    """Return the postings of *documents*, each its terms."""
    counts = [Counter(map(term_key, terms)) for terms in documents]
    keys = sorted(set().union(*counts))
    found = [[(slot, one[key]) for slot, one in enumerate(counts) if key in one] for key in keys]
    pairs = np.array([pair for pairs in found for pair in pairs], np.int64).reshape(-1, 2)
    return Base(
        keys=np.array(keys, np.uint64),
        starts=np.array([0, *accumulate(map(len, found))], np.int64),
        slots=pairs[:, 0].astype(np.int32),
        counts=pairs[:, 1].astype(np.float32),
        lengths=np.array([len(terms) for terms in documents], np.float32),
    )


# on disk


def stores_in(directory: Path) -> Stores:
    return {scope: Store(Place(scope, directory / scope, None, private=scope != "project")) for scope in SCOPES}


def write(directory: Path, records: Iterable[Record]) -> None:
    """Put the three files of *records* there as they are after an export; no record, no file."""
    records = sorted(records, key=lambda pair: pair[1].id)
    for scope in SCOPES:
        path = directory / scope / "memories.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if raws := [codec.encode(memory) for where, memory in records if where == scope]:
            path.write_bytes(b"".join(raw + b"\n" for raw in raws))


def finder(stores: Stores, *, embedder: str = "none", stop_words: bool = True, cached: bool = True) -> Finder:
    """Return a finder as a new process has it; the model is opened once for all of them."""
    place = stores["project"].place if cached else None
    file = IndexFile(stores, place, embedder=embedder, stop_words=stop_words)
    if embedder == "builtin":
        file.meaning = BUILTIN
    return Finder(stores, file, is_brief=False)


def is_untouched(stores: Stores) -> bool:
    """Tell whether no index follows a store: the rows alone gave the answer."""
    return all(store.followers.listener is None for store in stores.values())


HELD = [
    record("p1", "tests run with uv"),
    record("p2", "deploy on friday, never on monday"),
    record("s1", "my tests are slow", scope="private"),
    record("g1", "I like tests with names that say what they test", scope="global"),
]


def opened(place: Path) -> tuple[Stores, Finder]:
    """Return what a new process has."""
    stores = stores_in(place)
    return stores, finder(stores)


def fresh(place: Path, query: str) -> Answer:
    """Return the answer from the files alone."""
    return ask(finder(stores_in(place), cached=False), query)
